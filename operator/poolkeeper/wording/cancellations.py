"""Moves that are cancelled or on their way back, as sentences: what keeps them, and what helps."""

from collections.abc import Callable, Mapping

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.text import named, size
from poolkeeper.wording.pieces import brokers_are, counted, few_of


def _return_behind(wait: Wait) -> str:
    held = f" (it holds {size(wait.count)}, the leader {size(wait.of)})" if wait.of else ""
    return (
        f"{few_of(wait.partitions)} {'is' if len(wait.partitions) == 1 else 'are'} back once"
        f" {named('broker', wait.brokers)} is in sync again{held}: if it does not get nearer, raise"
        " spec.execution.throttle.rate, and look at that broker's log; restart it if it is stuck"
    )


def _return_not_live(wait: Wait) -> str:
    return (
        f"{few_of(wait.partitions)} {'is' if len(wait.partitions) == 1 else 'are'} back once"
        f" {named('broker', wait.brokers)}, which is not live, is in sync again: start it"
    )


def _needs_failover(wait: Wait) -> str:
    gone = f"{brokers_are(wait.brokers)} gone; " if wait.brokers else ""
    whose = "move" if len(wait.partitions) == 1 else "moves"
    why = wait.detail or "the brokers are not known: spec.brokers"
    return (
        f"{gone}cancelling the {whose} of {few_of(wait.partitions)} takes a controller failover"
        f" ({why}): to allow it, set spec.execution.remedies.allowControllerFailover: true, or run"
        " `poolkeeper rollback --allow-controller-failover`, which ends the run as well"
    )


def _not_cancelled(wait: Wait) -> str:
    if wait.detail:
        return f"the brokers do not cancel the move of {few_of(wait.partitions)}: {wait.detail}"
    return (
        f"the brokers were asked to cancel the move of {few_of(wait.partitions)}, and by the"
        " topic's node it goes on: the controller does not know of it. Was ZooKeeper restored from"
        " an old backup? Then see first which brokers hold these partitions: another controller"
        " would cancel the move, and what was copied would be deleted"
    )


_R = WaitReason
CANCELLATIONS: Mapping[WaitReason, Callable[[Wait], str]] = {
    _R.MOVES_RETURNING: lambda wait: (
        f"stage {wait.stage}: {counted(wait.count, 'cancelled move')} not back yet"
    ),
    _R.RETURN_BEHIND: _return_behind,
    _R.RETURN_NOT_LIVE: _return_not_live,
    _R.CANCEL_NEEDS_FAILOVER: _needs_failover,
    _R.ARRIVALS_FIRST: lambda wait: (
        f"{counted(wait.count, 'move')} can still arrive: before Kafka 2.4 no other controller is"
        " elected, which cancels moves, until they have"
    ),
    _R.CANCEL_REFUSED: _not_cancelled,
    _R.ORIGIN_NOT_IN_SYNC: lambda wait: (
        f"{few_of(wait.partitions)} cannot return to {list(wait.replicas)}:"
        f" {brokers_are(wait.brokers)} not in sync"
    ),
    _R.FOREIGN_CANCEL_NEEDS_BROKERS: lambda wait: (
        f"only the brokers' API cancels the move of {few_of(wait.partitions)}"
        f" ({wait.detail or 'no address of the brokers is declared'}): declare spec.brokers, or"
        " cancel it with Kafka's own tool"
    ),
    _R.FOREIGN_CANCEL_NEEDS_FAILOVER: lambda wait: (
        f"up to Kafka 2.3 the move of {few_of(wait.partitions)} ends with the election of another"
        " controller only: set spec.execution.remedies.allowControllerFailover"
    ),
}
