"""A lower bound on the length of any sequence of stages, in bytes at one rate for every broker.

A *side* is a broker and a direction, in or out. A stage lasts as long as its busiest side needs. So
the makespan is at least the sum, over the stages, of the load of their busiest side.

0. *Above the limit*: an entry with more bytes than a stage may have goes alone, and its leader
   needs as long as its bytes last. The other bounds hold for the stages of all other entries; the
   two add up.
1. *The busiest broker*: a side with T bytes to carry carries them in some stages, each of which
   lasts at least as long as the part that it carries there. So the makespan is at least the largest
   T, whatever the stages are.
2. *Barriers of one side*: take the k largest entries of one side, G bytes together, and any k
   stages that hold them all. These stages last G together, as each holds its share of the side's G.
   In k stages another side of T bytes carries no more than its k·n largest replicas, P bytes, where
   n is the limit per broker. All sides of one direction together carry no more than k times the
   limit of bytes of a stage, of which G are that side's. The stages that are left carry the rest:
   at least T - P of the other side, and at least the level L to which all sides of the direction
   can be brought down by taking G from the one, and what the limit leaves from the fullest of all.
   So the makespan is at least G + max(T - P, L). With k = 0 this is bound 1.
3. *Barriers of all sides*: `barrier_cost`, for the m busiest sides of a direction, for every m.
4. *Replicas in flight*: a stage has at most N replicas in all, and lasts at least as long as each
   entry's leader gives. Sort all replicas by that, the longest first: each of the N longest may be
   in the first stage, the next N in the second. So the makespan is at least that of every N-th of
   them together, counted from the first. An entry of more replicas goes alone, and counts as N.

An entry with more replicas than the limit per broker has the side to itself that they are above it
on. So the limit counts as no less than the most replicas of an entry.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists
from poolkeeper.planning.staging.barrier_cost import LARGE_MAX, LargeEntry, barrier, longest_bytes

_STAGES_MAX = 64
"""The largest k that is looked at for one side."""

_Side = tuple[int, bool]
"""A broker, and whether out."""


class Copy(NamedTuple):
    """An entry's bytes: `size` to each of `added`, from `leader`."""

    leader: int
    added: tuple[int, ...]
    size: int

    @property
    def bytes(self) -> int:
        """The bytes of all its replicas."""
        return self.size * len(self.added)

    def bytes_of(self, *, out: bool) -> Mapping[int, int]:
        """Bytes by broker that gives (`out`) or takes them."""
        return {self.leader: self.bytes} if out else dict.fromkeys(self.added, self.size)


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """Such copies by column, a row each."""

    leader: Ints
    added: ReplicaLists
    size: Ints

    @property
    def bytes(self) -> Ints:
        """By row, the bytes of all its replicas."""
        return self.size * self.added.lengths

    def take(self, rows: Ints) -> "Copies":
        """The copies of these rows."""
        return Copies(self.leader[rows], self.added.take(rows), self.size[rows])

    def first(self, count: int) -> list[Copy]:
        """The first copies, as objects."""
        some = self.take(np.arange(min(count, len(self.size))))
        columns = some.leader.tolist(), some.added.tuples(), some.size.tolist()
        return list(map(Copy, *columns))


class _SideLoad(NamedTuple):
    """What one side must carry: bytes of entries, and of single replicas, the largest first."""

    entries: list[int]
    replicas: list[int]


def shortest_bytes(copies: Copies, *, in_flight_max: int, replicas_max: int, bytes_max: int) -> int:
    """The bound on the makespan.

    `in_flight_max`: the limit of replicas of a stage, N.
    `replicas_max`: the limit per side and stage.
    `bytes_max`: the limit of a stage, in which each copy counts once.
    """
    found = copies.take(np.flatnonzero(copies.added.lengths))
    found = found.take(np.argsort(-found.bytes, kind="stable"))
    fits = found.bytes <= bytes_max
    alone: int = sum(found.bytes[~fits].tolist())
    others = found.take(np.flatnonzero(fits))
    most = max(replicas_max, int(others.added.lengths.max(initial=0)))
    sides = _sides(others)
    best = max(_by_one_side(sides, most, bytes_max), _by_replicas(others, in_flight_max))
    for out in (False, True):
        some = {broker: load for (broker, outwards), load in sides.items() if outwards == out}
        largest = [(copy, copy.bytes_of(out=out)) for copy in others.first(LARGE_MAX)]
        best = max(best, _by_all_sides(largest, some, most, bytes_max, best))
    return alone + best


