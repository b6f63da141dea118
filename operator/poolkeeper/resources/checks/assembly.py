"""Resources to what is declared for each Kafka cluster, and what is wrong with which resource.

In a folder one problem stops everything: a person reads the message. Here resources come and go by
themselves, and a rule stands instead: *what is wrong with one of them makes nothing else move*.

| what is wrong | so |
|---|---|
| a Topic: invalid, not allowed in its pool | its Kafka topic is held: nothing is done to it |
| a Topic names a pool that does not exist | the same, in every cluster: nobody knows in which |
| a pool names a cluster that does not exist | its Topics' topics are held likewise |
| a broker in two pools | both pools stand still, with all their topics |
| a pool or the KafkaCluster is invalid | the whole cluster is held: there is nothing to plan from |
| two KafkaClusters of one ensemble and chroot | both are held |

A Topic that is being deleted is no longer declared. If it says Delete, its Kafka topic is doomed;
whether it is really its own tells the ownership record, later. A pool that is being deleted counts
until it is gone. Of a KafkaCluster that is being deleted nothing is worked towards any more.

An assembly exists for every cluster that is named, also where there is no KafkaCluster of that
name; "" is that of Topics whose pool does not exist.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from poolkeeper.model.specs import (
    Claim,
    DeletionPolicy,
    Desired,
    KafkaClusterSpec,
    ResourcePoolSpec,
    TopicSpec,
)
from poolkeeper.resources.checks.cross_checks import config_problems
from poolkeeper.resources.kinds import kafka_cluster, resource_pool
from poolkeeper.resources.kinds import topic as kinds_topic
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.parse import selectors
from poolkeeper.resources.parse.addresses import ensemble
from poolkeeper.resources.parse.selectors import Labels
from poolkeeper.text import cut

PROBLEMS_SHOWN_MAX = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why nothing is done for a resource until a person changes it, or another one."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Assembly:
    """Everything of one cluster.

    `desired` is None where nothing may be worked towards; `hold` then says why, as a sentence, and
    `leaving` whether it is because the KafkaCluster is being deleted: then a run is to be ended.
    `verdicts` are of single resources. `objects` are all of them, the deleted ones included.
    `abandoned`: definitions of ours are being removed, and resources go that nobody deleted.
    """

    name: str
    cluster: CustomResource | None = None
    desired: Desired | None = None
    hold: str = ""
    leaving: bool = False
    abandoned: bool = False
    objects: Mapping[ObjectKey, CustomResource] = field(default_factory=dict)
    verdicts: Mapping[ObjectKey, Verdict] = field(default_factory=dict)


@dataclass(slots=True)
class _Parts:
    """One cluster's resources as they are sorted out."""

    cluster: CustomResource | None = None
    pools: list[CustomResource] = field(default_factory=list)
    topics: list[CustomResource] = field(default_factory=list)
    verdicts: dict[ObjectKey, Verdict] = field(default_factory=dict)


def assemble(
    objects: Iterable[CustomResource],
    namespaces: Mapping[str, Labels] | None = None,
    *,
    abandoned: bool = False,
) -> Mapping[str, Assembly]:
    """The resources by cluster; `namespaces` are the labels of each, as far as they are known.

    `abandoned`: our definitions are being removed, so that nothing is doomed.
    """
    parts: dict[str, _Parts] = {}
    cluster_of: dict[str, str] = {}
    named_later = []
    for each in objects:
        if each.kind == kafka_cluster.KIND:
            parts.setdefault(each.name, _Parts()).cluster = each
        elif each.kind == resource_pool.KIND:
            cluster_of[each.name] = each.refers
            parts.setdefault(each.refers, _Parts()).pools.append(each)
        elif each.kind == kinds_topic.KIND:
            named_later.append(each)
    for each in named_later:
        home = cluster_of.get(each.refers, "")
        lived = cluster_of.get((each.status or {}).get("pool", ""), home)
        part = parts.setdefault(lived, _Parts())
        part.topics.append(each)
        if home not in ("", lived):
            part.verdicts[each.key] = _elsewhere(each, lived, home)
    astray = _astray(parts)
    twins = _twins(parts)
    found = (
        _assembly(name, part, namespaces or {}, astray, twins.get(name, ""))
        for name, part in sorted(parts.items())
    )
    return {each.name: _abandoned(each) if abandoned else each for each in found}


