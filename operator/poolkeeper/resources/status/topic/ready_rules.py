"""The Ready condition of a Topic: rules from the Topic's situation to a condition or None.

`READY_RULES` lists them in order, and the first that applies is used. A Kafka topic that is as
declared is Ready, also while balance moves a little of it: the message says so. Then come, in this
order: a declared pause, work under way, what a person must fix, what a person must approve, and
what the loop does next by itself.
"""

from collections.abc import Callable

from poolkeeper import wording
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.plans import AddPartitions, CreateTopic, PlanProblem, SetConfig
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import Mode
from poolkeeper.planning.proposals.identity import is_destructive
from poolkeeper.resources.kinds import resource_pool
from poolkeeper.resources.kinds.custom_resource import ObjectKey
from poolkeeper.resources.status.cluster_conditions import DELAYS_MAX, run_delay
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus, ready_before
from poolkeeper.resources.status.health import in_place_condition
from poolkeeper.resources.status.status_inputs import blocking_problem
from poolkeeper.resources.status.topic.claim_rules import (
    if_alike_in_metrics,
    if_deleting,
    if_not_owner,
    if_without_right,
    wait_of_topic,
)
from poolkeeper.resources.status.topic.differences import approval_text, differences_text
from poolkeeper.resources.status.topic.situation import TopicSituation
from poolkeeper.resources.status.wording import (
    about,
    coarse,
    coarse_seconds,
    count,
    few,
    size,
)
from poolkeeper.text import cut, named

STEPS = 20
"""The number of steps in which one topic's progress is reported."""

_OF_CONFIG = (ProblemReason.INVALID_CONFIG, ProblemReason.CONFIG_REFUSED)
"""Problems that a person mends in this Topic, whatever else is done for it meanwhile."""

_BROKERS_MAX = 5
_APPLY = "set spec.mode to Apply to go on"


def _if_torn(at: TopicSituation) -> ReadyCondition | None:
    assert at.inputs.observation is not None
    if at.spec.topic not in at.inputs.observation.cluster.torn:
        return None
    waiting = ReadyCondition(
        ReadyStatus.RECONCILING, "Waiting", "it changes while it is being read"
    )
    return ready_before(at.resource.status, at.resource.generation) or waiting


def _if_in_place(at: TopicSituation) -> ReadyCondition | None:
    standing = at.standing
    if not standing.in_place:
        return None
    message = (
        f"in place in pool {standing.pool}: {count(standing.partitions, 'partition')}"
        f" of {count(standing.replication_factor, 'replica')}"
    )
    if at.spec.paused:
        message += "; paused"
    if at.run_work.moves > at.run_work.arrived:
        are = "is" if at.run_work.moves == 1 else "are"
        why = _elsewhere_text(at) if at.elsewhere else "for balance"
        message += f"; {count(at.run_work.moves, 'partition')} {are} moved {why}"
    elif at.plan_work.moves:
        message += f"; {count(at.plan_work.moves, 'partition')} could move for balance"
    return in_place_condition([message], at.inputs.health.topics.get(at.spec.topic, ()))


def _if_pool_rejected(at: TopicSituation) -> ReadyCondition | None:
    verdict = at.inputs.assembly.verdicts.get(ObjectKey(resource_pool.KIND, "", at.spec.pool))
    if verdict is None:
        return None
    return ReadyCondition(
        ReadyStatus.RECONCILING, "Waiting", f"ResourcePool {at.spec.pool}: {verdict.message}"
    )


def _if_paused(at: TopicSituation) -> ReadyCondition | None:
    if at.spec.paused:
        how = "set spec.paused to false to go on"
        message = f"paused, and not as declared: {differences_text(at)}; {how}"
        return ReadyCondition(ReadyStatus.RECONCILING, "Paused", message)
    if at.work.mode in (Mode.PAUSED, Mode.ROLL_BACK):
        message = (
            f"{at.cluster} is in mode {at.work.mode}; left to do: {differences_text(at)}; {_APPLY}"
        )
        return ReadyCondition(ReadyStatus.RECONCILING, "Paused", message)
    return None


def _if_moving(at: TopicSituation) -> ReadyCondition | None:
    run, standing = at.run_work, at.standing
    if not run.moves or not (run.arrived < run.moves or standing.misplaced):
        return None
    where = f"into pool {at.spec.pool}" if standing.outside else f"in pool {at.spec.pool}"
    if at.elsewhere:
        where = _elsewhere_text(at)
    done = coarse(run.arrived, run.moves, STEPS)
    parts = [f"moving {where}: {done} of {count(run.moves, 'partition')}"]
    left = run.bytes - coarse(run.bytes_arrived, run.bytes, STEPS)
    if left:
        parts.append(f"{size(left)} left")
    progress = at.outcome.progress
    if progress is not None and progress.seconds_left is not None:
        parts.append(about(coarse_seconds(progress.seconds_left)))
    message = ", ".join(parts)
    if at.elsewhere:
        message = f"{message}; then into pool {at.spec.pool}"
    if why := run_delay(at.outcome, at.run_work.waits):
        message = f"{message}; {why}"
    return ReadyCondition(ReadyStatus.RECONCILING, "Moving", message)


