"""The steps that may go next, in the order in which stages should take them.

Each entry waits in the queue of its *bottleneck*. An entry touches several sides: in on each broker
that it adds, out on its leader. Its bottleneck is the side with most left to carry, in bytes or in
replicas, whichever is the larger part of the busiest side's. Queues hold their entries in
descending order of size and are read from both ends: large entries go first, small ones fill the
rest.
"""

import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from poolkeeper.model.columns.replica_lists import Ints, distinct, whole_numbers
from poolkeeper.model.plans import Urgency
from poolkeeper.planning.staging.limits import Entry


class Side(NamedTuple):
    """A broker and a direction, in or out."""

    broker: int
    out: bool


_HEAL = Urgency.HEAL.value
_EXACT_MAX = 2**62
"""Sums of bytes below this are exact in 64 bits."""


Key = tuple[int, int, int]
"""The bytes that the bottleneck carries, negative; the move, and the step of its path."""


class SideQueue:
    """Entries of one bottleneck and urgency, those first of which the bottleneck carries most.

    An entry that is taken leaves a hole.
    """

    def __init__(
        self, side: Side, keys: list[Key], entries: list[Entry | None], count: int
    ) -> None:
        """`keys`: ascending, those of the entries; `count`: of the entries that are no holes."""
        self._out = side.out
        self.keys = keys
        self.entries = entries
        self.count = count

    def clone(self) -> "SideQueue":
        """An independent copy of the queue, with the same entries."""
        return SideQueue(Side(0, self._out), self.keys.copy(), self.entries.copy(), self.count)

    def insert(self, entry: Entry) -> None:
        """Insert an entry in order."""
        key = self._key(entry)
        place = bisect.bisect(self.keys, key)
        self.keys.insert(place, key)
        self.entries.insert(place, entry)
        self.count += 1

    def _key(self, entry: Entry) -> Key:
        return -(entry.bytes if self._out else entry.size), entry.move, entry.step

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

    After `look_ahead` entries from one end that did not join, it stops there. An entry that does
    not fit early in a stage does not fit later.
    """

    def __init__(self, queue: SideQueue, look_ahead: int) -> None:
        self._queue = queue
        self._low = 0
        self._high = len(queue.entries)
        self._offers_low = self._offers_high = look_ahead

    @property
    def head(self) -> int:
        """The bytes of the next entry from the large end, or what is known of a taken one."""
        place = min(self._low, len(self._queue.keys) - 1)
        entry = self._queue.entries[place]
        return -self._queue.keys[place][0] if entry is None else entry.bytes

    def next(self, bytes_max: int, fits: Callable[[Entry], bool]) -> int | None:
        """The place of the next entry that fits: the largest of at most `bytes_max`, else smallest.

        Those that do not fit count against `look_ahead`.
        """
        entries, keys = self._queue.entries, self._queue.keys
        fitting = self._low
        if fitting < self._high and -keys[fitting][0] > bytes_max:
            fitting = bisect.bisect_left(keys, (-bytes_max, -1, -1), fitting)
        some = fitting < self._high
        self._low = fitting if some else self._low
        while some and self._low < self._high and self._offers_low:
            entry = entries[self._low]
            self._low += 1
            if entry is not None:
                self._offers_low -= 1
                if fits(entry):
                    return self._low - 1
        while self._low < self._high and self._offers_high:
            self._high -= 1
            entry = entries[self._high]
            if entry is not None:
                self._offers_high -= 1
                if fits(entry):
                    return self._high
        return None

    def taken(self, place: int) -> None:
        """The entry offered was taken, so it does not count against `look_ahead`."""
        if place < self._high:
            self._offers_low += 1
        else:
            self._offers_high += 1


class SideLoads:
    """Bytes and replicas left to carry, by broker that takes or gives them, and in all."""

    def __init__(self) -> None:
        self.bytes_in: Counter[int] = Counter()
        self.bytes_out: Counter[int] = Counter()
        self.replicas_in: Counter[int] = Counter()
        self.replicas_out: Counter[int] = Counter()
        self.bytes = 0
        self.replicas = 0

    def clone(self) -> "SideLoads":
        """An independent copy."""
        other = SideLoads()
        other.bytes_in, other.bytes_out = self.bytes_in.copy(), self.bytes_out.copy()
        other.replicas_in, other.replicas_out = self.replicas_in.copy(), self.replicas_out.copy()
        other.bytes, other.replicas = self.bytes, self.replicas
        return other

    @classmethod
    def of(cls, columns: "_EntryColumns") -> "SideLoads":
        """All that these entries carry."""
        loads = cls()
        loads.bytes_in, loads.replicas_in = _sums(columns.taker, columns.taken_bytes)
        loads.bytes_out, _ = _sums(columns.leader, columns.bytes)
        loads.replicas_out, _ = _sums(columns.leader, columns.replicas)
        loads.bytes = sum(columns.bytes.tolist())
        loads.replicas = int(np.maximum(columns.replicas, 1).sum())
        return loads

    def count(self, entries: Iterable[Entry], sign: int) -> None:
        """Count the entries in (`sign` 1), or out again (-1)."""
        bytes_in, replicas_in = self.bytes_in, self.replicas_in
        for entry in entries:
            added, leader = entry.added, entry.leader
            carried, size, replicas = sign * entry.bytes, sign * entry.size, sign * len(added)
            self.bytes += carried
            self.replicas += replicas or sign
            for broker in added:
                bytes_in[broker] += size
                replicas_in[broker] += sign
            self.bytes_out[leader] += carried
            self.replicas_out[leader] += replicas

    def bytes_by(self, *, out: bool) -> Mapping[int, int]:
        """Bytes by broker that gives (`out`) or takes them."""
        return self.bytes_out if out else self.bytes_in

    def bytes_of(self, side: Side) -> int:
        """The bytes that the side has left."""
        return (self.bytes_out if side.out else self.bytes_in)[side.broker]

    def replicas_of(self, side: Side) -> int:
        """The replicas that the side has left."""
        return (self.replicas_out if side.out else self.replicas_in)[side.broker]

    @property
    def busiest_bytes(self) -> int:
        """The bytes that the busiest broker has left, in or out."""
        return max(max(self.bytes_in.values(), default=0), max(self.bytes_out.values(), default=0))

    @property
    def busiest_replicas(self) -> int:
        """The most replicas that a broker has left, in or out."""
        taken, given = self.replicas_in.values(), self.replicas_out.values()
        return max(max(taken, default=0), max(given, default=0))


class Backlog:
    """All entries that wait, by urgency and bottleneck, and what every broker has left."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        waiting = list(entries)
        columns = _EntryColumns.of(waiting)
        self.all = SideLoads.of(columns)
        self.healing = SideLoads()
        self.healing.count((entry for entry in waiting if entry.urgency == _HEAL), 1)
        self._bytes_unit = self.all.busiest_bytes or 1
        self._replicas_unit = self.all.busiest_replicas or 1
        self.queues: dict[int, dict[Side, SideQueue]] = defaultdict(dict)
        if waiting:
            self._queue(waiting, columns)

    def _queue(self, waiting: Sequence[Entry], columns: "_EntryColumns") -> None:
        """Put the entries in the queues of their bottlenecks, the first entry's queue first."""
        ids = distinct(np.concatenate([columns.leader, columns.taker]))
        given = np.array([self._part(Side(broker, True))[1] for broker in ids.tolist()])
        taken = np.array([self._part(Side(broker, False))[1] for broker in ids.tolist()])
        leader = np.searchsorted(ids, columns.leader)
        taker = np.searchsorted(ids, columns.taker)
        # The side's number: that of its broker among all takers, or after all of these.
        side, most = leader + len(ids), given[leader]
        first = np.cumsum(columns.replicas) - columns.replicas
        for slot in range(columns.replicas.max()):
            rows = np.flatnonzero(columns.replicas > slot)
            other = taker[first[rows] + slot]
            more = taken[other] > most[rows]
            side[rows[more]], most[rows[more]] = other[more], taken[other[more]]
        carried = np.where(side >= len(ids), columns.bytes, columns.size)
        group = columns.urgency * 2 * len(ids) + side
        order = np.lexsort((columns.step, columns.move, -carried, group))
        names, starts, counts = np.unique(group[order], return_index=True, return_counts=True)
        keys = list(
            zip(
                *(each[order].tolist() for each in (-carried, columns.move, columns.step)),
                strict=True,
            )
        )
        placed: list[Entry | None] = [waiting[row] for row in order.tolist()]
        seen = np.minimum.reduceat(order, starts)
        for number in np.argsort(seen).tolist():
            urgency, found = divmod(int(names[number]), 2 * len(ids))
            place = Side(int(ids[found % len(ids)]), found >= len(ids))
            begin, end = int(starts[number]), int(starts[number] + counts[number])
            queue = SideQueue(place, keys[begin:end], placed[begin:end], end - begin)
            self.queues[urgency][place] = queue

    def clone(self) -> "Backlog":
        """An independent copy, to try a stage with."""
        other = Backlog(())
        other.all, other.healing = self.all.clone(), self.healing.clone()
        other._bytes_unit, other._replicas_unit = self._bytes_unit, self._replicas_unit
        for urgency, queues in self.queues.items():
            other.queues[urgency] = {side: queue.clone() for side, queue in queues.items()}
        return other

    def add(self, entry: Entry) -> None:
        """Add an entry: a further step, once the one before it is done."""
        self._count([entry], 1)
        side = self._bottleneck(entry)
        self.queues[entry.urgency].setdefault(side, SideQueue(side, [], [], 0)).insert(entry)

    def take(self, queue: SideQueue, place: int) -> Entry:
        """Remove an entry from its queue and return it; `settle` counts it out of the loads."""
        entry = queue.entries[place]
        assert entry is not None
        queue.take(place)
        return entry

    def settle(self, taken: Sequence[Entry]) -> None:
        """Count entries that were taken out of what is left to carry."""
        self._count(taken, -1)

    def everything(self) -> Iterator[tuple[SideQueue, int, Entry]]:
        """All entries that wait, the most urgent first, each with its place."""
        for _, queues in sorted(self.queues.items()):
            for _, queue in sorted(queues.items()):
                for place, entry in enumerate(queue.entries):
                    if entry is not None:
                        yield queue, place, entry

    def compact(self) -> None:
        """Close holes and drop empty queues; to be called between stages."""
        for urgency, queues in list(self.queues.items()):
            for side, queue in list(queues.items()):
                queue.compact()
                if not queue.count:
                    del queues[side]
            if not queues:
                del self.queues[urgency]

    def _bottleneck(self, entry: Entry) -> Side:
        side, most = self._part(Side(entry.leader, True))
        for broker in entry.added:
            other, part = self._part(Side(broker, False))
            if part > most:
                side, most = other, part
        return side

    def _part(self, side: Side) -> tuple[Side, float]:
        """What the side has left, relative to what the busiest side had at first."""
        return side, max(
            self.all.bytes_of(side) / self._bytes_unit,
            self.all.replicas_of(side) / self._replicas_unit,
        )

    def _count(self, entries: Sequence[Entry], sign: int) -> None:
        self.all.count(entries, sign)
        if _HEAL in self.queues:
            self.healing.count((entry for entry in entries if entry.urgency == _HEAL), sign)


