"""The rack law: how even the replicas of one partition can be, and how far a layout is from that.

Let rack r have room for l_r replicas of a partition, one on each of its eligible brokers.
Let d_r of its replicas be immovable in r, on dead brokers for example: they stay whatever happens.
With f replicas, the water level L is the smallest with

    sum over r of max(d_r, min(l_r, L)) >= f

and an even spread holds between `low` (the same with L - 1) and `high` (with L) in every rack. The
excess of a partition is the number of replicas that must move to get there:

    max(sum of what is above high, sum of what is missing below low)

Under `rackPolicy: AsFound` what is uneven stays so: the bounds of a partition are widened until
what it keeps is within them. So no replica leaves for the racks alone, and none goes to a rack that
has more than its even part already.

Racks a, b, c with two brokers each: RF 3 → L 1, one in each. RF 4 → L 2, so 2 1 1 is even and
2 2 0 has an excess of 1. RF 2 → at most one in each rack.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.model.columns.wide_lists import repeats
from poolkeeper.planning.problem.arrays import NONE, Bools, Ints
from poolkeeper.planning.problem.pool_problem import PoolProblem


@frozen
class Spread:
    """The fewest and the most replicas of an even spread, by rack number.

    Counts name the racks that hold replicas: a list has few of them where there are hundreds.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]

    def excess(self, counts: Counter[int]) -> int:
        """How many replicas must move until the counts are even."""
        return max(self.above(counts), self.below(counts))

    def above(self, counts: Counter[int]) -> int:
        """Replicas above the high bounds."""
        return sum([n - self.high[rack] for rack, n in counts.items() if n > self.high[rack]])

    def below(self, counts: Counter[int]) -> int:
        """Replicas missing below the low bounds."""
        return sum(self.low) - sum([min(n, self.low[rack]) for rack, n in counts.items()])

    @property
    def strict(self) -> bool:
        """Whether no rack may hold two replicas."""
        return max(self.high, default=0) <= 1


@cache
def even_spread(replicas: int, capacity: tuple[int, ...], immovable: tuple[int, ...]) -> Spread:
    """The even spread of that many replicas. RF 4 with capacity 2 2 2: low 1 1 1, high 2 2 2."""

    def fill(level: int) -> tuple[int, ...]:
        return tuple(max(d, min(most, level)) for most, d in zip(capacity, immovable, strict=True))

    level = 0
    while sum(fill(level)) < replicas and level < replicas:
        level += 1
    low, high = fill(max(level - 1, 0)), fill(level)
    # What the other racks cannot hold must be here.
    left = replicas - sum(high)
    return Spread(tuple(max(a, left + b) for a, b in zip(low, high, strict=True)), high)


def as_found(even: Spread, kept: Counter[int], missing: int) -> Spread:
    """The even spread, widened by what `kept` replicas violate and `missing` ones cannot mend.

    Even is 1 1 1, kept are 2 0 0: at most 2 1 1, so that a third replica goes elsewhere.
    """
    high = tuple([max(most, kept[rack]) for rack, most in enumerate(even.high)])
    low, lacking = list(even.low), even.below(kept) - missing
    for rack in reversed(range(len(low))):
        given = min(max(lacking, 0), max(low[rack] - kept[rack], 0))
        low[rack] -= given
        lacking -= given
    return Spread(tuple(low), high)


def rack_capacity(problem: PoolProblem, without: Sequence[int] = ()) -> tuple[int, ...]:
    """Eligible brokers by rack number, those in `without` (indices) not counted."""
    usable = problem.eligible.copy()
    usable[list(without)] = False
    counts = np.bincount(problem.brokers.rack[usable], minlength=len(problem.brokers.rack_names))
    return tuple(counts.tolist())


def rack_counts(problem: PoolProblem, brokers: Sequence[int]) -> Counter[int]:
    """Replicas by rack number of one list of broker indices."""
    return Counter(problem.brokers.rack[list(brokers)].tolist())


def crowded_rows(problem: PoolProblem, lists: Ints) -> Ints:
    """Rows that hold two replicas in one rack, as indices."""
    racks = np.where(lists >= 0, problem.brokers.rack[lists], NONE)
    return np.flatnonzero(repeats(racks, NONE))


def uneven_rows(problem: PoolProblem, lists: Ints) -> Bools:
    """By row, whether these lists are further from even than eligible brokers make them be."""
    there = lists >= 0
    counts = np.zeros((len(lists), len(problem.brokers.rack_names)), dtype=np.int64)
    for slot in range(lists.shape[1]):
        rows = np.flatnonzero(there[:, slot])
        np.add.at(counts, (rows, problem.brokers.rack[lists[rows, slot]]), 1)
    capacity = rack_capacity(problem)
    nothing = (0,) * len(capacity)
    factors = there.sum(axis=1)
    uneven = np.zeros(len(lists), dtype=bool)
    for factor in distinct(factors):
        same = factors == factor
        even = even_spread(int(factor), capacity, nothing)
        above = np.maximum(counts[same] - np.array(even.high), 0).sum(axis=1)
        below = np.maximum(np.array(even.low) - counts[same], 0).sum(axis=1)
        uneven[same] = np.maximum(above, below) > 0
    return uneven
