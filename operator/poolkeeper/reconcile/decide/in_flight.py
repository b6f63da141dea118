"""A request in flight: what has arrived, which brokers it waits for, what is done meanwhile.

A pass that finds the controller at work begins nothing. It counts the moves that arrived and names
the brokers that the others wait for. It has a stall recovered once the request looks stuck, and
adapts the throttle to the cluster's health, unless nothing is copied. What is cancelled is decided
before (`cancel`).
"""

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.planning.run_state.gates import disks, gates
from poolkeeper.planning.run_state.progress.move_progress import MoveState, waits_for_nodes
from poolkeeper.planning.run_state.reassignments.requests import Stall
from poolkeeper.planning.run_state.reassignments.stalls import (
    ATTEMPTS_MAX,
    IGNORED_PAUSE_MS,
    STALL_MS,
    may_be_withdrawn,
    owned_by,
    stall_of,
)
from poolkeeper.planning.run_state.returns import UNSETTLED
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.reconcile.decide import throttle_rate, unloadable_configs
from poolkeeper.reconcile.decide.cancelling import cancel
from poolkeeper.reconcile.decide.decisions import (
    MissingInput,
    RunSituation,
    Watch,
)
from poolkeeper.reconcile.observe.run_view import arrived_of

CHECK_EVERY_MS = 5_000


def decide(at: RunSituation) -> Watch | MissingInput:
    """Decide what is done while the request is in flight, and what it waits for."""
    run, view, moves = at.run, at.view, at.plan.moves
    returned = {m: view.returns[m] not in UNSETTLED for m in run.returning}
    stall = stall_of(moves, run.step, view.progress, view.cluster, returned=returned)
    if stall is None and throttle_rate.is_look_due(at) and view.signals is None:
        return MissingInput.RATE_SIGNALS
    step = [(moves[m], index) for m, index in run.step]
    arrived = arrived_of(run, view.progress)
    age_ms = at.now_ms - run.requested_ms
    ends = at.view.stop is not None
    unasked = may_be_withdrawn(moves, run, view.progress, view.cluster, stall, ends=ends)
    is_left = stall is Stall.IGNORED and not unasked and _is_left_in_place(at, age_ms)
    waits = (
        Wait(WaitReason.STAGE_IN_FLIGHT, stage=run.stage, count=arrived, of=len(run.step)),
        *waits_for_nodes((move for move, _ in step), view.progress, view.cluster),
        *cancel.waits(at),
        *gates.waits_for_dead_brokers(step, view.progress, view.cluster),
        *disks.waits_in_flight(step, view.progress, view.cluster, view.disks),
        *unloadable_configs.waits(at),
        *gates.controller(view.cluster),
        *gates.isr_disagreements(view.cluster),
        *gates.foreign(view.cluster, owned_by(moves, run.step, run.returning)),
        *waits_for_throttles(at),
        *([Wait(WaitReason.REQUEST_IGNORED, count=run.attempts)] if is_left else []),
    )
    return Watch(
        waits,
        stall if age_ms > STALL_MS and not is_left else None,
        not unasked,
        _waits_after_deadline(at, age_ms),
        throttle_rate.change_in_flight(at),
        _topics_to_check(at),
        at.throttles.keeps,
    )


def _is_left_in_place(at: RunSituation, age_ms: int) -> bool:
    """Whether a request that was ignored waits for another controller, having been made often."""
    often = at.run.attempts >= ATTEMPTS_MAX and not at.run.returning
    return often and STALL_MS < age_ms < IGNORED_PAUSE_MS


def _waits_after_deadline(at: RunSituation, age_ms: int) -> tuple[Wait, ...]:
    """Report that the stage takes longer than expected."""
    if age_ms <= at.desired.cluster.execution.stage_deadline_s * 1000:
        return ()
    return (Wait(WaitReason.STAGE_DEADLINE, stage=at.run.stage),)


def waits_for_throttles(at: RunSituation) -> tuple[Wait, ...]:
    """Name the throttles that are somebody else's now, and those that cannot be read.

    The config of a topic that cannot be read at all is named with its moves.
    """
    known, damaged = at.throttles, at.view.cluster.damaged
    waits = [
        *throttles.waits_for_configs(u for u in known.found.unreadable if u.entity not in damaged)
    ]
    if known.found:
        found = known.found
        waits.append(Wait(WaitReason.THROTTLES_YIELDED, topics=found.topics, brokers=found.brokers))
    if known.unsettled:
        waits.append(Wait(WaitReason.THROTTLE_SETTLING, brokers=known.unsettled))
    if known.found.unset and not known.keeps:
        waits.append(Wait(WaitReason.THROTTLES_NOT_KEPT, count=known.put_back))
    return tuple(waits)


def _topics_to_check(at: RunSituation) -> frozenset[str]:
    """Return the topics of the request if its throttles are due for a check, otherwise none.

    One that was made again has none of the run's.
    """
    if not at.document.throttled or len(at.run.rates) > 1:
        return frozenset()
    if at.now_ms - max(at.throttles.checked_ms, at.run.requested_ms) < CHECK_EVERY_MS:
        return frozenset()
    moves, step = at.plan.moves, zip(at.run.step, at.view.progress, strict=True)
    return frozenset(moves[m].topic for (m, _), p in step if p.state is not MoveState.GONE)
