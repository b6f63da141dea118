"""One pool's layout: open slots, place replicas, balance, choose preferred leaders.

Read it from top to bottom; it is section 4 of the design for one pool.

A layout may break a lower law further to meet a higher one. A higher replication factor is no law.
So where the wanted replication factors would put the pool further beyond its capacity, the pool is
laid out with the present factors instead. That layout can mend overfull disks and leave more free
space than before. From there the wanted factors are tried again, as the next plan would: first all
of them, then those of as many topics as fit (`replication_factor`).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.planning.constraints.bands import BoundedGroup, band, shares
from poolkeeper.planning.constraints.capacity import CapacityBounds
from poolkeeper.planning.constraints.evictions import OPEN, OpenSlots, open_slots
from poolkeeper.planning.constraints.measures import measure_of, replica_measure
from poolkeeper.planning.goals.local_search import Bounded
from poolkeeper.planning.goals.optimizer import (
    REPLICA_GOALS,
    WEIGHTED_GOALS,
    Optimization,
    least_topic_moves,
    optimize,
    without_spare_moves,
)
from poolkeeper.planning.goals.topic_counts import topic_bands
from poolkeeper.planning.layout.leaders import Leadership, choose_leaders
from poolkeeper.planning.layout.leaving_replicas import KeptTargets, choose_dropped, choose_givers
from poolkeeper.planning.layout.replication_factor import raise_factors
from poolkeeper.planning.placement.capacity_excess import CapacityExcess, capacity_excess
from poolkeeper.planning.placement.rounds import Placement, place, replicas_by_broker
from poolkeeper.planning.problem.arrays import NONE, Floats, Ints, any_slot, count_slots
from poolkeeper.planning.problem.pool_problem import PoolProblem, problem_after

_ROUNDS_MAX = 8


@frozen
class Layout:
    """A pool's problem, its slots as the laws opened them, and where all replicas go.

    `optimization`: what the balance goals reached, and what they aimed at.
    `with_all_factors`: the layout with all wanted replication factors, if some were not raised
    because they do not fit.
    `gain_too_small`: balancing was left out because its gain is below the configured minimum.
    `unfinished`: the next plan will move more, because this plan holds some partitions in place.
    """

    problem: PoolProblem
    opened: OpenSlots
    placement: Placement
    optimization: Optimization
    leadership: Leadership
    capacity: CapacityBounds
    balance: bool
    with_all_factors: "Layout | None" = None
    gain_too_small: bool = False
    unfinished: bool = False

    @property
    def excess(self) -> CapacityExcess:
        """What brokers hold above what they may."""
        return capacity_excess(self.problem, self.lists, self.capacity)

    @property
    def lists(self) -> Ints:
        """The wanted replica lists, rows × slots."""
        return self.leadership.lists


class LayOut(Protocol):
    """Lays one pool out, as `lay_out` does."""

    def __call__(
        self,
        problem: PoolProblem,
        capacity: CapacityBounds,
        *,
        balance: bool,
        min_gain: float = 0.0,
    ) -> Layout:
        """The wanted layout of one pool."""
        ...


def lay_out(
    problem: PoolProblem,
    capacity: CapacityBounds,
    *,
    balance: bool,
    min_gain: float = 0.0,
) -> Layout:
    """The wanted layout of one pool; balancing that gains less than `min_gain` % is left out."""
    layout = _lay_out_fitting(problem, capacity, balance=balance, min_gain=min_gain)
    if not problem.hold.any():
        return layout
    found = replace(problem_after(problem, layout.lists), hold=np.zeros(len(problem), dtype=bool))
    after = _lay_out_fitting(found, capacity, balance=balance, min_gain=min_gain)
    return replace(layout, unfinished=bool((after.lists != layout.lists).any()))


def _lay_out_fitting(
    problem: PoolProblem,
    capacity: CapacityBounds,
    *,
    balance: bool,
    min_gain: float,
) -> Layout:
    """Lay out with all wanted replicas, or with those of as many topics as fit."""
    settle = partial(_lay_out_stable, capacity=capacity, balance=balance, min_gain=min_gain)
    full = settle(problem)
    found = count_slots(problem.lists >= 0)
    if not any(full.excess) or not (problem.rf > found).any():
        return full
    modest = settle(replace(problem, rf=np.minimum(problem.rf, found)))
    if modest.excess >= full.excess:
        return full
    return _raise_factors(problem, full, modest, settle)


def _raise_factors(
    problem: PoolProblem, full: Layout, modest: Layout, settle: Callable[[PoolProblem], Layout]
) -> Layout:
    """Raise the topics that fit on top of the modest layout, and repeat from the outcome.

    Whether topics fit is tried without balancing, because balancing costs much more time.
    """
    layout = modest
    while True:
        start = problem_after(problem, layout.lists)
        again = settle(start)
        if again.excess <= layout.excess:
            return replace(again, problem=problem, opened=full.opened)

        def fits(candidate: PoolProblem, most: CapacityExcess = layout.excess) -> bool:
            return _lay_out(candidate, modest.capacity, balance=False).excess <= most

        candidate = raise_factors(start, modest.capacity, fits)
        more = None if candidate is None else settle(candidate)
        if more is None or more.excess > layout.excess:
            break
        if (more.lists >= 0).sum() <= (layout.lists >= 0).sum():
            break  # something other than space prevents the replicas
        layout = more
    with_all_factors = replace(again, problem=problem, opened=full.opened)
    if layout is modest:
        return replace(modest, with_all_factors=with_all_factors)
    less = replace(problem, rf=layout.problem.rf)
    opened = open_slots(less, replicas_by_broker(less, less.lists))
    return replace(layout, problem=less, opened=opened, with_all_factors=with_all_factors)


def _lay_out_stable(
    problem: PoolProblem, capacity: CapacityBounds, *, balance: bool, min_gain: float
) -> Layout:
    """The layout that the next plan would leave unchanged.

    If all goals are met, the first layout is mostly that. Otherwise the search is repeated from
    its outcome, as the next plan would do, until it finds nothing better. Then moves that all these
    searches together do not need are taken back, from which the search may go on.
    """
    better = partial(_lay_out_better, capacity=capacity, balance=balance, min_gain=min_gain)
    layout, final, searched = better(problem), None, False
    for _ in range(_ROUNDS_MAX):
        if any(_goal_excess(layout, layout.lists)) or _is_triggered_again(layout):
            again = better(problem_after(problem, layout.lists))
            if (again.lists != layout.lists).any():
                layout, searched = replace(again, problem=problem, opened=layout.opened), True
                continue
        elif not searched:
            return layout  # a single search has spared what it could
        final, layout, searched = layout, _spared(layout), False
        if (final.lists == layout.lists).all():
            return layout
    return final or layout


def _spared(layout: Layout) -> Layout:
    """The layout without moves that none of its searches needs, now that all have been made."""
    problem = layout.problem
    found = without_spare_moves(problem, layout.opened, layout.optimization, layout.capacity)
    if (found.lists == layout.optimization.lists).all():
        return layout
    leadership = _lead(problem, found.lists, balance=layout.balance)
    return replace(layout, optimization=found, leadership=leadership)


def _lead(problem: PoolProblem, lists: Ints, *, balance: bool) -> Leadership:
    goal = next((g for g in problem.pool.goals if g.kind is GoalKind.LEADERS), None)
    return choose_leaders(problem, lists, goal, balance=balance)


def _is_triggered_again(layout: Layout) -> bool:
    """Whether a weighted goal is, by the shares of the outcome.

    Shares depend on the brokers that hold partitions larger than a share, and these may move.
    """
    problem, lists = layout.problem, layout.optimization.lists
    return any(
        measure.outside(measure.load(lists), problem.eligible)
        for goal in (_goals(problem) if layout.balance else ())
        if goal.kind in WEIGHTED_GOALS
        for measure in (measure_of(problem, layout.opened, lists, goal),)
    )


def _lay_out_better(
    problem: PoolProblem, capacity: CapacityBounds, *, balance: bool, min_gain: float
) -> Layout:
    """The balanced layout if it meets the goals better, in their order; else the unbalanced one."""
    full = _lay_out(problem, capacity, balance=balance)
    if not balance or not (min_gain > 0 or any(_goal_excess(full, full.lists))):
        return full
    plain = _lay_out(problem, capacity, balance=False)
    was, becomes = (_score(full, layout) for layout in (plain, full))
    before, after = (_imbalance(full, layout) for layout in (plain, full))
    gain_too_small = min_gain > 0 and before - after < before * min_gain / 100
    if becomes < was and not gain_too_small:
        return full
    # The goals aimed at are kept, so that unmet goals can be reported.
    return replace(
        full,
        placement=replace(full.placement, lists=plain.placement.lists),
        optimization=replace(full.optimization, lists=plain.optimization.lists),
        leadership=replace(plain.leadership, band=full.leadership.band),
        gain_too_small=gain_too_small and becomes < was,
    )


def _goal_excess(layout: Layout, lists: Ints) -> tuple[int, ...]:
    """How far these lists exceed disks, then each goal's band, in order."""
    problem = layout.problem
    return (
        *capacity_excess(problem, lists, layout.capacity),
        *(aimed.excess(problem, lists) for aimed in layout.optimization.goals),
    )


