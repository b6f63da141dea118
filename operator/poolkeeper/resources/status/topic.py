"""The status of a Topic: where its replicas are, and the remark that fits its situation."""

from typing import Any

from poolkeeper.model.outcomes import Outcome, Seen
from poolkeeper.model.specs import TopicSpec
from poolkeeper.planning.run_state.convergence import TopicStanding
from poolkeeper.resources.checks.assembly import Verdict
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import Mood, Remark, condition_of, conditions
from poolkeeper.resources.status.status_inputs import PlannedWork, Survey
from poolkeeper.resources.status.topic_conditions import REMARKS, STEPS, Situation
from poolkeeper.resources.status.wording import coarse

_FACTS = (
    "topicName", "topicId", "pool", "partitions", "replicationFactor", "foreignConfig",
)  # fmt: skip


def topic_status(
    survey: Survey, work: PlannedWork | None, outcome: Outcome, each: CustomResource, now_ms: int
) -> dict[str, Any]:
    """The whole status of a Topic."""
    verdict = survey.assembly.verdicts.get(each.key)
    facts = _facts_before(each)
    if verdict is not None:
        return _whole(each, facts, _not_followed(each, verdict), now_ms)
    if survey.desired is None or survey.seen is None or work is None:
        return _whole(each, facts, _unseen(survey, outcome), now_ms)
    situation = _situation(survey, survey.seen, work, outcome, each)
    remark = next(said for remark in REMARKS if (said := remark(situation)) is not None)
    if situation.spec.topic not in survey.seen.cluster.torn and situation.speaks:
        facts = _facts(situation)
    if remark.reason == "Moving":
        facts["moving"] = _moving(situation)
        remark = _unhurried(each, facts["moving"], remark)
    return _whole(each, facts, remark, now_ms)


def _facts_before(each: CustomResource) -> dict[str, Any]:
    before = each.status or {}
    return {name: before[name] for name in _FACTS if name in before}


def _not_followed(each: CustomResource, verdict: Verdict) -> Remark:
    if each.deleting:
        return Remark(Mood.BUSY, "Deleting", "its Kafka topic is kept")
    return Remark(Mood.STALLED, verdict.reason, verdict.message)


def _situation(
    survey: Survey, seen: Seen, work: PlannedWork, outcome: Outcome, each: CustomResource
) -> Situation:
    assert isinstance(each.spec, TopicSpec)
    standing = survey.standings.topics.get(each.spec.topic, TopicStanding())
    if each.spec.topic in seen.cluster.torn:
        standing = TopicStanding(exists=True)
    return Situation(survey, work, outcome, each, each.spec, standing)


def _whole(
    each: CustomResource, facts: dict[str, Any], remark: Remark, now_ms: int
) -> dict[str, Any]:
    named = {"topicName": each.spec.topic} if isinstance(each.spec, TopicSpec) else {}
    return {
        "observedGeneration": each.generation,
        **facts,
        **named,
        "conditions": conditions(remark, each.generation, each.status, now_ms),
    }


def _unseen(survey: Survey, outcome: Outcome) -> Remark:
    hold = survey.assembly.hold
    if hold:
        return Remark(Mood.UNSURE, "Waiting", f"nothing is done: {hold}")
    name = f"KafkaCluster {survey.assembly.name}"
    if outcome.error is None:
        return Remark(Mood.UNSURE, "Waiting", f"{name} has not been observed yet")
    return Remark(Mood.UNSURE, "Unreachable", f"{name} cannot be read; see its status")


def _facts(at: Situation) -> dict[str, Any]:
    standing = at.standing
    if not standing.exists:
        return {}
    found = {
        "topicId": standing.topic_id,
        "pool": standing.pool,
        "partitions": standing.partitions,
        "replicationFactor": standing.replication_factor,
        "foreignConfig": list(standing.foreign),
    }
    return {name: value for name, value in found.items() if value}


def _moving(at: Situation) -> dict[str, int]:
    run = at.run
    return {
        "partitions": run.moves,
        "done": coarse(run.arrived, run.moves, STEPS),
        "bytes": run.bytes,
        "bytesDone": coarse(run.bytes_arrived, run.bytes, STEPS),
    }


def _unhurried(each: CustomResource, moving: dict[str, int], remark: Remark) -> Remark:
    """The remark with its live message, unless a number other than the time left changed."""
    before = condition_of(each.status, "Ready")
    stands = (
        before.get("reason") == remark.reason
        and (each.status or {}).get("moving") == moving
        and before.get("observedGeneration") == each.generation
    )
    return Remark(remark.mood, remark.reason, before["message"]) if stands else remark
