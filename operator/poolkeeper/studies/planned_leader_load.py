"""What producers write to each broker as a leader, before a plan and after it.

Consumers read from leaders too, so this is what a group that reads everything takes from a broker,
once for each such group. After the plan preferred replicas lead. A topic that gets partitions keeps
its load, spread evenly over all of them. Only topics count of which all rates are known.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.progress.after_plan import after_plan


class PlannedLeaderLoad(NamedTuple):
    """Bytes per second that producers write to what a broker leads."""

    broker: int
    before: float
    after: float


def planned_leader_loads(plan: Plan, cluster: Cluster) -> tuple[PlannedLeaderLoad, ...]:
    """The load of each broker that leads before or after; empty if no topic's rates are known."""
    before: defaultdict[int, float] = defaultdict(float)
    after: defaultdict[int, float] = defaultdict(float)
    rates = _rates(cluster)
    for name, each in rates.items():
        for partition, rate in zip(cluster.topics[name].partitions, each, strict=True):
            preferred = partition.replicas[0] if partition.replicas else -1
            leader = preferred if partition.leader is None else partition.leader
            before[leader] += rate
    for name, placed in after_plan(plan, cluster):
        known = rates.get(name, ())
        if known and len(placed) != len(known):
            known = (sum(known) / len(placed),) * len(placed)
        for partition_after, rate in zip(placed, known, strict=False):
            after[partition_after.replicas[0] if partition_after.replicas else -1] += rate
    brokers = sorted((before.keys() | after.keys()) - {-1})
    return tuple(PlannedLeaderLoad(id_, before[id_], after[id_]) for id_ in brokers)


def _rates(cluster: Cluster) -> Mapping[str, tuple[float, ...]]:
    """The rates of the partitions of each topic of which all are known."""
    found: dict[str, tuple[float, ...]] = {}
    for name, topic in cluster.topics.items():
        rates = [p.in_bytes_per_s for p in topic.partitions if p.in_bytes_per_s is not None]
        if rates and len(rates) == len(topic.partitions):
            found[name] = tuple(rates)
    return found
