"""Brokers that a pool declares and that nobody has ever seen: typos, or brokers yet to come.

Offline checks cannot find them. Such a broker is given nothing, as one that is away, and nobody
waits for it. It is told apart from those, as a pool that names the wrong one lacks another one.
"""

from collections.abc import Iterator

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.facts.pools import BrokersNeverSeen


def problems(
    desired: Desired, cluster: Cluster, records: Records, gone: frozenset[int]
) -> Iterator[PlanProblem]:
    """Yield one problem for each pool; a drained broker is left out: it may be removed already."""
    named = {broker for pool in desired.pools for broker in set(pool.brokers) - pool.drain}
    known = {id_ for id_, record in records.brokers.items() if record.was_live}
    unseen = named - cluster.brokers.keys() - gone - known
    if unseen:
        unseen -= _holding(cluster)
    for pool in desired.pools if unseen else ():
        if own := sorted(unseen.intersection(pool.brokers) - pool.drain):
            facts = BrokersNeverSeen(tuple(own), tuple(sorted(cluster.brokers)))
            yield PlanProblem(pool.name, "", facts)


def _holding(cluster: Cluster) -> set[int]:
    partitions = (each for topic in cluster.topics.values() for each in topic.partitions)
    return {broker for partition in partitions for broker in partition.replicas}
