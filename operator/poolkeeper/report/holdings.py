"""What the brokers of one cluster hold before and after a plan.

Leaders are first replicas: the state once elections are done. Partitions of unknown size count no
bytes, and neither do new ones.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.problem.arrays import rack_name
from poolkeeper.planning.run_state.progress.after_plan import after_plan
from poolkeeper.report.values import Holding

_Placed = tuple[Replicas, int]
_NOTHING_RECORDED = Records()


@dataclass
class _BrokerCounts:
    replicas: Counter[int] = field(default_factory=Counter)
    leaders: Counter[int] = field(default_factory=Counter)
    bytes: Counter[int] = field(default_factory=Counter)


def holdings(plan: Plan, desired: Desired, cluster: Cluster) -> tuple[Holding, ...]:
    """All brokers that are live, in a pool or in a replica list, by id."""
    before, after = (
        _count_replicas(_replicas_now(cluster)),
        _count_replicas(_replicas_after(plan, cluster)),
    )
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
            )
        )
    return tuple(found)


def _count_replicas(placed: Iterable[_Placed]) -> _BrokerCounts:
    tally = _BrokerCounts()
    for replicas, size in placed:
        tally.replicas.update(replicas)
        tally.leaders.update(replicas[:1])
        for broker in replicas:
            tally.bytes[broker] += size
    return tally


def _replicas_now(cluster: Cluster) -> Iterator[_Placed]:
    for topic in cluster.topics.values():
        for partition in topic.partitions:
            yield partition.replicas, partition.size_bytes or 0


def _replicas_after(plan: Plan, cluster: Cluster) -> Iterator[_Placed]:
    for _, partitions in after_plan(plan, cluster):
        for replicas, size_bytes in partitions:
            yield replicas, size_bytes or 0
