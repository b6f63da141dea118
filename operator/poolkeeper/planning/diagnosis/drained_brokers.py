"""Drained brokers that keep replicas of topics that nobody may move.

Who drains a broker switches it off once it is empty. So what stays on it is told, although paused
topics and topics of nobody's are left as they are: they are as declared, and the broker is not.
"""

from collections.abc import Collection, Iterator, Mapping

from poolkeeper.model.columns.partition_queries import brokers_of
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.specs import ResourcePoolSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.facts.pools import BrokersNotEmptied
from poolkeeper.planning.problem.pool_membership import TopicHome, TopicRole


def problems(
    desired: Desired, cluster: Cluster, homes: Mapping[str, TopicHome], told: Collection[str]
) -> Iterator[PlanProblem]:
    """Yield one problem for each pool.

    `told`: topics that are deleted, or of which another problem says what is left undone.
    """
    pools = [pool for pool in desired.pools if pool.drain]
    if not pools:
        return
    staying = [
        name
        for name, home in sorted(homes.items())
        if home.role is TopicRole.UNTOUCHED and name not in told and name not in cluster.deleting
    ]
    paused = {spec.topic for spec in desired.topics if spec.paused}
    for pool in pools:
        if (kept := _kept(pool, cluster, staying, paused)) is not None:
            yield PlanProblem(pool.name, "drained", kept)


def _kept(
    pool: ResourcePoolSpec, cluster: Cluster, names: Collection[str], paused: Collection[str]
) -> BrokersNotEmptied | None:
    """What stays on the pool's drained brokers."""
    held: dict[str, list[int]] = {}
    for name in names:
        partitions = cluster.topics[name].partitions
        if not pool.drain.isdisjoint(brokers_of([partitions])):
            replicas = (broker for each in partitions for broker in each.replicas)
            held[name] = [broker for broker in replicas if broker in pool.drain]
    if not held:
        return None
    of_others = [name for name in held if name not in paused]
    return BrokersNotEmptied(
        tuple(sorted({broker for found in held.values() for broker in found})),
        sum(map(len, held.values())),
        Names.of([name for name in held if name in paused]),
        Names.of(of_others),
    )
