"""Topics with Manual placement: brought to their declared lists, and never moved otherwise."""

from collections.abc import Mapping

from poolkeeper.model.plans import PlanProblem, Urgency
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.constraints import sources
from poolkeeper.planning.constraints.capacity import EligibleBrokers
from poolkeeper.planning.facts.conflicts import Member, obstacle_of
from poolkeeper.planning.facts.topics import PinnedElsewhere
from poolkeeper.planning.layout.changes import Change
from poolkeeper.planning.problem.pool_membership import PlanScope, TopicRole


def manual_changes(
    scope: PlanScope, cluster: Cluster, usable: Mapping[str, EligibleBrokers]
) -> tuple[list[Change], list[PlanProblem]]:
    """The changes to the assigned lists, and the topics whose assignment cannot be met."""
    changes: list[Change] = []
    problems = []
    for home in scope.homes.values():
        spec = home.spec
        if home.role is not TopicRole.MANUAL or spec is None:
            continue
        wanted = {broker for replicas in spec.assignment or () for broker in replicas}
        absent = sorted(wanted - set(usable[home.pool].racks))
        if absent:
            problems.append(_unusable(scope, spec, absent))
            continue
        found, no_source = _changes(spec, cluster)
        changes += found
        if no_source:
            problems.append(sources.no_source_problem(home.pool, no_source))
    return changes, problems


def _changes(spec: TopicSpec, cluster: Cluster) -> tuple[list[Change], list[TopicPartition]]:
    """The changes of one topic, and its partitions that should change and have no source."""
    found, no_source = [], []
    partitions = cluster.topics[spec.topic].partitions
    for p, target in zip(partitions, spec.assignment or (), strict=False):
        if p.replicas == target:
            continue
        if not sources.has_source(p, cluster.brokers):
            no_source.append(TopicPartition(spec.topic, p.partition))
            continue
        grown = len(target) != len(p.replicas)
        causes = (
            (Urgency.FACTOR if grown else Urgency.POOL, "its assignment names other replicas"),
        )
        found.append(Change(spec.topic, p.partition, target, causes, lambda brokers: 0))
    return found, no_source


def _unusable(scope: PlanScope, spec: TopicSpec, absent: list[int]) -> PlanProblem:
    pool = scope.pools[spec.pool]
    brokers = tuple(
        Member(broker, obstacle=obstacle_of(pool, broker, ()) if broker in pool.brokers else None)
        for broker in absent
    )
    law = "drained" if pool.drain & set(absent) else "pool"
    return PlanProblem(pool.name, law, PinnedElsewhere(pool.name, brokers), spec.topic)
