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
from dataclasses import replace
from itertools import combinations_with_replacement, islice

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import FailureDomain
from poolkeeper.planning.diagnosis.capacity_conflicts import (
    BrokerCapacity,
    CapacityDemand,
    overflow,
)
from poolkeeper.planning.facts.conflicts import Obstacle

FAILURES_MAX = 3
LOSSES_MAX = 300


@frozen
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
    live = [broker for broker in demand.brokers if not broker.member.obstacle]
    if not live or any(broker.bound is None for broker in live):
        return ()
    found: list[Survival] = []
    for domain in (FailureDomain.BROKER, FailureDomain.RACK):
        groups = _groups(live, domain)
        for failures in range(1, min(FAILURES_MAX, sum(map(len, groups)) - 1) + 1):
            found.append(_worst(demand, groups, domain, failures, losses_max))
            if found[-1].spare < 0:
                break
    return tuple(found)


_Unit = tuple[str, tuple[BrokerCapacity, ...]]
"""What is lost as one: its name and its brokers."""


def _groups(live: Sequence[BrokerCapacity], domain: FailureDomain) -> list[list[_Unit]]:
    """Interchangeable brokers or racks grouped, those that may hold most first."""
    units: dict[str, list[BrokerCapacity]] = {}
    for broker in sorted(live, key=lambda broker: broker.member.id):
        by_rack = domain is FailureDomain.RACK
        units.setdefault(broker.member.rack if by_rack else str(broker.member.id), []).append(
            broker
        )
    alike: dict[tuple[object, ...], list[_Unit]] = {}
    for name, brokers in units.items():
        kind: tuple[object, ...] = tuple(sorted((s.bound or 0, s.immovable) for s in brokers))
        if domain is FailureDomain.BROKER:
            kind = (brokers[0].member.rack, *kind)
        alike.setdefault(kind, []).append((name, tuple(brokers)))
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
    ids = {broker.member.id for _, brokers in lost for broker in brokers}
    brokers = tuple(
        _gone(broker) if broker.member.id in ids else broker for broker in demand.brokers
    )
    after = replace(demand, brokers=brokers, headroom=None)
    left = after.usable
    homeless = sum(max(0, f - len(left)) * amount for f, amount in demand.amounts.items())
    found = overflow(after)
    if homeless or found is not None:
        return -homeless - (0 if found is None else found.lacking)
    return _bound(left) - after.wanted


def _gone(broker: BrokerCapacity) -> BrokerCapacity:
    return replace(broker, member=replace(broker.member, obstacle=Obstacle.GONE), immovable=0)


def _bound(brokers: Iterable[BrokerCapacity]) -> int:
    return sum(broker.bound or 0 for broker in brokers)


def demand_of(amounts: Mapping[int, int], brokers: Iterable[BrokerCapacity]) -> CapacityDemand:
    """A pool's demand as it is judged here: racks count if there is more than one."""
    found = tuple(brokers)
    racks = {broker.member.rack for broker in found if not broker.member.obstacle}
    return CapacityDemand(dict(amounts), found, by_racks=len(racks) > 1)
