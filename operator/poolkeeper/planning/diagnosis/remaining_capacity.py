"""What each pool has room for after a plan: whether more would fit, also with brokers lost.

Capacity is reported only where it is declared: replicas and bytes if every usable broker has a
capacity (for replicas an enforced limit of the cluster counts too), topics and partitions if the
pool has quotas.

`spare` is what is left when the largest brokers or racks are lost, as the pool's headroom says, or
one broker if it declares none. The load of the lost brokers then lives on the others. `spare`
compares totals; a plan with `--without` shows whether single brokers overflow and racks allow it.
The report also says which losses of one, two or three brokers or racks the pool survives, with all
of that considered (`survivable_failures`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import Ints
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import FailureDomain, Headroom, Quotas, ResourcePoolSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.constraints.capacity import replicas_cap
from poolkeeper.planning.constraints.headroom import BrokerBound, capacity_left
from poolkeeper.planning.diagnosis.capacity_conflicts import BrokerCapacity
from poolkeeper.planning.diagnosis.survivable_failures import Survival, demand_of, survivals
from poolkeeper.planning.facts.conflicts import Member, obstacle_of
from poolkeeper.planning.rules import Rules
from poolkeeper.planning.run_state.progress.load_after import LoadAfter, load_after

_ONE_BROKER = Headroom(FailureDomain.BROKER, 1)


@frozen
class Utilization:
    """Of one quantity: what the pool holds, what it may hold, and what is spare after failures.

    `most`: `None` if nothing is declared.
    `spare`: negative if the load would not fit.
    """

    held: int
    most: int | None = None
    spare: int | None = None

    @property
    def free(self) -> int | None:
        """How much more fits; negative above the bound."""
        return None if self.most is None else self.most - self.held


@frozen
class RemainingCapacity:
    """The remaining capacity of one pool.

    `unknown`: how many of its partitions have no known size; they count nothing in `bytes`.
    """

    pool: str
    failures: Headroom
    replicas: Utilization
    bytes: Utilization
    topics: Utilization
    partitions: Utilization
    unknown: int
    survived_replicas: tuple[Survival, ...] = ()
    survived_bytes: tuple[Survival, ...] = ()

    @property
    def declared(self) -> bool:
        """Whether the pool declares any bound."""
        amounts = (self.replicas, self.bytes, self.topics, self.partitions)
        return any(amount.most is not None for amount in amounts)


def remaining_capacities(
    plan: Plan,
    desired: Desired,
    cluster: Cluster,
    gone: frozenset[int] = frozenset(),
    records: Records = NOTHING_RECORDED,
) -> tuple[RemainingCapacity, ...]:
    """The remaining capacity of every pool after the plan, pools by name."""
    rules = Rules(desired, cluster, gone, records)
    load = _Sums(load_after(plan, cluster), rules)
    return tuple(
        RemainingCapacity(
            pool=pool.name,
            failures=pool.headroom or _ONE_BROKER,
            replicas=_amount(pool, rules, load.replicas, _caps(pool, desired)),
            bytes=_amount(pool, rules, load.bytes, _disks(pool)),
            topics=Utilization(load.topics[pool.name], (pool.quotas or Quotas()).topics),
            partitions=Utilization(
                load.partitions[pool.name], (pool.quotas or Quotas()).partitions
            ),
            unknown=load.unknown[pool.name],
            survived_replicas=survivals(
                demand_of(
                    load.own_replicas[pool.name],
                    _brokers(pool, rules, load.foreign_replicas, _caps(pool, desired)),
                )
            ),
            survived_bytes=survivals(
                demand_of(
                    load.own_bytes[pool.name],
                    _brokers(pool, rules, load.foreign_bytes, _disks(pool)),
                )
            ),
        )
        for pool in sorted(desired.pools, key=lambda pool: pool.name)
    )


class _Sums:
    """Sums over the partitions after a plan, by pool or by broker; "" is no pool.

    `own_…`: of each pool's own topics by replication factor; `foreign_…`: on brokers of a pool, of
    topics that do not live there.
    """

    def __init__(self, after: LoadAfter, rules: Rules) -> None:
        pools = ("", *rules.pools)
        number = {name: place for place, name in enumerate(pools)}
        homes = [rules.home(topic).pool or "" for topic in after.topics]
        pool = np.array([number[home] for home in homes], dtype=np.int64)[after.topic]
        lengths = after.replicas.lengths
        self.topics = Counter(homes)
        self.partitions = _by(pools, pool)
        self.unknown = _by(pools, pool[after.unknown])
        self.own_replicas, self.own_bytes = (
            self._by_factor(pools, pool, lengths, amount) for amount in (None, after.size)
        )
        ids, broker = np.unique(after.replicas.ids, return_inverse=True)
        size, brokers = np.repeat(after.size, lengths), ids.tolist()
        self.replicas = _by(brokers, broker)
        self.bytes = _by(brokers, broker, size)
        home_of = np.full(len(brokers), -1)
        for place, each in enumerate(brokers):
            if (at := rules.pool_of.get(each)) is not None:
                home_of[place] = number[at.name]
        foreign = (home_of[broker] >= 0) & (home_of[broker] != np.repeat(pool, lengths))
        self.foreign_replicas = _by(brokers, broker[foreign])
        self.foreign_bytes = _by(brokers, broker[foreign], size[foreign])

    @staticmethod
    def _by_factor(
        pools: Sequence[str], pool: Ints, lengths: Ints, amount: Ints | None
    ) -> dict[str, Counter[int]]:
        factors, factor = np.unique(lengths, return_inverse=True)
        pairs = [(name, each) for name in pools for each in factors.tolist()]
        found: dict[str, Counter[int]] = {name: Counter() for name in pools}
        for (name, each), count in _by(pairs, pool * len(factors) + factor, amount).items():
            found[name][each] = count
        return found


_T = TypeVar("_T")


def _by(names: Sequence[_T], place: Ints, amount: Ints | None = None) -> Counter[_T]:
    """The sums by name of the amounts at those places, or how many there are; exact."""
    counts = np.bincount(place, minlength=len(names))
    sums = counts
    if amount is not None:
        sums = np.zeros(len(names), dtype=np.int64)
        np.add.at(sums, place, amount)
    held = np.flatnonzero(counts).tolist()
    return Counter({names[each]: int(sums[each]) for each in held})


def _brokers(
    pool: ResourcePoolSpec,
    rules: Rules,
    foreign: Mapping[int, int],
    bounds: Mapping[int, int | None],
) -> Iterator[BrokerCapacity]:
    for broker in pool.brokers:
        usable = broker in rules.usable[pool.name]
        obstacle = None if usable else obstacle_of(pool, broker, (), rules.gone, rules.failed)
        member = Member(broker, rules.racks[broker] if usable else "", obstacle)
        yield BrokerCapacity(member, bounds[broker], foreign.get(broker, 0) if usable else 0)


def _caps(pool: ResourcePoolSpec, desired: Desired) -> dict[int, int | None]:
    return {broker: replicas_cap(pool, broker, desired.cluster.limits) for broker in pool.brokers}


def _disks(pool: ResourcePoolSpec) -> dict[int, int | None]:
    return {broker: pool.capacity_for(broker).disk_bytes for broker in pool.brokers}


def _amount(
    pool: ResourcePoolSpec, rules: Rules, load: Mapping[int, int], bounds: Mapping[int, int | None]
) -> Utilization:
    held = sum(load.get(broker, 0) for broker in pool.brokers)
    usable = [BrokerBound(b, rack, bounds[b]) for b, rack in rules.usable[pool.name].items()]
    left = capacity_left(pool.headroom or _ONE_BROKER, usable)
    if left is None:
        return Utilization(held)
    return Utilization(held, sum(each.bound or 0 for each in usable), left - held)
