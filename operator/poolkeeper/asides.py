"""What goes on beside a run: creations, added partitions and harmless configs never wait for moves.

A run may take hours. While its request is in flight, or it waits, a pass looks at the whole cluster
as soon as something else is declared, soon after it did something or could not read everything, and
every half minute otherwise; it plans anew, and of that plan takes the steps that have nothing to do
with the run. Moves of the new plan, its elections and deletions wait until the run has ended;
partitions are not added to a topic that the run moves, as the controller could swallow the
addition.
"""

from dataclasses import replace

from poolkeeper import steps
from poolkeeper.means import Beside, Means
from poolkeeper.model.actions import Action
from poolkeeper.model.outcomes import Outcome, Result, State
from poolkeeper.model.plans import AddPartitions, CreateTopic, Plan, SetConfig, Step
from poolkeeper.model.specs import Desired
from poolkeeper.planning import audit, documents, gates
from poolkeeper.planning.owners import settled
from poolkeeper.planning.progress import MoveState, classify
from poolkeeper.sights import Sight, see, shown

LOOK_EVERY_MS = 30_000
LOOK_AGAIN_MS = 2_000


def beside(
    means: Means, desired: Desired, outcome: Outcome, *, acting: bool, destructive: bool
) -> Outcome:
    """Do what may be done beside the run that this outcome is of; return the outcome with it.

    `acting`: whether anything may be done, or only looked at. `destructive`: whether configs that
    lose data or safety may be set, too.
    """
    if outcome.state is not State.WAITING or outcome.plan is None:
        return outcome
    known = means.memory.beside
    if known is None or known.desired is not desired or _is_old(means, known):
        known, did = _look(means, desired, outcome.plan, acting=acting, destructive=destructive)
        means.memory.beside = known
        if did:
            state = State.PROGRESSED
            outcome = replace(outcome, state=state, did=(*outcome.did, *did))
    waits = (*outcome.waits, *known.waits)
    return replace(outcome, waits=waits, fresh=known.plan, seen=means.memory.seen)


def _is_old(means: Means, known: Beside) -> bool:
    return means.now_ms() >= known.until_ms


def _look(
    means: Means, desired: Desired, running: Plan, *, acting: bool, destructive: bool
) -> tuple[Beside, tuple[Action, ...]]:
    with means.timed("observe"):
        sight = see(means.journal.session, desired, means.now_ms(), means.enrich)
    means.memory.seen = shown(sight, means.memory.seen)
    owned = settled(desired, sight.records)
    with means.timed("plan"):
        plan = means.plan(owned, sight.cluster, sight.records, sight.gone)
    result = Result(waits=gates.controller(sight.cluster))
    if acting and not result.waits:
        due = _steps_beside(plan, _moving(running, sight))
        _enforce(due, plan, owned, sight)
        for step in due:
            lossy = isinstance(step, SetConfig) and bool(step.destructive)
            allowed = destructive or not lossy
            result += steps.take(means, owned, step, sight.cluster, allowed=allowed)
    pause_ms = LOOK_AGAIN_MS if result.did or sight.cluster.torn else LOOK_EVERY_MS
    return Beside(desired, means.now_ms() + pause_ms, plan, result.waits), result.did


def _moving(running: Plan, sight: Sight) -> set[str]:
    ended = (MoveState.DONE, MoveState.GONE, MoveState.DIVERGED)
    states = classify(running.moves, sight.cluster)
    return {
        move.topic for move, p in zip(running.moves, states, strict=True) if p.state not in ended
    }


def _steps_beside(plan: Plan, moving: set[str]) -> tuple[Step, ...]:
    return tuple(
        step
        for step in plan.steps
        if isinstance(step, CreateTopic | SetConfig)
        or (isinstance(step, AddPartitions) and step.topic not in moving)
    )


def _enforce(due: tuple[Step, ...], plan: Plan, desired: Desired, sight: Sight) -> None:
    alone = replace(plan, moves=(), steps=due, stages=(), hash=documents.plan_hash((), due))
    audit.enforce(alone, desired, sight.cluster, sight.records, sight.gone)
