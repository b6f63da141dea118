"""What one broker holds, while single replicas move from it and to it.

A search asks again and again which replicas of a broker may go where, and between two questions
only one of them moved. So what a broker holds is gathered once, from the lists of all partitions,
and every move corrects it. Brokers and racks are small integers here, which are compared many at a
time.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poolkeeper.planning.problem.arrays import NONE, Bools, Ints
from poolkeeper.planning.problem.grouping import stable_order

Small = npt.NDArray[np.int32]
"""Brokers, by index, or racks; `NONE` where there is no replica."""


_COLUMNS = 6


class HeldReplicas:
    """The replicas of a broker that the laws of placement let go; moves update them.

    `row`, `slot`: where they stand; rows ascend.
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

    def __init__(
        self, broker: int, rack: int, least: Ints, numbers: Sequence[Ints], places: Sequence[Small]
    ) -> None:
        """`least`: by spread, the fewest replicas that the broker's rack must keep of a row.

        `numbers`: row, slot, topic, spread, cost, new, and what they count.
        `places`: lists, racks, found.
        """
        self._broker, self._rack, self._least = broker, rack, least
        self._hold(np.vstack(numbers), np.vstack(places))
        self.there = np.ones(len(self.row), dtype=bool)
        self.moved = (~any_equal(self.found, broker)).astype(np.int8)
        self.leaves_rack: Bools = self._may_leave_rack(slice(None))

    def _hold(self, numbers: Ints, places: Small) -> None:
        """Name the columns."""
        self._numbers, self._places = numbers, places
        self.row, self.slot, self.topic, self.spread, self.cost, self.new = numbers[:_COLUMNS]
        self.value: Ints = numbers[_COLUMNS:]
        self.lists, self.racks, self.found = np.split(places, 3)

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
            self.there, self.leaves_rack, self.moved = (
                np.insert(column, place, 0) for column in (self.there, self.leaves_rack, self.moved)
            )
        self._numbers[:, place], self._places[:, place] = number, where
        self.there[place] = True
        self.moved[place] = not (self.found[:, place] == self._broker).any()
        only = slice(place, place + 1)
        self.leaves_rack[only] = self._may_leave_rack(only)


def any_equal(columns: Small, value: int) -> Bools:
    """By row, whether any column has that value."""
    found: Bools = columns[0] == value
    for column in columns[1:]:
        found |= column == value
    return found


def count_equal(columns: Small, value: int) -> npt.NDArray[np.int8]:
    """By row, how many columns have that value."""
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
