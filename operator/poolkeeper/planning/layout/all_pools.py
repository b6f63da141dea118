"""All pools of a cluster laid out, with the partitions that the plan adds.

New partitions take part in the balance of their pool. Some of them wait for a later plan:

- *Crowded out*: new partitions that would put their pool beyond its capacity are left out.
- *Deferred*: a topic whose replicas move anyway gets no new partitions yet, because Kafka adds no
  partitions to a topic that is being reassigned. So pools are laid out first without added
  partitions. They are laid out a second time with the new partitions of all topics that do not
  move, and the existing partitions of these topics are held in place.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import AddPartitions
from poolkeeper.model.specs import ResourcePoolSpec
from poolkeeper.planning.constraints.capacity import EligibleBrokers
from poolkeeper.planning.layout.changes import Change, changed_rows, changes_of
from poolkeeper.planning.layout.pool_layout import LayOut, Layout, lay_out
from poolkeeper.planning.problem.arrays import Ints, Rows, take_rows
from poolkeeper.planning.problem.partitions import Lists
from poolkeeper.planning.problem.pool_membership import TopicHome, TopicRole
from poolkeeper.planning.problem.pool_problem import StuckLoad, pool_problem

_TRIED_AGAIN_MAX = 20
"""Topics for each of which a crowded pool is laid out once more."""


@frozen
class LayoutInput:
    """What all pools are laid out from, and by what.

    `usable`: the brokers that may be given replicas, by pool. A pool that the plan may not work in
    has no entry.
    """

    desired: Desired
    usable: Mapping[str, EligibleBrokers]
    homes: Mapping[str, TopicHome]
    lay_out: LayOut = lay_out


@frozen
class PoolLayouts:
    """Layouts by pool, and what changes for unmanaged topics.

    `layouts`: one layout per pool. A pool has two if unmanaged topics evacuate brokers of it.
    `changes`: the changes of unmanaged topics.
    `lists`: the replica lists given, updated for new partitions and for unmanaged topics. The new
    lists of all other topics are in `layouts` only.
    `crowded_out`: topics, new or existing, that get no new partitions because their pool is full.
    `deferred`: existing topics that get no new partitions because they move first.
    """

    layouts: tuple[Layout, ...]
    changes: tuple[Change, ...]
    lists: Lists
    crowded_out: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Pools that the next plan will balance further, once all new partitions exist."""
        return tuple(layout.problem.pool.name for layout in self.layouts if layout.unfinished)

    def replicas_by_broker(self) -> Ints:
        """Replicas by broker after all layouts are carried out."""
        counts, _ = self.lists.counts()
        for layout in self.layouts:
            problem = layout.problem
            known = np.array([name in self.lists.changed for name in problem.topics], dtype=bool)
            rows = changed_rows(layout)
            rows = rows[~known[problem.topic[rows]]]
            for lists, sign in (
                (take_rows(problem.lists, rows), -1),
                (take_rows(layout.lists, rows), 1),
            ):
                counts += sign * np.bincount(lists[lists >= 0], minlength=len(counts))
        return counts


def lay_out_all(
    given: LayoutInput, lists: Lists, added: Sequence[AddPartitions], moving: set[str]
) -> PoolLayouts:
    """Lay out every pool.

    `lists`: replica lists of all topics, including topics that this plan creates.
    `moving`: topics that move for another reason than their pool's layout.
    """
    first = _lay_out(given, lists, frozenset())
    if not added:
        return first
    moving = moving.union(*map(_moved_topics, first.layouts))
    joining = [step for step in added if step.topic not in moving]
    deferred = tuple(step.topic for step in added if step.topic in moving)
    if joining:
        grown = {
            step.topic: (*lists[step.topic], *lists.brokers.row_lists(step.replicas))
            for step in joining
        }
        first = _lay_out(given, lists.with_changed(grown), frozenset(grown))
    return PoolLayouts(first.layouts, first.changes, first.lists, first.crowded_out, deferred)


def _lay_out(given: LayoutInput, start: Lists, hold: frozenset[str]) -> PoolLayouts:
    """Lay out the pools one after another.

    If some replicas cannot leave the brokers of another pool, lay all pools out a second time, with
    these replicas as load on those brokers.
    """
    laid = _lay_out_in_turn(given, start, hold, None)
    stuck_load = _stuck_load(laid.layouts)
    return laid if stuck_load is None else _lay_out_in_turn(given, start, hold, stuck_load)


