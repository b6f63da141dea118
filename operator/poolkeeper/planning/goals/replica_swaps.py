"""The best step between two brokers: one replica moves, alone or in exchange for another.

A step must bring the measure nearer to its band on one side and push no side out. Of all steps with
enough gain the best is the one of least cost per gain.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.problem.arrays import Bools, Floats, Ints

REPLICA_MIB = 64
"""What an added replica costs besides its size."""

STEPS_MAX = 200
"""As many steps of its size should bring a broker into its band, or a step is not worth it."""

_WORTHWHILE = 0.3
_NEIGHBOURS = 3
_ADDED = 2.0


@frozen
class Candidates:
    """Replicas of one broker that may go to another: rows, slots, what the plan pays and adds.

    In ascending order of the first measure, those of one value by row.
    `value`: by measure, what each counts.
    """

    row: Ints
    slot: Ints
    value: Ints
    cost: Ints
    added: Ints


_NONE = np.zeros(0, dtype=np.int64)
NO_CANDIDATES = Candidates(_NONE, _NONE, _NONE, _NONE, _NONE)


@frozen
class ReplicaSwap:
    """The (row, slot) that goes from the giver to the taker, and the one that goes back, if any."""

    giver: int
    taker: int
    given: tuple[int, int]
    taken: tuple[int, int] | None
    score: float


class SwapChoice:
    """Compares steps between two brokers; see `local_search`.

    `bounds`: by measure, the least and the most that may move net.
    `need`: by how much the giver is above its band of the first measure, and the taker below.
    `order`: by row, which of two equal steps is compared first.
    """

    def __init__(
        self,
        given: Candidates,
        bounds: tuple[Ints, Ints],
        need: tuple[int, int],
        scale: float,
        least: float,
        order: Ints,
    ) -> None:
        self.given, self.need, self.least = given, need, least
        self.order = order
        self.down, self.up = bounds
        self.aim = min(max(need), int(self.up[0]))
        # Besides its bytes, an added replica costs as much as a part of the remaining need.
        self.per_replica = _ADDED * (min(self.aim, need[0]) + min(self.aim, need[1])) * scale
        self.goes = given.value[0]
        self.found: list[tuple[Floats, Floats, Ints, Ints]] = []

    def alone(self) -> None:
        """Compare steps that move one replica."""
        given = self.given
        net = self.goes
        fits = ((net >= self.down[0]) & (net <= self.up[0])).nonzero()[0]
        lawful = np.ones(len(fits), dtype=bool)
        for number in range(1, len(given.value)):
            lawful &= self._may_go(number, given.value[number, fits])
        fits = fits[lawful]
        if len(fits):
            self._weigh(net[fits], fits, None, given.cost[fits], given.added[fits])

    def against(self, taken: Candidates, rows: Ints) -> None:
        """Compare steps that exchange one replica for one of these, near the remaining need.

        `rows`: places in `taken`, ascending.
        """
        if not len(rows):
            return
        size = taken.value[0, rows]
        first = np.searchsorted(size, self.goes - self.aim)
        if self.aim < self.up[0]:
            # The next smaller replica leaves more than the need: that may fit nevertheless.
            given = first.nonzero()[0]
            self._exchange_at(given, first[given] - 1, size, taken, rows)
        given, place = np.arange(len(first)), first
        for _ in range(_NEIGHBOURS):
            # What does not fit by the first measure now does not with larger replicas.
            given, place = self._exchange_at(given, place, size, taken, rows)
            place = place + 1

    def _exchange_at(
        self, given: Ints, place: Ints, size: Ints, taken: Candidates, rows: Ints
    ) -> tuple[Ints, Ints]:
        """Compare exchanges of these replicas for those at the places of `rows`.

        Return those that fit by the first measure: most fail by that, and nothing else is computed
        of them.
        """
        valid = place < len(rows)
        given, place = given[valid], place[valid]
        net = self.goes[given] - size[place]
        fits = (net >= self.down[0]) & (net <= self.up[0])
        given, place = given[fits], place[fits]
        self._exchange(net[fits], given, taken, rows[place])
        return given, place

    def _exchange(self, net: Ints, given: Ints, taken: Candidates, other: Ints) -> None:
        """Compare exchanges of one replica for another that fit by the first measure."""
        if not len(given):
            return
        lawful = self.given.row[given] != taken.row[other]
        for number in range(1, len(self.given.value)):
            goes, comes = self.given.value[number, given], taken.value[number, other]
            lawful &= self._may_go(number, goes - comes)
        given, other = given[lawful], other[lawful]
        if len(given):
            cost = self.given.cost[given] + taken.cost[other]
            added = self.given.added[given] + taken.added[other]
            self._weigh(net[lawful], given, other, cost, added)

    def _may_go(self, number: int, net: Ints) -> Bools:
        fits: Bools = (net >= self.down[number]) & (net <= self.up[number])
        return fits

    def _weigh(self, net: Ints, given: Ints, taken: Ints | None, cost: Ints, added: Ints) -> None:
        """Note lawful steps; `net`: what moves by the first measure."""
        gain = np.minimum(net, self.need[0]) + np.minimum(net, self.need[1])
        score = (cost + REPLICA_MIB + self.per_replica * added) / gain
        other = np.full(len(net), -1) if taken is None else taken
        self.found.append((score, gain.astype(np.float64), given, other))

    def step(self, giver: int, taker: int, taken: Candidates) -> ReplicaSwap | None:
        """The cheapest step that gains enough, if any; of several the first compared, by row."""
        if not self.found:
            return None
        score, gain, given, other = (
            np.concatenate(column) for column in zip(*self.found, strict=True)
        )
        if gain.max() < self.least:
            return None
        goal = min(self.aim, self.need[0]) + min(self.aim, self.need[1])
        worthwhile = (gain >= min(_WORTHWHILE * goal, gain.max())).nonzero()[0]
        best = self._first(worthwhile, score[worthwhile], given)
        out, back = int(given[best]), int(other[best])
        return ReplicaSwap(
            giver,
            taker,
            (int(self.given.row[out]), int(self.given.slot[out])),
            None if back < 0 else (int(taken.row[back]), int(taken.slot[back])),
            float(score[best]),
        )

    def _first(self, places: Ints, score: Floats, given: Ints) -> int:
        """The place of least score; of equal ones that of the first comparison, then by row."""
        alike = places[score == score.min()]
        if len(alike) == 1:
            return int(alike[0])
        ends = np.cumsum([len(column[0]) for column in self.found])
        comparison = np.searchsorted(ends, alike, side="right")
        row = self.order[self.given.row[given[alike]]]
        return int(alike[np.lexsort((row, comparison))[0]])
