"""Whether a run is where its plan predicted it to be by now.

The predicted stages of a plan say when its bytes would have arrived if nothing had held the run up.
The bytes that have arrived, and those of moves that were given up, are looked up in them. The time
that has passed, less the time at which they would have been there, is how late the run is. Within a
stage bytes arrive evenly. Partitions arrive together, at the end of what they copy: where nobody
says how far copies in flight are, a run is late only if it would be with all of them there.

Plans carry their predicted stages; nothing is known of a run whose plan has none, or copies
nothing as far as sizes are known.
"""

from poolkeeper.model.execution.punctuality import LateReason, Punctuality
from poolkeeper.model.plans import Makespan, Plan

LATE_MIN_S = 30.0
LATE_PART = 0.2
"""A run is late from 30 s on, and from a fifth of the predicted time."""


def punctuality(
    plan: Plan,
    elapsed_s: float,
    bytes_settled: int,
    bytes_in_doubt: int = 0,
    *,
    rate: int | None,
    blocked: bool,
) -> Punctuality | None:
    """Compare a run with its plan's prediction; `None` where the plan predicts nothing.

    `bytes_in_doubt`: what copies in flight may have copied beside, as nobody says how far they are.
    `rate`: the throttle in force in bytes per second, `None` without. `blocked`: whether anything
    blocks the run now.
    """
    makespan = plan.makespan
    if makespan is None or not plan.stages or makespan.seconds <= 0:
        return None
    earliest_s = _predicted_at(plan, bytes_settled)
    latest_s = _predicted_at(plan, bytes_settled + bytes_in_doubt)
    late_s = elapsed_s - min(max(elapsed_s, earliest_s), latest_s)
    late = late_s > max(LATE_MIN_S, LATE_PART * makespan.seconds)
    reason = _reason(makespan, rate, blocked=blocked) if late else None
    return Punctuality(
        makespan.seconds, elapsed_s, late_s, makespan.bytes_per_second_per_broker, reason
    )


def _predicted_at(plan: Plan, bytes_settled: int) -> float:
    """Return the time, in seconds from the run's begin, at which so much was to have arrived."""
    left, time_s = bytes_settled, 0.0
    for stage in plan.stages:
        if left < stage.bytes:
            return time_s + stage.seconds * left / stage.bytes
        left -= stage.bytes
        time_s += stage.seconds
    return time_s


def _reason(makespan: Makespan, rate: int | None, *, blocked: bool) -> LateReason:
    if blocked:
        return LateReason.HELD_UP
    if rate is not None and rate < makespan.bytes_per_second_per_broker:
        return LateReason.RATE_LOWERED
    return LateReason.SLOWER
