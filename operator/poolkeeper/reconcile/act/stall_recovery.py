"""Recovers a reassignment request that is stuck, where that is allowed, and reports it where not.

The recovery of a stall (`stalls`) of which nothing is at work is the same for all. Withdraw
the request, which stops no move. Then make the controller read the node again: from 2.4 on by a
harmless call of the brokers' API, before that by electing another controller. A run then sends its
request again. Moves to brokers of which nothing is known are cancelled: from 2.4 on by the brokers'
API, before that by electing another controller once the request is gone.

A request for preferred leader elections that the controller leaves undone goes with the next
controller.

Up to 2.3 moves of others can lose their request. Where they may be finished
(`finishOrphanedMoves`), they are requested again, for replicas that are all in sync.

`removeStaleRequests` allows the withdrawal, `allowControllerFailover` the election. Without them
the wait names what a person could do. A run's own request of which nothing is left needs no
remedy. A failover is refused while ZooKeeper holds anything that would stop the next controller.
"""

from collections.abc import Sequence
from dataclasses import replace

from poolkeeper.errors import Unavailable
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Result
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, has
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.specs import Remedies
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.reassignments import orphans, requests
from poolkeeper.planning.run_state.reassignments.orphans import SeenOrphans
from poolkeeper.planning.run_state.reassignments.requests import NOTHING_OWNED, SeenStall, Stall
from poolkeeper.planning.run_state.reassignments.stalls import (
    ATTEMPTS_MAX,
    FAILED_OVER,
    FOREIGN_IGNORED_MS,
    IGNORED_PAUSE_MS,
    STALL_MS,
    foreign_stall_of,
    requested_partitions,
    unreachable_of,
    waits_for_remedy,
)
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.context import PassContext, outcome_of
from poolkeeper.reconcile.decide.decisions import RunSituation
from poolkeeper.reconcile.observe.observation import Observation

_WITHDRAWAL_ACTION = {
    Stall.STALE: ActionKind.STALE_REQUEST_WITHDRAWN,
    Stall.IGNORED: ActionKind.UNNOTICED_REQUEST_WITHDRAWN,
}


def recover(
    context: PassContext,
    reading: ClusterReading,
    stall: Stall,
    remedies: Remedies,
    *,
    needs_remedy: bool,
) -> Result:
    """Recover a stall of which nothing is at work, as far as that is allowed.

    A list whose replicas are all in sync is ended in a moment: what lasts is told.
    """
    if not _has_lasted(context, reading, stall, STALL_MS):
        return Result()
    missing = waits_for_remedy(stall, remedies, requested_partitions(reading.cluster))
    if needs_remedy and missing:
        return Result(waits=missing)
    return _withdraw(context, reading, stall, remedies)


def recover_foreign(
    context: PassContext, desired: Desired, authority: Authority, observed: Observation
) -> Result:
    """Withdraw somebody else's request of which nothing has been at work for a while."""
    known = requests.known_brokers(observed.cluster, observed.records.brokers)
    stall = foreign_stall_of(observed.cluster, known)
    if stall is None or not (authority.steps or authority.plans):
        context.memory.stall = None
        return Result()
    lasting_ms = FOREIGN_IGNORED_MS if stall is Stall.IGNORED else STALL_MS
    if not _has_lasted(context, observed.reading, stall, lasting_ms):
        return Result()
    remedies = desired.cluster.execution.remedies
    if missing := waits_for_remedy(stall, remedies):
        return Result(waits=missing)
    if stall is Stall.UNREACHABLE:
        judged = requests.judgements(observed.cluster, NOTHING_OWNED, known)
        return _cancel(context, observed.reading, unreachable_of(judged), remedies)
    return _withdraw(context, observed.reading, stall, remedies)


