"""The manifest of a new Topic from the command line's options.

A manual assignment has the format of Kafka's own tool: the brokers of a partition separated by
colons, partitions by commas. `1:2:3,2:3:4` is two partitions of three replicas each.
"""

from collections.abc import Sequence
from dataclasses import replace

from poolkeeper.errors import InvalidInput, Problem
from poolkeeper.model.specs import Strategy, TopicSpec
from poolkeeper.model.topology import Replicas
from poolkeeper.resources.kinds.topic import DEFAULT_NAMESPACE, assignment_problems, read_topic
from poolkeeper.resources.parse.body import name_problem
from poolkeeper.resources.write import manifests
from poolkeeper.resources.write.names import resource_name
from poolkeeper.text import count

ASSIGNMENT = "--replica-assignment"
_BROKER_MAX = 2**31 - 1
_OPTIONS = {
    "metadata.name": "NAME",
    "spec.topicName": "NAME",
    "spec.poolRef.name": "--pool",
    "spec.partitions": "--partitions",
    "spec.replicationFactor": "--replication-factor",
}


def manifest(
    name: str,
    pool: str,
    assignment: str | None = None,
    partitions: int | None = None,
    replication_factor: int | None = None,
) -> str:
    """The YAML of one Topic; raises `InvalidInput` with all problems.

    With an assignment, partition count and replication factor may be omitted; if given, they must
    agree with it.
    """
    lists: tuple[Replicas, ...] | None = None
    problems: list[str] = []
    if assignment is not None:
        lists, problems = parse_assignment(assignment)
        problems += _count_problems(lists, partitions, replication_factor)
    spec = TopicSpec(
        name=resource_name(name),
        namespace=DEFAULT_NAMESPACE,
        topic=name,
        pool=pool,
        partitions=partitions,
        replication_factor=replication_factor,
    )
    found = [Problem("", 0, ASSIGNMENT, message) for message in problems]
    for problem in read_topic(manifests.topic_body(spec)).problems:
        found.append(Problem("", 0, _OPTIONS.get(problem.field, problem.field), problem.message))
    if pool and (wrong := name_problem(pool)):
        found.append(Problem("", 0, "--pool", wrong))
    if found:
        raise InvalidInput(found)
    if lists is not None:
        spec = replace(spec, strategy=Strategy.MANUAL, assignment=lists)
    return manifests.text_of([manifests.topic_body(spec)])


def parse_assignment(text: str) -> tuple[tuple[Replicas, ...], list[str]]:
    """The replicas of each partition, as far as readable, and every problem.

    `parse_assignment("1:2,2:3")` gives `(((1, 2), (2, 3)), [])`.
    """
    lists: list[Replicas] = []
    problems: list[str] = []
    for partition, part in enumerate(text.split(",")):
        replicas = []
        for broker in part.split(":") if part.strip() else ():
            number = broker.strip()
            if number.isascii() and number.isdigit() and int(number[:11]) <= _BROKER_MAX:
                replicas.append(int(number))
            else:
                message = f"{number!r} is no broker id (expected such as 1:2:3,2:3:4)"
                problems.append(f"partition {partition}: {message}")
        lists.append(tuple(replicas))
    if not problems:
        problems = [
            message if partition is None else f"partition {partition}: {message}"
            for partition, message in assignment_problems(lists)
        ]
    return tuple(lists), problems


def _count_problems(
    lists: Sequence[Replicas], partitions: int | None, factor: int | None
) -> list[str]:
    problems = []
    if partitions is not None and partitions != len(lists):
        has = count(len(lists), "partition", grouped=False)
        problems.append(f"has {has} (expected {partitions} as --partitions says)")
    if factor is not None and all(len(replicas) != factor for replicas in lists):
        problems.append(f"contradicts --replication-factor {factor} (expected the same, or one)")
    return problems
