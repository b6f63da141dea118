"""Where a pool's capacity does not suffice, in sentences: which constraints conflict, what helps.

What lies above a bound after a plan is told broker by broker. Where counting shows that no layout
could do better (see `shortages`), the conflict is named too, with what would be enough to end it.
What unmanaged topics bring that leave other brokers could have gone elsewhere (see `arrivals`), so
no conflict counts it; but the brokers that it overfills are told of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from poolkeeper.planning import mebibytes
from poolkeeper.planning.arrivals import Arrived
from poolkeeper.planning.columns import NONE, Ints, any_slot, count_slots
from poolkeeper.planning.layouts import Layout
from poolkeeper.planning.packings import packs
from poolkeeper.planning.placement import held_by
from poolkeeper.planning.quotas import lost
from poolkeeper.planning.routing import UNLIMITED, UNLIMITED_MIB
from poolkeeper.planning.seating import held_mib
from poolkeeper.planning.shortages import (
    HEADROOM,
    RACK_LAW,
    Demand,
    Seat,
    Shortage,
    overflow,
    shortage,
)
from poolkeeper.planning.units import Unit
from poolkeeper.planning.witnesses import REMEDIES, Member


@dataclass(frozen=True, slots=True)
class Amount:
    """Replicas or MiB: by broker what is held, what of it arrived, and what may be held.

    `weights`: by row what a replica counts. A bound of `unlimited` is none.
    """

    noun: str
    held: Ints
    arrived: Ints
    bounds: Ints
    weights: Ints
    pool_bound: int
    unlimited: int

    @property
    def sized(self) -> bool:
        """Whether replicas count differently."""
        return self.unlimited == UNLIMITED_MIB

    def noun_of(self, count: int) -> str:
        """`replica`, `replicas`, `MiB`."""
        return self.noun.removesuffix("s") if count == 1 else self.noun

    def text(self, count: int) -> str:
        """`1 replica`, `3 replicas`, and sizes as people read them: `8 GiB`."""
        return mebibytes.text(count) if self.sized else f"{count} {self.noun_of(count)}"


@dataclass(frozen=True, slots=True)
class Conflict:
    """What was asked for, by the amount in question, and why it does not fit."""

    amount: Amount
    demand: Demand
    found: Shortage

    @property
    def members(self) -> dict[int, Member]:
        """The pool's brokers by id."""
        return {seat.member.id: seat.member for seat in self.demand.seats}


def messages(layout: Layout, members: tuple[Member, ...], arrived: Arrived) -> Iterator[str]:
    """A sentence for each conflict, for each broker above its bound, and for the headroom."""
    unit = layout.unit
    inside = unit.brokers.rows(unit.pool.brokers)
    for amount in amounts(layout, arrived):
        total = int(amount.held[inside].sum())
        above = [row for row in inside if amount.held[row] > amount.bounds[row]]
        if not above and total <= amount.pool_bound:
            continue
        conflict = conflict_of(layout, amount, members)
        if conflict is not None:
            yield _sentence(unit, conflict)
        for row in above:
            held, bound, came = (of[row] for of in (amount.held, amount.bounds, amount.arrived))
            whence = f"; {came} of them come {arrived.whence}" if came else ""
            name = unit.brokers.ids[row]
            yield f"broker {name} holds {held} {amount.noun}, it may hold {bound}{whence}"
        named = conflict is not None and HEADROOM in conflict.found.constraints
        if total > amount.pool_bound and not named:
            yield (f"holds {total} {amount.noun}; {amount.pool_bound} fit with {lost(unit.pool)}")


def amounts(layout: Layout, arrived: Arrived) -> Iterator[Amount]:
    """Replicas, then MiB."""
    unit, room = layout.unit, layout.room
    yield Amount(
        "replicas",
        held_by(unit, layout.lists),
        arrived.replicas,
        room.replicas,
        np.ones(len(unit), dtype=np.int64),
        room.pool_replicas,
        UNLIMITED,
    )
    yield Amount(
        "MiB",
        unit.fixed_mib + held_mib(unit, layout.lists),
        arrived.mib,
        room.mib,
        unit.mib,
        room.pool_mib,
        UNLIMITED_MIB,
    )


def conflict_of(layout: Layout, amount: Amount, members: tuple[Member, ...]) -> Conflict | None:
    """Why no layout holds it, as far as that is known."""
    demand = _demand(layout, amount, members)
    found = shortage(demand, packs)
    return None if found is None else Conflict(amount, demand, found)


