"""The late steps of a plan, elections and deletions, and what is told where nothing is left to do.

They come when nothing is left to move, or nothing that can be moved now. A pass that writes a step
has progressed. One that writes none tells what is awaited, and what is given up: a loop waits for
whatever may still change, while the plan of a person ends with what it could not do.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Result, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, has
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Plan,
    SetConfig,
    Step,
)
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.problem.topic_rights import namespaces_of_doomed
from poolkeeper.planning.run_state import deletions
from poolkeeper.planning.run_state.gates import stray_logs
from poolkeeper.planning.run_state.progress import step_progress
from poolkeeper.planning.run_state.progress.move_progress import MoveState, classify
from poolkeeper.planning.run_state.progress.staying_moves import StayingMoves
from poolkeeper.planning.run_state.progress.step_progress import StepState
from poolkeeper.reconcile.act import stall_recovery
from poolkeeper.reconcile.act.steps import write_steps
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import steps
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.reconcile.plans.due_plan import DuePlan


def do_late(
    context: PassContext,
    due: DuePlan,
    observed: Observation,
    early: Result,
    stay: StayingMoves | None = None,
) -> Outcome:
    """Write the late steps, and report whether everything is done.

    `early`: what came of the early steps.
    `stay`: what is left to be moved and cannot be, and why.
    """
    cluster = observed.cluster
    result = early + _written(context, due, observed)
    waits = tuple(dict.fromkeys(result.waits))
    if result.did:
        return Outcome(State.PROGRESSED, result.did, waits, due.plan)
    if due.by_person:
        return _end_of_persons_plan(context, due, cluster, waits, stay)
    if stay:
        waits = tuple(dict.fromkeys((*waits, *stay.waits)))
    return Outcome(_state(waits), _given_up(due.plan, cluster), waits, due.plan)


def _written(context: PassContext, due: DuePlan, observed: Observation) -> Result:
    """Write the late steps that are due and that nothing holds."""
    cluster = observed.cluster
    plan, memory, now_ms = due.plan, context.memory, context.now_ms()
    memory.note_electing(electing=cluster.electing, now_ms=now_ms)
    memory.elections &= steps.due_elections(plan, cluster)
    late = steps.decide(
        steps.late_steps(plan),
        cluster,
        _hold(context, due, cluster),
        memory.elections,
        elections_ignored=steps.is_election_ignored(memory.electing_since_ms, now_ms),
    )
    result = write_steps(context, due.desired, observed, late, by_person=due.by_person)
    if has(result.waits, WaitReason.ELECTION_IGNORED) and due.authority.steps:
        result += stall_recovery.recover_elections(context, due.desired)
    return result


def _hold(context: PassContext, due: DuePlan, cluster: Cluster) -> Callable[[Step], Wait | None]:
    """Return what tells why a late step is not taken now."""
    desired, authority, memory = due.desired, due.authority, context.memory
    namespaces = namespaces_of_doomed(desired)
    deleting = authority.may_delete(due.plan, namespaces, memory.deletions, context.now_ms())

    def hold_deletion(step: DeleteTopic) -> Wait | None:
        if authority.awaits_settling:
            return Wait(WaitReason.SETTLING)
        if step.topic not in deleting:
            return steps.needs_approval(step)
        asked, now_ms = memory.asked_deletions, context.now_ms()
        if deletions.is_taken_back(asked, cluster, step.topic, now_ms):
            return Wait(WaitReason.DELETION_TAKEN_BACK, topic=step.topic)
        return stray_logs.endangered_by_step(step, cluster, desired)

    def hold(step: Step) -> Wait | None:
        if isinstance(step, DeleteTopic):
            return hold_deletion(step)
        if isinstance(step, ElectLeaders) and cluster.restart_locked:
            lock = desired.cluster.execution.restart_lock
            return Wait(WaitReason.RESTART_LOCKED, path=lock or "")
        if not authority.steps:
            return steps.needs_approval(step)
        return stray_logs.endangered_by_step(step, cluster, desired)

    return hold


def _end_of_persons_plan(
    context: PassContext,
    due: DuePlan,
    cluster: Cluster,
    waits: tuple[Wait, ...],
    stay: StayingMoves | None,
) -> Outcome:
    """Tell what is awaited of the plan of a person, and what ends without it."""
    plan = due.plan
    vain = _in_vain(context, waits)
    waits = tuple(wait for wait in waits if wait not in vain)
    state = _state([wait for wait in waits if not _awaits_the_dead(context, wait)])
    given_up = (*_given_up(plan, cluster), *_undone_steps(plan, cluster, context.memory.unwritten))
    if stay:
        given_up += stay.given_up(plan)
    given_up += tuple(Action(ActionKind.DELETION_TAKEN_BACK, topic=wait.topic) for wait in vain)
    return Outcome(state, given_up, waits, plan)


def _state(awaited: Sequence[Wait]) -> State:
    return State.WAITING if awaited else State.CONVERGED


def _given_up(plan: Plan, cluster: Cluster) -> tuple[Action, ...]:
    return (*_waits_for_others(plan, cluster), *_outdated_steps(plan, cluster))


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


def _undone_steps(
    plan: Plan, cluster: Cluster, unwritten: Mapping[str, Action]
) -> Iterator[Action]:
    """Report the early steps of a person's plan that are not written; a loop waits for them.

    `unwritten`: what is told of topics whose nodes cannot be written.
    """
    for step in steps.early_steps(plan):
        if step_progress.progress_of(step, cluster).state is not StepState.TO_DO:
            continue
        if isinstance(step, CreateTopic | AddPartitions | SetConfig) and step.topic in unwritten:
            yield unwritten[step.topic]
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
