"""Reads a folder of manifests into the declared state of each cluster, or all its problems.

Documents of other API groups are left alone and counted: a checkout holds more than our resources.
What was meant as ours is a problem (`document_heads`): a typo makes no resource disappear.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from poolkeeper.errors import InvalidInput, Problem, Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.rebalances import RebalanceSpec
from poolkeeper.model.specs import KafkaClusterSpec, ResourcePoolSpec, TopicSpec
from poolkeeper.resources.checks import cross_checks, document_heads, folder_conflicts
from poolkeeper.resources.checks.cross_checks import Readings
from poolkeeper.resources.kinds.kafka_cluster import read_cluster
from poolkeeper.resources.kinds.rebalance import read_rebalance
from poolkeeper.resources.kinds.resource_pool import read_pool
from poolkeeper.resources.kinds.topic import read_topic
from poolkeeper.resources.parse import files, yaml_documents
from poolkeeper.resources.parse.body import ParsedBody
from poolkeeper.resources.parse.schema_messages import excerpt
from poolkeeper.resources.parse.yaml_documents import YamlDocument

_CHECKS: tuple[Callable[[Readings], Iterator[Problem]], ...] = (
    cross_checks.references,
    cross_checks.brokers_protocol,
    cross_checks.topics_in_pools,
    cross_checks.configs,
    cross_checks.quotas,
    folder_conflicts.twice_declared,
    folder_conflicts.shared_ensembles,
    folder_conflicts.shared_brokers,
    folder_conflicts.shared_topics,
    folder_conflicts.shared_claims,
)


@frozen
class Manifests:
    """Manifests without problems.

    `others`: the kind and the `apiVersion` of each document of another API group. `rebalances`: how
    many there are. Only the operator carries them out.
    """

    clusters: tuple[KafkaClusterSpec, ...] = ()
    pools: tuple[ResourcePoolSpec, ...] = ()
    topics: tuple[TopicSpec, ...] = ()
    others: tuple[str, ...] = ()
    rebalances: int = 0

    @property
    def documents(self) -> int:
        """The number of resources."""
        return len(self.clusters) + len(self.pools) + len(self.topics)

    def desired(self, cluster: str | None = None) -> Desired:
        """The declared state of that cluster, or of the only one; raises `Refused` otherwise."""
        spec = self._cluster(cluster)
        pools = tuple(pool for pool in self.pools if pool.cluster == spec.name)
        names = {pool.name for pool in pools}
        return Desired(spec, pools, tuple(topic for topic in self.topics if topic.pool in names))

    def _cluster(self, name: str | None) -> KafkaClusterSpec:
        names = ", ".join(cluster.name for cluster in self.clusters)
        if not self.clusters:
            raise Refused("the manifests hold no KafkaCluster (expected one)")
        if name is None and len(self.clusters) > 1:
            raise Refused(
                f"the manifests hold several clusters (expected --cluster with one of {names})"
            )
        for cluster in self.clusters:
            if name is None or cluster.name == name:
                return cluster
        raise Refused(f"the manifests hold no cluster {name!r} (expected one of {names})")


def load(paths: Sequence[Path]) -> Manifests:
    """Read all files and folders; raises `InvalidInput` with all problems of all of them."""
    texts, problems = files.texts(paths)
    return load_texts(texts, problems)


def lone_cluster(paths: Sequence[Path], name: str | None = None) -> KafkaClusterSpec | None:
    """Return the KafkaCluster of that name, or the only one, whatever else is wrong beside it.

    None if its manifest is wrong itself or comes twice; without a name also if there may be others,
    in files that cannot be read.
    """
    texts, unread = files.texts(paths)
    sorted_out, _ = _sort_out(texts, ())
    if name is None and (unread or sorted_out.unread):
        return None
    found = [each for each in sorted_out.clusters if name is None or each.name == name]
    return found[0].sound if len(found) == 1 else None


def load_fleet(paths: Sequence[Path]) -> tuple[Manifests, Mapping[str, str]]:
    """Read the manifests of many clusters; one that is declared twice does not stop the others.

    Returns the others, and by name of each that is declared twice the reason. Raises `InvalidInput`
    with the problems of all files if there are any other ones, or no cluster is left.
    """
    sorted_out, found = _sort_out(*files.texts(paths))
    readings = sorted_out.readings()
    twice = folder_conflicts.clusters_declared_twice(readings)
    others = folder_conflicts.without_clusters(readings, twice)
    if not others.clusters:
        others, twice = readings, {}
    return _checked(others, sorted_out.others, found), twice


def load_texts(texts: Mapping[str, str], problems: Iterable[Problem] = ()) -> Manifests:
    """Read texts by file name; `problems` are those found while reading the files."""
    sorted_out, found = _sort_out(texts, problems)
    return _checked(sorted_out.readings(), sorted_out.others, found)


def _sort_out(
    texts: Mapping[str, str], problems: Iterable[Problem]
) -> tuple["_DocumentSorter", list[Problem]]:
    """The documents of all texts, and the problems of each by itself."""
    found = list(problems)
    sorted_out = _DocumentSorter(is_blind=bool(found))
    for file, text in texts.items():
        parsed, unreadable = yaml_documents.parse(text, file)
        found += unreadable
        if unreadable:
            sorted_out.unread.append(text)
        for document in parsed:
            sorted_out.take(document)
    found += sorted_out.problems
    told = {(problem.file, problem.line, problem.field) for problem in found}
    for reading in sorted_out.readings().all:
        # For an ambiguous scalar the type error adds nothing.
        found += (p for p in reading.problems if (p.file, p.line, p.field) not in told)
    return sorted_out, found


def _checked(readings: Readings, others: Sequence[str], found: list[Problem]) -> Manifests:
    """The resources, which agree with each other; raises `InvalidInput` with all problems."""
    for check in _CHECKS:
        found += check(readings)
    if found:
        raise InvalidInput(found)
    return Manifests(
        clusters=tuple(sorted(_specs(readings.clusters), key=lambda spec: spec.name)),
        pools=tuple(sorted(_specs(readings.pools), key=lambda spec: spec.name)),
        topics=tuple(sorted(_specs(readings.topics), key=lambda spec: (spec.topic, spec.owner))),
        rebalances=len(readings.rebalances),
        others=tuple(others),
    )


class _DocumentSorter:
    """The documents by kind, in the order in which they come."""

    def __init__(self, *, is_blind: bool) -> None:
        self.is_blind = is_blind
        self.clusters: list[ParsedBody[KafkaClusterSpec]] = []
        self.pools: list[ParsedBody[ResourcePoolSpec]] = []
        self.topics: list[ParsedBody[TopicSpec]] = []
        self.rebalances: list[ParsedBody[RebalanceSpec]] = []
        self.problems: list[Problem] = []
        self.unread: list[str] = []
        self.others: list[str] = []

    def readings(self) -> Readings:
        return Readings(
            tuple(self.clusters),
            tuple(self.pools),
            tuple(self.topics),
            tuple(self.rebalances),
            tuple(self.unread),
            self.is_blind,
        )

    def take(self, document: YamlDocument) -> None:
        body, places = document.body, document.places
        if not isinstance(body, dict):
            message = f"is {excerpt(body)} (expected a resource with apiVersion and kind)"
            self.problems.append(places.problem((), message))
            return
        if document_heads.is_list(body):
            self._take_list(body.get("items"), document)
            return
        kind = body.get("kind")
        if problem := document_heads.head_problem(body, places):
            self.problems.append(problem)
        elif not document_heads.is_ours(body["apiVersion"]):
            self.others.append(document_heads.head_of(body))
            return
        elif kind == "KafkaCluster":
            self.clusters.append(read_cluster(body, places))
        elif kind == "ResourcePool":
            self.pools.append(read_pool(body, places))
        elif kind == "Rebalance":
            self.rebalances.append(read_rebalance(body, places))
        else:
            self.topics.append(read_topic(body, places))
        self.problems += document.problems

    def _take_list(self, items: Any, document: YamlDocument) -> None:
        places = document.places
        if not isinstance(items, list):
            found = "is missing" if items is None else f"is {excerpt(items)}"
            self.problems.append(places.problem(("items",), f"{found} (expected a list)"))
            items = ()
        for number, item in enumerate(items):
            self.take(YamlDocument(item, places.inside(("items", number))))
        self.problems += document.problems


def _specs(readings: Iterable[ParsedBody[Any]]) -> Iterator[Any]:
    return (reading.spec for reading in readings if reading.spec)
