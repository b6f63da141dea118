"""Asks brokers to move replicas between their log directories, as `decide.log_dir_moves` says.

A request cannot be fenced as a write to ZooKeeper can: the journal is confirmed just before, and
repeating a request changes nothing. What came of it is read from the brokers in the next pass.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from poolkeeper.errors import Unavailable
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Result
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.progress.held_copies import Asks, abandoned_copies, after_run
from poolkeeper.planning.run_state.progress.log_dir_copies import copies_of
from poolkeeper.reconcile.act import keep_throttles
from poolkeeper.reconcile.context import PassContext, outcome_of, progress_outcome
from poolkeeper.reconcile.decide.decisions import MoveLogDirs, RunSituation, Targets


def carry_out(context: PassContext, at: RunSituation, decision: MoveLogDirs) -> Outcome:
    """Carry out a decision about moves between log directories."""
    result = Result(waits=decision.waits)
    if decision.check:
        result += keep_throttles.compare(context, at, (), keep=decision.keep)
    asked = (*decision.begun, *decision.cancelled, *decision.stalled)
    if asked:
        context.memory.copies.asked_ms = 0
    back = frozenset((*decision.cancelled, *decision.stalled))
    kind = _kind_of(decision)
    steps = copies_of(at.plan)
    for broker in sorted({steps[n].broker for n in asked}):
        ours = [n for n in asked if steps[n].broker == broker]
        targets = {steps[n].name: steps[n].source if n in back else steps[n].target for n in ours}
        done, answers = _ask(context, broker, targets, kind)
        result += done
        if not answers:
            continue
        if decision.stalled:
            _note_stalled(context, broker, ours)
        elif not back:
            _note_asks(context, {n: answers[steps[n].name] for n in ours})
    if decision.begun and any(action.kind is kind for action in result.did):
        context.memory.copies.pending = True
        return progress_outcome(context, at.run, at.plan, *result.did)
    return outcome_of(context, at.run, at.plan, result)


def _kind_of(decision: MoveLogDirs) -> ActionKind:
    if decision.stalled:
        return ActionKind.LOG_DIR_MOVES_STALLED
    if decision.cancelled:
        return ActionKind.LOG_DIR_MOVES_CANCELLED
    return ActionKind.MOVE_LOG_DIRS


def _ask(
    context: PassContext, broker: int, targets: Targets, kind: ActionKind
) -> tuple[Result, Mapping[TopicPartition, str]]:
    """Ask one broker; return what came of it, and its errors, empty for what it took.

    There are none if it is away.
    """
    assert context.brokers is not None, "decided only if brokers can be asked"
    context.access.confirm_holder()
    try:
        refused = context.brokers.move_log_dirs(broker, dict(targets))
    except Unavailable as away:
        return Result(waits=(Wait(WaitReason.UNAVAILABLE, detail=str(away)),)), {}
    result = Result(waits=tuple(_refusal_waits(broker, refused)))
    if count := len(targets) - len(refused):
        names = tuple(name for name in targets if name not in refused)
        result += Result((Action(kind, broker=broker, count=count, partitions=names),))
    return result, {name: refused.get(name, "") for name in targets}


def _note_asks(context: PassContext, errors: Mapping[int, str]) -> None:
    asks = context.memory.copies.asks
    for n, error in errors.items():
        asks[n] = Asks(asks.get(n, Asks()).count + 1, error)


def _note_stalled(context: PassContext, broker: int, stalled: Iterable[int]) -> None:
    """Note why these are asked for again, and that the broker has as much time for them again."""
    copies = context.memory.copies
    copies.looks = {id_: look for id_, look in copies.looks.items() if id_ != broker}
    for n in stalled:
        copies.asks[n] = replace(copies.asks.get(n, Asks()), stalled=True)


def note_given_up(context: PassContext, plan: Plan) -> tuple[Action, ...]:
    """Hold the moves that the run, which ends, has given up; tell of them."""
    memory, steps = context.memory, copies_of(plan)
    without = abandoned_copies(memory.copies.progress, memory.copies.asks)
    if not without:
        return ()
    memory.copy_holds = after_run(
        memory.copy_holds, steps, memory.copies.asks, without, context.now_ms()
    )
    names = tuple(steps[n].name for n in sorted(without))
    kind = ActionKind.LOG_DIR_MOVES_GIVEN_UP
    return (Action(kind, count=len(names), partitions=names),)


def _refusal_waits(broker: int, refused: Mapping[TopicPartition, str]) -> Iterator[Wait]:
    for name, why in refused.items():
        yield Wait(
            WaitReason.LOG_DIR_MOVE_REFUSED, partitions=(name,), brokers=(broker,), detail=why
        )
