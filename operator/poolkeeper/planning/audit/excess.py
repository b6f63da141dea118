"""The laws of placement, counted: how far a set of replica lists is from being lawful.

This code is for checking. The planner has code of its own, so that a fault in one of the two is
found by the other. It is slow and plain where that is possible.

A *state* maps (topic, partition) to its replica list. Its excess is a vector, one number per law,
in the order in which the laws rank. Vectors compare lexicographically, and less is better.

| law | excess |
|---|---|
| distinct | replicas that name a broker twice |
| pool | replicas outside the pool that the topic should live in |
| drained | replicas on drained brokers and on those that count as gone |
| racks | replicas to move until the partition's spread over the pool's live racks is most even |
| capacity | replicas above a broker's cap, MiB above its disk; the same for what headroom demands |
| quotas | topics and partitions above a pool's quotas, and above the cluster's limits if enforced |

Each topic counts in the pool that it should live in (its *home*), wherever its replicas are now.
Topics that no pool owns load brokers and obey no law of their own; under `EvacuateOnly` they obey
the third. The most even spread of r replicas fills the racks like water fills basins: every rack
holds L or L + 1, or as many as it has brokers if that is fewer.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.specs import LimitPolicy, Quotas
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.audit.headroom_excess import headroom_excess
from poolkeeper.planning.rules import MIB, AuditHome, Rules

ReplicasByPartition = Mapping[tuple[str, int], Replicas]


class Excesses(NamedTuple):
    """The excess by law, the highest law first; 0 is lawful."""

    distinct: int = 0
    pool: int = 0
    drained: int = 0
    racks: int = 0
    capacity: int = 0
    quotas: int = 0

    @property
    def of_lists(self) -> tuple[int, int, int, int]:
        """The first four laws, which concern one list alone."""
        return self[:4]

    def plus(self, other: "Excesses") -> "Excesses":
        """The sum of this excess and another."""
        return Excesses(*(a + b for a, b in zip(self, other, strict=True)))


LAWS = Excesses._fields


def partition_excess(
    rules: Rules, home: AuditHome, replicas: Replicas
) -> tuple[int, int, int, int]:
    """The excess of one list by the first four laws: distinct, pool, drained, racks."""
    if home.pool is None:
        evacuees = sum(broker in rules.to_empty for broker in replicas) if home.evacuate else 0
        return 0, 0, evacuees, 0
    members, to_empty = rules.members[home.pool], rules.to_empty
    distinct = frozenset(replicas)
    twice = len(replicas) - len(distinct)
    racks = 0
    if not home.manual:
        held = [rules.racks.get(broker) for broker in distinct]
        racks = rack_excess(held, rules.usable_racks[home.pool])
    if not twice:
        return 0, len(distinct - members), len(distinct & to_empty), racks
    return (
        twice,
        sum(broker not in members for broker in replicas),
        sum(broker in to_empty for broker in replicas),
        racks,
    )


def rack_excess(racks: Collection[str | None], sizes: Mapping[str, int]) -> int:
    """Replicas too many in some rack, compared to the most even spread over racks of these sizes.

    Four replicas in racks a, a, a, b, with two racks of three brokers: 1, as two each would do.
    """
    known = [rack for rack in racks if rack in sizes]
    if len(racks) <= len(sizes):
        return len(known) - len(set(known))
    held = Counter(known)
    level = _level(len(racks), sizes.values())
    spare = len(racks) - _fill(level, sizes.values())
    full = sum(max(0, held[rack] - size) for rack, size in sizes.items() if size <= level)
    over = sorted(
        (held[rack] - level for rack, size in sizes.items() if size > level), reverse=True
    )
    return full + sum(max(0, n - (i < spare)) for i, n in enumerate(over))


def _level(count: int, sizes: Collection[int]) -> int:
    """The level up to which that many replicas fill all racks at least."""
    level, highest = 0, max(sizes, default=0)
    while level < highest and _fill(level + 1, sizes) <= count:
        level += 1
    return level


def _fill(level: int, sizes: Collection[int]) -> int:
    """The replicas in racks of these sizes that are filled up to that level."""
    return sum(min(size, level) for size in sizes)


def excesses_by_pool(rules: Rules, state: ReplicasByPartition) -> dict[str, Excesses]:
    """The vector of every pool; under "" that of the whole cluster and of unowned topics."""
    totals = {name: [0, 0, 0, 0] for name in ("", *rules.pools)}
    held: Counter[int] = Counter()
    mib: Counter[int] = Counter()
    for (topic, partition), replicas in state.items():
        home = rules.home(topic)
        total = totals[home.pool or ""]
        for law, excess in enumerate(partition_excess(rules, home, replicas)):
            total[law] += excess
        size = rules.mib.get((topic, partition), 0)
        for broker in replicas:
            held[broker] += 1
            mib[broker] += size
    quotas = quota_excess(rules, Counter(topic for topic, _ in state), held)
    return {
        name: Excesses._make((*total, capacity_excess(rules, name, held, mib), quotas[name]))
        for name, total in totals.items()
    }


def excesses(
    state: ReplicasByPartition,
    desired: Desired,
    cluster: Cluster,
    gone: Iterable[int] = (),
    records: Records = NOTHING_RECORDED,
) -> Excesses:
    """The vector of a whole cluster's state."""
    rules = Rules(desired, cluster, frozenset(gone), records)
    total = Excesses()
    for part in excesses_by_pool(rules, state).values():
        total = total.plus(part)
    return total


