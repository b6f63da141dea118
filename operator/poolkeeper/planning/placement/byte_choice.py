"""Which members of a merged class move, and to which cell, where bytes matter besides counts.

The flow says how many members of a class go to each cell. Some of its smallest members go, and
consecutive ones from some position upwards. The position is chosen such that all of them sum up to
what their broker should give (`GivingClass`). Then the cells exchange the chosen members, so that
the largest go where most bytes are wanted (`CellBytes`).
"""

from bisect import insort
from collections.abc import Sequence

import numpy as np

from poolkeeper.planning.placement.byte_targets import Aim
from poolkeeper.planning.placement.replica_classes import Cells, may_go
from poolkeeper.planning.problem.arrays import Ints, concatenate

_PARTS = (6, 3, 2, 1)
_TRIED = 8
_ENOUGH = 0.95
_EXCHANGES_MAX = 40
_HEAD = 64
"""Members that are looked at besides as many as a cell gets."""


class CellBytes:
    """The bytes that cells still want; classes are dealt one after another."""

    def __init__(self, cells: Cells, movable_to_cell: Ints, aim: Aim) -> None:
        """`movable_to_cell`: replicas by (movable class, cell)."""
        self.want = [float(aim.get[members].sum()) for members in cells.members]
        self.left: list[int] = movable_to_cell.sum(axis=0).tolist()
        self.rack: list[int] = cells.rack.tolist()

    def deal(self, value: Ints, cells: Ints, barred: Ints) -> Ints:
        """Exchange the cells of members: the largest go where most is wanted per replica to come.

        A member that should go to another cell changes places with one of the smallest there.
        `value`, `barred`: of each member, the bytes and the racks that it may not go to.
        """
        dealt: list[int] = cells.tolist()
        waiting: dict[int, list[int]] = {cell: [] for cell in dealt}
        order: list[int] = np.argsort(-value, kind="stable").tolist()
        for at in order:
            waiting[dealt[at]].append(at)
        free: dict[int, list[bool]] = {
            cell: may_go(barred, self.rack[cell]).tolist() for cell in waiting
        }
        sizes: list[int] = value.tolist()
        want, left = self.want, self.left
        # Cells in the order in which they get the next member; that of one cell changes a time.
        ranked = sorted((-want[cell] / max(left[cell], 1), cell) for cell in waiting)
        for at in order:
            here = dealt[at]
            waiting[here].remove(at)
            place, others = 0, free[here]
            while (cell := ranked[place][1]) != here:
                if free[cell][at]:
                    other = _last(waiting[cell], others)
                    if other is not None:
                        waiting[here].append(other)
                        dealt[at], dealt[other] = cell, here
                        break
                place += 1
            del ranked[place]
            want[cell] -= sizes[at]
            left[cell] -= 1
            insort(ranked, (-want[cell] / (left[cell] or 1), cell))
        return np.array(dealt, dtype=np.int64)


def _last(waiting: list[int], free: Sequence[bool]) -> int | None:
    """Take out one of the last members, the last that is free, if any is."""
    for place, member in enumerate(reversed(waiting[-_TRIED:]), 1):
        if free[member]:
            return waiting.pop(-place)
    return None


