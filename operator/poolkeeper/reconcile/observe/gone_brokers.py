"""Which missing brokers count as gone: their replicas are rebuilt on other brokers (`heal`).

ZooKeeper knows live brokers alone. So the record of each broker that was observed or declared holds
its last rack, since when it is missing and who looked since (`absences`). It also holds since when
log directories of a live broker failed; they count as lost if no more brokers are in trouble than
`heal` allows.
"""

from collections.abc import Mapping
from dataclasses import replace

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import BrokerRecord, RecordKind, Records
from poolkeeper.model.topology import Broker, Cluster
from poolkeeper.planning.constraints import outages
from poolkeeper.reconcile.observe import absences


def updated_records(records: Records, cluster: Cluster, desired: Desired, now_ms: int) -> Records:
    """Return the records after a look: the brokers' racks, and what is known of absences."""
    declared = {broker for pool in desired.pools for broker in pool.brokers}
    brokers, now_s = {}, now_ms // 1000
    for id_ in sorted(set(records.brokers) | set(cluster.brokers) | declared):
        known = _before(records, id_)
        live = cluster.brokers.get(id_)
        if live is not None:
            failed = _failed_since(known, live, now_s)
            brokers[id_] = BrokerRecord(rack=live.rack, log_dirs_failed_s=failed)
        else:
            brokers[id_] = absences.seen_missing(known, now_s, None)
    seen = replace(records, cluster_id=records.cluster_id or cluster.id, brokers=brokers)
    heal = desired.cluster.heal
    if not heal.enabled:
        return seen
    in_outage = outages.outage(seen, desired) is not None
    counting = absences.Counting(heal.after_s, in_outage)
    for id_ in declared - cluster.brokers.keys():
        brokers[id_] = absences.seen_missing(_before(records, id_), now_s, counting)
    return replace(seen, brokers=brokers)


def _before(records: Records, id_: int) -> BrokerRecord:
    """Return what is known of a broker before a look; of one that was there, that it was."""
    known = records.brokers.get(id_)
    if known is None:
        return BrokerRecord()
    return replace(known, seen=True) if known.missing_since_s is None else known


def _failed_since(known: BrokerRecord, live: Broker, now_s: int) -> Mapping[str, int]:
    """Return since when directories failed; as known of a broker that was not asked."""
    if live.log_dirs is None:
        return known.log_dirs_failed_s
    return {
        path: min(known.log_dirs_failed_s.get(path, now_s), now_s)
        for path in sorted(live.failed_log_dirs)
    }


def with_lost_log_dirs(
    cluster: Cluster, records: Records, desired: Desired, now_ms: int
) -> Cluster:
    """Return the cluster with the failed log directories that count as lost for good."""
    lost = log_dirs_to_rebuild(records, desired, now_ms)
    if not lost:
        return cluster
    brokers = {
        id_: replace(broker, lost_log_dirs=lost.get(id_, frozenset()) & set(broker.failed_log_dirs))
        for id_, broker in cluster.brokers.items()
    }
    return replace(cluster, brokers=brokers)


def log_dirs_to_rebuild(
    records: Records, desired: Desired, now_ms: int
) -> dict[int, frozenset[str]]:
    """Return the log directories whose replicas are to be rebuilt on other brokers, by broker.

    There are none before `heal.after`, and none if more than `heal.maxBrokers` brokers are missing
    or have failed directories.
    """
    heal, now_s = desired.cluster.heal, now_ms // 1000
    if not heal.enabled or RecordKind.BROKERS in records.damage:
        return {}
    declared = {broker for pool in desired.pools for broker in pool.brokers}
    troubled = {
        id_: record.log_dirs_failed_s
        for id_, record in records.brokers.items()
        if id_ in declared and (record.log_dirs_failed_s or record.missing_since_s is not None)
    }
    if len(troubled) > heal.max_brokers:
        return {}
    found = {
        id_: frozenset(path for path, at_s in since.items() if now_s - at_s >= heal.after_s)
        for id_, since in troubled.items()
    }
    return {id_: paths for id_, paths in found.items() if paths}


def gone_brokers(records: Records, desired: Desired, now_ms: int) -> frozenset[int]:
    """Return the missing brokers whose replicas are to be rebuilt on other brokers.

    They are those that are lost (`absences`). There are none if more than `heal.maxBrokers`
    brokers, or a whole rack of several brokers, are missing: that is an outage to wait for, not a
    loss to repair. Nor is anything rebuilt while the record of brokers cannot be read.
    """
    heal = desired.cluster.heal
    if not heal.enabled or RecordKind.BROKERS in records.damage:
        return frozenset()
    if outages.outage(records, desired) is not None:
        return frozenset()
    now_s = now_ms // 1000
    return frozenset(
        id_
        for id_ in outages.missing_since_s(records, desired)
        if absences.is_lost(records.brokers[id_], now_s, heal.after_s)
    )
