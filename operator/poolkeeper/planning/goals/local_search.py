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
from poolkeeper.planning.problem.arrays import Bools, Ints, any_slot, count_slots
from poolkeeper.planning.problem.pool_problem import PoolProblem

_COMPARED = 4


@frozen
class _Held:
    """What a broker holds: rows, their lists and racks, and in which slots it stands there.

    `free`: replicas that the laws of placement let go; `left`: how many others stand in its rack.
    `was_here`: the replica is where it was found.
    """

    row: Ints
    lists: Ints
    found: Ints
    slot: Ints
    racks: Ints
    free: Bools
    left: Ints
    was_here: Bools


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
    search = _Search(problem, opened, lists.copy(), (aim, *guards), topics)
    search.run()
    return search.lists


class _Search:
    """Lists and loads that change with every step; used only within `refine`."""

    def __init__(
        self,
        problem: PoolProblem,
        opened: OpenSlots,
        lists: Ints,
        bounded: Sequence[Bounded],
        topics: TopicCounts | None,
    ) -> None:
        self.problem, self.opened, self.lists, self.topics = problem, opened, lists, topics
        self.value = np.array([b.measure.value for b in bounded])
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
        self.rows_on = {b: np.flatnonzero(any_slot(lists == b)) for b in self._brokers()}
        self.held: dict[int, tuple[int, _Held]] = {}

    def _brokers(self) -> list[int]:
        rows: list[int] = np.flatnonzero(self.problem.eligible).tolist()
        return rows

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
        choice = SwapChoice(self.value, given, (down, up), need, self.scale, least)
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
        lists, found = self.lists[rows], self.problem.lists[rows]
        slot = np.argmax(lists == broker, axis=1)
        racks = np.where(lists >= 0, rack[lists], -1)
        left = count_slots(racks == rack[broker]) - 1
        free = ~self.opened.stays[rows, slot]
        return _Held(rows, lists, found, slot, racks, free, left, any_slot(found == broker))

    def _candidates(self, source: int, target: int) -> Candidates:
        held, rack = self._held(source), self.problem.brokers.rack
        free = held.free & ~any_slot(held.lists == target)
        if rack[source] != rack[target]:
            spread = self.opened.spread_of[held.row]
            there = count_slots(held.racks == rack[target])
            free &= there < self.most[spread, rack[target]]
            free &= held.left >= self.least[spread, rack[source]]
        if self.topics is not None:
            free &= self.topics.may_go(self.problem.topic[held.row], source, target)
        rows = held.row[free]
        new, old = ~any_slot(held.found[free] == target), ~held.was_here[free]
        added = (new.astype(np.int64) - old) * ~self.problem.fresh[rows]
        cost = added * (self.problem.mib[rows] + REPLICA_MIB)
        return Candidates(rows, held.slot[free], cost, added)

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
            self.topics.move(int(self.problem.topic[row]), source, target)
