"""The status of a KafkaCluster: the plan, its progress, and the next step for a person.

Sizes grow while a plan waits, and rates vary from second to second. So a plan's bytes stay as first
reported under its hash. The time left is updated only when something else in the plan's status
changes. An idle or waiting cluster therefore writes no status.
"""

from typing import Any

from poolkeeper import wording
from poolkeeper.errors import (
    DamagedNode,
    HolderActive,
    OtherCluster,
    PoolkeeperError,
    Refused,
    SecretForbidden,
    StalePlan,
    Unavailable,
)
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.outcomes import LastObservation, Outcome, Progress
from poolkeeper.model.execution.person_requests import TEXT_MAX, RequestAnswer
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, in_order
from poolkeeper.model.names import ABANDON, DELETION
from poolkeeper.model.plans import ElectLeaders, Part, PartKind, Plan
from poolkeeper.model.specs import Mode
from poolkeeper.planning.run_state.progress.log_dir_copies import copies_of
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus, conditions
from poolkeeper.resources.status.health import in_place_condition
from poolkeeper.resources.status.plan_fields import PARTS_MAX, PlanApproval
from poolkeeper.resources.status.status_inputs import PlannedWork, StatusInputs
from poolkeeper.resources.status.wording import (
    about,
    approval_line,
    coarse,
    coarse_seconds,
    count,
    few,
    size,
    summary,
)
from poolkeeper.text import moment, named

_APPROVER_MAX = 1024
_BALANCE_WAITS = "balanceWaitsUntil"
_FACTS = (
    "clusterId",
    "kafkaVersion",
    "brokers",
    "brokersUp",
    "topics",
    "partitions",
    "plan",
    "adoptions",
    _BALANCE_WAITS,
)
_NAME_MAX = 256
ADOPTIONS_MAX, ADOPTIONS_NAMED = 50, 10
_UNREPORTED_WAITS = frozenset(
    (
        WaitReason.STAGE_IN_FLIGHT,
        WaitReason.THROTTLE_SETTLING,
        WaitReason.TOPICS_CHANGING,
        WaitReason.APPROVAL_REQUIRED,
        WaitReason.PAUSED,
    )
)
"""Waits that other words of the status say already, or that pass in a second."""
_NO_EFFECT = frozenset((WaitReason.PREDECESSORS_NOT_APPROVED, WaitReason.APPROVAL_UNMATCHED))


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
        known = before.get("plan") or {}
        plan = _plan(work, outcome, known)
        if outcome.error is not None and outcome.plan is None:
            plan = known or None
        elif plan is not None:
            plan = plan | _approvals(outcome)
        if plan is not None:
            facts["plan"] = plan
        if outcome.balance_waits_until_ms is not None:
            facts[_BALANCE_WAITS] = moment(outcome.balance_waits_until_ms)
    if outcome.history is not None:
        facts["runs"] = [_finished_run(run) for run in reversed(outcome.history)]
    elif "runs" in before:
        facts["runs"] = before["runs"]
    if outcome.answered is not None:
        facts["lastRequest"] = _answer(outcome.answered)
    elif "lastRequest" in before:
        facts["lastRequest"] = before["lastRequest"]
    if waits := _waits_for(inputs, work, outcome):
        facts["waits"] = waits
    condition = _ready_condition(inputs, work, outcome, resource, facts)
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
        "kafkaVersion": cluster.kafka_version,
        "brokers": len(cluster.brokers),
        "brokersUp": _brokers_up(inputs.observation, inputs.desired),
        "topics": len(cluster.topics),
        "partitions": sum(len(topic.partitions) for topic in cluster.topics.values()),
    }
    return {name: value for name, value in found.items() if value is not None}


def _brokers_up(seen: LastObservation, desired: Desired | None) -> str:
    """Live brokers, and all of which something is known: "8/9"."""
    live = set(seen.cluster.brokers)
    declared = {broker for pool in (desired.pools if desired else ()) for broker in pool.brokers}
    return f"{len(live)}/{len(live | set(seen.records.brokers) | declared)}"


def _waits_for(inputs: StatusInputs, work: PlannedWork | None, outcome: Outcome) -> str:
    """What the cluster waits for, as a word for a column; empty if it waits for nothing."""
    if work is not None and work.waiting and outcome.progress is None:
        return WaitReason.APPROVAL_REQUIRED.value
    unsaid = _UNREPORTED_WAITS | {WaitReason.PLAN_ONLY}
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


