"""Which brokers of a pool may be given replicas, and what all of its brokers may hold.

Derived once a plan for each pool. New partitions ask by broker id, layouts by row.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import ClusterLimits, LimitPolicy, ResourcePoolSpec
from poolkeeper.planning.constraints.headroom import headroom_mib, headroom_replicas
from poolkeeper.planning.problem.arrays import MIB, BrokerIndex, Ints, eligible_of

UNLIMITED = np.iinfo(np.int32).max
"""Replicas of a broker without a cap."""

UNLIMITED_MIB = np.iinfo(np.int64).max
"""MiB of a broker without a disk; of a pool replicas, too."""

CAPACITY_FIELD, LIMIT_FIELD = "spec.capacity.replicas", "spec.limits.replicasPerBroker"


@frozen
class CapacityBounds:
    """Hard bounds on replicas and MiB, by broker and for the pool; huge where nothing is declared.

    `replicas`: the lower of `caps`, which the pool declares, and `limits`, which the cluster
    enforces. Where not all can be kept, the law of the caps ranks above that of the limits.
    The bounds of the pool are what still fits after the failures that its headroom asks for.
    """

    replicas: Ints
    caps: Ints
    limits: Ints
    mib: Ints
    pool_replicas: int
    pool_mib: int

    @property
    def bounded(self) -> bool:
        """Whether any bound is declared."""
        single = (self.replicas < UNLIMITED) | (self.mib < UNLIMITED_MIB)
        return bool(single.any()) or min(self.pool_replicas, self.pool_mib) < UNLIMITED_MIB


@frozen
class EligibleBrokers:
    """Brokers of a pool that may be given replicas: racks and weights by id.

    `caps`: the most replicas of each broker of the pool that has a bound.
    `bound_by`: the fields that set these bounds.
    `bounds`: the same with disks and headroom, by row.
    `demoted`: brokers that should lead no partition.
    The rack of a broker is `None` if neither the broker nor its pool names one.
    """

    racks: Mapping[int, str | None]
    weights: Mapping[int, float]
    caps: Mapping[int, int]
    bound_by: Mapping[int, tuple[str, ...]]
    bounds: CapacityBounds
    demoted: frozenset[int] = frozenset()

    def fields_bounding(self, brokers: Iterable[int]) -> tuple[str, ...]:
        """The fields to raise for more replicas on these brokers."""
        return tuple(sorted({field for b in brokers for field in self.bound_by.get(b, ())}))


def eligible_brokers(
    pool: ResourcePoolSpec, brokers: BrokerIndex, limits: ClusterLimits
) -> EligibleBrokers:
    """The eligible brokers of one pool, and what the pool's brokers may hold."""
    eligible = eligible_of(pool, brokers)
    rows = {b: brokers.index[b] for b in pool.brokers if eligible[brokers.index[b]]}
    racks = {b: brokers.rack_names[brokers.rack[row]] or None for b, row in rows.items()}
    caps = {b: replicas_cap(pool, b, limits) for b in pool.brokers}
    declared = {b: cap for b, cap in caps.items() if cap is not None}
    return EligibleBrokers(
        racks=racks,
        weights={b: pool.capacity_for(b).weight for b in rows},
        caps=declared,
        bound_by={b: bounding_fields(pool, b, limits) for b in declared},
        bounds=_bounds(pool, brokers, limits, racks),
        demoted=pool.demote,
    )


def replicas_cap(pool: ResourcePoolSpec, broker: int, limits: ClusterLimits) -> int | None:
    """The most replicas that the broker may hold: its own cap, or the cluster's enforced limit."""
    caps = pool.capacity_for(broker).replicas, _enforced(limits)
    return min((cap for cap in caps if cap is not None), default=None)


def bounding_fields(pool: ResourcePoolSpec, broker: int, limits: ClusterLimits) -> tuple[str, ...]:
    """The fields that say how many replicas the broker may hold; two where they say the same."""
    cap = replicas_cap(pool, broker, limits)
    own, limit = pool.capacity_for(broker).replicas, _enforced(limits)
    fields = (CAPACITY_FIELD, own), (LIMIT_FIELD, limit)
    return tuple(field for field, most in fields if most is not None and most == cap)


def _enforced(limits: ClusterLimits) -> int | None:
    return limits.replicas_per_broker if limits.policy is LimitPolicy.ENFORCE else None


def _bounds(
    pool: ResourcePoolSpec,
    brokers: BrokerIndex,
    limits: ClusterLimits,
    racks: Mapping[int, str | None],
) -> CapacityBounds:
    """The bounds by row; `racks`: of the eligible brokers, for the headroom."""
    caps, limited = np.full((2, len(brokers)), UNLIMITED, dtype=np.int64)
    mib = np.full(len(brokers), UNLIMITED_MIB, dtype=np.int64)
    for broker in pool.brokers:
        row, capacity, enforced = (
            brokers.index[broker],
            pool.capacity_for(broker),
            _enforced(limits),
        )
        if capacity.replicas is not None:
            caps[row] = capacity.replicas
        if enforced is not None:
            limited[row] = enforced
        if capacity.disk_bytes is not None:
            mib[row] = capacity.disk_bytes // MIB
    in_pool = headroom_replicas(pool, racks), headroom_mib(pool, racks)
    pool_replicas, pool_mib = (UNLIMITED_MIB if left is None else left for left in in_pool)
    lower = np.minimum(caps, limited)
    return CapacityBounds(lower, caps, limited, mib, int(pool_replicas), int(pool_mib))
