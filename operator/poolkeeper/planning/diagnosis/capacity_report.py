"""Where a pool's capacity does not suffice: which constraints conflict, and which remedies help.

A broker that is above a bound after the plan is reported by itself. If counting shows that no
layout does better (`capacity_conflicts`), the report also names the conflict and what would end it.
A conflict does not count what unmanaged topics bring when they leave other brokers
(`incoming_load`), because that could have gone elsewhere. Brokers that it overfills are reported.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.model.problems import Facts, ProblemReason
from poolkeeper.model.specs import FailureDomain
from poolkeeper.planning.constraints.capacity import UNLIMITED, UNLIMITED_MIB
from poolkeeper.planning.constraints.headroom import BrokerBound, smallest_lost
from poolkeeper.planning.diagnosis.bin_packing import packs
from poolkeeper.planning.diagnosis.capacity_conflicts import (
    HEADROOM,
    RACK_LAW,
    BrokerCapacity,
    CapacityDemand,
    Shortage,
    missing_capacity,
    overflow,
    shortage,
)
from poolkeeper.planning.diagnosis.incoming_load import IncomingLoad
from poolkeeper.planning.facts.capacity import (
    BrokerOverfull,
    CapacityConflict,
    ConflictRemedies,
    HeadroomBeyondPool,
    HeadroomExceeded,
    Place,
    Quantity,
)
from poolkeeper.planning.facts.conflicts import Member, domains_lacking
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.placement.broker_choice import mib_by_broker
from poolkeeper.planning.placement.rounds import replicas_by_broker
from poolkeeper.planning.problem.arrays import NONE, Ints, any_slot, count_slots


@frozen
class PoolLoad:
    """Replicas or MiB by broker: what is held, what of it unmanaged topics brought, and the bounds.

    `weights`: by row, what one replica counts. A bound of `unlimited` means that there is none.
    """

    quantity: Quantity
    held: Ints
    incoming: Ints
    bounds: Ints
    weights: Ints
    pool_bound: int
    unlimited: int

    @property
    def sized(self) -> bool:
        """Whether replicas count differently."""
        return self.quantity is Quantity.MIB


@frozen
class Conflict:
    """What was requested, in replicas or MiB, and why it does not fit.

    `limits`: by broker, the most replicas that the cluster enforces, where the pool allows as many.
    """

    amount: PoolLoad
    demand: CapacityDemand
    found: Shortage
    limits: Mapping[int, int]

    @property
    def members(self) -> dict[int, Member]:
        """The pool's brokers by id."""
        return {broker.member.id: broker.member for broker in self.demand.brokers}


def shortfalls(
    layout: Layout, members: tuple[Member, ...], incoming: IncomingLoad
) -> Iterator[Facts]:
    """Each conflict, each broker above its bound, and the headroom if it is exceeded."""
    beyond = _headroom_beyond_pool(layout, members)
    if beyond is not None:
        yield beyond
    for amount in amounts(layout, incoming):
        for facts in _shortfalls(layout, amount, members, incoming):
            if beyond is None or facts.reason is not ProblemReason.HEADROOM_EXCEEDED:
                yield facts


def _headroom_beyond_pool(layout: Layout, members: tuple[Member, ...]) -> HeadroomBeyondPool | None:
    """The headroom, if no broker would be left after the failures that it asks for."""
    problem, headroom = layout.problem, layout.problem.pool.headroom
    usable = [member for member in members if not member.obstacle]
    witness = domains_lacking(headroom, members) if headroom is not None and usable else None
    if headroom is None or witness is None:
        return None
    by_rack = headroom.domain is FailureDomain.RACK
    domains = Counter(member.rack if by_rack else str(member.id) for member in usable)
    sizes = sorted(domains.values())
    factor = int(problem.rf[problem.placed].max(initial=1))
    survived = sum(left >= factor for left in accumulate(sizes[:-1]))
    return HeadroomBeyondPool(headroom, witness, survived, factor)


def _shortfalls(
    layout: Layout, amount: PoolLoad, members: tuple[Member, ...], incoming: IncomingLoad
) -> Iterator[Facts]:
    """The same for replicas alone, or for MiB alone."""
    problem = layout.problem
    inside = problem.pool_brokers
    total = int(amount.held[inside].sum())
    above = [row for row in inside if amount.held[row] > amount.bounds[row]]
    beyond = total > amount.pool_bound
    if not above and not beyond:
        return
    conflict = conflict_of(layout, amount, members)
    if conflict is not None:
        yield facts_of(conflict)
        beyond = beyond and HEADROOM not in conflict.found.constraints
    for row in above:
        yield BrokerOverfull(
            broker=problem.brokers.ids[row],
            quantity=amount.quantity,
            held=int(amount.held[row]),
            room=int(amount.bounds[row]),
            came=int(amount.incoming[row]),
            left=Names.of(incoming.left),
        )
    if beyond and problem.pool.headroom is not None:
        yield HeadroomExceeded(
            amount.quantity, total, int(amount.pool_bound), problem.pool.headroom
        )


