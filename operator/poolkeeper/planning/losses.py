"""What is lost with brokers that are gone: partitions that nobody else holds in sync.

A partition survives if a live broker that is not gone is in sync; where nobody told who is, if such
a broker holds it at all. A move cannot help the others: Kafka copies from a leader, and they have
none until a broker comes back or somebody allows an unclean election.
"""

from collections.abc import Collection, Iterator, Mapping

from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.topology import Cluster, Partition
from poolkeeper.planning.scopes import Home

_NAMED_MAX = 5


def problems(
    cluster: Cluster, homes: Mapping[str, Home], gone: Collection[int]
) -> Iterator[PlanProblem]:
    """One for each pool that loses something, with the brokers and the first partitions."""
    lost: dict[str, list[tuple[str, Partition]]] = {}
    for name in sorted(cluster.topics) if gone else ():
        for partition in cluster.topics[name].partitions:
            if partition.replicas and not _survives(partition, cluster, gone):
                pool = homes[name].pool if name in homes else ""
                lost.setdefault(pool, []).append((name, partition))
    for pool, found in lost.items():
        yield PlanProblem(pool, "", _message(found, gone))


def _survives(partition: Partition, cluster: Cluster, gone: Collection[int]) -> bool:
    holders = partition.isr or partition.replicas
    return any(broker in cluster.brokers and broker not in gone for broker in holders)


def _message(found: list[tuple[str, Partition]], gone: Collection[int]) -> str:
    brokers = sorted({b for _, p in found for b in p.isr or p.replicas if b in gone})
    names = [f"{name}-{partition.partition}" for name, partition in found]
    more = f" and {len(names) - _NAMED_MAX:,} more" if len(names) > _NAMED_MAX else ""
    one = len(names) == 1
    told = all(partition.isr is not None for _, partition in found)
    what = "the only replica in sync" if told else "the only replica known to be in sync"
    return (
        f"data is lost: broker{'s' if len(brokers) > 1 else ''} {', '.join(map(str, brokers))} held"
        f" {what} of {len(names):,} partition{'' if one else 's'}:"
        f" {', '.join(names[:_NAMED_MAX])}{more}"
    )
