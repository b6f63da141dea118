"""What one broker holds, while single replicas move from it and to it.

A search asks again and again which replicas of a broker may go where, and between two questions
only one of them moved. So what a broker holds is gathered once, from the lists of all partitions,
and every move corrects it. Brokers and racks are small integers here, which are compared many at a
time. What several brokers hold is compared at once (`concatenate_replicas`), as each array costs
more than the few replicas in it.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poolkeeper.planning.problem.arrays import NONE, Bools, Ints
from poolkeeper.planning.problem.grouping import stable_order

Small = npt.NDArray[np.int32]
"""Brokers, by index, or racks; `NONE` where there is no replica."""


_COLUMNS = 6


class ReplicaColumns:
    """Replicas that the laws of placement let go, of one broker after another.

    `row`, `slot`: where they stand; the rows of a broker ascend.
    `topic`, `spread`: the row's topic, and which bounds of racks hold.
    `cost`: what the plan pays for another replica of the row.
    `new`: 1, or 0 for rows of partitions that the plan creates.
    `value`: by measure, what each counts.
    `lists`, `racks`, `found`: by slot, the row's brokers now, the racks of these, and the brokers
    as found.
    `there`: whether each is there still.
    `leaves_rack`: whether it may go to another rack.
    `moved`: 1 if the plan has paid for it already, because it was found elsewhere; else 0.
    """

    def __init__(self, numbers: Ints, places: Small) -> None:
        """`numbers`: row, slot, topic, spread, cost, new, and what they count.

        `places`: lists, racks, found.
        """
        self._hold(numbers, places)
        self.there: Bools = np.ones(len(self.row), dtype=bool)
        self.leaves_rack: Bools = self.there.copy()
        self.moved: npt.NDArray[np.int8] = np.zeros(len(self.row), dtype=np.int8)

    def _hold(self, numbers: Ints, places: Small) -> None:
        """Name the columns."""
        self._numbers, self._places = numbers, places
        self.row, self.slot, self.topic, self.spread, self.cost, self.new = numbers[:_COLUMNS]
        self.value: Ints = numbers[_COLUMNS:]
        self.lists, self.racks, self.found = np.split(places, 3)


def concatenate_replicas(held: Sequence[ReplicaColumns]) -> ReplicaColumns:
    """The replicas of all these brokers, broker after broker."""
    if len(held) == 1:
        return held[0]
    found = ReplicaColumns(
        np.concatenate([each._numbers for each in held], axis=1),
        np.concatenate([each._places for each in held], axis=1),
    )
    found.there, found.leaves_rack, found.moved = (
        np.concatenate(columns)
        for columns in zip(*((e.there, e.leaves_rack, e.moved) for e in held), strict=True)
    )
    return found


class HeldReplicas(ReplicaColumns):
    """The replicas of a broker that the laws of placement let go; moves update them."""

    def __init__(
        self, broker: int, rack: int, least: Ints, numbers: Sequence[Ints], places: Sequence[Small]
    ) -> None:
        """`least`: by spread, the fewest replicas that the broker's rack must keep of a row.

        `numbers`, `places`: the columns of `ReplicaColumns`.
        """
        super().__init__(np.vstack(numbers), np.vstack(places))
        self._broker, self._rack, self._least = broker, rack, least
        self.moved = (~any_equal(self.found, broker)).astype(np.int8)
        self.leaves_rack = self._may_leave_rack(slice(None))

    def _may_leave_rack(self, places: slice) -> Bools:
        left = count_equal(self.racks[:, places], self._rack) - 1
        may: Bools = left >= self._least[self.spread[places]]
        return may

    def _place(self, row: int) -> int | None:
        """Where the row's replica is, if it is one of these or was."""
        rows = self.row
        place = int(rows.searchsorted(row))
        return place if place < len(rows) and rows[place] == row else None

    def replace(self, row: int, slot: int, broker: int, rack: int) -> None:
        """Another replica of the row is on that broker now."""
        place = self._place(row)
        if place is not None:
            self.lists[slot, place], self.racks[slot, place] = broker, rack
            only = slice(place, place + 1)
            self.leaves_rack[only] = self._may_leave_rack(only)

    def remove(self, row: int) -> None:
        """The row's replica has left."""
        place = self._place(row)
        if place is not None:
            self.there[place] = False

    def insert(self, numbers: Sequence[Ints], places: Sequence[Small]) -> None:
        """A replica has come, the only one of these columns."""
        row = int(numbers[0][0])
        number, where = np.vstack(numbers)[:, 0], np.vstack(places)[:, 0]
        place = self._place(row)
        if place is None:
            place = int(self.row.searchsorted(row))
            self._hold(
                np.insert(self._numbers, place, number, axis=1),
                np.insert(self._places, place, where, axis=1),
            )
            self.there = np.insert(self.there, place, 0)
            self.leaves_rack = np.insert(self.leaves_rack, place, 0)
            self.moved = np.insert(self.moved, place, 0)
        self._numbers[:, place], self._places[:, place] = number, where
        self.there[place] = True
        self.moved[place] = not (self.found[:, place] == self._broker).any()
        only = slice(place, place + 1)
        self.leaves_rack[only] = self._may_leave_rack(only)


def any_equal(columns: Small, value: int | Ints) -> Bools:
    """By row, whether any column has that value, or the row's."""
    found: Bools = columns[0] == value
    for column in columns[1:]:
        found |= column == value
    return found


def count_equal(columns: Small, value: int | Ints) -> npt.NDArray[np.int8]:
    """By row, how many columns have that value, or the row's."""
    count: npt.NDArray[np.int8] = (columns[0] == value).astype(np.int8)
    for column in columns[1:]:
        count += column == value
    return count


class ReplicaPlaces:
    """By broker, the rows and slots of all replicas of some lists, rows ascending."""

    def __init__(self, lists: Small, brokers: int) -> None:
        """`lists`: rows × slots; a list names each broker once at most."""
        # `NONE` is counted first.
        number = np.maximum(lists, NONE).ravel() + 1
        order = stable_order(number, brokers + 1)
        self._row, self._slot = np.divmod(order, lists.shape[1])
        self._start = np.searchsorted(number[order], np.arange(brokers + 2))

    def of(self, broker: int) -> tuple[Ints, Ints]:
        """The rows and the slots of a broker's replicas."""
        part = slice(self._start[broker + 1], self._start[broker + 2])
        return self._row[part], self._slot[part]
