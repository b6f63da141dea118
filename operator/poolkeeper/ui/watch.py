"""One paced look at something, shared by all who watch it.

A watch looks only while somebody wants to know: each request counts as interest for `IDLE_S`, an
open stream for as long as it is open. Between the beginnings of two looks are at least `every_s`,
and a look is followed by a rest of `REST` times its own length: a system that is slow, or a cluster
that is large, is asked less often. When nobody wants to know any more, the thread ends and what the
look holds open is let go. So the cost to the watched system does not grow with the viewers.

What a look raises is kept beside what was seen before; the next look may succeed again.
"""

import logging
import time
from collections.abc import Callable
from threading import Condition, Thread
from typing import Generic, TypeVar

from poolkeeper.errors import PoolkeeperError
from poolkeeper.frozen import frozen

T = TypeVar("T")

IDLE_S = 10.0
REST = 1.0
FAILED = "this look failed; the log of `poolkeeper ui` says why"

logger = logging.getLogger(__name__)


@frozen
class Seen(Generic[T]):
    """What the latest look saw, or why it saw nothing.

    `number` counts looks from 1. `value` is of the latest look that succeeded, at `value_ms` since
    1970; `trouble` is why the latest one failed, empty if it did not.
    """

    number: int = 0
    at_ms: int = 0
    value: T | None = None
    value_ms: int = 0
    trouble: str = ""


@frozen
class Looking(Generic[T]):
    """How to look; `rest` lets go of what looks hold open, and is called by the same thread."""

    look: Callable[[], T]
    rest: Callable[[], None] = lambda: None


class SharedLook(Generic[T]):
    """Looks again and again while somebody wants to know; safe to be used by many threads."""

    def __init__(
        self,
        looking: Looking[T],
        every_s: float,
        name: str,
        idle_s: float = IDLE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._looking = looking
        self._every_s = every_s
        self._name = name
        self._idle_s = idle_s
        self._clock = clock
        self._changed = Condition()
        self._seen: Seen[T] = Seen()
        self._waiting = 0
        self._wanted_s = float("-inf")
        self._due_s = float("-inf")
        self._thread: Thread | None = None
        self._closed = False

    @property
    def looking(self) -> bool:
        """Whether somebody has wanted to know lately."""
        with self._changed:
            return self._thread is not None

    def seen(self) -> Seen[T]:
        """What the latest look saw, at once."""
        return self.newer(-1, 0)

    def newer(self, than: int, patience_s: float) -> Seen[T]:
        """What the latest look saw; waits up to `patience_s` for one after number `than`."""
        with self._changed:
            self._waiting += 1
            self._begin()
            self._changed.wait_for(lambda: self._seen.number > than or self._closed, patience_s)
            self._waiting -= 1
            self._wanted_s = self._clock()
            return self._seen

    def fresh(self, patience_s: float) -> Seen[T]:
        """What was seen lately; waits up to `patience_s` if nobody has looked for a while."""
        with self._changed:
            is_late = self._clock() - self._due_s > self._idle_s
            number = self._seen.number
        return self.newer(number if is_late else number - 1, patience_s)

    def close(self, patience_s: float = 0) -> None:
        """Look no more; wait up to `patience_s` until what was held open is let go."""
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join(patience_s)

    def _begin(self) -> None:
        if self._thread is None and not self._closed:
            self._thread = Thread(target=self._run, name=f"watch of {self._name}", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while self._await_due():
            began_s = self._clock()
            seen = self._look()
            took_s = self._clock() - began_s
            with self._changed:
                self._seen = seen
                self._due_s = max(began_s + self._every_s, self._clock() + REST * took_s)
                self._changed.notify_all()

    def _await_due(self) -> bool:
        """Wait for the next look; false, and this is no longer the thread, if none is wanted."""
        while True:
            with self._changed:
                while not self._closed and self._is_wanted():
                    left_s = self._due_s - self._clock()
                    if left_s <= 0:
                        return True
                    self._changed.wait(min(left_s, self._idle_s))
            self._let_go()
            with self._changed:
                if self._closed or not self._is_wanted():  # else somebody came meanwhile
                    self._thread = None
                    return False

    def _is_wanted(self) -> bool:
        return self._waiting > 0 or self._clock() - self._wanted_s < self._idle_s

    def _look(self) -> Seen[T]:
        before = self._seen
        number, trouble, value, value_ms = before.number + 1, "", before.value, before.value_ms
        try:
            value = self._looking.look()
        except PoolkeeperError as error:
            trouble = str(error)
        except Exception:  # the viewers are told that there is a reason, the log has it
            logger.exception("a look at %s failed", self._name)
            trouble = FAILED
        at_ms = time.time_ns() // 1_000_000
        return Seen(number, at_ms, value, value_ms if trouble else at_ms, trouble)

    def _let_go(self) -> None:
        try:
            self._looking.rest()
        except Exception:
            logger.exception("the end of looks at %s failed", self._name)
