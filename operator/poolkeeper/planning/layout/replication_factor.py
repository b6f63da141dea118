"""Which topics get a higher replication factor where not all of them fit.

A topic is raised whole or not at all. Topics that need least are tried first: so as many as
possible are raised, and a topic that is too large for its pool keeps no other waiting. Bisection
finds how many fit. The first topic that does not fit is left out, and the search continues behind
it, up to `_LEFT_OUT_MAX` times. A sum of free capacity bounds how many are tried.

The caller repeats the search from the outcome until no topic fits any more. Otherwise the next plan
would find more to raise.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.planning.constraints.capacity import CapacityBounds
from poolkeeper.planning.placement.broker_choice import mib_by_broker
from poolkeeper.planning.placement.rounds import replicas_by_broker
from poolkeeper.planning.problem.arrays import Bools, Ints, count_slots
from poolkeeper.planning.problem.pool_problem import PoolProblem

_LEFT_OUT_MAX = 3
"""Topics that do not fit, after which no more are tried."""

_PLENTY = 2**50
"""More room than anything needs, so that sums of it stay numbers."""


def raise_factors(
    problem: PoolProblem, capacity: CapacityBounds, fits: Callable[[PoolProblem], bool]
) -> PoolProblem | None:
    """The pool's problem with as many topics raised as fit.

    `None` if no topic fits. All topics together are not tried: the caller has done that.
    `fits`: whether the pool has room for the replication factors of a problem.
    """
    found = count_slots(problem.lists >= 0)
    short_of = np.flatnonzero(problem.rf > found)
    taken, left_out = np.zeros(len(problem.topics), dtype=bool), 0

    def with_factors(topics: Ints) -> PoolProblem:
        asks = taken.copy()
        asks[topics] = True
        return replace(
            problem, rf=np.where(asks[problem.topic], problem.rf, np.minimum(problem.rf, found))
        )

    waiting = _by_need(problem, found, short_of)
    while len(waiting) and left_out < _LEFT_OUT_MAX:
        fitting, more = (
            0,
            min(len(waiting), _fitting_count(problem, capacity, found, taken, waiting)) + 1,
        )
        if not left_out and more > len(waiting):
            more = len(waiting)  # all of them were tried before
        while more - fitting > 1:
            half = (fitting + more) // 2
            if fits(with_factors(waiting[:half])):
                fitting = half
            else:
                more = half
        taken[waiting[:fitting]] = True
        waiting = waiting[fitting + 1 :]
        left_out += 1
    return with_factors(waiting[:0]) if taken.any() else None


def _by_need(problem: PoolProblem, found: Ints, short_of: Ints) -> Ints:
    """Topics that want more replicas, in ascending order of added MiB, then of added replicas."""
    mib, replicas = _needs(problem, found, short_of)
    topics = distinct(problem.topic[short_of])
    return topics[np.lexsort((topics, replicas[topics], mib[topics]))]


def _needs(problem: PoolProblem, found: Ints, short_of: Ints) -> tuple[Ints, Ints]:
    """The MiB and the replicas that each topic adds."""
    more = (problem.rf - found)[short_of]
    needs = np.zeros((2, len(problem.topics)), dtype=np.int64)
    for row, counts in zip(needs, (more * problem.mib[short_of], more), strict=True):
        np.add.at(row, problem.topic[short_of], counts)
    return needs[0], needs[1]


def _fitting_count(
    problem: PoolProblem, capacity: CapacityBounds, found: Ints, taken: Bools, waiting: Ints
) -> int:
    """How many of the waiting topics fit by sum, besides those already raised."""
    short_of = np.flatnonzero(problem.rf > found)
    least = len(waiting)
    for needs, free in zip(_needs(problem, found, short_of), _free(problem, capacity), strict=True):
        sums = needs[taken].sum() + np.cumsum(needs[waiting])
        least = min(least, int(np.searchsorted(sums, free, side="right")))
    return least


def _free(problem: PoolProblem, capacity: CapacityBounds) -> Iterator[int]:
    """Free MiB, then free replicas, of all the pool's brokers together."""
    inside = problem.pool_brokers
    held = (
        problem.background_load.mib + mib_by_broker(problem, problem.lists),
        replicas_by_broker(problem, problem.lists),
    )
    bounds = (capacity.mib, capacity.pool_mib), (capacity.replicas, capacity.pool_replicas)
    for own, (caps, together) in zip(held, bounds, strict=True):
        single = np.clip(np.minimum(caps[inside], _PLENTY) - own[inside], 0, None).sum()
        yield int(min(single, max(0, min(together, _PLENTY) - int(own[inside].sum()))))
