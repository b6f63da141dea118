"""Clocks that run scheduled actions: a virtual one for tests, and one faster than real time.

Everything simulated happens in actions that were scheduled with `after`. They run one at a time, in
the order of their time; actions due at the same moment run in the order of scheduling. So with a
virtual clock the same calls give the same cluster, however busy the machine is, and an hour of
waiting costs nothing.
"""

import heapq
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from threading import Condition
from typing import Protocol, TypeVar

from poolkeeper.errors import Unavailable

Value = TypeVar("Value")
EPOCH_MS = 1_700_000_000_000
"""The time at which a virtual clock begins, in ms since 1970: a Tuesday in November 2023."""
WAIT_MAX_S = 3600.0
"""No thread can wait for the ages that a large replica takes at a tiny rate."""

Action = Callable[[], None]


class Timer:
    """A scheduled action, which can be cancelled until it runs."""

    __slots__ = ("action",)

    def __init__(self, action: Action | None) -> None:
        self.action = action

    def cancel(self) -> None:
        """Cancel the action; without effect once it ran."""
        self.action = None


class Clock(Protocol):
    """The clock that the simulation uses."""

    def now_ms(self) -> int:
        """Return the milliseconds since 1970."""
        ...

    def after(self, delay_ms: float, action: Action) -> Timer:
        """Run the action once, `delay_ms` from now at the earliest, never inside this call."""
        ...


class _Agenda:
    """The timers by due time."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = count()

    def add(self, due_ms: float, action: Action) -> Timer:
        timer = Timer(action)
        heapq.heappush(self._heap, (due_ms, next(self._numbers), timer))
        return timer

    def next_due_ms(self) -> float | None:
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def is_due(self, now_ms: float) -> bool:
        """Whether an action is due by then, unless it was called off meanwhile."""
        return bool(self._heap) and self._heap[0][0] <= now_ms

    def take(self) -> Action:
        timer = heapq.heappop(self._heap)[2]
        action = timer.action
        assert action is not None, "asked for after next_due_ms, which drops what was called off"
        timer.action = None
        return action


class VirtualClock:
    """A clock that stands still until it is advanced. For one thread."""

    def __init__(self, now_ms: int = EPOCH_MS) -> None:
        self._now_ms = float(now_ms)
        self._agenda = _Agenda()
        self._running = False

    def now_ms(self) -> int:
        """Return the milliseconds since 1970."""
        return int(self._now_ms)

    def after(self, delay_ms: float, action: Action) -> Timer:
        """Run the action when the clock is advanced by that much."""
        return self._agenda.add(self._now_ms + max(0.0, delay_ms), action)

    def advance(self, delay_ms: float) -> None:
        """Advance the time, and run all actions that become due."""
        end_ms = self._now_ms + delay_ms
        while self._agenda.is_due(end_ms):
            self._step(end_ms)
        if end_ms > self._now_ms:
            self._now_ms = end_ms

    def run_until(self, condition: Callable[[], object], deadline_ms: float) -> bool:
        """Advance the time until the condition holds (true) or `deadline_ms` has passed (false).

        The condition is checked before the first action and after each one.
        """
        end_ms = self._now_ms + deadline_ms
        while not condition():
            if not self._step(end_ms):
                self._now_ms = max(self._now_ms, end_ms)
                return bool(condition())
        return True

    def _step(self, end_ms: float) -> bool:
        assert not self._running, "an action must not let time pass: it would overtake itself"
        due_ms = self._agenda.next_due_ms()
        if due_ms is None or due_ms > end_ms:
            return False
        self._now_ms = max(self._now_ms, due_ms)
        self._running = True
        try:
            self._agenda.take()()
        finally:
            self._running = False
        return True


class RealClock:
    """A clock whose actions run on a thread of its own, `speed` times as fast as real time.

    `after` may be called from any thread. An action that raises ends the clock; `stop` and
    `run_until` raise what it raised.
    """

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = speed
        self._began_ms = time.time() * 1000
        self._began = time.monotonic()
        self._agenda = _Agenda()
        self._changed = Condition()
        self._stopping = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="simulation-clock")
        self._running: Future[None] | None = None

    def start(self) -> None:
        """Begin to run actions."""
        self._running = self._thread.submit(self._run)

    def stop(self) -> None:
        """End the thread after the action that is running."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.shutdown()
        self._raise_failure()

    def wait(self) -> None:
        """Wait until the clock has ended; who waits so costs its actions nothing."""
        assert self._running is not None, "it was started"
        self._running.result()

    def now_ms(self) -> int:
        """Return the milliseconds since 1970, at this clock's speed since it was made."""
        return int(self._now_ms())

    def after(self, delay_ms: float, action: Action) -> Timer:
        """Run the action on the clock's thread, that much later."""
        with self._changed:
            timer = self._agenda.add(self._now_ms() + max(0.0, delay_ms), action)
            self._changed.notify_all()
            return timer

    def call(self, action: Callable[[], Value], deadline_ms: float = 60_000) -> Value:
        """Call a function on the clock's thread, and return its value."""
        found: list[Value] = []
        self.after(0, lambda: found.append(action()))
        if not self.run_until(lambda: found, deadline_ms):
            raise Unavailable(f"the simulation did nothing for {deadline_ms / 1000:g} s")
        return found[0]

    def run_until(self, condition: Callable[[], object], deadline_ms: float) -> bool:
        """Wait until the condition holds (true) or the deadline, in real time, passed (false)."""
        end = time.monotonic() + deadline_ms / 1000
        with self._changed:
            while not condition():
                self._raise_failure()
                left_s = end - time.monotonic()
                if left_s <= 0:
                    return False
                self._changed.wait(min(left_s, 1.0))
        return True

    def _now_ms(self) -> float:
        return self._began_ms + (time.monotonic() - self._began) * 1000 * self._speed

    def _raise_failure(self) -> None:
        if self._running is not None and self._running.done():
            self._running.result()

    def _run(self) -> None:
        try:
            while (action := self._next()) is not None:
                action()
                with self._changed:
                    self._changed.notify_all()
        finally:
            with self._changed:
                self._changed.notify_all()

    def _next(self) -> Action | None:
        """Return the next action when it is due; `None` at the end."""
        with self._changed:
            while not self._stopping:
                due_ms = self._agenda.next_due_ms()
                left_ms = None if due_ms is None else due_ms - self._now_ms()
                if left_ms is not None and left_ms <= 0:
                    return self._agenda.take()
                left_s = WAIT_MAX_S if left_ms is None else left_ms / 1000 / self._speed
                self._changed.wait(min(left_s, WAIT_MAX_S))
            return None
