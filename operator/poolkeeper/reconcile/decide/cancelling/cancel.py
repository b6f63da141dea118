"""What of a request in flight is cancelled, and how its moves return to where they were.

Cancelled is all that has not arrived, if a person asks for it (`rollback`, `stop --now`, mode
RollBack) or the stage is over its deadline under `onDeadline: RollBack`. Without being asked, a
move is cancelled if it waits for a broker that is not live and that nobody wants any more: it is
drained, it is out of the pool, or `heal` counts it as gone. A broker that the move keeps is waited
for like one that it adds: no controller ends a move before all of its target is in sync. One that
the partition leaves in a later step is waited for until `heal` counts it as gone: it is drained
anyway, and may only restart. What would be cancelled for such a broker at once is not begun
(`held_moves`). Cancelled is also what no broker can begin, as none can load the
config of its topic (`unloadable_configs`). Everything else goes on, and what has arrived stays.

A cancellation is recorded in the run before anything is done (`BeginReturn`). From then on every
pass decides from the live state (`returns`):

| a cancelled move is | the pass |
|---|---|
| OUTWARD | has it cancelled (`CancelMoves`), by one of two ways |
| RETURNING, and nobody works on it | does the same again |
| OUT_OF_ORDER, and no request is there | requests the order of before (`RequestOrder`) |
| anything else | waits, or is done |

The first way is the brokers' API (2.4 and later): it changes nothing else, and can be repeated. It
is not for what an earlier controller began: it would leave the union. The
second replaces the request by one in which cancelled moves have their origin as the target and the
others are as they were; in the same transaction the controller resigns. The next one takes the new
request up, on every release, whether it finds the moves in topic nodes (2.4 and later) or nowhere
else. A live controller would not: it looks at a new request only after it has deleted the old one.
Where there is none up to 2.3, it may look: then it gets the new request first, and only resigns if
nothing comes of that. This way needs permission (`allowControllerFailover`, or
`rollback --allow-controller-failover`).

Up to 2.0 nothing keeps a controller that was replaced from finishing what is in its queue. If a
replica arrives in that moment, both controllers write the topic node, each from its memory, and the
node may name other replicas than those that hold the data (seen on 2.0.1). So up to 2.3 there is no
failover while anything can arrive. A rollback first brings the throttle of its run down to nearly
nothing (`FROZEN_BYTES_PER_S`) and lets that settle. It is raised again some seconds after the
failover if a broker of the origin is behind: that throttle would keep it so. Where others go on, or
without a throttle, what can arrive does so first; only what hangs is cancelled, or what the
controller never began, or would have ended long ago. Others are also moves of the plan that go on
without a request: a failover would forget them, so it waits for them, and the throttle must not
keep them where they are.

A move is only cancelled if its origin holds enough replicas in sync. Throttles stay until the end.

Up to 2.3 a controller shrinks a list only to replicas that are all in sync. So a list whose origin
has a dead broker cannot return. If its target has one as well it is let go: its entry is left out
of the new request, and it stays the union, which harms nothing and is where the next plan begins.
So is a list that no live broker holds in sync, once `heal` counts those that did as gone or they
are in no pool any more: it could go nowhere. What was copied of it stays where it is. From 2.4 on
nothing is let go: a cancelled move loses its copies, which may be all that is left.
"""

from collections.abc import Collection, Iterable

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import BEGUN_BEFORE_API, NO_CANCEL_API, Wait
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import TopicPartition
from poolkeeper.model.versions import records_moves
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.progress.move_progress import entries_of
from poolkeeper.planning.run_state.reassignments.stalls import (
    FAILED_OVER,
    IGNORED_PAUSE_MS,
    STALL_MS,
    is_untouched,
)
from poolkeeper.planning.run_state.returns import (
    ReturnState,
    origin_out_of_sync,
    partition_of,
    waits_for_origin,
)
from poolkeeper.planning.run_state.throttling.throttles import FROZEN_BYTES_PER_S
from poolkeeper.reconcile.decide.cancelling import cancel_candidates
from poolkeeper.reconcile.decide.decisions import (
    BeginReturn,
    CancelMoves,
    ChangeThrottle,
    ElectController,
    MissingInput,
    RecordThrottled,
    RequestOrder,
    ReturnDecision,
    RunSituation,
    Watch,
)

Cancelling = ReturnDecision | ElectController | RecordThrottled | Watch

