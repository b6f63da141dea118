"""Partitions that are too large for the disks of the brokers that they need, whatever else moves.

The room on a broker is its disk without the load that cannot leave it. If a partition has more
replicas than there are brokers with room for one, it fits in no layout.
"""

from collections.abc import Iterator

import numpy as np

from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.planning.constraints.capacity import UNLIMITED_MIB
from poolkeeper.planning.facts.capacity import PartitionTooLarge
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.placement.broker_choice import mib_by_broker
from poolkeeper.planning.problem.arrays import Ints, count_slots


def oversized_partitions(
    layout: Layout, incoming_mib: Ints
) -> Iterator[tuple[str, PartitionTooLarge]]:
    """(topic, its largest such partition); `incoming_mib` is left out, as it could go elsewhere."""
    problem = layout.problem
    brokers = np.flatnonzero(problem.eligible)
    if not len(brokers) or (layout.capacity.mib[brokers] >= UNLIMITED_MIB).any():
        return
    staying = mib_by_broker(problem, np.where(problem.no_source[:, None], problem.lists, -1))
    free = layout.capacity.mib - (problem.background_load.mib - incoming_mib) - staying
    brokers = brokers[np.argsort(-free[brokers], kind="stable")]
    wanted = count_slots((layout.lists >= 0) & problem.eligible[layout.lists])
    found = np.searchsorted(-free[brokers], -problem.mib, side="right")
    oversized = (found < wanted) & problem.placed & ~problem.no_source & (problem.mib > 0)
    for topic in distinct(problem.topic[oversized]).tolist():
        rows = np.flatnonzero(oversized & (problem.topic == topic))
        row = int(rows[np.argmax(problem.mib[rows])])
        fitting = int(found[row])
        at = brokers[fitting]
        yield (
            problem.topics[topic],
            PartitionTooLarge(
                partition=f"{problem.topics[topic]}-{problem.number[row]}",
                mib=int(problem.mib[row]),
                wanted=int(wanted[row]),
                pool=problem.pool.name,
                fitting=tuple(problem.brokers.ids[b] for b in brokers[:fitting]),
                broker=problem.brokers.ids[at],
                free_mib=max(0, int(free[at])),
                more=len(rows) - 1,
            ),
        )
