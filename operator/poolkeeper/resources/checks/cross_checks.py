"""Checks across several resources: references, config keys, and topics against pools.

Two that claim the same thing, a broker in two pools for example, are for `folder_conflicts`; what a
plan makes of such pools is said in `planning.problem.pool_membership`.

An invalid resource still counts as existing, so that references to it are not reported as well. But
nothing is checked against the contents of an invalid pool or cluster.

Config keys are checked for the cluster's `kafkaVersion`. Where it is unset, only keys and values
that no supported version accepts are problems here. A plan judges configs again, by the releases
that the brokers report or may run (`planning.constraints.topic_configs`).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from poolkeeper.errors import Problem, Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.rebalances import RebalanceSpec
from poolkeeper.model.specs import KafkaClusterSpec, ResourcePoolSpec, Strategy, TopicSpec
from poolkeeper.model.topic_config import validation
from poolkeeper.model.versions import SUPPORTED, KafkaVersion, releases
from poolkeeper.resources.kinds.resource_pool import unfit_text
from poolkeeper.resources.parse.body import ParsedBody
from poolkeeper.resources.parse.locations import Path
from poolkeeper.resources.parse.schema_messages import suggestion

_DECLARE = "declare spec.kafkaVersion of its KafkaCluster, or see `poolkeeper plan`"
_ASSIGNMENT: Path = ("spec", "placement", "assignment")


@frozen
class Readings:
    """All resources that were read from one set of files, in order.

    `unread`: the texts of files that could not be read as YAML. A resource that is named in one may
    be declared there. `is_blind`: a file or folder could not be read at all, and any resource may
    be declared there.
    """

    clusters: tuple[ParsedBody[KafkaClusterSpec], ...] = ()
    pools: tuple[ParsedBody[ResourcePoolSpec], ...] = ()
    topics: tuple[ParsedBody[TopicSpec], ...] = ()
    rebalances: tuple[ParsedBody[RebalanceSpec], ...] = ()
    unread: tuple[str, ...] = ()
    is_blind: bool = False

    @property
    def all(self) -> tuple[ParsedBody[Any], ...]:
        """The resources of every kind."""
        return (*self.clusters, *self.pools, *self.topics, *self.rebalances)

    def may_declare(self, name: str) -> bool:
        """Whether a file that could not be read may declare a resource of this name."""
        return self.is_blind or any(name in text for text in self.unread)


def references(readings: Readings) -> Iterator[Problem]:
    """References to resources that do not exist, or that belong to another cluster.

    Nothing is said of a resource that a file which could not be read may declare.
    """
    clusters = {reading.name for reading in readings.clusters}
    pools = {reading.name: reading for reading in readings.pools}
    for pool in readings.pools:
        name = pool.spec.cluster if pool.spec else None
        if name is not None and name not in clusters and not readings.may_declare(name):
            yield _unknown(pool, ("spec", "clusterRef", "name"), name, clusters)
    for topic in readings.topics:
        name = topic.spec.pool if topic.spec else None
        if name is not None and name not in pools and not readings.may_declare(name):
            yield _unknown(topic, ("spec", "poolRef", "name"), name, pools)
    for cluster in readings.clusters:
        name = cluster.spec.default_pool if cluster.spec else None
        if name is not None and (name in pools or not readings.may_declare(name)):
            yield from _default_pool(cluster, name, pools)


def _default_pool(
    cluster: ParsedBody[KafkaClusterSpec],
    name: str,
    pools: Mapping[str, ParsedBody[ResourcePoolSpec]],
) -> Iterator[Problem]:
    path = ("spec", "defaultPool")
    if name not in pools:
        yield _unknown(cluster, path, name, pools)
    elif (spec := pools[name].spec) and spec.cluster != cluster.name:
        message = f"pool {name!r} is of cluster {spec.cluster!r} (expected a pool of this one)"
        yield cluster.places.problem(path, message)


def brokers_protocol(readings: Readings) -> Iterator[Problem]:
    """Fields that need the cluster's `spec.brokers`, where it is unset."""
    without = {c.name for c in readings.clusters if c.sound and c.sound.brokers is None}
    for pool in readings.pools:
        if pool.spec is None or pool.spec.cluster not in without:
            continue
        expected = f"(expected spec.brokers in KafkaCluster {pool.spec.cluster!r})"
        message = f"log directories are known from the brokers alone {expected}"
        if pool.spec.drain_log_dirs:
            yield pool.places.problem(("spec", "drainLogDirs"), message)
        if any(goal.kind.value == "logDirs" for goal in pool.spec.goals):
            yield pool.places.problem(("spec", "balance", "logDirs"), message)


def topics_in_pools(readings: Readings) -> Iterator[Problem]:
    """Topics that do not fit their pool: replication factor, brokers, namespaces."""
    pools = {pool.name: pool.sound for pool in readings.pools}
    for topic in readings.topics:
        pool = pools.get(topic.spec.pool) if topic.spec else None
        if topic.spec and pool:
            yield from _replication(topic, topic.spec, pool)
            yield from _brokers_outside(topic, pool)
            yield from _namespace(topic, topic.spec, pool)


