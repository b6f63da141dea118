"""Cancels moves in flight and has their former order restored, as `decide.cancelling` says.

A call of the brokers' API cannot be fenced as a write to ZooKeeper can: the journal is confirmed
just before, the intent is recorded, and the call changes nothing where nothing moves. A controller
failover is refused while ZooKeeper holds anything that would stop the next controller, or a request
of somebody else.
"""

from collections.abc import Mapping
from dataclasses import replace

from poolkeeper.errors import Unavailable, Unsupported
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Result
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.reassignments.stalls import IGNORED_PAUSE_MS, STALL_MS
from poolkeeper.reconcile.context import PassContext, outcome_of, progress_outcome
from poolkeeper.reconcile.decide.cancelling import cancel
from poolkeeper.reconcile.decide.decisions import (
    BeginReturn,
    CancelMoves,
    RequestOrder,
    ReturnDecision,
    RunSituation,
    StopRun,
)
from poolkeeper.reconcile.pass_memory import AskedCancel

FAILOVERS_MAX = 5
ASK_AGAIN_MS = 5_000
"""Brokers that cancel a move do so within this time; an answer of theirs may wake us at once.

What they were asked in vain they are asked again after `STALL_MS`.
"""


def carry_out(context: PassContext, at: RunSituation, decision: ReturnDecision) -> Outcome:
    """Carry out a decision about cancelled moves."""
    match decision:
        case BeginReturn():
            return _begin(context, at, decision)
        case CancelMoves():
            return _cancel(context, at, decision)
        case RequestOrder():
            return _request_order(context, at, decision)
        case StopRun():
            return _stop(context, at, decision)


def _begin(context: PassContext, at: RunSituation, decision: BeginReturn) -> Outcome:
    """Record which moves are cancelled; nothing else is written yet."""
    run = at.run
    after = replace(run, returning=decision.moves, ending=decision.ending, attempts=0)
    count = len(set(decision.moves) - set(run.returning))
    cancelled = Action(ActionKind.MOVES_CANCELLED, stage=run.stage, count=count)
    return progress_outcome(context, context.access.rewrite_run(run, after), at.plan, cancelled)


def _stop(context: PassContext, at: RunSituation, decision: StopRun) -> Outcome:
    """Record that the run ends; what else is in flight is finished first."""
    run = at.run
    names = tuple(at.plan.moves[m].name for m in decision.moves)
    cancelled = Action(ActionKind.CANCELLED_BY_OTHERS, stage=run.stage, partitions=names)
    after = replace(run, ending=Ending.STOPPED)
    return progress_outcome(context, context.access.rewrite_run(run, after), at.plan, cancelled)


def _cancel(context: PassContext, at: RunSituation, decision: CancelMoves) -> Outcome:
    waits, why = cancel.waits(at), ""
    if decision.by_brokers and context.brokers is not None:
        asked, now_ms = context.memory.asked_cancel, context.now_ms()
        pause_ms = STALL_MS if asked.waits else ASK_AGAIN_MS
        if asked.moves == decision.moves and now_ms - asked.at_ms < pause_ms:
            return outcome_of(context, at.run, at.plan, Result(waits=(*waits, *asked.waits)))
        context.access.confirm_holder()
        try:
            refused = context.brokers.cancel_moves(_names(at, decision.moves))
        except Unsupported as no:
            why = str(no)
        except Unavailable as no:
            why = str(no)
            if _may_answer_yet(context) and decision.may_fail_over:
                away = Wait(WaitReason.UNAVAILABLE, detail=why)
                return outcome_of(context, at.run, at.plan, Result(waits=(*waits, away)))
        else:
            context.memory.unheard_since_ms = None
            waits += _note_asked(context, at, decision.moves, refused)
            kind, stage, count = ActionKind.CANCEL_REQUESTED, at.run.stage, len(decision.moves)
            requested = Action(kind, stage=stage, count=count)
            return outcome_of(context, at.run, at.plan, Result((requested,), waits))
    stopped = _stop_failover(context, at, decision, why)
    if stopped:
        return outcome_of(context, at.run, at.plan, Result(waits=(*waits, *stopped)))
    assert at.view.reading is not None, "a request in flight was read"
    after = replace(
        at.run,
        step=decision.step,
        returning=decision.returning,
        requested_ms=context.now_ms(),
        attempts=at.run.attempts + 1,
    )
    after = context.access.replace_request(at.run, after, at.plan, at.view.reading)
    return progress_outcome(context, after, at.plan, Action(ActionKind.CONTROLLER_FAILOVER))


