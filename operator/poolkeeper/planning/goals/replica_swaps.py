"""The best steps between two brokers each: one replica moves, alone or in exchange for another.

A step must bring the measure nearer to its band on one side and push no side out. Of all steps with
enough gain the best is the one of least cost per gain.

Pairs of brokers are compared many at a time. A broker of a large cluster may hold few replicas and
have hundreds of partners, most of them without a step: arrays as short as that cost more than what
is computed with them.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from poolkeeper.frozen import frozen
from poolkeeper.planning.problem.arrays import Bools, Floats, Ints

REPLICA_MIB = 64
"""What an added replica costs besides its size."""

STEPS_MAX = 200
"""As many steps of its size should bring a broker into its band, or a step is not worth it."""

LAW_STEPS_MAX = 2000
"""The same for a law."""

_Value = TypeVar("_Value", bound=np.generic)
_WORTHWHILE = 0.3
_NEIGHBOURS = 3
_ADDED = 2.0


@frozen
class Candidates:
    """Replicas that may go from one broker of a pair to the other, pair after pair.

    Those of a pair are in ascending order of the first measure, those of one value by row.
    `pair`: by replica, the number of its pair. `row`, `slot`: where it stands. `topic`: its own.
    `value`: by measure, what each counts.
    `cost`, `added`: what the plan pays, and how many replicas it adds.
    """

    pair: Ints
    row: Ints
    slot: Ints
    topic: Ints
    value: Ints
    cost: Ints
    added: Ints


_NONE = np.zeros(0, dtype=np.int64)
NO_CANDIDATES = Candidates(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE)


@frozen
class Pairs:
    """Givers and takers of one replica each, and what may move between them.

    `up`, `down`: by measure and pair, the most and the least that may move net.
    `above`: by how much each giver is above its band of the first measure.
    `below`: by how much each taker is below it.
    `least`: the least gain of a step that is worth it.
    """

    givers: Ints
    takers: Ints
    up: Ints
    down: Ints
    above: Ints
    below: Ints
    least: Floats

    def __len__(self) -> int:
        return len(self.givers)

    def at(self, places: Ints) -> "Pairs":
        """Some of the pairs."""
        return Pairs(
            self.givers[places],
            self.takers[places],
            self.up[:, places],
            self.down[:, places],
            self.above[places],
            self.below[places],
            self.least[places],
        )


@frozen
class ReplicaSwap:
    """The (row, slot) that goes from the giver to the taker, and the one that goes back, if any."""

    giver: int
    taker: int
    given: tuple[int, int]
    taken: tuple[int, int] | None
    score: float


class SwapChoice:
    """Compares steps between the brokers of some pairs; see `local_search`.

    `scale`: MiB per unit of the first measure.
    `order`: by row, which of two equal steps is compared first.
    """

    def __init__(self, given: Candidates, pairs: Pairs, scale: float, order: Ints) -> None:
        self._given, self._pairs, self._order = given, pairs, order
        self._aim = np.minimum(np.maximum(pairs.above, pairs.below), pairs.up[0])
        self._goal = np.minimum(self._aim, pairs.above) + np.minimum(self._aim, pairs.below)
        # Besides its bytes, an added replica costs as much as a part of the remaining need.
        self._per_replica = _ADDED * self._goal * scale
        self._goes = given.value[0]
        self._found: list[tuple[Floats, Ints, Ints, Ints]] = []

    def alone(self) -> None:
        """Compare steps that move one replica."""
        given = self._given
        fits = self._may_go(0, self._goes, np.arange(len(self._goes))).nonzero()[0]
        lawful = np.ones(len(fits), dtype=bool)
        for number in range(1, len(given.value)):
            lawful &= self._may_go(number, given.value[number, fits], fits)
        fits = fits[lawful]
        if len(fits):
            self._weigh(self._goes[fits], fits, None, given.cost[fits], given.added[fits])

    def against(self, taken: Candidates, rows: Ints) -> None:
        """Compare steps that exchange one replica for one of these, near the remaining need.

        `rows`: places in `taken`, ascending.
        """
        if not len(rows):
            return
        size, every = taken.value[0, rows], np.arange(len(self._goes))
        begin = taken.pair[rows].searchsorted(np.arange(len(self._pairs)))
        end = np.append(begin[1:], len(rows))
        least = self._goes - self._of_pair(self._aim, every)
        first = self._first_of_size(taken.pair[rows], size, least)
        begin, end = self._of_pair(begin, every), self._of_pair(end, every)
        self._exchange_near(first, begin, np.broadcast_to(end, every.shape), taken, rows)

    def within_topics(self, taken: Candidates) -> None:
        """Compare exchanges of one replica for another of its topic, near the remaining need."""
        if not len(taken.row):
            return
        span = int(max(taken.topic.max(), self._given.topic.max(initial=0))) + 1
        group = taken.pair * span + taken.topic
        rows = group.argsort(kind="stable")  # those of a pair ascend, so those of a topic do
        group = group[rows]
        own = self._given.pair * span + self._given.topic
        sizes, rank = np.unique(taken.value[0, rows], return_inverse=True)
        number = group.searchsorted(np.stack([own, own + 1]))
        # Groups are numbered by the place of their first, which keeps the keys small.
        key = group.searchsorted(group) * (len(sizes) + 1) + rank
        least = self._goes - self._of_pair(self._aim, np.arange(len(own)))
        first = key.searchsorted(number[0] * (len(sizes) + 1) + sizes.searchsorted(least))
        self._exchange_near(np.minimum(first, number[1]), number[0], number[1], taken, rows)

    def _exchange_near(
        self, first: Ints, begin: Ints, end: Ints, taken: Candidates, rows: Ints
    ) -> None:
        """Compare exchanges of each replica for some at the places of `rows` from `first` on.

        `begin`, `end`: by replica, the place of the first that it may be exchanged for, and the
        place after the last.
        """
        size, every = taken.value[0, rows], np.arange(len(self._goes))
        # The next smaller replica leaves more than the need: that may fit nevertheless.
        smaller = first > begin
        smaller &= self._of_pair(self._aim < self._pairs.up[0], every)
        given = smaller.nonzero()[0]
        self._exchange_at(given, first[given] - 1, end, size, taken, rows)
        given, place = every, first
        for _ in range(_NEIGHBOURS):
            # What does not fit by the first measure now does not with larger replicas.
            given, place = self._exchange_at(given, place, end, size, taken, rows)
            place = place + 1

    def _first_of_size(self, pair: Ints, size: Ints, least: Ints) -> Ints:
        """By replica that goes, the place of the first of its pair of at least that size.

        `pair`, `size`: of those that may come, in order.
        """
        if len(self._pairs) == 1:
            return np.searchsorted(size, least)
        above = int(size.max()) + 1
        key = pair * (above + 1) + size
        first: Ints = key.searchsorted(self._given.pair * (above + 1) + np.clip(least, 0, above))
        return first

    def _exchange_at(
        self, given: Ints, place: Ints, end: Ints, size: Ints, taken: Candidates, rows: Ints
    ) -> tuple[Ints, Ints]:
        """Compare exchanges of these replicas for those at the places of `rows`.

        `end`: by replica, the place after the last that it may be exchanged for.
        Return those that fit by the first measure: most fail by that, and nothing else is computed
        of them.
        """
        valid = place < end[given]
        given, place = given[valid], place[valid]
        net = self._goes[given] - size[place]
        fits = self._may_go(0, net, given)
        given, place = given[fits], place[fits]
        self._exchange(net[fits], given, taken, rows[place])
        return given, place

    def _exchange(self, net: Ints, given: Ints, taken: Candidates, other: Ints) -> None:
        """Compare exchanges of one replica for another that fit by the first measure."""
        if not len(given):
            return
        lawful = self._given.row[given] != taken.row[other]
        for number in range(1, len(self._given.value)):
            goes, comes = self._given.value[number, given], taken.value[number, other]
            lawful &= self._may_go(number, goes - comes, given)
        given, other = given[lawful], other[lawful]
        if len(given):
            cost = self._given.cost[given] + taken.cost[other]
            added = self._given.added[given] + taken.added[other]
            self._weigh(net[lawful], given, other, cost, added)

    def _may_go(self, number: int, net: Ints, given: Ints) -> Bools:
        """Whether so much may move net, by the measure of that number."""
        fits: Bools = net >= self._of_pair(self._pairs.down[number], given)
        fits &= net <= self._of_pair(self._pairs.up[number], given)
        return fits

    def _of_pair(self, values: npt.NDArray[_Value], given: Ints) -> npt.NDArray[_Value]:
        """The values of the pairs of these replicas that go; of one pair there is one value."""
        if len(values) == 1:
            return values
        found: npt.NDArray[_Value] = values.take(self._given.pair.take(given))
        return found

    def _weigh(self, net: Ints, given: Ints, taken: Ints | None, cost: Ints, added: Ints) -> None:
        """Note lawful steps; `net`: what moves by the first measure."""
        above = self._of_pair(self._pairs.above, given)
        below = self._of_pair(self._pairs.below, given)
        gain = np.minimum(net, above) + np.minimum(net, below)
        per_replica = self._of_pair(self._per_replica, given)
        score = (cost + REPLICA_MIB + per_replica * added) / gain
        other = np.full(len(net), -1) if taken is None else taken
        self._found.append((score, gain, given, other))

    def steps(self, taken: Candidates) -> list[ReplicaSwap | None]:
        """By pair, the cheapest step that gains enough, if any.

        Of several the first compared is it, by row.
        """
        steps: list[ReplicaSwap | None] = [None] * len(self._pairs)
        if not self._found:
            return steps
        score, gain, given, other = (
            np.concatenate(column) for column in zip(*self._found, strict=True)
        )
        for place in self._best(score, gain, given).tolist():
            out, back = int(given[place]), int(other[place])
            pair = int(self._given.pair[out])
            steps[pair] = ReplicaSwap(
                int(self._pairs.givers[pair]),
                int(self._pairs.takers[pair]),
                (int(self._given.row[out]), int(self._given.slot[out])),
                None if back < 0 else (int(taken.row[back]), int(taken.slot[back])),
                float(score[place]),
            )
        return steps

    def _best(self, score: Floats, gain: Ints, given: Ints) -> Ints:
        """The places of the best steps, one of each pair that has one."""
        pair = self._given.pair.take(given)
        most = np.zeros(len(self._pairs), dtype=np.int64)
        np.maximum.at(most, pair, gain)
        enough = np.minimum(_WORTHWHILE * self._goal, most)
        enough[most < self._pairs.least] = np.inf
        places = (gain >= self._of_pair(enough, given)).nonzero()[0]
        lowest = np.full(len(self._pairs), np.inf)
        np.minimum.at(lowest, pair[places], score[places])
        places = places[score[places] == self._of_pair(lowest, given[places])]
        ends = np.cumsum([len(column[0]) for column in self._found])
        comparison = np.searchsorted(ends, places, side="right")
        row = self._order[self._given.row[given[places]]]
        places = places[np.lexsort((row, comparison, pair[places]))]
        best: Ints = places[np.unique(pair[places], return_index=True)[1]]
        return best