def amounts(layout: Layout, incoming: IncomingLoad) -> Iterator[PoolLoad]:
    """The pool's load in replicas, then in MiB."""
    problem, capacity = layout.problem, layout.capacity
    yield PoolLoad(
        Quantity.REPLICAS,
        replicas_by_broker(problem, layout.lists),
        incoming.replicas,
        capacity.replicas,
        np.ones(len(problem), dtype=np.int64),
        capacity.pool_replicas,
        UNLIMITED,
    )
    yield PoolLoad(
        Quantity.MIB,
        problem.background_load.mib + mib_by_broker(problem, layout.lists),
        incoming.mib,
        capacity.mib,
        problem.mib,
        capacity.pool_mib,
        UNLIMITED_MIB,
    )


def conflict_of(layout: Layout, amount: PoolLoad, members: tuple[Member, ...]) -> Conflict | None:
    """Why no layout can hold the load, if that is known."""
    demand = _demand(layout, amount, members)
    found = shortage(demand, packs)
    return None if found is None else Conflict(amount, demand, found, _limits(layout, amount))


def _limits(layout: Layout, amount: PoolLoad) -> dict[int, int]:
    ids, bounds = layout.problem.brokers.ids, layout.capacity
    if amount.sized:
        return {}
    rows = np.flatnonzero((bounds.limits <= bounds.caps) & (bounds.limits < UNLIMITED))
    return {ids[row]: int(bounds.limits[row]) for row in rows.tolist()}


def _demand(layout: Layout, amount: PoolLoad, members: tuple[Member, ...]) -> CapacityDemand:
    """What the planner was free to place, and the load that it was not free to move."""
    problem = layout.problem
    free = problem.placed & ~problem.hold & ~problem.no_source & ~any_slot(problem.immovable)
    factors = np.where(free, np.minimum(problem.rf, count_slots(layout.lists >= 0)), 0)
    totals = {
        int(factor): int(amount.weights[factors == factor].sum())
        for factor in distinct(factors[factors > 0])
    }
    there = np.where(free[:, None], layout.lists, NONE)
    slots = np.repeat(amount.weights[:, None], there.shape[1], axis=1)
    moved = np.bincount(
        there[there >= 0], weights=slots[there >= 0], minlength=len(amount.held)
    ).astype(np.int64)
    immovable = amount.held - amount.incoming - moved
    rows = [problem.brokers.index[member.id] for member in members]
    bounds = [
        None if bound >= amount.unlimited else bound for bound in amount.bounds[rows].tolist()
    ]
    racks = {member.rack for member in members if not member.obstacle}
    some = (factors > 0) & (amount.weights > 0) & amount.sized
    return CapacityDemand(
        totals,
        tuple(map(BrokerCapacity, members, bounds, immovable[rows].tolist())),
        problem.pool.headroom if amount.pool_bound < UNLIMITED_MIB else None,
        by_racks=len(racks) > 1,
        sizes=tuple(zip(amount.weights[some].tolist(), factors[some].tolist(), strict=True)),
    )


def facts_of(conflict: Conflict) -> CapacityConflict:
    """The constraints that conflict, and the remedies."""
    found, demand, by_id = conflict.found, conflict.demand, conflict.members
    by_headroom = HEADROOM in found.constraints
    over = missing_capacity(demand, found) if by_headroom else found.overflow
    return CapacityConflict(
        quantity=conflict.amount.quantity,
        place=Place.of(over.brokers, by_id.values()),
        wanted=over.wanted,
        room=over.room,
        headroom=demand.headroom if by_headroom else None,
        spread=RACK_LAW in found.constraints,
        blocked=tuple(by_id[c] for c in found.constraints if isinstance(c, int)),
        remedies=remedies_of(conflict),
    )


def remedies_of(conflict: Conflict) -> ConflictRemedies:
    """What would end the conflict, each remedy sufficient by itself."""
    found, by_id, headroom = conflict.found, conflict.members, conflict.demand.headroom
    by_headroom = headroom is not None and HEADROOM in found.constraints
    missing = missing_capacity(conflict.demand, found)
    return ConflictRemedies(
        unblock=tuple(by_id[c] for c in found.remedies if isinstance(c, int)),
        less_headroom=HEADROOM in found.remedies,
        quantity=conflict.amount.quantity,
        lacking=missing.lacking,
        place=Place.of(missing.brokers, by_id.values()),
        new_broker=_new_one_helps(conflict),
        by_limit=any(broker in conflict.limits for broker in missing.brokers),
        by_capacity=not (by_headroom and headroom and domains_lacking(headroom, by_id.values())),
        headroom=headroom if by_headroom else None,
        smallest_lost=_smallest_lost(conflict.demand) if by_headroom else None,
    )


def _smallest_lost(demand: CapacityDemand) -> int | None:
    """The capacity of the smallest broker or rack that its headroom counts as lost."""
    if demand.headroom is None:
        return None
    bounds = (BrokerBound(s.member.id, s.member.rack, s.bound) for s in demand.usable)
    return smallest_lost(demand.headroom, bounds)


def _new_one_helps(conflict: Conflict) -> bool:
    """Whether one more broker of any size, within the limit, would be enough by count."""
    if HEADROOM in conflict.found.constraints:
        return True
    demand = conflict.demand
    racks = {member.rack for member in conflict.members.values() if not member.obstacle}
    number = max(conflict.members) + 1
    most = max(conflict.limits.values(), default=None)
    return any(
        overflow(
            replace(
                demand,
                brokers=(*demand.brokers, BrokerCapacity(Member(number, rack), most)),
                headroom=None,
            )
        )
        is None
        for rack in sorted({*racks, f"{max(racks, default='')}+"})
    )
