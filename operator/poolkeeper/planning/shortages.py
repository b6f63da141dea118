"""What a pool cannot hold, and the smallest set of constraints that conflict.

Brokers have bounds (of replicas, or of MiB), part of which replicas take that cannot move. Let the
rack law bound what rack r holds of one partition with f replicas between low_r and high_r. Take any
set S of usable brokers, o_r of them outside of S in rack r. Outside of S a partition has at most

    sum over r of min(low_r, o_r)  +  min(f - sum of low_r, sum over r of min(high_r, o_r) - low_r)

replicas (the last difference not below zero), as each rack has what it must and the rest is free to
choose. What is left of f is forced into S. So if all partitions force more into S than its brokers
have room for, they conflict. The choice is a flow from partitions by way of racks to brokers, whose
smallest cut is such an S; so counts of replicas fit if no S conflicts. MiB may not fit even then,
as a partition cannot be divided. Of one rack, those brokers are worst that have least room, so only
these are tried; where that is still too much, whole racks.

Headroom asks for less: that all together fit into what is left with the largest lost.

The constraints that can be taken away are each broker's obstacle (drained, down, gone), the rack
law and the headroom. From a conflict of all of them one after the other is left out as long as the
rest conflicts. In what remains none can be spared: without any one of them all would fit.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from poolkeeper.model.specs import Domain, Headroom
from poolkeeper.planning.laws import spread
from poolkeeper.planning.witnesses import Member

_SETS_MAX = 4096


@dataclass(frozen=True, slots=True)
class Seat:
    """A broker: what it may hold of the amount, if that is bounded, and what cannot leave it."""

    member: Member
    bound: int | None
    fixed: int = 0


@dataclass(frozen=True, slots=True)
class Demand:
    """A pool's brokers, and by replication factor the amount that each replica slot adds up to.

    Of replicas that is the number of partitions, of MiB the sum of their sizes.
    """

    amounts: Mapping[int, int]
    seats: tuple[Seat, ...]
    headroom: Headroom | None = None
    by_racks: bool = True

    def without(self, constraint: "Constraint") -> "Demand":
        """The same with one constraint taken away."""
        if constraint == RACK_LAW:
            return replace(self, by_racks=False)
        if constraint == HEADROOM:
            return replace(self, headroom=None)
        seats = (
            replace(seat, member=replace(seat.member, obstacle=""))
            if seat.member.id == constraint
            else seat
            for seat in self.seats
        )
        return replace(self, seats=tuple(seats))

    @property
    def constraints(self) -> tuple["Constraint", ...]:
        """What can be taken away, in the order in which it is tried."""
        blocked = [seat for seat in self.seats if seat.member.obstacle]
        blocked.sort(key=lambda seat: (seat.bound or 0, -seat.member.id))
        laws = ([RACK_LAW] if self.by_racks else []) + ([HEADROOM] if self.headroom else [])
        return (*laws, *(seat.member.id for seat in blocked))


Constraint = int | str
"""A broker whose obstacle counts, or one of the two below."""

RACK_LAW, HEADROOM = "the rack law", "headroom"


@dataclass(frozen=True, slots=True)
class Overflow:
    """What must go to these brokers, and what they may hold."""

    brokers: tuple[int, ...]
    wanted: int
    room: int

    @property
    def lacking(self) -> int:
        """How much does not fit."""
        return self.wanted - self.room


@dataclass(frozen=True, slots=True)
class Shortage:
    """A conflict from which none of `constraints` can be spared.

    `remedies`: constraints each of which is enough to take away, with all others in force.
    """

    overflow: Overflow
    constraints: tuple[Constraint, ...]
    remedies: tuple[Constraint, ...]


def shortage(demand: Demand) -> Shortage | None:
    """Why it does not fit, if counting shows that it does not."""
    if overflow(demand) is None:
        return None
    remedies = tuple(c for c in demand.constraints if overflow(demand.without(c)) is None)
    kept, spared = demand, True
    while spared:
        spared = False
        for constraint in kept.constraints:
            if overflow(kept.without(constraint)) is not None:
                kept, spared = kept.without(constraint), True
    found = overflow(kept)
    assert found is not None
    return Shortage(found, kept.constraints, remedies)


def overflow(demand: Demand, sets_max: int = _SETS_MAX) -> Overflow | None:
    """The brokers that overflow most, as few as do so; `None` if all fits by count.

    Above `sets_max` sets of brokers only whole racks are looked at.
    """
    usable = sorted(
        (seat for seat in demand.seats if not seat.member.obstacle), key=lambda s: s.member.id
    )
    if not usable:
        return None  # that there are no brokers at all is said elsewhere
    found = [*_overflows(demand, usable, sets_max), *_headroom_overflow(demand, usable)]
    return max(found, key=lambda o: (o.lacking, -len(o.brokers), o.brokers), default=None)


def _headroom_overflow(demand: Demand, usable: Sequence[Seat]) -> Iterator[Overflow]:
    if demand.headroom is None:
        return
    domains: Counter[str] = Counter()
    for seat in usable:
        if seat.bound is None:
            return
        by_rack = demand.headroom.domain is Domain.RACK
        domains[seat.member.rack if by_rack else str(seat.member.id)] += seat.bound
    room = sum(sorted(domains.values(), reverse=True)[demand.headroom.failures :])
    wanted = sum(_factor(f, usable) * amount for f, amount in demand.amounts.items())
    wanted += sum(seat.fixed for seat in demand.seats)
    if wanted > room:
        yield Overflow(tuple(seat.member.id for seat in usable), wanted, room)


def _factor(factor: int, usable: Sequence[Seat]) -> int:
    """Replicas that there are distinct brokers for; what is more is said elsewhere."""
    return min(factor, len(usable))


def _overflows(demand: Demand, usable: Sequence[Seat], sets_max: int) -> Iterator[Overflow]:
    racks: dict[str, list[Seat]] = {}
    for seat in usable:
        racks.setdefault(seat.member.rack if demand.by_racks else "", []).append(seat)
    room = tuple(len(seats) for seats in racks.values())
    spreads = {}
    for f in demand.amounts:
        even = spread(_factor(f, usable), room, (0,) * len(room))
        # It is remembered for equal arguments, which may have been of another type.
        spreads[f] = [int(n) for n in even.low], [int(n) for n in even.high]
    for chosen in _sets([_by_room(seats) for seats in racks.values()], sets_max):
        inside = [seat for seats in chosen for seat in seats]
        outside = [n - len(seats) for n, seats in zip(room, chosen, strict=True)]
        wanted = 0
        for f, amount in demand.amounts.items():
            low, high = spreads[f]
            least = sum(map(min, low, outside))
            more = sum(max(0, min(h, o) - n) for n, h, o in zip(low, high, outside, strict=True))
            free = _factor(f, usable) - sum(low)
            wanted += (sum(low) + free - least - min(free, more)) * amount
        has = sum((seat.bound or 0) - seat.fixed for seat in inside)
        if wanted > has:
            fixed = sum(seat.fixed for seat in inside)
            ids = tuple(sorted(seat.member.id for seat in inside))
            yield Overflow(ids, wanted + fixed, has + fixed)


def _by_room(seats: Iterable[Seat]) -> list[Seat]:
    """Those with a bound, least room first."""
    bound = [seat for seat in seats if seat.bound is not None]
    return sorted(bound, key=lambda seat: ((seat.bound or 0) - seat.fixed, seat.member.id))


def _sets(racks: Sequence[Sequence[Seat]], sets_max: int) -> Iterator[tuple[Sequence[Seat], ...]]:
    """By rack, the seats with least room, of every number; where that is too much, all or none."""
    counts = [range(len(seats) + 1) for seats in racks]
    if prod(map(len, counts)) > sets_max:
        counts = [range(0, len(seats) + 1, max(1, len(seats))) for seats in racks]
    if prod(map(len, counts)) > sets_max:
        counts = [range(len(seats), len(seats) + 1) for seats in racks]
    for chosen in product(*counts):
        if any(chosen):
            yield tuple(seats[:n] for seats, n in zip(racks, chosen, strict=True))
