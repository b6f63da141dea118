"""The load that unmanaged topics bring to a pool's brokers when they evacuate others."""

from collections.abc import Iterable

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.placement.broker_choice import mib_by_broker
from poolkeeper.planning.placement.rounds import replicas_by_broker
from poolkeeper.planning.problem.arrays import Ints
from poolkeeper.planning.problem.pool_membership import TopicRole


@frozen
class IncomingLoad:
    """Replicas and MiB by broker; `left`: the brokers that the replicas come from."""

    replicas: Ints
    mib: Ints
    left: tuple[int, ...] = ()


def incoming_load(pool: str, layouts: Iterable[Layout], brokers: int) -> IncomingLoad:
    """All load that comes to the pool, by its layouts of unmanaged topics."""
    replicas, mib = np.zeros((2, brokers), dtype=np.int64)
    left: set[int] = set()
    for layout in layouts:
        problem = layout.problem
        if problem.role is TopicRole.EVACUATED and problem.pool.name == pool:
            replicas += np.maximum(
                replicas_by_broker(problem, layout.lists)
                - replicas_by_broker(problem, problem.lists),
                0,
            )
            mib += np.maximum(
                mib_by_broker(problem, layout.lists) - mib_by_broker(problem, problem.lists), 0
            )
            left.update(problem.brokers.ids[row] for row in distinct(problem.lists[problem.leaves]))
    return IncomingLoad(replicas, mib, tuple(sorted(left)))
