"""Where replicas go: rounds of one minimum-cost flow each, over classes of replicas.

A round does the following:

1. It classes replicas that are interchangeable (`replica_classes`, `open_slots`).
2. Where bytes need more moves than counts, it asks `byte_surplus` how many.
3. It solves the flow: how many replicas of each class go where (`flow`).
4. It realises the flow (`broker_choice`) with the smallest replicas of each class, or with those
   that suit `byte_targets`, and moves one replica of a partition at most.

The next round does what a round leaves undone, until the flow has nothing to move. The outcome
depends on the layout alone, not on how it came about. So the planner never leaves a layout that it
has reached.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Goal
from poolkeeper.planning.constraints.bands import Band, band
from poolkeeper.planning.constraints.capacity import CapacityBounds
from poolkeeper.planning.constraints.evictions import OPEN, OpenSlots
from poolkeeper.planning.constraints.measures import LoadMeasure
from poolkeeper.planning.placement import byte_surplus
from poolkeeper.planning.placement.broker_choice import assign
from poolkeeper.planning.placement.byte_targets import aim_of, spread_over_cells
from poolkeeper.planning.placement.flow import FlowInput, solve_flow
from poolkeeper.planning.placement.giving import copied_mib
from poolkeeper.planning.placement.open_slots import slot_demands
from poolkeeper.planning.placement.replica_classes import (
    cells_of,
    members_in_order,
    members_of,
    movable_replicas,
)
from poolkeeper.planning.placement.rounding import ReplicaFlow
from poolkeeper.planning.problem.arrays import Floats, Ints, any_slot
from poolkeeper.planning.problem.grouping import ordered_by
from poolkeeper.planning.problem.pool_problem import PoolProblem

_ROUNDS_MAX = 40
_SMALL_ROUNDS = 8
"""Rounds in which only the smallest replicas of a class move."""
_FEW_OF = 8
"""Once so few are left, of those that the first round wanted to move, others may move as well."""


@frozen
class Placement:
    """The layout found, and the band of replicas that it was made for."""

    lists: Ints
    band: Band


def replicas_by_broker(problem: PoolProblem, lists: Ints) -> Ints:
    """Replicas by broker, of these lists and of the background load."""
    # `OPEN` and `NONE` are counted before the first broker.
    counts: Ints = np.bincount(lists.ravel() - OPEN, minlength=len(problem.brokers) - OPEN)
    return problem.background_load.replicas + counts[-OPEN:]


def place(
    problem: PoolProblem,
    opened: OpenSlots,
    share: Floats,
    goal: Goal | None,
    capacity: CapacityBounds,
    *,
    balance: bool,
    weighed: LoadMeasure | None = None,
) -> Placement:
    """Fill all open slots; if `balance`, then bring the brokers inside the goal's band.

    `weighed`: a load that should come out even besides the number of replicas, if any.
    """
    sizes = problem.mib if weighed is None else weighed.value
    given = _RoundInput(problem, opened, ordered_by(sizes), capacity, weighed)
    wide = band(share, goal if balance else None)
    narrow = band(share, goal if balance else None, half=True)
    lists = opened.lists
    if (lists == OPEN).any() or (
        problem.fresh.any() and not _is_inside(problem, lists, wide, capacity)
    ):
        first = _round(given, lists, wide)
        if first.wanted and not narrow.accepts_as(wide):  # or it is the same round
            first = _round(given, lists, narrow)
        lists = first.lists
    if _is_inside(problem, lists, wide, capacity):
        return Placement(lists, wide)
    few = 0
    for number in range(_ROUNDS_MAX):
        if _is_inside(problem, lists, narrow, capacity):
            break
        step = _round(given, lists, narrow, few if number < _SMALL_ROUNDS else None)
        few = few or step.wanted // _FEW_OF
        if not step.moved:
            break
        lists = step.lists
    return Placement(lists, narrow)


def _is_inside(problem: PoolProblem, lists: Ints, target: Band, capacity: CapacityBounds) -> bool:
    held = replicas_by_broker(problem, lists)
    inside = (target.outside(held) == 0) & (held <= capacity.replicas)
    return bool(inside[problem.eligible].all())


@frozen
class _RoundResult:
    """Lists after a round, and the moves of existing replicas that it wanted and that it made."""

    lists: Ints
    wanted: int
    moved: int


@frozen
class _RoundInput:
    """What is the same in every round; `by_size`: all rows, the smallest first."""

    problem: PoolProblem
    opened: OpenSlots
    by_size: Ints
    capacity: CapacityBounds
    weighed: LoadMeasure | None


def _round(given: _RoundInput, lists: Ints, target: Band, few: int | None = None) -> _RoundResult:
    """Do a round; `few`: if more shall move, only the smallest of a class do."""
    problem, opened, capacity = given.problem, given.opened, given.capacity
    strict = all(spread.strict for spread in opened.spreads)
    cells = cells_of(problem, merge=given.weighed is not None and strict)
    movable = movable_replicas(problem, opened, lists, cells)
    demands = slot_demands(problem, opened, lists, cells)
    held, aim, leave = replicas_by_broker(problem, lists), None, None
    if given.weighed is not None:
        aim = aim_of(given.weighed, lists, problem.eligible)
        if cells.merged:
            leave = byte_surplus.replicas_to_leave(aim, lists, held, target)
    copied = None if given.weighed is not None else copied_mib(problem, movable, lists)
    order = members_in_order(movable, given.by_size, copied)
    class_flow = solve_flow(
        FlowInput(
            problem,
            opened,
            cells,
            movable,
            demands,
            held,
            target,
            capacity,
            order,
            leave,
            copied,
        )
    )
    chosen = class_flow.movable_to_cell
    if aim is not None and chosen.any() and cells.merged:
        chosen = spread_over_cells(chosen, movable.sites)
    members = members_of(movable, any_slot(chosen > 0), order)
    flow = ReplicaFlow(
        cells,
        movable,
        members,
        demands,
        chosen,
        class_flow.demand_to_cell,
        class_flow.quota,
        aim,
        few is not None and class_flow.by_size and int(chosen.sum()) > few,
    )
    assigned = assign(problem, lists, flow, capacity.mib)
    return _RoundResult(
        assigned.lists, int(class_flow.movable_to_cell[~movable.fresh].sum()), assigned.moved
    )
