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
from poolkeeper.planning.goals.held_replicas import (
    HeldReplicas,
    ReplicaPlaces,
    Small,
    any_equal,
    count_equal,
)
from poolkeeper.planning.goals.replica_swaps import (
    NO_CANDIDATES,
    REPLICA_MIB,
    STEPS_MAX,
    Candidates,
    ReplicaSwap,
    SwapChoice,
)
from poolkeeper.planning.goals.topic_counts import TopicCounts
from poolkeeper.planning.problem.arrays import NONE, Ints
from poolkeeper.planning.problem.pool_problem import PoolProblem

_COMPARED = 4


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
    outside = aim.band.outside(aim.measure.load(lists))
    if not outside[problem.eligible].any():
        return lists
    binding = [guard for guard in guards if _binds(guard, problem)]
    search = _Search(problem, opened, lists, (aim, *binding), topics)
    search.run()
    return search.lists_by_row()


def _binds(guard: Bounded, problem: PoolProblem) -> bool:
    """Whether a broker could leave the guard's band, whatever moves."""
    measure, low, high = guard.measure, guard.band.low, guard.band.high
    total = int(measure.value.sum()) * problem.lists.shape[1] + int(measure.background.sum())
    return bool(((low > 0) | (high < total))[problem.eligible].any())


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
        self.problem, self.topics, self.opened = problem, topics, opened
        value = np.array([b.measure.value for b in bounded])
        # If all count alike, an exchange brings nothing nearer to the band.
        self.exchanges = bool((value[0] != value[0, :1]).any())
        self.order = np.argsort(value[0], kind="stable")
        self.value = value.take(self.order, axis=1)
        self.lists, self.found = (
            np.ascontiguousarray(each.T, dtype=np.int32).take(self.order, axis=1)
            for each in (lists, problem.lists)
        )
        # By broker, and at the end for slots that hold no replica or are open.
        self.racks = np.append(problem.brokers.rack, [NONE, NONE]).astype(np.int32)
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
        self.brokers: list[int] = np.flatnonzero(problem.eligible).tolist()
        self.places = ReplicaPlaces(self.lists.T, len(problem.brokers))
        self.held: dict[int, HeldReplicas] = {}

    def lists_by_row(self) -> Ints:
        """The lists in the order of the problem's rows."""
        found = np.empty(self.lists.T.shape, dtype=np.int64)
        found[self.order] = self.lists.T
        return found

    def run(self) -> None:
        left = STEPS_MAX * len(self.brokers)
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
            for broker in self.brokers
            if broker not in stuck and (excess := self._excess(broker))
        ]
        return min(outside)[1] if outside else None

    def _steps(self, broker: int) -> Iterator[ReplicaSwap]:
        """The best step with each partner that has one, the partners with most room first."""
        gives = self._excess(broker) > 0
        room = self.load[0] / np.maximum(self.share, 1) if gives else None
        if room is None:
            room = -self.load[0] / np.maximum(self.share, 1)
        for partner in sorted(self.brokers, key=lambda other: (room[other], other)):
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
        choice = SwapChoice(given, (down, up), need, self.scale, least, self.order)
        choice.alone()
        taken = self._candidates(taker, giver) if self.exchanges else NO_CANDIDATES
        for costs in (taken.cost < 0, taken.cost == 0, taken.cost > 0):
            choice.against(taken, costs.nonzero()[0])
        return choice.step(giver, taker, taken)

    def _held(self, broker: int) -> HeldReplicas:
        """What the broker holds; moves keep it current."""
        known = self.held.get(broker)
        if known is None:
            row, slot = self.places.of(broker)
            free = ~self.opened.stays[self.order[row], slot]
            rack = int(self.problem.brokers.rack[broker])
            known = self.held[broker] = HeldReplicas(
                broker, rack, self.least[:, rack], *self._gather(row[free], slot[free])
            )
        return known

    def _gather(self, row: Ints, slot: Ints) -> tuple[list[Ints], list[Small]]:
        """The columns of these replicas for `HeldReplicas`."""
        problem, at = self.problem, self.order[row]
        cost, new = problem.mib[at] + REPLICA_MIB, (~problem.fresh[at]).astype(np.int64)
        numbers = [row, slot, problem.topic[at], self.opened.spread_of[at], cost, new]
        lists, found = self.lists.take(row, axis=1), self.found.take(row, axis=1)
        return [*numbers, *self.value.take(row, axis=1)], [lists, self.racks[lists], found]

    def _candidates(self, source: int, target: int) -> Candidates:
        held, rack = self._held(source), self.problem.brokers.rack
        free = held.there & ~any_equal(held.lists, target)
        if rack[source] != rack[target]:
            there = count_equal(held.racks, int(rack[target]))
            free &= there < self.most[:, rack[target]][held.spread]
            free &= held.leaves_rack
        if self.topics is not None:
            free &= self.topics.topics_that_may_go(source, target)[held.topic]
        at = free.nonzero()[0]
        added = (~any_equal(held.found, target)).astype(np.int64)
        added -= held.moved
        added *= held.new
        added = added[at]
        value = held.value.take(at, axis=1)
        return Candidates(held.row[at], held.slot[at], value, added * held.cost[at], added)

    def _take(self, step: ReplicaSwap) -> None:
        self._move(*step.given, step.giver, step.taker)
        if step.taken is not None:
            self._move(*step.taken, step.taker, step.giver)

    def _move(self, row: int, slot: int, source: int, target: int) -> None:
        gives, takes = self._held(source), self._held(target)
        rack = int(self.problem.brokers.rack[target])
        for broker in self.lists[:, row].tolist():
            if broker >= 0 and broker != source:
                self.changes[broker] += 1
                if broker in self.held:
                    self.held[broker].replace(row, slot, target, rack)
        self.changes[source] += 1
        self.changes[target] += 1
        self.lists[slot, row] = target
        self.load[:, source] -= self.value[:, row]
        self.load[:, target] += self.value[:, row]
        gives.remove(row)
        takes.insert(*self._gather(np.array([row]), np.array([slot])))
        if self.topics is not None:
            self.topics.move(int(self.problem.topic[self.order[row]]), source, target)