def _note_asked(
    context: PassContext,
    at: RunSituation,
    moves: tuple[int, ...],
    refused: Mapping[TopicPartition, str],
) -> tuple[Wait, ...]:
    """Note what came of asking the brokers; return what they refused, and what they do not know of.

    A controller that knows of no such move refuses nothing, and the topic node says that it goes
    on: so it is where ZooKeeper was restored under it.
    """
    before, now_ms = context.memory.asked_cancel, context.now_ms()
    is_again = before.moves == moves and now_ms - before.at_ms < 2 * STALL_MS
    since_ms = before.since_ms if is_again else now_ms
    reason = WaitReason.CANCEL_REFUSED
    waits = tuple(Wait(reason, partitions=(name,), detail=error) for name, error in refused.items())
    unknown = tuple(name for name in _names(at, moves) if name not in refused)
    if unknown and now_ms - since_ms >= STALL_MS:
        waits += (Wait(reason, partitions=unknown),)
    context.memory.asked_cancel = AskedCancel(moves, since_ms, now_ms, waits)
    return waits


def _may_answer_yet(context: PassContext) -> bool:
    """Whether brokers that did not answer are asked again before another controller is elected."""
    memory, now_ms = context.memory, context.now_ms()
    memory.unheard_since_ms = memory.unheard_since_ms or now_ms
    return now_ms - memory.unheard_since_ms < STALL_MS


def _stop_failover(
    context: PassContext, at: RunSituation, decision: CancelMoves, why: str
) -> tuple[Wait, ...]:
    """Return why no other controller is elected to cancel the moves; empty if it is.

    `why`: the error with which the brokers answered.
    """
    if not decision.may_fail_over:
        return (cancel.failover_wait(at, decision.moves, why),)
    age_ms = context.now_ms() - at.run.requested_ms
    if at.run.attempts >= FAILOVERS_MAX and age_ms < IGNORED_PAUSE_MS:
        return (Wait(WaitReason.REQUEST_IGNORED, count=FAILOVERS_MAX),)
    foreign = cancel.foreign_entries(at)
    if foreign:
        return (Wait(WaitReason.FOREIGN_REQUEST, partitions=foreign),)
    whole = context.access.observe(at.view.cluster.name, want_configs=False).cluster
    ours = {m for m, _ in at.run.step}
    others = [move for m, move in enumerate(at.plan.moves) if m not in ours]
    hazards = gates.hazards(whole, others)
    return tuple(Wait(WaitReason.FAILOVER_UNSAFE, cause=hazard) for hazard in hazards)


def _request_order(context: PassContext, at: RunSituation, decision: RequestOrder) -> Outcome:
    moves = tuple(m for m, _ in decision.step)
    after = replace(
        at.run,
        step=decision.step,
        returning=moves,
        requested_ms=context.now_ms(),
        attempts=decision.attempts,
    )
    after = context.access.request_stage(at.run, after, at.plan, at.view.cluster)
    requested = Action(ActionKind.ORDER_REQUESTED, count=len(moves))
    return progress_outcome(context, after, at.plan, requested)


def _names(at: RunSituation, moves: tuple[int, ...]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(at.plan.moves[m].topic, at.plan.moves[m].partition) for m in moves)
