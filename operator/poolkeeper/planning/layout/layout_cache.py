"""A cache of the last layouts: a pool in which nothing changed is not laid out again.

A loop plans the same cluster again and again, while it waits and during a run. Mostly something
changed that is no part of a layout (a throttle, a leader epoch), or a part of one pool only. What a
layout depends on is its question (`lay_out`), and the same question has the same answer.
"""

from collections import deque
from dataclasses import fields
from typing import Any

import numpy as np

from poolkeeper.planning.constraints.capacity import CapacityBounds
from poolkeeper.planning.layout.pool_layout import Layout, lay_out
from poolkeeper.planning.problem.arrays import BrokerIndex
from poolkeeper.planning.problem.pool_problem import PoolProblem
from poolkeeper.planning.problem.pool_rows import BackgroundLoad

KNOWN_MAX = 8
ROWS_MAX = 50_000
"""Layouts of larger pools are not kept: their columns take megabytes."""
_OF_ARRAYS = (PoolProblem, CapacityBounds, BrokerIndex, BackgroundLoad)


class LayoutCache:
    """Lays out pools as `lay_out` does. For one loop: it is not shared between threads."""

    def __init__(self) -> None:
        self._known: deque[tuple[tuple[object, ...], Layout]] = deque(maxlen=KNOWN_MAX)

    def __call__(
        self,
        problem: PoolProblem,
        capacity: CapacityBounds,
        *,
        balance: bool,
        min_gain: float = 0.0,
    ) -> Layout:
        """The wanted layout of one pool."""
        question = (problem.pool.name, balance, min_gain, capacity, problem)
        for before, layout in self._known:
            if _is_same(before, question):
                return layout
        found = lay_out(problem, capacity, balance=balance, min_gain=min_gain)
        if len(problem) <= ROWS_MAX:
            self._known.append((question, found))
        return found


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and bool((one == other).all())
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, _OF_ARRAYS):
        return all(_is_same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return bool(one == other)
