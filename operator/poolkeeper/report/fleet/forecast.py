"""When brokers and pools are full, how many brokers a pool needs, and which broker is loaded most.

A pool holds what its brokers hold, drained and dead ones too, as that has to find room among those
that take replicas. Its *limit* is what those can hold after the failures that its headroom asks for
(all of it, without a headroom). With growth g per day it holds bytes + g t in t days; a pool that
shrinks is not counted on to do so, and no replica on losing more than it has until the usual
horizon: a topic that was emptied last week does not make up for one that grows. The brokers to add
are the fewest of the usual capacity, the lower median of those it has, with which the limit is not
passed until the horizon. They join the racks that have least, as people who add brokers do.

What is unknown is not guessed: replicas of unknown size or growth count as none, and the coverage
says how much of the pool the forecast is made from. So a forecast is a lower bound of the need. A
pool without replicas does not grow.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from poolkeeper.load.time_series import days_to_full
from poolkeeper.model.specs import FailureDomain, Headroom
from poolkeeper.planning.constraints.headroom import BrokerBound, capacity_left
from poolkeeper.report.values import (
    BrokerForecast,
    BrokerLoad,
    Coverage,
    Measured,
    PoolForecast,
    Skew,
)

HORIZON_DAYS = 90
"""How far ahead a report looks, if nobody says otherwise."""
TO_ADD_MAX = 1000
"""More brokers than these are no forecast; and a headroom may be such that no number suffices."""

_NONE_LOST = Headroom()


def broker_forecast(load: BrokerLoad) -> BrokerForecast:
    """When the broker is full."""
    full = days_to_full(load.bytes, load.capacity, load.growth)
    return BrokerForecast(load, coverage([load]), full)


def coverage(loads: Iterable[BrokerLoad]) -> Coverage:
    """How much of what the brokers hold is known; nothing held is known wholly."""
    replicas = sized = held = grown = 0
    for each in loads:
        replicas += each.replicas
        sized += each.sized
        held += each.bytes
        grown += each.grown_bytes
    return Coverage(
        sized / replicas if replicas else 1.0, grown / held if held else float(not replicas)
    )


def pools_of(loads: Iterable[BrokerLoad]) -> dict[tuple[str, str], list[BrokerLoad]]:
    """The brokers by cluster and pool, sorted; those of no pool are left out."""
    found: dict[tuple[str, str], list[BrokerLoad]] = defaultdict(list)
    for each in sorted(loads, key=lambda load: (load.cluster, load.pool, load.broker)):
        if each.pool:
            found[each.cluster, each.pool].append(each)
    return dict(found)


def pool_forecasts(
    loads: Iterable[BrokerLoad],
    headrooms: Mapping[tuple[str, str], Headroom | None],
    horizon_days: float,
) -> tuple[PoolForecast, ...]:
    """A forecast for every pool, by cluster and name."""
    return tuple(
        pool_forecast(members, headrooms.get(which) or _NONE_LOST, horizon_days)
        for which, members in pools_of(loads).items()
    )


def pool_forecast(
    members: Sequence[BrokerLoad], headroom: Headroom, horizon_days: float
) -> PoolForecast:
    """The forecast of one pool from all of its brokers."""
    held = sum(each.bytes for each in members)
    growths = [each.growth for each in members if each.growth is not None]
    is_empty = not any(each.replicas for each in members)
    growth = sum(growths) if growths or is_empty else None
    taking = [each for each in members if each.weight > 0]
    bounds = [BrokerBound(each.broker, each.rack or "", each.capacity) for each in taking]
    limit = capacity_left(headroom, bounds) if bounds else None
    capacity = capacity_left(_NONE_LOST, bounds) if bounds else None
    firsts = [days_to_full(each.bytes, each.capacity, each.growth) for each in members]
    return PoolForecast(
        members[0].cluster,
        members[0].pool,
        brokers=len(taking),
        bytes=held,
        capacity=capacity,
        limit=limit,
        growth=growth,
        coverage=coverage(members),
        days_to_full=days_to_full(held, capacity, growth),
        days_to_limit=days_to_full(held, limit, growth),
        first_broker_days=min((each for each in firsts if each is not None), default=None),
        horizon_days=horizon_days,
        brokers_to_add=None
        if growth is None
        else brokers_to_add(bounds, headroom, held + max(growth, 0.0) * horizon_days),
    )


def brokers_to_add(
    brokers: Sequence[BrokerBound], headroom: Headroom, wanted_bytes: float
) -> int | None:
    """The fewest brokers of the usual capacity with which the pool can hold that many bytes.

    None where a capacity is unknown, there is no broker to go by, or `TO_ADD_MAX` do not suffice.
    """
    capacities = [each.bound for each in brokers if each.bound is not None]
    if not capacities or len(capacities) < len(brokers):
        return None
    usual = sorted(capacities)[(len(capacities) - 1) // 2]
    by_rack = headroom.domain is FailureDomain.RACK
    domains: dict[str, int] = defaultdict(int)
    for broker, rack, bound in brokers:
        domains[rack if by_rack else str(broker)] += bound or 0
    for added in range(TO_ADD_MAX + 1):
        if _left(domains.values(), headroom.failures) >= wanted_bytes:
            return added
        where = min(domains, key=lambda rack: (domains[rack], rack)) if by_rack else f"new {added}"
        domains[where] += usual
    return None


def _left(domains: Iterable[int], failures: int) -> int:
    return sum(sorted(domains, reverse=True)[failures:])


def skews_of(loads: Iterable[BrokerLoad]) -> tuple[Skew, ...]:
    """By pool and measure the broker that is furthest above its share, for all that is held.

    What drained and dead brokers hold is shared by the others, too.
    """
    found = []
    for (cluster, pool), members in pools_of(loads).items():
        weight = sum(each.weight for each in members)
        for measured in Measured:
            held = {each.broker: _held(each, measured) for each in members}
            total = sum(held.values())
            taking = [each for each in members if each.weight > 0]
            if total <= 0 or not taking:
                continue
            shares = {each.broker: total * each.weight / weight for each in taking}
            most = max(
                taking, key=lambda each: (held[each.broker] / shares[each.broker], -each.broker)
            )
            found.append(
                Skew(cluster, pool, measured, most.broker, held[most.broker], shares[most.broker])
            )
    return tuple(found)


def _held(load: BrokerLoad, measured: Measured) -> float:
    match measured:
        case Measured.REPLICAS:
            return load.replicas
        case Measured.LEADERS:
            return load.leaders
        case Measured.BYTES:
            return load.bytes
        case Measured.BYTES_IN:
            return load.bytes_in_per_s or 0.0
