"""From a flow between classes to brokers for single replicas.

**Wants** are dealt like cards: the cells that the flow gives a class, each repeated as often as it
was chosen and all cells of a rack side by side, are dealt round after round to its N partitions.
A cell that was chosen at most m·N times reaches each partition at most m times, so distinctness and
the rack bounds hold for every single partition, not only in sum. The partitions lie in an order
that interleaves topics, so each run of equal cells takes from every topic in proportion.

**Offers** give their first members, the smallest; a partition gives at most one replica a round.

Then each cell seats its newcomers on its brokers by the flow's quota, in turn; where a broker holds
the partition already, the next fullest quota is taken.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from poolkeeper.planning.classes import Cells, Offers, Wants
from poolkeeper.planning.columns import Ints, any_slot
from poolkeeper.planning.opening import OPEN
from poolkeeper.planning.units import Unit

_PASSES = 8


@dataclass(frozen=True, slots=True)
class Demand:
    """A flow: replicas by (offer, cell), by (want, cell), and newcomers by broker."""

    cells: Cells
    offers: Offers
    wants: Wants
    offer_to_cell: Ints
    want_to_cell: Ints
    quota: Ints


@dataclass(frozen=True, slots=True)
class Seated:
    """The new lists, and how many replicas of the offers moved."""

    lists: Ints
    moved: int


def seat(unit: Unit, lists: Ints, demand: Demand, room_mib: Ints) -> Seated:
    """Realise the flow. Open slots are always filled, offers as far as brokers and disks allow."""
    lists = lists.copy()
    want_row, want_slot, want_cell = _deal(lists, demand)
    offer_row, offer_slot, offer_cell = _pick(len(lists), demand)
    row = np.concatenate([want_row, offer_row])
    slot = np.concatenate([want_slot, offer_slot])
    cell = np.concatenate([want_cell, offer_cell])
    # Rows are in order of topic and partition.
    order = np.argsort((cell * len(lists) + row) * lists.shape[1] + slot)
    row, slot, cell = row[order], slot[order], cell[order]
    bounds = np.searchsorted(cell, np.arange(len(demand.cells.members) + 1))
    moved = 0
    disk = _Disk(unit, lists, room_mib)
    for number, members in enumerate(demand.cells.members):
        part = slice(bounds[number], bounds[number + 1])
        if part.start < part.stop:
            moved += _fill(lists, row[part], slot[part], members, demand.quota, disk)
    return Seated(lists, moved)


def _deal(lists: Ints, demand: Demand) -> tuple[Ints, Ints, Ints]:
    """(row, slot, cell) of every open slot."""
    rows, slots, cells = [], [], []
    by_rack = np.argsort(demand.cells.rack, kind="stable")
    for number, chosen in enumerate(demand.want_to_cell):
        start, stop = demand.wants.start[number : number + 2]
        members = demand.wants.row[start:stop]
        dealt = np.repeat(by_rack, chosen[by_rack]).reshape(-1, len(members)).T
        open_slots = np.nonzero(lists[members] == OPEN)[1]
        rows.append(np.repeat(members, dealt.shape[1]))
        slots.append(open_slots)
        cells.append(dealt.ravel())
    return _joined(rows), _joined(slots), _joined(cells)


def _pick(rows: int, demand: Demand) -> tuple[Ints, Ints, Ints]:
    """(row, slot, cell) of every replica that is to move."""
    if demand.offers.barred is None:
        taken, cells = _pick_alike(rows, demand)
    else:
        taken, cells = _pick_merged(rows, demand, demand.offers.barred)
    return demand.offers.row[taken], demand.offers.slot[taken], cells


def _pick_alike(rows: int, demand: Demand) -> tuple[Ints, Ints]:
    """(member, cell): the first members of each class whose partition is not taken by another.

    All classes pick at once; where two want the same partition, the first class has it, and the
    others look further in the next pass.
    """
    offers, chosen = demand.offers, demand.offer_to_cell
    size = np.diff(offers.start)
    left = chosen.sum(axis=1)
    of = np.repeat(np.arange(len(size)), size)
    used = np.zeros(rows, dtype=bool)
    picked = []
    for _ in range(_PASSES):
        if not left.any():
            break
        members = np.flatnonzero((left > 0)[of])
        members = members[~used[offers.row[members]]]
        begin = np.searchsorted(of[members], np.arange(len(size)))
        members = members[np.arange(len(members)) - begin[of[members]] < left[of[members]]]
        _, first = np.unique(offers.row[members], return_index=True)
        members = members[np.sort(first)]
        used[offers.row[members]] = True
        left -= np.bincount(of[members], minlength=len(left))
        picked.append(members)
    taken = np.sort(_joined(picked))
    begin = np.searchsorted(of[taken], np.arange(len(size)))
    rank = np.arange(len(taken)) - begin[of[taken]]
    offset = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
    return taken, _dealt(chosen)[offset[of[taken]] + rank]


def _dealt(chosen: Ints) -> Ints:
    """The cells of each class in turn, each as often as chosen, as evenly mixed as can be."""
    of, cell = np.nonzero(chosen)
    amount = chosen[of, cell]
    whole = np.repeat(amount, amount)
    within = np.arange(len(whole)) - np.repeat(np.cumsum(amount) - amount, amount)
    of, cell = np.repeat(of, amount), np.repeat(cell, amount)
    return cell[np.lexsort((cell, (within + 0.5) / np.maximum(whole, 1), of))]


def _pick_merged(rows: int, demand: Demand, barred: Ints) -> tuple[Ints, Ints]:
    """(member, cell) where members of a class differ: the cells with least choice pick first."""
    offers = demand.offers
    used = np.zeros(rows, dtype=bool)
    picked, cells = [], []
    for number in np.flatnonzero(demand.offer_to_cell.sum(axis=1)):
        chosen = demand.offer_to_cell[number]
        members = np.arange(*offers.start[number : number + 2])
        for cell in sorted(np.flatnonzero(chosen), key=lambda at: offers.sites[number, at]):
            free = ~used[offers.row[members]]
            free &= (barred[members] >> demand.cells.rack[cell] & 1) == 0
            taken = members[free][: chosen[cell]]
            used[offers.row[taken]] = True
            picked.append(taken)
            cells.append(np.full(len(taken), cell))
    return _joined(picked), _joined(cells)


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


class _Disk:
    """MiB held and allowed by broker; lives only within `seat`."""

    def __init__(self, unit: Unit, lists: Ints, room_mib: Ints) -> None:
        self.mib, self.room = unit.mib, room_mib
        self.bounded = bool((room_mib < np.iinfo(np.int64).max).any())
        self.held = unit.fixed_mib.copy()
        if self.bounded:
            self.held += held_mib(unit, lists)

    def admits(self, row: int, broker: int) -> bool:
        return not self.bounded or self.held[broker] + self.mib[row] <= self.room[broker]

    def admits_all(self, rows: Ints, sources: Ints, targets: Ints) -> bool:
        """Whether all of these moves together leave room; if so, they are made."""
        if not self.bounded:
            return True
        after = self.held.copy()
        np.add.at(after, targets, self.mib[rows])
        gone = sources >= 0
        np.subtract.at(after, sources[gone], self.mib[rows[gone]])
        fits = bool((after <= np.maximum(self.room, self.held)).all())
        if fits:
            self.held = after
        return fits

    def move(self, row: int, source: int, target: int) -> None:
        if self.bounded:
            self.held[target] += self.mib[row]
            if source >= 0:
                self.held[source] -= self.mib[row]


def held_mib(unit: Unit, lists: Ints) -> Ints:
    """MiB by broker, of these lists alone."""
    mib = np.zeros(len(unit.fixed), dtype=np.int64)
    for slot in range(lists.shape[1]):
        there = np.flatnonzero(lists[:, slot] >= 0)
        np.add.at(mib, lists[there, slot], unit.mib[there])
    return mib


def _fill(lists: Ints, row: Ints, slot: Ints, members: Ints, quota: Ints, disk: _Disk) -> int:
    """Seat the newcomers of one cell in place; the number of offers that moved."""
    turns = _in_turn(members, quota)[: len(row)]
    if len(turns) == len(row) and np.bincount(row).max() == 1:
        turns = _without_clashes(lists, row, turns)
        if len(turns) and disk.admits_all(row, lists[row, slot], turns):
            moved = int((lists[row, slot] >= 0).sum())
            lists[row, slot] = turns
            return moved
    return _fill_one_by_one(lists, row, slot, members, quota, disk)


def _without_clashes(lists: Ints, row: Ints, turns: Ints) -> Ints:
    """Exchange turns until no broker comes to a partition that it holds; nothing if that fails."""
    turns = turns.copy()
    for at in np.flatnonzero(any_slot(lists[row] == turns[:, None])).tolist():
        fits = ~any_slot(lists[row] == turns[at])
        for broker in lists[row[at]].tolist():
            fits &= turns != broker
        others = np.flatnonzero(fits)
        if not len(others):
            return turns[:0]
        other = others[np.searchsorted(others, at) % len(others)]
        turns[at], turns[other] = turns[other], turns[at]
    return turns


def _in_turn(members: Ints, quota: Ints) -> Ints:
    """The brokers, each as often as its quota says, as evenly mixed as can be."""
    amounts = quota[members]
    broker = np.repeat(members, amounts)
    within = np.arange(len(broker)) - np.repeat(np.cumsum(amounts) - amounts, amounts)
    return broker[np.lexsort((broker, (within + 0.5) / np.maximum(np.repeat(amounts, amounts), 1)))]


def _fill_one_by_one(
    lists: Ints, row: Ints, slot: Ints, members: Ints, quota: Ints, disk: _Disk
) -> int:
    left = [(-int(quota[b]), int(b)) for b in members]
    heapq.heapify(left)
    moved = 0
    for r, s in zip(row.tolist(), slot.tolist(), strict=True):
        source = int(lists[r, s])
        taken = set(lists[r].tolist())
        target = _seat_for(left, taken, r, source, disk)
        if target is None:
            continue
        disk.move(r, source, target)
        moved += source >= 0
        lists[r, s] = target
    return moved


def _seat_for(
    left: list[tuple[int, int]], taken: set[int], row: int, source: int, disk: _Disk
) -> int | None:
    """The broker with most quota left that may take the replica; an open slot takes any at need."""
    must = source < 0
    passed = []
    chosen: tuple[int, int] | None = None
    cramped: tuple[int, int] | None = None
    while left:
        entry = heapq.heappop(left)
        remaining, broker = entry
        passed.append(entry)
        if broker in taken or (remaining >= 0 and not must):
            continue
        if disk.admits(row, broker):
            chosen = entry
            break
        cramped = cramped or entry
    chosen = chosen or (cramped if must else None)
    for entry in passed:
        heapq.heappush(left, (entry[0] + 1, entry[1]) if entry is chosen else entry)
    return chosen[1] if chosen else None