FREEZE_MS = 6_000
"""How long brokers take to apply a throttle, and replicas to exceed it."""
FAILOVER_PAUSE_MS = 10_000
"""How long the next controller has to take a request up before yet another one is elected."""


def decide(at: RunSituation) -> Cancelling | MissingInput | None:
    """Decide what is done about cancelled moves, or None if nothing is to be done now."""
    if cancel_candidates.depends_on_gone(at) and not at.view.gone_read:
        return MissingInput.GONE
    wanted = set(cancel_candidates.moves_to_cancel(at)) - set(at.run.returning)
    if wanted and cancel_candidates.can_cancel(at):
        moves = tuple(m for m, _ in at.run.step if m in wanted or m in at.run.returning)
        return BeginReturn(moves, cancel_candidates.rollback_ending(at) or at.run.ending)
    return _carry_back(at) if at.run.returning else None


def waits(at: RunSituation) -> tuple[Wait, ...]:
    """Return what stands in the way of a cancellation, and what is on its way back."""
    found = []
    back = [m for m in at.run.returning if at.view.returns[m] not in _SETTLED]
    if back:
        found.append(Wait(WaitReason.MOVES_RETURNING, stage=at.run.stage, count=len(back)))
    found += waits_for_origin(_requested_back(at), at.view.cluster, at.view.disks)
    found += [
        _origin_wait(at, m, index)
        for m, index in cancel_candidates.candidates(at)
        if cancel_candidates.missing_origin(at, m, index)
    ]
    arriving = _arriving(at)
    if back and arriving and not _can_freeze(at):
        found.append(Wait(WaitReason.ARRIVALS_FIRST, count=len(arriving)))
    wanted = [m for m in cancel_candidates.moves_to_cancel(at) if m not in at.run.returning]
    if wanted and not cancel_candidates.can_cancel(at):
        found.append(failover_wait(at, wanted))
    if back and _is_tried_out(at) and at.view.cluster.reassignment is None:
        found.append(Wait(WaitReason.REQUEST_IGNORED, count=2))
    forgetful = bool(back) and not cancel_candidates.brokers_can(at)
    if forgetful and (others := _go_on_unrequested(at)):
        lost = Wait(WaitReason.MOVES_WITHOUT_REQUEST, count=len(others))
        found.append(Wait(WaitReason.FAILOVER_UNSAFE, cause=lost))
    return tuple(found)


def _requested_back(at: RunSituation) -> list[tuple[Move, int]]:
    """Return the cancelled moves whose return was requested and is not done."""
    back = ReturnState.RETURNING
    return [
        (at.plan.moves[m], index)
        for m, index in at.run.step
        if m in at.run.returning and at.view.returns[m] is back
    ]


_SETTLED = (ReturnState.RETURNED, ReturnState.ARRIVED, ReturnState.LEFT)


def failover_wait(at: RunSituation, moves: Iterable[int], why: str = "") -> Wait:
    """Return the wait for permission to elect another controller, which cancels these moves."""
    cancelled = [at.plan.moves[m] for m in moves]
    dead = {b for m, index in at.run.step for b in cancel_candidates.dead_targets(at, m, index)}
    targets = {b for move in cancelled for b in move.target}
    lost = {b for move in cancelled for b in gates.lost_sources(at.view.cluster, move.name)}
    if at.asks_brokers and not cancel_candidates.brokers_can(at):
        why = BEGUN_BEFORE_API if cancel_candidates.is_taken_over(at) else NO_CANCEL_API
    return Wait(
        WaitReason.CANCEL_NEEDS_FAILOVER,
        partitions=tuple(move.name for move in cancelled),
        brokers=tuple(sorted(dead & targets | lost)),
        detail=why,
    )


def _origin_wait(at: RunSituation, m: int, index: int) -> Wait:
    move = at.plan.moves[m]
    return Wait(
        WaitReason.ORIGIN_NOT_IN_SYNC,
        partitions=(move.name,),
        replicas=move.path[index - 1],
        brokers=cancel_candidates.missing_origin(at, m, index),
    )


# The way back