def recover_elections(context: PassContext, desired: Desired) -> Result:
    """Elect another controller for elections that the present one ignores, if that is allowed.

    The next one passes over partitions that it does not know, and deletes the request.
    """
    remedies = desired.cluster.execution.remedies
    found = _fail_over(context, desired.cluster.name, remedies, "it leaves elections undone")
    if found.did:
        context.memory.electing_since_ms = None
    return found


def finish_orphans(
    context: PassContext,
    desired: Desired,
    authority: Authority,
    observed: Observation,
    confirmed: Plan | None,
) -> Result:
    """Request moves of others that lost their request, once nobody can be working on them.

    What a person's plan moves is left to that plan. A controller that drops the request takes the
    move for done, as it does not read the lists that others write: after some attempts another one
    is elected, if that is allowed, and then it is requested once in ten minutes. The work on other
    partitions goes on meanwhile, beside the wait `REQUEST_IGNORED`.
    """
    planned = () if confirmed is None else confirmed.moves
    named = {move.name for move in planned}
    due = tuple(each for each in observed.orphans.due() if each.partition not in named)
    now_ms, seen = context.now_ms(), context.memory.orphans
    if due != seen.due:
        seen = context.memory.orphans = SeenOrphans(due, now_ms)
    held = gates.waits_before_stages(desired, observed.cluster, now_ms)
    if not due or not authority.steps or held:
        return Result()
    remedies = desired.cluster.execution.remedies
    fails_over = seen.attempts == ATTEMPTS_MAX and remedies.allow_controller_failover
    is_tried_out = seen.attempts >= ATTEMPTS_MAX and seen.attempts != FAILED_OVER
    pause_ms = IGNORED_PAUSE_MS if is_tried_out and not fails_over else STALL_MS
    if now_ms - seen.since_ms < pause_ms:
        ignored = Wait(WaitReason.REQUEST_IGNORED, count=seen.attempts)
        awaited = replace(observed.orphans, found=due).waits()
        return Result(waits=(ignored,) if is_tried_out else awaited)
    context.memory.orphans = replace(seen, since_ms=now_ms)
    if fails_over:
        elected = _fail_over(context, observed.cluster.name, remedies)
        if elected.did:
            context.memory.orphans = replace(seen, since_ms=now_ms, attempts=FAILED_OVER)
        return elected
    context.access.request_moves(orphans.entries(due), observed.cluster)
    attempts = seen.attempts if is_tried_out else seen.attempts + 1
    context.memory.orphans = SeenOrphans(due, now_ms, attempts)
    names = tuple(each.partition for each in due)
    return Result((Action(ActionKind.ORPHANED_MOVES_FINISHED, partitions=names),))


def holds_others(finished: Result) -> bool:
    """Whether nothing else is done until orphaned moves are finished; see `finish_orphans`."""
    ignored = has(finished.waits, WaitReason.REQUEST_IGNORED)
    return bool(finished.did or (finished.waits and not ignored))


def _has_lasted(
    context: PassContext, reading: ClusterReading, stall: Stall, lasting_ms: int
) -> bool:
    """Whether each look of this process for that long saw the same stall of the same request."""
    now_ms, seen = context.now_ms(), context.memory.stall
    zxid = reading.request_zxid
    if seen is None or (seen.stall, seen.zxid) != (stall, zxid):
        seen = context.memory.stall = SeenStall(stall, zxid, now_ms)
    return now_ms - seen.since_ms >= lasting_ms


def _withdraw(
    context: PassContext, reading: ClusterReading, stall: Stall, remedies: Remedies
) -> Result:
    context.access.withdraw_request(reading)
    context.memory.stall = None
    named = requested_partitions(reading.cluster)
    withdrawn = Result((Action(_WITHDRAWAL_ACTION[stall], partitions=named),))
    if context.brokers is None:
        return withdrawn + _fail_over(context, reading.cluster.name, remedies)
    try:
        context.brokers.wake_controller()
    except Unavailable as old:
        return withdrawn + _fail_over(context, reading.cluster.name, remedies, str(old))
    return withdrawn + Result((Action(ActionKind.CONTROLLER_WOKEN),))


