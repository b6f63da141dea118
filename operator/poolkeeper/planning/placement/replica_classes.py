"""Classes of interchangeable replicas, between which the flow of `flow` runs.

A cell is a set of brokers of which a replica may take any. In a large pool cells are racks. In a
small one they are single brokers, and then the flow is exact about distinctness too. There are two
sorts of classes:

  movable  (broker, cells of the partition's other replicas): replicas that may leave that broker
  demands  (number of open slots, cells of the kept replicas): partitions that need replicas

All members of a class may go to the same cells, so one node stands for hundreds of partitions.
With hundreds of brokers on tens of racks there would still be millions of arcs. Then the movable
classes are *merged*: one class per broker, with the number of members that may go to each rack. The
flow is then a relaxation, because a member that may go to two racks is counted for both. What
cannot be realised is left to the next round, which starts from the outcome.
"""

import math

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.evictions import OPEN, OpenSlots
from poolkeeper.planning.problem.arrays import NONE, Bools, Ints, any_slot, take_rows
from poolkeeper.planning.problem.grouping import number_groups, stable_order
from poolkeeper.planning.problem.pool_problem import PoolProblem

_FINE_ARCS_MAX = 100_000
_ARCS_MAX = 400_000
_WORD = 62
"""Racks that one word of bits has room for."""


@frozen
class Cells:
    """The cells of brokers: broker b is in cell `of[b]`, and each cell lies in one rack.

    `members`: the eligible brokers of each cell. `fine`: brokers are cells, else racks are.
    `merged`: whether classes are merged, as the arcs between them would be too many.
    """

    of: Ints
    members: tuple[Ints, ...]
    rack: Ints
    fine: bool
    merged: bool = False


@frozen
class MovableReplicas:
    """Replicas (`row`, `slot`) that may move, each in class `number`; `size` by class.

    `sites[c]`: by cell, how many members of class c may go there. Members of a merged class differ
    in that: `barred` says which racks each replica may not go to (see `may_go`).
    """

    row: Ints
    slot: Ints
    number: Ints
    size: Ints
    broker: Ints
    fresh: Bools
    sites: Ints
    barred: Ints | None


@frozen
class Members:
    """The members of class c are `row/slot[start[c]:start[c + 1]]`, the cheapest first.

    `barred`: as in `MovableReplicas`.
    """

    row: Ints
    slot: Ints
    start: Ints
    barred: Ints | None


def cells_of(problem: PoolProblem, *, merge: bool = False) -> Cells:
    """Single brokers as cells while the network stays small, else racks.

    `merge`: use few classes. A flow through few classes leaves open which replicas leave a broker,
    and `byte_targets` needs that freedom.
    """
    eligible = np.flatnonzero(problem.eligible)
    brokers, slots = len(eligible), problem.lists.shape[1]
    by_rows = len(problem) * slots * brokers
    by_sets = brokers * brokers
    for taken in range(1, slots):
        by_sets = by_sets * max(brokers - taken, 1) // taken
    if min(by_rows, by_sets) <= _FINE_ARCS_MAX:
        everyone = np.arange(len(problem.brokers))
        members = tuple(
            np.array([b] if problem.eligible[b] else [], dtype=np.int64) for b in everyone
        )
        return Cells(everyone, members, problem.brokers.rack, fine=True)
    racks = range(len(problem.brokers.rack_names))
    members = tuple(eligible[problem.brokers.rack[eligible] == rack] for rack in racks)
    arcs = brokers * math.comb(len(members), slots - 1) * len(members)
    merged = merge or arcs > _ARCS_MAX
    racks_of_cells = np.arange(len(members))
    return Cells(problem.brokers.rack, members, racks_of_cells, fine=False, merged=merged)