def _demand(layout: Layout, amount: Amount, members: tuple[Member, ...]) -> Demand:
    """What the planner was free to place, and what it was not."""
    unit = layout.unit
    free = unit.placed & ~unit.still & ~unit.blocked & ~any_slot(unit.pinned)
    factors = np.where(free, np.minimum(unit.rf, count_slots(layout.lists >= 0)), 0)
    totals = {
        int(factor): int(amount.weights[factors == factor].sum())
        for factor in np.unique(factors[factors > 0])
    }
    there = np.where(free[:, None], layout.lists, NONE)
    slots = np.repeat(amount.weights[:, None], there.shape[1], axis=1)
    moved = np.bincount(
        there[there >= 0], weights=slots[there >= 0], minlength=len(amount.held)
    ).astype(np.int64)
    fixed = amount.held - amount.arrived - moved
    rows = [unit.brokers.index[member.id] for member in members]
    bounds = [
        None if bound >= amount.unlimited else bound for bound in amount.bounds[rows].tolist()
    ]
    racks = {member.rack for member in members if not member.obstacle}
    some = (factors > 0) & (amount.weights > 0) & amount.sized
    return Demand(
        totals,
        tuple(map(Seat, members, bounds, fixed[rows].tolist())),
        unit.pool.headroom if amount.pool_bound < UNLIMITED_MIB else None,
        by_racks=len(racks) > 1,
        sizes=tuple(zip(amount.weights[some].tolist(), factors[some].tolist(), strict=True)),
    )


def _sentence(unit: Unit, conflict: Conflict) -> str:
    amount, found, by_id = conflict.amount, conflict.found, conflict.members
    over = found.overflow
    if HEADROOM in found.constraints:
        said = f"holds {over.wanted} {amount.noun}; {over.room} fit with {lost(unit.pool)}"
    else:
        where = _where(over.brokers, by_id)
        said = f"{where} must hold {over.wanted} {amount.noun} and may hold {over.room}"
    reasons = ["replicas of a partition are spread over all racks"] * (
        RACK_LAW in found.constraints
    )
    reasons += [f"{c} {by_id[c].obstacle}" for c in found.constraints if isinstance(c, int)]
    why = "".join(f"; {reason}" for reason in reasons)
    return f"{said}{why}. What helps: {', or '.join(ways(conflict))}"


def ways(conflict: Conflict) -> list[str]:
    """What would end it, each by itself."""
    over, by_id = conflict.found.overflow, conflict.members
    found = []
    for constraint in conflict.found.remedies:
        if isinstance(constraint, int):
            found.append(REMEDIES[by_id[constraint].obstacle].format(constraint))
        elif constraint == HEADROOM:
            found.append("ask for less headroom")
    amount = conflict.amount
    more = f"{over.lacking} more {amount.noun_of(over.lacking)}"
    if amount.sized:
        more = f"at least {mebibytes.text(over.lacking, up=True)} more"
    elsewhere = " or on a new broker" if _new_one_helps(conflict) else ""
    where = _where(over.brokers, by_id)
    return [*found, f"make room for {more} on {where}{elsewhere}"]


def _new_one_helps(conflict: Conflict) -> bool:
    """Whether one more broker, as large as need be, would be enough by count."""
    if HEADROOM in conflict.found.constraints:
        return True
    demand = conflict.demand
    racks = {member.rack for member in conflict.members.values() if not member.obstacle}
    number = max(conflict.members) + 1
    return any(
        overflow(
            replace(demand, seats=(*demand.seats, Seat(Member(number, rack), None)), headroom=None)
        )
        is None
        for rack in sorted({*racks, f"{max(racks, default='')}+"})
    )


def _where(brokers: Sequence[int], by_id: Mapping[int, Member]) -> str:
    """`broker 5`, `brokers 5, 6 of rack c`, `all 6 brokers`."""
    usable = [member for member in by_id.values() if not member.obstacle]
    if len(brokers) > 1 and len(brokers) == len(usable):
        return f"all {len(brokers)} usable brokers"
    racks = sorted({by_id[broker].rack for broker in brokers if by_id[broker].rack})
    of = f" of rack{'s' if len(racks) > 1 else ''} {', '.join(racks)}" if racks else ""
    return f"broker{'s' if len(brokers) > 1 else ''} {', '.join(map(str, brokers))}{of}"
