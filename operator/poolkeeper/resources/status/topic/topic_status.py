"""The status of a Topic: where its replicas are, and the Ready condition that applies."""

from typing import Any

from poolkeeper.model.execution.outcomes import LastObservation, Outcome
from poolkeeper.model.specs import DeletionPolicy, TopicSpec
from poolkeeper.planning.run_state.progress.convergence import TopicStanding
from poolkeeper.resources.checks.verdicts import Verdict
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import (
    ReadyCondition,
    ReadyStatus,
    condition_of,
    conditions,
)
from poolkeeper.resources.status.status_inputs import PlannedWork, StatusInputs
from poolkeeper.resources.status.topic.ready_rules import READY_RULES, STEPS
from poolkeeper.resources.status.topic.situation import TopicSituation
from poolkeeper.resources.status.wording import coarse, foreign_finalizers_phrase

_FACTS = (
    "topicName", "topicId", "cluster", "pool", "partitions", "replicationFactor", "foreignConfig",
)  # fmt: skip


def topic_status(
    inputs: StatusInputs,
    work: PlannedWork | None,
    outcome: Outcome,
    resource: CustomResource,
    now_ms: int,
) -> dict[str, Any]:
    """The whole status of a Topic."""
    verdict = inputs.assembly.verdicts.get(resource.key)
    facts = _facts_before(resource)
    if verdict is not None:
        return _status(resource, facts, _rejected_condition(resource, verdict), now_ms)
    if inputs.desired is None or inputs.observation is None or work is None:
        return _status(resource, facts, _unobserved_condition(inputs, outcome), now_ms)
    situation = _situation(inputs, inputs.observation, work, outcome, resource)
    condition = next(said for rule in READY_RULES if (said := rule(situation)) is not None)
    if situation.spec.topic not in inputs.observation.cluster.torn and situation.is_owner:
        facts = _facts(situation)
    if condition.reason == "Moving":
        facts["moving"] = _moving(situation)
        condition = _with_steady_message(resource, facts["moving"], condition)
    return _status(resource, facts, condition, now_ms)


def _facts_before(resource: CustomResource) -> dict[str, Any]:
    before = resource.status or {}
    return {name: before[name] for name in _FACTS if name in before}


def _rejected_condition(resource: CustomResource, verdict: Verdict) -> ReadyCondition:
    if resource.deleting:
        message = f"its Kafka topic is kept{foreign_finalizers_phrase(resource.keepers)}"
        return ReadyCondition(ReadyStatus.RECONCILING, "Deleting", message)
    message = f"{verdict.message}{_kept_text(resource)}"
    return ReadyCondition(ReadyStatus.STALLED, verdict.reason, message)


def _kept_text(resource: CustomResource) -> str:
    """What is appended for a rejected Topic with `Delete` whose Kafka topic existed: it stays."""
    before = resource.status or {}
    spec, existed = resource.spec, bool(before.get("cluster") or before.get("pool"))
    if not existed or not isinstance(spec, TopicSpec):
        return ""
    deletes = spec.deletion_policy is DeletionPolicy.DELETE
    return "; if it is deleted as it is, its Kafka topic is kept" if deletes else ""


def _situation(
    inputs: StatusInputs,
    observation: LastObservation,
    work: PlannedWork,
    outcome: Outcome,
    resource: CustomResource,
) -> TopicSituation:
    assert isinstance(resource.spec, TopicSpec)
    standing = inputs.standings.topics.get(resource.spec.topic, TopicStanding())
    if resource.spec.topic in observation.cluster.torn:
        standing = TopicStanding(exists=True)
    return TopicSituation(inputs, work, outcome, resource, resource.spec, standing)


def _status(
    resource: CustomResource, facts: dict[str, Any], condition: ReadyCondition, now_ms: int
) -> dict[str, Any]:
    named = {"topicName": resource.spec.topic} if isinstance(resource.spec, TopicSpec) else {}
    return {
        "observedGeneration": resource.generation,
        **facts,
        **named,
        "conditions": conditions(condition, resource.generation, resource.status, now_ms),
    }


def _unobserved_condition(inputs: StatusInputs, outcome: Outcome) -> ReadyCondition:
    hold = inputs.assembly.hold
    if hold:
        return ReadyCondition(ReadyStatus.UNKNOWN, "Waiting", f"nothing is done: {hold}")
    name = f"KafkaCluster {inputs.assembly.name}"
    if outcome.error is None:
        return ReadyCondition(ReadyStatus.UNKNOWN, "Waiting", f"{name} has not been observed yet")
    return ReadyCondition(
        ReadyStatus.UNKNOWN, "Unreachable", f"{name} cannot be read; see its status"
    )


def _facts(at: TopicSituation) -> dict[str, Any]:
    standing = at.standing
    if not standing.exists:
        return {}
    found = {
        "topicId": standing.topic_id,
        "cluster": at.inputs.assembly.name,
        "pool": standing.pool,
        "partitions": standing.partitions,
        "replicationFactor": standing.replication_factor,
        "foreignConfig": list(standing.foreign),
    }
    return {name: value for name, value in found.items() if value}


def _moving(at: TopicSituation) -> dict[str, int]:
    run = at.run_work
    return {
        "partitions": run.moves,
        "done": coarse(run.arrived, run.moves, STEPS),
        "bytes": run.bytes,
        "bytesDone": coarse(run.bytes_arrived, run.bytes, STEPS),
    }


def _with_steady_message(
    resource: CustomResource, moving: dict[str, int], condition: ReadyCondition
) -> ReadyCondition:
    """The condition with its live message, unless a number other than the time left changed."""
    before = condition_of(resource.status, "Ready")
    stands = (
        before.get("reason") == condition.reason
        and (resource.status or {}).get("moving") == moving
        and before.get("observedGeneration") == resource.generation
    )
    return (
        ReadyCondition(condition.status, condition.reason, before["message"])
        if stands
        else condition
    )
