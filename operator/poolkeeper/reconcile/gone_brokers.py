"""Which missing brokers count as gone: their replicas are rebuilt on other brokers (`heal`).

ZooKeeper knows live brokers alone. So the record of each broker that was observed or declared holds
its last rack and since when it is missing.
"""

from dataclasses import replace

from poolkeeper.model.execution.records import BrokerRecord, RecordKind, Records
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.constraints import outages


def updated_records(records: Records, cluster: Cluster, desired: Desired, now_ms: int) -> Records:
    """Return the records with the observed brokers: their racks, and since when one is missing."""
    declared = {broker for pool in desired.pools for broker in pool.brokers}
    brokers = {}
    for id_ in sorted(set(records.brokers) | set(cluster.brokers) | declared):
        known = records.brokers.get(id_, BrokerRecord())
        live = cluster.brokers.get(id_)
        if live is not None:
            brokers[id_] = BrokerRecord(rack=live.rack)
        elif known.missing_since_s is None:
            brokers[id_] = replace(known, missing_since_s=now_ms // 1000)
        else:
            brokers[id_] = known
    return replace(records, cluster_id=records.cluster_id or cluster.id, brokers=brokers)


def gone_brokers(records: Records, desired: Desired, now_ms: int) -> frozenset[int]:
    """Return the missing brokers whose replicas are to be rebuilt on other brokers.

    The set is empty before `heal.after`. It is also empty if more than `heal.maxBrokers` brokers,
    or a whole rack of several brokers, are missing: that is an outage to wait for, not a loss to
    repair. Nor is anything rebuilt while the record of brokers cannot be read.
    """
    heal = desired.cluster.heal
    if not heal.enabled or RecordKind.BROKERS in records.damage:
        return frozenset()
    if outages.outage(records, desired) is not None:
        return frozenset()
    now_s = now_ms // 1000
    missing = outages.missing_since_s(records, desired)
    return frozenset(id_ for id_, at_s in missing.items() if now_s - at_s >= heal.after_s)
