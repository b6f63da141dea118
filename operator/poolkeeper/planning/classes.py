"""Replicas that are alike: the classes between which the flow of `placement` runs.

Cells are sets of brokers of which a replica may take any: racks in a large pool, single brokers in
a small one (then the flow is exact about distinctness too). Two sorts of classes:

  offers  (broker, cells of the partition's other replicas): replicas that could move from there
  wants   (number of open slots, cells of the kept replicas): partitions that need replicas

All members of a class may go to the same cells, so one node stands for hundreds of partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poolkeeper.planning.columns import Bools, Ints
from poolkeeper.planning.opening import OPEN, Opened
from poolkeeper.planning.units import Unit

_FINE_ARCS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Cells:
    """A broker's cell is `of[broker]`; a cell has eligible `members` and lies in one `rack`."""

    of: Ints
    members: tuple[Ints, ...]
    rack: Ints
    fine: bool


@dataclass(frozen=True, slots=True)
class Offers:
    """Replicas by class; class c has members `row/slot[start[c]:start[c + 1]]`, smallest first.

    `others[c]` counts the other replicas by cell; `spread_of[c]` their partition's rack bounds.
    """

    row: Ints
    slot: Ints
    start: Ints
    broker: Ints
    spread_of: Ints
    others: Ints
    fresh: Bools


@dataclass(frozen=True, slots=True)
class Wants:
    """Partitions with `slots[c]` open slots by class, in an order that interleaves topics."""

    row: Ints
    start: Ints
    slots: Ints
    spread_of: Ints
    kept: Ints


def cells_of(unit: Unit) -> Cells:
    """Single brokers while that keeps the network small, else racks."""
    eligible = np.flatnonzero(unit.eligible)
    brokers, slots = len(eligible), unit.lists.shape[1]
    by_rows = len(unit) * slots * brokers
    by_sets = brokers * brokers
    for taken in range(1, slots):
        by_sets = by_sets * max(brokers - taken, 1) // taken
    if min(by_rows, by_sets) <= _FINE_ARCS_MAX:
        everyone = np.arange(len(unit.brokers.ids))
        members = tuple(np.array([b] if unit.eligible[b] else [], dtype=np.int64) for b in everyone)
        return Cells(everyone, members, unit.brokers.rack, True)
    racks = range(len(unit.brokers.rack_names))
    members = tuple(eligible[unit.brokers.rack[eligible] == rack] for rack in racks)
    return Cells(unit.brokers.rack, members, np.arange(len(members)), False)


def offers_of(unit: Unit, opened: Opened, lists: Ints, cells: Cells) -> Offers:
    """All replicas that may move, of partitions that have no open slot."""
    settled = ~(lists == OPEN).any(axis=1)
    movable = (lists >= 0) & ~opened.pinned & unit.eligible[lists] & settled[:, None]
    slot, row = np.nonzero(movable.T)
    broker = lists[row, slot]
    others = lists[row].copy()
    others[np.arange(len(row)), slot] = OPEN
    fresh = unit.fresh[row].astype(np.int64)
    keys = [broker, fresh, opened.spread_of[row], *_cell_columns(others, cells)]
    number, first = numbered(keys)
    order = np.lexsort((unit.number[row], unit.topic[row], unit.mib[row], number))
    start = np.searchsorted(number[order], np.arange(len(first) + 1))
    return Offers(
        row=row[order],
        slot=slot[order],
        start=start,
        broker=broker[first],
        spread_of=opened.spread_of[row[first]],
        others=_counts(others[first], cells),
        fresh=unit.fresh[row[first]],
    )


def wants_of(unit: Unit, opened: Opened, lists: Ints, cells: Cells) -> Wants:
    """All partitions with open slots."""
    row = np.flatnonzero((lists == OPEN).any(axis=1))
    wanted = (lists[row] == OPEN).sum(axis=1)
    keys = [wanted, opened.spread_of[row], *_cell_columns(lists[row], cells)]
    number, first = numbered(keys)
    order = _interleaved(number, unit.topic[row], unit.number[row])
    start = np.searchsorted(number[order], np.arange(len(first) + 1))
    return Wants(
        row=row[order],
        start=start,
        slots=wanted[first],
        spread_of=opened.spread_of[row[first]],
        kept=_counts(lists[row[first]], cells),
    )


def _cell_columns(lists: Ints, cells: Cells) -> list[Ints]:
    """The cells of every list in ascending order, column by column; -1 where there is none."""
    taken = np.where(lists >= 0, cells.of[lists], -1)
    taken.sort(axis=1)
    return [taken[:, column] for column in range(1 if taken.shape[1] > 1 else 0, taken.shape[1])]


def _counts(lists: Ints, cells: Cells) -> Ints:
    """Replicas by (row, cell)."""
    counts = np.zeros((len(lists), len(cells.members)), dtype=np.int64)
    for slot in range(lists.shape[1]):
        there = np.flatnonzero(lists[:, slot] >= 0)
        np.add.at(counts, (there, cells.of[lists[there, slot]]), 1)
    return counts


def numbered(keys: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Number rows by equal keys, in ascending order of the keys; and the first row of each.

    Keys are at least -1. Where all possible keys are not many more than rows, they are counted off
    instead of sorted.
    """
    combined = np.zeros(len(keys[0]), dtype=np.int64)
    width = 1
    for key in keys:
        span = int(key.max(initial=-1)) + 2
        if width * span >= 2**62:
            combined = np.unique(combined, return_inverse=True)[1].astype(np.int64)
            width = int(combined.max(initial=0)) + 1
        combined = combined * span + key + 1
        width *= span
    if width > 8 * len(combined) + 1_000:
        _, first, number = np.unique(combined, return_index=True, return_inverse=True)
        return number.astype(np.int64), first.astype(np.int64)
    row_of = np.full(width, -1, dtype=np.int64)
    row_of[combined[::-1]] = np.arange(len(combined) - 1, -1, -1)
    used = row_of >= 0
    number = np.cumsum(used) - 1
    return number[combined], row_of[used]


def stable_order(number: Ints, span: int) -> Ints:
    """Rows by ascending number below `span`, equal ones in their order."""
    if span <= 2**16:
        return np.argsort(number.astype(np.uint16), kind="stable")
    low = np.argsort((number & 0xFFFF).astype(np.uint16), kind="stable")
    if span <= 2**32:
        return low[np.argsort((number >> 16)[low].astype(np.uint16), kind="stable")]
    return np.argsort(number, kind="stable")


def _interleaved(number: Ints, topic: Ints, partition: Ints) -> Ints:
    """Order within a class such that any run of rows takes from each topic in proportion."""
    order = np.lexsort((partition, topic, number))
    same = np.ones(len(order), dtype=bool)
    same[1:] = (np.diff(number[order]) != 0) | (np.diff(topic[order]) != 0)
    begin = np.flatnonzero(same)
    size = np.diff(np.append(begin, len(order)))
    place = (np.arange(len(order)) - np.repeat(begin, size) + 0.5) / np.repeat(size, size)
    return order[np.lexsort((topic[order], place, number[order]))]


def allowed_racks(counts: Ints, low: Ints, high: Ints) -> Bools:
    """By (class, rack), whether one more replica there makes the spread even.

    `counts` are the other replicas by rack, `low` and `high` the bounds of their partition.
    """
    lacking = np.maximum(low - counts, 0)
    deficit = lacking.sum(axis=1, keepdims=True)
    even: Bools = (counts < high) & ((deficit == 0) | ((deficit == 1) & (lacking > 0)))
    return even
