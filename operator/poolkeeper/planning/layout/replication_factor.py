"""Which topics are given the replicas that they ask for, where there is not room for all.

Topics are taken whole, those that need least first, so that as many as possible get what they ask
for and one that is too large for its pool keeps no other waiting. How many fit is found by halving;
the first that does not is left out, and the search goes on behind it, a few times. No more are
tried than there is room for by sum.

Whoever lays out tries again from the outcome, until nothing more finds room: the next plan would do
just that, and shall find nothing to do.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from poolkeeper.planning.placement.broker_choice import held_mib
from poolkeeper.planning.placement.flow import CapacityBounds
from poolkeeper.planning.placement.rounds import held_by
from poolkeeper.planning.problem.arrays import Bools, Ints, count_slots
from poolkeeper.planning.problem.pool_problem import Unit

_LEFT_OUT_MAX = 3
"""Topics that do not fit, after which no more are tried."""

_PLENTY = 2**50
"""More room than anything needs, so that sums of it stay numbers."""


def raised(unit: Unit, room: CapacityBounds, fits: Callable[[Unit], bool]) -> Unit | None:
    """The unit with as many topics raised as fit; `None` if that is none, or would be all.

    `fits` tells whether there is room for what a unit asks for.
    """
    found = count_slots(unit.lists >= 0)
    wanting = np.flatnonzero(unit.rf > found)
    taken, left_out = np.zeros(len(unit.topics), dtype=bool), 0

    def asking(topics: Ints) -> Unit:
        asks = taken.copy()
        asks[topics] = True
        return replace(unit, rf=np.where(asks[unit.topic], unit.rf, np.minimum(unit.rf, found)))

    waiting = _by_need(unit, found, wanting)
    while len(waiting) and left_out < _LEFT_OUT_MAX:
        fitting, more = 0, min(len(waiting), _room_for(unit, room, found, taken, waiting)) + 1
        if not left_out and more > len(waiting):
            more = len(waiting)  # all of them were tried before
        while more - fitting > 1:
            half = (fitting + more) // 2
            if fits(asking(waiting[:half])):
                fitting = half
            else:
                more = half
        taken[waiting[:fitting]] = True
        waiting = waiting[fitting + 1 :]
        left_out += 1
    return asking(waiting[:0]) if taken.any() else None


def _by_need(unit: Unit, found: Ints, wanting: Ints) -> Ints:
    """Topics that want more, those that need fewest MiB first, then those of fewest replicas."""
    mib, replicas = _needs(unit, found, wanting)
    topics = np.unique(unit.topic[wanting])
    return topics[np.lexsort((topics, replicas[topics], mib[topics]))]


def _needs(unit: Unit, found: Ints, wanting: Ints) -> tuple[Ints, Ints]:
    """MiB and replicas that topics need besides what they have."""
    more = (unit.rf - found)[wanting]
    needs = np.zeros((2, len(unit.topics)), dtype=np.int64)
    for row, counts in zip(needs, (more * unit.mib[wanting], more), strict=True):
        np.add.at(row, unit.topic[wanting], counts)
    return needs[0], needs[1]


def _room_for(unit: Unit, room: CapacityBounds, found: Ints, taken: Bools, waiting: Ints) -> int:
    """How many of those that wait have room by sum, behind what is taken already."""
    wanting = np.flatnonzero(unit.rf > found)
    least = len(waiting)
    for needs, free in zip(_needs(unit, found, wanting), _free(unit, room), strict=True):
        sums = needs[taken].sum() + np.cumsum(needs[waiting])
        least = min(least, int(np.searchsorted(sums, free, side="right")))
    return least


def _free(unit: Unit, room: CapacityBounds) -> Iterator[int]:
    """MiB and replicas that the pool's brokers have left, all together."""
    inside = unit.brokers.rows(unit.pool.brokers)
    held = unit.fixed_mib + held_mib(unit, unit.lists), held_by(unit, unit.lists)
    bounds = (room.mib, room.pool_mib), (room.replicas, room.pool_replicas)
    for own, (caps, together) in zip(held, bounds, strict=True):
        single = np.clip(np.minimum(caps[inside], _PLENTY) - own[inside], 0, None).sum()
        yield int(min(single, max(0, min(together, _PLENTY) - int(own[inside].sum()))))
