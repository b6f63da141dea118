"""Topic bodies to specs, checked alone. `cross_checks` checks pool and config keys."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from poolkeeper.algorithms.internal_topics import (
    commits_need,
    config_problem,
    declaration_problem,
    is_declarable,
)
from poolkeeper.algorithms.names import topic_name_problem
from poolkeeper.model.specs import DeletionPolicy, Strategy, TopicSpec
from poolkeeper.model.topology import Replicas
from poolkeeper.resources.parse.body import ParsedBody, parse_body
from poolkeeper.resources.parse.locations import Findings, Path, Places
from poolkeeper.resources.parse.schema_messages import excerpt
from poolkeeper.text import count as counted

KIND = "Topic"
DEFAULT_NAMESPACE = "default"
_ASSIGNMENT: Path = ("spec", "placement", "assignment")
_NOWHERE = Places()
NODE_BYTES_MAX = 200 * 1024
"""What the lists of a topic may take in its znode."""
_LINE_BYTES, _ID_BYTES = 10, 2
"""What a list takes at least, and each broker id in it."""
CONFIG_CHARACTERS_MAX = 64 * 1024


def read_topic(body: Mapping[str, Any], places: Places = _NOWHERE) -> ParsedBody[TopicSpec]:
    """The spec, as far as the body is readable, and every problem."""
    return parse_body(KIND, body, places, _spec, DEFAULT_NAMESPACE)


def fits_znode(partitions: int, factor: int) -> bool:
    """Whether so many partitions can fit into a topic's znode, whatever its brokers are called."""
    return partitions * (_LINE_BYTES + _ID_BYTES * factor) <= NODE_BYTES_MAX


def assignment_problems(lists: Sequence[Sequence[int]]) -> list[tuple[int | None, str]]:
    """The problems of a manual assignment by partition; None stands for the whole assignment.

    Whether the brokers exist is checked elsewhere. `[[1, 2], [2, 2]]` gives `(1, "broker 2 is
    listed twice …")`.
    """
    problems: list[tuple[int | None, str]] = []
    for number, replicas in enumerate(lists):
        if not replicas:
            problems.append((number, "has no replica (expected at least one broker)"))
        for broker, count in Counter(replicas).items():
            if count > 1:
                problems.append((number, f"broker {broker} is listed twice (expected once)"))
    # The most frequent replication factor is taken as the intended one.
    factors = Counter(len(replicas) for replicas in lists if replicas)
    if len(factors) > 1:
        factor, _ = factors.most_common(1)[0]
        for number, replicas in enumerate(lists):
            if replicas and len(replicas) != factor:
                has = counted(len(replicas), "replica", grouped=False)
                message = f"has {has} (expected {factor} as the others)"
                problems.append((number, message))
    return problems


def _spec(body: Mapping[str, Any], findings: Findings) -> TopicSpec:
    spec, metadata = body["spec"], body["metadata"]
    topic = spec.get("topicName", metadata["name"])
    path: Path = ("spec", "topicName") if "topicName" in spec else ("metadata", "name")
    problem = topic_name_problem(topic) or declaration_problem(topic)
    findings.add(path, problem and f"{excerpt(topic)} {problem}")
    if is_declarable(topic):
        _check_internal(topic, spec, findings)
    _check_keys(spec, findings)
    _check_sizes(spec, findings)
    placement = spec["placement"]
    assignment = placement.get("assignment")
    _check_placement(spec, findings)
    return TopicSpec(
        name=metadata["name"],
        namespace=metadata.get("namespace", DEFAULT_NAMESPACE),
        topic=topic,
        pool=spec["poolRef"]["name"],
        partitions=spec.get("partitions"),
        replication_factor=spec.get("replicationFactor"),
        keyed=spec["keyed"],
        accept_key_remap_to=spec.get("acceptKeyRemapTo"),
        config=dict(sorted(spec["config"].items())),
        strategy=Strategy(placement["strategy"]),
        assignment=_assignment(assignment),
        deletion_policy=DeletionPolicy(spec["deletionPolicy"]),
        paused=spec["paused"],
        source=findings.places.source,
    )


