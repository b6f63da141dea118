"""Partitions without a source: no live broker holds them in sync, so nothing can be copied.

Kafka copies from a leader, and they have none until a broker comes back or somebody allows an
unclean election. A request for such a partition would wait for ever, and stand in the way of the
others; so they stay where they are, whatever ought to be done with them. Where nobody told who is
in sync, any live broker that holds the partition is taken for a source.

What only brokers have that are gone for good is lost, and the plan says so.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.topology import Cluster, Partition, TopicPartition
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.facts.pools import DataLost, NoSource
from poolkeeper.planning.problem.arrays import Bools
from poolkeeper.planning.problem.partitions import PartitionTable
from poolkeeper.planning.problem.scope import TopicHome


def problems(
    cluster: Cluster, homes: Mapping[str, TopicHome], gone: Collection[int]
) -> Iterator[PlanProblem]:
    """One for each pool that loses something, with the brokers and the first partitions."""
    lost: dict[str, list[tuple[str, Partition]]] = {}
    for name in sorted(cluster.topics) if gone else ():
        for partition in cluster.topics[name].partitions:
            if partition.replicas and set(partition.isr or partition.replicas).issubset(gone):
                pool = homes[name].pool if name in homes else ""
                lost.setdefault(pool, []).append((name, partition))
    for pool, found in lost.items():
        yield PlanProblem(pool, "", _lost(found, gone))


def has_source(partition: Partition, live: Collection[int]) -> bool:
    """Whether one of the live brokers can be copied from."""
    return any(broker in live for broker in partition.isr or partition.replicas)


def sourceless(cluster: Cluster, table: PartitionTable) -> Bools:
    """By row of the table, whether it has no source. Who has a live leader has one."""
    live = cluster.brokers
    found = ~np.isin(table.leader, np.array(sorted(live), dtype=np.int64))
    rows = np.flatnonzero(found)
    topics = np.searchsorted(table.start, rows, side="right") - 1
    for row, topic in zip(rows.tolist(), topics.tolist(), strict=True):
        partitions = cluster.topics[table.names[topic]].partitions
        found[row] = not has_source(partitions[row - int(table.start[topic])], live)
    return found


def blocked_problem(pool: str, names: Sequence[TopicPartition]) -> PlanProblem:
    """Says that these partitions ought to change and cannot."""
    return PlanProblem(pool, "", NoSource(Names.of(names)))


def _lost(found: list[tuple[str, Partition]], gone: Collection[int]) -> DataLost:
    brokers = sorted({b for _, p in found for b in p.isr or p.replicas if b in gone})
    names = [TopicPartition(name, partition.partition) for name, partition in found]
    told = all(partition.isr is not None for _, partition in found)
    return DataLost(tuple(brokers), Names.of(names), told)