def _score(goals: Layout, layout: Layout) -> tuple[int, ...]:
    leaders = np.abs(goals.leadership.band.outside(layout.leadership.leaders))[
        goals.problem.leads
    ].sum()
    return *_goal_excess(goals, layout.lists), int(leaders)


def _imbalance(goals: Layout, layout: Layout) -> float:
    """The part of all loads that is on the wrong broker, summed over the goals."""
    problem = goals.problem
    parts = [aimed.imbalance(problem, layout.lists) for aimed in goals.optimization.goals]
    share = goals.leadership.band.share[problem.leads]
    missed = np.abs(layout.leadership.leaders[problem.leads] - share).sum() / max(share.sum(), 1.0)
    return float(sum(parts) + missed)


def _lay_out(problem: PoolProblem, capacity: CapacityBounds, *, balance: bool) -> Layout:
    held = replicas_by_broker(problem, problem.lists)
    opened = open_slots(problem, held)
    share = share_of(problem, opened, capacity)
    goals = _goals(problem) if balance else []
    first = goals[0] if goals and goals[0].kind is GoalKind.REPLICAS else None
    lowered = bool((count_slots(problem.lists >= 0) > problem.rf).any())
    if lowered or opened.forced_by_racks.any():
        targets = _kept_targets(problem, opened, share)
        opened = choose_dropped(problem, opened, targets)
        if goals:
            opened = choose_givers(problem, opened, targets)
    heavy = next((g for g in goals if g.kind in WEIGHTED_GOALS), None)
    weighed = measure_of(problem, opened, opened.lists, heavy) if heavy else None

    def balanced(placement: Placement) -> Layout:
        counted = [Bounded(replica_measure(problem, share, first), placement.band)] if first else []
        others = goals[len(counted) :]
        found = optimize(problem, opened, placement.lists, capacity, others, counted)
        leadership = _lead(problem, found.lists, balance=balance)
        return Layout(problem, opened, placement, found, leadership, capacity, balance)

    if _topics_decide(problem, opened, share, goals, capacity):
        layout = balanced(Placement(opened.lists, band(share, first, half=True)))
        outside = layout.placement.band.outside(replicas_by_broker(problem, layout.lists))
        if not outside[problem.eligible].any() and not any(layout.excess):
            return layout
    return balanced(
        place(problem, opened, share, first, capacity, balance=balance, weighed=weighed)
    )


