"""Manifests of an existing cluster, as a start: applying them changes nothing.

The KafkaCluster has mode PlanOnly and manual approval. One pool has all brokers, and no balance
goals; a broker that is gone is included if a replica list still names it. Each topic has a Topic
with what all of its partitions have in common. A comment lists what is left out: internal topics,
topics that are being deleted or cannot be read, config keys that belong to the executor or that no
manifest may declare.
"""

from collections.abc import Mapping, Sequence

from poolkeeper.algorithms.names import metric_name, ownership_problem, topic_name_problem
from poolkeeper.errors import Refused
from poolkeeper.model.columns.partition_queries import brokers_of, factors_of, numbers_of
from poolkeeper.model.specs import (
    BrokersSpec,
    KafkaClusterSpec,
    RackPolicy,
    ResourcePoolSpec,
    TopicSpec,
    ZooKeeperSpec,
)
from poolkeeper.model.topic_config import validation
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.model.versions import SUPPORTED, KafkaVersion, releases, support_problem
from poolkeeper.resources.kinds.topic import DEFAULT_NAMESPACE, fits_znode
from poolkeeper.resources.write import manifests
from poolkeeper.resources.write.names import resource_name

_AS_FOUND = "rackPolicy: partitions that are not spread over racks stay so; Spread moves them."
POOLS = "pools.yaml"
UNKNOWN_CONNECT = "change-me:2181"


def manifests_of(
    cluster: Cluster,
    connect: str | None = None,
    bootstrap: Sequence[str] = (),
    namespace: str = DEFAULT_NAMESPACE,
) -> dict[str, str]:
    """The manifests by file name; without `connect` (from a snapshot) with a placeholder."""
    version = _version(cluster.kafka_version)
    name = resource_name(cluster.name)
    files = {"cluster.yaml": _cluster(cluster, name, version, connect, bootstrap)}
    if brokers := _brokers(cluster):
        pool = ResourcePoolSpec(f"{name[:240].rstrip('-.')}-default", name, brokers, goals=())
        files[POOLS] = pool_text(pool)
        files["topics.yaml"] = _topics(cluster, pool.name, namespace, version)
    return {file: text for file, text in files.items() if text}


def pool_text(pool: ResourcePoolSpec) -> str:
    """Return the manifest of the pool with all brokers, with comments on what keeps it still."""
    comment = "All brokers. Nothing is balanced until `balance` is removed or names goals."
    if pool.rack_policy is RackPolicy.AS_FOUND:
        comment += f"\n{_AS_FOUND}"
    return manifests.text_of([manifests.pool_body(pool)], comment)


def _cluster(
    cluster: Cluster,
    name: str,
    version: str | None,
    connect: str | None,
    bootstrap: Sequence[str],
) -> str:
    spec = KafkaClusterSpec(
        name=name,
        zookeeper=ZooKeeperSpec(connect or UNKNOWN_CONNECT),
        brokers=BrokersSpec(tuple(bootstrap)) if bootstrap else None,
        kafka_version=version,
        cluster_id=cluster.id or None,
    )
    body = manifests.cluster_body(spec)
    # Defaults, written out for the reader: nothing happens until these two are changed.
    body["spec"] |= {"mode": spec.mode.value, "approval": {"policy": spec.approval.policy.value}}
    comment = "" if connect else "Not known from a snapshot: spec.zookeeper.connect."
    return manifests.text_of([body], comment)


def _topics(cluster: Cluster, pool: str, namespace: str, version: str | None) -> str:
    bodies = []
    left_out = []
    metric_names: dict[str, str] = {}
    for name, topic in sorted(cluster.topics.items()):
        reason = _reason_against(name, cluster)
        twin = None if reason else metric_names.setdefault(metric_name(name), name)
        if twin and twin != name:
            reason = f"collides with topic {twin}"
        if reason:
            left_out.append(f"Left out: topic {name} {reason}")
            continue
        config, undeclared = _config(topic.config or {}, version)
        left_out += (f"Left out: topic {name}, config {key}" for key in undeclared)
        bodies.append(manifests.topic_body(_topic(topic, pool, namespace, config)))
    left_out += (f"Left out: topic {name} cannot be read" for name in sorted(cluster.damaged))
    left_out += (
        f"Left out: topic {name} changed while it was read" for name in sorted(cluster.torn)
    )
    return manifests.text_of(bodies, "\n".join(left_out)) if bodies else ""


def _reason_against(name: str, cluster: Cluster) -> str | None:
    if ownership_problem(name):
        return "is Kafka's own"
    if name in cluster.deleting:
        return "is being deleted"
    if topic_name_problem(name):
        return "has a name that Kafka no longer takes"
    return None


def _topic(topic: Topic, pool: str, namespace: str, config: Mapping[str, str]) -> TopicSpec:
    factors = set(factors_of(topic.partitions))
    count = len(topic.partitions)
    whole = numbers_of(topic.partitions) == list(range(count))
    fits = fits_znode(count, max(factors, default=1))
    factor = factors.pop() if len(factors) == 1 else None
    return TopicSpec(
        name=resource_name(topic.name),
        namespace=namespace,
        topic=topic.name,
        pool=pool,
        partitions=count if whole and count and fits else None,
        replication_factor=factor or None,
        config=config,
    )


def _config(config: Mapping[str, str], version: str | None) -> tuple[dict[str, str], list[str]]:
    """The config keys that may be declared, and those that may not (ours not counted)."""
    declared = {k: v for k, v in sorted(config.items()) if not validation.is_owned_by_executor(k)}
    release = KafkaVersion.parse(version) if version else releases(SUPPORTED)[-1]
    problems = validation.check_all(declared, release)
    kept = {key: value for key, value in declared.items() if key not in problems}
    return kept, sorted(problems)


def _brokers(cluster: Cluster) -> tuple[int, ...]:
    named = brokers_of([topic.partitions for topic in cluster.topics.values()])
    return tuple(sorted(named | set(cluster.brokers)))


def _version(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        version = KafkaVersion.parse(text)
    except Refused:
        return None
    return None if support_problem(version) else text
