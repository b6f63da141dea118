"""Takes back what balance can do without: moves, and moves of larger replicas than need be.

Goals are met one after another, and each takes the step that is best for itself. In the end some
replicas have moved that could as well have stayed, and some whose part a smaller one could play.
Each replica that moved, those that cost most first, is tried at the brokers where its partition was
found:

- it returns, if that leaves both brokers inside their bands;
- else it returns in exchange for a replica there that goes to where it is now: for one that costs
  less, and leaves both brokers inside their bands.

A step makes no broker worse by any measure, and the plan cheaper. So there is an end. It comes
before, in large plans, once a hundred replicas in turn have saved next to nothing: those that are
left cost less still.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.wide_lists import is_in_row
from poolkeeper.planning.constraints.evictions import OpenSlots
from poolkeeper.planning.goals.held_replicas import ReplicaPlaces
from poolkeeper.planning.goals.local_search import Bounded, binds
from poolkeeper.planning.goals.replica_swaps import REPLICA_MIB
from poolkeeper.planning.goals.topic_counts import TopicCounts
from poolkeeper.planning.placement.replica_classes import bounds_of
from poolkeeper.planning.problem.arrays import (
    MIB,
    NONE,
    Bools,
    Ints,
    any_slot,
    count_slots,
    take_rows,
)
from poolkeeper.planning.problem.grouping import ordered_by
from poolkeeper.planning.problem.pool_problem import PoolProblem

_PASSES_MAX = 8
_IN_TURN = 100
_WORTHWHILE = 500
"""A turn of replicas should save one in so many parts of what the plan costs, or it is the last."""
_COMPARED = 64
"""Replicas that are compared at first, in exchange for one; then four times as many."""


def spare_moves(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    guards: Sequence[Bounded],
    topics: TopicCounts | None = None,
) -> Ints:
    """Lists that cost no more; the measures in `guards` and `topics` get no worse.

    `topics` is updated.
    """
    marks = _Marks.of(problem, opened, lists)
    if not marks.may_return.any():
        return lists
    binding = [guard for guard in guards if binds(guard, problem)]
    work = _Sparing(problem, opened, lists, marks, binding, topics)
    work.run()
    return work.lists_by_row()


@frozen
class _Marks:
    """By row and slot, what is known of the replica.

    `added`: the plan puts it there. `stays`: it has to stay. `may_return`: the plan moved it from a
    broker that could keep it.
    """

    added: Bools
    stays: Bools
    may_return: Bools

    @classmethod
    def of(cls, problem: PoolProblem, opened: OpenSlots, lists: Ints) -> "_Marks":
        """The marks of these lists."""
        changed = np.flatnonzero(any_slot(lists != problem.lists))
        now, found = take_rows(lists, changed), take_rows(problem.lists, changed)
        added, may_return = np.zeros((2, *lists.shape), dtype=bool)
        added[changed] = (now >= 0) & ~is_in_row(now, found)
        stays = _stays(opened, lists)
        eligible = np.append(problem.eligible, False)
        returns = any_slot(eligible[found] & (found >= 0) & ~is_in_row(found, now))
        returns &= ~problem.fresh[changed]
        may_return[changed] = added[changed] & ~stays[changed] & returns[:, None]
        return cls(added, stays, may_return)


def _stays(opened: OpenSlots, lists: Ints) -> Bools:
    """By row and slot, whether the replica has to stay; lists may have another order since.

    So does a slot without one, where any of the row has to.
    """
    stays = np.zeros(lists.shape, dtype=bool)
    rows = np.flatnonzero(any_slot(opened.stays))
    stays[rows] = is_in_row(
        take_rows(lists, rows),
        np.where(take_rows(opened.stays, rows), take_rows(opened.lists, rows), NONE),
    )
    return stays


class _Sparing:
    """Lists and loads that change with every step; used only within `spare_moves`.

    Rows are numbered by price, so what a broker holds is in that order at once; `order` gives the
    problem's rows.
    """

    def __init__(
        self,
        problem: PoolProblem,
        opened: OpenSlots,
        lists: Ints,
        marks: _Marks,
        guards: Sequence[Bounded],
        topics: TopicCounts | None,
    ) -> None:
        self.problem, self.topics = problem, topics
        price = np.where(problem.fresh, 0, problem.mib + REPLICA_MIB)
        order = self.order = ordered_by(price)
        self.price, self.lists, self.found = (
            price[order],
            take_rows(lists, order),
            take_rows(problem.lists, order),
        )
        self.topic, self.spread = problem.topic[order], opened.spread_of[order]
        self.added, self.stays = take_rows(marks.added, order), take_rows(marks.stays, order)
        self.may_return = marks.may_return[order]
        self.drops = count_slots(self.found >= 0) > count_slots(self.lists >= 0)
        self.cost = int((self.added * self.price[:, None]).sum())
        # What was aimed at last has the narrowest bands: most steps fail by these.
        self.guards = list(reversed(guards))
        self.values = [guard.measure.value[order] for guard in self.guards]
        self.loads = [guard.measure.load(lists).tolist() for guard in self.guards]
        self.low = [guard.band.low.tolist() for guard in self.guards]
        self.high = [guard.band.high.tolist() for guard in self.guards]
        self.rack = np.append(problem.brokers.rack, [NONE, NONE])
        every = np.arange(len(opened.spreads))
        self.least, self.most = bounds_of(opened, every, len(problem.brokers.rack_names))
        self.held: dict[int, tuple[Ints, Ints]] = {}
        # By broker, the number of steps; by replica, those of its brokers when it was tried.
        self.changes = [0] * len(problem.brokers)
        self.tried: dict[tuple[int, int], int] = {}

    def lists_by_row(self) -> Ints:
        """The lists in the order of the problem's rows."""
        found = np.empty_like(self.lists)
        found[self.order] = self.lists
        return found

    def run(self) -> None:
        """Take steps until they are not worth it."""
        for _ in range(_PASSES_MAX):
            if not self._pass():
                return

    def _pass(self) -> bool:
        """Try the replicas once; whether that was worth it."""
        row, slot = np.nonzero(self.may_return & self.added)
        row, slot = row[::-1].tolist(), slot[::-1].tolist()
        worthwhile = False
        for begin in range(0, len(row), _IN_TURN):
            some = slice(begin, begin + _IN_TURN)
            saved = sum(map(self._spare, row[some], slot[some]))
            self.cost -= saved
            if saved * _WORTHWHILE <= self.cost:
                break
            worthwhile = True
        return worthwhile

    def _spare(self, row: int, slot: int) -> int:
        """Bring the replica back to where it was found, if that can be; what it saves."""
        if not self.added[row, slot]:
            return 0
        held, price = self.lists[row].tolist(), int(self.price[row])
        source, eligible = held[slot], self.problem.eligible
        homes = [b for b in self.found[row].tolist() if b >= 0 and b not in held and eligible[b]]
        changes = self.changes[source] + sum(self.changes[home] for home in homes)
        if self.tried.get((row, slot)) == changes:
            return 0
        best: tuple[int, int, int, int] | None = None
        one = np.array([row])
        for home in homes:
            if not self._keeps_racks(one, source, home)[0]:
                continue
            if self._fits_alone(one, source, home):
                self._move(row, slot, home)
                return price
            other = self._exchange(row, source, home)
            if other is not None and (best is None or other[0] < best[0]):
                best = *other, home
        if best is None:
            self.tried[row, slot] = changes
            return 0
        cost, other_row, other_slot, home = best
        self._move(row, slot, home)
        self._move(other_row, other_slot, source)
        return price - cost

    def _fits_alone(self, row: Ints, source: int, home: int) -> bool:
        """Whether the replica may go home without any other."""
        fits = all(self._inside(n, source, home, v[row])[0] for n, v in enumerate(self.values))
        return fits and bool(self._topics_may_go(self.topic[row], source, home)[0])

    def _exchange(self, row: int, source: int, home: int) -> tuple[int, int, int] | None:
        """A replica that may come from the home for the row's: its cost, its row and its slot.

        It is the cheapest of those that the plan has moved there and of those that cost nothing
        where the row's is, else of the first that fit.
        """
        rows, slots = self._held_by(home)
        if self.topics is not None:
            own, topic = self.topic[row : row + 1], self.topic[rows]
            may = topic == own  # what goes and what comes is of one topic
            if self._topics_may_go(own, source, home)[0]:
                may |= self._topics_may_go(topic, home, source)
            at = may.nonzero()[0]
            rows, slots = rows[at], slots[at]
        came = (self.added[rows, slots] | self._may_be_at(rows, source)).nonzero()[0]
        found = self._cheapest(row, source, home, rows[came], slots[came]) if len(came) else None
        begin, end = rows.searchsorted(self._rows_between(row, source, home)).tolist()
        count = _COMPARED
        while found is None and begin < end:
            part = slice(begin, min(begin + count, end))
            found = self._cheapest(row, source, home, rows[part], slots[part])
            begin, count = begin + count, 4 * count
        return found

    def _may_be_at(self, rows: Ints, broker: int) -> Bools:
        """By row, whether its partition was found there and dropped that replica."""
        found = self.drops[rows]
        if found.any():
            at = found.nonzero()[0]
            found[at] = any_slot(take_rows(self.found, rows[at]) == broker)
        return found

    def _rows_between(self, row: int, source: int, home: int) -> tuple[int, int]:
        """From which row on replicas are large enough in exchange for the row's, and cheaper."""
        price, least = int(self.price[row]), 0
        for number, guard in enumerate(self.guards):
            value = guard.measure.value
            unit = 1 if value is self.problem.mib else MIB if value is self.problem.size else 0
            if unit:
                _, up = self._bounds(number, source, home)
                least = max(least, (int(self.values[number][row]) - up) // unit + REPLICA_MIB)
        begin, end = self.price.searchsorted([least, price]).tolist()
        return begin, end

    def _cheapest(
        self, row: int, source: int, home: int, rows: Ints, slots: Ints
    ) -> tuple[int, int, int] | None:
        """The cheapest of these replicas of the home that may come for the row's, if any."""
        may = ~any_slot(take_rows(self.lists, rows) == source)
        for number, value in enumerate(self.values):
            may &= self._inside(number, source, home, value[row] - value[rows])
        at = may.nonzero()[0]
        rows, slots = rows[at], slots[at]
        adds = ~any_slot(self.found[rows] == source)
        cost = self.price[rows] * (adds.astype(np.int64) - self.added[rows, slots])
        may = (cost < self.price[row]) & self._keeps_racks(rows, home, source)
        at = may.nonzero()[0]
        if not len(at):
            return None
        best = at[cost[at].argmin()]
        return int(cost[best]), int(rows[best]), int(slots[best])

    def _bounds(self, number: int, source: int, target: int) -> tuple[int, int]:
        """The least and the most that may go from the source to the target, by that measure."""
        load, low, high = self.loads[number], self.low[number], self.high[number]
        gives, takes = load[source], load[target]
        up = min(gives - min(low[source], gives), max(high[target], takes) - takes)
        down = max(gives - max(high[source], gives), min(low[target], takes) - takes)
        return down, up

    def _inside(self, number: int, source: int, target: int, net: Ints) -> Bools:
        """Whether so much may go from the source to the target, by that measure."""
        down, up = self._bounds(number, source, target)
        inside: Bools = (net >= down) & (net <= up)
        return inside

    def _keeps_racks(self, rows: Ints, source: int, target: int) -> Bools:
        """By row, whether the bounds of racks let its replica go from the source to the target."""
        leaves, comes = self.rack[source], self.rack[target]
        if leaves == comes:
            return np.ones(len(rows), dtype=bool)
        racks, spread = self.rack[take_rows(self.lists, rows)], self.spread[rows]
        there, left = ((racks == each).sum(axis=1) for each in (comes, leaves))
        keeps: Bools = (there < self.most[spread, comes]) & (left > self.least[spread, leaves])
        return keeps

    def _topics_may_go(self, topics: Ints, source: int, target: int) -> Bools:
        """Whether the bands of each of these topics let a replica go from the source to the target.

        They may be many, or many times the same: what is less is looked up.
        """
        counts = self.topics
        if counts is None:
            return np.ones(len(topics), dtype=bool)
        few = len(topics) < len(counts.replicas)
        some = topics if few else slice(None)
        gives: Bools = counts.replicas[some, source] > counts.low[some, source]
        may: Bools = gives & (counts.replicas[some, target] < counts.high[some, target])
        return may if few else may[topics]

    @cached_property
    def _places(self) -> ReplicaPlaces:
        return ReplicaPlaces(self.lists.astype(np.int32), len(self.problem.brokers))

    def _held_by(self, broker: int) -> tuple[Ints, Ints]:
        """The rows and slots of the broker's replicas that may go."""
        if broker not in self.held:
            # Steps since the places were found concern brokers that are known already.
            row, slot = self._places.of(broker)
            free = ~self.stays[row, slot]
            self.held[broker] = row[free], slot[free]
        return self.held[broker]

    def _move(self, row: int, slot: int, target: int) -> None:
        source = int(self.lists[row, slot])
        (gives, _), (takes, _) = self._held_by(source), self._held_by(target)
        at, to = int(gives.searchsorted(row)), int(takes.searchsorted(row))
        rows, slots = self.held[source]
        self.held[source] = np.delete(rows, at), np.delete(slots, at)
        rows, slots = self.held[target]
        self.held[target] = np.insert(rows, to, row), np.insert(slots, to, slot)
        self.lists[row, slot] = target
        self.added[row, slot] = target not in self.found[row]
        self.may_return[row, slot] = not self.stays[row, slot] and self.price[row] > 0
        for load, value in zip(self.loads, self.values, strict=True):
            load[source] -= int(value[row])
            load[target] += int(value[row])
        for broker in (source, target):
            self.changes[broker] += 1
        if self.topics is not None:
            self.topics.move(int(self.topic[row]), source, target)
