"""What keeps a cluster from being as declared although a command has nothing more to do.

Exit code 4 and `undone` of JSON documents are made of the same list. Each entry has a reason to
decide on, and a sentence.
"""

from collections.abc import Iterable

from poolkeeper import wording
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan, PlanProblem
from poolkeeper.model.problems import (
    Facts,
    ProblemReason,
    awaits_next_plan,
    is_left_undone,
    reason_named,
)
from poolkeeper.planning.facts.topics import TopicLeftOut, Unsettled

EXIT_CODE = 4
_LEFT = frozenset(
    (
        ActionKind.LEFT_ALONE,
        ActionKind.TOPIC_GONE,
        ActionKind.MOVES_UNSEEN,
        ActionKind.MOVES_UNLIMITED,
        ActionKind.CONFIG_UNLOADABLE,
        ActionKind.TOPIC_NODE_TOO_LARGE,
        ActionKind.MOVES_LEFT_TO_KRAFT,
        ActionKind.LOG_DIR_MOVES_GIVEN_UP,
        ActionKind.THROTTLES_STAY,
        ActionKind.THROTTLES_LEFT_TO_KRAFT,
        ActionKind.LEFT_TO_OTHERS,
        ActionKind.LEADERS_KEPT,
        ActionKind.DELETION_TAKEN_BACK,
        ActionKind.STEP_OUTDATED,
        ActionKind.STEP_NOT_ALLOWED,
        ActionKind.CONFIG_REFUSED,
        ActionKind.TOPIC_TOO_LARGE,
    )
)
_NEEDS_REPAIR = frozenset(
    (
        WaitReason.NODE_DAMAGED,
        WaitReason.THROTTLED_CONFIG_DAMAGED,
        WaitReason.ISR_OUTSIDE_REPLICAS,
        WaitReason.CONTROLLER_EPOCH_BEHIND,
    )
)


@frozen
class Undone:
    """One thing that is not as declared, and why; `topic` and `pool` where it is about one."""

    reason: str
    message: str
    topic: str = ""
    pool: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is about, without the numbers of its message: they change as work goes on."""
        return self.reason, self.topic, self.pool


def of_plan(plan: Plan) -> tuple[Undone, ...]:
    """Return what the plan leaves undone."""
    return of_problems(p for p in plan.problems if is_left_undone(p.reason))


def of_problems(problems: Iterable[PlanProblem]) -> tuple[Undone, ...]:
    """Return these problems as things that are not as declared."""
    return tuple(
        Undone(problem.reason.value, problem.message, problem.topic, problem.pool)
        for problem in problems
    )


def sentence(undone: Undone) -> str:
    """Return what a plan left undone with its topic or pool, and whether `apply` does it next."""
    said = undone.message
    if undone.topic:
        said = f"topic {undone.topic}: {said}"
    elif undone.pool:
        said = f"pool {undone.pool}: {said}"
    is_next = awaits_next_plan(reason_named(undone.reason))
    return f"{said}; run `poolkeeper apply` again" if is_next else said


def of_loop(outcome: Outcome) -> tuple[Undone, ...] | None:
    """Return what a loop leaves undone until somebody does something; None without a plan.

    What awaits the next plan is not among it: a loop makes that by itself. Nor are topics that the
    plan of now leaves out as they move: its run moves them, and of other moves it tells as waits.
    """
    if outcome.plan is None and outcome.fresh is None:
        return None
    kept = [p for p in outcome.problems if is_left_undone(p.reason)]
    if outcome.fresh is not None:
        moving = {p.topic for p in kept if _is_moving(p.facts)}
        idle = (ProblemReason.LEFT_OUT, ProblemReason.UNTOUCHED)
        kept = [p for p in kept if p.topic not in moving or p.reason not in idle]
    return of_problems(p for p in kept if not awaits_next_plan(p.reason))


def _is_moving(facts: Facts) -> bool:
    match facts:
        case TopicLeftOut(why=Unsettled.MOVING | Unsettled.REQUESTED):
            return True
    return False


def of_waits(waits: Iterable[Wait]) -> tuple[Undone, ...]:
    """Return what a command would have to wait for."""
    return tuple(Undone(wait.reason.value, wording.sentence(wait), wait.topic) for wait in waits)


def throttles_left(outcome: Outcome) -> tuple[Wait, ...]:
    """Return the throttles that a run left and that this command may not take off."""
    return tuple(wait for wait in outcome.waits if wait.reason is WaitReason.THROTTLES_LEFT)


def deletions_left(outcome: Outcome) -> tuple[Wait, ...]:
    """Return the deletions that wait for brokers that are not live."""
    return tuple(w for w in outcome.waits if w.reason is WaitReason.DELETION_AWAITS_BROKERS)


def of_damage(waits: Iterable[Wait]) -> tuple[Undone, ...]:
    """Return the damage beside a plan that only `repair` mends."""
    return of_waits(wait for wait in waits if wait.reason in _NEEDS_REPAIR)


def of_actions(actions: Iterable[Action]) -> tuple[Undone, ...]:
    """Return what a run gave up."""
    return tuple(
        Undone(action.kind.value, wording.sentence(action), action.topic)
        for action in dict.fromkeys(actions)
        if action.kind in _LEFT
    )


def as_data(undone: Iterable[Undone]) -> list[dict[str, str]]:
    """Return the list as JSON values, without empty fields."""
    return [
        {
            name: value
            for name, value in (
                ("reason", each.reason),
                ("topic", each.topic),
                ("pool", each.pool),
                ("message", each.message),
            )
            if value
        }
        for each in undone
    ]
