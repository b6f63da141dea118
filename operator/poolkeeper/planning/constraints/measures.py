"""What goals balance, as numbers by partition and by broker: replicas, bytes, bytes per second.

A measure counts a value for every replica of a partition: 1, its size, its rate. The share of a
broker results from the same filling as for replicas (`bands`), with the value as the weight of each
partition. If the rack law demands one replica of each partition in each rack, every rack must hold
all data.

Caps and disks are measures too (the function `laws`): their band reaches from zero to the bound.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.planning.constraints.bands import Band, BoundedGroup, band, shares
from poolkeeper.planning.constraints.capacity import CapacityBounds
from poolkeeper.planning.constraints.evictions import OpenSlots
from poolkeeper.planning.problem.arrays import (
    MIB,
    NONE,
    Bools,
    Floats,
    Ints,
    count_slots,
    weights_by,
)
from poolkeeper.planning.problem.pool_problem import PoolProblem

_HEAVIER_MAX = 8


@frozen
class LoadMeasure:
    """A value by row, the background load in it by broker, and the bands.

    `kind`: what the value counts.
    """

    kind: GoalKind
    value: Ints
    background: Ints
    wide: Band
    narrow: Band

    @property
    def is_law(self) -> bool:
        """Whether the measure has no target but its bounds."""
        return self.narrow is self.wide

    def load(self, lists: Ints) -> Ints:
        """The load by broker."""
        return self.background + weights_by(lists, self.value, len(self.background))

    def outside(self, load: Ints, eligible: Bools) -> bool:
        """Whether an eligible broker lies outside the wide band."""
        return bool((self.wide.outside(load) != 0)[eligible].any())


def measure_of(problem: PoolProblem, opened: OpenSlots, lists: Ints, goal: Goal) -> LoadMeasure:
    """The measure of a goal for replicas, bytes or bytes per second; `lists`: those so far."""
    value, background = _values(problem, goal.kind)
    share = share_of_value(problem, opened, lists, value, background)
    if goal.kind is GoalKind.BYTES and goal.count is not None:
        goal = replace(goal, count=goal.count * MIB)  # of bytes and directories a goal counts MiB
    return LoadMeasure(
        goal.kind, value, background, band(share, goal), band(share, goal, half=True)
    )


def replica_measure(problem: PoolProblem, share: Floats, goal: Goal) -> LoadMeasure:
    """The measure of replicas around a known share."""
    ones = np.ones(len(problem), dtype=np.int64)
    bands = band(share, goal), band(share, goal, half=True)
    return LoadMeasure(goal.kind, ones, problem.background_load.replicas, *bands)


def laws(problem: PoolProblem, capacity: CapacityBounds) -> tuple[LoadMeasure, LoadMeasure]:
    """The measures of what brokers may hold: replicas under their caps, MiB under their disks."""
    nothing = np.zeros(len(problem.brokers), dtype=np.int64)
    caps, disks = (
        Band(nothing, high, nothing.astype(float)) for high in (capacity.replicas, capacity.mib)
    )
    ones = np.ones(len(problem), dtype=np.int64)
    return (
        LoadMeasure(GoalKind.REPLICAS, ones, problem.background_load.replicas, caps, caps),
        LoadMeasure(GoalKind.BYTES, problem.mib, problem.background_load.mib, disks, disks),
    )


def _values(problem: PoolProblem, kind: GoalKind) -> tuple[Ints, Ints]:
    if kind is GoalKind.BYTES:
        return problem.size, problem.background_load.mib * MIB
    if kind is GoalKind.BYTES_IN:
        return problem.rate, problem.background_load.rate
    return np.ones(len(problem), dtype=np.int64), problem.background_load.replicas


def share_of_value(
    problem: PoolProblem, opened: OpenSlots, lists: Ints, value: Ints, background: Ints
) -> Floats:
    """Each eligible broker's fair share of the value of all replicas and the background load.

    If a partition is larger than a fair share, no layout can do better: the broker's share is then
    that partition, and the others divide the rest.
    """
    eligible = problem.eligible
    heavy = np.zeros(len(value), dtype=bool)
    share = _fill(problem, opened, lists, value, background, heavy)
    for _ in range(_HEAVIER_MAX):
        light = share[eligible].min(initial=np.inf)
        heavier = (value > max(light, 1.0)) & ~problem.fresh
        if (heavier == heavy).all():
            break
        heavy = heavier
        share = _fill(problem, opened, lists, value, background, heavy)
    return share


def _fill(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    value: Ints,
    background: Ints,
    heavy: Bools,
) -> Floats:
    """Shares by filling; immovable replicas and those of larger partitions stay."""
    eligible, rack = problem.eligible, problem.brokers.rack
    racks, size, spreads = len(problem.brokers.rack_names), len(background), len(opened.spreads)
    weight = np.bincount(opened.spread_of, weights=value, minlength=spreads).astype(float)
    low = _by_rack(weight, [spread.low for spread in opened.spreads], racks)
    high = _by_rack(weight, [spread.high for spread in opened.spreads], racks)
    row, slot = np.nonzero((opened.immovable | heavy[:, None]) & (lists >= 0))
    stays = np.bincount(lists[row, slot], weights=value[row], minlength=size).astype(float)
    floor: Floats = background.astype(float) + stays
    elsewhere = np.bincount(rack[~eligible], weights=stays[~eligible], minlength=racks)
    domains = []
    for number in distinct(rack[eligible]):
        members = np.flatnonzero(eligible & (rack == number))
        own = background[members].sum() - elsewhere[number]
        domains.append(BoundedGroup(members, float(low[number] + own), float(high[number] + own)))
    per_row = count_slots(opened.lists != NONE)
    total = float((per_row * value).sum() + background[eligible].sum() - stays[~eligible].sum())
    ceiling = floor + float((per_row * value).sum())
    return shares(total, problem.weight, floor, ceiling, tuple(domains))


def _by_rack(weight: Floats, bounds: Sequence[tuple[int, ...]], racks: int) -> Floats:
    return weight @ np.array(bounds, dtype=np.float64).reshape(len(bounds), racks)
