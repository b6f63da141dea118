"""What is wrong with single resources of a cluster: each verdict names what a person has to change.

A resource is judged by itself and beside the others of its cluster: a pool by the brokers that it
shares, a Topic by its pool, its namespace and its config, all Topics together by what is allowed.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import KafkaClusterSpec, ResourcePoolSpec, TopicSpec
from poolkeeper.resources.checks.cross_checks import config_problems
from poolkeeper.resources.checks.declaration_limits import beyond_limits
from poolkeeper.resources.kinds import resource_pool
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.parse import selectors
from poolkeeper.resources.parse.schema_messages import guess
from poolkeeper.resources.parse.selectors import Labels
from poolkeeper.text import cut, few, few_others

PROBLEMS_SHOWN_MAX = 5


@frozen
class Verdict:
    """Why nothing is done for a resource until a person changes this or another resource."""

    reason: str
    message: str


@dataclass(slots=True)
class ClusterParts:
    """The resources of one cluster while they are sorted.

    `known_pools`, `known_clusters`: the names of all there are, for who meant another one.
    """

    cluster: CustomResource | None = None
    known_pools: Sequence[str] = ()
    known_clusters: Sequence[str] = ()
    pools: list[CustomResource] = field(default_factory=list)
    topics: list[CustomResource] = field(default_factory=list)
    verdicts: dict[ObjectKey, Verdict] = field(default_factory=dict)

    def declared_pools(self) -> dict[str, ResourcePoolSpec]:
        """The pools that can be read, by name, without those whose brokers other pools have."""
        replaced = _replaced_pools(self.pools)
        return {
            pool.name: pool.spec
            for pool in self.pools
            if isinstance(pool.spec, ResourcePoolSpec) and pool.name not in replaced
        }


def verdicts_of(
    name: str, parts: ClusterParts, namespaces: Mapping[str, Labels], twin: str
) -> dict[ObjectKey, Verdict]:
    """The verdicts on all resources of a cluster; `twin` is another one at its address, or ""."""
    verdicts = {**parts.verdicts, **_pool_verdicts(name, parts)}
    spec = parts.cluster.spec if parts.cluster else None
    version = spec.kafka_version if isinstance(spec, KafkaClusterSpec) else None
    replaced = _replaced_pools(parts.pools)
    declared = parts.declared_pools()
    for topic in parts.topics:
        if topic.sound and (taken := replaced.get(topic.refers)):
            said = None if topic.deleting else taken
        else:
            said = _topic_verdict(name, parts, declared, topic, namespaces, version)
        if said:
            verdicts.setdefault(topic.key, said)
    if isinstance(spec, KafkaClusterSpec):
        sound = [topic for topic in parts.topics if topic.key not in verdicts]
        for key, message in beyond_limits(spec, declared, sound).items():
            verdicts[key] = Verdict("LimitExceeded", message)
    if parts.cluster is not None and (said := _cluster_verdict(parts.cluster, declared, twin)):
        verdicts[parts.cluster.key] = said
    return verdicts


def other_cluster_verdict(topic: CustomResource, lived: str, home: str) -> Verdict:
    """The verdict on a Topic that moved to another Kafka cluster.

    A Topic never leads from one cluster to another: those would be two Kafka topics.
    """
    pool = (topic.status or {}).get("pool", "")
    now = f"{pool} of {lived}" if pool else lived
    message = (
        f"spec.poolRef: ResourcePool {topic.refers} is of KafkaCluster {home}, the topic lives in"
        f" {now}; name a pool of {lived}, or delete this Topic and create another"
    )
    return Verdict("OtherCluster", message)


def _cluster_verdict(
    cluster: CustomResource, declared: Mapping[str, ResourcePoolSpec], twin: str
) -> Verdict | None:
    if not cluster.sound:
        return _invalid(cluster)
    if twin:
        message = f"KafkaCluster {twin} is of the same ensemble and chroot: nothing is done in"
        return Verdict("Invalid", f"{message} either; delete one of them")
    default = cluster.spec.default_pool if isinstance(cluster.spec, KafkaClusterSpec) else None
    if default is not None and default not in declared:
        meant = guess(default, sorted(declared))
        message = f"spec.defaultPool: no ResourcePool {default} of this cluster exists"
        return Verdict("NoSuchPool", _asked(message, meant))
    return None


def _pool_verdicts(name: str, parts: ClusterParts) -> dict[ObjectKey, Verdict]:
    verdicts: dict[ObjectKey, Verdict] = {}
    holders: dict[int, list[CustomResource]] = {}
    replaced = _replaced_pools(parts.pools)
    for pool in parts.pools:
        if not pool.sound or not isinstance(pool.spec, ResourcePoolSpec):
            verdicts[pool.key] = _invalid(pool)
            continue
        if parts.cluster is None:
            message = f"spec.clusterRef: KafkaCluster {name} does not exist"
            meant = guess(name, parts.known_clusters)
            verdicts[pool.key] = Verdict("NoSuchCluster", _asked(message, meant))
        for broker in () if pool.name in replaced else pool.spec.brokers:
            holders.setdefault(broker, []).append(pool)
    brokers_of: dict[tuple[str, ...], list[int]] = {}
    for broker, both in sorted(holders.items()):
        if len(both) > 1:
            brokers_of.setdefault(tuple(sorted(pool.name for pool in both)), []).append(broker)
    shared: dict[str, list[tuple[tuple[str, ...], list[int]]]] = {}
    for pools, brokers in brokers_of.items():
        for pool_name in pools:
            shared.setdefault(pool_name, []).append((pools, brokers))
    for pool_name, found in shared.items():
        key = ObjectKey(resource_pool.KIND, "", pool_name)
        verdicts.setdefault(key, _shared_brokers(pool_name, found))
    return verdicts


def _shared_brokers(pool: str, shared: Sequence[tuple[Sequence[str], Sequence[int]]]) -> Verdict:
    """The verdict on a pool of which others have brokers; `shared`: pools and what they share."""
    sentences = (
        f"broker{'s' if brokers[1:] else ''} {few(brokers, grouped=False)}"
        f" {'are' if brokers[1:] else 'is'} in pool {few_others(pools, pool, grouped=False)} too"
        for pools, brokers in shared
    )
    return Verdict(
        "BrokerConflict",
        f"nothing moves in this pool: {_few(sentences)}; name each broker in one pool only, or"
        " delete the pool that another one replaces",
    )


def _replaced_pools(pools: Sequence[CustomResource]) -> Mapping[str, Verdict]:
    """The pools that are being deleted, of which other pools have brokers: what Topics are told."""
    going = [(p.name, p.spec) for p in pools if p.deleting and isinstance(p.spec, ResourcePoolSpec)]
    if not going:
        return {}
    holders: dict[int, set[str]] = {}
    for pool in pools:
        if not pool.deleting and isinstance(pool.spec, ResourcePoolSpec):
            for broker in pool.spec.brokers:
                holders.setdefault(broker, set()).add(pool.name)
    found = {}
    for name, spec in going:
        own = {*spec.brokers}
        taken = sorted(own & holders.keys())
        if taken:
            others = sorted(set().union(*(holders[broker] for broker in taken)))
            found[name] = _of_replaced_pool(name, others, taken, whole=len(taken) == len(own))
    return found


def _of_replaced_pool(
    pool: str, others: Sequence[str], taken: Sequence[int], *, whole: bool
) -> Verdict:
    """What Topics of the pool are told; `whole`: whether all of its brokers are taken."""
    many = "s" if taken[1:] else ""
    some = f"broker{many} {few(taken, grouped=False)}"
    whose = f"its brokers are those of {', '.join(others)} now"
    if not whole:
        whose = f"{some} of it belong{'' if many else 's'} to {', '.join(others)} now"
    message = f"spec.poolRef: ResourcePool {pool} is being deleted, {whose}; name another pool"
    return Verdict("NoSuchPool", message)


def _topic_verdict(
    name: str,
    parts: ClusterParts,
    declared: Mapping[str, ResourcePoolSpec],
    topic: CustomResource,
    namespaces: Mapping[str, Labels],
    version: str | None,
) -> Verdict | None:
    if not topic.sound or not isinstance(topic.spec, TopicSpec):
        return _invalid(topic)
    pool = declared.get(topic.spec.pool)
    if pool is None:
        if any(p.name == topic.refers for p in parts.pools):
            return None  # the pool is invalid: the Topic waits, but is not itself at fault
        message = f"spec.poolRef: ResourcePool {topic.spec.pool} does not exist"
        meant = guess(topic.spec.pool, parts.known_pools)
        return Verdict("NoSuchPool", _asked(message, meant))
    if parts.cluster is None:
        message = f"KafkaCluster {name} of ResourcePool {pool.name} does not exist"
        return Verdict("NoSuchCluster", message)
    if not _admits(pool, topic, namespaces):
        message = f"ResourcePool {pool.name} takes no Topics of namespace {topic.namespace}"
        return Verdict("NamespaceNotAllowed", f"{message} (spec.allowedNamespaces)")
    wrong = _config_problems(tuple(topic.spec.config.items()), version)
    if wrong:
        return Verdict("Invalid", _few(wrong))
    return None


def not_admitted(parts: ClusterParts, namespaces: Mapping[str, Labels]) -> frozenset[ObjectKey]:
    """The Topics of namespaces that their pool does not admit, whatever else is wrong with them."""
    pools = {p.name: p.spec for p in parts.pools if isinstance(p.spec, ResourcePoolSpec)}
    return frozenset(
        topic.key
        for topic in parts.topics
        if topic.refers in pools and not _admits(pools[topic.refers], topic, namespaces)
    )


def _admits(
    pool: ResourcePoolSpec, topic: CustomResource, namespaces: Mapping[str, Labels]
) -> bool:
    labels = namespaces.get(topic.namespace, {})
    return selectors.admits(pool.allowed_namespaces, topic.namespace, labels)


def _asked(message: str, meant: str) -> str:
    return f"{message}; {meant}" if meant else message


@functools.lru_cache(maxsize=1024)
def _config_problems(config: tuple[tuple[str, str], ...], version: str | None) -> tuple[str, ...]:
    """The problems of a config, cached: thousands of topics share a few configs."""
    found = config_problems(dict(config), version)
    return tuple(f"spec.config[{key}]: {problem}" for key, problem in found.items())


def _invalid(resource: CustomResource) -> Verdict:
    return Verdict(
        "Invalid", _few([str(problem) for problem in resource.problems]) or "is unreadable"
    )


def _few(sentences: Iterable[str]) -> str:
    return "; ".join(cut(sentences, PROBLEMS_SHOWN_MAX, grouped=False))
