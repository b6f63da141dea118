"""One thing at a time: a queue of works, each a generator that pauses where others may act.

Kafka's controller handles its events on one thread and waits for each of ZooKeeper's answers; a
broker may be killed between any two of them. Here a work is a generator that yields after each
write: the rest of the world goes on, and whoever closes the inbox ends the work right there.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

from poolkeeper.sandbox.clock import Clock

Steps: TypeAlias = Iterator[None]
Work: TypeAlias = Callable[[], Steps]


class EventQueue:
    """Works in the order of their posting.

    `pause_ms` tells how long each pause lasts. `troubles` are the exceptions that end a work but
    not the world: they go to `on_trouble`.
    """

    def __init__(
        self,
        clock: Clock,
        pause_ms: Callable[[], float],
        troubles: tuple[type[Exception], ...],
        on_trouble: Callable[[Exception], None],
    ) -> None:
        self._clock = clock
        self._pause_ms = pause_ms
        self._troubles = troubles
        self._on_trouble = on_trouble
        self._works: deque[Work] = deque()
        self._current: Steps | None = None
        self._scheduled = False
        self._open = True

    def post(self, work: Work, delay_ms: float = 0) -> None:
        """Do this after everything posted before; `delay_ms` later at the earliest."""
        if delay_ms:
            self._clock.after(delay_ms, lambda: self.post(work))
        elif self._open:
            self._works.append(work)
            self._schedule()

    def clear(self) -> None:
        """End the work under way where it pauses, and forget the others."""
        self._works.clear()
        self._current = None

    def close(self) -> None:
        """Do the same, and take no more."""
        self._open = False
        self.clear()

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        return self._current is None and not self._works

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._clock.after(self._pause_ms(), self._step)

    def _step(self) -> None:
        self._scheduled = False
        if self.idle:
            return
        if self._current is None:
            self._current = self._works.popleft()()
        work = self._current
        try:
            next(work)
        except StopIteration:
            self._end(work)
        except self._troubles as failure:
            self._end(work)
            self._on_trouble(failure)
        if not self.idle:
            self._schedule()

    def _end(self, work: Steps) -> None:
        """Forget a work that ended, unless it cleared the inbox itself."""
        if self._current is work:
            self._current = None
