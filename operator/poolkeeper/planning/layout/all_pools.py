"""All pools of a cluster laid out, with the partitions that the plan adds.

New partitions take part in the balance of their pool. Two of them do not fit:

- those that would put the pool beyond its capacity are left out again ("crowded out");
- those of a topic whose replicas move anyway are deferred, as Kafka takes no new partitions for a
  topic that moves. So pools are laid out without added partitions first; then, with those of the
  topics that stay where they are, once more, and these topics are held in place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from poolkeeper.model.plans import AddPartitions
from poolkeeper.model.specs import Desired, ResourcePoolSpec
from poolkeeper.model.topology import Replicas
from poolkeeper.planning.layout.changes import Change, changed_rows, changes_of, targets_of
from poolkeeper.planning.layout.pool_layout import Layout, lay_out
from poolkeeper.planning.problem.arrays import Ints
from poolkeeper.planning.problem.eligible_brokers import EligibleBrokers
from poolkeeper.planning.problem.partitions import Lists
from poolkeeper.planning.problem.pool_problem import Guests, unit_of
from poolkeeper.planning.problem.scope import TopicHome, TopicRole


@dataclass(frozen=True, slots=True)
class LayoutInput:
    """What all pools are laid out from; `usable` brokers of every pool that may be worked in."""

    desired: Desired
    usable: Mapping[str, EligibleBrokers]
    homes: Mapping[str, TopicHome]


@dataclass(frozen=True, slots=True)
class PoolLayouts:
    """Layouts by pool, and what changes for unmanaged topics.

    `lists` are those laid out, with what was reached for new partitions, for topics that get some,
    and for unmanaged ones; those of all other topics are in the layouts only.
    A pool has two layouts where unmanaged topics leave brokers of it. `crowded_out`: topics,
    existing or not, that get no new partitions for want of room; `deferred`: existing ones that
    have to move first.
    """

    layouts: tuple[Layout, ...]
    changes: tuple[Change, ...]
    lists: Lists
    crowded_out: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Pools that the next plan will even out further, once all new partitions exist."""
        return tuple(layout.unit.pool.name for layout in self.layouts if layout.unfinished)

    def held(self) -> Ints:
        """Replicas by broker once everything is where it shall be."""
        counts, _ = self.lists.counts()
        for layout in self.layouts:
            unit = layout.unit
            known = np.array([name in self.lists.changed for name in unit.topics], dtype=bool)
            rows = changed_rows(layout)
            rows = rows[~known[unit.topic[rows]]]
            for lists, sign in ((unit.lists[rows], -1), (layout.lists[rows], 1)):
                counts += sign * np.bincount(lists[lists >= 0], minlength=len(counts))
        return counts


def lay_out_all(
    situation: LayoutInput, lists: Lists, added: Sequence[AddPartitions], moving: set[str]
) -> PoolLayouts:
    """Lay out every pool. `lists`: of all topics, those being created included.

    `moving`: topics that move for another reason than their pool's layout.
    """
    first = _lay_out(situation, lists, frozenset())
    if not added:
        return first
    moving = moving.union(*map(_moving, first.layouts))
    joining = [step for step in added if step.topic not in moving]
    deferred = tuple(step.topic for step in added if step.topic in moving)
    if joining:
        grown = {step.topic: (*lists[step.topic], *step.replicas) for step in joining}
        first = _lay_out(situation, lists.with_changed(grown), frozenset(grown))
    return PoolLayouts(first.layouts, first.changes, first.lists, first.crowded_out, deferred)


def _lay_out(situation: LayoutInput, start: Lists, held: frozenset[str]) -> PoolLayouts:
    """Pool after pool; again with the guests, if replicas cannot leave another pool's brokers."""
    laid = _in_turn(situation, start, held, None)
    guests = _guests(laid.layouts)
    return laid if guests is None else _in_turn(situation, start, held, guests)


