"""Local search towards a band: single moves, and exchanges between two brokers.

The flow of `rounds` balances counts. Loads that differ from partition to partition (bytes, rates, a
full disk) are brought inside their band from there, by steps that never make a law or an earlier
goal worse. A step moves a replica from a giver to a taker, alone or in exchange for another that
goes back. It must bring the measure nearer to its band on one of both brokers, and push neither
out.

Of the steps between two brokers the search takes the one of least cost per excess mended. The cost
of a step is what it adds to the cost of the whole plan. A replica that the plan has moved already
goes elsewhere for nothing, and one that returns to where it was found has a negative cost. So a
step often only changes *which* replicas move. A goal that would take hundreds of steps from one
broker is not pursued; a law is. The worst broker comes first, and its partners in order of room.
The search ends when no broker outside its band has a step.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.evictions import OpenSlots
from poolkeeper.planning.constraints.measures import LoadMeasure
from poolkeeper.planning.goals.replica_swaps import (
    REPLICA_MIB,
    STEPS_MAX,
    Candidates,
    ReplicaSwap,
    SwapChoice,
)
from poolkeeper.planning.goals.topic_counts import TopicCounts
from poolkeeper.planning.problem.arrays import Bools, Ints, any_slot
from poolkeeper.planning.problem.pool_problem import PoolProblem

_COMPARED = 4

Columns = tuple[Ints, ...]
"""An array for each slot of the rows' lists, side by side in memory."""


@frozen
class _Held:
    """The replicas of a broker that the laws of placement let go, in ascending order of value.

    `row`, `slot`: where they stand. `lists`, `racks`, `found`: by slot, the rows' brokers now, the
    racks of these, and the brokers as found. `spread`: which bounds of racks hold for each row.
    `leaves_rack`: whether it may go to another rack.
    `cost`: what the plan pays for another replica of the row; `moved`: whether this one has been
    paid for. `new`: 1, or 0 for rows of partitions that the plan creates.
    """

    row: Ints
    slot: Ints
    lists: Columns
    racks: Columns
    found: Columns
    spread: Ints
    leaves_rack: Bools
    cost: Ints
    moved: Bools
    new: Ints


@frozen
class Bounded:
    """A measure, and the band that it is to be brought inside or must not leave."""

    measure: LoadMeasure
    band: Band

    def excess(self, problem: PoolProblem, lists: Ints) -> int:
        """How far brokers lie outside the wide band, in sum."""
        held = self.measure.load(lists)
        return int(np.abs(self.measure.wide.outside(held))[problem.eligible].sum())

    def imbalance(self, problem: PoolProblem, lists: Ints) -> float:
        """The part of the load that is on the wrong broker."""
        share = self.measure.wide.share
        missed = np.abs(self.measure.load(lists) - share)[problem.eligible].sum()
        return float(missed / max(share[problem.eligible].sum(), 1.0))


def refine(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    aim: Bounded,
    guards: Sequence[Bounded],
    topics: TopicCounts | None = None,
) -> Ints:
    """Lists nearer to the aim's band; the measures in `guards` and `topics` get no worse."""
    search = _Search(problem, opened, lists, (aim, *guards), topics)
    search.run()
    return search.lists_by_row()


