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

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Desired, FailureDomain, Headroom, Quotas, ResourcePoolSpec
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.constraints.capacity import replicas_cap
from poolkeeper.planning.constraints.headroom import BrokerBound, capacity_left
from poolkeeper.planning.diagnosis.capacity_conflicts import BrokerCapacity
from poolkeeper.planning.diagnosis.survivable_failures import Survival, demand_of, survivals
from poolkeeper.planning.facts.conflicts import Member, obstacle_of
from poolkeeper.planning.rules import Rules
from poolkeeper.planning.run_state.after_plan import after_plan

_ONE_BROKER = Headroom(FailureDomain.BROKER, 1)


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
    plan: Plan, desired: Desired, cluster: Cluster, gone: frozenset[int] = frozenset()
) -> tuple[RemainingCapacity, ...]:
    """The remaining capacity of every pool after the plan, pools by name."""
    rules = Rules(desired, cluster, gone)
    replicas: Counter[int] = Counter()
    stored: Counter[int] = Counter()
    topics: Counter[str] = Counter()
    partitions: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    own = _Own()
    for topic, found in after_plan(plan, cluster):
        pool = rules.home(topic).pool or ""
        topics[pool] += 1
        partitions[pool] += len(found)
        for held, size in found:
            unknown[pool] += size is None
            own.count(pool, held, size or 0, rules)
            for broker in held:
                replicas[broker] += 1
                stored[broker] += size or 0
    return tuple(
        RemainingCapacity(
            pool=pool.name,
            failures=pool.headroom or _ONE_BROKER,
            replicas=_amount(pool, rules, replicas, _caps(pool, desired)),
            bytes=_amount(pool, rules, stored, _disks(pool)),
            topics=Utilization(topics[pool.name], (pool.quotas or Quotas()).topics),
            partitions=Utilization(partitions[pool.name], (pool.quotas or Quotas()).partitions),
            unknown=unknown[pool.name],
            survived_replicas=survivals(
                demand_of(
                    own.replicas[pool.name],
                    _brokers(pool, rules, own.foreign_replicas, _caps(pool, desired)),
                )
            ),
            survived_bytes=survivals(
                demand_of(
                    own.bytes[pool.name], _brokers(pool, rules, own.foreign_bytes, _disks(pool))
                )
            ),
        )
        for pool in sorted(desired.pools, key=lambda pool: pool.name)
    )


class _Own:
    """The load of each pool's own topics by replication factor, and of other topics by broker."""

    def __init__(self) -> None:
        self.replicas: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.bytes: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.foreign_replicas: Counter[int] = Counter()
        self.foreign_bytes: Counter[int] = Counter()

    def count(self, pool: str, held: Replicas, size: int, rules: Rules) -> None:
        """Count one partition of a topic that lives in the pool, or in no pool."""
        if pool:
            self.replicas[pool][len(held)] += 1
            self.bytes[pool][len(held)] += size
        for broker in held:
            at = rules.pool_of.get(broker)
            if at is not None and at.name != pool:
                self.foreign_replicas[broker] += 1
                self.foreign_bytes[broker] += size


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
