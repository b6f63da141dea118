"""Replicas, leaders and bytes of every broker, pool by pool; with a plan: before and after.

Leaders are preferred leaders: the state once elections are done. The column of the present state
shows observed leaders where they are known. Sizes count every replica. Partitions of unknown size
count nothing, and the column then says "≥".
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from poolkeeper.cli.output.ink import PLAIN, Ink
from poolkeeper.model.columns.broker_totals import BrokerTotals, totals_now
from poolkeeper.model.columns.partition_columns import UNKNOWN, columns_of
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.progress.load_after import load_after
from poolkeeper.studies.planned_leader_load import planned_leader_loads
from poolkeeper.text import size


def brokers_table(
    cluster: Cluster, desired: Desired, plan: Plan | None = None, ink: Ink = PLAIN
) -> list[str]:
    """The lines of the table.

    The brokers of a pool stand together, with a line for their sum. Brokers without a pool come
    last.
    """
    parts = [topic.partitions for topic in cluster.topics.values()]
    before = totals_now(columns_of(parts))
    after = None if plan is None else _totals_after(cluster, plan)
    rows: list[tuple[str, ...]] = [_heading(after is not None)]
    for pool, brokers in _groups(cluster, desired, before, after):
        for broker in brokers:
            rows.append(
                (pool, _broker_label(broker, cluster, desired), *_row(before, after, [broker]))
            )
        if len(brokers) > 1:
            rows.append((pool, "all", *_row(before, after, brokers)))
        rows.append(())
    return ink.table(rows[:-1])


def leader_loads_data(plan: Plan, cluster: Cluster) -> list[dict[str, object]]:
    """What is written to the leaders of each broker, as JSON values; empty if no rate is known."""
    return [
        {
            "broker": each.broker,
            "bytesInPerSecond": round(each.before, 3),
            "bytesInPerSecondThen": round(each.after, 3),
        }
        for each in planned_leader_loads(plan, cluster)
    ]


def _heading(compares: bool) -> tuple[str, ...]:
    then = ("then",) if compares else ()
    return ("POOL", "BROKER", "REPLICAS", *then, "LEADERS", *then, "BYTES", *then)


def _row(
    before: BrokerTotals, after: BrokerTotals | None, brokers: Sequence[int]
) -> tuple[str, ...]:
    now = _cells(before, brokers)
    if after is None:
        return now
    then = _cells(after, brokers)
    return tuple(cell for pair in zip(now, then, strict=True) for cell in pair)


def _cells(totals: BrokerTotals, brokers: Sequence[int]) -> tuple[str, str, str]:
    """The sums of replicas, leaders and bytes over these brokers."""
    replicas, leaders, held = totals.sums(brokers)
    at_least = "" if totals.unknown.isdisjoint(brokers) else "≥ "
    return f"{replicas:,}", f"{leaders:,}", at_least + size(held)


def _broker_label(broker: int, cluster: Cluster, desired: Desired) -> str:
    """The id with a remark: `3 (drained)`."""
    pool = next((pool for pool in desired.pools if broker in pool.brokers), None)
    notes = []
    if broker not in cluster.brokers:
        notes.append("not live")
    if pool is not None and broker in pool.drain:
        notes.append("drained")
    if pool is not None and broker in pool.demote:
        notes.append("demoted")
    return f"{broker} ({', '.join(notes)})" if notes else str(broker)


def _groups(
    cluster: Cluster, desired: Desired, before: BrokerTotals, after: BrokerTotals | None
) -> list[tuple[str, list[int]]]:
    """The brokers of each pool that are live, or that hold replicas before or after the plan."""
    held = set(before.replicas) | (set(after.replicas) if after else set())
    known = set(cluster.brokers) | held
    groups: dict[str, list[int]] = defaultdict(list)
    for pool in sorted(desired.pools, key=lambda pool: pool.name):
        groups[pool.name] = sorted(known & set(pool.brokers))
    owned = {broker for pool in desired.pools for broker in pool.brokers}
    return [
        (name, brokers)
        for name, brokers in [*groups.items(), ("-", sorted(known - owned))]
        if brokers
    ]


def _totals_after(cluster: Cluster, plan: Plan) -> BrokerTotals:
    after = load_after(plan, cluster)
    sizes = np.where(after.unknown, UNKNOWN, after.size)
    return BrokerTotals.of(after.replicas, after.replicas.preferred(), sizes)
