"""Whether a run is where its plan predicted it to be by now.

The predicted stages of a plan say when its bytes would have arrived if nothing had held the run up.
The bytes that have arrived, and those of moves that were given up, are looked up in them. The time
that has passed, less the time at which they would have been there, is how late the run is. Within a
stage bytes arrive evenly. Partitions arrive together, at the end of what they copy: where nobody
says how far copies in flight are, a run is late only if it would be with all of them there.

What made it late is counted look by look: what it lost while nothing was copied is none of the
copies' fault, however long ago that was, and neither is what it lost under a lower throttle. What
nobody saw, between two looks that are far from each other, was lost standing still if nothing is in
flight by then.

Plans carry their predicted stages; nothing is known of a run whose plan has none, or copies
nothing as far as sizes are known.
"""

from dataclasses import replace

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.punctuality import (
    NOTHING_LOST,
    LateReason,
    LostTime,
    Punctuality,
)
from poolkeeper.model.plans import Makespan, Plan

LATE_MIN_S = 30.0
LATE_PART = 0.2
"""A run is late from 30 s on, and from a fifth of the predicted time."""


@frozen
class RunPace:
    """How a run goes at a time.

    `rate`: the throttle in force in bytes per second, `None` without. `blocked`: whether anything
    blocks the run. `copying`: whether anything is in flight.
    """

    rate: int | None = None
    blocked: bool = False
    copying: bool = True


def punctuality(
    plan: Plan,
    elapsed_s: float,
    bytes_settled: int,
    bytes_in_doubt: int = 0,
    *,
    now: RunPace,
    lost: LostTime = NOTHING_LOST,
) -> Punctuality | None:
    """Compare a run with its plan's prediction; `None` where the plan predicts nothing.

    `bytes_in_doubt`: what copies in flight may have copied beside, as nobody says how far they are.
    `lost`: what made it late so far.
    """
    makespan = plan.makespan
    if makespan is None or not plan.stages or makespan.seconds <= 0:
        return None
    earliest_s = _predicted_at(plan, bytes_settled)
    latest_s = _predicted_at(plan, bytes_settled + bytes_in_doubt)
    late_s = elapsed_s - min(max(elapsed_s, earliest_s), latest_s)
    late = late_s > max(LATE_MIN_S, LATE_PART * makespan.seconds)
    cause = LateReason.HELD_UP if now.blocked else _cause(makespan, now)
    reason = _reason(cause, late_s, lost) if late else None
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


def lost_time(lost: LostTime, plan: Plan, late_s: float, since: RunPace) -> LostTime:
    """Return what made a run late, once it is so late; `since`: how it went since before.

    What a run gains makes up for what it lost, by the same cause first.
    """
    if plan.makespan is None:
        return lost
    own = _FIELDS[_cause(plan.makespan, since)]
    more = round(max(0.0, late_s) * 1000) - lost.total_ms
    for name in (own, *_GAINED):
        before = getattr(lost, name)
        after = max(0, before + more)
        lost = replace(lost, **{name: after})
        more -= after - before
    return lost


_FIELDS = {
    LateReason.STOOD_STILL: "idle_ms",
    LateReason.RATE_LOWERED: "lowered_ms",
    LateReason.SLOWER: "slower_ms",
}
_GAINED = ("slower_ms", "lowered_ms", "idle_ms")


def _cause(makespan: Makespan, pace: RunPace) -> LateReason:
    """Return what makes a run late that goes like this, if anything does."""
    if not pace.copying:
        return LateReason.STOOD_STILL
    if pace.rate is not None and pace.rate < makespan.bytes_per_second_per_broker:
        return LateReason.RATE_LOWERED
    return LateReason.SLOWER


def _reason(cause: LateReason, late_s: float, lost: LostTime) -> LateReason:
    """Return what blocks the run now, or else what cost it the most."""
    if cause is LateReason.HELD_UP:
        return cause
    costs = {reason: float(getattr(lost, name)) for reason, name in _FIELDS.items()}
    costs[cause] += late_s * 1000 - lost.total_ms
    return max(costs, key=lambda reason: costs[reason])