def _elsewhere_text(at: TopicSituation) -> str:
    return f"to {named('broker', cut(map(str, at.elsewhere), _BROKERS_MAX))}, as declared before"


def _if_blocked(at: TopicSituation) -> ReadyCondition | None:
    of_config = [p for p in at.plan_work.problems if p.reason in _OF_CONFIG]
    problem = blocking_problem(of_config or at.plan_work.problems)
    if problem is None or (not of_config and (at.plan_work.steps or at.plan_work.needed)):
        return None
    return ReadyCondition(ReadyStatus.STALLED, _blocked_reason(problem), problem.message)


def _blocked_reason(problem: PlanProblem) -> str:
    if problem.reason is ProblemReason.INVALID_CONFIG:
        return "Invalid"
    if problem.reason is ProblemReason.CONFIG_REFUSED:
        return "ConfigRefused"
    if problem.reason is ProblemReason.UNLAWFUL:
        return "Unlawful"
    return "QuotaExceeded" if problem.law == "quotas" else "Impossible"


def _if_plan_only(at: TopicSituation) -> ReadyCondition | None:
    if at.work.mode is not Mode.PLAN_ONLY:
        return None
    message = f"{at.cluster} is in mode PlanOnly; would {differences_text(at)}; {_APPLY}"
    return ReadyCondition(ReadyStatus.RECONCILING, "PlanOnly", message)


def _if_unapproved(at: TopicSituation) -> ReadyCondition | None:
    asks = at.plan_work.moves or any(map(is_destructive, at.plan_work.steps))
    if not at.work.waiting or not asks:
        return None
    return ReadyCondition(
        ReadyStatus.RECONCILING,
        "WaitingForApproval",
        f"{approval_text(at)} to {differences_text(at)}",
    )


def _if_too_large(at: TopicSituation) -> ReadyCondition | None:
    written = wait_of_topic(at, WaitReason.TOPIC_TOO_LARGE) if at.plan_work.steps else None
    moved = wait_of_topic(at, WaitReason.TOPIC_NODE_TOO_LARGE)
    wait = written or moved
    if wait is None:
        return None
    return ReadyCondition(ReadyStatus.STALLED, "TooLarge", wording.sentence(wait))


def _if_step_due(at: TopicSituation) -> ReadyCondition | None:
    for step in at.plan_work.steps:
        if is_destructive(step) and at.outcome.progress is not None and at.manual:
            message = f"waits for the run under way to end; then: {differences_text(at)}"
            return ReadyCondition(ReadyStatus.RECONCILING, "Queued", message)
        if isinstance(step, CreateTopic):
            message = f"creating {count(len(step.replicas), 'partition')} in pool {step.pool}"
            return ReadyCondition(ReadyStatus.RECONCILING, "Creating", message)
        if isinstance(step, AddPartitions):
            message = f"adding {count(len(step.replicas), 'partition')}"
            return ReadyCondition(ReadyStatus.RECONCILING, "Creating", message)
        if isinstance(step, SetConfig):
            return ReadyCondition(
                ReadyStatus.RECONCILING, "Configuring", f"setting {few(at.standing.differing)}"
            )
    if at.standing.unled and not at.standing.misplaced:
        message = f"waiting for leaders of {count(at.standing.unled, 'partition')}"
        return ReadyCondition(ReadyStatus.RECONCILING, "Creating", message)
    return None


def _if_queued(at: TopicSituation) -> ReadyCondition | None:
    if not at.plan_work.moves:
        return None
    if at.outcome.progress is not None:
        message = (
            f"waits for the run of {at.outcome.progress.plan} to end; then: {differences_text(at)}"
        )
        return ReadyCondition(ReadyStatus.RECONCILING, "Queued", message)
    if at.outcome.waits:
        message = f"waits to {differences_text(at)}: {at.work.delay}"
        return ReadyCondition(ReadyStatus.RECONCILING, "Waiting", message)
    return ReadyCondition(ReadyStatus.RECONCILING, "Queued", f"about to {differences_text(at)}")


def _otherwise(at: TopicSituation) -> ReadyCondition:
    problems = [p.message for p in at.plan_work.problems]
    why = few(problems, DELAYS_MAX) or at.work.delay
    message = f"waits to {differences_text(at)}" + (f": {why}" if why else "")
    return ReadyCondition(ReadyStatus.RECONCILING, "Waiting", message)


READY_RULES: tuple[Callable[[TopicSituation], ReadyCondition | None], ...] = (
    if_deleting,
    if_without_right,
    if_not_owner,
    if_alike_in_metrics,
    _if_torn,
    _if_in_place,
    _if_pool_rejected,
    _if_paused,
    _if_moving,
    _if_blocked,
    _if_plan_only,
    _if_unapproved,
    _if_too_large,
    _if_step_due,
    _if_queued,
    _otherwise,
)
