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
        unit = layout.unit
        if unit.role is TopicRole.EVACUATED and unit.pool.name == pool:
            replicas += np.maximum(held_by(unit, layout.lists) - held_by(unit, unit.lists), 0)
            mib += np.maximum(held_mib(unit, layout.lists) - held_mib(unit, unit.lists), 0)
            left.update(unit.brokers.ids[row] for row in np.unique(unit.lists[unit.leaves]))
    return Arrived(replicas, mib, tuple(sorted(left)))
