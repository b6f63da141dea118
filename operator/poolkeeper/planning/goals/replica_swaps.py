"""The best step between two brokers: one replica moves, alone or in exchange for another.

A step must bring the measure nearer to its band on one side and push no side out. Of all steps with
enough gain the best is the one of least cost per gain.
"""

from dataclasses import dataclass

import numpy as np

from poolkeeper.planning.problem.arrays import Bools, Floats, Ints

REPLICA_MIB = 64
"""What an added replica costs besides its size."""

STEPS_MAX = 200
"""As many steps of its size should bring a broker into its band, or a step is not worth it."""

_WORTHWHILE = 0.3
_NEIGHBOURS = 3
_ADDED = 2.0


@dataclass(frozen=True, slots=True)
class Candidates:
    """Replicas of one broker that may go to another: rows, slots, what the plan pays and adds."""

    row: Ints
    slot: Ints
    cost: Ints
    added: Ints


@dataclass(frozen=True, slots=True)
class ReplicaSwap:
    """The (row, slot) that goes from the giver to the taker, and the one that goes back, if any."""

    giver: int
    taker: int
    given: tuple[int, int]
    taken: tuple[int, int] | None
    score: float


class SwapChoice:
    """Compares steps between two brokers; see `local_search`.

    `value`: by measure, what a replica of each row counts.
    `bounds`: by measure, the least and the most that may move net.
    `need`: by how much the giver is above its band of the first measure, and the taker below.
    """

    def __init__(
        self,
        value: Ints,
        given: Candidates,
        bounds: tuple[Ints, Ints],
        need: tuple[int, int],
        scale: float,
        least: float = 0.0,
    ) -> None:
        self.value, self.given, self.need, self.least = value, given, need, least
        self.down, self.up = bounds
        self.aim = min(max(need), int(self.up[0]))
        # Besides its bytes, an added replica costs as much as a part of the remaining need.
        self.per_replica = _ADDED * (min(self.aim, need[0]) + min(self.aim, need[1])) * scale
        self.found: list[tuple[Floats, Floats, Ints, Ints]] = []

    def alone(self) -> None:
        """Compare steps that move one replica."""
        net = self.value[:, self.given.row]
        self._weigh(net, np.arange(len(self.given.row)), None, self.given.cost, self.given.added)

    def against(self, taken: Candidates, rows: Ints) -> None:
        """Compare steps that exchange one replica for one of these, near the remaining need."""
        if not len(rows):
            return
        size = self.value[0, taken.row[rows]]
        order = np.argsort(size, kind="stable")
        rows, size = rows[order], size[order]
        at = np.searchsorted(size, self.value[0, self.given.row] - self.aim)
        for offset in range(-1, _NEIGHBOURS):
            place = at + offset
            valid = ((place >= 0) & (place < len(rows))).nonzero()[0]
            other = rows[place[valid]]
            net = self.value[:, self.given.row[valid]] - self.value[:, taken.row[other]]
            differ = self.given.row[valid] != taken.row[other]
            cost = self.given.cost[valid] + taken.cost[other]
            added = self.given.added[valid] + taken.added[other]
            self._weigh(net[:, differ], valid[differ], other[differ], cost[differ], added[differ])

    def _weigh(self, net: Ints, given: Ints, taken: Ints | None, cost: Ints, added: Ints) -> None:
        lawful: Bools = (net[0] >= self.down[0]) & (net[0] <= self.up[0])
        for number in range(1, len(net)):
            lawful &= (net[number] >= self.down[number]) & (net[number] <= self.up[number])
        rows = lawful.nonzero()[0]
        if len(rows):
            gain = np.minimum(net[0, rows], self.need[0]) + np.minimum(net[0, rows], self.need[1])
            score = (cost[rows] + REPLICA_MIB + self.per_replica * added[rows]) / gain
            other = np.full(len(rows), -1) if taken is None else taken[rows]
            self.found.append((score, gain.astype(np.float64), given[rows], other))

    def step(self, giver: int, taker: int, taken: Candidates) -> ReplicaSwap | None:
        """The cheapest step that gains enough, if any."""
        if not self.found:
            return None
        score, gain, given, other = (
            np.concatenate(column) for column in zip(*self.found, strict=True)
        )
        if gain.max() < self.least:
            return None
        goal = min(self.aim, self.need[0]) + min(self.aim, self.need[1])
        worthwhile = (gain >= min(_WORTHWHILE * goal, gain.max())).nonzero()[0]
        best = worthwhile[np.argmin(score[worthwhile])]
        out, back = int(given[best]), int(other[best])
        return ReplicaSwap(
            giver,
            taker,
            (int(self.given.row[out]), int(self.given.slot[out])),
            None if back < 0 else (int(taken.row[back]), int(taken.slot[back])),
            float(score[best]),
        )
