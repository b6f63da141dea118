"""A work queue for a few threads: it holds the latest value of each key, with back-off.

A value that is likely to be outdated soon is put with a delay; a newer one may make it due at once.

One thread at a time works on a key; a value put meanwhile waits for it. `again` retries a key after
a pause of its own (1 s doubling to 30 s). If the cause seems common to all keys, they also share a
pause (0.5 s doubling to 5 s). Then one thread probes, and all continue once it succeeded.

Groups take turns (`turns`): a group of thousands of keys keeps no other waiting.

Many keys may only seem to fail for a common cause, as those of one namespace whose webhook is away.
So a group of keys whose last write failed for one is suspected, and goes after all others, to probe
as well: else these would wait for the pause of each key of that group. Suspected groups have two
threads at the most, as each of their writes may hang for as long as a call may take. Once others
are written, groups that go on to fail do so alone: they pause without them.
"""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Condition
from typing import Generic, TypeVar

from poolkeeper.kube.objects.turns import ReadyKey, Turns

KEYS_MAX = 100_000
OWN_PAUSE_S, OWN_PAUSE_S_MAX = 1.0, 30.0
SHARED_PAUSE_S, SHARED_PAUSE_S_MAX = 0.5, 5.0
SUSPECTS_AT_ONCE = 2

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(slots=True)
class _Entry(Generic[Value]):
    value: Value
    since_s: float
    due_s: float
    failures: int = 0
    dropped: bool = False


@dataclass(slots=True)
class _SharedPause:
    """A pause of several keys; failures of several threads at the same moment count once."""

    until_s: float = float("-inf")
    failures: int = 0

    def begin(self, now_s: float) -> None:
        if now_s >= self.until_s:
            self.until_s = now_s + paused_s(self.failures, SHARED_PAUSE_S, SHARED_PAUSE_S_MAX)
            self.failures += 1


