"""The load that unmanaged topics bring to a pool's brokers when they evacuate others."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.placement.broker_choice import held_mib
from poolkeeper.planning.placement.rounds import held_by
from poolkeeper.planning.problem.arrays import Ints
from poolkeeper.planning.problem.scope import TopicRole


@dataclass(frozen=True, slots=True)
class Arrived:
    """Replicas and MiB by broker; `left`: the brokers that the replicas come from."""

    replicas: Ints
    mib: Ints
    left: tuple[int, ...] = ()


def arrived(pool: str, layouts: Iterable[Layout], brokers: int) -> Arrived:
    """All load that comes to the pool, by its layouts of unmanaged topics."""
    replicas, mib = np.zeros((2, brokers), dtype=np.int64)
    left: set[int] = set()
    for layout in layouts:
        problem = layout.problem
        if problem.role is TopicRole.EVACUATED and problem.pool.name == pool:
            replicas += np.maximum(
                held_by(problem, layout.lists) - held_by(problem, problem.lists), 0
            )
            mib += np.maximum(held_mib(problem, layout.lists) - held_mib(problem, problem.lists), 0)
            left.update(
                problem.brokers.ids[row] for row in np.unique(problem.lists[problem.leaves])
            )
    return Arrived(replicas, mib, tuple(sorted(left)))