def _by_replicas(copies: Copies, in_flight_max: int) -> int:
    """Bound 4; the copies are those of most bytes first."""
    longest = np.repeat(copies.bytes, np.minimum(copies.added.lengths, in_flight_max))
    return sum(longest[::in_flight_max].tolist())


def busiest_bytes(copies: Copies) -> int:
    """The bytes of the busiest side: the bound that needs no limits."""
    sides = _sides(copies)
    return max((sum(load.replicas) for load in sides.values()), default=0)


def _sides(copies: Copies) -> dict[_Side, _SideLoad]:
    """The loads of all sides."""
    count, leader, size = copies.added.lengths, copies.leader, copies.size
    each = np.repeat(size, count)
    taken = _descending(copies.added.ids, each)
    given = _descending(leader, size * count)
    replicas = _descending(np.repeat(leader, count), each)
    sides = {(broker, False): _SideLoad(found, found) for broker, found in taken.items()}
    return sides | {
        (broker, True): _SideLoad(found, replicas.get(broker, []))
        for broker, found in given.items()
    }


def _descending(brokers: Ints, sizes: Ints) -> dict[int, list[int]]:
    """The sizes by broker, the largest first."""
    order = np.lexsort((-sizes, brokers))
    ids, sizes = brokers[order], sizes[order]
    begins = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(ids)]
    return {
        int(ids[begin]): sizes[begin:end].tolist() for begin, end in pairwise(begins) if begin < end
    }


def _by_one_side(sides: Mapping[_Side, _SideLoad], replicas_max: int, bytes_max: int) -> int:
    """Bounds 1 and 2."""
    totals = {side: sum(load.replicas) for side, load in sides.items()}
    best = max(totals.values(), default=0)
    carried = {side: [0, *accumulate(load.replicas)] for side, load in sides.items()}
    for out in (False, True):
        some = {side: load for side, load in sides.items() if side[1] == out}
        for stages, (together, longest) in enumerate(_longest(some), 1):
            for side, total in totals.items():
                most = carried[side]
                best = max(best, together + total - most[min(stages * replicas_max, len(most) - 1)])
            loaded = [totals[side] - together * (side == longest) for side in some]
            best = max(best, together + level_bytes(loaded, stages * bytes_max - together))
    return best


def level_bytes(loaded: Iterable[int], taken_bytes: int) -> int:
    """The least level to which loads can be brought by taking that many bytes from them in all."""
    left = taken_bytes
    for count, (size, below) in enumerate(pairwise([*sorted(loaded, reverse=True), 0]), 1):
        if count * (size - below) >= left:
            return size - left // count
        left -= count * (size - below)
    return 0


def _longest(sides: Mapping[_Side, _SideLoad]) -> list[tuple[int, _Side]]:
    """By k, the most bytes that the k largest entries of any one side have, and that side."""
    most: list[tuple[int, _Side]] = []
    for side, load in sorted(sides.items()):
        for k, together in enumerate(accumulate(load.entries[:_STAGES_MAX])):
            if k == len(most):
                most.append((0, side))
            if together > most[k][0]:
                most[k] = together, side
    return most


def _by_all_sides(
    largest: Sequence[tuple[Copy, Mapping[int, int]]],
    loads: Mapping[int, _SideLoad],
    replicas_max: int,
    bytes_max: int,
    enough: int,
) -> int:
    """Bound 3 for every number of sides of one direction; `loads` by their brokers.

    `largest`: the largest entries first, with their bytes by broker in that direction. The bound is
    at most the sides' average load and the least duration of the stages of these together. The
    loop ends where these are below `enough`.
    """
    longest = longest_bytes((copy.bytes for copy, _ in largest), bytes_max)
    best = total = 0
    outside = [copy.bytes for copy, _ in largest]
    carried = [0] * (len(largest) + 1)
    loaded = ((sum(load.replicas), broker) for broker, load in loads.items())
    for count, (size, broker) in enumerate(sorted(loaded, key=lambda one: (-one[0], one[1])), 1):
        total += size
        if total + count * longest <= max(best, enough) * count:
            break  # the average decreases with more sides
        most = [0, *accumulate(loads[broker].replicas)]
        for k in range(len(carried)):
            carried[k] += most[min(k * replicas_max, len(most) - 1)]
        outside = [
            left - held.get(broker, 0) for left, (_, held) in zip(outside, largest, strict=True)
        ]
        large = (
            LargeEntry(copy.bytes, left) for (copy, _), left in zip(largest, outside, strict=True)
        )
        found = barrier(large, total, count, bytes_max, carried.__getitem__)
        best = max(best, found.shortest_bytes)
    return best
