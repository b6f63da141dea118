"""Sorts resources into the declared state of each Kafka cluster, with the problems of each.

In a folder one problem stops everything: a person reads the message. On the API server resources
come and go by themselves, and another rule holds: *an invalid resource moves nothing else*.

| what is wrong | consequence |
|---|---|
| a Topic is invalid | nothing is done to its Kafka topic |
| a Topic declares more than `limits` allow | it holds nothing; its topic stays in its place |
| a Topic is not allowed in its pool | it holds nothing; a topic that it owns stays in its place |
| a Topic names a pool that does not exist | the same, in every cluster: its own is unknown |
| a pool names a cluster that does not exist | the same for all its Topics |
| a broker is in two pools | nothing moves in both pools, with all their topics |
| a pool that is being deleted has a broker of another pool | it is as if it were gone already |
| a pool or the KafkaCluster is invalid | the whole cluster is on hold: it cannot be planned |
| two KafkaClusters have one ensemble and chroot | both are on hold |

What a KafkaCluster leaves open of its tenants is filled in here, strictly: whoever takes over what
exists is approved of, and names that begin with _ are the operator's own. In a folder, where one
person writes all, nothing is asked.

A Topic that is being deleted is no longer declared. With deletionPolicy Delete its Kafka topic is
to be deleted; the ownership record tells later whether it really belongs to the Topic. A pool that
is being deleted counts until it is gone, which is when no Topic names it any more. Where it was
renamed, the pool of the new name has its brokers at once: one Topic that nobody edits would keep
all others waiting. For a KafkaCluster that is being deleted no desired state is declared any more.

Every cluster that a resource names has an assembly, also without a KafkaCluster of that name. The
assembly "" is that of Topics whose pool does not exist.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.specs import DeletionPolicy, KafkaClusterSpec, ResourcePoolSpec, TopicSpec
from poolkeeper.model.tenancy import AdoptionPolicy
from poolkeeper.resources.checks.cross_checks import config_problems
from poolkeeper.resources.checks.declaration_limits import beyond_limits
from poolkeeper.resources.kinds import kafka_cluster, resource_pool
from poolkeeper.resources.kinds import topic as kinds_topic
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.parse import selectors
from poolkeeper.resources.parse.addresses import ensemble
from poolkeeper.resources.parse.schema_messages import guess
from poolkeeper.resources.parse.selectors import Labels
from poolkeeper.text import cut

PROBLEMS_SHOWN_MAX = 5
_HOLDS_NOTHING = frozenset(
    ("NoSuchPool", "NoSuchCluster", "NamespaceNotAllowed", "OtherCluster", "LimitExceeded")
)
"""Verdicts on Topics that have no place in the cluster: these hold no topic of others back."""


@frozen
class Verdict:
    """Why nothing is done for a resource until a person changes this or another resource."""

    reason: str
    message: str


@frozen
class Assembly:
    """All resources of one cluster.

    `desired` is None while nothing may be worked towards; `hold` is then the reason, as a sentence.
    `leaving`: the KafkaCluster is being deleted, so its run is to be ended. `verdicts` are the
    problems of single resources. `objects` are all resources, those being deleted included.
    `abandoned`: our CRDs are being removed, so resources disappear that nobody deleted.
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
    """The resources of one cluster while they are sorted.

    `known_pools`, `known_clusters`: the names of all there are, for who meant another one.
    """

    cluster: CustomResource | None = None
    known_pools: Sequence[str] = ()
    known_clusters: Sequence[str] = ()
    pools: list[CustomResource] = field(default_factory=list)
    topics: list[CustomResource] = field(default_factory=list)
    verdicts: dict[ObjectKey, Verdict] = field(default_factory=dict)