def _topics_decide(
    problem: PoolProblem,
    opened: OpenSlots,
    share: Floats,
    goals: list[Goal],
    capacity: CapacityBounds,
) -> bool:
    """Whether the goal for topics makes what the one for replicas would move of no matter.

    Topics are laid out from where their replicas were found (`topic_flow`). The layout for counts
    alone counts where it brings the topics inside their bands as well, or where theirs does not
    bring the brokers inside. It makes as few moves as counts need. So the first is ruled out where
    topics need more.
    """
    kinds = [goal.kind for goal in goals]
    if kinds != [GoalKind.REPLICAS, GoalKind.TOPIC_REPLICAS] or problem.fresh.any():
        return False
    if (opened.lists == OPEN).any() or any(capacity_excess(problem, opened.lists, capacity)):
        return False
    held = replicas_by_broker(problem, opened.lists)
    outside = band(share, goals[0], half=True).outside(held)[problem.eligible]
    needed = int(max(np.maximum(outside, 0).sum(), np.maximum(-outside, 0).sum()))
    return least_topic_moves(problem, opened, opened.lists, goals[1]) > needed


def _kept_targets(problem: PoolProblem, opened: OpenSlots, share: Floats) -> KeptTargets:
    """Half of each band; brokers that have no goal for their replicas come to their share."""
    declared = {goal.kind: goal for goal in problem.pool.goals}
    replicas = declared.get(GoalKind.REPLICAS, Goal(GoalKind.REPLICAS, count=1))
    target = band(share, replicas, half=True)
    topics = declared.get(GoalKind.TOPIC_REPLICAS)
    if topics is None:
        return KeptTargets(target)
    movable = share - problem.background_load.replicas
    # Only the number of a topic's replicas matters here, so any broker stands for those to come.
    lists = np.where(opened.lists == OPEN, problem.eligible.argmax(), opened.lists)
    _, narrow = topic_bands(problem, lists, movable, topics)
    order = [*declared, GoalKind.REPLICAS]
    first = order.index(topics.kind) < order.index(GoalKind.REPLICAS)
    return KeptTargets(target, narrow, topics_first=first)


