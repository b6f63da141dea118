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
| one of two such is invalid, and its Kafka cluster was never read for it | the other goes on |
| one of two such is deleted, and only finalizers of others keep it | the other has its place |
| a Topic changes to a pool of another KafkaCluster | as if it named no pool, while both are there |

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

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace

from poolkeeper.frozen import frozen
from poolkeeper.model.addresses import ensemble
from poolkeeper.model.desired import Claim, Desired, WatchedNamespaces
from poolkeeper.model.specs import DeletionPolicy, KafkaClusterSpec, TopicSpec
from poolkeeper.model.tenancy import AdoptionPolicy
from poolkeeper.resources.checks.verdicts import (
    ClusterParts,
    Verdict,
    not_admitted,
    other_cluster_verdict,
    verdicts_of,
)
from poolkeeper.resources.kinds import kafka_cluster, resource_pool
from poolkeeper.resources.kinds import topic as kinds_topic
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.parse.selectors import Labels

_HOLDS_NOTHING = frozenset(
    ("NoSuchPool", "NoSuchCluster", "NamespaceNotAllowed", "OtherCluster", "LimitExceeded")
)
"""Verdicts on Topics that have no place in the cluster: these hold no topic of others back."""


@frozen
class Assembly:
    """All resources of one cluster.

    `desired` is None while nothing may be worked towards; `hold` is then the reason, as a sentence.
    `leaving`: the KafkaCluster is being deleted, so its run is to be ended. `replaced`: finalizers
    of others keep it, and another KafkaCluster has its ensemble: that one takes over whatever runs.
    `verdicts` are the problems of single resources. `not_admitted`: the Topics of namespaces that
    their pool does not admit. `objects` are all resources, those being deleted included.
    `abandoned`: why resources may be missing that nobody deleted, as a sentence; our CRDs are, or
    were, being removed.
    """

    name: str
    cluster: CustomResource | None = None
    desired: Desired | None = None
    hold: str = ""
    leaving: bool = False
    replaced: bool = False
    abandoned: str = ""
    objects: Mapping[ObjectKey, CustomResource] = field(default_factory=dict)
    verdicts: Mapping[ObjectKey, Verdict] = field(default_factory=dict)
    not_admitted: frozenset[ObjectKey] = frozenset()


def assemble(
    objects: Iterable[CustomResource],
    namespaces: Mapping[str, Labels] | None = None,
    *,
    own_namespace: str = "",
    watched: Collection[str] = (),
    abandoned: str = "",
) -> Mapping[str, Assembly]:
    """The resources by cluster; `namespaces` are the known labels of each namespace.

    `own_namespace`: the operator's. `watched`: the namespaces of all Topics that there may be
    among the objects; empty means all. `abandoned`: why no Kafka topic is to be deleted, as our
    CRDs are, or were, being removed; empty if they are not.
    """
    parts, twins = _parts_of(objects, own_namespace)
    astray = _astray(parts)
    found = (
        _assembly(name, part, namespaces or {}, astray, twins.get(name, ""))
        for name, part in sorted(parts.items())
    )
    seen = WatchedNamespaces(frozenset(watched))
    return {each.name: _with_watched(_abandoned(each, abandoned), seen) for each in found}


def _parts_of(
    objects: Iterable[CustomResource], own_namespace: str
) -> tuple[dict[str, ClusterParts], dict[str, str]]:
    """The resources by cluster, and the twins of KafkaClusters.

    A Topic goes where it lives, or where its pool is.
    """
    parts: dict[str, ClusterParts] = {}
    cluster_of: dict[str, str] = {}
    named_later = []
    for each in objects:
        if each.kind == kafka_cluster.KIND:
            parts.setdefault(each.name, ClusterParts()).cluster = each
        elif each.kind == resource_pool.KIND:
            cluster_of[each.name] = each.refers
            parts.setdefault(each.refers, ClusterParts()).pools.append(each)
        elif each.kind == kinds_topic.KIND:
            named_later.append(each)
    for part in parts.values():
        part.cluster = part.cluster and _with_tenancy(part.cluster, own_namespace)
    twins = _twins(parts)
    for each in named_later:
        home = cluster_of.get(each.refers, "")
        lived = _lived(each, parts, cluster_of) or home
        if home and _is_renamed(lived, home, parts, twins):
            lived = home
        part = parts.setdefault(lived, ClusterParts())
        part.topics.append(each)
        if home not in ("", lived):
            part.verdicts[each.key] = other_cluster_verdict(each, lived, home)
    clusters = sorted(name for name, part in parts.items() if part.cluster is not None)
    for part in parts.values():
        part.known_pools, part.known_clusters = sorted(cluster_of), clusters
    return parts, twins


