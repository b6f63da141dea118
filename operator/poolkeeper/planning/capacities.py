"""Where a pool's capacity does not suffice, in sentences: which constraints conflict, what helps.

What lies above a bound after a plan is told broker by broker. Where counting shows that no layout
could do better (see `shortages`), the conflict is named too, with what would be enough to end it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from poolkeeper.planning.columns import Ints, count_slots
from poolkeeper.planning.layouts import Layout
from poolkeeper.planning.placement import held_by
from poolkeeper.planning.quotas import lost
from poolkeeper.planning.routing import UNLIMITED, UNLIMITED_MIB
from poolkeeper.planning.seating import held_mib
from poolkeeper.planning.shortages import (
    HEADROOM,
    RACK_LAW,
    Constraint,
    Demand,
    Seat,
    Shortage,
    shortage,
)
from poolkeeper.planning.witnesses import REMEDIES, Member


@dataclass(frozen=True, slots=True)
class _Amount:
    """Replicas or MiB: by broker what is held and what may be; by row what a replica counts.

    A bound of `unlimited` is none.
    """

    noun: str
    held: Ints
    bounds: Ints
    weights: Ints
    pool_bound: int
    unlimited: int


def messages(layout: Layout, members: tuple[Member, ...]) -> Iterator[str]:
    """A sentence for each conflict, for each broker above its bound, and for the headroom."""
    unit = layout.unit
    inside = unit.brokers.rows(unit.pool.brokers)
    for amount in _amounts(layout):
        total = int(amount.held[inside].sum())
        above = [row for row in inside if amount.held[row] > amount.bounds[row]]
        if not above and total <= amount.pool_bound:
            continue
        found = shortage(_demand(layout, amount, members))
        if found is not None:
            yield _sentence(layout, amount, found, members)
        for row in above:
            name = unit.brokers.ids[row]
            held, bound = amount.held[row], amount.bounds[row]
            yield f"broker {name} holds {held} {amount.noun}, it may hold {bound}"
        if total > amount.pool_bound and (found is None or HEADROOM not in found.constraints):
            yield (f"holds {total} {amount.noun}; {amount.pool_bound} fit with {lost(unit.pool)}")


def _amounts(layout: Layout) -> Iterator[_Amount]:
    unit, room = layout.unit, layout.room
    ones = np.ones(len(unit), dtype=np.int64)
    held, mib = held_by(unit, layout.lists), unit.fixed_mib + held_mib(unit, layout.lists)
    yield _Amount("replicas", held, room.replicas, ones, room.pool_replicas, UNLIMITED)
    yield _Amount("MiB", mib, room.mib, unit.mib, room.pool_mib, UNLIMITED_MIB)


def _demand(layout: Layout, amount: _Amount, members: tuple[Member, ...]) -> Demand:
    """What the planner was free to place, and what it was not."""
    unit = layout.unit
    free = unit.placed & ~unit.still & ~unit.blocked & ~unit.pinned.any(axis=1)
    factors = np.where(free, np.minimum(unit.rf, count_slots(layout.lists >= 0)), 0)
    amounts: Counter[int] = Counter()
    for factor in np.unique(factors[factors > 0]).tolist():
        amounts[factor] = int(amount.weights[factors == factor].sum())
    there = np.where(free[:, None], layout.lists, -1)
    slots = np.repeat(amount.weights[:, None], there.shape[1], axis=1)
    moved = np.bincount(
        there[there >= 0], weights=slots[there >= 0], minlength=len(amount.held)
    ).astype(np.int64)
    fixed = amount.held - moved
    rows = [unit.brokers.index[member.id] for member in members]
    bounds = [
        None if bound >= amount.unlimited else bound for bound in amount.bounds[rows].tolist()
    ]
    seats = map(Seat, members, bounds, fixed[rows].tolist())
    racks = {member.rack for member in members if not member.obstacle}
    headroom = unit.pool.headroom if amount.pool_bound < UNLIMITED_MIB else None
    return Demand(dict(amounts), tuple(seats), headroom, by_racks=len(racks) > 1)


def _sentence(layout: Layout, amount: _Amount, found: Shortage, members: tuple[Member, ...]) -> str:
    over, by_id = found.overflow, {member.id: member for member in members}
    where = _where(over.brokers, by_id)
    if HEADROOM in found.constraints:
        said = f"holds {over.wanted} {amount.noun}; {over.room} fit with {lost(layout.unit.pool)}"
    else:
        said = f"{where} must hold {over.wanted} {amount.noun} and may hold {over.room}"
    reasons = ["replicas of a partition are spread over all racks"] * (
        RACK_LAW in found.constraints
    )
    reasons += [f"{c} {by_id[c].obstacle}" for c in found.constraints if isinstance(c, int)]
    why = "".join(f"; {reason}" for reason in reasons)
    ways = [*_ways(found.remedies, by_id)]
    noun = amount.noun.removesuffix("s") if over.lacking == 1 else amount.noun
    ways.append(f"make room for {over.lacking} more {noun} on {where} or on a new broker")
    return f"{said}{why}. What helps: {', or '.join(ways)}"


def _where(brokers: tuple[int, ...], by_id: Mapping[int, Member]) -> str:
    """`broker 5`, `brokers 5, 6 of rack c`, `all 6 brokers`."""
    usable = [member for member in by_id.values() if not member.obstacle]
    if len(brokers) > 1 and len(brokers) == len(usable):
        return f"all {len(brokers)} usable brokers"
    racks = sorted({by_id[broker].rack for broker in brokers if by_id[broker].rack})
    of = f" of rack{'s' if len(racks) > 1 else ''} {', '.join(racks)}" if racks else ""
    return f"broker{'s' if len(brokers) > 1 else ''} {', '.join(map(str, brokers))}{of}"


def _ways(remedies: tuple[Constraint, ...], by_id: Mapping[int, Member]) -> Iterator[str]:
    for constraint in remedies:
        if isinstance(constraint, int):
            yield REMEDIES[by_id[constraint].obstacle].format(constraint)
        elif constraint == HEADROOM:
            yield "ask for less headroom"
