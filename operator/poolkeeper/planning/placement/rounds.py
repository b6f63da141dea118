"""Where replicas go: rounds of one minimum-cost flow each, over classes of replicas.

A round does the following:

1. It classes replicas that are interchangeable (`replica_classes`, `open_slots`).
2. Where bytes need more moves than counts, it asks `byte_exchanges` how many.
3. It solves the flow: how many replicas of each class go where (`flow`).
4. It realises the flow (`broker_choice`) with the smallest replicas of each class, or with those
   that suit `byte_targets`, and moves one replica of a partition at most.

The next round does what a round leaves undone, until the flow has nothing to move. The outcome
depends on the layout alone, not on how it came about. So the planner never leaves a layout that it
has reached.
"""

from dataclasses import dataclass

import numpy as np

from poolkeeper.model.specs import Goal
from poolkeeper.planning.constraints.bands import Band, band
from poolkeeper.planning.constraints.evictions import OPEN, Opened
from poolkeeper.planning.constraints.measures import LoadMeasure
from poolkeeper.planning.placement import byte_exchanges
from poolkeeper.planning.placement.broker_choice import seat
from poolkeeper.planning.placement.byte_targets import aim_of, mixed
from poolkeeper.planning.placement.flow import CapacityBounds, RoutingTask, routed
from poolkeeper.planning.placement.open_slots import wants_of
from poolkeeper.planning.placement.replica_classes import cells_of, members_of, offers_of
from poolkeeper.planning.placement.rounding import ReplicaFlow
from poolkeeper.planning.problem.arrays import NONE, Floats, Ints, any_slot
from poolkeeper.planning.problem.pool_problem import PoolProblem

_ROUNDS_MAX = 40


@dataclass(frozen=True, slots=True)
class Placed:
    """The layout found, and the band of replicas that it was made for."""

    lists: Ints
    band: Band


def held_by(problem: PoolProblem, lists: Ints) -> Ints:
    """Replicas by broker, of these lists and of the background load."""
    # `NONE` is counted at index 0, before the first broker.
    counts: Ints = np.bincount(
        np.maximum(lists, NONE).ravel() + 1, minlength=len(problem.brokers) + 1
    )
    return problem.background_load.replicas + counts[1:]


def place(
    problem: PoolProblem,
    opened: Opened,
    share: Floats,
    goal: Goal | None,
    room: CapacityBounds,
    *,
    balance: bool,
    weighed: LoadMeasure | None = None,
) -> Placed:
    """Fill all open slots; if `balance`, then bring the brokers inside the goal's band.

    `weighed`: a load that should come out even besides the number of replicas, if any.
    """
    sizes = problem.mib if weighed is None else weighed.value
    setting = _Setting(problem, opened, np.argsort(sizes, kind="stable"), room, weighed)
    wide = band(share, goal if balance else None)
    narrow = band(share, goal if balance else None, half=True)
    lists = opened.lists
    if (lists == OPEN).any() or (problem.fresh.any() and not _settled(problem, lists, wide, room)):
        first = _round(setting, lists, wide)
        if first.offered:
            first = _round(setting, lists, narrow)
        lists = first.lists
    if _settled(problem, lists, wide, room):
        return Placed(lists, wide)
    for _ in range(_ROUNDS_MAX):
        if _settled(problem, lists, narrow, room):
            break
        step = _round(setting, lists, narrow)
        if not step.moved:
            break
        lists = step.lists
    return Placed(lists, narrow)


def _settled(problem: PoolProblem, lists: Ints, target: Band, room: CapacityBounds) -> bool:
    held = held_by(problem, lists)
    inside = (target.outside(held) == 0) & (held <= room.replicas)
    return bool(inside[problem.eligible].all())


@dataclass(frozen=True, slots=True)
class _Step:
    """Lists after a round, and the moves of existing replicas that it wanted and that it made."""

    lists: Ints
    offered: int
    moved: int


@dataclass(frozen=True, slots=True)
class _Setting:
    """What is the same in every round; `by_size`: all rows, the smallest first."""

    problem: PoolProblem
    opened: Opened
    by_size: Ints
    room: CapacityBounds
    weighed: LoadMeasure | None


def _round(setting: _Setting, lists: Ints, target: Band) -> _Step:
    problem, opened, room = setting.problem, setting.opened, setting.room
    strict = all(spread.strict for spread in opened.spreads)
    cells = cells_of(problem, merge=setting.weighed is not None and strict)
    offers = offers_of(problem, opened, lists, cells)
    wants = wants_of(problem, opened, lists, cells)
    held, aim, leave = held_by(problem, lists), None, None
    if setting.weighed is not None:
        aim = aim_of(setting.weighed, lists, problem.eligible)
        if cells.merged:
            leave = byte_exchanges.leaving(aim, lists, held, target)
    flow = routed(RoutingTask(problem, opened, cells, offers, wants, held, target, room, leave))
    chosen = flow.offer_to_cell
    if aim is not None and chosen.any() and cells.merged:
        chosen = mixed(chosen, offers.sites)
    members = members_of(offers, any_slot(chosen > 0), setting.by_size)
    demand = ReplicaFlow(cells, offers, members, wants, chosen, flow.want_to_cell, flow.quota, aim)
    seated = seat(problem, lists, demand, room.mib)
    return _Step(seated.lists, int(flow.offer_to_cell[~offers.fresh].sum()), seated.moved)