class _EntryColumns(NamedTuple):
    """Entries by column; `taker` and `taken_bytes` have a row for each replica that is added."""

    urgency: Ints
    bytes: Ints
    move: Ints
    step: Ints
    leader: Ints
    size: Ints
    replicas: Ints
    taker: Ints
    taken_bytes: Ints

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> "_EntryColumns":
        """The columns of these entries."""
        values = tuple(zip(*entries, strict=True)) or ((),) * len(Entry._fields)
        named = dict(zip(Entry._fields, values, strict=True))
        added = named["added"]
        size = whole_numbers(named["size"])
        count = whole_numbers(list(map(len, added)))
        taker = whole_numbers(list(chain.from_iterable(added)))
        names = ("urgency", "bytes", "move", "step", "leader")
        urgency, carried, move, step, leader = (whole_numbers(named[name]) for name in names)
        by_replica = taker, np.repeat(size, count)
        return cls(urgency, carried, move, step, leader, size, count, *by_replica)


def _sums(brokers: Ints, amounts: Ints) -> tuple[Counter[int], Counter[int]]:
    """The sum of the amounts by broker, and how many they are."""
    ids, row = np.unique(brokers, return_inverse=True)
    exact = float(amounts.sum(dtype=float)) < _EXACT_MAX
    totals = np.zeros(len(ids), dtype=np.int64 if exact else object)
    np.add.at(totals, row, amounts if exact else amounts.astype(object))
    counts = np.bincount(row, minlength=len(ids))
    keys = ids.tolist()
    return (
        Counter(dict(zip(keys, totals.tolist(), strict=True))),
        Counter(dict(zip(keys, counts.tolist(), strict=True))),
    )
