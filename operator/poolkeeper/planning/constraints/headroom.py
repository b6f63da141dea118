"""How much fits after the worst failures that a pool's headroom asks for.

The headroom names how many brokers or racks may fail. The largest are taken away, and the pool may
hold what the others can. That is known only if every usable broker declares its capacity. (The
audit counts headroom with code of its own.)
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from poolkeeper.model.specs import FailureDomain, Headroom, ResourcePoolSpec
from poolkeeper.planning.problem.arrays import MIB


class BrokerBound(NamedTuple):
    """A usable broker: its rack, and the most that it may hold, if known."""

    broker: int
    rack: str
    bound: int | None


def capacity_left(headroom: Headroom, brokers: Iterable[BrokerBound]) -> int | None:
    """What these brokers can hold after the worst failures; `None` if one of them has no bound."""
    domains = _largest_first(headroom, brokers)
    return None if domains is None else sum(domains[headroom.failures :])


def smallest_lost(headroom: Headroom, brokers: Iterable[BrokerBound]) -> int | None:
    """What the smallest of the brokers or racks that count as lost can hold; `None` if unknown.

    One that is larger counts as lost instead, so what it has beyond that is no help.
    """
    domains = _largest_first(headroom, brokers)
    return domains[: headroom.failures][-1] if domains and headroom.failures else None


def _largest_first(headroom: Headroom, brokers: Iterable[BrokerBound]) -> list[int] | None:
    """What each broker or rack can hold; `None` if one of the brokers has no bound."""
    by_rack = headroom.domain is FailureDomain.RACK
    domains: Counter[str] = Counter()
    for broker, rack, bound in brokers:
        if bound is None:
            return None
        domains[rack if by_rack else str(broker)] += bound
    return sorted(domains.values(), reverse=True)


def headroom_replicas(pool: ResourcePoolSpec, racks: Mapping[int, str | None]) -> int | None:
    """Replicas that fit after the worst failures, or `None` if that is unknown.

    `racks`: of the usable brokers.
    """
    if pool.headroom is None or not racks:
        return None
    return capacity_left(pool.headroom, replica_bounds(pool, racks))


def replica_bounds(
    pool: ResourcePoolSpec, racks: Mapping[int, str | None]
) -> Iterator[BrokerBound]:
    """The replicas that each of these brokers may hold, given their racks."""
    return (BrokerBound(b, r or "", pool.capacity_for(b).replicas) for b, r in racks.items())


def headroom_mib(pool: ResourcePoolSpec, racks: Mapping[int, str | None]) -> int | None:
    """MiB that fit after the worst failures, or `None` if that is unknown."""
    if pool.headroom is None or not racks:
        return None
    return capacity_left(
        pool.headroom,
        (BrokerBound(b, r or "", _disk_mib(pool, b)) for b, r in racks.items()),
    )


def _disk_mib(pool: ResourcePoolSpec, broker: int) -> int | None:
    disk = pool.capacity_for(broker).disk_bytes
    return None if disk is None else disk // MIB
