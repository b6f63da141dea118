"""Rounds a flow between classes to a broker for each single replica.

The flow names cells (racks, or single brokers). Two sorts of replicas get one:

**Open slots** (`SlotDemands`) are dealt like cards. Each cell that the flow gives a class is
repeated as often as the flow chose it, with all cells of a rack side by side. This row is dealt
round after round to the N partitions of the class. A cell that was chosen at most m·N times
reaches each partition at most m times, so distinctness and the rack bounds hold for every single
partition, not only in sum. The partitions lie in an order that interleaves topics, so each run of
equal cells takes from every topic in proportion.

**Movable replicas** (`MovableReplicas`) are chosen by `rounding`.

Then each cell divides its replicas among its brokers, in turn, by the quota that the flow gives
each broker. If a broker holds the partition already, the broker with the next largest quota left
gets the replica.
"""

import heapq

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.evictions import OPEN
from poolkeeper.planning.placement.byte_targets import turns_by_value
from poolkeeper.planning.placement.rounding import ReplicaFlow, pick
from poolkeeper.planning.problem.arrays import Ints, any_slot, concatenate, take_rows, weights_by
from poolkeeper.planning.problem.pool_problem import PoolProblem


@frozen
class AssignedLists:
    """The new lists, and how many existing replicas moved."""

    lists: Ints
    moved: int


def assign(
    problem: PoolProblem, lists: Ints, flow: ReplicaFlow, capacity_mib: Ints
) -> AssignedLists:
    """Realise the flow: fill all open slots, move replicas as far as brokers and disks allow."""
    lists = lists.copy()
    demand_row, demand_slot, demand_cell = _deal(lists, flow)
    movable_row, movable_slot, movable_cell = pick(len(lists), flow)
    row = np.concatenate([demand_row, movable_row])
    slot = np.concatenate([demand_slot, movable_slot])
    cell = np.concatenate([demand_cell, movable_cell])
    # Rows are in order of topic and partition.
    order = np.argsort((cell * len(lists) + row) * lists.shape[1] + slot)
    row, slot, cell = row[order], slot[order], cell[order]
    bounds = np.searchsorted(cell, np.arange(len(flow.cells.members) + 1))
    moved = 0
    disk = _Disk(problem, lists, capacity_mib)
    for number, members in enumerate(flow.cells.members):
        part = slice(bounds[number], bounds[number + 1])
        if part.start < part.stop:
            moved += _fill(lists, row[part], slot[part], members, flow, disk)
    return AssignedLists(lists, moved)


def _deal(lists: Ints, flow: ReplicaFlow) -> tuple[Ints, Ints, Ints]:
    """The (row, slot, cell) of every open slot."""
    rows, slots, cells = [], [], []
    by_rack = np.argsort(flow.cells.rack, kind="stable")
    for number, chosen in enumerate(flow.demand_to_cell):
        start, stop = flow.demands.start[number : number + 2]
        members = flow.demands.row[start:stop]
        dealt = np.repeat(by_rack, chosen[by_rack]).reshape(-1, len(members)).T
        open_slots = np.nonzero(lists[members] == OPEN)[1]
        rows.append(np.repeat(members, dealt.shape[1]))
        slots.append(open_slots)
        cells.append(dealt.ravel())
    return concatenate(rows), concatenate(slots), concatenate(cells)


class _Disk:
    """MiB held and allowed by broker; used only within `assign`."""

    def __init__(self, problem: PoolProblem, lists: Ints, capacity_mib: Ints) -> None:
        self.mib, self.capacity = problem.mib, capacity_mib
        self.bounded = bool((capacity_mib < np.iinfo(np.int64).max).any())
        self.held = problem.background_load.mib.copy()
        if self.bounded:
            self.held += mib_by_broker(problem, lists)

    def admits(self, row: int, broker: int) -> bool:
        return not self.bounded or self.held[broker] + self.mib[row] <= self.capacity[broker]

    def admits_all(self, rows: Ints, sources: Ints, targets: Ints) -> bool:
        """Whether all of these moves together fit on the disks; if so, they are counted as made."""
        if not self.bounded:
            return True
        after = self.held.copy()
        np.add.at(after, targets, self.mib[rows])
        gone = sources >= 0
        np.subtract.at(after, sources[gone], self.mib[rows[gone]])
        fits = bool((after <= np.maximum(self.capacity, self.held)).all())
        if fits:
            self.held = after
        return fits

    def move(self, row: int, source: int, target: int) -> None:
        if self.bounded:
            self.held[target] += self.mib[row]
            if source >= 0:
                self.held[source] -= self.mib[row]


def mib_by_broker(problem: PoolProblem, lists: Ints) -> Ints:
    """MiB by broker, of these lists alone, without background load."""
    return weights_by(lists, problem.mib, len(problem.brokers))


def _fill(lists: Ints, row: Ints, slot: Ints, members: Ints, flow: ReplicaFlow, disk: _Disk) -> int:
    """Give one cell's new replicas to its brokers in place; return how many existing ones moved."""
    quota, aim = flow.quota, flow.aim
    turns = _turns(members, quota)[: len(row)]
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
    """Swap brokers between replicas until no broker gets a partition that it holds already.

    Empty if that cannot be done.
    """
    turns = turns.copy()
    for at in np.flatnonzero(any_slot(take_rows(lists, row) == turns[:, None])).tolist():
        fits = ~any_slot(take_rows(lists, row) == turns[at])
        for broker in lists[row[at]].tolist():
            fits &= turns != broker
        others = np.flatnonzero(fits)
        if not len(others):
            return turns[:0]
        other = others[np.searchsorted(others, at) % len(others)]
        turns[at], turns[other] = turns[other], turns[at]
    return turns


def _turns(members: Ints, quota: Ints) -> Ints:
    """Each broker as often as its quota says, interleaved as evenly as possible."""
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
        target = _choose_broker(left, taken, r, source, disk)
        if target is None:
            continue
        disk.move(r, source, target)
        moved += source >= 0
        lists[r, s] = target
    return moved


def _choose_broker(
    left: list[tuple[int, int]], taken: set[int], row: int, source: int, disk: _Disk
) -> int | None:
    """The broker with the most quota left that may take the replica.

    An open slot takes any broker without the partition if there is no other.
    """
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