def movable_replicas(
    problem: PoolProblem, opened: OpenSlots, lists: Ints, cells: Cells
) -> MovableReplicas:
    """All replicas that may move, of partitions without open slots."""
    complete = ~any_slot(lists == OPEN)
    movable = (lists >= 0) & problem.eligible[lists] & complete[:, None]
    movable &= ~opened.stays
    # Flat positions: two-dimensional ones take several times as long.
    place = np.flatnonzero(movable)
    row = place // lists.shape[1]
    slot = place - row * lists.shape[1]
    broker = lists.ravel()[place]
    keys = [broker, problem.fresh[row].astype(np.int64)] if problem.fresh.any() else [broker]
    if not cells.merged:
        keys += [opened.spread_of[row]] if len(opened.spreads) > 1 else []
        keys += _others(lists, place, row, slot, cells)
    number, first = number_groups(keys)
    size = np.bincount(number, minlength=len(first))
    first_row, first_slot = row[first], slot[first]
    barred = _barred_racks(problem, opened, lists, row, slot) if cells.merged and len(row) else None
    if barred is None:
        others = take_rows(lists, first_row)
        others[np.arange(len(first)), first_slot] = OPEN
        sites = _sites(opened, cells, broker[first], opened.spread_of[first_row], others)
        sites = sites * size[:, None]
    else:
        free = [
            np.bincount(number[may_go(barred, rack)], minlength=len(first)) for rack in cells.rack
        ]
        sites = np.array(free, dtype=np.int64).reshape(len(cells.rack), -1).T
        sites *= np.array([len(members) > 0 for members in cells.members])
    return MovableReplicas(
        row, slot, number, size, broker[first], problem.fresh[first_row], sites, barred
    )


def members_in_order(movable: MovableReplicas, by_size: Ints, copied: Ints | None = None) -> Ints:
    """The places of all replicas, class after class; `by_size`: all rows, the smallest first.

    `copied`: MiB by replica, of its partition or none; those of a class that copy nothing come
    first.
    """
    slots = int(movable.slot.max(initial=-1)) + 1
    place = np.full(len(by_size) * slots, NONE)
    place[movable.row * slots + movable.slot] = np.arange(len(movable.row))
    ordered = place.reshape(len(by_size), slots).take(by_size, axis=0).ravel()
    ordered = ordered[ordered != NONE]
    key, classes = movable.number, len(movable.size)
    if copied is not None:
        key, classes = 2 * key + (copied > 0), 2 * classes
    found: Ints = ordered[stable_order(key[ordered], classes)]
    return found


def members_of(movable: MovableReplicas, chosen: Bools, order: Ints) -> Members:
    """The replicas of the chosen classes; `order`: see `members_in_order`."""
    at = order[np.repeat(chosen, movable.size)]
    start = np.concatenate([[0], np.cumsum(np.where(chosen, movable.size, 0))])
    barred = None if movable.barred is None else take_rows(movable.barred, at)
    return Members(movable.row[at], movable.slot[at], start, barred)


def _others(lists: Ints, place: Ints, row: Ints, slot: Ints, cells: Cells) -> list[Ints]:
    """Keys that are equal if the other replicas of two partitions are in the same cells."""
    base = lists.shape[1] + 1
    if base ** len(cells.members) < 2**40:
        # Digit c of the number counts the replicas in cell c. `NONE` and `OPEN` are in none.
        weight = np.append(base ** np.arange(len(cells.members)), 0)
        digits = np.append(weight[cells.of], [0, 0]).take(lists)
        total = digits[:, 0].copy()
        for column in range(1, digits.shape[1]):
            total += digits[:, column]
        return [total[row] - digits.ravel()[place]]
    others = np.where(lists >= 0, cells.of[lists], -1)[row]
    others[np.arange(len(row)), slot] = -1
    others.sort(axis=1)
    return [others[:, column] for column in range(1, others.shape[1])]


