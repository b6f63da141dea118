"""Decides the rate of a run's throttle: as declared, adapted, or left.

A declared rate that a person changes while the run is under way counts from the next pass on, also
for a run that is being wound up: what is in flight may take hours. The run records which declared
rate it began from, so that a change is noticed after a restart too. Under an adaptive throttle the
changed rate is the new start; a throttle that becomes fixed has the declared rate at once. A
throttle that is turned off, or on, counts for the next run. All of this holds for a paused cluster
too, whose stage in flight may take hours. As long as it is not known which rate the run may have,
because it may be one of an external plan, the rate stays.
"""

from poolkeeper.model.execution.actions import Action
from poolkeeper.model.execution.runs import Phase, RateReason
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.planning.run_state.throttling import adaptive_rate
from poolkeeper.planning.run_state.throttling.throttles import FROZEN_BYTES_PER_S
from poolkeeper.reconcile.decide.decisions import ChangeThrottle, EnterPhase, RunSituation

ADAPT_EVERY_MS = 30_000


def is_look_due(at: RunSituation) -> bool:
    """Whether what the adaptive throttle goes by is to be measured now."""
    if not at.rate_known or not _is_steady(at) or _redeclared(at) is not None:
        return False
    since_ms = max(at.adapted_ms, at.run.requested_ms)
    adaptive = at.desired.cluster.execution.throttle.mode is ThrottleMode.ADAPTIVE
    return adaptive and at.now_ms - since_ms >= ADAPT_EVERY_MS


def change_in_flight(at: RunSituation) -> ChangeThrottle | None:
    """Change the rate if that is due; complete a change that was interrupted."""
    run, start = at.run, at.desired.cluster.execution.throttle.rate_bytes_per_s
    if len(run.rates) > 1:
        return ChangeThrottle(run.rates[:1], written=True, reason=run.rate_reason)
    declared = _redeclared(at)
    if declared is not None:
        rates = (declared, run.rates[0])
        return ChangeThrottle(rates, reason=RateReason.DECLARED, declared=declared)
    if at.view.signals is None:
        return None
    rate = run.rates[0]
    to = adaptive_rate.next_rate(rate, start, at.view.signals, at.throttles.changes)
    adapted = None if to.bytes_per_s == rate else (to.bytes_per_s, rate)
    return ChangeThrottle(adapted, reason=to.reason)


def before_request(at: RunSituation) -> tuple[int, ...]:
    """Return the rates to go on with, (new, old), before more is requested; empty: as it is."""
    if at.run.rates[:1] == (FROZEN_BYTES_PER_S,):
        return (at.desired.cluster.execution.throttle.rate_bytes_per_s, FROZEN_BYTES_PER_S)
    declared = _redeclared(at)
    return () if declared is None else (declared, at.run.rates[0])


def decide_rate(at: RunSituation, found: tuple[Action, ...]) -> EnterPhase | None:
    """Return the step that sets another rate, or None if the throttle keeps the rate it has."""
    rates = before_request(at)
    return EnterPhase(Phase.THROTTLING, found=found, rates=rates) if rates else None


def _redeclared(at: RunSituation) -> int | None:
    """Return the declared rate if it is another one than the run began from, or has fixed."""
    throttle = at.desired.cluster.execution.throttle
    if not at.rate_known or not _is_steady(at) or throttle.mode is ThrottleMode.NONE:
        return None
    fixed = throttle.mode is ThrottleMode.FIXED
    began = at.run.rates[0] if fixed else at.run.declared_rate or throttle.rate_bytes_per_s
    return None if began == throttle.rate_bytes_per_s else throttle.rate_bytes_per_s


def _is_steady(at: RunSituation) -> bool:
    """Whether there is a rate, no change of it is under way, and no cancel holds it down."""
    return len(at.run.rates) == 1 and at.run.rates[0] != FROZEN_BYTES_PER_S