def _in_turn(
    situation: LayoutInput, start: Lists, held: frozenset[str], guests: Guests | None
) -> PoolLayouts:
    """In every pool the unmanaged topics leave first; where they go to is load for the others.

    Only an unmanaged topic that evacuates brokers of two pools is seen by both.
    """
    lists = start
    layouts: list[Layout] = []
    changes: list[Change] = []
    crowded_out: list[str] = []
    evacuate = any(home.role is TopicRole.EVACUATED for home in situation.homes.values())
    for pool in sorted(situation.desired.pools, key=lambda pool: pool.name):
        if pool.name not in situation.usable:
            continue
        if evacuate:
            leaving = _of_pool(situation, pool, lists, held, guests, TopicRole.EVACUATED)
            layouts += [leaving] if len(leaving.unit) else []
            changes += changes_of(leaving)
            lists = _reached(lists, leaving, leaving.unit.topics)
        layout = _of_pool(situation, pool, lists, held, guests)
        if layout.excess and _new_in(situation, pool, lists):
            lists, layout, left_out = _fitting(situation, pool, lists, held, guests, layout)
            crowded_out += left_out
        lists = _reached(lists, layout, lists.changed)
        layouts.append(layout)
    return PoolLayouts(tuple(layouts), tuple(changes), lists, tuple(crowded_out))


def _moving(layout: Layout) -> set[str]:
    """Topics that have partitions that move."""
    unit, rows = layout.unit, changed_rows(layout)
    moved = np.unique(unit.topic[rows[~unit.fresh[rows]]]).tolist()
    return {unit.topics[topic] for topic in moved}


def _reached(lists: Lists, layout: Layout, topics: Iterable[str]) -> Lists:
    """The lists with what the layout changes for these topics."""
    unit, wanted = layout.unit, set(topics)
    chosen = np.array([name in wanted for name in unit.topics], dtype=bool)
    rows = changed_rows(layout)
    rows = rows[chosen[unit.topic[rows]]]
    changed: dict[str, list[Replicas]] = {}
    for row, target in zip(rows.tolist(), targets_of(layout, rows), strict=True):
        name = unit.topics[unit.topic[row]]
        if name not in changed:
            changed[name] = list(lists[name])
        changed[name][unit.number[row]] = target
    return lists.with_changed({name: tuple(assigned) for name, assigned in changed.items()})


def _fitting(
    situation: LayoutInput,
    pool: ResourcePoolSpec,
    lists: Lists,
    held: frozenset[str],
    guests: Guests | None,
    layout: Layout,
) -> tuple[Lists, Layout, list[str]]:
    """Leave new partitions out, the last topics first, until they cost no capacity."""
    new = _new_in(situation, pool, lists)
    without = lists.with_changed({name: lists[name][:found] for name, found in new.items()})
    modest = _of_pool(situation, pool, without, held, guests)
    names = sorted(new)
    left_out: list[str] = []
    while names and layout.excess > modest.excess:
        left_out.append(names.pop())
        lists = lists.with_changed({left_out[-1]: without[left_out[-1]]})
        layout = _of_pool(situation, pool, lists, held, guests) if names else modest
    return lists, layout, left_out


def _of_pool(
    situation: LayoutInput,
    pool: ResourcePoolSpec,
    lists: Lists,
    held: frozenset[str],
    guests: Guests | None,
    role: TopicRole = TopicRole.PLACED,
) -> Layout:
    unit = unit_of(pool, situation.homes, lists, role, held, guests)
    spec = situation.desired.cluster
    balance = spec.balancing.enabled and role is TopicRole.PLACED
    return lay_out(
        unit,
        situation.usable[pool.name],
        spec.limits,
        balance=balance,
        min_gain=spec.balancing.min_gain_percent,
    )


def _guests(layouts: Sequence[Layout]) -> Guests | None:
    """Stuck replicas by broker, outside the pool that they should be in; None if there are none."""
    if not any(layout.opened.stuck.any() for layout in layouts):
        return None
    brokers = len(layouts[0].unit.fixed)
    replicas, mib = np.zeros(brokers, dtype=np.int64), np.zeros(brokers, dtype=np.int64)
    for layout in layouts:
        unit, opened = layout.unit, layout.opened
        inside = np.zeros(brokers, dtype=bool)
        inside[unit.brokers.rows(unit.pool.brokers)] = True
        row, slot = np.nonzero(opened.stuck & ~inside[opened.lists])
        np.add.at(replicas, opened.lists[row, slot], 1)
        np.add.at(mib, opened.lists[row, slot], unit.mib[row])
    return Guests(replicas, mib) if replicas.any() else None


def _new_in(situation: LayoutInput, pool: ResourcePoolSpec, lists: Lists) -> dict[str, int]:
    """Topics of the pool that get partitions by this plan, with how many they have."""
    return {
        name: lists.found(name)
        for name in sorted(lists.changed)
        if situation.homes[name].pool == pool.name and len(lists.changed[name]) > lists.found(name)
    }
