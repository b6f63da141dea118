"""How many replicas of each topic every broker holds, and how many it should hold.

A broker's share of one topic is the topic's replicas times the broker's share of all replicas
(without load that cannot move). It is at most the topic's number of partitions.

Tables of topics and brokers have millions of cells where topics are many, and their memory costs
more than what is computed of them. So topics of as many partitions and replicas share one
computation of their bands, and what is summed up is summed topic by topic, many at a time.
"""

from collections.abc import Iterator

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Goal
from poolkeeper.planning.constraints.bands import Band, band
from poolkeeper.planning.problem.arrays import Bools, Floats, Ints
from poolkeeper.planning.problem.grouping import number_groups
from poolkeeper.planning.problem.pool_problem import PoolProblem

_CELLS = 2**18
"""Cells of a table of topics and brokers that are looked at together."""


@frozen
class TopicCounts:
    """Replicas by (topic, broker), which `move` updates, and the band of each."""

    replicas: Ints
    low: Ints
    high: Ints

    def may_go(self, topic: Ints, sources: Ints, owner: Ints, targets: Ints) -> Bools:
        """By target and replica, whether it may go there without leaving a band.

        `owner`: by replica, the place in `sources` of its broker.
        """
        gives: Bools = self.replicas[:, sources] > self.low[:, sources]
        takes: Bools = self.replicas[:, targets] < self.high[:, targets]
        leaves = gives[:, 0][topic] if len(sources) == 1 else gives[topic, owner]
        may: Bools = takes.T.take(topic, axis=1) & leaves
        return may

    def move(self, topic: int, source: int, target: int) -> None:
        """Count a replica on another broker."""
        self.replicas[topic, source] -= 1
        self.replicas[topic, target] += 1

    def copy(self) -> "TopicCounts":
        """An independent copy."""
        return TopicCounts(self.replicas.copy(), self.low, self.high)

    def counted_in(self, problem: PoolProblem, lists: Ints) -> "TopicCounts":
        """The same bands with the counts of other lists."""
        return TopicCounts(replicas_by_topic(problem, lists), self.low, self.high)

    def binds(self, problem: PoolProblem) -> bool:
        """Whether a broker could leave the band of a topic, whatever moves."""
        most = np.bincount(problem.topic, minlength=len(problem.topics))[:, None]
        return any(
            bool((self.low[some] > 0).any() or (self.high[some] < most[some]).any())
            for some in blocks(self.low)
        )

    def outside(self) -> int:
        """Replicas above the bands plus replicas missing below them."""
        return sum(self.sides_outside())

    def sides_outside(self) -> tuple[int, int]:
        """Replicas above the bands, and replicas missing below them."""
        above = below = 0
        for some in blocks(self.replicas):
            held = self.replicas[some]
            above += int(np.maximum(held - self.high[some], 0).sum())
            below += int(np.maximum(self.low[some] - held, 0).sum())
        return above, below

    def excess(self, problem: PoolProblem, lists: Ints) -> int:
        """The same as `outside`, for other lists."""
        return self.counted_in(problem, lists).outside()

    def imbalance(self, problem: PoolProblem, lists: Ints) -> float:
        """The part of all replicas that lies outside its topic's band."""
        return self.excess(problem, lists) / max(int((lists >= 0).sum()), 1)


def blocks(table: Ints) -> Iterator[slice]:
    """Parts of the rows of a table, of not too many cells each."""
    rows = max(1, _CELLS // max(1, table.shape[1]))
    for begin in range(0, len(table), rows):
        yield slice(begin, begin + rows)


def replicas_by_topic(problem: PoolProblem, lists: Ints) -> Ints:
    """Replicas by (topic, broker)."""
    topics, size = len(problem.topics), len(problem.brokers)
    at = np.flatnonzero(lists >= 0)
    place = problem.topic[at // lists.shape[1]] * size + lists.ravel()[at]
    replicas: Ints = np.bincount(place, minlength=topics * size)
    return replicas.reshape(topics, size)


def topic_bands(
    problem: PoolProblem, lists: Ints, share: Floats, goal: Goal
) -> tuple[TopicCounts, TopicCounts]:
    """The counts with the goal's band, and with half of it; only eligible brokers have a band.

    `share`: by broker, how many replicas of all topics it should hold.
    """
    replicas = replicas_by_topic(problem, lists)
    partitions = np.bincount(problem.topic, minlength=len(problem.topics))
    mine = replicas @ problem.eligible.astype(np.int64)
    kind, first = number_groups([mine, partitions])
    mine, partitions = mine[first, None], partitions[first, None]
    part = np.where(problem.eligible, share, 0.0)
    part /= max(part.sum(), 1e-9)
    shares = np.minimum(mine * part, partitions).ravel()
    wide, narrow = (
        _bounds(problem, band(shares, goal, half=half), partitions) for half in (False, True)
    )
    bounds = [each[kind] for each in wide]
    half_bounds = bounds
    if any((one != other).any() for one, other in zip(wide, narrow, strict=True)):
        half_bounds = [each[kind] for each in narrow]
    return TopicCounts(replicas, *bounds), TopicCounts(replicas.copy(), *half_bounds)


def _bounds(problem: PoolProblem, target: Band, partitions: Ints) -> tuple[Ints, Ints]:
    """The lowest and the highest counts by (kind, broker); `partitions`: by kind."""
    shape = len(partitions), len(problem.brokers)
    low, high = np.minimum(target.low.reshape(shape), partitions), target.high.reshape(shape)
    # Brokers that may be given no replicas have a share of 0.
    huge = np.iinfo(np.int32).max
    return np.where(problem.eligible, low, 0), np.where(problem.eligible, high, huge)
