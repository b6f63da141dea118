"""Moves of replicas between log directories of one broker, requested from that broker.

They are the last moves of a run. They begin a few at a time: no more of one broker and of the
cluster than stages may hold (`maxMovesPerBroker`, `maxMoves`, `maxBytes`), and only while a stage
might start. A broker copies in the background and says how far it is. So nothing of it is recorded:
the next pass, of this process or another, sees each request done or under way. A request to a
broker cannot be fenced as a write to ZooKeeper can. So the journal's epoch is checked just before,
and two executors that send the same request do no harm.

A copy is cancelled by asking for the directory that the replica is in: the broker drops the future
log. That is done for a rollback. If the run ends for another reason, copies in flight arrive first.
Those of which nothing is copied any more are cancelled, whatever the run does (`stalled_copies`).

Nothing is waited for that cannot come. A move whose directory failed or whose replica is gone is
left alone; the next plan decides anew. So is one that its broker refuses, or that somebody takes
back, each time that it is asked for (`held_copies`). So is one that no throttle can limit
(`unlimited_moves`). A broker that is not live is waited for until the run ends, because its copies
go on when it is back. Once the run is to end, it is not.
"""

from poolkeeper.algorithms.throttles import LOG_DIRS_RATE
from poolkeeper.model.execution.runs import Ending, Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import MoveLogDir
from poolkeeper.model.specs import Execution, Mode
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.progress import held_copies, stalled_copies, staying_moves
from poolkeeper.planning.run_state.progress.log_dir_copies import (
    CopyLimits,
    CopyProgress,
    CopyState,
    copies_of,
    due_copies,
    waits_of_copies,
)
from poolkeeper.planning.run_state.throttling import throttles, unlimited_moves
from poolkeeper.reconcile.decide import throttle_rate
from poolkeeper.reconcile.decide.decisions import (
    CheckThrottles,
    DoNothing,
    EnterPhase,
    MissingInput,
    MoveLogDirs,
    NeededInput,
    RunSituation,
)
from poolkeeper.reconcile.decide.in_flight import (
    CHECK_EVERY_MS,
    waits_for_throttles,
)

SILENCE_MS = 60_000
"""How long a live broker may say nothing of its copies before a run that is to end does so."""

Decision = DoNothing | EnterPhase | MoveLogDirs


def decide(at: RunSituation) -> Decision | NeededInput:
    """Decide what this pass does about the run's moves between log directories."""
    ending = at.run.ending or (Ending.ROLLED_BACK if _asked_to_roll_back(at) else None)
    if ending is not None and at.run.ending is None:
        return EnterPhase(Phase.COPYING, ending)
    flying = _of(at, CopyState.IN_FLIGHT)
    back = ending is Ending.ROLLED_BACK or at.desired.cluster.mode is Mode.ROLL_BACK
    if back and flying and at.asks_brokers:
        waits = (Wait(WaitReason.LOG_DIR_MOVES_RETURNING, count=len(flying)),)
        return MoveLogDirs(cancelled=flying, waits=waits)
    if at.asks_brokers and (stalled := _stalled(at)):
        return MoveLogDirs(stalled=stalled)
    if ending is not None:
        if _is_settled(at):
            return EnterPhase(Phase.RESTORING, ending)
        return _watch(at)
    if not _open(at):
        given_up = staying_moves.actions_of_staying(_steps(at), _unlimited(at))
        return EnterPhase(Phase.ELECTING, Ending.FINISHED, given_up)
    return _begin(at)


def limits_of(execution: Execution) -> CopyLimits:
    """Return how many replicas may be copied at once."""
    return CopyLimits(execution.max_moves_per_broker, execution.max_moves, execution.max_bytes)


def _begin(at: RunSituation) -> Decision | NeededInput:
    """Begin what may begin now; leave the rest in flight."""
    assert at.view.reading is not None, "observed in this phase"
    due, full = due_copies(
        _steps(at),
        at.view.copies,
        at.view.cluster,
        limits_of(at.desired.cluster.execution),
        _left_alone(at),
    )
    if _of(at, CopyState.IN_FLIGHT) and (not due or len(at.run.rates) > 1):
        return _watch(at, full)
    if not at.view.ending_read:
        return MissingInput.ENDING
    if at.view.ending is not None:
        return EnterPhase(Phase.COPYING, at.view.ending)
    holds = _holds(at) if due else ()
    if holds or not due:
        return _watch(at, (*full, *holds))
    if rates := throttle_rate.before_request(at):
        return EnterPhase(Phase.THROTTLING, rates=rates)
    if at.document.throttled and at.throttles.keeps:
        if at.view.throttles is None:
            return CheckThrottles(frozenset())
        if at.view.throttles.unset:
            return EnterPhase(Phase.THROTTLING)
    return MoveLogDirs(due, waits=(*full, *waits_of_copies(_steps(at), at.view.copies)))


