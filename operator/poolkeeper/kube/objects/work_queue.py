"""A queue of the latest value of each key, for a few threads, with back-off.

A key is in one thread's hands at a time; a value that is put meanwhile waits for it. `again` brings
a key back after a pause of its own (1 s doubling to 30 s). Where the cause seems to be common to
all keys they share a pause as well (0.5 s doubling to 5 s), then one thread probes, and all go on
once it succeeded. A key that only seemed to fail for a common cause holds up the others little.
"""

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition
from typing import Generic, TypeVar

KEYS_MAX = 100_000
OWN_PAUSE_S, OWN_PAUSE_S_MAX = 1.0, 30.0
SHARED_PAUSE_S, SHARED_PAUSE_S_MAX = 0.5, 5.0

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(slots=True)
class _Entry(Generic[Value]):
    value: Value
    since_s: float
    failures: int = 0
    dropped: bool = False


class WorkQueue(Generic[Key, Value]):
    """See the module. What is taken counts as there until `done` or `again` is said of it."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, pause_s: float = OWN_PAUSE_S
    ) -> None:
        self._clock = clock
        self._pause_s = pause_s
        self._waiting: dict[Key, _Entry[Value]] = {}
        self._taken: dict[Key, _Entry[Value]] = {}
        self._ready: list[tuple[float, int, Key]] = []
        self._pushes = 0
        self._failures = 0
        self._closed_until_s = float("-inf")
        self._probing = False
        self._ended = False
        self._condition = Condition()

    def __len__(self) -> int:
        with self._condition:
            return len(self._waiting.keys() | self._taken.keys())

    def put(self, key: Key, value: Value) -> bool:
        """Set the value of a key; false if there are too many keys."""
        with self._condition:
            entry = self._waiting.get(key)
            if entry is not None:
                entry.value = value
                return True
            if len(self._waiting) >= KEYS_MAX:
                return False
            self._waiting[key] = _Entry(value, self._clock())
            if key not in self._taken:
                self._push(key, self._clock())
            return True

    def drop(self, key: Key) -> None:
        """Forget what is to be done for a key."""
        with self._condition:
            self._waiting.pop(key, None)
            if key in self._taken:
                self._taken[key].dropped = True
            self._condition.notify_all()

    def take(self) -> tuple[Key, Value] | None:
        """Wait for a key whose time has come; `None` when the queue was closed."""
        with self._condition:
            while not self._ended:
                pause_s = self._until_ready_s()
                if pause_s == 0:
                    taken = self._pop()
                    if taken is not None:
                        return taken
                else:
                    self._condition.wait(pause_s)
            return None

    def done(self, key: Key) -> None:
        """Say that the value taken is dealt with, and that the other side answers."""
        with self._condition:
            self._failures, self._probing = 0, False
            del self._taken[key]
            if key in self._waiting:
                self._push(key, self._clock())
            self._condition.notify_all()

    def again(self, key: Key, *, shared: bool) -> None:
        """Say that it is not: the key's latest value comes again after a pause."""
        with self._condition:
            self._probing = False
            entry = self._taken.pop(key)
            if shared:
                self._close_for_a_while()
                pause_s = paused_s(entry.failures, SHARED_PAUSE_S, SHARED_PAUSE_S_MAX)
            else:
                self._failures = 0
                pause_s = paused_s(entry.failures, self._pause_s, OWN_PAUSE_S_MAX)
            entry.failures += 1
            newer = self._waiting.get(key)
            if newer is not None:
                newer.since_s, newer.failures = entry.since_s, entry.failures
            elif not entry.dropped:
                self._waiting[key] = entry
            self._push(key, self._clock() + pause_s)
            self._condition.notify_all()

    def oldest_s(self) -> float:
        """Return the age of the oldest value that is not dealt with; 0 if there is none."""
        with self._condition:
            now_s = self._clock()
            entries = (*self._waiting.values(), *self._taken.values())
            return max((now_s - entry.since_s for entry in entries), default=0.0)

    def wait_empty(self, deadline_s: float) -> bool:
        """Wait until all is dealt with; return whether it is."""
        with self._condition:
            return self._condition.wait_for(
                lambda: not self._waiting and not self._taken, deadline_s
            )

    def close(self) -> None:
        """Let all `take` return `None`."""
        with self._condition:
            self._ended = True
            self._condition.notify_all()

    def _close_for_a_while(self) -> None:
        """Close the queue, once for all threads that fail in the same moment."""
        now_s = self._clock()
        if now_s >= self._closed_until_s:
            pause_s = paused_s(self._failures, SHARED_PAUSE_S, SHARED_PAUSE_S_MAX)
            self._closed_until_s = now_s + pause_s
            self._failures += 1

    def _push(self, key: Key, ready_s: float) -> None:
        self._pushes += 1
        heapq.heappush(self._ready, (ready_s, self._pushes, key))
        self._condition.notify()

    def _until_ready_s(self) -> float | None:
        """Return seconds until something can be taken: 0 is now, `None` when somebody says so."""
        if not self._ready or self._probing:
            return None
        until_s = max(self._ready[0][0], self._closed_until_s)
        return max(0.0, until_s - self._clock())

    def _pop(self) -> tuple[Key, Value] | None:
        _, _, key = heapq.heappop(self._ready)
        if key in self._taken or key not in self._waiting:
            return None
        entry = self._taken[key] = self._waiting.pop(key)
        self._probing = self._failures > 0
        return key, entry.value


def paused_s(failures: int, first_s: float, most_s: float) -> float:
    """Return the pause after so many failures before this one: doubling, bounded."""
    return min(first_s * 2.0 ** min(failures, 10), most_s)
