"""Keys that become ready at a time of their own, where groups of keys take turns.

First come, first served would have one tenant who edits thousands of Topics keep those of all
others waiting until the last of his is written.
"""

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key")


class ReadyKey(NamedTuple, Generic[Key]):
    """A key that is ready at `ready_s`; the number is that of its `push`."""

    ready_s: float
    number: int
    key: Key


class Turns(Generic[Key]):
    """The keys, each as often as it was pushed; not thread-safe."""

    def __init__(self, group_of: Callable[[Key], Hashable]) -> None:
        self._group_of = group_of
        self._later: list[ReadyKey[Key]] = []
        self._ready: dict[Hashable, deque[ReadyKey[Key]]] = {}
        """By group, the group whose turn is next first."""

    def push(self, pushed: ReadyKey[Key]) -> None:
        """Add a key."""
        heapq.heappush(self._later, pushed)

    def ready_s(self, now_s: float) -> float | None:
        """Return when the next key is ready, for one that is ready any time until now."""
        self._look(now_s)
        if self._ready:
            return next(iter(self._ready.values()))[0].ready_s
        return self._later[0].ready_s if self._later else None

    def pop(self, now_s: float) -> ReadyKey[Key] | None:
        """Take the first ready key of the group whose turn it is; `None` if none is ready."""
        self._look(now_s)
        if not self._ready:
            return None
        group, keys = next(iter(self._ready.items()))
        del self._ready[group]
        taken = keys.popleft()
        if keys:
            self._ready[group] = keys
        return taken

    def drain(self) -> Iterator[ReadyKey[Key]]:
        """Take out all keys, in no order."""
        found = [*self._later, *(each for keys in self._ready.values() for each in keys)]
        self._later, self._ready = [], {}
        return iter(found)

    def _look(self, now_s: float) -> None:
        """Let keys that have become ready queue up with their group."""
        while self._later and self._later[0].ready_s <= now_s:
            each = heapq.heappop(self._later)
            self._ready.setdefault(self._group_of(each.key), deque()).append(each)
