"""Partitions that need replicas, classed by number of open slots and cells of their other replicas.

All members of a class may get replicas in the same cells. So one node of the network in `flow`
stands for all of them (see `replica_classes`).
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.evictions import OPEN, OpenSlots
from poolkeeper.planning.placement.replica_classes import Cells, counts_of
from poolkeeper.planning.problem.arrays import Ints, any_slot, take_rows
from poolkeeper.planning.problem.grouping import number_groups
from poolkeeper.planning.problem.pool_problem import PoolProblem


@frozen
class SlotDemands:
    """Partitions with `slots[c]` open slots in class c, in an order that interleaves topics."""

    row: Ints
    start: Ints
    slots: Ints
    spread_of: Ints
    kept: Ints


def slot_demands(problem: PoolProblem, opened: OpenSlots, lists: Ints, cells: Cells) -> SlotDemands:
    """Class all partitions that have open slots."""
    row = np.flatnonzero(any_slot(lists == OPEN))
    wanted = (take_rows(lists, row) == OPEN).sum(axis=1)
    keys = [wanted, opened.spread_of[row], *_cell_columns(take_rows(lists, row), cells)]
    number, first = number_groups(keys)
    order = _interleave(number, problem.topic[row], problem.number[row])
    start = np.searchsorted(number[order], np.arange(len(first) + 1))
    return SlotDemands(
        row=row[order],
        start=start,
        slots=wanted[first],
        spread_of=opened.spread_of[row[first]],
        kept=counts_of(lists[row[first]], cells),
    )


def _cell_columns(lists: Ints, cells: Cells) -> list[Ints]:
    """The cells of every list in ascending order, column by column; -1 behind the last."""
    taken = np.where(lists >= 0, cells.of[lists], -1)
    taken.sort(axis=1)
    return [taken[:, column] for column in range(1 if taken.shape[1] > 1 else 0, taken.shape[1])]


def _interleave(number: Ints, topic: Ints, partition: Ints) -> Ints:
    """An order within a class in which any run of rows takes from each topic in proportion."""
    order = np.lexsort((partition, topic, number))
    same = np.ones(len(order), dtype=bool)
    same[1:] = (np.diff(number[order]) != 0) | (np.diff(topic[order]) != 0)
    begin = np.flatnonzero(same)
    size = np.diff(np.append(begin, len(order)))
    place = (np.arange(len(order)) - np.repeat(begin, size) + 0.5) / np.repeat(size, size)
    return order[np.lexsort((topic[order], place, number[order]))]