def _abandoned(assembly: Assembly) -> Assembly:
    desired = assembly.desired and replace(assembly.desired, doomed=frozenset())
    return replace(assembly, desired=desired, abandoned=True)


def _assembly(
    name: str,
    parts: _Parts,
    namespaces: Mapping[str, Labels],
    astray: frozenset[Claim],
    twin: str,
) -> Assembly:
    verdicts = _verdicts(name, parts, namespaces, twin)
    leaving = parts.cluster is not None and parts.cluster.deleting
    hold = _hold(name, parts, verdicts, twin, leaving=leaving)
    everything = [*([parts.cluster] if parts.cluster else []), *parts.pools, *parts.topics]
    return Assembly(
        name=name,
        cluster=parts.cluster,
        desired=None if hold else _desired(parts, verdicts, astray),
        hold=hold,
        leaving=leaving,
        objects={each.key: each for each in everything},
        verdicts=verdicts,
    )


def _verdicts(
    name: str, parts: _Parts, namespaces: Mapping[str, Labels], twin: str
) -> dict[ObjectKey, Verdict]:
    verdicts = {**parts.verdicts, **_pool_verdicts(name, parts)}
    spec = parts.cluster.spec if parts.cluster else None
    version = spec.kafka_version if isinstance(spec, KafkaClusterSpec) else None
    declared = {p.name: p.spec for p in parts.pools if isinstance(p.spec, ResourcePoolSpec)}
    for topic in parts.topics:
        said = _topic_verdict(name, parts, declared, topic, namespaces, version)
        if said:
            verdicts.setdefault(topic.key, said)
    if parts.cluster is not None and (said := _cluster_verdict(parts.cluster, declared, twin)):
        verdicts[parts.cluster.key] = said
    return verdicts


def _desired(
    parts: _Parts, verdicts: Mapping[ObjectKey, Verdict], astray: frozenset[Claim]
) -> Desired | None:
    if parts.cluster is None or not isinstance(parts.cluster.spec, KafkaClusterSpec):
        return None
    sound, held, doomed = [], set(astray), set()
    for topic in parts.topics:
        spec = topic.spec
        if topic.key in verdicts or not isinstance(spec, TopicSpec):
            held |= set() if topic.deleting else {_claim(topic)}
        elif not topic.deleting:
            sound.append(spec)
        elif spec.deletion_policy is DeletionPolicy.DELETE:
            doomed.add(_claim(topic))
    declared = (p.spec for p in parts.pools if isinstance(p.spec, ResourcePoolSpec))
    return Desired(
        parts.cluster.spec,
        tuple(sorted(declared, key=lambda spec: spec.name)),
        tuple(sorted(sound, key=lambda spec: (spec.topic, spec.owner))),
        frozenset(held),
        frozenset(doomed),
    )


def _astray(parts: Mapping[str, _Parts]) -> frozenset[Claim]:
    """Claims of Topics that belong to no cluster that exists, or to none that anybody can tell."""
    return frozenset(
        _claim(topic)
        for part in parts.values()
        if part.cluster is None
        for topic in part.topics
        if not topic.deleting
    )


def _claim(topic: CustomResource) -> Claim:
    """What the Topic names; "" if that cannot be read: its record may still tell."""
    named = topic.spec.topic if isinstance(topic.spec, TopicSpec) else ""
    return Claim(named, f"{topic.namespace}/{topic.name}")


def _elsewhere(topic: CustomResource, lived: str, home: str) -> Verdict:
    """A Topic never leads from one Kafka cluster to another: that would be two Kafka topics."""
    now = (topic.status or {}).get("pool", "")
    message = (
        f"spec.poolRef: ResourcePool {topic.refers} is of KafkaCluster {home}, the topic lives in"
        f" {now} of {lived}; name a pool of {lived}, or delete this Topic and create another"
    )
    return Verdict("OtherCluster", message)


