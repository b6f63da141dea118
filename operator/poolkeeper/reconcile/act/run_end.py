"""The end of a run: its throttles are restored where they can be, and its history is kept.

While the cluster migrates to KRaft nothing of Kafka's is written: the KRaft controller does not
read what others write to ZooKeeper, and writes its own state over it. A run waits then, since a
migration may be reverted. A person may end it: what it has in flight and its throttles stay, as
the KRaft controller took them over.
"""

from collections.abc import Sequence
from dataclasses import replace

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.outcomes import Outcome, Result, State
from poolkeeper.model.execution.runs import Ending, Run, RunDocument
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.progress.copied_bytes import bytes_done
from poolkeeper.planning.run_state.progress.log_dir_copies import CopyState, copies_of
from poolkeeper.planning.run_state.progress.move_progress import (
    MoveProgress,
    MoveState,
    copies_without_request,
    waits_for_nodes,
)
from poolkeeper.reconcile import plan_to_approve
from poolkeeper.reconcile.act import log_dir_requests
from poolkeeper.reconcile.context import PassContext, outcome_of, progress_outcome
from poolkeeper.reconcile.observe.run_view import look_at_copies, look_at_moves

_BY_A_PERSON = (Ending.STOPPED, Ending.ROLLED_BACK)


def end(context: PassContext, run: Run, document: RunDocument) -> Outcome:
    """Restore the saved throttles and remove the run."""
    left = context.access.restore_throttles(document, run.rates)
    stay = (
        *(Action(ActionKind.THROTTLES_STAY, topic=each) for each in left.topics),
        *(Action(ActionKind.THROTTLES_STAY, broker=each) for each in left.brokers),
    )
    return _remove(context, run, document, stay)


def _unthrottled(plan: Plan, progress: Sequence[MoveProgress], live: Cluster) -> tuple[Action, ...]:
    """Name what is still copied, from now on without the throttles of the run."""
    return tuple(
        Action(ActionKind.COPIES_UNTHROTTLED, broker=broker, partitions=wait.partitions)
        for wait in copies_without_request(plan.moves, progress, live)
        for broker in wait.brokers
    )


def hold(context: PassContext, run: Run, document: RunDocument) -> Outcome:
    """Wait while the cluster migrates to KRaft; end the run if a person asks for it."""
    plan = document.plan
    progress, live = look_at_moves(context, plan)
    if context.access.read_stop() is None and run.ending not in _BY_A_PERSON:
        waits = (*gates.kraft_migration(live), *waits_for_nodes(plan.moves, progress, live))
        return outcome_of(context, run, plan, Result(waits=waits))
    moving = zip(plan.moves, progress, strict=True)
    arrived = (MoveState.ZOMBIE, MoveState.DONE)
    named = tuple(m.name for m, p in moving if p.is_at_work and p.state not in arrived)
    recorded = context.access.read_throttle_records()
    throttled = len(recorded.topics) + len(recorded.brokers)
    left = (
        *([Action(ActionKind.MOVES_LEFT_TO_KRAFT, partitions=named)] if named else ()),
        *([Action(ActionKind.THROTTLES_LEFT_TO_KRAFT, count=throttled)] if throttled else ()),
    )
    return _remove(context, replace(run, ending=Ending.STOPPED), document, left)


def _remove(
    context: PassContext, run: Run, document: RunDocument, left: tuple[Action, ...]
) -> Outcome:
    """Remove the run; `left`: what stays of it in Kafka."""
    stopped = run.ending in _BY_A_PERSON
    if stopped:
        context.access.remember_stopped(run.fingerprint)
        plan_to_approve.remember(context, None)  # what is left is another question
    finished, unseen = _finished(context, run, document)
    ended = Action(ActionKind.RUN_ENDED, ending=run.ending)
    undone = log_dir_requests.note_given_up(context, document.plan)
    outcome = progress_outcome(context, run, document.plan, *unseen, *undone, *left, ended)
    context.access.end_run(run, finished)
    context.memory.carried_out = None  # the history has one more
    return replace(outcome, state=State.STOPPED) if stopped else outcome


def _finished(
    context: PassContext, run: Run, document: RunDocument
) -> tuple[FinishedRun, tuple[Action, ...]]:
    """Return the run's entry in the history, and what could not be seen or goes on.

    How much arrived is read from the topics.

    The memory is told as well: it is empty where another process came so far.
    """
    plan = document.plan
    copies = copies_of(plan)
    progress, live = look_at_moves(context, plan, (step.topic for step in copies))
    if copies:
        look_at_copies(context, plan, live)
    copied = context.memory.copies.progress
    done = sum(bytes_done(*each, live, {}) for each in zip(plan.moves, progress, strict=True))
    done += sum(each.copied_bytes for each in copied)
    arrived = sum(each.state is MoveState.DONE for each in progress)
    arrived += sum(each.state is CopyState.DONE for each in copied)
    finished = FinishedRun(
        plan=run.plan,
        started_ms=run.started_ms,
        ended_ms=context.now_ms(),
        ending=run.ending,
        stages=run.stage,
        moves=len(plan.moves) + len(copies),
        moves_done=arrived,
        bytes_done=done,
        size_bytes=sum(move.bytes for move in plan.moves) + sum(s.bytes for s in copies),
        approved_by=run.approved_by,
        executor=context.trail.executor,
    )
    unseen = tuple(
        Action(ActionKind.MOVES_UNSEEN, topic=wait.topic, partitions=wait.partitions)
        for wait in waits_for_nodes(plan.moves, progress, live)
    )
    going_on = _unthrottled(plan, progress, live) if document.throttled else ()
    return finished, (*unseen, *going_on)
