"""What the brokers of one cluster hold before and after a plan.

Leaders are first replicas: the state once elections are done. Partitions of unknown size count no
bytes, and neither do new ones; if no size is known at all, that is told (`Holding.sized`).
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from poolkeeper.model.columns.partition_columns import UNKNOWN, PartitionColumns, columns_of
from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists, distinct
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.problem.arrays import rack_name
from poolkeeper.planning.problem.partitions import places_of
from poolkeeper.planning.run_state.progress.load_after import moved_rows
from poolkeeper.report.values import Holding

_NOTHING_RECORDED = Records()


@dataclass
class _BrokerCounts:
    replicas: Counter[int] = field(default_factory=Counter)
    leaders: Counter[int] = field(default_factory=Counter)
    bytes: Counter[int] = field(default_factory=Counter)


def holdings(plan: Plan, desired: Desired, cluster: Cluster) -> tuple[Holding, ...]:
    """All brokers that are live, in a pool or in a replica list, by id."""
    columns = columns_of([topic.partitions for topic in cluster.topics.values()])
    size = np.where(columns.bytes == UNKNOWN, 0, columns.bytes)
    sized = not len(size) or bool((columns.bytes != UNKNOWN).any())
    before = _count_replicas((columns.replicas, size))
    after = _count_replicas(*_placed_after(plan, cluster, columns, size))
    pool_of = {broker: pool for pool in desired.pools for broker in pool.brokers}
    known = cluster.brokers.keys() | pool_of.keys() | before.replicas.keys() | after.replicas.keys()
    found = []
    for broker in sorted(known):
        pool, live = pool_of.get(broker), broker in cluster.brokers
        usable = pool is not None and live and broker not in pool.drain
        found.append(
            Holding(
                pool.name if pool else "",
                broker,
                rack_name(broker, desired, cluster, _NOTHING_RECORDED),
                live,
                float(pool.capacity_for(broker).weight) if pool and usable else 0.0,
                before.replicas[broker],
                after.replicas[broker],
                before.leaders[broker],
                after.leaders[broker],
                before.bytes[broker],
                after.bytes[broker],
                sized,
            )
        )
    return tuple(found)


def _count_replicas(*placed: tuple[ReplicaLists, Ints]) -> _BrokerCounts:
    """By broker; `placed`: replica lists, and the size of each."""
    tally = _BrokerCounts()
    for lists, sizes in placed:
        ids = distinct(lists.ids)
        place = places_of(lists.ids, ids)
        first = place[lists.offsets[:-1][lists.lengths > 0]]
        # Sums of whole numbers below 2^53 are exact.
        held = np.bincount(place, np.repeat(sizes, lists.lengths), len(ids)).astype(np.int64)
        for counter, counts in (
            (tally.replicas, np.bincount(place, minlength=len(ids))),
            (tally.leaders, np.bincount(first, minlength=len(ids))),
            (tally.bytes, held),
        ):
            counter.update(dict(zip(ids.tolist(), counts.tolist(), strict=True)))
    return tally


def _placed_after(
    plan: Plan, cluster: Cluster, columns: PartitionColumns, size: Ints
) -> list[tuple[ReplicaLists, Ints]]:
    """What stays, what moved and what is new (see `after_plan`), for clusters of any size."""
    deleted = {step.topic for step in plan.steps if isinstance(step, DeleteTopic)}
    start = np.append(0, np.cumsum([len(t.partitions) for t in cluster.topics.values()]))
    place = {name: at for at, name in enumerate(cluster.topics) if name not in deleted}
    rows, targets = moved_rows(plan, place, start, columns.number)
    stays = np.ones(len(columns), dtype=bool)
    stays[rows] = False
    for at, name in enumerate(cluster.topics):
        if name in deleted:
            stays[start[at] : start[at + 1]] = False
    added = [
        replicas
        for step in plan.steps
        if isinstance(step, CreateTopic)
        or (isinstance(step, AddPartitions) and step.topic in cluster.topics.keys() - deleted)
        for replicas in step.replicas
    ]
    staying = np.flatnonzero(stays)
    return [
        (columns.replicas.take(staying), size[staying]),
        (targets, size[rows]),
        (ReplicaLists.of(added), np.zeros(len(added), dtype=np.int64)),
    ]
