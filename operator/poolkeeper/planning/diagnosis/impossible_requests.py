"""Requests that the live cluster shows to be wrong: no plan can meet them as they stand.

The offline checks cannot find them. The command line reports them as errors, like any other invalid
input. The operator reports them as problems of its plan and carries out everything else; so do the
plans of Rebalances and of fleets with those of Topics, as one Topic must not hold up all others.
"""

from collections.abc import Iterator

from poolkeeper.errors import Problem
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import ResourcePoolSpec, SourceLocation, TopicSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.facts.new_partitions import keys_that_move
from poolkeeper.text import count


def problems(
    desired: Desired, cluster: Cluster, records: Records, gone: frozenset[int] = frozenset()
) -> tuple[Problem, ...]:
    """All such requests, each with the place of the document that makes it."""
    found = [*of_pools(desired, cluster, records, gone)]
    for spec in desired.topics:
        found.extend(_partitions(spec, cluster))
    return tuple(found)


def of_pools(
    desired: Desired, cluster: Cluster, records: Records, gone: frozenset[int] = frozenset()
) -> tuple[Problem, ...]:
    """Such requests of ResourcePools alone."""
    found: list[Problem] = []
    named = {broker for pool in desired.pools for broker in pool.brokers}
    unseen = named - cluster.brokers.keys() - gone
    holding = gone | _holding(cluster) if unseen else gone
    for pool in desired.pools:
        found.extend(_unknown_brokers(pool, cluster, records, holding))
    return tuple(found)


def _holding(cluster: Cluster) -> frozenset[int]:
    partitions = (each for topic in cluster.topics.values() for each in topic.partitions)
    return frozenset(broker for partition in partitions for broker in partition.replicas)


def _unknown_brokers(
    pool: ResourcePoolSpec, cluster: Cluster, records: Records, holding: frozenset[int]
) -> Iterator[Problem]:
    """Brokers that were never seen; a drained one is left out, as it may be removed already."""
    for broker in pool.brokers:
        record = records.brokers.get(broker)
        seen = broker in cluster.brokers or broker in holding or broker in pool.drain
        if not seen and (record is None or record.rack is None):
            live = ", ".join(map(str, sorted(cluster.brokers)))
            expected = f"one of {live}" if live else "a live broker, and there is none"
            yield _problem(
                pool.source,
                "spec.brokers",
                f"broker {broker} is not live and holds nothing (expected {expected})",
            )


def _partitions(spec: TopicSpec, cluster: Cluster) -> Iterator[Problem]:
    topic, wanted = cluster.topics.get(spec.topic), spec.declared_partitions
    if topic is None or wanted is None or topic.name in cluster.deleting:
        return
    found = len(topic.partitions)
    if spec.manual is None:
        field, said, them = "spec.partitions", f"is {wanted}", "them"
    else:
        field, said = "spec.placement.assignment", f"has {count(wanted, 'list', grouped=False)}"
        them = "as many partitions"
    if wanted < found:
        yield _problem(
            spec.source,
            field,
            f"{said} (expected at least {found}: topic {spec.topic} has {them}, "
            "and partitions never shrink)",
        )
    if wanted > found and spec.keyed and spec.accept_key_remap_to != wanted:
        yield _problem(
            spec.source,
            field,
            f"{said} (expected {found}, or acceptKeyRemapTo: {wanted}: "
            f"the topic is keyed, {keys_that_move(found, wanted)})",
        )


def _problem(source: SourceLocation, field: str, message: str) -> Problem:
    return Problem(source.file, source.line, field, message)