class WorkQueue(Generic[Key, Value]):
    """A work queue; see the module. A taken value counts as queued until `done` or `again`."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        pause_s: float = OWN_PAUSE_S,
        group_of: Callable[[Key], Hashable] = lambda key: key,
    ) -> None:
        self._clock = clock
        self._pause_s = pause_s
        self._group_of = group_of
        self._suspected: set[Hashable] = set()
        self._alone: set[Hashable] = set()
        self._waiting: dict[Key, _Entry[Value]] = {}
        self._processing: dict[Key, _Entry[Value]] = {}
        self._ready, self._last = Turns(group_of), Turns(group_of)
        self._sequence = 0
        self._all_pause, self._alone_pause = _SharedPause(), _SharedPause()
        self._probing = False
        self._ended = False
        self._condition = Condition()

    def __len__(self) -> int:
        with self._condition:
            return len(self._waiting.keys() | self._processing.keys())

    def put(self, key: Key, value: Value, *, delay_s: float = 0.0) -> bool:
        """Set the value of a key; false if the queue is full.

        `delay_s`: how long it may be held, as a newer value may take its place; it makes none later
        that waits already.
        """
        with self._condition:
            now_s = self._clock()
            due_s, entry = now_s + delay_s, self._waiting.get(key)
            if entry is not None:
                entry.value = value
                self._make_due(key, entry, due_s)
                return True
            if len(self._waiting) >= KEYS_MAX:
                return False
            self._waiting[key] = _Entry(value, now_s, due_s)
            if key not in self._processing:
                self._push(key, due_s)
            return True

    def drop(self, key: Key, wrong: Callable[[Value], bool] = lambda value: True) -> None:
        """Remove a key and its value, if that is wrong."""
        with self._condition:
            waiting, processing = self._waiting.get(key), self._processing.get(key)
            if waiting is not None and wrong(waiting.value):
                del self._waiting[key]
            if processing is not None and wrong(processing.value):
                processing.dropped = True
            self._condition.notify_all()

    def take(self) -> tuple[Key, Value] | None:
        """Wait for a key that is due; `None` once the queue is closed."""
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
        """Mark the taken value as written; this also ends a shared pause."""
        with self._condition:
            self._all_pause.failures, self._probing = 0, False
            if (group := self._group_of(key)) in self._suspected:
                self._suspected.discard(group)
                self._alone_pause = _SharedPause()
                self._sort_again()
            self._alone = set(self._suspected)
            del self._processing[key]
            if (entry := self._waiting.get(key)) is not None:
                self._push(key, entry.due_s)
            self._condition.notify_all()

    def again(self, key: Key, *, shared: bool) -> None:
        """Mark the taken value as failed: the key's latest value is retried after a pause."""
        with self._condition:
            self._probing = False
            entry = self._processing.pop(key)
            if shared:
                group = self._group_of(key)
                alone = group in self._alone
                self._suspected.add(group)
                (self._alone_pause if alone else self._all_pause).begin(self._clock())
                pause_s = paused_s(entry.failures, SHARED_PAUSE_S, SHARED_PAUSE_S_MAX)
            else:
                self._all_pause.failures = 0
                pause_s = paused_s(entry.failures, self._pause_s, OWN_PAUSE_S_MAX)
            entry.failures += 1
            newer = self._waiting.get(key)
            if newer is not None:
                newer.since_s, newer.failures = entry.since_s, entry.failures
            elif not entry.dropped:
                newer = self._waiting[key] = entry
            if newer is not None:
                newer.due_s = self._clock() + pause_s
                self._push(key, newer.due_s)
            self._condition.notify_all()

    def oldest_s(self) -> float:
        """Return the age of the oldest value not yet written; 0 if there is none."""
        with self._condition:
            now_s = self._clock()
            entries = (*self._waiting.values(), *self._processing.values())
            return max((now_s - entry.since_s for entry in entries), default=0.0)

    def wait_empty(self, deadline_s: float) -> bool:
        """Wait until the queue is empty, holding nothing back; return whether it is."""
        with self._condition:
            for key, entry in self._waiting.items():
                self._make_due(key, entry, self._clock())
            return self._condition.wait_for(
                lambda: not self._waiting and not self._processing, deadline_s
            )

    def close(self) -> None:
        """Make every `take` return `None`."""
        with self._condition:
            self._ended = True
            self._condition.notify_all()

    def _sort_again(self) -> None:
        """Let keys of groups that are not suspected any more go with all others."""
        for each in sorted(self._last.drain()):
            self._turns_of(each.key).push(each)

    def _make_due(self, key: Key, entry: _Entry[Value], due_s: float) -> None:
        """Make a value due earlier, unless it pauses after a failure."""
        if due_s < entry.due_s and not entry.failures:
            entry.due_s = due_s
            if key not in self._processing:
                self._push(key, due_s)

    def _push(self, key: Key, ready_s: float) -> None:
        self._sequence += 1
        self._turns_of(key).push(ReadyKey(ready_s, self._sequence, key))
        self._condition.notify()

    def _turns_of(self, key: Key) -> Turns[Key]:
        return self._last if self._group_of(key) in self._suspected else self._ready

    def _until_ready_s(self) -> float | None:
        """Return the seconds until a key is due: 0 is now, `None` is not before the next `put`."""
        if self._probing:
            return None
        now_s = self._clock()
        first_s, last_s = self._ready.ready_s(now_s), self._last.ready_s(now_s)
        heads = [] if first_s is None else [first_s]
        if last_s is not None and self._suspects_processed() < SUSPECTS_AT_ONCE:
            heads.append(max(last_s, self._alone_pause.until_s))
        if not heads:
            return None
        return max(0.0, max(min(heads), self._all_pause.until_s) - now_s)

    def _suspects_processed(self) -> int:
        return sum(self._group_of(key) in self._suspected for key in self._processing)

    def _pop(self) -> tuple[Key, Value] | None:
        now_s = self._clock()
        taken = self._ready.pop(now_s)
        if taken is not None and self._group_of(taken.key) in self._suspected:
            self._last.push(taken)
            return None
        taken = taken or self._last.pop(now_s)
        if taken is None:
            return None
        key, entry = taken.key, self._waiting.get(taken.key)
        if entry is None or key in self._processing or taken.ready_s < entry.due_s:
            return None  # a key is queued once more whenever its value becomes due at another time
        self._processing[key] = self._waiting.pop(key)
        self._probing = self._all_pause.failures > 0
        return key, entry.value


def paused_s(failures: int, first_s: float, most_s: float) -> float:
    """Return the pause after that many earlier failures: doubling, bounded."""
    return min(first_s * 2.0 ** min(failures, 10), most_s)