def _assignment(lists: Sequence[Sequence[int]] | None) -> tuple[Replicas, ...] | None:
    return None if lists is None else tuple(tuple(replicas) for replicas in lists)


def _check_internal(topic: str, spec: Mapping[str, Any], findings: Findings) -> None:
    """Check an internal topic of Kafka: only pool, placement and replication factor may be set."""
    if "partitions" in spec:
        message = f"{topic} keeps the partitions that Kafka gave it (expected no number)"
        findings.add(("spec", "partitions"), message)
    if spec["deletionPolicy"] == DeletionPolicy.DELETE:
        message = f"{topic} cannot be deleted: Kafka does not run without it (expected Retain)"
        findings.add(("spec", "deletionPolicy"), message)
    for key, value in spec["config"].items():
        findings.add(("spec", "config", key), config_problem(topic, key, value))
    needed, factor = commits_need(spec["config"]), spec.get("replicationFactor")
    if factor is not None and needed > factor:
        message = (
            f"'{needed}' is more than its replicas: no commit succeeds (expected at most {factor})"
        )
        findings.add(("spec", "config", "min.insync.replicas"), message)


def _check_sizes(spec: Mapping[str, Any], findings: Findings) -> None:
    """Check what fits into no znode, whatever the cluster is; the schema says the same."""
    lists = spec["placement"].get("assignment") or ()
    partitions, factor = spec.get("partitions", 0), spec.get("replicationFactor", 1)
    for path, count, replicas in (
        (("spec", "partitions"), partitions, factor),
        (_ASSIGNMENT, len(lists), len(lists[0]) if lists else 0),
    ):
        if not fits_znode(count, replicas):
            each = counted(replicas, "replica", grouped=False)
            message = (
                f"{count} of {each} fit into no znode (expected at most 200 KiB, or nothing, to"
                " keep what Kafka has)"
            )
            findings.add(path, message)
    held = sum(len(key) + len(value) for key, value in spec["config"].items())
    if held > CONFIG_CHARACTERS_MAX:
        message = f"has {held} characters in all (expected at most {CONFIG_CHARACTERS_MAX})"
        findings.add(("spec", "config"), message)


def _check_keys(spec: Mapping[str, Any], findings: Findings) -> None:
    accepted, partitions = spec.get("acceptKeyRemapTo"), spec.get("partitions")
    path = ("spec", "acceptKeyRemapTo")
    if accepted is None:
        return
    if not spec["keyed"]:
        message = "the topic is not keyed (expected keyed: true, or nothing)"
        findings.add(path, message, ("spec", "keyed"))
    elif partitions is not None and accepted != partitions:
        findings.add(path, f"{accepted} is not the number of partitions (expected {partitions})")


def _check_placement(spec: Mapping[str, Any], findings: Findings) -> None:
    strategy, lists = spec["placement"]["strategy"], spec["placement"].get("assignment")
    if lists is None:
        if strategy == Strategy.MANUAL:
            message = "is missing (expected a list of broker ids for each partition)"
            findings.add(_ASSIGNMENT, message)
        return
    if strategy != Strategy.MANUAL:
        message = f"the strategy is {strategy} (expected strategy Manual with it)"
        findings.add(_ASSIGNMENT, message, ("spec", "placement", "strategy"))
    for number, message in assignment_problems(lists):
        findings.add(_ASSIGNMENT if number is None else (*_ASSIGNMENT, number), message)
    _check_counts(spec, lists, findings)


def _check_counts(
    spec: Mapping[str, Any], lists: Sequence[Sequence[int]], findings: Findings
) -> None:
    """Check an assignment against the declared partition count and replication factor."""
    partitions, factor = spec.get("partitions"), spec.get("replicationFactor")
    if partitions is not None and partitions != len(lists):
        has = counted(len(lists), "list", grouped=False)
        message = f"has {has} (expected {partitions}, one for each partition)"
        findings.add(_ASSIGNMENT, message)
    common = Counter(len(replicas) for replicas in lists if replicas).most_common(1)
    if factor is not None and common and common[0][0] != factor:
        message = f"{factor} contradicts the assignment (expected {common[0][0]}, or nothing)"
        findings.add(("spec", "replicationFactor"), message)
