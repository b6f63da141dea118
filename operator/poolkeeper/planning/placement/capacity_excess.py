"""How far lists exceed what brokers may hold: what a plan must not add to.

The law of capacity counts replicas above the pool's caps and MiB above disks, and both above what
the pool's headroom leaves. The cluster's enforced limit of replicas is a law of its own, and ranks
below: what is above a cap may go to a broker above the limit, never the other way round.
"""

from typing import NamedTuple

import numpy as np

from poolkeeper.planning.constraints.capacity import CapacityBounds
from poolkeeper.planning.placement.broker_choice import mib_by_broker
from poolkeeper.planning.placement.rounds import replicas_by_broker
from poolkeeper.planning.problem.arrays import Ints
from poolkeeper.planning.problem.pool_problem import PoolProblem


class CapacityExcess(NamedTuple):
    """What a pool's brokers hold above what they may, the higher law first; less is better.

    `capacity`: replicas and MiB above caps, disks and headroom. `limits`: replicas above limits.
    """

    capacity: int = 0
    limits: int = 0


def capacity_excess(problem: PoolProblem, lists: Ints, capacity: CapacityBounds) -> CapacityExcess:
    """The excess of these lists, summed over the pool's brokers."""
    if not capacity.bounded:
        return CapacityExcess()
    inside = problem.pool_brokers
    replicas = replicas_by_broker(problem, lists)[inside]
    mib = (problem.background_load.mib + mib_by_broker(problem, lists))[inside]
    single = _above(replicas, capacity.caps[inside]) + _above(mib, capacity.mib[inside])
    together = max(0, int(replicas.sum()) - capacity.pool_replicas) + max(
        0, int(mib.sum()) - capacity.pool_mib
    )
    return CapacityExcess(single + together, _above(replicas, capacity.limits[inside]))


def _above(held: Ints, most: Ints) -> int:
    return int(np.maximum(held - most, 0).sum())
