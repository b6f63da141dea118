"""Brokers that a pool declares and that nobody has ever seen: typos, or brokers yet to come.

Offline checks cannot find them. If an id is mistyped, the broker that was meant is in no pool any
more, and all that it holds would be copied to the other brokers of the pool. So while a pool
declares a broker that nobody has seen, its topics stay that have replicas on live brokers of no
pool. Where a broker is yet to come there are none, and nothing waits for it.
"""

from collections.abc import Mapping
from dataclasses import replace

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.facts.pools import StraysStay
from poolkeeper.planning.problem.pool_membership import PlanScope, TopicRole


def unseen_brokers(
    desired: Desired, cluster: Cluster, records: Records
) -> dict[str, tuple[int, ...]]:
    """By pool, ascending; a drained broker is left out: it may be removed already."""
    wanted = {pool.name: {*pool.brokers} - pool.drain for pool in desired.pools}
    unseen = set().union(*wanted.values()) - cluster.brokers.keys()
    unseen -= {id_ for id_, record in records.brokers.items() if record.was_live}
    if unseen:
        unseen -= _holding(cluster)
    found = {name: tuple(sorted(unseen & brokers)) for name, brokers in wanted.items()}
    return {name: brokers for name, brokers in found.items() if brokers}


def keep_strays(
    scope: PlanScope, cluster: Cluster, desired: Desired, unseen: Mapping[str, tuple[int, ...]]
) -> PlanScope:
    """The scope in which topics of pools with `unseen` brokers stay that may lie where they should.

    One problem for each such pool names them.
    """
    homeless = cluster.brokers.keys() - {b for pool in desired.pools for b in pool.brokers}
    if not unseen or not homeless:
        return scope
    homes, problems = dict(scope.homes), list(scope.problems)
    for pool, brokers in sorted(unseen.items()):
        strays = {
            name: found
            for name, topic in sorted(cluster.topics.items())
            if homes[name].pool == pool
            and homes[name].role is TopicRole.PLACED
            and (found := _held_by(topic, homeless))
        }
        for name in strays:
            homes[name] = replace(homes[name], role=TopicRole.UNTOUCHED)
        if strays:
            outside = tuple(sorted(set().union(*strays.values())))
            facts = StraysStay(brokers, outside, Names.of([*strays]))
            problems.append(PlanProblem(pool, "", facts))
    return replace(scope, homes=homes, problems=tuple(problems))


def _held_by(topic: Topic, brokers: set[int]) -> set[int]:
    return {b for partition in topic.partitions for b in partition.replicas} & brokers


def _holding(cluster: Cluster) -> set[int]:
    partitions = (each for topic in cluster.topics.values() for each in topic.partitions)
    return {broker for partition in partitions for broker in partition.replicas}
