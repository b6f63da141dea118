"""Whether replicas of different sizes are known to fit, beyond what their sums show.

A flow may divide a partition among brokers, a layout may not. Either of two proofs shows that all
replicas fit nevertheless:

* All fit by count even if every broker has less room by the size of the largest partition. Proof:
  a flow says how much of each replica goes to which broker. Cut what each broker gets, the largest
  replicas first, into slots of one replica in all. That is a flow again, from partitions by way of
  racks and brokers to slots, each of capacity 1; so there is one in whole numbers. A replica in a
  slot is no larger than any in the slot before, so all slots but the first hold no more than the
  broker got, and the first holds one replica.
* A greedy placement succeeds: the largest replica first, each where most room is free.

Replicas may fit although both proofs fail. That question is NP-hard, so no conflict is reported
then.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from poolkeeper.planning.constraints.racks import Spread
from poolkeeper.planning.diagnosis.capacity_conflicts import (
    BrokerCapacity,
    CapacityDemand,
    overflow,
)

_LOOKS_MAX = 200_000
"""Brokers to look at for all partitions together; where it were more, the largest weighs little."""


def packs(demand: CapacityDemand) -> bool:
    """Whether all replicas, which fit by count, are known to fit by size too."""
    largest = max((size for size, _ in demand.sizes), default=0)
    if not largest or all(broker.bound is None for broker in demand.usable):
        return True
    brokers = tuple(_less(broker, largest) for broker in demand.brokers)
    if overflow(replace(demand, brokers=brokers, headroom=None)) is None:
        return True
    return len(demand.sizes) * len(demand.usable) <= _LOOKS_MAX and _fits_greedily(demand)


def _less(broker: BrokerCapacity, size: int) -> BrokerCapacity:
    if broker.bound is None:
        return broker
    return replace(broker, bound=max(min(broker.bound, broker.immovable), broker.bound - size))


def _fits_greedily(demand: CapacityDemand) -> bool:
    usable = demand.usable
    names = demand.racks_of(usable)
    rack = [names.index(s.member.rack) if demand.by_racks else 0 for s in usable]
    free = [inf if s.bound is None else s.bound - s.immovable for s in usable]
    spreads: dict[int, Spread] = {}
    for size, factor in sorted(demand.sizes, reverse=True):
        count = min(factor, len(usable))
        if count not in spreads:
            spreads[count] = demand.spread_of(count, usable)
        for broker in _choose(free, rack, count, spreads[count]):
            free[broker] -= size
            if free[broker] < 0:
                return False
    return True


def _choose(free: Sequence[float], rack: Sequence[int], count: int, even: Spread) -> list[int]:
    """The brokers with most free room, as the spread over racks allows."""
    order = sorted(range(len(free)), key=lambda broker: (-free[broker], broker))
    held: Counter[int] = Counter()
    chosen: list[int] = []
    for bounds in (even.low, even.high):
        for broker in order:
            fits = len(chosen) < count and held[rack[broker]] < bounds[rack[broker]]
            if fits and broker not in chosen:
                chosen.append(broker)
                held[rack[broker]] += 1
    return chosen