def assemble(
    objects: Iterable[CustomResource],
    namespaces: Mapping[str, Labels] | None = None,
    *,
    own_namespace: str = "",
    abandoned: bool = False,
) -> Mapping[str, Assembly]:
    """The resources by cluster; `namespaces` are the known labels of each namespace.

    `own_namespace`: the operator's. `abandoned`: our CRDs are being removed, so no Kafka topic is
    to be deleted.
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
    for part in parts.values():
        part.cluster = part.cluster and _with_tenancy(part.cluster, own_namespace)
    for each in named_later:
        home = cluster_of.get(each.refers, "")
        lived = cluster_of.get((each.status or {}).get("pool", ""), home)
        part = parts.setdefault(lived, _Parts())
        part.topics.append(each)
        if home not in ("", lived):
            part.verdicts[each.key] = _elsewhere(each, lived, home)
    clusters = sorted(name for name, part in parts.items() if part.cluster is not None)
    for part in parts.values():
        part.known_pools, part.known_clusters = sorted(cluster_of), clusters
    astray = _astray(parts)
    twins = _twins(parts)
    found = (
        _assembly(name, part, namespaces or {}, astray, twins.get(name, ""))
        for name, part in sorted(parts.items())
    )
    return {each.name: _abandoned(each) if abandoned else each for each in found}


def _with_tenancy(cluster: CustomResource, own_namespace: str) -> CustomResource:
    """The KafkaCluster with what holds for tenants where nothing is declared."""
    spec = cluster.spec
    if not isinstance(spec, KafkaClusterSpec):
        return cluster
    policy = spec.adoption.policy or AdoptionPolicy.APPROVE
    own = (own_namespace,) if own_namespace else ()
    systems = own if spec.system_topics is None else spec.system_topics
    adoption = replace(spec.adoption, policy=policy)
    return replace(cluster, spec=replace(spec, adoption=adoption, system_topics=systems))


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
    replaced = _replaced(parts.pools)
    declared = {
        p.name: p.spec
        for p in parts.pools
        if isinstance(p.spec, ResourcePoolSpec) and p.name not in replaced
    }
    for topic in parts.topics:
        if topic.sound and (taken := replaced.get(topic.refers)):
            said = None if topic.deleting else _of_replaced_pool(topic.refers, taken)
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


def _desired(
    parts: _Parts, verdicts: Mapping[ObjectKey, Verdict], astray: frozenset[Claim]
) -> Desired | None:
    if parts.cluster is None or not isinstance(parts.cluster.spec, KafkaClusterSpec):
        return None
    replaced = _replaced(parts.pools)
    held = {claim for claim in astray if not claim.topic}
    sound, doomed, lost = [], set[Claim](), set(astray - held)
    for topic in parts.topics:
        spec, verdict = topic.spec, verdicts.get(topic.key)
        if verdict is not None and verdict.reason in _HOLDS_NOTHING:
            lost |= set() if topic.deleting else {_claim(topic)}
        elif verdict is not None or not isinstance(spec, TopicSpec):
            held |= set() if topic.deleting else {_claim(topic)}
        elif not topic.deleting:
            sound.append(spec)
        elif spec.deletion_policy is DeletionPolicy.DELETE:
            doomed.add(_claim(topic))
    declared = (
        p.spec
        for p in parts.pools
        if isinstance(p.spec, ResourcePoolSpec) and p.name not in replaced
    )
    return Desired(
        parts.cluster.spec,
        tuple(sorted(declared, key=lambda spec: spec.name)),
        tuple(sorted(sound, key=lambda spec: (spec.topic, spec.owner))),
        frozenset(held),
        frozenset(doomed),
        frozenset(lost),
        seen_id=seen_id(parts.cluster),
    )


def seen_id(cluster: CustomResource | None) -> str | None:
    """Return the id that a Kafka cluster had when its status was written, if that is known."""
    status = (cluster.status if cluster else None) or {}
    found = status.get("clusterId")
    return found if isinstance(found, str) and found else None


def _astray(parts: Mapping[str, _Parts]) -> frozenset[Claim]:
    """Claims of Topics whose cluster does not exist or is unknown.

    Those that cannot be read are among them, without the name of a Kafka topic.
    """
    return frozenset(
        _claim(topic)
        for part in parts.values()
        if part.cluster is None
        for topic in part.topics
        if not topic.deleting
    )


def _claim(topic: CustomResource) -> Claim:
    """The Kafka topic that the Topic names; "" if unreadable: its ownership record may tell."""
    named = topic.spec.topic if isinstance(topic.spec, TopicSpec) else ""
    return Claim(named, f"{topic.namespace}/{topic.name}")


def _elsewhere(topic: CustomResource, lived: str, home: str) -> Verdict:
    """The verdict on a Topic that moved to another Kafka cluster.

    A Topic never leads from one cluster to another: those would be two Kafka topics.
    """
    now = (topic.status or {}).get("pool", "")
    message = (
        f"spec.poolRef: ResourcePool {topic.refers} is of KafkaCluster {home}, the topic lives in"
        f" {now} of {lived}; name a pool of {lived}, or delete this Topic and create another"
    )
    return Verdict("OtherCluster", message)


def _twins(parts: Mapping[str, _Parts]) -> dict[str, str]:
    """The KafkaClusters that share ensemble and chroot with another one, and its name."""
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
    """Why the whole cluster is on hold, or an empty text."""
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
        meant = guess(default, sorted(declared))
        message = f"spec.defaultPool: no ResourcePool {default} of this cluster exists"
        return Verdict("NoSuchPool", _asked(message, meant))
    return None


def _pool_verdicts(name: str, parts: _Parts) -> dict[ObjectKey, Verdict]:
    verdicts: dict[ObjectKey, Verdict] = {}
    holders: dict[int, list[CustomResource]] = {}
    replaced = _replaced(parts.pools)
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
    shared: dict[ObjectKey, list[str]] = {}
    for broker, both in sorted(holders.items()):
        for pool in both if len(both) > 1 else ():
            others = ", ".join(sorted(other.name for other in both if other is not pool))
            shared.setdefault(pool.key, []).append(f"broker {broker} is in pool {others} too")
    for key, sentences in shared.items():
        message = f"nothing moves in this pool: {_few(sentences)}"
        verdicts.setdefault(key, Verdict("BrokerConflict", message))
    return verdicts


def _replaced(pools: Sequence[CustomResource]) -> Mapping[str, Sequence[str]]:
    """The pools that are being deleted, of which other pools have brokers, and those pools."""
    going = [(p.name, p.spec) for p in pools if p.deleting and isinstance(p.spec, ResourcePoolSpec)]
    if not going:
        return {}
    staying = [
        (p.name, p.spec) for p in pools if not p.deleting and isinstance(p.spec, ResourcePoolSpec)
    ]
    taken = {
        name: sorted(other for other, theirs in staying if {*spec.brokers} & {*theirs.brokers})
        for name, spec in going
    }
    return {name: others for name, others in taken.items() if others}


def _of_replaced_pool(pool: str, others: Sequence[str]) -> Verdict:
    message = (
        f"spec.poolRef: ResourcePool {pool} is being deleted, its brokers are those of"
        f" {', '.join(others)} now; name another pool"
    )
    return Verdict("NoSuchPool", message)


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
            return None  # the pool is invalid: the Topic waits, but is not itself at fault
        message = f"spec.poolRef: ResourcePool {topic.spec.pool} does not exist"
        meant = guess(topic.spec.pool, parts.known_pools)
        return Verdict("NoSuchPool", _asked(message, meant))
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
