"""What is done of a plan now, while no run is recorded.

Early steps come first: creations, added partitions, configs. Then a run begins, if the plan has
moves that are allowed, between brokers or between log directories. Late steps, elections and
deletions, come when nothing is left to move (`late_steps`).

Whoever edits Topics again and again gives every pass something to write early. So a pass that wrote
early steps gives its turn to the rest: the next one writes early steps only if no run begins and
nothing is due late.
"""

from collections.abc import Iterator, Sequence

from poolkeeper.errors import DamagedNode
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome, Result, State
from poolkeeper.model.execution.waits import Wait, damage_wait
from poolkeeper.model.plans import (
    Plan,
    Step,
)
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.gates import stray_logs
from poolkeeper.planning.run_state.progress import held_copies, step_progress
from poolkeeper.planning.run_state.progress.log_dir_copies import (
    CopyProgress,
    CopyState,
    classify_copies,
    copies_of,
)
from poolkeeper.planning.run_state.progress.move_progress import (
    ENDED_STATES,
    MoveState,
    classify,
    classify_lazily,
    waits_for_nodes,
)
from poolkeeper.planning.run_state.progress.staying_moves import StayingMoves
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.reconcile.act import server_limits
from poolkeeper.reconcile.act.run import begin_run
from poolkeeper.reconcile.act.steps import write_steps
from poolkeeper.reconcile.authority import approver
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import begin, steps
from poolkeeper.reconcile.decide.decisions import DoNothing
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.reconcile.plans.due_plan import DuePlan
from poolkeeper.reconcile.plans.late_steps import do_late

ASK_AGAIN_MS = 15_000
"""How long a config that may not be written is not tried again, while nothing else moves."""


def carry_out(context: PassContext, due: DuePlan, observed: Observation) -> Outcome:
    """Do what is allowed of the plan now: early steps, then a run, then late steps."""
    memory, authority, plan = context.memory, due.authority, due.plan
    if authority.steps or (authority.covers(plan) and not plan.empty):
        context.access.remember_brokers(observed.records)
    wrote_early, memory.wrote_early = memory.wrote_early, False
    if wrote_early:
        rest = _do_rest(context, due, observed, Result())
        if rest.state is State.PROGRESSED:
            return rest
    result = _do_early(context, due, observed)
    memory.wrote_early = bool(result.did)
    if result.did:
        return Outcome(State.PROGRESSED, result.did, result.waits, plan)
    return _do_rest(context, due, observed, result)


def _do_rest(context: PassContext, due: DuePlan, observed: Observation, early: Result) -> Outcome:
    """Begin a run, or write the late steps; `early` is the result of the early steps."""
    plan, desired, authority = due.plan, due.desired, due.authority
    access, cluster = context.access, observed.cluster
    if authority.steps:
        access.remember_owners(steps.owners_to_record(desired, plan, observed))
    moved = all(p.state in ENDED_STATES for p in classify_lazily(plan.moves, cluster))
    copies = classify_copies(copies_of(plan), cluster, {})
    held = held_copies.waits_of_held(context.memory.copy_holds, copies_of(plan), context.now_ms())
    pending = list(_pending(copies))
    left = () if due.by_person else tuple(held[n] for n in pending if n in held)
    if moved and held.keys() >= set(pending):
        unknown = tuple(_waits_for_copies(plan, cluster))
        if unknown:
            return Outcome(State.WAITING, waits=(*early.waits, *unknown), plan=plan)
        return do_late(context, due, observed, early + Result(waits=left))
    if unseen := _unseen(plan, cluster):
        return Outcome(State.WAITING, waits=(*early.waits, *unseen), plan=plan)
    try:
        stopped = not due.by_person and access.read_stopped() == plan.fingerprint
    except DamagedNode as damaged:  # some plan was stopped, and perhaps this one
        waits = (*early.waits, damage_wait(damaged.damage))
        return Outcome(State.WAITING, waits=waits, plan=plan)
    decision = begin.decide_begin(
        plan, desired, authority, cluster, context.now_ms(), stopped=stopped
    )
    waits = decision.waits if isinstance(decision, DoNothing) else ()
    to_copy = [n for n in pending if n not in held]
    if not waits and not to_copy:
        waits = begin.waits_of_held(plan, desired, cluster, observed.gone)
    if waits:
        return Outcome(State.WAITING, waits=(*early.waits, *waits), plan=plan)
    stay = _staying(context, plan, desired, cluster, to_copy)
    if stay is not None:
        return do_late(context, due, observed, early + Result(waits=left), stay)
    approved_by = approver(authority, plan, context.trail, by_person=due.by_person)
    return begin_run(context, desired, plan, observed, approved_by)


def _staying(
    context: PassContext, plan: Plan, desired: Desired, cluster: Cluster, copies: Sequence[int]
) -> StayingMoves | None:
    """Return what stays, and why, if that is all that is left; else None.

    `copies`: the moves between log directories that are left.
    """
    memory, now_ms = context.memory, context.now_ms()
    states = [p.state for p in classify(plan.moves, cluster)]
    left = [m for m, state in enumerate(states) if state not in ENDED_STATES]
    moves = [plan.moves[m] for m in left if any(plan.moves[m].replicas_added)]
    topics = sorted({move.topic for move in moves})
    steps = copies_of(plan)
    brokers = sorted({*throttles.brokers_of(moves), *(steps[n].broker for n in copies)})
    limited = desired.cluster.execution.throttle.mode is not ThrottleMode.NONE
    old = now_ms - memory.unwritable_ms >= ASK_AGAIN_MS
    names = {plan.moves[m].topic for m in left} & cluster.topics.keys()
    server_limits.ask_about_nodes(context, [cluster.topics[name] for name in names])
    bounds = memory.server_limits.bounds(now_ms)

    def staying() -> StayingMoves:
        known = memory.unwritable
        return begin.staying_at_begin(plan, left, copies, desired, cluster, known, bounds)

    stay = staying()
    if limited and (old or len(stay) < len(left) + len(copies)):
        memory.unwritable, memory.unwritable_ms = context.access.unlimited(topics, brokers), now_ms
        stay = staying()
    return stay if stay and len(stay) == len(left) + len(copies) else None


def _pending(copies: Sequence[CopyProgress]) -> Iterator[int]:
    return (n for n, p in enumerate(copies) if p.state is CopyState.PENDING)


def _unseen(plan: Plan, cluster: Cluster) -> tuple[Wait, ...]:
    """Name the topics that cannot be read, if nothing else is left to move: no run begins then."""
    if not cluster.damaged:
        return ()
    progress = classify(plan.moves, cluster)
    left = {p.state for p in progress} - set(ENDED_STATES)
    return waits_for_nodes(plan.moves, progress, cluster) if left == {MoveState.UNREADABLE} else ()


def _do_early(context: PassContext, due: DuePlan, observed: Observation) -> Result:
    """Write the early steps."""
    cluster = observed.cluster
    covered = due.authority.covers(due.plan)

    def hold(step: Step) -> Wait | None:
        allowed = covered if steps.is_lossy(step) else due.authority.steps
        if not allowed:
            return steps.needs_approval(step)
        return stray_logs.endangered_by_step(step, cluster, due.desired)

    early = steps.decide(steps.early_steps(due.plan), cluster, hold)
    return write_steps(context, due.desired, observed, early, by_person=due.by_person)


def _waits_for_copies(plan: Plan, cluster: Cluster) -> Iterator[Wait]:
    """Name what moves between log directories already, and the brokers that do not tell."""
    for step in copies_of(plan):
        found = step_progress.progress_of(step, cluster)
        if found.wait is not None:
            yield found.wait
