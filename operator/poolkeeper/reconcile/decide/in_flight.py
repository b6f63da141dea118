"""A request in flight: what has arrived, which brokers it waits for, what is done meanwhile.

A pass that finds the controller at work begins nothing. It counts the moves that arrived and names
the brokers that the others wait for. It has a stall recovered once the request looks stuck, and
adapts the throttle to the cluster's health. What is cancelled is decided before (`cancel`).
"""

from poolkeeper.model.specs import ThrottleMode
from poolkeeper.model.topology import TopicPartition
from poolkeeper.model.waits import Wait, WaitReason
from poolkeeper.planning.run_state import disks, gates, throttles
from poolkeeper.planning.run_state.returns import UNSETTLED
from poolkeeper.reconcile.decide import cancel
from poolkeeper.reconcile.decide.decisions import ChangeThrottle, RunSituation, Watch
from poolkeeper.reconcile.decide.stalls import STALL_MS, owned_by, stall_of
from poolkeeper.reconcile.observation import arrived_of

ADAPT_EVERY_MS = 30_000


def decide(at: RunSituation) -> Watch:
    """Decide what is done while the request is in flight, and what it waits for."""
    run, view, moves = at.run, at.view, at.plan.moves
    step = [(moves[m], index) for m, index in run.step]
    arrived = arrived_of(run, view.progress)
    waits = (
        Wait(WaitReason.STAGE_IN_FLIGHT, stage=run.stage, count=arrived, of=len(run.step)),
        *cancel.waits(at),
        *gates.hanging(step, view.progress, view.cluster),
        *disks.waits_in_flight(step, view.progress, view.cluster, view.disks),
        *gates.controller(view.cluster),
        *gates.foreign(view.cluster, owned_by(moves, run.step, run.returning)),
    )
    age_ms = at.now_ms - run.requested_ms
    returned = {m: view.returns[m] not in UNSETTLED for m in run.returning}
    stall = stall_of(moves, run.step, view.progress, view.cluster, returned=returned)
    return Watch(
        waits,
        stall if age_ms > STALL_MS else None,
        _waits_after_deadline(at, age_ms),
        _throttle_change(at),
    )


def _requested_partitions(at: RunSituation) -> set[TopicPartition]:
    moves = at.plan.moves
    return {TopicPartition(moves[m].topic, moves[m].partition) for m, _ in at.run.step}


def _waits_after_deadline(at: RunSituation, age_ms: int) -> tuple[Wait, ...]:
    """Report that the stage takes longer than expected."""
    if age_ms <= at.desired.cluster.execution.stage_deadline_s * 1000:
        return ()
    return (Wait(WaitReason.STAGE_DEADLINE, stage=at.run.stage),)


def _throttle_change(at: RunSituation) -> ChangeThrottle | None:
    """Change the adaptive throttle if it is due; complete a change that was interrupted."""
    run, throttle = at.run, at.desired.cluster.execution.throttle
    if not run.rates:
        return None
    if len(run.rates) > 1:
        return ChangeThrottle(run.rates[:1], written=True)
    since_ms = max(at.adapted_ms, run.requested_ms)
    if throttle.mode is not ThrottleMode.ADAPTIVE or at.now_ms - since_ms < ADAPT_EVERY_MS:
        return None
    hurt = gates.health(at.view.cluster).under_replicated - at.document.baseline.under_replicated
    healthy = not hurt & _requested_partitions(at)
    rate = throttles.adapted(run.rates[0], throttle.rate_bytes_per_s, healthy=healthy)
    return ChangeThrottle(None if rate == run.rates[0] else (rate, run.rates[0]))