def _twins(parts: Mapping[str, _Parts]) -> dict[str, str]:
    """KafkaClusters that share their ensemble and chroot with another, and the name of that."""
    seen: dict[tuple[str, str], str] = {}
    twins: dict[str, str] = {}
    for name, part in sorted(parts.items()):
        if part.cluster is None or not isinstance(part.cluster.spec, KafkaClusterSpec):
            continue
        servers, chroot = ensemble(part.cluster.spec.zookeeper.connect)
        for server in sorted(servers):
            other = seen.setdefault((server, chroot), name)
            if other != name:
                twins.setdefault(name, other)
                twins.setdefault(other, name)
    return twins


def _hold(
    name: str,
    parts: _Parts,
    verdicts: Mapping[ObjectKey, Verdict],
    twin: str,
    *,
    leaving: bool,
) -> str:
    """Why nothing is worked towards in the whole cluster, or an empty text."""
    if not name:
        return "no KafkaCluster is named"
    if parts.cluster is None:
        return f"KafkaCluster {name} does not exist"
    if leaving:
        return f"KafkaCluster {name} is being deleted"
    if not parts.cluster.sound:
        return f"KafkaCluster {name} is invalid: {verdicts[parts.cluster.key].message}"
    if twin:
        return f"KafkaClusters {name} and {twin} are of one ensemble and chroot"
    invalid = sorted(pool.name for pool in parts.pools if not pool.sound)
    if invalid:
        return f"ResourcePool {', '.join(invalid)} is invalid"
    return ""


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
        message = f"spec.defaultPool: no ResourcePool {default} of this cluster exists"
        return Verdict("NoSuchPool", message)
    return None


def _pool_verdicts(name: str, parts: _Parts) -> dict[ObjectKey, Verdict]:
    verdicts: dict[ObjectKey, Verdict] = {}
    holders: dict[int, list[CustomResource]] = {}
    for pool in parts.pools:
        if not pool.sound or not isinstance(pool.spec, ResourcePoolSpec):
            verdicts[pool.key] = _invalid(pool)
            continue
        if parts.cluster is None:
            message = f"spec.clusterRef: KafkaCluster {name} does not exist"
            verdicts[pool.key] = Verdict("NoSuchCluster", message)
        for broker in pool.spec.brokers:
            holders.setdefault(broker, []).append(pool)
    shared: dict[ObjectKey, list[str]] = {}
    for broker, both in sorted(holders.items()):
        for pool in both if len(both) > 1 else ():
            others = ", ".join(sorted(other.name for other in both if other is not pool))
            shared.setdefault(pool.key, []).append(f"broker {broker} is in pool {others} too")
    for key, sentences in shared.items():
        message = f"nothing moves in this pool: {_few(sentences)}"
        verdicts.setdefault(key, Verdict("BrokerConflict", message))
    return verdicts


def _topic_verdict(
    name: str,
    parts: _Parts,
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
            return None  # the pool is unreadable: that is a reason to wait, not this Topic's fault
        return Verdict("NoSuchPool", f"spec.poolRef: ResourcePool {topic.spec.pool} does not exist")
    if parts.cluster is None:
        message = f"KafkaCluster {name} of ResourcePool {pool.name} does not exist"
        return Verdict("NoSuchCluster", message)
    if not selectors.admits(
        pool.allowed_namespaces, topic.namespace, namespaces.get(topic.namespace, {})
    ):
        message = f"ResourcePool {pool.name} takes no Topics of namespace {topic.namespace}"
        return Verdict("NamespaceNotAllowed", f"{message} (spec.allowedNamespaces)")
    wrong = _config_problems(tuple(topic.spec.config.items()), version)
    if wrong:
        return Verdict("Invalid", _few(wrong))
    return None


@functools.lru_cache(maxsize=1024)
def _config_problems(config: tuple[tuple[str, str], ...], version: str | None) -> tuple[str, ...]:
    """Thousands of topics share a few configs."""
    found = config_problems(dict(config), version)
    return tuple(f"spec.config[{key}]: {problem}" for key, problem in found.items())


def _invalid(each: CustomResource) -> Verdict:
    return Verdict("Invalid", _few([str(problem) for problem in each.problems]) or "is unreadable")


def _few(sentences: Iterable[str]) -> str:
    return "; ".join(cut(sentences, PROBLEMS_SHOWN_MAX, grouped=False))
