"""What plans must copy at least, by a solver that knows the laws and not the planner.

A layout of one pool does as well as another one if partitions have as many replicas, spread over
racks as evenly, and if no more replicas or bytes, in all, lie outside the brokers' bands. What a
layout copies costs its size, and 64 MiB a replica. Constraint programming proves how little that
can be.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from ortools.sat.python import cp_model

from poolkeeper.planning.constraints.racks import even_spread, rack_capacity
from poolkeeper.planning.goals.local_search import Bounded
from poolkeeper.planning.goals.topic_counts import TopicCounts
from poolkeeper.planning.layout.pool_layout import Layout

REPLICA_MIB = 64
_WORK_MAX = 0.5
"""In the solver's own unit, which is the same on a busy machine: about seconds."""


def copied(layout: Layout, lists: Sequence[Sequence[int]]) -> int:
    """MiB that these lists of broker indices copy, and 64 a replica."""
    problem = layout.problem
    return sum(
        REPLICA_MIB + int(problem.mib[row])
        for row, held in enumerate(lists)
        for broker in held
        if broker >= 0 and broker not in problem.lists[row] and not problem.fresh[row]
    )


def least_copied(layout: Layout) -> tuple[int, int]:
    """What layouts that do as well as this one copy at least, as far as it can be proven.

    And what the cheapest of those copies that the solver has found.
    """
    problem, model = layout.problem, cp_model.CpModel()
    ends = [[b for b in held if b >= 0] for held in layout.lists.tolist()]
    usable = np.flatnonzero(problem.eligible).tolist()
    holds = [{b: model.new_bool_var("") for b in {*usable, *end}} for end in ends]
    costs = []
    for row, (may, end) in enumerate(zip(holds, ends, strict=True)):
        for broker, held in may.items():
            model.add_hint(held, broker in end)
        model.add(sum(may.values()) == len(end))
        _keep_racks_even(model, layout, may, end)
        price = REPLICA_MIB + int(problem.mib[row])
        costs += [price * held for b, held in may.items() if b not in problem.lists[row]]
    every = range(len(ends))
    band = layout.placement.band
    bounds = [(every, b, int(band.low[b]), int(band.high[b])) for b in usable]
    _come_as_near(model, holds, ends, bounds)
    for goal in layout.optimization.goals:
        if isinstance(goal, Bounded):
            low, high = (each.tolist() for each in (goal.band.low, goal.band.high))
            of_all = [(every, b, low[b], high[b]) for b in usable]
            _come_as_near(model, holds, ends, of_all, goal.measure.value.tolist())
        if isinstance(goal, TopicCounts):
            rows = {t: np.flatnonzero(problem.topic == t).tolist() for t in set(problem.topic)}
            of_topics = [
                (some, b, int(goal.low[t, b]), int(goal.high[t, b]))
                for t, some in rows.items()
                for b in usable
            ]
            _come_as_near(model, holds, ends, of_topics)
    model.minimize(sum(costs))
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time, solver.parameters.num_workers = _WORK_MAX, 1
    assert solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return math.ceil(solver.best_objective_bound - 1e-6), round(solver.objective_value)


def _keep_racks_even(
    model: cp_model.CpModel, layout: Layout, may: dict[int, cp_model.IntVar], end: Sequence[int]
) -> None:
    rack = layout.problem.brokers.rack
    capacity = rack_capacity(layout.problem)
    even = even_spread(len(end), capacity, (0,) * len(capacity))
    held = Counter(rack[end].tolist())
    for number in range(len(capacity)):
        inside = sum(var for b, var in may.items() if rack[b] == number)
        model.add(inside <= max(even.high[number], held[number]))
        model.add(inside >= min(even.low[number], held[number]))


def _come_as_near(
    model: cp_model.CpModel,
    holds: Sequence[dict[int, cp_model.IntVar]],
    ends: Sequence[Sequence[int]],
    bounds: Sequence[tuple[Sequence[int], int, int, int]],
    value: Sequence[int] | None = None,
) -> None:
    """No more replicas above, and none more missing; bounds: of rows, a broker, low and high.

    `value`: what the replicas of each row count, if not one.
    """
    misses: tuple[list[cp_model.IntVar], list[cp_model.IntVar]] = [], []
    missed = [0, 0]
    each = [1] * len(ends) if value is None else value
    most = sum(each)
    for rows, broker, low, high in bounds:
        count = sum(each[row] * holds[row][broker] for row in rows if broker in holds[row])
        now = sum(each[row] for row in rows if broker in ends[row])
        for side, (miss, limit) in enumerate(
            ((now - high, count - high), (low - now, low - count))
        ):
            if side == 0 and high >= most:
                continue
            more = model.new_int_var(0, most, "")
            model.add(more >= limit)
            misses[side].append(more)
            missed[side] += max(miss, 0)
    for side in (0, 1):
        model.add(sum(misses[side]) <= missed[side])
