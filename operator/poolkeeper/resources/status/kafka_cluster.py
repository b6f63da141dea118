"""The status of a KafkaCluster: facts, the plan and its progress.

Sizes grow while a plan waits, and rates vary from second to second. So a plan's bytes stay as first
reported under its hash. The time left is updated only when something else in the plan's status
changes. An idle or waiting cluster therefore writes no status.
"""

from typing import Any

from poolkeeper import wording
from poolkeeper.model.columns.partition_queries import brokers_of
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.outcomes import LastObservation, Outcome, Progress
from poolkeeper.model.execution.person_requests import TEXT_MAX, RequestAnswer
from poolkeeper.model.execution.punctuality import Punctuality
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import in_order
from poolkeeper.model.plans import Part, PartKind
from poolkeeper.planning.run_state.progress.log_dir_copies import copies_of
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.cluster_conditions import (
    BALANCE_WAITS,
    UNREPORTED_WAITS,
    delay_phrase,
    has_only_elections,
    ready_condition,
)
from poolkeeper.resources.status.conditions import conditions
from poolkeeper.resources.status.left_run import CONNECT, LEFT_RUN, left_run
from poolkeeper.resources.status.plan_fields import PARTS_MAX, PlanApproval
from poolkeeper.resources.status.status_inputs import PlannedWork, StatusInputs
from poolkeeper.resources.status.wording import coarse, coarse_seconds
from poolkeeper.text import moment

_APPROVER_MAX = 1024
_FACTS = (
    "clusterId",
    CONNECT,
    LEFT_RUN,
    "kafkaVersion",
    "brokers",
    "brokersUp",
    "topics",
    "partitions",
    "plan",
    "adoptions",
    BALANCE_WAITS,
)
_NAME_MAX = 256
ADOPTIONS_MAX, ADOPTIONS_NAMED = 50, 10


def cluster_status(
    inputs: StatusInputs,
    work: PlannedWork | None,
    outcome: Outcome,
    resource: CustomResource,
    now_ms: int,
) -> dict[str, Any]:
    """The whole status of a KafkaCluster."""
    before = resource.status or {}
    facts = {name: before[name] for name in _FACTS if name in before}
    if inputs.observation is not None:
        facts = {**_facts(inputs), **_adoptions(inputs)}
        if left := left_run(before, inputs.observation.cluster.id, now_ms):
            facts[LEFT_RUN] = left
        known = before.get("plan") or {}
        plan = _plan(work, outcome, known)
        if outcome.error is not None and outcome.plan is None:
            plan = known or None
        elif plan is not None:
            plan = plan | _approvals(outcome)
        if plan is not None:
            facts["plan"] = plan
        if outcome.balance_waits_until_ms is not None:
            facts[BALANCE_WAITS] = moment(outcome.balance_waits_until_ms)
    if outcome.history is not None:
        facts["runs"] = [_finished_run(run) for run in reversed(outcome.history)]
    elif "runs" in before:
        facts["runs"] = before["runs"]
    if outcome.answered is not None:
        facts["lastRequest"] = last_request(outcome.answered)
    elif "lastRequest" in before:
        facts["lastRequest"] = before["lastRequest"]
    if waits := _waits_for(inputs, work, outcome):
        facts["waits"] = waits
    condition = ready_condition(inputs, work, outcome, resource, facts)
    return {
        "observedGeneration": resource.generation,
        **facts,
        "conditions": conditions(condition, resource.generation, resource.status, now_ms),
    }


def _facts(inputs: StatusInputs) -> dict[str, Any]:
    assert inputs.observation is not None
    cluster = inputs.observation.cluster
    found: dict[str, Any] = {
        "clusterId": cluster.id,
        CONNECT: None if inputs.desired is None else inputs.desired.cluster.zookeeper.connect,
        "kafkaVersion": cluster.kafka_version,
        "brokers": len(cluster.brokers),
        "brokersUp": _brokers_up(inputs.observation, inputs.desired),
        "topics": len(cluster.topics),
        "partitions": sum(len(topic.partitions) for topic in cluster.topics.values()),
    }
    return {name: value for name, value in found.items() if value is not None}


def _brokers_up(seen: LastObservation, desired: Desired | None) -> str:
    """Live brokers, and all that are live, declared or named by a replica list: "8/9".

    The records also keep those that were taken out of service, for good.
    """
    live = set(seen.cluster.brokers)
    declared = {broker for pool in (desired.pools if desired else ()) for broker in pool.brokers}
    needed = live | declared
    if recorded := set(seen.records.brokers) - needed:
        topics = seen.cluster.topics.values()
        needed |= recorded & brokers_of([topic.partitions for topic in topics])
    return f"{len(live)}/{len(needed)}"


