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
broker is not pursued, nor a law that would take thousands: where one partition alone is larger than
a disk, exchanges could bring its broker nearer by a MiB each for ever. The worst broker comes
first, and its partners in order of room, up to a number that is enough in large clusters. The
search ends when no broker outside its band has a step.
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
    ReplicaColumns,
    ReplicaPlaces,
    Small,
    any_equal,
    concatenate_replicas,
    count_equal,
)
from poolkeeper.planning.goals.replica_swaps import (
    LAW_STEPS_MAX,
    NO_CANDIDATES,
    REPLICA_MIB,
    STEPS_MAX,
    Candidates,
    Pairs,
    ReplicaSwap,
    SwapChoice,
)
from poolkeeper.planning.goals.topic_counts import TopicCounts
from poolkeeper.planning.placement.replica_classes import bounds_of
from poolkeeper.planning.problem.arrays import NONE, Bools, Floats, Ints
from poolkeeper.planning.problem.pool_problem import PoolProblem

_COMPARED = 4
"""Partners with a step that are compared."""

_PARTNERS_MAX = 160
"""Partners that are looked at, those with most room: in a large cluster some of them has a step."""

_TOGETHER_MAX = 64
"""Partners that are looked at together."""

_REPLICAS_MAX = 16_000
"""Replicas of them that are looked at together, if they hold as many as the broker itself."""

_STEPS_BY_BROKER, _STEPS_LEAST = 20, 2000
"""A search takes at most so many steps a broker, or the second number. The next plan goes on."""

_SUMS_MAX = 2**62
"""The number of a pair and a size are joined to one number, which stays below this."""


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
    binding = [guard for guard in guards if binds(guard, problem)]
    search = _Search(problem, opened, lists, (aim, *binding), topics)
    search.run()
    return search.lists_by_row()


