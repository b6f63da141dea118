"""One pool's layout: open slots, place replicas, balance, choose preferred leaders.

Read it from top to bottom; it is section 4 of the design for one pool.

A layout may break a lower law further to meet a higher one. A higher replication factor is no law.
So where the wanted replication factors would put the pool further beyond its capacity, the pool is
laid out with the present factors instead. That layout can mend overfull disks and leave more free
space than before. From there the wanted factors are tried again, as the next plan would: first all
of them, then those of as many topics as fit (`replication_factor`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from poolkeeper.model.specs import ClusterLimits, Goal, GoalKind
from poolkeeper.planning.constraints.bands import BoundedGroup, shares
from poolkeeper.planning.constraints.evictions import Opened, open_slots
from poolkeeper.planning.constraints.headroom import headroom_mib, headroom_replicas
from poolkeeper.planning.constraints.measures import measure_of, replica_measure
from poolkeeper.planning.constraints.quotas import replicas_cap
from poolkeeper.planning.goals.local_search import Bounded
from poolkeeper.planning.goals.optimizer import EVENED, WEIGHED, Evened, even
from poolkeeper.planning.layout.leaders import Led, lead
from poolkeeper.planning.layout.replication_factor import raised
from poolkeeper.planning.placement.broker_choice import held_mib
from poolkeeper.planning.placement.flow import UNLIMITED, UNLIMITED_MIB, CapacityBounds
from poolkeeper.planning.placement.rounds import Placed, held_by, place
from poolkeeper.planning.problem.arrays import NONE, Floats, Ints, any_slot, count_slots
from poolkeeper.planning.problem.eligible_brokers import EligibleBrokers
from poolkeeper.planning.problem.pool_problem import PoolProblem, reached

_ROUNDS_MAX = 8


@dataclass(frozen=True, slots=True)
class Layout:
    """A pool's problem, its slots as the laws opened them, and where all replicas go.

    `evened`: what the balance goals reached, and what they aimed at.
    `wished`: the layout with all wanted replication factors, if some were not raised for want of
    space.
    `too_little`: balancing was left out because its gain is below the configured minimum.
    `unfinished`: the next plan will move more, because this plan holds some partitions in place.
    """

    problem: PoolProblem
    opened: Opened
    placed: Placed
    evened: Evened
    led: Led
    room: CapacityBounds
    balance: bool
    wished: "Layout | None" = None
    too_little: bool = False
    unfinished: bool = False

    @property
    def excess(self) -> int:
        """Replicas and MiB above caps, disks and headroom."""
        return _excess(self.problem, self.lists, self.room)

    @property
    def lists(self) -> Ints:
        """The wanted replica lists, rows × slots."""
        return self.led.lists


def lay_out(
    problem: PoolProblem,
    usable: EligibleBrokers,
    limits: ClusterLimits,
    *,
    balance: bool,
    min_gain: float = 0.0,
) -> Layout:
    """The wanted layout of one pool; balancing that gains less than `min_gain` % is left out."""
    layout = _laid_out(problem, usable, limits, balance=balance, min_gain=min_gain)
    if not problem.hold.any():
        return layout
    found = replace(reached(problem, layout.lists), hold=np.zeros(len(problem), dtype=bool))
    after = _laid_out(found, usable, limits, balance=balance, min_gain=min_gain)
    return replace(layout, unfinished=bool((after.lists != layout.lists).any()))


def _laid_out(
    problem: PoolProblem,
    usable: EligibleBrokers,
    limits: ClusterLimits,
    *,
    balance: bool,
    min_gain: float,
) -> Layout:
    """Lay out with all wanted replicas, or with those of as many topics as fit."""
    room = room_of(problem, usable, limits)
    settle = partial(_settle, room=room, balance=balance, min_gain=min_gain)
    full = settle(problem)
    found = count_slots(problem.lists >= 0)
    if not full.excess or not (problem.rf > found).any():
        return full
    modest = settle(replace(problem, rf=np.minimum(problem.rf, found)))
    if modest.excess >= full.excess:
        return full
    return _raised(problem, full, modest, settle)


def _raised(
    problem: PoolProblem, full: Layout, modest: Layout, settle: Callable[[PoolProblem], Layout]
) -> Layout:
    """Raise the topics that fit on top of the modest layout, and repeat from the outcome.

    Whether topics fit is tried without balancing, because balancing costs much more time.
    """
    layout = modest
    while True:
        start = reached(problem, layout.lists)
        again = settle(start)
        if again.excess <= layout.excess:
            return replace(again, problem=problem, opened=full.opened)

        def fits(some: PoolProblem, most: int = layout.excess) -> bool:
            return _lay_out(some, modest.room, balance=False).excess <= most

        some = raised(start, modest.room, fits)
        more = None if some is None else settle(some)
        if more is None or more.excess > layout.excess:
            break
        if (more.lists >= 0).sum() <= (layout.lists >= 0).sum():
            break  # something other than space prevents the replicas
        layout = more
    wished = replace(again, problem=problem, opened=full.opened)
    if layout is modest:
        return replace(modest, wished=wished)
    less = replace(problem, rf=layout.problem.rf)
    opened = open_slots(less, held_by(less, less.lists))
    return replace(layout, problem=less, opened=opened, wished=wished)


def _settle(
    problem: PoolProblem, room: CapacityBounds, *, balance: bool, min_gain: float
) -> Layout:
    """The layout that the next plan would leave unchanged.

    If all goals are met, the first layout is that. Otherwise the search is repeated from its
    outcome, as the next plan would do, until it finds nothing better.
    """
    layout = _better(problem, room, balance=balance, min_gain=min_gain)
    for _ in range(_ROUNDS_MAX):
        if not any(_unmet(layout, layout.lists)):
            break
        again = _better(reached(problem, layout.lists), room, balance=balance, min_gain=min_gain)
        if (again.lists == layout.lists).all():
            break
        layout = replace(again, problem=problem, opened=layout.opened)
    return layout


def _better(
    problem: PoolProblem, room: CapacityBounds, *, balance: bool, min_gain: float
) -> Layout:
    """The balanced layout if it meets the goals better, in their order; else the unbalanced one."""
    full = _lay_out(problem, room, balance=balance)
    if not balance or not (min_gain > 0 or any(_unmet(full, full.lists))):
        return full
    plain = _lay_out(problem, room, balance=False)
    was, becomes = (_judged(full, layout) for layout in (plain, full))
    before, after = (_imbalance(full, layout) for layout in (plain, full))
    too_little = min_gain > 0 and before - after < before * min_gain / 100
    if becomes < was and not too_little:
        return full
    # The goals aimed at are kept, so that unmet goals can be reported.
    return replace(
        full,
        placed=replace(full.placed, lists=plain.placed.lists),
        evened=replace(full.evened, lists=plain.evened.lists),
        led=replace(full.led, lists=plain.led.lists, held=plain.led.held),
        too_little=too_little and becomes < was,
    )


def _unmet(layout: Layout, lists: Ints) -> tuple[int, ...]:
    """How far these lists exceed disks, then each goal's band, in order."""
    problem = layout.problem
    return (
        _excess(problem, lists, layout.room),
        *(aimed.excess(problem, lists) for aimed in layout.evened.goals),
    )


