"""A clock that was set back: times that lie ahead would hold a run up until they are reached.

A run notes when its throttles were written and when its request was made, and ages are counted from
there. So does a process with what it saw. Where such a time lies ahead by more than
clocks of executors may differ, the clock was set back, or the executor before had a wrong one. Then
it counts from now on: what is waited for is waited for once more, and no longer.
"""

from dataclasses import replace

from poolkeeper.model.execution.runs import Run
from poolkeeper.reconcile.context import PassContext

AHEAD_MS = 10_000
"""By so much the clocks of two executors may differ without a word."""


def forget_future_times(context: PassContext) -> None:
    """Forget the times that this process remembers, if its clock was set back since."""
    memory, now_ms = context.memory, context.now_ms()
    if now_ms < memory.now_ms - AHEAD_MS:
        memory.forget_times()
    memory.now_ms = now_ms


def with_times_of_now(run: Run, now_ms: int) -> Run:
    """Return the run without times that lie ahead."""
    times = (run.started_ms, run.requested_ms, run.throttled_ms)
    if max(times) <= now_ms + AHEAD_MS:
        return run
    started, requested, throttled = (min(each, now_ms) for each in times)
    return replace(run, started_ms=started, requested_ms=requested, throttled_ms=throttled)
