"""What is wrong with a cluster that a plan cannot mend, or that comes before any plan.

A plan compares what is declared with where replicas are. A cluster may be exactly as declared and
serve nobody: its brokers are dead, its partitions have no leader, its producers are refused. Those
troubles are problems like those of a plan, found from one observation without a plan:

  of the cluster   no controller, damaged topic nodes, missing brokers, partitions that are offline
                   or lack replicas in sync
  of a pool        no live broker, fewer live brokers than replicas, missing brokers, full disks
  of a topic       its own partitions; fewer replicas than `min.insync.replicas`

What is unknown is no trouble: a snapshot without leaders tells nothing of them. Replicas that a
reassignment adds are not missed.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_queries import unsettled_partitions
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import Facts, ProblemReason
from poolkeeper.model.specs import ResourcePoolSpec, TopicSpec
from poolkeeper.model.topic_config.min_insync import (
    MIN_INSYNC,
    default_min_insync,
    min_insync,
)
from poolkeeper.model.topic_config.values import parse_whole
from poolkeeper.model.topology import Broker, Cluster, Partition, Topic, TopicPartition
from poolkeeper.planning.facts import health as facts
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.problem.awaited_replicas import declared_replicas
from poolkeeper.planning.problem.pool_membership import plan_scope
from poolkeeper.planning.problem.topic_ownership import resolve_conflicts

DISK_FREE_MIN_PERCENT = 2


@frozen
class ClusterHealth:
    """The troubles of the cluster as a whole, of its pools and of its topics, by name."""

    cluster: tuple[PlanProblem, ...] = ()
    pools: Mapping[str, tuple[PlanProblem, ...]] = field(default_factory=dict)
    topics: Mapping[str, tuple[PlanProblem, ...]] = field(default_factory=dict)


def problems(desired: Desired, cluster: Cluster, records: Records) -> tuple[PlanProblem, ...]:
    """What a person is told of a whole cluster: each trouble once, the most general first."""
    wanted = resolve_conflicts(desired, records, cluster)
    homes = plan_scope(wanted, cluster, records, prune=False).homes
    found = cluster_health(wanted, cluster, {name: home.pool for name, home in homes.items()})
    told = {type(problem.facts) for problem in found.cluster}
    parts = (*found.pools.values(), *found.topics.values())
    others = (p for each in parts for p in each if type(p.facts) not in told)
    return (*found.cluster, *others)


_Unhealthy = dict[TopicPartition, tuple[int, ...]]
"""Partitions in trouble, with the brokers that they miss or may be led by."""

_KINDS: Mapping[ProblemReason, Callable[[Names, tuple[int, ...]], Facts]] = {
    ProblemReason.PARTITIONS_OFFLINE: facts.PartitionsOffline,
    ProblemReason.ELECTION_PENDING: facts.ElectionPending,
    ProblemReason.UNDER_MIN_ISR: facts.UnderMinIsr,
    ProblemReason.UNDER_REPLICATED: facts.UnderReplicated,
}
"""The troubles of partitions, the worst first."""


def cluster_health(desired: Desired, cluster: Cluster, homes: Mapping[str, str]) -> ClusterHealth:
    """Return all troubles; `homes`: the pool that each existing topic lives in, or ""."""
    unhealthy = _unhealthy_partitions(cluster)
    declared = {spec.topic: spec for spec in desired.topics}
    found: dict[str, list[Facts]] = {}
    for kind, partitions in unhealthy.items():
        by_topic: dict[str, _Unhealthy] = {}
        for each, missed in partitions.items():
            by_topic.setdefault(each.topic, {})[each] = missed
        for name, own in by_topic.items():
            found.setdefault(name, []).append(_facts(kind, own))
    for name in declared.keys() | {name for name, pool in homes.items() if pool}:
        unreachable = _beyond_factor(declared.get(name), cluster.topics.get(name), desired)
        if unreachable is not None:
            found.setdefault(name, []).append(unreachable)
    return ClusterHealth(
        tuple(PlanProblem("", "", each) for each in _of_cluster(desired, cluster, unhealthy)),
        {
            pool.name: tuple(
                PlanProblem(pool.name, "", each) for each in _of_pool(pool, desired, cluster, homes)
            )
            for pool in desired.pools
        },
        {
            name: tuple(PlanProblem(homes.get(name, ""), "", each, name) for each in troubles)
            for name, troubles in sorted(found.items())
        },
    )


def _unhealthy_partitions(cluster: Cluster) -> dict[ProblemReason, _Unhealthy]:
    live, default = cluster.brokers.keys(), default_min_insync(cluster)
    requested = {(entry.topic, entry.partition) for entry in cluster.reassignment or ()}
    found: dict[ProblemReason, _Unhealthy] = {kind: {} for kind in _KINDS}
    for name, topic in sorted(cluster.topics.items()):
        for each in (
            unsettled_partitions(topic.partitions, live) if name not in cluster.deleting else ()
        ):
            isr = each.isr
            if isr is not None and len(isr) == len(each.replicas) and each.leader in live:
                continue  # the usual case
            moving = (name, each.partition) in requested
            trouble = _trouble(each, min_insync(topic, default), live, moving=moving)
            if trouble is not None:
                found[trouble[0]][TopicPartition(name, each.partition)] = trouble[1]
    return {kind: partitions for kind, partitions in found.items() if partitions}


def _trouble(
    partition: Partition, needed: int, live: Collection[int], *, moving: bool
) -> tuple[ProblemReason, tuple[int, ...]] | None:
    """What is wrong with a partition, and the brokers that it misses or may be led by.

    `needed`: its `min.insync.replicas`. `moving`: a request names it; up to Kafka 2.3 its list has
    replicas that are being added.
    """
    leader, isr = partition.leader, partition.isr
    held = partition.isr or partition.replicas
    unknown = leader is None and any(broker in live for broker in held)
    if leader not in live and not unknown and held:
        eligible = tuple(sorted(broker for broker in isr or () if broker in live))
        if eligible:
            return ProblemReason.ELECTION_PENDING, eligible
        dead = tuple(sorted(broker for broker in held if broker not in live))
        return ProblemReason.PARTITIONS_OFFLINE, dead
    if isr is None:
        return None
    wanted = set(partition.replicas) - set(partition.adding)
    missed = tuple(sorted(wanted - set(isr)))
    if missed and len(isr) < needed <= len(wanted):
        return ProblemReason.UNDER_MIN_ISR, missed
    return (ProblemReason.UNDER_REPLICATED, missed) if missed and not moving else None


def _facts(kind: ProblemReason, partitions: _Unhealthy) -> Facts:
    missed = sorted({broker for brokers in partitions.values() for broker in brokers})
    return _KINDS[kind](Names.of(sorted(partitions)), tuple(missed))


def _beyond_factor(
    spec: TopicSpec | None, topic: Topic | None, desired: Desired
) -> facts.MinIsrUnreachable | None:
    """Whether a topic has, or is declared with, fewer replicas than its `min.insync.replicas`."""
    config = {} if spec is None else spec.config
    if MIN_INSYNC not in config:
        config = {} if topic is None else topic.config or {}
    value = parse_whole(config.get(MIN_INSYNC, ""))
    factor = None if value is None else _factor(spec, topic, desired)
    if value is None or factor is None or factor >= value:
        return None
    return facts.MinIsrUnreachable(factor, value)


def _factor(spec: TopicSpec | None, topic: Topic | None, desired: Desired) -> int | None:
    """How many replicas each partition has at least once the topic is as declared."""
    if topic is not None or spec is None:
        return declared_replicas(spec, topic)
    if spec.manual is not None or spec.replication_factor is not None:
        return declared_replicas(spec, None)
    defaults = (pool.defaults for pool in desired.pools if pool.name == spec.pool)
    return next((each.replication_factor for each in defaults), None)


def _of_cluster(
    desired: Desired, cluster: Cluster, unhealthy: Mapping[ProblemReason, _Unhealthy]
) -> Iterator[Facts]:
    # A snapshot without a controller and without leaders was not taken of a live cluster.
    observed = cluster.controller.epoch is not None
    if observed and cluster.controller.broker is None:
        yield facts.NoController()
    if cluster.controller.later is not None:
        yield facts.ControllerEpochBehind(cluster.controller.later)
    for kind, partitions in unhealthy.items():
        yield _facts(kind, partitions)
    wanted = {b for pool in desired.pools for b in pool.brokers if b not in pool.drain}
    missing = tuple(sorted(wanted - cluster.brokers.keys()))
    if missing:
        yield facts.BrokersMissing(missing, len(wanted))
    if cluster.damaged:
        yield facts.TopicsDamaged(Names.of(sorted(cluster.damaged)))
    members = {broker for pool in desired.pools for broker in pool.brokers}
    for id_, broker in sorted(cluster.brokers.items()):
        if id_ not in members:
            yield from _full_disks(broker)


def _of_pool(
    pool: ResourcePoolSpec, desired: Desired, cluster: Cluster, homes: Mapping[str, str]
) -> Iterator[Facts]:
    wanted = [broker for broker in pool.brokers if broker not in pool.drain]
    live = [broker for broker in wanted if broker in cluster.brokers]
    missing = tuple(broker for broker in wanted if broker not in cluster.brokers)
    if missing and not live:
        yield facts.NoLiveBroker(missing)
        return
    if missing:
        crowded = _crowded(pool, desired, cluster, homes, len(live))
        if crowded:
            names = Names.of(sorted(crowded))
            yield facts.TooFewLiveBrokers(names, max(crowded.values()), len(live))
        yield facts.BrokersMissing(missing, len(wanted))
    for id_ in pool.brokers:
        if id_ in cluster.brokers:
            yield from _full_disks(cluster.brokers[id_])


def _crowded(
    pool: ResourcePoolSpec,
    desired: Desired,
    cluster: Cluster,
    homes: Mapping[str, str],
    live: int,
) -> dict[str, int]:
    """The topics of the pool with more replicas than that, and how many they have."""
    factors = {
        name: max((len(p.replicas) - len(p.adding) for p in topic.partitions), default=0)
        for name, topic in cluster.topics.items()
        if homes.get(name) == pool.name
    }
    for spec in desired.topics:
        if spec.pool == pool.name and spec.manual is None and spec.replication_factor is not None:
            factors[spec.topic] = spec.replication_factor
    return {name: factor for name, factor in factors.items() if factor > live}


def _full_disks(broker: Broker) -> Iterator[Facts]:
    full = tuple(
        path
        for path, each in sorted((broker.log_dirs or {}).items())
        if each.usable_bytes is not None
        and each.total_bytes
        and each.usable_bytes * 100 < each.total_bytes * DISK_FREE_MIN_PERCENT
    )
    if full:
        yield facts.DisksFull(broker.id, full, DISK_FREE_MIN_PERCENT)