def _carry_back(at: RunSituation) -> Cancelling | None:
    run, cluster, returns = at.run, at.view.cluster, at.view.returns
    if gates.controller(cluster):
        return None
    back = [
        (m, index)
        for m, index in run.step
        if m in run.returning and not cancel_candidates.is_doomed(at, m)
    ]
    outward = [
        m
        for m, index in back
        if returns[m] is ReturnState.OUTWARD and not cancel_candidates.missing_origin(at, m, index)
    ]
    stuck = [m for m, index in back if _is_stuck(at, m, index)]
    if outward and cancel_candidates.brokers_can(at):
        return _cancel(at, outward, stuck)
    if outward or stuck:
        if _is_frozen(at) and _go_on_unrequested(at):
            return _thaw(at)
        return _freeze(at) if _arriving(at) else _return_by_request(at, outward, stuck)
    if _hinders_return(at):
        return _thaw(at)
    disordered = tuple((m, index) for m, index in back if returns[m] is ReturnState.OUT_OF_ORDER)
    if not disordered or cluster.reassignment is not None:
        return None
    busy = any(
        state in (ReturnState.OUTWARD, ReturnState.RETURNING, ReturnState.UNKNOWN)
        for state in returns.values()
    )
    return None if busy else RequestOrder(disordered)


def _return_by_request(
    at: RunSituation, outward: list[int], stuck: list[int]
) -> CancelMoves | RequestOrder | ElectController | None:
    """Have the moves cancelled by a request for their origin, and mostly another controller."""
    age_ms = at.now_ms - at.run.requested_ms
    if at.run.attempts and age_ms < FAILOVER_PAUSE_MS:
        return None
    cancelled = _cancel(at, outward, stuck)
    alone = {m for m, _ in cancelled.step} == {*cancelled.returning}
    recorded = records_moves(at.view.cluster.kafka_version) is True
    if at.view.cluster.reassignment is None and cancelled.step and alone and not recorded:
        return _return_unrequested(at, cancelled.step)
    return cancelled


def _return_unrequested(
    at: RunSituation, step: tuple[tuple[int, int], ...]
) -> RequestOrder | ElectController | None:
    """Have moves return of which no request is there.

    A controller waits for one, and would begin it while it is replaced. If it drops it, as what it
    remembers is not what the topic node says, the next one gets it.
    """
    if at.run.attempts in (0, FAILED_OVER):
        return RequestOrder(step, at.run.attempts + 1)
    if _is_tried_out(at) or not cancel_candidates.may_fail_over(at):
        return None
    return ElectController()


def _is_tried_out(at: RunSituation) -> bool:
    """Whether a return was requested of two controllers in vain, not long ago."""
    age_ms = at.now_ms - at.run.requested_ms
    return at.run.attempts > FAILED_OVER and age_ms < IGNORED_PAUSE_MS


def _arriving(at: RunSituation) -> tuple[int, ...]:
    """Return the moves that may arrive during a failover, where that matters (up to 2.3)."""
    run, returns = at.run, at.view.returns
    partitions = [partition_of(at.plan.moves[m], at.view.cluster) for m, _ in run.step]
    if cancel_candidates.brokers_can(at) or any(p is not None and p.moving for p in partitions):
        return ()
    settled = run.throttled_ms >= run.requested_ms and at.now_ms - run.throttled_ms >= FREEZE_MS
    if run.rates == (FROZEN_BYTES_PER_S,) and settled:
        return ()
    return tuple(
        m
        for m, index in run.step
        if returns[m] is ReturnState.OUTWARD
        and not cancel_candidates.dead_targets(at, m, index)
        and not cancel_candidates.lost_sources(at, m, index)
        and not _is_ignored(at, m, index)
    )


def _is_ignored(at: RunSituation, m: int, index: int) -> bool:
    """Whether the controller had time for a move and did nothing: it has not heard of it.

    Either nothing was begun, or all that it had to end is in sync.
    """
    overdue_ms = at.view.overdue.get(m)
    if overdue_ms is not None:
        return at.now_ms - overdue_ms > STALL_MS
    untouched = is_untouched(at.plan.moves[m], index, at.view.cluster)
    return untouched and at.now_ms - at.run.requested_ms > STALL_MS


def _can_freeze(at: RunSituation) -> bool:
    """Whether nothing that runs shall go on, and its throttle can be brought down."""
    if not at.run.rates or _go_on_unrequested(at):
        return False
    return set(_arriving(at)) <= set(at.run.returning)


