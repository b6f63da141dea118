"""Replicas that are offline because the log directory that they were in has failed.

A broker lives on without the directory. It does not tell what was in it; but what it should hold,
and what is in none of its other directories and not in sync, was there.

Such a replica cannot be moved to another directory of its broker, nor made anew there (`disks` has
what brokers do). Only another broker, or a new disk and a restart, replaces it.
"""

from collections.abc import Mapping

import numpy as np

from poolkeeper.model.topology import Broker, Cluster, Partition
from poolkeeper.planning.problem.arrays import Bools, BrokerIndex, Ints
from poolkeeper.planning.problem.partitions import PartitionTable


def brokers_with_failures(cluster: Cluster) -> dict[int, Broker]:
    """Return the live brokers that say that a log directory failed, by id in ascending order."""
    return {id_: b for id_, b in sorted(cluster.brokers.items()) if b.failed_log_dirs}


def offline_on(partition: Partition, brokers: Mapping[int, Broker]) -> tuple[int, ...]:
    """Return those of these brokers on which the replica is offline."""
    if partition.isr is None:
        return ()
    in_sync = () if partition.leader == -1 else partition.isr
    known = partition.log_dirs or {}
    return tuple(
        id_
        for id_ in partition.replicas
        if id_ in brokers and id_ not in known and id_ not in (*in_sync, *partition.adding)
    )


def lost_replicas(cluster: Cluster, table: PartitionTable, index: BrokerIndex, wide: Ints) -> Bools:
    """By row and slot of the lists, whether it is in a log directory that is lost for good.

    A broker with a directory that failed lately does not count yet: nobody knows which of its
    failed directories a replica was in.
    """
    lost = np.zeros(wide.shape, dtype=bool)
    brokers = {
        id_: broker
        for id_, broker in brokers_with_failures(cluster).items()
        if broker.lost_log_dirs >= set(broker.failed_log_dirs)
    }
    if not brokers:
        return lost
    rows = np.array(index.rows(brokers), dtype=np.int64)
    held = np.flatnonzero(np.isin(wide, rows).any(axis=1))
    topics = np.searchsorted(table.start, held, side="right") - 1
    for row, topic in zip(held.tolist(), topics.tolist(), strict=True):
        partition = cluster.topics[table.names[topic]].partitions[row - int(table.start[topic])]
        found = index.rows(offline_on(partition, brokers))
        lost[row] = np.isin(wide[row], found)
    return lost