def _lived(
    topic: CustomResource, parts: Mapping[str, ClusterParts], cluster_of: Mapping[str, str]
) -> str:
    """The cluster that a Topic's Kafka topic was last seen in; "" if none is known or there.

    While it moves from pool to pool it is in none, and an earlier release told of pools alone.
    """
    status = topic.status or {}
    seen = parts.get(status.get("cluster", ""))
    if seen is not None and seen.cluster is not None:
        return seen.cluster.name
    return cluster_of.get(status.get("pool", ""), "")


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


def _with_watched(assembly: Assembly, watched: WatchedNamespaces) -> Assembly:
    desired = assembly.desired and replace(assembly.desired, watched=watched)
    return replace(assembly, desired=desired)


def _abandoned(assembly: Assembly, why: str) -> Assembly:
    if not why:
        return assembly
    desired = assembly.desired and replace(assembly.desired, doomed=frozenset())
    return replace(assembly, desired=desired, abandoned=why)


def _assembly(
    name: str,
    parts: ClusterParts,
    namespaces: Mapping[str, Labels],
    astray: frozenset[Claim],
    twin: str,
) -> Assembly:
    verdicts = verdicts_of(name, parts, namespaces, twin)
    leaving = parts.cluster is not None and parts.cluster.deleting
    hold = _hold(name, parts, verdicts, twin, leaving=leaving)
    everything = [*([parts.cluster] if parts.cluster else []), *parts.pools, *parts.topics]
    return Assembly(
        name=name,
        cluster=parts.cluster,
        desired=None if hold else _desired(parts, verdicts, astray),
        hold=hold,
        leaving=leaving,
        replaced=leaving and bool(twin) and _is_kept_by_others(parts),
        objects={each.key: each for each in everything},
        verdicts=verdicts,
        not_admitted=not_admitted(parts, namespaces),
    )


def _desired(
    parts: ClusterParts, verdicts: Mapping[ObjectKey, Verdict], astray: frozenset[Claim]
) -> Desired | None:
    if parts.cluster is None or not isinstance(parts.cluster.spec, KafkaClusterSpec):
        return None
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
    declared = parts.declared_pools().values()
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


def _astray(parts: Mapping[str, ClusterParts]) -> frozenset[Claim]:
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


def _is_renamed(
    before: str, now: str, parts: Mapping[str, ClusterParts], twins: Mapping[str, str]
) -> bool:
    """Whether KafkaCluster `now` may be another name of `before`: that is gone, or has its Kafka.

    A Topic that names a pool of it is then not asked to stay where it lived, as nobody works there.
    """
    known = parts.get(before)
    return known is None or known.cluster is None or now == twins.get(before)


def _twins(parts: Mapping[str, ClusterParts]) -> dict[str, str]:
    """The KafkaClusters that share ensemble and chroot with another one, and its name.

    One that only finalizers of others keep has a twin, and is none.
    """
    seen: dict[tuple[str, str], str] = {}
    twins: dict[str, str] = {}
    living_first = sorted(parts.items(), key=lambda item: (_is_kept_by_others(item[1]), item[0]))
    for name, part in living_first:
        spec = part.cluster.spec if part.cluster else None
        if not isinstance(spec, KafkaClusterSpec) or not _may_have_worked(part.cluster):
            continue
        servers, chroot = ensemble(spec.zookeeper.connect)
        for server in sorted(servers):
            other = seen.setdefault((server, chroot), name)
            if other != name:
                twins.setdefault(name, other)
                if not _is_kept_by_others(part):
                    twins.setdefault(other, name)
    return twins


def _is_kept_by_others(parts: ClusterParts) -> bool:
    return parts.cluster is not None and bool(parts.cluster.keepers)


def _may_have_worked(cluster: CustomResource | None) -> bool:
    """Whether anything may be, or have been, done for a KafkaCluster: a run of it may be left."""
    return cluster is not None and (cluster.sound or seen_id(cluster) is not None)


def _hold(
    name: str,
    parts: ClusterParts,
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
