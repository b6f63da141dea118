"""Looking at a cluster: is it the right one, what is remembered of it, which brokers are gone."""

from dataclasses import dataclass, replace

from poolkeeper.errors import OtherCluster
from poolkeeper.means import Enrich
from poolkeeper.model.outcomes import Seen
from poolkeeper.model.records import BrokerRecord, Records
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.zk import journal, observe
from poolkeeper.zk.readings import Observation
from poolkeeper.zk.session import Session


@dataclass(frozen=True, slots=True)
class Sight:
    """One observation with what is remembered and concluded from both."""

    observation: Observation
    cluster: Cluster
    records: Records
    gone: frozenset[int]


def see(session: Session, desired: Desired, now_ms: int, enrich: Enrich) -> Sight:
    """Observe the cluster, check that it is the right one, and conclude who is gone."""
    spec = desired.cluster
    observation = observe.cluster(session, spec.name, restart_lock=spec.execution.restart_lock)
    cluster = observation.cluster
    records = journal.read_records(session)
    for pinned, where in (
        (spec.cluster_id, "spec.clusterId"),
        (records.cluster_id, "the record of the first run"),
    ):
        if pinned is not None and cluster.id != pinned:
            raise OtherCluster(
                f"this is another cluster: its id is {cluster.id}, {where} says {pinned}"
            )
    cluster = enrich(cluster)
    if spec.kafka_version is not None:
        cluster = replace(cluster, kafka_version=spec.kafka_version)
    records = remembered(records, cluster, desired, now_ms)
    return Sight(observation, cluster, records, gone_brokers(records, desired, now_ms))


def shown(sight: Sight, before: Seen | None) -> Seen:
    """Return what is to be shown: topics that changed while they were read, as they were before."""
    cluster = sight.cluster
    kept = {
        name: before.cluster.topics[name]
        for name in cluster.torn
        if before is not None and name in before.cluster.topics
    }
    if kept:
        topics = dict(sorted({**cluster.topics, **kept}.items()))
        cluster = replace(cluster, topics=topics, torn=cluster.torn - kept.keys())
    return Seen(cluster, sight.records, sight.gone)


def remembered(records: Records, cluster: Cluster, desired: Desired, now_ms: int) -> Records:
    """Return the records with this observation's brokers: racks, and since when one is missing."""
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
    """Return the missing brokers whose replicas shall be rebuilt elsewhere.

    None before `heal.after`, and none at all where more than `heal.maxBrokers` or a whole rack of
    several brokers is missing: that is an outage to wait for, not a loss to mend.
    """
    heal = desired.cluster.heal
    if not heal.enabled:
        return frozenset()
    declared = {broker for pool in desired.pools for broker in pool.brokers}
    missing = {
        id_: record
        for id_, record in records.brokers.items()
        if record.missing_since_s is not None and id_ in declared
    }
    racks: dict[str, set[int]] = {}
    for id_ in declared & set(records.brokers):
        racks.setdefault(records.brokers[id_].rack or f"broker {id_}", set()).add(id_)
    whole_rack = any(len(ids) > 1 and ids <= set(missing) for ids in racks.values())
    if whole_rack or len(missing) > heal.max_brokers:
        return frozenset()
    return frozenset(
        id_
        for id_, record in missing.items()
        if record.missing_since_s is not None
        and now_ms // 1000 - record.missing_since_s >= heal.after_s
    )