class _Search:
    """Lists and loads that change with every step; used only within `refine`.

    Rows are numbered by the measure's value, so what brokers hold is in that order at once; `order`
    gives the problem's rows.
    """

    def __init__(
        self,
        problem: PoolProblem,
        opened: OpenSlots,
        lists: Ints,
        bounded: Sequence[Bounded],
        topics: TopicCounts | None,
    ) -> None:
        self.problem, self.topics = problem, topics
        value = np.array([b.measure.value for b in bounded])
        self.order = np.argsort(value[0], kind="stable")
        self.value = value[:, self.order]
        self.lists, self.found = lists[self.order], problem.lists[self.order]
        self.stays, self.spread_of = opened.stays[self.order], opened.spread_of[self.order]
        self.topic, self.mib = problem.topic[self.order], problem.mib[self.order]
        self.paid = (~problem.fresh[self.order]).astype(np.int64)
        self.load = np.array([b.measure.load(lists) for b in bounded])
        self.low = np.array([b.band.low for b in bounded])
        self.high = np.array([b.band.high for b in bounded])
        self.share = bounded[0].band.share
        self.is_law = bounded[0].measure.is_law
        # MiB per unit of the measure, on average.
        self.scale = float(problem.mib.sum()) / max(float(self.value[0].sum()), 1.0)
        racks = len(problem.brokers.rack_names)
        shape = len(opened.spreads), racks
        self.least = np.array([s.low for s in opened.spreads], dtype=np.int64).reshape(shape)
        self.most = np.array([s.high for s in opened.spreads], dtype=np.int64).reshape(shape)
        # The number of moves by broker, and the best steps known at that number.
        self.changes = [0] * len(problem.brokers)
        self.known: dict[tuple[int, int], tuple[tuple[int, int], ReplicaSwap | None]] = {}
        lists = self.lists
        self.rows_on = {b: np.flatnonzero(any_slot(lists == b)) for b in self._brokers()}
        self.held: dict[int, tuple[int, _Held]] = {}

    def _brokers(self) -> list[int]:
        rows: list[int] = np.flatnonzero(self.problem.eligible).tolist()
        return rows

    def lists_by_row(self) -> Ints:
        """The lists in the order of the problem's rows."""
        found = np.empty_like(self.lists)
        found[self.order] = self.lists
        return found

    def run(self) -> None:
        left = STEPS_MAX * len(self.rows_on)
        stuck: set[int] = set()
        moved = False
        while left:
            broker = self._worst(stuck)
            if broker is None:
                if not (stuck and moved):
                    return
                stuck, moved = set(), False
                continue
            found = islice(self._steps(broker), _COMPARED)
            step = min(found, key=lambda step: step.score, default=None)
            if step is None:
                stuck.add(broker)
            else:
                self._take(step)
                moved, left = True, left - 1

    def _excess(self, broker: int) -> int:
        above = int(self.load[0, broker] - self.high[0, broker])
        below = int(self.low[0, broker] - self.load[0, broker])
        return above if above > 0 else -max(below, 0)

    def _worst(self, stuck: set[int]) -> int | None:
        outside = [
            (-abs(excess), broker)
            for broker in self.rows_on
            if broker not in stuck and (excess := self._excess(broker))
        ]
        return min(outside)[1] if outside else None

    def _steps(self, broker: int) -> Iterator[ReplicaSwap]:
        """The best step with each partner that has one, the partners with most room first."""
        gives = self._excess(broker) > 0
        room = self.load[0] / np.maximum(self.share, 1) if gives else None
        if room is None:
            room = -self.load[0] / np.maximum(self.share, 1)
        for partner in sorted(self.rows_on, key=lambda other: (room[other], other)):
            if partner != broker:
                pair = (broker, partner) if gives else (partner, broker)
                step = self._known_best(*pair)
                if step is not None:
                    yield step

    def _known_best(self, giver: int, taker: int) -> ReplicaSwap | None:
        """Do the same as `_best`, from a cache unless a move concerns one of both brokers."""
        now = self.changes[giver], self.changes[taker]
        known = self.known.get((giver, taker))
        if known is None or known[0] != now:
            known = self.known[giver, taker] = now, self._best(giver, taker)
        return known[1]

    def _best(self, giver: int, taker: int) -> ReplicaSwap | None:
        load, low, high = self.load, self.low, self.high
        most = int(min(load[0, giver] - low[0, giver], high[0, taker] - load[0, taker]))
        need = max(self._excess(giver), 0), max(-self._excess(taker), 0)
        least = 0.0 if self.is_law else max(need) / STEPS_MAX
        if most <= 0 or min(most, need[0]) + min(most, need[1]) < least:
            return None
        # The net amount that may move, by measure, so that none gets worse on either side.
        up = np.minimum(
            load[:, giver] - np.minimum(low[:, giver], load[:, giver]),
            np.maximum(high[:, taker], load[:, taker]) - load[:, taker],
        )
        down = np.maximum(
            load[:, giver] - np.maximum(high[:, giver], load[:, giver]),
            np.minimum(low[:, taker], load[:, taker]) - load[:, taker],
        )
        up[0], down[0] = most, 1
        given = self._candidates(giver, taker)
        if not len(given.row):
            return None
        choice = SwapChoice(self.value, given, (down, up), need, self.scale, least, self.order)
        choice.alone()
        taken = self._candidates(taker, giver)
        for costs in (taken.cost < 0, taken.cost == 0, taken.cost > 0):
            choice.against(taken, costs.nonzero()[0])
        return choice.step(giver, taker, taken)

    def _held(self, broker: int) -> _Held:
        """What the broker holds, looked at again only after a move that concerns it."""
        known = self.held.get(broker)
        if known is None or known[0] != self.changes[broker]:
            known = self.held[broker] = self.changes[broker], self._look_at(broker)
        return known[1]

    def _look_at(self, broker: int) -> _Held:
        rows, rack = self.rows_on[broker], self.problem.brokers.rack
        slot = np.zeros(len(rows), dtype=np.int64)
        for number in range(1, self.lists.shape[1]):
            slot[self.lists[rows, number] == broker] = number
        free = ~self.stays[rows, slot]
        rows, slot = rows[free], slot[free]
        lists, found = _columns(self.lists[rows]), _columns(self.found[rows])
        racks = tuple(np.where(column >= 0, rack[column], -1) for column in lists)
        spread = self.spread_of[rows]
        left = _count_equal(racks, rack[broker]) - 1
        return _Held(
            rows,
            slot,
            lists,
            racks,
            found,
            spread,
            left >= self.least[:, rack[broker]][spread],
            self.mib[rows] + REPLICA_MIB,
            ~_any_equal(found, broker),
            self.paid[rows],
        )

    def _candidates(self, source: int, target: int) -> Candidates:
        held, rack = self._held(source), self.problem.brokers.rack
        free = ~_any_equal(held.lists, target)
        if rack[source] != rack[target]:
            there = _count_equal(held.racks, rack[target])
            free &= there < self.most[:, rack[target]][held.spread]
            free &= held.leaves_rack
        if self.topics is not None:
            free &= self.topics.may_go(self.topic[held.row], source, target)
        at = free.nonzero()[0]
        added = (~_any_equal(held.found, target)).astype(np.int64)
        added -= held.moved
        added *= held.new
        added = added[at]
        return Candidates(held.row[at], held.slot[at], added * held.cost[at], added)

    def _take(self, step: ReplicaSwap) -> None:
        self._move(*step.given, step.giver, step.taker)
        if step.taken is not None:
            self._move(*step.taken, step.taker, step.giver)

    def _move(self, row: int, slot: int, source: int, target: int) -> None:
        for broker in {source, target, *self.lists[row].tolist()}:
            if broker >= 0:
                self.changes[broker] += 1
        self.lists[row, slot] = target
        self.load[:, source] -= self.value[:, row]
        self.load[:, target] += self.value[:, row]
        self.rows_on[source] = self.rows_on[source][self.rows_on[source] != row]
        at = np.searchsorted(self.rows_on[target], row)
        self.rows_on[target] = np.insert(self.rows_on[target], at, row)
        if self.topics is not None:
            self.topics.move(int(self.topic[row]), source, target)


def _columns(lists: Ints) -> Columns:
    return tuple(np.ascontiguousarray(column) for column in lists.T)


def _any_equal(columns: Columns, value: int) -> Bools:
    """By row, whether any column has that value."""
    found: Bools = columns[0] == value
    for column in columns[1:]:
        found |= column == value
    return found


def _count_equal(columns: Columns, value: int) -> npt.NDArray[np.int8]:
    """By row, how many columns have that value."""
    count: npt.NDArray[np.int8] = (columns[0] == value).astype(np.int8)
    for column in columns[1:]:
        count += column == value
    return count