def _judged(goals: Layout, layout: Layout) -> tuple[int, ...]:
    leaders = np.abs(goals.led.band.outside(layout.led.held))[goals.problem.leads].sum()
    return *_unmet(goals, layout.lists), int(leaders)


def _imbalance(goals: Layout, layout: Layout) -> float:
    """The part of all loads that is on the wrong broker, summed over the goals."""
    problem = goals.problem
    parts = [aimed.imbalance(problem, layout.lists) for aimed in goals.evened.goals]
    share = goals.led.band.share[problem.leads]
    missed = np.abs(layout.led.held[problem.leads] - share).sum() / max(share.sum(), 1.0)
    return float(sum(parts) + missed)


def _lay_out(problem: PoolProblem, room: CapacityBounds, *, balance: bool) -> Layout:
    opened = open_slots(problem, held_by(problem, problem.lists))
    share = share_of(problem, opened, room)
    goals = _goals(problem) if balance else []
    first = goals[0] if goals and goals[0].kind is GoalKind.REPLICAS else None
    heavy = next((g for g in goals if g.kind in WEIGHED), None)
    weighed = measure_of(problem, opened, opened.lists, heavy) if heavy else None
    placed = place(problem, opened, share, first, room, balance=balance, weighed=weighed)
    counted = [Bounded(replica_measure(problem, share, first), placed.band)] if first else []
    caps = room.replicas, room.mib
    evened = even(problem, opened, placed.lists, caps, goals[len(counted) :], counted)
    leaders = next((g for g in problem.pool.goals if g.kind is GoalKind.LEADERS), None)
    led = lead(problem, evened.lists, leaders, balance=balance)
    return Layout(problem, opened, placed, evened, led, room, balance)


