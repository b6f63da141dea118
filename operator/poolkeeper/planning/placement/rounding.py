"""Which members of the classes move: rounds a flow between classes to single replicas.

A class gives its first members, the smallest, and a partition gives at most one replica a round.
The smallest partitions are the first members of several classes. The first rounds leave what a
class does not get of them to the next round; later ones take larger members instead. Where bytes
matter, `byte_choice` chooses the members.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.placement.byte_choice import CellBytes, GivingClass
from poolkeeper.planning.placement.byte_targets import Aim
from poolkeeper.planning.placement.open_slots import SlotDemands
from poolkeeper.planning.placement.replica_classes import Cells, Members, MovableReplicas
from poolkeeper.planning.problem.arrays import Ints, concatenate, take_rows

_PASSES = 8


@frozen
class ReplicaFlow:
    """A flow: replicas by (movable class, cell), by (demand, cell), and new ones by broker.

    `aim`: the bytes that the brokers of a cell should give and get, if bytes matter.
    `only_first`: whether a class gives only as many of its first members as it should, even if some
    of them cannot move.
    """

    cells: Cells
    movable: MovableReplicas
    members: Members
    demands: SlotDemands
    movable_to_cell: Ints
    demand_to_cell: Ints
    quota: Ints
    aim: Aim | None = None
    only_first: bool = False


def pick(rows: int, flow: ReplicaFlow) -> tuple[Ints, Ints, Ints]:
    """The (row, slot, cell) of every replica that moves."""
    members = flow.members
    if members.barred is None:
        taken, cells = _pick_alike(rows, flow)
    else:
        taken, cells = _pick_merged(rows, flow, members.barred)
    return members.row[taken], members.slot[taken], cells


def _pick_alike(rows: int, flow: ReplicaFlow) -> tuple[Ints, Ints]:
    """(member, cell): the first members of each class whose partition gives no other replica.

    All classes choose at once. If two choose the same partition, the first class gets it, and the
    other chooses further members in the next pass, unless only the first members shall go.
    """
    found, chosen = flow.members, flow.movable_to_cell
    size = np.diff(found.start)
    left = chosen.sum(axis=1)
    of = np.repeat(np.arange(len(size)), size)
    used, first = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=np.int64)
    picked = []
    for _ in range(1 if flow.only_first else _PASSES):
        if not left.any():
            break
        members = np.flatnonzero((left > 0)[of])
        members = members[~used[found.row[members]]]
        begin = np.searchsorted(of[members], np.arange(len(size)))
        members = members[np.arange(len(members)) - begin[of[members]] < left[of[members]]]
        row, place = found.row[members], np.arange(len(members))
        first[row[::-1]] = place[::-1]
        members = members[first[row] == place]
        used[found.row[members]] = True
        left -= np.bincount(of[members], minlength=len(left))
        picked.append(members)
    taken = np.sort(concatenate(picked))
    begin = np.searchsorted(of[taken], np.arange(len(size)))
    rank = np.arange(len(taken)) - begin[of[taken]]
    offset = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
    return taken, _interleave(chosen)[offset[of[taken]] + rank]


def _interleave(chosen: Ints) -> Ints:
    """The cells of each class, each as often as the flow chose it, evenly interleaved."""
    of, cell = np.nonzero(chosen)
    amount = chosen[of, cell]
    whole = np.repeat(amount, amount)
    within = np.arange(len(whole)) - np.repeat(np.cumsum(amount) - amount, amount)
    of, cell = np.repeat(of, amount), np.repeat(cell, amount)
    return cell[np.lexsort((cell, (within + 0.5) / np.maximum(whole, 1), of))]


def _pick_merged(rows: int, flow: ReplicaFlow, barred: Ints) -> tuple[Ints, Ints]:
    """(member, cell) for merged classes, class after class."""
    found, aim = flow.members, flow.aim
    used = np.zeros(rows, dtype=bool)
    picked, cells = [], []
    shares = None if aim is None else CellBytes(flow.cells, flow.movable_to_cell, aim)
    for number in np.flatnonzero(flow.movable_to_cell.sum(axis=1)).tolist():
        members = np.arange(*found.start[number : number + 2])
        members = members[~used[found.row[members]]]
        bars, giver = take_rows(barred, members), flow.movable.broker[number]
        value = None if aim is None else aim.value[found.row[members]]
        wanted = None if aim is None else (float(aim.give[giver]), float(aim.most[giver]))
        to_cell, sites = flow.movable_to_cell[number], flow.movable.sites[number]
        taken, where = GivingClass(flow.cells, to_cell, sites, bars, value).choose(wanted)
        if shares is not None and value is not None:
            where = shares.deal(value[taken], where, bars[taken])
        taken = members[taken]
        used[found.row[taken]] = True
        picked.append(taken)
        cells.append(where)
    return concatenate(picked), concatenate(cells)