def live_state(cluster: Cluster) -> dict[tuple[str, int], Replicas]:
    """The state that was observed."""
    return {
        (topic.name, partition.partition): partition.replicas
        for topic in cluster.topics.values()
        for partition in topic.partitions
    }


def capacity_excess(
    rules: Rules, name: str, held: Mapping[int, int], mib: Mapping[int, int]
) -> int:
    """The excess of a pool's brokers over their capacity; `held` and `mib` by broker."""
    if not name:
        return 0
    pool = rules.pools[name]
    excess = 0
    for broker in pool.brokers:
        capacity = pool.capacity_for(broker)
        if capacity.replicas is not None:
            excess += max(0, held.get(broker, 0) - capacity.replicas)
        if capacity.disk_bytes is not None:
            excess += max(0, mib.get(broker, 0) - capacity.disk_bytes // MIB)
    usable = [b for b in pool.brokers if b in rules.cluster.brokers and b not in rules.to_empty]
    return excess + headroom_excess(pool, usable, rules.racks, held, mib)


def quota_excess(rules: Rules, counts: Mapping[str, int], held: Mapping[int, int]) -> Counter[str]:
    """Excess over quotas and enforced limits, by pool; under "" that of the whole cluster.

    `counts`: partitions by topic.
    """
    partitions: Counter[tuple[str, str]] = Counter()
    topics: Counter[tuple[str, str]] = Counter()
    for topic, count in counts.items():
        pool = rules.home(topic).pool
        spec = rules.specs.get(topic)
        for namespace in {"", spec.namespace if spec else ""}:
            partitions[pool or "", namespace] += count
            topics[pool or "", namespace] += 1
    excess: Counter[str] = Counter()
    for name, spec_of_pool in rules.pools.items():
        quotas = spec_of_pool.quotas or Quotas()
        for namespace, quota in (("", quotas), *quotas.per_namespace.items()):
            excess[name] += _above(topics[name, namespace], quota.topics)
            excess[name] += _above(partitions[name, namespace], quota.partitions)
    limits = rules.desired.cluster.limits
    if limits.policy is LimitPolicy.ENFORCE:
        excess[""] += _above(sum(counts.values()), limits.partitions)
        for broker, count in held.items():
            pool_of = rules.pool_of.get(broker)
            name = pool_of.name if pool_of else ""
            excess[name] += _above(count, limits.replicas_per_broker)
    return excess


def _above(count: int, limit: int | None) -> int:
    return 0 if limit is None else max(0, count - limit)
