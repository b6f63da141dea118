"""Reads a folder of manifests into the declared state of each cluster, or all its problems.

Documents of other API groups are ignored and counted: a checkout holds more than our resources. A
document of our API group must have one of our kinds, so that a typo does not make a resource
disappear.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from poolkeeper.errors import InvalidInput, Problem, Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.names import API_VERSION, GROUP
from poolkeeper.model.rebalances import RebalanceSpec
from poolkeeper.model.specs import KafkaClusterSpec, ResourcePoolSpec, TopicSpec
from poolkeeper.resources.checks import cross_checks, folder_conflicts
from poolkeeper.resources.checks.cross_checks import Readings
from poolkeeper.resources.kinds.kafka_cluster import read_cluster
from poolkeeper.resources.kinds.rebalance import read_rebalance
from poolkeeper.resources.kinds.resource_pool import read_pool
from poolkeeper.resources.kinds.topic import read_topic
from poolkeeper.resources.parse import files, schemas, yaml_documents
from poolkeeper.resources.parse.body import ParsedBody
from poolkeeper.resources.parse.locations import Places
from poolkeeper.resources.parse.schema_messages import shown, suggestion
from poolkeeper.resources.parse.yaml_documents import YamlDocument

_NEAR = 0.85
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
    """Manifests without problems; `ignored` counts the documents of other API groups.

    `rebalances`: how many there are. Only the operator carries them out.
    """

    clusters: tuple[KafkaClusterSpec, ...] = ()
    pools: tuple[ResourcePoolSpec, ...] = ()
    topics: tuple[TopicSpec, ...] = ()
    ignored: int = 0
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
            raise Refused(f"the manifests hold several clusters (expected one of {names})")
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
    return _checked(others, sorted_out.ignored, found), twice


def load_texts(texts: Mapping[str, str], problems: Iterable[Problem] = ()) -> Manifests:
    """Read texts by file name; `problems` are those found while reading the files."""
    sorted_out, found = _sort_out(texts, problems)
    return _checked(sorted_out.readings(), sorted_out.ignored, found)


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


def _checked(readings: Readings, ignored: int, found: list[Problem]) -> Manifests:
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
        ignored=ignored,
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
        self.ignored = 0

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
            message = f"is {shown(body)} (expected a resource with apiVersion and kind)"
            self.problems.append(places.problem((), message))
            return
        kind, version = body.get("kind"), body.get("apiVersion")
        if _is_list(kind, version):
            self._take_list(body.get("items"), document)
            return
        if problem := _unknown_kind(body, places):
            self.problems.append(problem)
        elif not _is_ours(version):
            self.ignored += 1
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
            found = "is missing" if items is None else f"is {shown(items)}"
            self.problems.append(places.problem(("items",), f"{found} (expected a list)"))
            items = ()
        for number, item in enumerate(items):
            self.take(YamlDocument(item, places.inside(("items", number))))
        self.problems += document.problems


def _specs(readings: Iterable[ParsedBody[Any]]) -> Iterator[Any]:
    return (reading.spec for reading in readings if reading.spec)


def _is_ours(version: Any) -> bool:
    return isinstance(version, str) and version.partition("/")[0] == GROUP


def _is_list(kind: Any, version: Any) -> bool:
    if not isinstance(kind, str):
        return False
    ours = _is_ours(version) and kind in {f"{name}List" for name in schemas.kinds()}
    return ours or (kind == "List" and version == "v1")


def _no_text(body: Mapping[str, Any], name: str, expected: str, places: Places) -> Problem:
    found = "is missing" if body.get(name) is None else f"is {shown(body[name])}"
    return places.problem((name,), f"{found} (expected {expected})")


def _unknown_kind(body: Mapping[str, Any], places: Places) -> Problem | None:
    """The problem with `apiVersion` and `kind`; None for our kinds and for other API groups."""
    kind, version = body.get("kind"), body.get("apiVersion")
    if not isinstance(version, str):
        return _no_text(body, "apiVersion", API_VERSION, places)
    if not isinstance(kind, str):
        return _no_text(body, "kind", "the kind of resource", places)
    group = version.partition("/")[0]
    if group != GROUP:
        # Groups without a dot are Kubernetes' own, and have no kind of our names.
        near = "." not in group and kind in schemas.kinds()
        near = near or difflib.SequenceMatcher(None, group, GROUP).ratio() >= _NEAR
        hint = f"{shown(version)} is unknown (did you mean {API_VERSION!r}?)"
        return places.problem(("apiVersion",), hint) if near else None
    if version != API_VERSION:
        message = f"{shown(version)} is unknown (expected {API_VERSION})"
        return places.problem(("apiVersion",), message)
    if kind not in schemas.kinds():
        message = f"{shown(kind)} is unknown {suggestion(kind, schemas.kinds())}"
        return places.problem(("kind",), message)
    return None
