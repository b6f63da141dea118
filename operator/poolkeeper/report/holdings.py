"""What the brokers of one cluster hold before and after a plan.

Leaders are first replicas: the state once elections are done. Partitions of unknown size count no
bytes, and neither do new ones; if no size is known at all, that is told (`Holding.sized`).
"""

from poolkeeper.model.columns.broker_totals import BrokerTotals
from poolkeeper.model.columns.partition_columns import UNKNOWN, columns_of
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.problem.arrays import rack_name
from poolkeeper.planning.run_state.progress.load_after import load_after
from poolkeeper.report.values import Holding


def holdings(
    plan: Plan, desired: Desired, cluster: Cluster, records: Records = NOTHING_RECORDED
) -> tuple[Holding, ...]:
    """All brokers that are live, in a pool or in a replica list, by id.

    `records` tell the racks of brokers that are gone.
    """
    columns = columns_of([topic.partitions for topic in cluster.topics.values()])
    sized = not len(columns) or bool((columns.bytes != UNKNOWN).any())
    before = BrokerTotals.of(columns.replicas, columns.replicas.preferred(), columns.bytes)
    load = load_after(plan, cluster)
    after = BrokerTotals.of(load.replicas, load.replicas.preferred(), load.size)
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
                rack_name(broker, desired, cluster, records),
                live,
                float(pool.capacity_for(broker).weight) if pool and usable else 0.0,
                before.replicas.get(broker, 0),
                after.replicas.get(broker, 0),
                before.leaders.get(broker, 0),
                after.leaders.get(broker, 0),
                before.bytes.get(broker, 0),
                after.bytes.get(broker, 0),
                sized,
            )
        )
    return tuple(found)