def binds(guard: Bounded, problem: PoolProblem) -> bool:
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
        every = np.arange(len(opened.spreads))
        self.least, self.most = bounds_of(opened, every, len(problem.brokers.rack_names))
        # The number of moves by broker, and the best steps known at that number.
        self.changes = [0] * len(problem.brokers)
        self.known: dict[tuple[int, int], tuple[tuple[int, int], ReplicaSwap | None]] = {}
        self.brokers = np.flatnonzero(problem.eligible)
        largest = int(self.value[0].max(initial=0)) + 2
        self.together = max(1, min(_TOGETHER_MAX, _SUMS_MAX // largest))
        self.places = ReplicaPlaces(self.lists.T, len(problem.brokers))
        self.held: dict[int, HeldReplicas] = {}

    def lists_by_row(self) -> Ints:
        """The lists in the order of the problem's rows."""
        found = np.empty(self.lists.T.shape, dtype=np.int64)
        found[self.order] = self.lists.T
        return found

    def run(self) -> None:
        left = max(_STEPS_LEAST, _STEPS_BY_BROKER * len(self.brokers))
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

    def _outside(self) -> Ints:
        """By broker, how far it lies above its band; below it the number is negative."""
        load, low, high = self.load[0], self.low[0], self.high[0]
        outside: Ints = np.where(load > high, load - high, np.minimum(load - low, 0))
        return outside

    def _worst(self, stuck: set[int]) -> int | None:
        outside = np.abs(self._outside())
        outside[~self.problem.eligible] = 0
        outside[list(stuck)] = 0
        worst = int(outside.argmax()) if len(outside) else 0
        return worst if len(outside) and outside[worst] else None

    def _steps(self, broker: int) -> Iterator[ReplicaSwap]:
        """The best step with each partner that has one, the partners with most room first."""
        gives = bool(self.load[0, broker] > self.high[0, broker])
        used = self.load[0] / np.maximum(self.share, 1)
        partners = self.brokers[np.argsort((used if gives else -used)[self.brokers], kind="stable")]
        partners = partners[partners != broker][:_PARTNERS_MAX]
        most = max(1, _REPLICAS_MAX // max(1, len(self._held(broker).row)))
        most = min(most, self.together)
        first, count = 0, min(_COMPARED, most)
        while first < len(partners):
            known = self._known_best(broker, partners[first : first + count].tolist(), gives=gives)
            yield from [step for step in known if step is not None]
            first, count = first + count, min(4 * count, most)

    def _known_best(
        self, broker: int, partners: Sequence[int], *, gives: bool
    ) -> list[ReplicaSwap | None]:
        """Do the same as `_best`, from a cache unless a move concerns one of both brokers."""
        pairs = [(broker, other) if gives else (other, broker) for other in partners]
        now = [(self.changes[giver], self.changes[taker]) for giver, taker in pairs]
        known = [self.known.get(pair) for pair in pairs]
        new = [n for n, found in enumerate(known) if found is None or found[0] != now[n]]
        if new:
            found = self._best(np.array([pairs[n] for n in new]).T)
            for n, step in zip(new, found, strict=True):
                self.known[pairs[n]] = now[n], step
        return [self.known[pair][1] for pair in pairs]

    def _best(self, pairs: Ints) -> list[ReplicaSwap | None]:
        """The best step of each pair, if any; `pairs`: givers and takers, one of them the same."""
        given, taken = pairs
        load, low, high, outside = self.load, self.low, self.high, self._outside()
        most = np.minimum(load[0, given] - low[0, given], high[0, taken] - load[0, taken])
        above, below = np.maximum(outside[given], 0), np.maximum(-outside[taken], 0)
        least = np.maximum(above, below) / (LAW_STEPS_MAX if self.is_law else STEPS_MAX)
        gain = np.minimum(most, above) + np.minimum(most, below)
        at = ((most > 0) & (gain >= least)).nonzero()[0]
        steps: list[ReplicaSwap | None] = [None] * len(given)
        if len(at):
            some = self._pairs(given[at], taken[at], most[at], above[at], below[at], least[at])
            for place, step in zip(at.tolist(), self._best_of(some), strict=True):
                steps[place] = step
        return steps

    def _pairs(
        self, givers: Ints, takers: Ints, most: Ints, above: Ints, below: Ints, least: Floats
    ) -> Pairs:
        """The net amount that may move, by measure, so that none gets worse on either side."""
        gives, takes = self.load[:, givers], self.load[:, takers]
        up = np.minimum(
            gives - np.minimum(self.low[:, givers], gives),
            np.maximum(self.high[:, takers], takes) - takes,
        )
        down = np.maximum(
            gives - np.maximum(self.high[:, givers], gives),
            np.minimum(self.low[:, takers], takes) - takes,
        )
        up[0], down[0] = most, 1
        return Pairs(givers, takers, up, down, above, below, least)

    def _best_of(self, pairs: Pairs) -> list[ReplicaSwap | None]:
        given = self._candidates(pairs.givers, pairs.takers)
        if not len(given.row):
            return self._within_topics(pairs, [None] * len(pairs))
        choice = SwapChoice(given, pairs, self.scale, self.order)
        choice.alone()
        taken = self._candidates(pairs.takers, pairs.givers) if self.exchanges else NO_CANDIDATES
        for costs in (taken.cost < 0, taken.cost == 0, taken.cost > 0):
            choice.against(taken, costs.nonzero()[0])
        return self._within_topics(pairs, choice.steps(taken))

    def _within_topics(
        self, pairs: Pairs, steps: list[ReplicaSwap | None]
    ) -> list[ReplicaSwap | None]:
        """The steps; of pairs without one the best exchange within a topic, which keeps counts."""
        left = [number for number, step in enumerate(steps) if step is None]
        if self.topics is None or not self.exchanges or not left:
            return steps
        some = pairs.at(np.array(left))
        given = self._candidates(some.givers, some.takers, counted=False)
        taken = self._candidates(some.takers, some.givers, counted=False)
        choice = SwapChoice(given, some, self.scale, self.order)
        choice.within_topics(taken)
        for number, step in zip(left, choice.steps(taken), strict=True):
            steps[number] = step
        return steps

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

    def _candidates(self, sources: Ints, targets: Ints, *, counted: bool = True) -> Candidates:
        """What may go from each source to its target; all sources or all targets are the same.

        `counted`: whether the bands of topics hold for each replica by itself.
        """
        if targets[0] == targets[-1]:
            targets = targets[:1]
        elif sources[0] == sources[-1]:
            sources = sources[:1]
        held = [self._held(source) for source in sources.tolist()]
        columns = concatenate_replicas(held)
        owner = np.repeat(np.arange(len(held)), [len(each.row) for each in held])
        free = columns.there & ~any_equal(columns.lists, targets[:, None])
        self._stay_in_racks(free, columns, sources[owner] if len(held) > 1 else sources, targets)
        if self.topics is not None and counted:
            free &= self.topics.may_go(columns.topic, sources, owner, targets)
        at = (free if len(targets) > 1 else free[0]).nonzero()
        pair, at, target = (
            (at[0], at[1], targets[at[0]]) if len(at) > 1 else (owner[at[0]], at[0], targets)
        )
        added = (~any_equal(columns.found.take(at, axis=1), target)).astype(np.int64)
        added -= columns.moved[at]
        added *= columns.new[at]
        value, cost = columns.value.take(at, axis=1), added * columns.cost[at]
        row, slot, topic = columns.row[at], columns.slot[at], columns.topic[at]
        return Candidates(pair, row, slot, topic, value, cost, added)

    def _stay_in_racks(
        self, free: Bools, columns: ReplicaColumns, source: Ints, targets: Ints
    ) -> None:
        """Take what the bounds of racks forbid out of `free`, which is by target and replica.

        `source`: by replica.
        """
        rack = self.problem.brokers.rack
        there, which = np.unique(rack[targets], return_inverse=True)
        stays = rack[source] == there[:, None]
        if stays.all():
            return
        most = self.most[:, there].T.take(columns.spread, axis=1)
        may = count_equal(columns.racks, there[:, None]) < most
        may &= columns.leaves_rack
        may |= stays
        free &= may if len(there) == 1 else may[which]

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
