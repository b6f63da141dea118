"""The steps that may go next, in the order in which stages should take them.

Stages of the ZooKeeper path are barriers: the slowest broker of each decides. So that the busiest
broker never waits for others, every broker should be loaded in proportion to what it has left.

Each entry waits in the queue of its *bottleneck*: the broker and direction (in where it adds, out
of its leader) that has most bytes to go of all that it touches. Queues hold their entries largest
first and are read from both ends: large ones lead, small ones fill up what is left.
"""

import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from poolkeeper.planning.stage_limits import Entry


class Side(NamedTuple):
    """A broker and a direction."""

    broker: int
    out: bool


class Queue:
    """Entries of one bottleneck and urgency, largest first; taken ones leave holes."""

    def __init__(self) -> None:
        self.keys: list[tuple[int, int, int]] = []
        self.entries: list[Entry | None] = []
        self.count = 0

    def append(self, entry: Entry) -> None:
        """Add one that comes after all others."""
        self.keys.append(_key(entry))
        self.entries.append(entry)
        self.count += 1

    def insert(self, entry: Entry) -> None:
        """Add one where it belongs."""
        place = bisect.bisect(self.keys, _key(entry))
        self.keys.insert(place, _key(entry))
        self.entries.insert(place, entry)
        self.count += 1

    def take(self, place: int) -> None:
        """Leave a hole where the entry was."""
        self.entries[place] = None
        self.count -= 1

    def compact(self) -> None:
        """Close the holes at both ends; those in between only once they are many."""
        if self.count * 4 <= len(self.entries) * 3:
            kept = [i for i, entry in enumerate(self.entries) if entry is not None]
            self.keys = [self.keys[i] for i in kept]
            self.entries = [self.entries[i] for i in kept]
            return
        first = next(i for i, entry in enumerate(self.entries) if entry is not None)
        del self.keys[:first], self.entries[:first]
        while self.entries[-1] is None:
            del self.keys[-1], self.entries[-1]


class Cursor:
    """A way through a queue for one stage: from the large end, then from the small end.

    At most `look_ahead` entries are offered from either end, as what does not fit early in a stage
    will not fit later.
    """

    def __init__(self, queue: Queue, look_ahead: int) -> None:
        self._queue = queue
        self._low = 0
        self._high = len(queue.entries)
        self._offers_low = self._offers_high = look_ahead

    def next(self, bytes_max: int) -> int | None:
        """The next place: the largest entry of at most that size, else the smallest at all."""
        entries = self._queue.entries
        largest = bisect.bisect_left(self._queue.keys, (-bytes_max, -1, -1))
        self._low = max(self._low, largest)
        while self._low < self._high and self._offers_low:
            self._low += 1
            if entries[self._low - 1] is not None:
                self._offers_low -= 1
                return self._low - 1
        while self._low < self._high and self._offers_high:
            self._high -= 1
            if entries[self._high] is not None:
                self._offers_high -= 1
                return self._high
        return None

    def taken(self) -> None:
        """The last offer was taken, so it does not count."""
        self._offers_low += 1


class Backlog:
    """All entries that wait, by urgency and bottleneck, and what every broker has left."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        waiting = sorted(entries, key=_key)
        self.bytes_in: Counter[int] = Counter()
        self.bytes_out: Counter[int] = Counter()
        self.replicas_in: Counter[int] = Counter()
        self.replicas_out: Counter[int] = Counter()
        self.bytes = 0
        self.replicas = 0
        for entry in waiting:
            self._count(entry, 1)
        self.queues: dict[int, dict[Side, Queue]] = defaultdict(dict)
        for entry in waiting:
            self._queue_of(entry).append(entry)

    def add(self, entry: Entry) -> None:
        """A further step, once the one before it is done."""
        self._count(entry, 1)
        self._queue_of(entry).insert(entry)

    def take(self, queue: Queue, place: int) -> Entry:
        """Remove an entry from its queue and hand it out."""
        entry = queue.entries[place]
        assert entry is not None
        queue.take(place)
        self._count(entry, -1)
        return entry

    @property
    def busiest_bytes(self) -> int:
        """What the busiest broker has left, in or out."""
        return max(0, *self.bytes_in.values(), *self.bytes_out.values(), 0)

    @property
    def busiest_replicas(self) -> int:
        """How many replicas a broker has left at most, in or out."""
        return max(0, *self.replicas_in.values(), *self.replicas_out.values(), 0)

    @property
    def largest_bytes(self) -> int:
        """The largest entry that waits."""
        heads = (q.entries[0] for queues in self.queues.values() for q in queues.values())
        return max((head.bytes for head in heads if head is not None), default=0)

    def bytes_left(self, side: Side) -> int:
        """What that side has left."""
        return (self.bytes_out if side.out else self.bytes_in)[side.broker]

    def everything(self) -> Iterator[tuple[Queue, int, Entry]]:
        """All that waits, most urgent first, with its place."""
        for _, queues in sorted(self.queues.items()):
            for _, queue in sorted(queues.items()):
                for place, entry in enumerate(queue.entries):
                    if entry is not None:
                        yield queue, place, entry

    def compact(self) -> None:
        """Close holes, drop empty queues; to be called between stages."""
        for urgency, queues in list(self.queues.items()):
            for side, queue in list(queues.items()):
                queue.compact()
                if not queue.count:
                    del queues[side]
            if not queues:
                del self.queues[urgency]

    def _queue_of(self, entry: Entry) -> Queue:
        side, most = Side(entry.leader, True), self.bytes_out[entry.leader]
        for broker in entry.added:
            if self.bytes_in[broker] > most:
                side, most = Side(broker, False), self.bytes_in[broker]
        return self.queues[entry.urgency].setdefault(side, Queue())

    def _count(self, entry: Entry, sign: int) -> None:
        self.bytes += sign * entry.bytes
        self.replicas += sign * (len(entry.added) or 1)
        for broker in entry.added:
            self.bytes_in[broker] += sign * entry.size
            self.replicas_in[broker] += sign
        self.bytes_out[entry.leader] += sign * entry.bytes
        self.replicas_out[entry.leader] += sign * len(entry.added)


def _key(entry: Entry) -> tuple[int, int, int]:
    return -entry.bytes, entry.move, entry.step