def configs(readings: Readings) -> Iterator[Problem]:
    """Config keys and values that the cluster's version does not accept."""
    cluster_of = {pool.name: pool.spec.cluster for pool in readings.pools if pool.spec}
    versions = {
        cluster.name: cluster.sound.kafka_version for cluster in readings.clusters if cluster.sound
    }
    judged: dict[tuple[str | None, tuple[tuple[str, str], ...]], dict[str, str]] = {}
    for topic in readings.topics:
        if topic.spec is None or not topic.spec.config:
            continue
        version = versions.get(cluster_of.get(topic.spec.pool, ""))
        asked = (version, tuple(topic.spec.config.items()))
        if asked not in judged:  # thousands of topics share a few configs
            judged[asked] = config_problems(topic.spec.config, version)
        for key, message in judged[asked].items():
            yield topic.places.problem(("spec", "config", key), message)


def quotas(readings: Readings) -> Iterator[Problem]:
    """Pools whose Topics exceed their quotas; only declared partition counts are added up."""
    topics: dict[str, list[TopicSpec]] = defaultdict(list)
    for topic in readings.topics:
        if topic.spec:
            topics[topic.spec.pool].append(topic.spec)
    for pool in readings.pools:
        limits = pool.sound.quotas if pool.sound else None
        if limits is None:
            continue
        named = topics[pool.name]
        path: Path = ("spec", "quotas")
        yield from _over(pool, path, limits.topics, limits.partitions, named)
        for namespace, inner in limits.per_namespace.items():
            at = (*path, "perNamespace", namespace)
            within = [topic for topic in named if topic.namespace == namespace]
            yield from _over(pool, at, inner.topics, inner.partitions, within)


def _unknown(
    reading: ParsedBody[Any], path: Path, name: str, known: Mapping[str, Any] | set[str]
) -> Problem:
    what = "cluster" if path[1] == "clusterRef" else "pool"
    message = f"{what} {name!r} does not exist {suggestion(name, sorted(known))}"
    return reading.places.problem(path, message)


def _replication(
    topic: ParsedBody[TopicSpec], spec: TopicSpec, pool: ResourcePoolSpec
) -> Iterator[Problem]:
    usable = len(set(pool.brokers) - pool.drain)
    factor = spec.replication_factor
    if spec.strategy is not Strategy.MANUAL and factor and factor > usable:
        yield topic.places.problem(("spec", "replicationFactor"), unfit_text(factor, usable))


def _brokers_outside(topic: ParsedBody[TopicSpec], pool: ResourcePoolSpec) -> Iterator[Problem]:
    members = frozenset(pool.brokers)
    for number, replicas in enumerate(topic.whole.assignment or ()):
        for broker in sorted(broker for broker in set(replicas) - members if broker >= 0):
            message = f"broker {broker} is not in pool {pool.name!r} (expected {_brokers(pool)})"
            yield topic.places.problem((*_ASSIGNMENT, number), message)


def _namespace(
    topic: ParsedBody[TopicSpec], spec: TopicSpec, pool: ResourcePoolSpec
) -> Iterator[Problem]:
    allowed = pool.allowed_namespaces
    # Only the API server knows the labels of namespaces.
    if allowed is None or allowed.selector is not None or allowed.names is None:
        return
    if spec.namespace not in allowed.names:
        names = ", ".join(sorted(allowed.names)) or "none"
        message = (
            f"pool {pool.name!r} takes no Topics of namespace {spec.namespace!r} (expected {names})"
        )
        yield topic.places.problem(("spec", "poolRef", "name"), message)


def _brokers(pool: ResourcePoolSpec) -> str:
    few = [str(broker) for broker in pool.brokers[:10]]
    return ", ".join(few) + (", …" if len(pool.brokers) > len(few) else "")


def config_problems(config: Mapping[str, str], version: str | None) -> dict[str, str]:
    """The problems of config keys and values, by key.

    Without a version, those that every supported version has.
    """
    if version is not None:
        try:
            return validation.check_all(config, KafkaVersion.parse(version))
        except Refused:
            return {}
    answers = [validation.check_all(config, release) for release in releases(SUPPORTED)]
    # The newest release's message is shown: it knows the most names.
    return {
        key: problem
        for key, problem in answers[-1].items()
        if all(key in answer for answer in answers)
    }


def doubtful_configs(
    topics: Iterable[TopicSpec], pools: Iterable[ResourcePoolSpec], undeclared: Collection[str]
) -> Iterator[str]:
    """Sentences about configs that only some supported releases take.

    `undeclared`: the clusters that declare no version. A plan judges by what their brokers report.
    """
    cluster_of = {pool.name: pool.cluster for pool in pools}
    for topic in topics:
        if cluster_of.get(topic.pool) not in undeclared:
            continue
        where = f"Topic {topic.owner}, spec.config"
        for key, problem in validation.check_all(topic.config, SUPPORTED).items():
            yield f"{where}[{key}]: {problem}; {_DECLARE}"
        for key, since in validation.doubtful_keys(topic.config, SUPPORTED).items():
            yield f"{where}[{key}]: brokers before Kafka {since} ignore it; {_DECLARE}"


def _over(
    pool: ParsedBody[ResourcePoolSpec],
    path: Path,
    topics_max: int | None,
    partitions_max: int | None,
    topics: Sequence[TopicSpec],
) -> Iterator[Problem]:
    partitions = sum(topic.partitions or 0 for topic in topics)
    if topics_max is not None and len(topics) > topics_max:
        message = f"declared: {len(topics)} (expected at most {topics_max})"
        yield pool.places.problem((*path, "topics"), message)
    if partitions_max is not None and partitions > partitions_max:
        message = f"declared: {partitions} (expected at most {partitions_max})"
        yield pool.places.problem((*path, "partitions"), message)