def _lay_out_in_turn(
    given: LayoutInput, start: Lists, hold: frozenset[str], stuck_load: StuckLoad | None
) -> PoolLayouts:
    """Lay out the pools in order of name.

    In every pool the unmanaged topics leave drained brokers first, and count as load for the pool's
    own topics afterwards. Pools depend on each other in one case only: an unmanaged topic may
    evacuate brokers of two pools.
    """
    lists = start
    layouts: list[Layout] = []
    changes: list[Change] = []
    crowded_out: list[str] = []
    evacuate = any(home.role is TopicRole.EVACUATED for home in given.homes.values())
    for pool in sorted(given.desired.pools, key=lambda pool: pool.name):
        if pool.name not in given.usable:
            continue
        if evacuate:
            leaving = _lay_out_pool(given, pool, lists, hold, stuck_load, TopicRole.EVACUATED)
            layouts += [leaving] if len(leaving.problem) else []
            changes += changes_of(leaving)
            lists = _lists_after(lists, leaving, leaving.problem.topics)
        layout = _lay_out_pool(given, pool, lists, hold, stuck_load)
        if any(layout.excess) and _growing_topics(given, pool, lists):
            lists, layout, left_out = _leave_out_new(given, pool, lists, hold, stuck_load, layout)
            crowded_out += left_out
        lists = _lists_after(lists, layout, lists.changed)
        layouts.append(layout)
    return PoolLayouts(tuple(layouts), tuple(changes), lists, tuple(crowded_out))


def _moved_topics(layout: Layout) -> set[str]:
    """Topics with existing partitions that the layout moves."""
    problem, rows = layout.problem, changed_rows(layout)
    moved = distinct(problem.topic[rows[~problem.fresh[rows]]]).tolist()
    return {problem.topics[topic] for topic in moved}


def _lists_after(lists: Lists, layout: Layout, topics: Iterable[str]) -> Lists:
    """The replica lists after the layout's changes to these topics."""
    problem, wanted = layout.problem, set(topics)
    chosen = np.array([name in wanted for name in problem.topics], dtype=bool)
    rows = changed_rows(layout)
    rows = rows[chosen[problem.topic[rows]]]
    changed: dict[str, list[Rows]] = {}
    for row, target in zip(rows.tolist(), layout.lists[rows].tolist(), strict=True):
        name = problem.topics[problem.topic[row]]
        if name not in changed:
            changed[name] = list(lists[name])
        changed[name][problem.number[row]] = tuple(broker for broker in target if broker >= 0)
    return lists.with_changed(changed)


def _leave_out_new(
    given: LayoutInput,
    pool: ResourcePoolSpec,
    lists: Lists,
    hold: frozenset[str],
    stuck_load: StuckLoad | None,
    layout: Layout,
) -> tuple[Lists, Layout, list[str]]:
    """Leave new partitions out, the last topics first, until they cost no capacity.

    Bisection finds how many. Some of those that fit beside the others come back, the first topics
    first: what crowded the pool may be one of them alone. Others wait for a later plan.
    """
    new = _growing_topics(given, pool, lists)
    names = sorted(new)

    def laid(kept: Iterable[str]) -> tuple[Lists, Layout]:
        less = {name: lists[name][: new[name]] for name in sorted(set(names).difference(kept))}
        some = lists.with_changed(less)
        return some, _lay_out_pool(given, pool, some, hold, stuck_load)

    found = laid(())
    most = found[1].excess
    if layout.excess <= most:
        return lists, layout, []
    fitting, more = 0, len(names)
    while more - fitting > 1:
        half = (fitting + more) // 2
        tried = laid(names[:half])
        if tried[1].excess <= most:
            fitting, found = half, tried
        else:
            more = half
    kept = names[:fitting]
    for name in names[fitting + 1 :][:_TRIED_AGAIN_MAX]:  # with the one before it was too much
        tried = laid([*kept, name])
        if tried[1].excess <= most:
            kept, found = [*kept, name], tried
    return *found, [name for name in names if name not in kept]


def _lay_out_pool(
    given: LayoutInput,
    pool: ResourcePoolSpec,
    lists: Lists,
    hold: frozenset[str],
    stuck_load: StuckLoad | None,
    role: TopicRole = TopicRole.PLACED,
) -> Layout:
    problem = pool_problem(pool, given.homes, lists, role, hold, stuck_load)
    spec = given.desired.cluster
    balance = spec.balancing.enabled and role is TopicRole.PLACED
    return given.lay_out(
        problem,
        given.usable[pool.name].bounds,
        balance=balance,
        min_gain=spec.balancing.min_gain_percent,
    )


def _stuck_load(layouts: Sequence[Layout]) -> StuckLoad | None:
    """Replicas and MiB on brokers of other pools that should leave and cannot, by broker.

    `None` if there are none.
    """
    if not any(layout.opened.stuck.any() for layout in layouts):
        return None
    brokers = len(layouts[0].problem.brokers)
    replicas, mib = np.zeros(brokers, dtype=np.int64), np.zeros(brokers, dtype=np.int64)
    for layout in layouts:
        problem, opened = layout.problem, layout.opened
        inside = np.zeros(brokers, dtype=bool)
        inside[problem.pool_brokers] = True
        row, slot = np.nonzero(opened.stuck & ~inside[opened.lists])
        np.add.at(replicas, opened.lists[row, slot], 1)
        np.add.at(mib, opened.lists[row, slot], problem.mib[row])
    return StuckLoad(replicas, mib) if replicas.any() else None


def _growing_topics(given: LayoutInput, pool: ResourcePoolSpec, lists: Lists) -> dict[str, int]:
    """Topics of the pool that gain partitions, with their present number of partitions."""
    return {
        name: lists.found(name)
        for name in sorted(lists.changed)
        if given.homes[name].pool == pool.name and len(lists.changed[name]) > lists.found(name)
    }