def _answer(answer: RequestAnswer) -> dict[str, Any]:
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
    if work is None or plan is None or _has_only_elections(plan):
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
    if progress.still_s is not None:
        return found
    known = {name: value for name, value in before.items() if name in found}
    if found == known:
        left = before.get("secondsLeft")
        return found if left is None else {**found, "secondsLeft": left}
    if progress.seconds_left is not None:
        found["secondsLeft"] = coarse_seconds(progress.seconds_left)
    return found


def _ready_condition(
    inputs: StatusInputs,
    work: PlannedWork | None,
    outcome: Outcome,
    resource: CustomResource,
    facts: dict[str, Any],
) -> ReadyCondition:
    assembly = inputs.assembly
    verdict = assembly.verdicts.get(resource.key)
    if resource.deleting:
        return ReadyCondition(
            ReadyStatus.RECONCILING, "Deleting", _deletion_text(outcome, resource)
        )
    if verdict is not None:
        return ReadyCondition(ReadyStatus.STALLED, verdict.reason, verdict.message)
    if assembly.hold:
        return ReadyCondition(ReadyStatus.UNKNOWN, "Waiting", f"nothing is done: {assembly.hold}")
    if outcome.error is not None:
        return _error_condition(outcome.error)
    if work is None:
        waits = outcome.waits or (Wait(WaitReason.NOT_OBSERVED_YET),)
        return ReadyCondition(ReadyStatus.UNKNOWN, "Waiting", few(wording.sentences(waits), 3))
    if outcome.progress is not None:
        return _run_condition(work, outcome, outcome.progress, resource.name, facts.get("plan", {}))
    return _idle_condition(inputs, work, outcome, resource.name, facts)


def _deletion_text(outcome: Outcome, resource: CustomResource) -> str:
    if outcome.error is None:
        return "the run under way ends after the stage in flight; Kafka stays as it is"
    if resource.given_up:
        return "it goes without a look at the cluster, as an annotation says"
    line = f"kubectl annotate kafkacluster {resource.name} {DELETION}={ABANDON} --overwrite"
    return (
        f"{wording.error_text(outcome.error)}; a run that may be under way there has to be ended"
        f" first. If the cluster is gone for good, let it go: {line}"
    )


def _error_condition(error: PoolkeeperError) -> ReadyCondition:
    message = wording.error_text(error)
    match error:
        case OtherCluster():
            return ReadyCondition(ReadyStatus.STALLED, "OtherCluster", message)
        case HolderActive() | StalePlan():
            return ReadyCondition(ReadyStatus.UNKNOWN, "Waiting", message)
        case DamagedNode():
            return ReadyCondition(ReadyStatus.STALLED, "DamagedNode", message)
        case Refused():
            return ReadyCondition(ReadyStatus.STALLED, "Impossible", message)
        case SecretForbidden():
            return ReadyCondition(ReadyStatus.STALLED, "SecretForbidden", message)
        case Unavailable():
            return ReadyCondition(ReadyStatus.UNKNOWN, "Unreachable", message)
        case _:
            return ReadyCondition(ReadyStatus.UNKNOWN, "Waiting", message)


def _run_condition(
    work: PlannedWork, outcome: Outcome, progress: Progress, name: str, plan: dict[str, Any]
) -> ReadyCondition:
    paused = work.mode in (Mode.PAUSED, Mode.ROLL_BACK)
    if progress.phase in (Phase.MOVING, Phase.COPYING):
        done = f"{plan['movesDone']} of {count(plan['moves'], 'move')} done"
        copying = progress.phase is Phase.COPYING
        parts = [f"{progress.phase.value}: {done}" if copying else f"stage {plan['stage']}: {done}"]
        left = plan["bytes"] - plan["bytesDone"]
        parts += [f"{size(left)} left"] if left else []
        parts += [about(plan["secondsLeft"])] if "secondsLeft" in plan and not paused else []
        parts += ["nothing has moved for a while"] if progress.still_s is not None else []
        message = ", ".join(parts)
    elif progress.phase in (Phase.STORING, Phase.THROTTLING):
        what = f"{count(plan['moves'], 'partition')} ({size(plan['bytes'])})"
        message = f"about to move {what}: {progress.phase.value}"
    else:
        message = progress.phase.value
    waits = _waits(outcome)
    if waits:
        message += f"; waits: {few(waits, 3)}"
    if paused:
        back = work.mode is Mode.ROLL_BACK
        stage = "is cancelled and returns to where it began" if back else "runs to its end"
        message = f"the stage in flight {stage}, no further stage starts; {message}"
        return ReadyCondition(
            ReadyStatus.RECONCILING, "Paused", f"{message}{_mode_step(work, name)}"
        )
    if work.mode is Mode.PLAN_ONLY:
        step = _mode_step(work, name)
        return ReadyCondition(ReadyStatus.RECONCILING, "PlanOnly", f"{message}{step}")
    return ReadyCondition(ReadyStatus.RECONCILING, "Moving", message)