def _waits_for(inputs: StatusInputs, work: PlannedWork | None, outcome: Outcome) -> str:
    """What the cluster waits for, as a word for a column; empty if it waits for nothing."""
    if work is not None and work.waiting and outcome.progress is None:
        return WaitReason.APPROVAL_REQUIRED.value
    unsaid = UNREPORTED_WAITS | {WaitReason.PLAN_ONLY}
    found = (wait.reason for wait in in_order(outcome.waits))
    asked = (WaitReason.ADOPTION_REQUIRED for _ in inputs.adoptions)
    return next((reason.value for reason in (*found, *asked) if reason not in unsaid), "")


def _finished_run(run: FinishedRun) -> dict[str, Any]:
    return {
        "plan": run.plan,
        "started": moment(run.started_ms),
        "ended": moment(run.ended_ms),
        "ending": run.ending.value if run.ending else "",
        "stages": run.stages,
        "moves": run.moves,
        "movesDone": run.moves_done,
        "bytes": run.size_bytes,
        "approvedBy": run.approved_by[:_NAME_MAX],
        "executor": run.executor[:_NAME_MAX],
    }


def last_request(answer: RequestAnswer) -> dict[str, Any]:
    """What a status says of the last request of a person."""
    return {
        "request": answer.text[:TEXT_MAX],
        "time": moment(answer.at_ms),
        "result": answer.kind.value,
        "message": wording.answer_text(answer),
    }


def _adoptions(inputs: StatusInputs) -> dict[str, Any]:
    """What Topics ask to take over, if anything."""
    asked = [
        {
            "namespace": each.namespace,
            "hash": each.hash,
            "topics": len(each.topics),
            "names": [named.topic for named in each.topics[:ADOPTIONS_NAMED]],
        }
        for each in inputs.adoptions[:ADOPTIONS_MAX]
    ]
    return {"adoptions": asked} if asked else {}


def _plan(
    work: PlannedWork | None, outcome: Outcome, before: dict[str, Any]
) -> dict[str, Any] | None:
    progress = outcome.progress
    if progress is not None:
        # Nothing is worked towards while the cluster is being deleted: only the run is.
        earlier: str = before.get("approval", PlanApproval.NOT_NEEDED.value)
        approval = earlier if work is None else work.approval.value
        return _run(progress, approval, before)
    plan = None if work is None else work.plan
    if work is None or plan is None or has_only_elections(plan):
        return None
    same = before.get("hash") == plan.hash and "stage" not in before
    told = before.get("bytes") if same else None
    moved = [each.bytes for each in plan.moves] + [step.bytes for step in copies_of(plan)]
    found = {"hash": plan.hash, "moves": len(moved), "approval": work.approval.value}
    return {**found, "bytes": sum(moved) if told is None else told}


def _approvals(outcome: Outcome) -> dict[str, Any]:
    """Who allowed what is being done, and the parts of the plan that a person is asked about."""
    found: dict[str, Any] = {}
    if outcome.approved_by:
        found["approvedBy"] = outcome.approved_by[:_APPROVER_MAX]
    if outcome.asked is not None:
        parts = outcome.asked.parts[:PARTS_MAX]
        found["parts"] = [_part(part, outcome.approved_parts) for part in parts]
    return found


def _part(part: Part, approved: frozenset[str]) -> dict[str, Any]:
    approval = PlanApproval.APPROVED if part.name in approved else PlanApproval.WAITING
    moves = len(part.moves) + len(part.steps) * (not part.name.startswith(PartKind.TOPIC.of("")))
    found = {"name": part.name, "hash": part.hash, "moves": moves, "approval": approval.value}
    return {**found, "after": list(part.after[:PARTS_MAX])} if part.after else found


def _beside_prediction(known: Punctuality | None) -> dict[str, Any]:
    """How long the run was to take, and how late it is and why."""
    if known is None:
        return {}
    found: dict[str, Any] = {"predictedSeconds": coarse_seconds(known.predicted_s)}
    if known.reason is not None:
        found["late"] = {
            "seconds": coarse_seconds(known.late_s),
            "reason": known.reason.value,
            "message": delay_phrase(known),
        }
    return found


def _run(progress: Progress, approval: str, before: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "hash": progress.plan,
        "moves": progress.moves_total,
        "approval": approval,
        "bytes": progress.bytes_total,
        "movesDone": coarse(progress.moves_done, progress.moves_total),
        "bytesDone": coarse(progress.bytes_done, progress.bytes_total),
        "stage": progress.stage,
    }
    found |= _beside_prediction(progress.punctuality)
    if progress.still_s is not None:
        return found
    known = {name: value for name, value in before.items() if name in found}
    if found == known and progress.moves_in_flight:
        left = before.get("secondsLeft")
        return found if left is None else {**found, "secondsLeft": left}
    if progress.seconds_left is not None:
        found["secondsLeft"] = coarse_seconds(progress.seconds_left)
    return found
