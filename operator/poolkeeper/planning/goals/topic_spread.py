"""Spreads the replicas of one topic over brokers, topic by topic.

It does what `topic_flow` leaves undone, or what earlier goals prevent there. A broker that holds
too many replicas of a topic gives to a broker that lacks some, else to one with room in the topic's
band; of these to the one that holds the fewest replicas of all topics. A broker that lacks some
gets one from a broker that can spare it. If racks forbid that, a third broker takes the one replica
and gives another. The replica that moves is the one that costs the plan least.

That may push earlier goals slightly out of their bands, which `optimizer` repairs. If it cannot, it
repeats the spread with `guards`: then only steps are taken that no earlier goal forbids.
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.evictions import OpenSlots
from poolkeeper.planning.goals.local_search import Bounded
from poolkeeper.planning.goals.replica_swaps import REPLICA_MIB
from poolkeeper.planning.goals.topic_counts import TopicCounts
from poolkeeper.planning.placement.replica_classes import bounds_of
from poolkeeper.planning.problem.arrays import NONE, Bools, Ints, any_slot, take_rows
from poolkeeper.planning.problem.pool_problem import PoolProblem

_CELLS = 4_000_000
"""Replicas × brokers that are looked at together."""

_RELAYS_MAX = 32
"""Relays that are tried for one broker: what makes one fail mostly makes all of them fail."""


def spread_topics(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    counts: TopicCounts,
    total: Bounded,
    guards: Sequence[Bounded],
) -> Ints:
    """Lists with the topics' counts inside their bands; `counts` is updated.

    `total`: the measure of replicas of all topics, by which the emptiest brokers are chosen.
    `guards`: the measures that forbid steps.
    """
    work = _Spreading(problem, opened, lists.copy(), counts, total, guards)
    above, below = counts.replicas > counts.high, counts.replicas < counts.low
    for topic in np.flatnonzero(any_slot(above | below)).tolist():
        work.spread(topic)
    return work.lists


@frozen
class _Steps:
    """By giver and taker, whether any replica of a topic may go there.

    `given`: now. `received`: if the giver were given another first, so that it can spare one.
    """

    given: Bools
    received: Bools


class _Spreading:
    """Lists and loads that change with every move; used only within `spread_topics`."""

    def __init__(
        self,
        problem: PoolProblem,
        opened: OpenSlots,
        lists: Ints,
        counts: TopicCounts,
        total: Bounded,
        guards: Sequence[Bounded],
    ) -> None:
        self.problem, self.opened, self.lists, self.counts = problem, opened, lists, counts
        self.guards = guards
        self.loads = [guard.measure.load(lists) for guard in guards]
        self.load = total.measure.load(lists) - total.band.share
        every = np.arange(len(opened.spreads))
        self.least, self.most = bounds_of(opened, every, len(problem.brokers.rack_names))
        self.start = np.searchsorted(problem.topic, np.arange(len(problem.topics) + 1))
        self.moves = 0
        self.known: tuple[tuple[int, int], _Steps] | None = None

    def spread(self, topic: int) -> None:
        """Move replicas of the topic until no broker outside its band has a step."""
        replicas, low, high = (
            a[topic] for a in (self.counts.replicas, self.counts.low, self.counts.high)
        )
        stuck = np.zeros(len(replicas), dtype=bool)
        while True:
            above = np.where(self.problem.eligible & ~stuck, replicas - high, 0)
            below = np.where(self.problem.eligible & ~stuck, low - replicas, 0)
            if above.max() > 0:
                worst = int(np.lexsort((-self.load, -above))[0])
                done = self._give(topic, worst, replicas < high, replicas < low) is not None
                done = done or self._relay(topic, [worst], replicas < high)
            elif below.max() > 0:
                worst = int(np.lexsort((self.load, -below))[0])
                spare = np.flatnonzero(self.problem.eligible & (replicas > low))
                order = spare[np.argsort(-self.load[spare], kind="stable")].tolist()
                done = bool(order) and self._receive(topic, worst, order)
            else:
                return
            stuck[worst] = not done

    def _receive(self, topic: int, taker: int, givers: Sequence[int]) -> bool:
        """Move a replica to the taker, from the first giver that may give it one."""
        only = np.arange(len(self.problem.brokers)) == taker
        if self._give(topic, givers[0], only, only) is not None:
            return True
        possible = self._known_steps(topic).given[:, taker]
        some = [giver for giver in givers[1:] if possible[giver]]
        done = any(self._give(topic, giver, only, only) is not None for giver in some)
        return done or self._relay(topic, givers, only)

    def _relay(self, topic: int, givers: Sequence[int], takers: Bools) -> bool:
        """Move two replicas by way of a third broker, where none may go directly to the takers.

        Of the first giver for which this is possible the emptiest third broker is chosen.
        """
        steps, moves = self._known_steps(topic), self.moves
        every = np.arange(len(takers))
        gives_on = (steps.received & takers).any(axis=1)
        between = np.flatnonzero(self.problem.eligible & ~takers & gives_on)
        between = between[np.argsort(self.load[between], kind="stable")]
        tries = (
            (giver, broker)
            for giver in givers
            for broker in between[steps.given[giver, between] & (between != giver)].tolist()
        )
        for giver, broker in islice(tries, _RELAYS_MAX):
            only = every == broker
            first = self._give(topic, giver, only, only)
            if first is None:
                continue
            if self._give(topic, broker, takers & (every != giver), takers) is not None:
                return True
            self._move(topic, *first, broker, giver)
            self.moves = moves  # all is as it was
        return False

    def _known_steps(self, topic: int) -> _Steps:
        """Do the same as `_steps`, from the last answer if nothing has moved since."""
        if self.known is None or self.known[0] != (topic, self.moves):
            self.known = (topic, self.moves), self._steps(topic)
        return self.known[1]

    def _steps(self, topic: int) -> _Steps:
        """Which brokers may give a replica of the topic to which."""
        row, giver = self._free_replicas(topic)
        order = np.argsort(giver, kind="stable")
        row, giver = row[order], giver[order]
        shape = len(self.problem.brokers), len(self.problem.brokers)
        found = _Steps(np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool))
        cells = len(order) * len(self.problem.brokers)
        for some in np.array_split(np.arange(len(order)), max(1, cells // _CELLS)):
            if not len(some):
                continue
            begins = np.flatnonzero(np.diff(giver[some], prepend=NONE))
            received = self._permitted_by_laws(row[some], giver[some])
            for load, guard in zip(self.loads, self.guards, strict=True):
                received &= _takes(load, guard, row[some])
            given = received.copy()
            for load, guard in zip(self.loads, self.guards, strict=True):
                given &= _gives(load, guard, row[some], giver[some])[:, None]
            brokers = giver[some][begins]
            found.received[brokers] |= np.logical_or.reduceat(received, begins, axis=0)
            found.given[brokers] |= np.logical_or.reduceat(given, begins, axis=0)
        return found

    def _free_replicas(self, topic: int) -> tuple[Ints, Ints]:
        """The rows and brokers of the topic's replicas that may move."""
        begin, stop = self.start[topic : topic + 2]
        lists = self.lists[begin:stop]
        row, slot = np.nonzero((lists >= 0) & ~self.opened.stays[begin:stop])
        return row + begin, lists[row, slot]

    def _give(
        self, topic: int, giver: int, takers: Bools, preferred: Bools
    ) -> tuple[int, int] | None:
        """Move the cheapest replica that may go to the emptiest taker; return its row and slot."""
        begin, stop = self.start[topic : topic + 2]
        row, slot = np.nonzero(self.lists[begin:stop] == giver)
        row = row + begin
        free = ~self.opened.stays[row, slot]
        row, slot = row[free], slot[free]
        if not len(row):
            return None
        lawful = self._permitted_by_laws(row, giver) & (takers & self.problem.eligible)
        for load, guard in zip(self.loads, self.guards, strict=True):
            lawful &= _takes(load, guard, row)
            lawful &= _gives(load, guard, row, giver)[:, None]
        possible = np.flatnonzero(lawful.any(axis=0))
        if not len(possible):
            return None
        order = np.lexsort((possible, self.load[possible], ~preferred[possible]))
        taker = int(possible[order[0]])
        rows = np.flatnonzero(lawful[:, taker])
        best = rows[np.lexsort((row[rows], self._cost(row[rows], giver, taker)))[0]]
        moved = int(row[best]), int(slot[best])
        self._move(topic, *moved, giver, taker)
        return moved

    def _permitted_by_laws(self, row: Ints, giver: int | Ints) -> Bools:
        """By (row, broker), whether the replica may go there: distinctness and racks.

        `giver`: the broker that each row's replica leaves, or all of them.
        """
        rack, spread = self.problem.brokers.rack, self.opened.spread_of[row]
        lists, own = take_rows(self.lists, row), np.broadcast_to(rack[giver], len(row))
        racks = np.zeros((len(row), self.least.shape[1]), dtype=np.int64)
        others = np.ones((len(row), len(rack)), dtype=bool)
        every = np.arange(len(row))
        for column in lists.T:
            there = column >= 0
            racks[every, rack[column]] += there
            others[every, column] &= ~there
        leaves = racks[every, own] > self.least[spread, own]
        even = ((racks < self.most[spread]) & leaves[:, None]).take(rack, axis=1)
        lawful: Bools = others & (even | (rack == own[:, None]))
        return lawful

    def _cost(self, row: Ints, giver: int, taker: int) -> Ints:
        """By row, what the plan costs more if the replica moves to the taker."""
        found = take_rows(self.problem.lists, row)
        added = (~any_slot(found == taker)).astype(np.int64) - ~any_slot(found == giver)
        price = np.where(self.problem.fresh[row], 0, self.problem.mib[row] + REPLICA_MIB)
        cost: Ints = added * price
        return cost

    def _move(self, topic: int, row: int, slot: int, giver: int, taker: int) -> None:
        self.moves += 1
        self.lists[row, slot] = taker
        self.counts.move(topic, giver, taker)
        self.load[giver] -= 1
        self.load[taker] += 1
        for load, guard in zip(self.loads, self.guards, strict=True):
            load[giver] -= guard.measure.value[row]
            load[taker] += guard.measure.value[row]


def _gives(load: Ints, guard: Bounded, row: Ints, giver: int | Ints) -> Bools:
    """By row, whether its broker may give it away: it stays in its band, or was below."""
    low = guard.band.low[giver]
    gives: Bools = load[giver] - guard.measure.value[row] >= np.minimum(low, load[giver])
    return gives


def _takes(load: Ints, guard: Bounded, row: Ints) -> Bools:
    """By (row, broker), whether the broker may take it: it stays in its band, or was above."""
    value = guard.measure.value[row]
    takes: Bools = load + value[:, None] <= np.maximum(guard.band.high, load)
    return takes