def _idle_condition(
    inputs: StatusInputs, work: PlannedWork, outcome: Outcome, name: str, facts: dict[str, Any]
) -> ReadyCondition:
    plan, waits = work.plan, _waits(outcome)
    if plan is None or _has_only_elections(plan):
        if waits:
            return ReadyCondition(ReadyStatus.RECONCILING, _hold_reason(work), few(waits, 3))
        said = [f"balance waits until {facts[_BALANCE_WAITS]}"] if _BALANCE_WAITS in facts else []
        return _in_place(inputs, outcome, "in place", *said)
    what = summary(plan, facts.get("plan", {}).get("bytes", 0))
    next_step = _next_step(work, plan, name, named=outcome.approvers_verified)
    if not work.needed:
        return _in_place(inputs, outcome, f"in place; would {what}{next_step}")
    if work.mode is Mode.PLAN_ONLY:
        return ReadyCondition(ReadyStatus.RECONCILING, "PlanOnly", f"would {what}{next_step}")
    if work.mode is not Mode.APPLY:
        return ReadyCondition(
            ReadyStatus.RECONCILING, "Paused", f"paused; left to do: {what}{next_step}"
        )
    if work.waiting:
        doubts = "".join(f"; {each}" for each in _doubts(outcome))
        return ReadyCondition(
            ReadyStatus.RECONCILING, "WaitingForApproval", f"waits to {what}{doubts}{next_step}"
        )
    if waits:
        return ReadyCondition(
            ReadyStatus.RECONCILING, "Waiting", f"waits to {what}: {few(waits, 3)}"
        )
    return ReadyCondition(ReadyStatus.RECONCILING, _step_reason(plan), f"about to {what}")


def _has_only_elections(plan: Plan) -> bool:
    """Whether the plan holds only elections, which come and go as brokers restart."""
    return not plan.moves and all(isinstance(step, ElectLeaders) for step in plan.steps)


def _in_place(inputs: StatusInputs, outcome: Outcome, *said: str) -> ReadyCondition:
    """The condition of a cluster as declared: with what is wrong, limits, throttles left on it."""
    last = outcome.last_observation
    throttles = () if last is None else wording.sentences(last.unaccounted)
    if inputs.stalled_pools:
        stalled = named("ResourcePool", inputs.stalled_pools)
        said = (f"{said[0]}, but for {stalled}: see there", *said[1:])
    problems = [p for p in outcome.problems if not p.pool and not p.topic]
    return in_place_condition(said, [*inputs.health.cluster, *problems], list(throttles))


def _hold_reason(work: PlannedWork) -> str:
    return "Paused" if work.mode in (Mode.PAUSED, Mode.ROLL_BACK) else "Waiting"


def _doubts(outcome: Outcome) -> list[str]:
    """The approvals that have no effect, and why."""
    return [wording.sentence(wait) for wait in outcome.waits if wait.reason in _NO_EFFECT]


def _next_step(work: PlannedWork, plan: Plan, name: str, *, named: bool) -> str:
    """The command that a person runs to let the cluster go on; empty if it waits for none."""
    if work.mode is not Mode.APPLY:
        return _mode_step(work, name)
    if work.waiting:
        why = "so many deletions need a person's approval: " if work.auto else ""
        return f"; {why}approve {plan.hash}: {approval_line(name, plan.hash, named=named)}"
    return ""


def _mode_step(work: PlannedWork, name: str) -> str:
    return f"; the mode is {work.mode}: {wording.mode_line(name)}"


def _step_reason(plan: Plan) -> str:
    kinds = {type(step).__name__ for step in plan.steps}
    if plan.moves or "MoveLogDir" in kinds:
        return "Moving"
    if kinds & {"CreateTopic", "AddPartitions"}:
        return "Creating"
    return "Deleting" if "DeleteTopic" in kinds else "Configuring"


def _waits(outcome: Outcome) -> list[str]:
    return [
        wording.sentence(wait)
        for wait in in_order(outcome.waits)
        if wait.reason not in _UNREPORTED_WAITS
    ]