def _sites(opened: OpenSlots, cells: Cells, broker: Ints, spread_of: Ints, others: Ints) -> Ints:
    """By (class, cell), whether a replica of that class may go there."""
    racks = int(cells.rack.max(initial=-1)) + 1
    low, high = bounds_of(opened, spread_of, racks)
    counts = counts_of(others, cells)
    reach = allowed_racks(by_rack(counts, cells, racks), low, high)[:, cells.rack]
    reach &= np.array([len(members) > 0 for members in cells.members], dtype=bool)
    if cells.fine:
        reach &= counts == 0
        reach[np.arange(len(broker)), broker] = False
    return reach.astype(np.int64)


def _barred_racks(
    problem: PoolProblem, opened: OpenSlots, lists: Ints, row: Ints, slot: Ints
) -> Ints:
    """By replica, the racks that it may not go to, as bits: see `may_go`.

    If a rack may hold one replica of a partition at most, the racks of its other replicas are
    barred. Otherwise, and if its own rack must keep one, all racks but its own are barred.
    """
    rack, racks = problem.brokers.rack, len(problem.brokers.rack_names)
    bits = _rack_bits(racks)
    bits_of_broker = bits[rack]
    own = rack[lists[row, slot]]
    taken = np.zeros((len(lists), bits.shape[1]), dtype=np.int64)
    for column in lists.T:
        taken |= np.where(column[:, None] >= 0, bits_of_broker[column], 0)
    low, high = bounds_of(opened, np.arange(len(opened.spreads)), racks)
    shut = (high < 1) @ bits
    one: Bools = high.max(axis=1, initial=0) <= 1
    spread_of = opened.spread_of[row]
    may_leave = one[spread_of] & (low[spread_of, own] == 0)
    barred = np.where(may_leave[:, None], taken[row] | shut[spread_of], ~np.int64(0))
    others: Ints = barred & ~bits[own]
    return others


def _rack_bits(racks: int) -> Ints:
    """By (rack, word), the bit of the rack, which is in one of the words."""
    word, place = np.divmod(np.arange(racks), _WORD)
    bits = np.zeros((racks, -(-racks // _WORD)), dtype=np.int64)
    bits[np.arange(racks), word] = np.int64(1) << place
    return bits


def may_go(barred: Ints, rack: int) -> Bools:
    """By replica, whether it may go to the rack; `barred`: replicas × words of bits."""
    word, place = divmod(rack, _WORD)
    free: Bools = (barred[:, word] >> place & 1) == 0
    return free


def bounds_of(opened: OpenSlots, spread_of: Ints, racks: int) -> tuple[Ints, Ints]:
    """The fewest and the most replicas by (row, rack), for rows with these spreads."""
    shape = len(opened.spreads), racks
    low = np.array([s.low for s in opened.spreads], dtype=np.int64).reshape(shape)
    high = np.array([s.high for s in opened.spreads], dtype=np.int64).reshape(shape)
    return low[spread_of], high[spread_of]


def by_rack(counts: Ints, cells: Cells, racks: int) -> Ints:
    """Counts by (row, rack) from counts by (row, cell)."""
    summed = np.zeros((len(counts), racks), dtype=np.int64)
    np.add.at(summed.T, cells.rack, counts.T)
    return summed


def counts_of(lists: Ints, cells: Cells) -> Ints:
    """Replicas by (row, cell)."""
    counts = np.zeros((len(lists), len(cells.members)), dtype=np.int64)
    for slot in range(lists.shape[1]):
        there = np.flatnonzero(lists[:, slot] >= 0)
        np.add.at(counts, (there, cells.of[lists[there, slot]]), 1)
    return counts


def allowed_racks(counts: Ints, low: Ints, high: Ints) -> Bools:
    """By (class, rack), whether one more replica there makes the spread even.

    `counts`: the other replicas by rack.
    `low`, `high`: the bounds of their partition.
    """
    lacking = np.maximum(low - counts, 0)
    deficit = lacking.sum(axis=1, keepdims=True)
    even: Bools = (counts < high) & ((deficit == 0) | ((deficit == 1) & (lacking > 0)))
    return even
