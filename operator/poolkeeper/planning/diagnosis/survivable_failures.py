"""Which failures a pool survives within its capacity: of any one, two or three brokers or racks.

A loss is survived if the pool's replicas still fit on the brokers that are left: on distinct
brokers, spread as evenly as the remaining racks allow, with no broker above its bound
(`capacity_conflicts` says how that is counted). Load of other topics on the lost brokers is lost
with them.

Brokers of the same rack, bound and foreign load are interchangeable, and so are racks of the same
brokers. So all losses of k are tried but for such repetitions, and the answer is exact for counts
of replicas. If that would be more than `losses_max`, only the loss of the k that may hold most is
tried (`exact` is false). That is the worst case for the sum of all bounds: a pool that does not
survive it does not survive k losses, but another loss may be worse. Data is judged by its sum and
by that of every set of brokers: a single partition may still be too large for every disk.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, islice

from poolkeeper.model.specs import FailureDomain
from poolkeeper.planning.diagnosis.capacity_conflicts import CapacityDemand, Seat, overflow
from poolkeeper.planning.facts.conflicts import Obstacle

FAILURES_MAX = 3
LOSSES_MAX = 300


@dataclass(frozen=True, slots=True)
class Survival:
    """The worst loss of that many brokers or racks, and the total that is spare after it.

    `spare` is negative if the loss is not survived: that much does not fit.
    """

    domain: FailureDomain
    failures: int
    worst: tuple[str, ...]
    spare: int
    exact: bool = True


def survivals(demand: CapacityDemand, losses_max: int = LOSSES_MAX) -> tuple[Survival, ...]:
    """The worst losses of one to three brokers, then of one to three racks.

    Stops at the first number of failures that is not survived. Empty if some bound is unknown.
    """
    live = [seat for seat in demand.seats if not seat.member.obstacle]
    if not live or any(seat.bound is None for seat in live):
        return ()
    found: list[Survival] = []
    for domain in (FailureDomain.BROKER, FailureDomain.RACK):
        groups = _groups(live, domain)
        for failures in range(1, min(FAILURES_MAX, sum(map(len, groups)) - 1) + 1):
            found.append(_worst(demand, groups, domain, failures, losses_max))
            if found[-1].spare < 0:
                break
    return tuple(found)


_Unit = tuple[str, tuple[Seat, ...]]
"""What is lost as one: its name and its brokers."""


def _groups(live: Sequence[Seat], domain: FailureDomain) -> list[list[_Unit]]:
    """Interchangeable brokers or racks grouped, those that may hold most first."""
    units: dict[str, list[Seat]] = {}
    for seat in sorted(live, key=lambda seat: seat.member.id):
        by_rack = domain is FailureDomain.RACK
        units.setdefault(seat.member.rack if by_rack else str(seat.member.id), []).append(seat)
    alike: dict[tuple[object, ...], list[_Unit]] = {}
    for name, seats in units.items():
        kind: tuple[object, ...] = tuple(sorted((s.bound or 0, s.fixed) for s in seats))
        if domain is FailureDomain.BROKER:
            kind = (seats[0].member.rack, *kind)
        alike.setdefault(kind, []).append((name, tuple(seats)))
    return sorted(alike.values(), key=lambda group: -_bound(group[0][1]))


def _worst(
    demand: CapacityDemand,
    groups: Sequence[Sequence[_Unit]],
    domain: FailureDomain,
    failures: int,
    losses_max: int,
) -> Survival:
    chosen = list(islice(_losses(groups, failures), losses_max + 1))
    exact = len(chosen) <= losses_max
    if not exact:
        largest = sorted((u for g in groups for u in g), key=lambda u: -_bound(u[1]))
        chosen = [tuple(largest[:failures])]
    judged = [
        Survival(domain, failures, tuple(name for name, _ in units), _spare(demand, units), exact)
        for units in chosen
    ]
    return min(judged, key=lambda survival: survival.spare)


def _losses(groups: Sequence[Sequence[_Unit]], failures: int) -> Iterator[tuple[_Unit, ...]]:
    """All ways to lose so many, except those that differ only by interchangeable members."""
    for kinds in combinations_with_replacement(range(len(groups)), failures):
        counts = {kind: kinds.count(kind) for kind in kinds}
        if all(count <= len(groups[kind]) for kind, count in counts.items()):
            yield tuple(unit for kind, count in counts.items() for unit in groups[kind][:count])


def _spare(demand: CapacityDemand, lost: Iterable[_Unit]) -> int:
    """The capacity that is left in all after the loss; negative if the load does not fit."""
    ids = {seat.member.id for _, seats in lost for seat in seats}
    seats = tuple(_gone(seat) if seat.member.id in ids else seat for seat in demand.seats)
    after = replace(demand, seats=seats, headroom=None)
    left = after.usable
    homeless = sum(max(0, f - len(left)) * amount for f, amount in demand.amounts.items())
    found = overflow(after)
    if homeless or found is not None:
        return -homeless - (0 if found is None else found.lacking)
    return _bound(left) - after.wanted


def _gone(seat: Seat) -> Seat:
    return replace(seat, member=replace(seat.member, obstacle=Obstacle.GONE), fixed=0)


def _bound(seats: Iterable[Seat]) -> int:
    return sum(seat.bound or 0 for seat in seats)


def demand_of(amounts: Mapping[int, int], seats: Iterable[Seat]) -> CapacityDemand:
    """A pool's demand as it is judged here: racks count if there is more than one."""
    found = tuple(seats)
    racks = {seat.member.rack for seat in found if not seat.member.obstacle}
    return CapacityDemand(dict(amounts), found, by_racks=len(racks) > 1)
