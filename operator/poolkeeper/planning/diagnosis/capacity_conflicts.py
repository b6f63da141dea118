"""What a pool cannot hold, and the smallest set of constraints that conflict.

Brokers have bounds (of replicas, or of MiB). Replicas that cannot move use a part of them. Let the
rack law bound what rack r holds of one partition with f replicas between low_r and high_r. Take any
set S of usable brokers, o_r of them outside of S in rack r. Outside of S a partition has at most

    sum over r of min(low_r, o_r)  +  min(f - sum of low_r, sum over r of min(high_r, o_r) - low_r)

replicas (the last difference not below zero), as each rack has what it must and the rest is free to
choose. What is left of f is forced into S. So if all partitions force more into S than its brokers
have room for, they conflict. The choice is a flow from partitions by way of racks to brokers, whose
smallest cut is such an S. So counts of replicas fit if no S conflicts. One maximum flow finds the S
that overflows most, and of those the one of fewest brokers. MiB may not fit even then, as a
partition cannot be divided (see `bin_packing`).

Headroom requires something else: that the total fits after the largest brokers or racks are lost.

The constraints that can be removed are each broker's obstacle (drained, down, gone), the rack law
and the headroom. Starting from all of them, each constraint is removed for good if the others still
conflict. None of those that remain can be spared: without any one of them, all replicas would fit.
For MiB only a packing can show that. Without a packing no conflict is named: if the sum fits, these
constraints are not what keeps replicas from being placed. A broker that holds more than it may is
no reason to spare its obstacle: it counts as full then, and not as a conflict of its own.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Headroom
from poolkeeper.planning.constraints.headroom import BrokerBound, capacity_left
from poolkeeper.planning.constraints.racks import Spread, even_spread
from poolkeeper.planning.facts.conflicts import Member


@frozen
class BrokerCapacity:
    """A broker: its bound, if it has one, and the load that cannot leave it."""

    member: Member
    bound: int | None
    immovable: int = 0


@frozen
class CapacityDemand:
    """A pool's brokers, and the amount of each replication factor: one replica of each partition.

    For replicas the amount is the number of partitions, for MiB the sum of their sizes.
    `sizes`: (amount, factor) of every partition, which cannot be divided; for MiB only.
    """

    amounts: Mapping[int, int]
    brokers: tuple[BrokerCapacity, ...]
    headroom: Headroom | None = None
    by_racks: bool = True
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def usable(self) -> tuple[BrokerCapacity, ...]:
        """Brokers that may be given replicas, by id."""
        free = (broker for broker in self.brokers if not broker.member.obstacle)
        return tuple(sorted(free, key=lambda broker: broker.member.id))

    @property
    def wanted(self) -> int:
        """What usable brokers must hold: load that cannot leave them, and all replicas to place.

        Replicas beyond the number of usable brokers are not counted; another problem reports them.
        """
        usable = self.usable
        amounts = (_factor(f, usable) * amount for f, amount in self.amounts.items())
        return sum(broker.immovable for broker in usable) + sum(amounts)

    def racks_of(self, usable: Sequence[BrokerCapacity]) -> tuple[str, ...]:
        """The racks of these brokers, each once, if the rack law counts."""
        return tuple(sorted({broker.member.rack for broker in usable})) if self.by_racks else ("",)

    def spread_of(self, factor: int, usable: Sequence[BrokerCapacity]) -> Spread:
        """How many replicas of a partition each of `racks_of` may hold."""
        names = self.racks_of(usable)
        held = Counter(broker.member.rack if self.by_racks else "" for broker in usable)
        even = even_spread(factor, tuple(held[name] for name in names), (0,) * len(names))
        # The cache compares arguments, which may be equal and of another type.
        return Spread(tuple(map(int, even.low)), tuple(map(int, even.high)))

    def without(self, constraint: "Constraint") -> "CapacityDemand":
        """The same demand without one constraint."""
        if constraint == RACK_LAW:
            return replace(self, by_racks=False)
        if constraint == HEADROOM:
            return replace(self, headroom=None)
        brokers = (
            replace(broker, member=replace(broker.member, obstacle=None))
            if broker.member.id == constraint
            else broker
            for broker in self.brokers
        )
        return replace(self, brokers=tuple(brokers))

    def sparing(self, constraint: "Constraint") -> "CapacityDemand":
        """The same, where a broker that comes back has room for what it holds by then."""
        brokers = (
            replace(broker, bound=max(broker.bound, broker.immovable))
            if broker.member.id == constraint and broker.bound is not None
            else broker
            for broker in self.brokers
        )
        return replace(self, brokers=tuple(brokers)).without(constraint)

    @property
    def constraints(self) -> tuple["Constraint", ...]:
        """The constraints that can be removed, in the order in which they are tried."""
        blocked = [broker for broker in self.brokers if broker.member.obstacle]
        blocked.sort(key=lambda broker: (broker.bound or 0, -broker.member.id))
        laws = ([RACK_LAW] if self.by_racks else []) + ([HEADROOM] if self.headroom else [])
        return (*laws, *(broker.member.id for broker in blocked))


Constraint = int | str
"""A broker whose obstacle counts, or one of the two below."""

RACK_LAW, HEADROOM = "the rack law", "headroom"


@frozen
class Overflow:
    """The load that must go to some brokers, and what they may hold."""

    brokers: tuple[int, ...]
    wanted: int
    room: int

    @property
    def lacking(self) -> int:
        """How much of the load does not fit."""
        return self.wanted - self.room


@frozen
class Shortage:
    """A conflict of `constraints`, none of which can be spared.

    `remedies`: constraints of which removing any single one ends the conflict.
    """

    overflow: Overflow
    constraints: tuple[Constraint, ...]
    remedies: tuple[Constraint, ...]


def shortage(
    demand: CapacityDemand, fits: Callable[[CapacityDemand], bool] | None = None
) -> Shortage | None:
    """The conflict, if counting shows that the demand does not fit.

    `fits`: whether a demand that fits by count is known to fit; every one is if it is not given.
    """
    if overflow(demand) is None:
        return None

    def enough(rest: CapacityDemand) -> bool:
        return overflow(rest) is None and (fits is None or fits(rest))

    kept, spared = demand, True
    while spared:
        spared = False
        for constraint in kept.constraints:
            if overflow(kept.sparing(constraint)) is not None:
                kept, spared = kept.sparing(constraint), True
    found = overflow(kept)
    assert found is not None
    if not all(enough(kept.sparing(constraint)) for constraint in kept.constraints):
        return None
    remedies = tuple(c for c in demand.constraints if enough(demand.without(c)))
    return Shortage(found, kept.constraints, remedies)


def missing_capacity(demand: CapacityDemand, found: Shortage) -> Overflow:
    """What capacity has to make up for where every obstacle stays as it is.

    The shortage itself is counted as if the obstacles that it does not name were gone.
    """
    if HEADROOM in found.constraints:
        missing = next(_headroom_overflow(demand, demand.usable), None)
    else:
        missing = overflow(demand.without(HEADROOM))
    return missing or found.overflow


def overflow(demand: CapacityDemand) -> Overflow | None:
    """The brokers that overflow most, and of those the fewest; `None` if all fits by count."""
    usable = demand.usable
    if not usable:
        return None  # another problem reports that there are no brokers at all
    found = [*_overflow(demand, usable), *_headroom_overflow(demand, usable)]
    return max(found, key=lambda o: (o.lacking, -len(o.brokers), o.brokers), default=None)


def _headroom_overflow(
    demand: CapacityDemand, usable: Sequence[BrokerCapacity]
) -> Iterator[Overflow]:
    if demand.headroom is None:
        return
    bounds = (BrokerBound(broker.member.id, broker.member.rack, broker.bound) for broker in usable)
    room = capacity_left(demand.headroom, bounds)
    wanted = sum(_factor(f, usable) * amount for f, amount in demand.amounts.items())
    wanted += sum(broker.immovable for broker in demand.brokers)
    if room is not None and wanted > room:
        yield Overflow(tuple(broker.member.id for broker in usable), wanted, room)


def _factor(factor: int, usable: Sequence[BrokerCapacity]) -> int:
    """The replicas that have distinct brokers; another problem reports the others."""
    return min(factor, len(usable))


def _overflow(demand: CapacityDemand, usable: Sequence[BrokerCapacity]) -> Iterator[Overflow]:
    """By the maximum flow from the source through factors, racks and brokers to the sink."""
    total = demand.wanted
    from ortools.graph.python import max_flow  # a large library, and many plans need none

    solver = max_flow.SimpleMaxFlow()
    columns = np.array(_arcs(demand, usable, total), dtype=np.int64).T
    solver.add_arcs_with_capacity(
        columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2]
    )
    status = solver.solve(_SOURCE, _SINK)
    if status != solver.OPTIMAL:
        raise AssertionError(f"a maximum flow always exists, the solver says {status}")
    lacking = total - solver.optimal_flow()
    if lacking:
        cut = set(solver.get_source_side_min_cut())
        full = [broker for node, broker in enumerate(usable, _FIRST) if node in cut]
        room = sum(broker.bound or 0 for broker in full)
        yield Overflow(tuple(broker.member.id for broker in full), room + lacking, room)


_SOURCE, _SINK, _FIRST = range(3)
"""Nodes of the flow; from the third on come the usable brokers, then each factor and its racks."""


def _arcs(
    demand: CapacityDemand, usable: Sequence[BrokerCapacity], total: int
) -> list[tuple[int, int, int]]:
    """(from, to, capacity) of every arc; a broker without a bound has the total as its capacity."""
    names = demand.racks_of(usable)
    rack = [names.index(broker.member.rack) if demand.by_racks else 0 for broker in usable]
    arcs = [(_SOURCE, node, broker.immovable) for node, broker in enumerate(usable, _FIRST)]
    arcs += [
        (node, _SINK, total if broker.bound is None else broker.bound)
        for node, broker in enumerate(usable, _FIRST)
    ]
    free = _FIRST + len(usable)
    for factor, amount in demand.amounts.items():
        even = demand.spread_of(_factor(factor, usable), usable)
        arcs.append((_SOURCE, free, (_factor(factor, usable) - sum(even.low)) * amount))
        for place, (low, high) in enumerate(zip(even.low, even.high, strict=True), free + 1):
            arcs += [(_SOURCE, place, low * amount), (free, place, (high - low) * amount)]
        arcs += [(free + 1 + at, node, amount) for node, at in enumerate(rack, _FIRST)]
        free += 1 + len(names)
    return arcs