def _goals(problem: PoolProblem) -> list[Goal]:
    """The pool's goals for replicas and loads. A bytes goal is left out if no size is known."""
    goals = (goal for goal in problem.pool.goals if goal.kind in REPLICA_GOALS)
    return [goal for goal in goals if problem.sized or goal.kind is not GoalKind.BYTES]


def share_of(problem: PoolProblem, opened: OpenSlots, capacity: CapacityBounds) -> Floats:
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
    ceiling = np.maximum(np.minimum(base + movable, capacity.replicas), floor)
    elsewhere = np.bincount(rack[~eligible], weights=immovable[~eligible], minlength=racks)
    domains = []
    for number in distinct(rack[eligible]):
        rows = np.flatnonzero(eligible & (rack == number))
        own = problem.background_load.replicas[rows].sum() - elsewhere[number]
        domains.append(BoundedGroup(rows, float(low[number] + own), float(high[number] + own)))
    slots = int((opened.lists != NONE).sum()) - int(immovable[~eligible].sum())
    total = float(problem.background_load.replicas[eligible].sum() + slots)
    return shares(total, problem.weight, floor.astype(float), ceiling.astype(float), tuple(domains))


def _bounds(opened: OpenSlots, racks: int) -> tuple[Ints, Ints]:
    """The fewest and the most replicas, by (spread, rack)."""
    shape = len(opened.spreads), racks
    lows = np.array([spread.low for spread in opened.spreads], dtype=np.int64)
    highs = np.array([spread.high for spread in opened.spreads], dtype=np.int64)
    return lows.reshape(shape), highs.reshape(shape)