def _cancel(
    context: PassContext,
    reading: ClusterReading,
    partitions: tuple[TopicPartition, ...],
    remedies: Remedies,
) -> Result:
    """Cancel moves that others requested to brokers of which nothing is known."""
    cancelled = Result((Action(ActionKind.FOREIGN_MOVE_CANCELLED, partitions=partitions),))
    why = ""
    if context.brokers is not None:
        context.access.confirm_holder()
        try:
            refused = context.brokers.cancel_moves(partitions)
            context.memory.stall = None
            waits = (
                Wait(WaitReason.CANCEL_REFUSED, partitions=(name,), detail=why)
                for name, why in refused.items()
            )
            return cancelled if not refused else Result(waits=tuple(waits))
        except Unavailable as old:
            why = str(old)
    if _is_recorded(reading.cluster, partitions):
        needs_brokers = WaitReason.FOREIGN_CANCEL_NEEDS_BROKERS
        return Result(waits=(Wait(needs_brokers, partitions=partitions, detail=why),))
    if not remedies.allow_controller_failover:
        needs_failover = WaitReason.FOREIGN_CANCEL_NEEDS_FAILOVER
        return Result(waits=(Wait(needs_failover, partitions=partitions),))
    whole = context.access.observe(reading.cluster.name, want_configs=False).cluster
    if unsafe := _failover_hazards(replace(whole, reassignment=None, request_damage=())):
        return unsafe
    if not context.access.elect_controller(whole, reading):
        return Result(waits=(Wait(WaitReason.NO_CONTROLLER),))
    context.memory.stall = None
    return cancelled + Result((Action(ActionKind.CONTROLLER_FAILOVER),))


def _is_recorded(cluster: Cluster, partitions: tuple[TopicPartition, ...]) -> bool:
    """Whether topic nodes say that these partitions move: then the next controller resumes it."""
    found = (cluster.topics[name.topic].partition(name.partition) for name in partitions)
    return any(partition is not None and partition.moving for partition in found)


def _fail_over(context: PassContext, name: str, remedies: Remedies, why: str = "") -> Result:
    """Elect another controller; `why`: the error with which the present one answered."""
    if not remedies.allow_controller_failover:
        return Result(waits=(Wait(WaitReason.CONTROLLER_UNNOTICING, detail=why),))
    whole = context.access.observe(name, want_configs=False).cluster
    return _failover_hazards(whole) or _elect(context, whole)


def elect_another(context: PassContext, at: RunSituation, found: tuple[Action, ...]) -> Outcome:
    """Elect another controller, as the present one drops a request that will come again.

    It comes later: in one transaction with this, it would be dropped once more.
    """
    run, whole, cancelled = at.run, at.view.cluster, set[int]()
    if at.view.in_flight:
        whole = context.access.observe(whole.name, want_configs=False).cluster
        cancelled = {m for m, _ in run.step}
    others = [move for m, move in enumerate(at.plan.moves) if m not in cancelled]
    if unsafe := _failover_hazards(whole, others):
        return outcome_of(context, run, at.plan, Result(found) + unsafe)
    after = replace(run, attempts=FAILED_OVER, requested_ms=context.now_ms())
    run = context.access.rewrite_run(run, after)
    return outcome_of(context, run, at.plan, Result(found) + _elect(context, whole))


def _failover_hazards(whole: Cluster, moves: Sequence[Move] = ()) -> Result | None:
    """Return what forbids to elect another controller; None if nothing does.

    `moves`: those that may be without a request.
    """
    unsafe = tuple(
        Wait(WaitReason.FAILOVER_UNSAFE, cause=hazard) for hazard in gates.hazards(whole, moves)
    )
    return Result(waits=unsafe) if unsafe else None


def _elect(context: PassContext, whole: Cluster) -> Result:
    if not context.access.elect_controller(whole):
        return Result()
    return Result((Action(ActionKind.CONTROLLER_FAILOVER),))
