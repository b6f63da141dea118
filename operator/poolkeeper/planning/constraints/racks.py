"""The rack law: how even the replicas of one partition can be, and how far a layout is from that.

Let rack r have room for l_r replicas of a partition, one on each of its eligible brokers.
Let d_r of its replicas be immovable in r, on dead brokers for example: they stay whatever happens.
With f replicas, the water level L is the smallest with

    sum over r of max(d_r, min(l_r, L)) >= f

and an even spread holds between `low` (the same with L - 1) and `high` (with L) in every rack. The
excess of a partition is the number of replicas that must move to get there:

    max(sum of what is above high, sum of what is missing below low)

Racks a, b, c with two brokers each: RF 3 → L 1, one in each. RF 4 → L 2, so 2 1 1 is even and
2 2 0 has an excess of 1. RF 2 → at most one in each rack.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from poolkeeper.planning.problem.arrays import NONE, Ints
from poolkeeper.planning.problem.pool_problem import PoolProblem


@dataclass(frozen=True, slots=True)
class Spread:
    """The fewest and the most replicas of an even spread, by rack number."""

    low: tuple[int, ...]
    high: tuple[int, ...]

    def excess(self, counts: Sequence[int]) -> int:
        """How many replicas must move until the counts are even."""
        return max(self.above(counts), self.below(counts))

    def above(self, counts: Sequence[int]) -> int:
        """Replicas above the high bounds."""
        return sum(max(0, n - high) for n, high in zip(counts, self.high, strict=True))

    def below(self, counts: Sequence[int]) -> int:
        """Replicas missing below the low bounds."""
        return sum(max(0, low - n) for n, low in zip(counts, self.low, strict=True))

    @property
    def strict(self) -> bool:
        """Whether no rack may hold two replicas."""
        return max(self.high, default=0) <= 1


@cache
def spread(replicas: int, capacity: tuple[int, ...], immovable: tuple[int, ...]) -> Spread:
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


def rack_capacity(problem: PoolProblem, without: Sequence[int] = ()) -> tuple[int, ...]:
    """Eligible brokers by rack number, those in `without` (indices) not counted."""
    usable = problem.eligible.copy()
    usable[list(without)] = False
    return tuple(
        np.bincount(problem.brokers.rack[usable], minlength=len(problem.brokers.rack_names))
    )


def rack_counts(problem: PoolProblem, brokers: Sequence[int]) -> list[int]:
    """Replicas by rack number of one list of broker indices."""
    counts = [0] * len(problem.brokers.rack_names)
    for broker in brokers:
        counts[problem.brokers.rack[broker]] += 1
    return counts


def crowded_rows(problem: PoolProblem, lists: Ints) -> Ints:
    """Rows that hold two replicas in one rack, as indices."""
    racks = np.where(lists >= 0, problem.brokers.rack[lists], NONE)
    twice = np.zeros(len(lists), dtype=bool)
    for second in range(1, lists.shape[1]):
        for first in range(second):
            twice |= (racks[:, first] == racks[:, second]) & (racks[:, first] >= 0)
    return np.flatnonzero(twice)