def _goals(problem: PoolProblem) -> list[Goal]:
    """The pool's goals for replicas and loads. A bytes goal is left out if no size is known."""
    goals = (goal for goal in problem.pool.goals if goal.kind in EVENED)
    return [goal for goal in goals if problem.sized or goal.kind is not GoalKind.BYTES]


def room_of(problem: PoolProblem, usable: EligibleBrokers, limits: ClusterLimits) -> CapacityBounds:
    """The most replicas and MiB that each broker may hold; unlimited where nothing is declared."""
    replicas = np.full(len(problem.brokers), UNLIMITED, dtype=np.int64)
    mib = np.full(len(problem.brokers), UNLIMITED_MIB, dtype=np.int64)
    for broker in problem.pool.brokers:
        row, capacity = problem.brokers.index[broker], problem.pool.capacity_for(broker)
        cap = replicas_cap(problem.pool, broker, limits)
        if cap is not None:
            replicas[row] = cap
        if capacity.disk_bytes is not None:
            mib[row] = capacity.disk_bytes // (1024 * 1024)
    in_pool = (
        headroom_replicas(problem.pool, usable.racks),
        headroom_mib(problem.pool, usable.racks),
    )
    pool_replicas, pool_mib = (UNLIMITED_MIB if left is None else left for left in in_pool)
    return CapacityBounds(replicas, mib, int(pool_replicas), int(pool_mib))


def share_of(problem: PoolProblem, opened: Opened, room: CapacityBounds) -> Floats:
    """Each eligible broker's fair share of the pool's replicas and the background load."""
    eligible, rack = problem.eligible, problem.brokers.rack
    racks, size = len(problem.brokers.rack_names), len(problem.brokers)
    lows, highs = _bounds(opened, racks)
    spreads = len(opened.spreads)
    count = np.bincount(opened.spread_of, minlength=spreads)
    low, high = count @ lows, count @ highs
    immovable = np.bincount(opened.lists[opened.immovable], minlength=size)
    base = problem.background_load.replicas + immovable
    # Partitions that need all brokers of a rack, or nearly all, leave these brokers no choice.
    plain = np.bincount(opened.spread_of[~any_slot(opened.immovable)], minlength=spreads)
    members = np.bincount(rack[eligible], minlength=racks)
    needed = plain @ np.maximum(lows - np.maximum(members - 1, 0), 0)
    floor = base + needed[rack] * eligible
    movable = int(any_slot((opened.lists != NONE) & ~opened.immovable).sum())
    ceiling = np.maximum(np.minimum(base + movable, room.replicas), floor)
    elsewhere = np.bincount(rack[~eligible], weights=immovable[~eligible], minlength=racks)
    domains = []
    for number in np.unique(rack[eligible]):
        rows = np.flatnonzero(eligible & (rack == number))
        own = problem.background_load.replicas[rows].sum() - elsewhere[number]
        domains.append(BoundedGroup(rows, float(low[number] + own), float(high[number] + own)))
    slots = int((opened.lists != NONE).sum()) - int(immovable[~eligible].sum())
    total = float(problem.background_load.replicas[eligible].sum() + slots)
    return shares(total, problem.weight, floor.astype(float), ceiling.astype(float), tuple(domains))


def _bounds(opened: Opened, racks: int) -> tuple[Ints, Ints]:
    """The fewest and the most replicas, by (spread, rack)."""
    shape = len(opened.spreads), racks
    lows = np.array([spread.low for spread in opened.spreads], dtype=np.int64)
    highs = np.array([spread.high for spread in opened.spreads], dtype=np.int64)
    return lows.reshape(shape), highs.reshape(shape)


def _excess(problem: PoolProblem, lists: Ints, room: CapacityBounds) -> int:
    """Replicas and MiB above caps, disks and headroom, summed over the pool's brokers."""
    if not room.bounded:
        return 0
    inside = problem.brokers.rows(problem.pool.brokers)
    held = held_by(problem, lists)[inside]
    mib = (problem.background_load.mib + held_mib(problem, lists))[inside]
    single = np.maximum(held - room.replicas[inside], 0).sum()
    single += np.maximum(mib - room.mib[inside], 0).sum()
    together = max(0, int(held.sum()) - room.pool_replicas) + max(0, int(mib.sum()) - room.pool_mib)
    return int(single) + together
