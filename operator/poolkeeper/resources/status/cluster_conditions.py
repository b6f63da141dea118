"""The Ready condition of a KafkaCluster, and the next step for a person in its message.

The first of these that applies is used: deletion, what is wrong with the resource, what holds all
clusters back, an error of the pass, a run under way, and else the plan: nothing to do, or what it
waits for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
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
from poolkeeper.model.execution.outcomes import Outcome, Progress
from poolkeeper.model.execution.punctuality import Punctuality
from poolkeeper.model.execution.runs import Ending, Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, in_order
from poolkeeper.model.names import ABANDON, DELETION
from poolkeeper.model.plans import ElectLeaders, Plan
from poolkeeper.model.specs import Mode
from poolkeeper.planning.parts.choose import is_free
from poolkeeper.planning.problem.topic_rights import namespace_of
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus
from poolkeeper.resources.status.health import in_place_condition
from poolkeeper.resources.status.left_run import LEFT_RUN, left_run_text, staying_run_text
from poolkeeper.resources.status.status_inputs import PlannedWork, StatusInputs
from poolkeeper.resources.status.wording import (
    about,
    approval_line,
    coarse_seconds,
    count,
    few,
    foreign_finalizers_phrase,
    size,
    summary,
)
from poolkeeper.text import named

BALANCE_WAITS = "balanceWaitsUntil"
"""The field of the status that says until when balance waits (`balancing.coolDown`)."""
DELAYS_MAX = 2
"""How many waits the status of a Topic or ResourcePool tells."""
UNREPORTED_WAITS = frozenset(
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


def ready_condition(
    inputs: StatusInputs,
    work: PlannedWork | None,
    outcome: Outcome,
    resource: CustomResource,
    facts: dict[str, Any],
) -> ReadyCondition:
    """The condition that applies; `facts`: the rest of the status, as it will be written."""
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
        return _error_condition(outcome.error, facts)
    if work is None:
        waits = outcome.waits or (Wait(WaitReason.NOT_OBSERVED_YET),)
        return ReadyCondition(ReadyStatus.UNKNOWN, "Waiting", few(wording.sentences(waits), 3))
    if assembly.abandoned and outcome.progress is None:
        return ReadyCondition(ReadyStatus.UNKNOWN, "Waiting", assembly.abandoned)
    if outcome.progress is not None:
        return _run_condition(work, outcome, outcome.progress, resource.name, facts.get("plan", {}))
    return _idle_condition(inputs, work, outcome, resource.name, facts)


def _deletion_text(outcome: Outcome, resource: CustomResource) -> str:
    if resource.keepers:
        held = foreign_finalizers_phrase(resource.keepers)
        return f"no run is under way; Kafka stays as it is{held}"
    if outcome.error is None:
        return "the run under way ends after the stage in flight; Kafka stays as it is"
    if resource.given_up:
        return "it goes without a look at the cluster, as an annotation says"
    line = f"kubectl annotate kafkacluster {resource.name} {DELETION}={ABANDON} --overwrite"
    return (
        f"{wording.error_text(outcome.error)}; a run that may be under way there has to be ended"
        f" first. If the cluster is gone for good, let it go: {line}"
    )


def _error_condition(error: PoolkeeperError, facts: dict[str, Any]) -> ReadyCondition:
    message = wording.error_text(error)
    match error:
        case OtherCluster():
            message += staying_run_text(facts, error.found_id)
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
        parts += [plan["late"]["message"]] if "late" in plan and not paused else []
        message = ", ".join(parts)
    elif progress.phase in (Phase.STORING, Phase.THROTTLING):
        what = f"{count(plan['moves'], 'partition')} ({size(plan['bytes'])})"
        message = f"about to move {what}: {progress.phase.value}"
    else:
        message = progress.phase.value
    waits = _waits(outcome)
    if waits:
        message += f"; waits: {few(waits, 3)}"
    back = "the stage in flight is cancelled and returns to where it began"
    if paused:
        stage = back if work.mode is Mode.ROLL_BACK else "the stage in flight runs to its end"
        message = f"{stage}, no further stage starts; {message}"
        return ReadyCondition(
            ReadyStatus.RECONCILING, "Paused", f"{message}{_mode_step(work, name)}"
        )
    if progress.phase in (Phase.MOVING, Phase.COPYING):
        if progress.ending is Ending.STOPPED:
            message = f"stopped: the run ends after the stage in flight; {message}"
        elif progress.ending is Ending.ROLLED_BACK:
            message = f"rolled back: {back}, then the run ends; {message}"
    if work.mode is Mode.PLAN_ONLY:
        step = _mode_step(work, name)
        return ReadyCondition(ReadyStatus.RECONCILING, "PlanOnly", f"{message}{step}")
    return ReadyCondition(ReadyStatus.RECONCILING, "Moving", message)


def _idle_condition(
    inputs: StatusInputs, work: PlannedWork, outcome: Outcome, name: str, facts: dict[str, Any]
) -> ReadyCondition:
    plan, waits = work.plan, _waits(outcome)
    if plan is None or has_only_elections(plan):
        if waits:
            return ReadyCondition(ReadyStatus.RECONCILING, _hold_reason(work), few(waits, 3))
        said = [f"balance waits until {facts[BALANCE_WAITS]}"] if BALANCE_WAITS in facts else []
        return _in_place(inputs, outcome, facts, "in place", *said)
    what = summary(plan, facts.get("plan", {}).get("bytes", 0))
    approved = len(inputs.desired.cluster.approval.plans) if inputs.desired else 0
    next_step = _next_step(work, plan, name, approved, named=outcome.approvers_verified)
    if not work.needed:
        return _in_place(inputs, outcome, facts, f"in place; would {what}{next_step}")
    if work.mode is Mode.PLAN_ONLY:
        return ReadyCondition(ReadyStatus.RECONCILING, "PlanOnly", f"would {what}{next_step}")
    if work.mode is not Mode.APPLY:
        return ReadyCondition(
            ReadyStatus.RECONCILING, "Paused", f"paused; left to do: {what}{next_step}"
        )
    if work.waiting:
        asked = replace(plan, steps=tuple(each for each in plan.steps if not is_free(each)))
        what = summary(asked, facts.get("plan", {}).get("bytes", 0))
        doubts = "".join(f"; {each}" for each in _doubts(outcome))
        return ReadyCondition(
            ReadyStatus.RECONCILING, "WaitingForApproval", f"waits to {what}{doubts}{next_step}"
        )
    if waits:
        return ReadyCondition(
            ReadyStatus.RECONCILING, "Waiting", f"waits to {what}: {few(waits, 3)}"
        )
    return ReadyCondition(ReadyStatus.RECONCILING, _step_reason(plan), f"about to {what}")


def has_only_elections(plan: Plan) -> bool:
    """Whether the plan holds only elections, which come and go as brokers restart."""
    return not plan.moves and all(isinstance(step, ElectLeaders) for step in plan.steps)


def _in_place(
    inputs: StatusInputs, outcome: Outcome, facts: dict[str, Any], *said: str
) -> ReadyCondition:
    """The condition of a cluster as declared: with what is wrong, limits, what was left behind."""
    last = outcome.last_observation
    throttles = () if last is None else wording.sentences(last.unaccounted)
    if inputs.stalled_pools:
        stalled = named("ResourcePool", inputs.stalled_pools)
        said = (f"{said[0]}, but for {stalled}: see there", *said[1:])
    problems = [p for p in outcome.problems if not p.pool and not p.topic]
    left = [left_run_text(facts[LEFT_RUN])] if LEFT_RUN in facts else []
    remarks = [*left, *throttles, *_unwatched(inputs)]
    return in_place_condition(said, [*inputs.health.cluster, *problems], remarks)


def _unwatched(inputs: StatusInputs) -> Iterator[str]:
    """By namespace that is not watched, the topics whose owner is a Topic there."""
    topics: dict[str, list[str]] = {}
    for topic in sorted(inputs.owners.unwatched):
        if record := inputs.found.record_of(topic):
            topics.setdefault(namespace_of(record.owner), []).append(topic)
    for namespace, names in sorted(topics.items()):
        told = f"{count(len(names), 'topic')} of namespace {namespace} ({few(names)})"
        be, it = ("are", "they") if names[1:] else ("is", "it")
        yield (
            f"{told} {be} left where {it} {be}, as the namespace is not watched, or may not"
            " be read: watch it again (--watch-namespace, in the chart watchNamespaces), give the"
            " operator its Role there, or declare what it had in another one and approve that"
        )


def _hold_reason(work: PlannedWork) -> str:
    return "Paused" if work.mode in (Mode.PAUSED, Mode.ROLL_BACK) else "Waiting"


def _doubts(outcome: Outcome) -> list[str]:
    """The approvals that have no effect, and why."""
    return [wording.sentence(wait) for wait in outcome.waits if wait.reason in _NO_EFFECT]


def _next_step(work: PlannedWork, plan: Plan, name: str, approved: int, *, named: bool) -> str:
    """The command that a person runs to let the cluster go on; empty if it waits for none."""
    if work.mode is not Mode.APPLY:
        return _mode_step(work, name)
    if work.waiting:
        why = "so many deletions need a person's approval: " if work.auto else ""
        line = approval_line(name, plan.hash, approved, named=named)
        return f"; {why}approve {plan.hash}: {line}"
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
        if wait.reason not in UNREPORTED_WAITS
    ]


def delay_phrase(found: Punctuality) -> str:
    """How late a run is, and why: "about 40 min late: something blocks it"; else nothing."""
    if found.reason is None:
        return ""
    return f"{about(coarse_seconds(found.late_s))} late: {wording.lateness_text(found.reason)}"


def delay_text(outcome: Outcome) -> str:
    """The first few things that a pass waits for; nothing without any."""
    return few(wording.sentences(in_order(outcome.waits)), DELAYS_MAX)


def run_delay(outcome: Outcome, waits: Iterable[Wait]) -> str:
    """A phrase for what moves wait for, or else for why the run is late; empty if neither.

    By how much the run is late is told by the KafkaCluster alone: each Topic would be written again
    and again.
    """
    if found := in_order(waits):
        return f"waits: {few(wording.sentences(found), DELAYS_MAX)}"
    return "" if outcome.progress is None else _late_run(outcome.progress)


def _late_run(progress: Progress) -> str:
    found = progress.punctuality
    if found is None or found.reason is None:
        return ""
    return f"the run is late: {wording.lateness_text(found.reason)}"