def _watch(at: RunSituation, more: tuple[Wait, ...] = ()) -> MoveLogDirs | MissingInput:
    """Leave what is in flight; see now and then that it is throttled, and adapt the rate."""
    flying = bool(_of(at, CopyState.IN_FLIGHT))
    if flying and throttle_rate.is_look_due(at) and at.view.signals is None:
        return MissingInput.RATE_SIGNALS
    checked_ms, changing = at.throttles.checked_ms, len(at.run.rates) > 1
    throttle = throttle_rate.change_in_flight(at) if at.document.throttled else None
    stays = not changing and (throttle is None or throttle.rates is None)
    due = flying and stays and at.now_ms - checked_ms >= CHECK_EVERY_MS
    check = at.document.throttled and due
    named = waits_of_copies(_steps(at), at.view.copies)
    waits = (*named, *more, *(waits_for_throttles(at) if flying else ()))
    return MoveLogDirs(
        waits=tuple(dict.fromkeys(waits)),
        check=check,
        keep=at.throttles.keeps,
        throttle=throttle,
    )


def _holds(at: RunSituation) -> tuple[Wait, ...]:
    """Return why no move may begin now."""
    if not at.asks_brokers:
        return (Wait(WaitReason.BROKERS_NOT_ASKED),)
    if at.paused:
        return (Wait(WaitReason.PAUSED),)
    cluster = at.view.cluster
    ours = {move.name for move in at.plan.moves}
    # The run's own moves have arrived. What has not is somebody else's.
    requested = {e.name for e in cluster.reassignment or ()}
    return (
        *gates.closed_gates(cluster, at.document.baseline, (), ours - requested),
        *gates.waits_before_stages(at.desired, cluster, at.now_ms),
    )


def _asked_to_roll_back(at: RunSituation) -> bool:
    return at.view.stop is not None and at.view.stop.at_once


def _stalled(at: RunSituation) -> tuple[int, ...]:
    return stalled_copies.stalled_copies(at.copies.looks, _steps(at), at.run.rates)


def _is_settled(at: RunSituation) -> bool:
    """Whether nothing is in flight any more, as far as anybody can tell."""
    if not at.asks_brokers:
        return True
    if _of(at, CopyState.IN_FLIGHT):
        return False
    since_ms = at.copies.silent_since_ms
    return not _of(at, CopyState.UNKNOWN) or (
        since_ms is not None and at.now_ms - since_ms >= SILENCE_MS
    )


def _open(at: RunSituation) -> bool:
    """Whether any move is still to begin or to arrive."""
    left = (CopyState.LEFT, CopyState.DONE)
    without = _left_alone(at)
    return any(
        p.state not in left and not (p.state is CopyState.PENDING and n in without)
        for n, p in enumerate(at.view.copies)
    )


def _left_alone(at: RunSituation) -> frozenset[int]:
    """Return the moves that are not asked for: that comes to nothing, or nothing limits them."""
    return held_copies.abandoned_copies(at.view.copies, at.copies.asks).union(
        at.held, _unlimited(at)
    )


def _unlimited(at: RunSituation) -> dict[int, Wait]:
    """Return the moves that are yet to begin and that no throttle of the run can limit."""
    if not at.run.rates:
        return {}
    steps, saved = _steps(at), at.document.saved.brokers
    pending = _of(at, CopyState.PENDING)
    brokers = {steps[n].broker for n in pending}
    unsaved = throttles.unsaved_entities(
        b for b in brokers if LOG_DIRS_RATE not in saved.get(b, ())
    )
    return unlimited_moves.unlimited_copies(steps, pending, {**unsaved, **at.unwritable})


def _of(at: RunSituation, state: CopyState) -> tuple[int, ...]:
    copies: tuple[CopyProgress, ...] = at.view.copies
    return tuple(n for n, p in enumerate(copies) if p.state is state)


def _steps(at: RunSituation) -> tuple[MoveLogDir, ...]:
    return copies_of(at.plan)
