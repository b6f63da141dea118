"""Partitions without a source: no live broker holds them in sync, so Kafka cannot copy them.

Kafka copies from a leader, and these partitions have none until a broker returns or somebody allows
an unclean election. A request for such a partition would never finish, and would delay others. So
these partitions stay where they are, whatever the plan wants. If the in-sync replicas are unknown,
any live broker with the partition counts as a source.

Partitions whose only sources are gone for good are lost, and the plan says so.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.topology import Cluster, Partition, TopicPartition
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.facts.pools import DataLost, NoSource
from poolkeeper.planning.problem.arrays import Bools
from poolkeeper.planning.problem.offline_replicas import brokers_with_failures, offline_on
from poolkeeper.planning.problem.partitions import PartitionTable
from poolkeeper.planning.problem.pool_membership import TopicHome


def problems(
    cluster: Cluster, homes: Mapping[str, TopicHome], gone: Collection[int]
) -> Iterator[PlanProblem]:
    """One problem for each pool that loses data, with the brokers and the first partitions."""
    lost: dict[str, list[tuple[str, Partition]]] = {}
    for name in sorted(cluster.topics) if gone else ():
        for partition in cluster.topics[name].partitions:
            if partition.replicas and set(partition.isr or partition.replicas).issubset(gone):
                pool = homes[name].pool if name in homes else ""
                lost.setdefault(pool, []).append((name, partition))
    for pool, found in lost.items():
        yield PlanProblem(pool, "", _lost(found, gone))


def has_source(partition: Partition, live: Collection[int]) -> bool:
    """Whether a live broker can be copied from."""
    return any(broker in live for broker in partition.isr or partition.replicas)


def rows_without_source(cluster: Cluster, table: PartitionTable) -> Bools:
    """By row of the table, whether it has no source; a partition with a live leader has one."""
    live, failed = cluster.brokers, brokers_with_failures(cluster)
    found = ~np.isin(table.leader, np.array(sorted(live), dtype=np.int64))
    rows = np.flatnonzero(found)
    topics = np.searchsorted(table.start, rows, side="right") - 1
    for row, topic in zip(rows.tolist(), topics.tolist(), strict=True):
        partitions = cluster.topics[table.names[topic]].partitions
        partition = partitions[row - int(table.start[topic])]
        offline = offline_on(partition, failed) if failed else ()
        found[row] = not has_source(partition, live.keys() - set(offline) if offline else live)
    return found


def no_source_problem(pool: str, names: Sequence[TopicPartition]) -> PlanProblem:
    """The problem of partitions that should change and have no source."""
    return PlanProblem(pool, "", NoSource(Names.of(names)))


def _lost(found: list[tuple[str, Partition]], gone: Collection[int]) -> DataLost:
    brokers = sorted({b for _, p in found for b in p.isr or p.replicas if b in gone})
    names = [TopicPartition(name, partition.partition) for name, partition in found]
    told = all(partition.isr is not None for _, partition in found)
    return DataLost(tuple(brokers), Names.of(names), told)