class GivingClass:
    """A merged class whose members are to be chosen; members are places from 0, smallest first.

    `chosen`: by cell, how many members go there.
    """

    def __init__(
        self, cells: Cells, chosen: Ints, sites: Ints, barred: Ints, value: Ints | None
    ) -> None:
        """`sites`: by cell, how many members may go there; `value`: bytes, if they matter."""
        self.chosen, self.value, self.size = chosen, value, len(barred)
        # The cells with the fewest possible members choose first.
        used = np.flatnonzero(chosen)
        self._cells: list[int] = used[np.argsort(sites[used], kind="stable")].tolist()
        self._free = {cell: may_go(barred, int(cells.rack[cell])) for cell in self._cells}

    def choose(self, bounds: tuple[float, float] | None) -> tuple[Ints, Ints]:
        """Members and their cells: the smallest, or those that sum up to the wanted value.

        `bounds`: the wanted value, and the most that is accepted if it cannot be met from below.
        """
        count = min(int(self.chosen.sum()), self.size)
        found = self._from_place(count, count)
        if self.value is None or bounds is None:
            return found
        best = _BestChoice(*bounds, self._worth(found), found)
        for large in (*(max(count // part, 1) for part in _PARTS), 1):
            small = count - large
            low, high = small, self.size - large
            while low < high and not best.is_enough:
                place = (low + high + 1) // 2
                found = self._from_place(small, place)
                if best.keeps(self._worth(found), found):
                    low = place
                else:
                    high = place - 1
        if not best.is_enough and best.above is not None:
            return best.above
        return self._top_up(self.value, *best.below, best.wanted - best.value)

    def _worth(self, found: tuple[Ints, Ints]) -> float:
        assert self.value is not None
        return float(self.value[found[0]].sum())

    def _from_place(self, small: int, place: int) -> tuple[Ints, Ints]:
        """The first `small` members, and the members from that position on."""
        every = np.arange(self.size)
        order = np.concatenate([every[:small], every[place:], every[small:place][::-1]])
        picked, cells = [], []
        for cell in self._cells:
            wanted = int(self.chosen[cell])
            free, looked_at = self._free[cell], wanted + _HEAD
            taken = np.flatnonzero(free[order[:looked_at]])
            while len(taken) < wanted and looked_at < len(order):
                looked_at *= 2
                taken = np.flatnonzero(free[order[:looked_at]])
            taken = taken[:wanted]
            picked.append(order[taken])
            cells.append(np.full(len(taken), cell))
            if cell != self._cells[-1] and len(taken):
                # Few are taken, and all of them near the beginning.
                end = int(taken[-1]) + 1
                order = np.concatenate([np.delete(order[:end], taken), order[end:]])
        return concatenate(picked), concatenate(cells)

    def _top_up(self, value: Ints, taken: Ints, cells: Ints, lacking: float) -> tuple[Ints, Ints]:
        """Exchange some of the smallest chosen members for larger ones that add what is lacking."""
        taken = taken.copy()
        stays = np.ones(self.size, dtype=bool)
        stays[taken] = False
        free = {cell: np.flatnonzero(stays & self._free[cell]) for cell in self._cells}
        sizes = {cell: value[rows] for cell, rows in free.items()}
        for at in np.argsort(value[taken], kind="stable")[:_EXCHANGES_MAX].tolist():
            cell, own = int(cells[at]), value[taken[at]]
            place = int(np.searchsorted(sizes[cell], own + lacking, side="right")) - 1
            while place >= 0 and not stays[free[cell][place]]:
                place -= 1  # taken just now
            if place < 0 or sizes[cell][place] <= own:
                continue
            new = free[cell][place]
            lacking -= float(value[new] - own)
            stays[new] = False
            taken[at] = new
        return taken, cells


class _BestChoice:
    """The choices of members nearest to the wanted value, from below and from above.

    `value`: that of the choice from below.
    `most`: the most that is accepted above the wanted value.
    """

    def __init__(self, wanted: float, most: float, value: float, below: tuple[Ints, Ints]) -> None:
        self.wanted, self.value, self.below = wanted, value, below
        self.above: tuple[Ints, Ints] | None = None
        self._most, self._above_value = most, np.inf

    @property
    def is_enough(self) -> bool:
        """Whether the choice from below is near enough."""
        return self.value >= _ENOUGH * self.wanted

    def keeps(self, value: float, found: tuple[Ints, Ints]) -> bool:
        """Remember the choice if it is the best so far; return whether it is within the target."""
        if value <= self.wanted:
            if value > self.value:
                self.value, self.below = value, found
            return True
        if value <= self._most and value < self._above_value:
            self.above, self._above_value = found, value
        return False
