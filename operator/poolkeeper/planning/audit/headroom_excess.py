"""Headroom: what a pool could no longer hold if some of its brokers or racks were lost.

The largest `failures` of the domain are taken away. What the pool's brokers hold in all must fit
into what is left: replicas under the caps, data on the disks. Headroom is counted only if every
usable broker declares the capacity concerned.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from poolkeeper.model.specs import Capacity, FailureDomain, ResourcePoolSpec

_MIB = 1024**2


def headroom_excess(
    pool: ResourcePoolSpec,
    usable: Sequence[int],
    racks: Mapping[int, str],
    held: Mapping[int, int],
    mib: Mapping[int, int],
) -> int:
    """Replicas and MiB that would not fit; `held` and `mib` by broker."""
    return sum(
        max(0, sum(load.get(broker, 0) for broker in pool.brokers) - left)
        for load, left in zip((held, mib), room_left(pool, usable, racks), strict=True)
        if left is not None
    )


def room_left(
    pool: ResourcePoolSpec, usable: Sequence[int], racks: Mapping[int, str]
) -> tuple[int | None, int | None]:
    """Replicas and MiB that the usable brokers can hold after the worst failures.

    `None` if the pool asks for no headroom, or if a broker declares no capacity.
    """
    if pool.headroom is None or not usable:
        return None, None
    return _left(pool, usable, racks, _replicas), _left(pool, usable, racks, _disk_mib)


def _left(
    pool: ResourcePoolSpec,
    usable: Sequence[int],
    racks: Mapping[int, str],
    capacity_of: Callable[[Capacity], int | None],
) -> int | None:
    assert pool.headroom is not None
    domains: Counter[str] = Counter()
    for broker in usable:
        capacity = capacity_of(pool.capacity_for(broker))
        if capacity is None:
            return None
        by_rack = pool.headroom.domain is FailureDomain.RACK
        domains[racks[broker] if by_rack else str(broker)] += capacity
    return sum(sorted(domains.values(), reverse=True)[pool.headroom.failures :])


def _replicas(capacity: Capacity) -> int | None:
    return capacity.replicas


def _disk_mib(capacity: Capacity) -> int | None:
    return None if capacity.disk_bytes is None else capacity.disk_bytes // _MIB
