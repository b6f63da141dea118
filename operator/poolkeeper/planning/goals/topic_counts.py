"""How many replicas of each topic every broker holds, and how many it should hold.

A broker's share of one topic is the topic's replicas times the broker's share of all replicas
(without load that cannot move). It is at most the topic's number of partitions.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Goal
from poolkeeper.planning.constraints.bands import Band, band
from poolkeeper.planning.problem.arrays import Bools, Floats, Ints
from poolkeeper.planning.problem.pool_problem import PoolProblem


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

    def outside(self) -> int:
        """Replicas above the bands plus replicas missing below them."""
        above = np.maximum(self.replicas - self.high, 0).sum()
        return int(above + np.maximum(self.low - self.replicas, 0).sum())

    def excess(self, problem: PoolProblem, lists: Ints) -> int:
        """The same as `outside`, for other lists."""
        return self.counted_in(problem, lists).outside()

    def imbalance(self, problem: PoolProblem, lists: Ints) -> float:
        """The part of all replicas that lies outside its topic's band."""
        return self.excess(problem, lists) / max(int((lists >= 0).sum()), 1)


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
    mine = np.where(problem.eligible, replicas, 0).sum(axis=1)
    part = np.where(problem.eligible, share, 0.0)
    part /= max(part.sum(), 1e-9)
    shares = np.minimum(mine[:, None] * part[None, :], partitions[:, None])
    flat = shares.ravel()
    wide = _counts(problem, replicas, band(flat, goal), partitions)
    return wide, _counts(problem, replicas.copy(), band(flat, goal, half=True), partitions)


def _counts(problem: PoolProblem, replicas: Ints, target: Band, partitions: Ints) -> TopicCounts:
    low = np.minimum(target.low.reshape(replicas.shape), partitions[:, None])
    high = target.high.reshape(replicas.shape)
    # Brokers that may be given no replicas have a share of 0.
    huge = np.iinfo(np.int32).max
    return TopicCounts(
        replicas, np.where(problem.eligible, low, 0), np.where(problem.eligible, high, huge)
    )
