"""Topics with Manual placement: brought to their declared lists, and never moved otherwise."""

from collections.abc import Mapping

from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning import losses
from poolkeeper.planning.moves import FACTOR, POOL, Change
from poolkeeper.planning.scopes import Role, Scope
from poolkeeper.planning.spreading import Usable
from poolkeeper.planning.topic_problems import PinnedElsewhere
from poolkeeper.planning.witnesses import Member, Obstacle


def pinned_changes(
    reach: Scope, cluster: Cluster, usable: Mapping[str, Usable]
) -> tuple[list[Change], list[PlanProblem]]:
    """Partitions that are not where they are pinned, and topics whose pins cannot be."""
    changes, problems = [], []
    for name, home in reach.homes.items():
        spec = home.spec
        if home.role is not Role.PINNED or spec is None:
            continue
        assignment = spec.assignment or ()
        wanted = {broker for replicas in assignment for broker in replicas}
        absent = sorted(wanted - set(usable[home.pool].racks))
        if absent:
            problems.append(_unusable(reach, spec, absent))
            continue
        blocked = []
        for p in cluster.topics[name].partitions[: len(assignment)]:
            target = assignment[p.partition]
            if p.replicas != target and not losses.has_source(p, cluster.brokers):
                blocked.append(TopicPartition(name, p.partition))
            elif p.replicas != target:
                grown = len(target) != len(p.replicas)
                causes = ((FACTOR if grown else POOL, "its replicas are pinned elsewhere"),)
                changes.append(Change(name, p.partition, target, causes, lambda brokers: 0))
        if blocked:
            problems.append(losses.blocked_problem(home.pool, blocked))
    return changes, problems


def _unusable(reach: Scope, spec: TopicSpec, absent: list[int]) -> PlanProblem:
    pool = reach.pools[spec.pool]

    def obstacle(broker: int) -> Obstacle | None:
        if broker not in pool.brokers:
            return None
        return Obstacle.DRAINED if broker in pool.drain else Obstacle.DOWN

    brokers = tuple(Member(broker, obstacle=obstacle(broker)) for broker in absent)
    law = "drained" if pool.drain & set(absent) else "pool"
    return PlanProblem(pool.name, law, PinnedElsewhere(pool.name, brokers), spec.topic)
