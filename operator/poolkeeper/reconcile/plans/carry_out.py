"""What is done of a plan now, while no run is recorded.

Early steps come first: creations, added partitions, configs. Then a run begins, if the plan has
moves that are allowed, between brokers or between log directories. Late steps, elections and
deletions, come when nothing is left to move.

Whoever edits Topics again and again gives every pass something to write early. So a pass that wrote
early steps gives its turn to the rest: the next one writes early steps only if no run begins and
nothing is due late.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from poolkeeper.errors import DamagedNode
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Result, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, damage_wait, has
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Plan,
    SetConfig,
    Step,
)
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.problem.topic_rights import namespaces_of_doomed
from poolkeeper.planning.run_state import deletions
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
from poolkeeper.planning.run_state.progress.step_progress import StepState
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.planning.run_state.throttling.unlimited_moves import Unlimited
from poolkeeper.reconcile.act import stall_recovery
from poolkeeper.reconcile.act.run import begin_run
from poolkeeper.reconcile.act.steps import write_steps
from poolkeeper.reconcile.authority import Authority, approver
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import begin, steps
from poolkeeper.reconcile.decide.decisions import DoNothing
from poolkeeper.reconcile.observe.observation import Observation

ASK_AGAIN_MS = 15_000
"""How long a config that may not be written is not tried again, while nothing else moves."""


@frozen
class DuePlan:
    """A plan that is followed now, of what is declared, and what of it is allowed.

    `by_person`: a person confirmed it. Then an error is raised, as the person reads it.
    """

    plan: Plan
    desired: Desired
    authority: Authority
    by_person: bool = False


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
    result = _do_early(context, due, observed.cluster)
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
    held = held_copies.held(context.memory.copy_holds, copies_of(plan), context.now_ms())
    pending = list(_pending(copies))
    left = () if due.by_person else tuple(held[n] for n in pending if n in held)
    if moved and held.keys() >= set(pending):
        unknown = tuple(_waits_for_copies(plan, cluster))
        if unknown:
            return Outcome(State.WAITING, waits=(*early.waits, *unknown), plan=plan)
        return _do_late(context, due, cluster, early + Result(waits=left))
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
    if isinstance(decision, DoNothing):
        return Outcome(State.WAITING, waits=(*early.waits, *decision.waits), plan=plan)
    stay = _unlimited(context, plan, desired, cluster, [n for n in pending if n not in held])
    if stay is not None:
        return _do_late(context, due, cluster, early + Result(waits=left), stay)
    approved_by = approver(authority, plan, context.trail, by_person=due.by_person)
    return begin_run(context, desired, plan, observed, approved_by)


def _unlimited(
    context: PassContext, plan: Plan, desired: Desired, cluster: Cluster, copies: Sequence[int]
) -> Unlimited | None:
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
    stay = begin.unlimited_at_begin(plan, left, copies, desired, cluster, memory.unwritable)
    if limited and (old or len(stay) < len(left) + len(copies)):
        memory.unwritable, memory.unwritable_ms = context.access.unlimited(topics, brokers), now_ms
        stay = begin.unlimited_at_begin(plan, left, copies, desired, cluster, memory.unwritable)
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


def _do_early(context: PassContext, due: DuePlan, cluster: Cluster) -> Result:
    """Write the early steps."""
    covered = due.authority.covers(due.plan)

    def hold(step: Step) -> Wait | None:
        allowed = covered if steps.is_lossy(step) else due.authority.steps
        if not allowed:
            return steps.needs_approval(step)
        return stray_logs.endangered_by_step(step, cluster, due.desired)

    early = steps.decide(steps.early_steps(due.plan), cluster, hold)
    return write_steps(context, due.desired, cluster, early, by_person=due.by_person)


def _waits_for_copies(plan: Plan, cluster: Cluster) -> Iterator[Wait]:
    """Name what moves between log directories already, and the brokers that do not tell."""
    for step in copies_of(plan):
        found = step_progress.progress_of(step, cluster)
        if found.wait is not None:
            yield found.wait


def _do_late(
    context: PassContext,
    due: DuePlan,
    cluster: Cluster,
    early: Result,
    stay: Unlimited | None = None,
) -> Outcome:
    """Write the late steps, and report whether everything is done.

    `stay`: what is left to be moved and cannot be, and why.
    """
    plan, desired, authority = due.plan, due.desired, due.authority
    memory = context.memory
    namespaces = namespaces_of_doomed(desired)
    deleting = authority.may_delete(plan, namespaces, memory.deletions, context.now_ms())

    def is_taken_back(topic: str) -> bool:
        return deletions.taken_back(memory.asked_deletions, cluster, topic, context.now_ms())

    def hold(step: Step) -> Wait | None:
        if isinstance(step, ElectLeaders) and cluster.restart_locked:
            lock = desired.cluster.execution.restart_lock
            return Wait(WaitReason.RESTART_LOCKED, path=lock or "")
        allowed = authority.steps
        if isinstance(step, DeleteTopic):
            if authority.awaits_settling:
                return Wait(WaitReason.SETTLING)
            allowed = step.topic in deleting
        if not allowed:
            return steps.needs_approval(step)
        if isinstance(step, DeleteTopic) and is_taken_back(step.topic):
            return Wait(WaitReason.DELETION_TAKEN_BACK, topic=step.topic)
        return stray_logs.endangered_by_step(step, cluster, desired)

    memory.note_electing(electing=cluster.electing, now_ms=context.now_ms())
    memory.elections &= steps.due_elections(plan, cluster)
    late = steps.decide(
        steps.late_steps(plan),
        cluster,
        hold,
        memory.elections,
        elections_ignored=steps.is_election_ignored(memory.electing_since_ms, context.now_ms()),
    )
    result = early + write_steps(context, desired, cluster, late, by_person=due.by_person)
    if has(result.waits, WaitReason.ELECTION_IGNORED) and authority.steps:
        result += stall_recovery.recover_elections(context, desired)
    waits = tuple(dict.fromkeys(result.waits))
    if result.did:
        return Outcome(State.PROGRESSED, result.did, waits, plan)
    if stay and not due.by_person:
        waits = tuple(dict.fromkeys((*waits, *stay.waits)))
    vain = _in_vain(context, waits) if due.by_person else ()
    waits = tuple(wait for wait in waits if wait not in vain)
    awaited = [w for w in waits if not (due.by_person and _awaits_the_dead(context, w))]
    state = State.WAITING if awaited else State.CONVERGED
    given_up = (*_waits_for_others(plan, cluster), *_outdated_steps(plan, cluster))
    given_up += tuple(_undone_steps(plan, cluster, memory.denied)) if due.by_person else ()
    if stay and due.by_person:
        given_up += stay.given_up(plan)
    given_up += tuple(Action(ActionKind.DELETION_TAKEN_BACK, topic=wait.topic) for wait in vain)
    return Outcome(state, given_up, waits, plan)


def _awaits_the_dead(context: PassContext, wait: Wait) -> bool:
    """Whether a deletion waits for brokers that had the time of a restart; it ends without us."""
    if wait.reason is not WaitReason.DELETION_AWAITS_BROKERS:
        return False
    asked = context.memory.asked_deletions.get(wait.topic)
    return asked is None or context.now_ms() - asked.at_ms >= deletions.RESTART_MS


def _in_vain(context: PassContext, waits: Iterable[Wait]) -> tuple[Wait, ...]:
    """Return the waits for deletions that were taken back for sure; a loop asks again later."""
    asked, now_ms = context.memory.asked_deletions, context.now_ms()
    return tuple(
        wait
        for wait in waits
        if wait.reason is WaitReason.DELETION_TAKEN_BACK
        and now_ms - asked[wait.topic].at_ms >= deletions.SURE_MS
    )


def _outdated_steps(plan: Plan, cluster: Cluster) -> tuple[Action, ...]:
    """Report the steps that are not taken: they would no longer do what was approved."""
    return tuple(
        Action(ActionKind.STEP_OUTDATED, topic=step.topic)
        for step in plan.steps
        if not isinstance(step, ElectLeaders)
        and step_progress.progress_of(step, cluster).state is StepState.STALE
    )


def _undone_steps(plan: Plan, cluster: Cluster, denied: Collection[str]) -> Iterator[Action]:
    """Report the early steps of a person's plan that are not written; a loop waits for them.

    `denied`: topics whose nodes we may not write.
    """
    for step in steps.early_steps(plan):
        if step_progress.progress_of(step, cluster).state is not StepState.TO_DO:
            continue
        if isinstance(step, AddPartitions | SetConfig) and step.topic in denied:
            yield Action(ActionKind.STEP_NOT_ALLOWED, topic=step.topic)
        elif isinstance(step, CreateTopic | SetConfig):
            yield Action(ActionKind.CONFIG_REFUSED, topic=step.topic)


def _waits_for_others(plan: Plan, cluster: Cluster) -> tuple[Action, ...]:
    """Report the moves given up: the topic is gone, or somebody else reassigned the partition."""
    return tuple(
        Action(
            ActionKind.TOPIC_GONE if p.state is MoveState.GONE else ActionKind.LEFT_ALONE,
            partitions=(move.name,),
        )
        for move, p in zip(plan.moves, classify(plan.moves, cluster), strict=True)
        if p.state in (MoveState.GONE, MoveState.DIVERGED)
    )
