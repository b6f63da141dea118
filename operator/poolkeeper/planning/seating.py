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

from poolkeeper.planning.aims import Aim, turns_by_value
from poolkeeper.planning.classes import Cells, Offers, Wants
from poolkeeper.planning.columns import Ints, any_slot
from poolkeeper.planning.opening import OPEN
from poolkeeper.planning.units import Unit

_PASSES = 8
_PARTS = (6, 3, 2, 1)
_TRIED = 8
_ENOUGH = 0.95
_EXCHANGES_MAX = 40


@dataclass(frozen=True, slots=True)
class Demand:
    """A flow: replicas by (offer, cell), by (want, cell), and newcomers by broker.

    `aim`: what the brokers of a cell should get besides a number of replicas.
    """

    cells: Cells
    offers: Offers
    wants: Wants
    offer_to_cell: Ints
    want_to_cell: Ints
    quota: Ints
    aim: Aim | None = None


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
            moved += _fill(lists, row[part], slot[part], members, demand, disk)
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
    """(member, cell) where members of a class differ, class after class."""
    offers, aim = demand.offers, demand.aim
    used = np.zeros(rows, dtype=bool)
    picked, cells = [], []
    shares = None if aim is None else _Shares(demand, aim)
    for number in np.flatnonzero(demand.offer_to_cell.sum(axis=1)).tolist():
        members = np.arange(*offers.start[number : number + 2])
        members = members[~used[offers.row[members]]]
        wanted = None if aim is None else float(aim.give[offers.broker[number]])
        taken, where = _from_the_best_place(demand, number, members, barred[members], wanted)
        if shares is not None:
            where = shares.deal(taken, where, barred[taken])
        used[offers.row[taken]] = True
        picked.append(taken)
        cells.append(where)
    return _joined(picked), _joined(cells)


class _Shares:
    """What cells still want, by size; lives only within `_pick_merged`."""

    def __init__(self, demand: Demand, aim: Aim) -> None:
        self.demand, self.aim = demand, aim
        self.want = [float(aim.get[members].sum()) for members in demand.cells.members]
        self.left = demand.offer_to_cell.sum(axis=0).tolist()
        self.rack = demand.cells.rack.tolist()

    def deal(self, taken: Ints, cells: Ints, barred: Ints) -> Ints:
        """The cells exchanged: the largest go where most is wanted per newcomer still to come.

        A member that should go elsewhere changes places with one of the smallest there.
        """
        value = self.aim.value[self.demand.offers.row[taken]]
        order = np.argsort(-value, kind="stable").tolist()
        sizes, bars, dealt = value.tolist(), barred.tolist(), cells.tolist()
        waiting: dict[int, list[int]] = {cell: [] for cell in dealt}
        for at in order:
            waiting[dealt[at]].append(at)
        for at in order:
            here = dealt[at]
            waiting[here].remove(at)
            for cell in sorted(waiting, key=lambda c: (-self.want[c] / max(self.left[c], 1), c)):
                if cell == here:
                    break
                if bars[at] >> self.rack[cell] & 1:
                    continue
                tail = waiting[cell][-_TRIED:]
                other = next((o for o in tail[::-1] if not bars[o] >> self.rack[here] & 1), None)
                if other is not None:
                    waiting[cell].remove(other)
                    waiting[here].append(other)
                    dealt[at], dealt[other] = cell, here
                    break
            self.want[dealt[at]] -= sizes[at]
            self.left[dealt[at]] -= 1
        return np.array(dealt, dtype=np.int64)


def _from_the_best_place(
    demand: Demand, number: int, members: Ints, barred: Ints, wanted: float | None
) -> tuple[Ints, Ints]:
    """Members of a class, and their cells: the smallest, or those that sum up to what is wanted."""
    aim = demand.aim
    count = min(int(demand.offer_to_cell[number].sum()), len(members))
    taken, cells = _from_place(demand, number, members, barred, count, count)
    if aim is None or wanted is None:
        return taken, cells
    best = float(aim.value[demand.offers.row[taken]].sum())
    for part in _PARTS:
        small = count - max(count // part, 1)
        low, high = small, len(members) - (count - small)
        while low < high and best < _ENOUGH * wanted:
            place = (low + high + 1) // 2
            found = _from_place(demand, number, members, barred, small, place)
            value = float(aim.value[demand.offers.row[found[0]]].sum())
            if value > wanted:
                high = place - 1
                continue
            low = place
            if value > best:
                best, (taken, cells) = value, found
    return _topped_up(demand, members, barred, taken, cells, wanted - best)


def _topped_up(
    demand: Demand, members: Ints, barred: Ints, taken: Ints, cells: Ints, lacking: float
) -> tuple[Ints, Ints]:
    """The smallest of those that go exchanged for larger ones, as large as is lacking."""
    assert demand.aim is not None
    size = demand.aim.value[demand.offers.row]
    taken = taken.copy()
    stay = np.ones(len(members), dtype=bool)
    stay[np.searchsorted(members, taken)] = False
    for at in np.argsort(size[taken], kind="stable")[:_EXCHANGES_MAX].tolist():
        free = np.flatnonzero(stay & ((barred >> demand.cells.rack[cells[at]] & 1) == 0))
        place = np.searchsorted(size[members[free]], size[taken[at]] + lacking, side="right") - 1
        if place < 0 or size[members[free[place]]] <= size[taken[at]]:
            continue
        new = free[place]
        lacking -= float(size[members[new]] - size[taken[at]])
        stay[new] = False
        taken[at] = members[new]
    return taken, cells


def _from_place(
    demand: Demand, number: int, members: Ints, barred: Ints, small: int, place: int
) -> tuple[Ints, Ints]:
    """The first `small` members, and then those from that place on.

    The cells with least choice pick first.
    """
    chosen, sites = demand.offer_to_cell[number], demand.offers.sites[number]
    every = np.arange(len(members))
    order = np.concatenate([every[:small], every[place:], every[small:place][::-1]])
    picked, cells = [], []
    for cell in sorted(np.flatnonzero(chosen).tolist(), key=lambda at: int(sites[at])):
        free = (barred[order] >> demand.cells.rack[cell] & 1) == 0
        taken = np.flatnonzero(free)[: chosen[cell]]
        picked.append(members[order[taken]])
        cells.append(np.full(len(taken), cell))
        order = np.delete(order, taken)
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


def _fill(lists: Ints, row: Ints, slot: Ints, members: Ints, demand: Demand, disk: _Disk) -> int:
    """Seat the newcomers of one cell in place; the number of offers that moved."""
    quota, aim = demand.quota, demand.aim
    turns = _in_turn(members, quota)[: len(row)]
    if len(turns) == len(row) and np.bincount(row).max() == 1:
        if aim is not None and len(members) > 1:
            turns = turns_by_value(row, members, quota, aim)
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
