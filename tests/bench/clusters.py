"""Seeded clusters that look like real ones, for benchmarks of the planner.

About 2,000 topics with Zipf partition counts and Pareto sizes, RF 3 with 8 % of RF 2, six racks of
ten brokers of which the last twelve joined late and hold about half, 1 % of replicas moved by hand,
3 % of partitions led by another than their preferred replica.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from poolkeeper.model.specs import (
    Capacity,
    Desired,
    Goal,
    GoalKind,
    KafkaClusterSpec,
    ResourcePoolSpec,
    UnmanagedTopics,
    ZooKeeperSpec,
)
from poolkeeper.model.topology import Broker, Cluster, Partition, Topic

RACKS = 6
LATE = 12
EVEN = (Goal(GoalKind.REPLICAS, count=1), Goal(GoalKind.LEADERS, count=1))


def cluster(partitions: int, brokers: int = 60, joined: int = 0, seed: int = 1) -> Cluster:
    """A cluster of that many partitions; brokers above `brokers` (`joined` of them) are empty."""
    dice = np.random.default_rng(seed)
    counts = _partition_counts(partitions, min(2000, max(1, partitions // 10)))
    lists = _lists(dice, counts, brokers)
    sizes = ((dice.pareto(1.2, partitions) + 0.05) * 40 * 1024**2).astype(np.int64).tolist()
    strays = dice.random(partitions) < 0.03
    topics: dict[str, Topic] = {}
    first = 0
    for number, count in enumerate(counts.tolist()):
        name = f"topic-{number:05d}"
        topics[name] = Topic(
            name,
            tuple(
                Partition(
                    partition,
                    lists[row],
                    leader=lists[row][1 if strays[row] else 0],
                    isr=lists[row],
                    size_bytes=sizes[row],
                )
                for partition, row in enumerate(range(first, first + count))
            ),
        )
        first += count
    live = {b: Broker(b, rack="abcdef"[b % RACKS]) for b in range(1, brokers + joined + 1)}
    return Cluster("bench", live, topics, id="bench")


def desired(brokers: int, goals: tuple[Goal, ...] = EVEN, **pool: object) -> Desired:
    """One pool of all brokers, in which every topic lives."""
    spec = KafkaClusterSpec(
        "bench",
        ZooKeeperSpec("zk:2181"),
        unmanaged_topics=UnmanagedTopics.MANAGE,
        default_pool="all",
    )
    whole = ResourcePoolSpec("all", "bench", tuple(range(1, brokers + 1)), goals=goals)
    return Desired(spec, (replace(whole, **pool),))  # type: ignore[arg-type]


def weights(brokers: int) -> Mapping[int, Capacity]:
    """Every third broker counts twice."""
    return {b: Capacity(weight=2.0 if b % 3 == 0 else 1.0) for b in range(1, brokers + 1)}


def fullest(cluster: Cluster) -> int:
    """The broker that holds most replicas."""
    held = np.bincount(
        [b for t in cluster.topics.values() for p in t.partitions for b in p.replicas]
    )
    return int(held.argmax())


def _partition_counts(partitions: int, topics: int) -> np.ndarray:
    share = 1 / np.arange(1, topics + 1) ** 0.9
    counts = np.maximum(1, np.floor(share / share.sum() * partitions)).astype(np.int64)
    counts[0] += partitions - counts.sum()
    return counts


def _lists(dice: np.random.Generator, counts: np.ndarray, brokers: int) -> list[tuple[int, ...]]:
    """Racks at random without repetition, in a rack the brokers by how full they are."""
    partitions = int(counts.sum())
    racks = np.argsort(dice.random((partitions, RACKS)), axis=1)[:, :3]
    chosen = np.zeros_like(racks)
    for rack in range(RACKS):
        members = np.array([b for b in range(1, brokers + 1) if b % RACKS == rack])
        odds = np.where(members > brokers - LATE, 0.5, 1.0)
        where = racks == rack
        chosen[where] = dice.choice(members, size=int(where.sum()), p=odds / odds.sum())
    # Moved by hand: within the rack, to one broker that somebody liked.
    by_hand = dice.random((partitions, 3)) < 0.01
    chosen = np.where(by_hand, (chosen % RACKS) + RACKS, chosen)
    two = np.repeat(dice.random(len(counts)) < 0.08, counts)
    return [
        tuple(row[:2]) if short else tuple(row)
        for row, short in zip(chosen.tolist(), two.tolist(), strict=True)
    ]
