"""Seeded clusters that look like real ones, for benchmarks of the planner.

About 2,000 topics with Zipf partition counts and Pareto sizes (and rates that follow them loosely),
RF 3 with 8 % of RF 2, racks of ten brokers of which the last twelve joined late and hold about
half, 1 % of replicas moved by hand, 3 % of partitions led by another than their preferred replica.
Weights 1 and 2, two pools with strays, more racks and disks on request.

Sizes are 40 MiB x (Pareto(1.2) + 0.05): half of all partitions are below 33 MiB, the mean is 202
MiB, one in a hundred is above 1.8 GiB, and of 30,000 the largest would be about 260 GiB. That is as
much as a broker should hold in all, which nobody runs: retention bounds partitions, and a replica
must be copied whole to be moved. So sizes are capped at 20 GiB, a hundred times the mean, and in
small clusters at a tenth of what a broker holds; `capped=False` leaves them as they are drawn.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import (
    Capacity,
    Goal,
    GoalKind,
    KafkaClusterSpec,
    ResourcePoolSpec,
    TopicSpec,
    UnmanagedTopics,
    ZooKeeperSpec,
)
from poolkeeper.model.topology import Broker, Cluster, Partition, Topic

RACKS = 6
LATE = 12
MIB = 1024**2
SIZE_MEAN = (1 / 0.2 + 0.05) * 40 * MIB
REPLICAS_MEAN = 2.92
LARGEST = 20 * 1024 * MIB
COUNTS = (Goal(GoalKind.REPLICAS, count=1), Goal(GoalKind.LEADERS, count=1))
DISKS = (*COUNTS, Goal(GoalKind.BYTES, percent=18.0))


def cluster(
    partitions: int,
    brokers: int = 60,
    joined: int = 0,
    seed: int = 1,
    racks: int = RACKS,
    *,
    capped: bool = True,
    largest_topic: int | None = None,
) -> Cluster:
    """A cluster of that many partitions; brokers above `brokers` (`joined` of them) are empty.

    `largest_topic`: the most partitions of a topic, if not a tenth of all or so.
    """
    dice = np.random.default_rng(seed)
    counts = _partition_counts(partitions, min(2000, max(1, partitions // 10)), largest_topic)
    lists = _lists(dice, counts, brokers, racks)
    sizes = (dice.pareto(1.2, partitions) + 0.05) * 40 * MIB
    if capped:
        sizes = np.minimum(sizes, _largest(partitions, brokers + joined))
    strays = dice.random(partitions) < 0.03
    # Data is kept for between an hour and a day.
    rates = sizes / (3600 * np.exp(dice.uniform(0, np.log(24), partitions)))
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
                    size_bytes=int(sizes[row]),
                    in_bytes_per_s=float(rates[row]),
                )
                for partition, row in enumerate(range(first, first + count))
            ),
        )
        first += count
    live = {b: Broker(b, rack=f"r{b % racks:02d}") for b in range(1, brokers + joined + 1)}
    return Cluster("bench", live, topics, id="bench")


def _largest(partitions: int, brokers: int) -> float:
    """The most bytes of a partition: 20 GiB, and a tenth of what a broker holds in the mean."""
    share = partitions * REPLICAS_MEAN * SIZE_MEAN / brokers
    return min(LARGEST, share / 10)


def desired(brokers: int, goals: tuple[Goal, ...] = COUNTS, **pool: object) -> Desired:
    """One pool of all brokers, in which every topic lives."""
    whole = ResourcePoolSpec("all", "bench", tuple(range(1, brokers + 1)), goals=goals)
    return Desired(_spec("all"), (replace(whole, **pool),))  # type: ignore[arg-type]


def lowered(cluster: Cluster, goals: tuple[Goal, ...] = COUNTS) -> Desired:
    """One pool in which every topic has one replica of each partition less than it has."""
    pool = ResourcePoolSpec("all", "bench", tuple(sorted(cluster.brokers)), goals=goals)
    factors = {name: len(topic.partitions[0].replicas) for name, topic in cluster.topics.items()}
    specs = tuple(
        TopicSpec(name, "bench", name, "all", replication_factor=factor - 1)
        for name, factor in sorted(factors.items())
        if factor > 1
    )
    return Desired(_spec("all"), (pool,), specs)


def two_pools(cluster: Cluster, goals: tuple[Goal, ...] = COUNTS) -> Desired:
    """Brokers 1 to 42 and the others; every fifth topic shall live in the smaller pool.

    `cluster` comes from `settled_in_pools`, but for one replica in a hundred.
    """
    brokers = sorted(cluster.brokers)
    large = ResourcePoolSpec("large", "bench", tuple(b for b in brokers if b <= 42), goals=goals)
    small = ResourcePoolSpec("small", "bench", tuple(b for b in brokers if b > 42), goals=goals)
    specs = tuple(
        TopicSpec(name, "bench", name, "small") for name in sorted(cluster.topics) if _small(name)
    )
    return Desired(_spec("large"), (large, small), specs)


def settled_in_pools(cluster: Cluster, seed: int = 2) -> Cluster:
    """The cluster with every topic in its pool of `two_pools`, except for one stray in a hundred.

    A replica in the wrong pool goes to a broker of the right one in the same rack, or stays.
    """
    dice = np.random.default_rng(seed)
    racks = len({broker.rack for broker in cluster.brokers.values()})
    homes = {
        (small, rack): [b for b in cluster.brokers if b % racks == rack and (b > 42) == small]
        for small in (False, True)
        for rack in range(racks)
    }
    topics = {}
    for name, topic in cluster.topics.items():
        small = _small(name)
        stay = dice.random((len(topic.partitions), 8)) < 0.01
        draw = dice.random((len(topic.partitions), 8))
        partitions = []
        for p in topic.partitions:
            replicas = tuple(
                b
                if (b > 42) == small or stay[p.partition, slot]
                else (homes[small, b % racks])[
                    int(draw[p.partition, slot] * len(homes[small, b % racks]))
                ]
                for slot, b in enumerate(p.replicas)
            )
            partitions.append(p._replace(replicas=replicas, leader=replicas[0], isr=replicas))
        topics[name] = replace(topic, partitions=tuple(partitions))
    return replace(cluster, topics=topics)


def rack_each(found: Cluster) -> Cluster:
    """The cluster with every broker a rack of its own."""
    brokers = found.brokers.values()
    return replace(found, brokers={b.id: replace(b, rack=f"r{b.id}") for b in brokers})


def crowded_racks(cluster: Cluster, seed: int = 2, part: float = 0.02) -> Cluster:
    """The cluster with that part of its partitions holding two replicas in one rack."""
    dice = np.random.default_rng(seed)
    members: dict[str | None, list[int]] = {}
    for broker in cluster.brokers.values():
        members.setdefault(broker.rack, []).append(broker.id)
    topics = {}
    for name, topic in cluster.topics.items():
        chosen = dice.random(len(topic.partitions)) < part
        partitions = []
        for p, crowded in zip(topic.partitions, chosen.tolist(), strict=True):
            if crowded and len(p.replicas) > 2:
                first, second = p.replicas[:2]
                others = [b for b in members[cluster.brokers[first].rack] if b != first]
                lists = (first, second, int(dice.choice(others)))
                p = p._replace(replicas=lists, leader=first, isr=lists)
            partitions.append(p)
        topics[name] = replace(topic, partitions=tuple(partitions))
    return replace(cluster, topics=topics)


def weights(brokers: int) -> Mapping[int, Capacity]:
    """Every third broker counts twice."""
    return {b: Capacity(weight=2.0 if b % 3 == 0 else 1.0) for b in range(1, brokers + 1)}


def disks(cluster: Cluster, full: float = 0.9) -> Capacity:
    """Disks of one size, of which the fullest broker needs more than it has.

    All data together fills that part of all disks together that the fullest broker fills of
    `1 / full` disks.
    """
    most = int(held_bytes(cluster).max())
    return Capacity(disk_bytes=int(most * full))


def brimful_disks(cluster: Cluster, full: float = 0.99) -> Capacity:
    """Disks of one size that all data fills to that part, evenly spread."""
    held = held_bytes(cluster)
    return Capacity(disk_bytes=int(held.sum() / np.count_nonzero(held) / full))


def fullest(cluster: Cluster) -> int:
    """The broker that holds most replicas."""
    held = np.bincount(
        [b for t in cluster.topics.values() for p in t.partitions for b in p.replicas]
    )
    return int(held.argmax())


def held_bytes(cluster: Cluster) -> np.ndarray:
    """Bytes by broker id."""
    held = np.zeros(max(cluster.brokers) + 1, dtype=np.int64)
    for topic in cluster.topics.values():
        for p in topic.partitions:
            held[list(p.replicas)] += p.size_bytes or 0
    return held


def _spec(default_pool: str) -> KafkaClusterSpec:
    return KafkaClusterSpec(
        "bench",
        ZooKeeperSpec("zk:2181"),
        unmanaged_topics=UnmanagedTopics.MANAGE,
        default_pool=default_pool,
    )


def _small(name: str) -> bool:
    return int(name.removeprefix("topic-")) % 5 == 0


def _partition_counts(partitions: int, topics: int, largest: int | None = None) -> np.ndarray:
    share = 1 / np.arange(1, topics + 1) ** 0.9
    counts = np.maximum(1, np.floor(share / share.sum() * partitions)).astype(np.int64)
    counts[0] += partitions - counts.sum()
    if largest is not None:
        surplus = int(np.maximum(counts - largest, 0).sum())
        counts = np.minimum(counts, largest)
        small = np.flatnonzero(counts < largest / 2)
        counts[small] += surplus // len(small)
        counts[small[0]] += surplus % len(small)
    return counts


def _lists(
    dice: np.random.Generator, counts: np.ndarray, brokers: int, racks: int
) -> list[tuple[int, ...]]:
    """Racks at random without repetition, in a rack the brokers by how full they are."""
    partitions = int(counts.sum())
    drawn = np.argsort(dice.random((partitions, racks)), axis=1)[:, :3]
    chosen = np.zeros_like(drawn)
    for rack in range(racks):
        members = np.array([b for b in range(1, brokers + 1) if b % racks == rack])
        odds = np.where(members > brokers - LATE, 0.5, 1.0)
        where = drawn == rack
        chosen[where] = dice.choice(members, size=int(where.sum()), p=odds / odds.sum())
    # Moved by hand: within the rack, to one broker that somebody liked.
    by_hand = dice.random((partitions, 3)) < 0.01
    chosen = np.where(by_hand, (chosen % racks) + racks, chosen)
    two = np.repeat(dice.random(len(counts)) < 0.08, counts)
    return [
        tuple(row[:2]) if short else tuple(row)
        for row, short in zip(chosen.tolist(), two.tolist(), strict=True)
    ]