def _go_on_unrequested(at: RunSituation) -> Collection[TopicPartition]:
    """Return other partitions of the plan that may be moving without a request (up to 2.3)."""
    ours = {m for m, _ in at.run.step}
    others = [move for m, move in enumerate(at.plan.moves) if m not in ours]
    return gates.forgettable(at.view.cluster, others) & {move.name for move in others}


def _is_frozen(at: RunSituation) -> bool:
    """Whether the throttle has been brought down, and the run knows what to raise it to."""
    return at.run.rates == (FROZEN_BYTES_PER_S,) and bool(at.run.declared_rate)


def _thaw(at: RunSituation) -> Watch:
    """Raise the throttle again, in two records as any change of it."""
    return Watch(waits(at), throttle=ChangeThrottle((at.run.declared_rate, at.run.rates[0])))


def _freeze(at: RunSituation) -> Watch | RecordThrottled | None:
    """Bring the throttle down, in two records as any change of it, and note when that was done."""
    run = at.run
    if not _can_freeze(at):
        return None
    if len(run.rates) > 1:
        return Watch(waits(at), throttle=ChangeThrottle(run.rates[:1], written=True))
    if run.rates[0] != FROZEN_BYTES_PER_S:
        return Watch(waits(at), throttle=ChangeThrottle((FROZEN_BYTES_PER_S, run.rates[0])))
    return RecordThrottled() if run.throttled_ms < run.requested_ms else None


def _hinders_return(at: RunSituation) -> bool:
    """Whether a live broker that the origin needs catches up under a throttle that was lowered.

    Where a return was requested, the controller that was replaced has nothing in its queue any
    more: whatever arrives now is only what the new request takes off again. Where the origin came
    to lack somebody before that, the move is not cancelled until he is in sync, and may arrive.
    """
    run, cluster, returns = at.run, at.view.cluster, at.view.returns
    if not _is_frozen(at):
        return False
    if at.now_ms - run.requested_ms < FAILOVER_PAUSE_MS:
        return False
    needed = {
        b for move, index in _requested_back(at) for b in origin_out_of_sync(move, index, cluster)
    }
    for m, index in run.step:
        if m in run.returning and returns[m] is ReturnState.OUTWARD:
            needed.update(cancel_candidates.missing_origin(at, m, index))
    return bool(needed & set(cluster.brokers))


def _is_stuck(at: RunSituation, m: int, index: int) -> bool:
    """Whether a return was requested for a while, and nothing is left that it could wait for."""
    if at.view.returns[m] is not ReturnState.RETURNING:
        return False
    if at.now_ms - at.run.requested_ms <= STALL_MS:
        return False
    move = at.plan.moves[m]
    partition = partition_of(move, at.view.cluster)
    in_sync = set(() if partition is None else partition.isr or ())
    return set(move.path[index - 1]) <= in_sync


def _cancel(at: RunSituation, outward: list[int], stuck: list[int]) -> CancelMoves:
    run, returns = at.run, at.view.returns
    back = (ReturnState.OUTWARD, ReturnState.RETURNING, ReturnState.OUT_OF_ORDER)
    step = tuple(
        (m, index)
        for m, index in run.step
        if not cancel_candidates.is_doomed(at, m)
        and (
            returns[m] in back
            and not cancel_candidates.dead_origin(at, m, index)
            and not cancel_candidates.lost_sources(at, m, index)
            if m in run.returning
            else _goes_on(at, m, index)
        )
    )
    kept = {m for m, _ in step}
    return CancelMoves(
        moves=tuple(outward) or tuple(stuck),
        step=step,
        returning=tuple(m for m in run.returning if m in kept),
        by_brokers=cancel_candidates.brokers_can(at) and bool(outward),
        may_fail_over=cancel_candidates.may_fail_over(at),
    )


def _goes_on(at: RunSituation, m: int, index: int) -> bool:
    """Whether a move that is not cancelled is requested again: it runs, or can begin."""
    if at.view.returns[m] is not ReturnState.OUTWARD:
        return False
    move = at.plan.moves[m]
    partition = partition_of(move, at.view.cluster)
    begun = () if partition is None else partition.replicas
    return not cancel_candidates.dead_targets(at, m, index) - set(begun)


def foreign_entries(at: RunSituation) -> tuple[TopicPartition, ...]:
    """Return the partitions that the request names and that are not of this run."""
    ours = {at.plan.moves[m].name for m, _ in at.run.step}
    return tuple(sorted(entries_of(at.view.cluster).keys() - ours))
