"""Which members of the classes move: rounds a flow between classes to single replicas.

A class gives its first members, the smallest, and a partition gives at most one replica a round.
Where bytes matter (`byte_targets`), a class gives some of its smallest members, and consecutive
ones from some position upwards. The position is chosen such that all of them sum up to what their
broker should give. Then the cells exchange the chosen members, so that the largest go where most
bytes are wanted.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.placement.byte_targets import Aim
from poolkeeper.planning.placement.open_slots import SlotDemands
from poolkeeper.planning.placement.replica_classes import Cells, Members, MovableReplicas
from poolkeeper.planning.problem.arrays import Ints

_PASSES = 8
_PARTS = (6, 3, 2, 1)
_TRIED = 8
_ENOUGH = 0.95
_EXCHANGES_MAX = 40


@frozen
class ReplicaFlow:
    """A flow: replicas by (movable class, cell), by (demand, cell), and new ones by broker.

    `aim`: the bytes that the brokers of a cell should give and get, if bytes matter.
    """

    cells: Cells
    movable: MovableReplicas
    members: Members
    demands: SlotDemands
    movable_to_cell: Ints
    demand_to_cell: Ints
    quota: Ints
    aim: Aim | None = None


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
    other chooses further members in the next pass.
    """
    found, chosen = flow.members, flow.movable_to_cell
    size = np.diff(found.start)
    left = chosen.sum(axis=1)
    of = np.repeat(np.arange(len(size)), size)
    used = np.zeros(rows, dtype=bool)
    picked = []
    for _ in range(_PASSES):
        if not left.any():
            break
        members = np.flatnonzero((left > 0)[of])
        members = members[~used[found.row[members]]]
        begin = np.searchsorted(of[members], np.arange(len(size)))
        members = members[np.arange(len(members)) - begin[of[members]] < left[of[members]]]
        _, first = np.unique(found.row[members], return_index=True)
        members = members[np.sort(first)]
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
    shares = None if aim is None else _CellBytes(flow, aim)
    for number in np.flatnonzero(flow.movable_to_cell.sum(axis=1)).tolist():
        members = np.arange(*found.start[number : number + 2])
        members = members[~used[found.row[members]]]
        giver = flow.movable.broker[number]
        wanted = None if aim is None else (float(aim.give[giver]), float(aim.most[giver]))
        taken, where = _from_the_best_place(flow, number, members, barred[members], wanted)
        if shares is not None:
            where = shares.deal(taken, where, barred[taken])
        used[found.row[taken]] = True
        picked.append(taken)
        cells.append(where)
    return concatenate(picked), concatenate(cells)


class _CellBytes:
    """The bytes that cells still want; used only within `_pick_merged`."""

    def __init__(self, flow: ReplicaFlow, aim: Aim) -> None:
        self.flow, self.aim = flow, aim
        self.want = [float(aim.get[members].sum()) for members in flow.cells.members]
        self.left = flow.movable_to_cell.sum(axis=0).tolist()
        self.rack = flow.cells.rack.tolist()

    def deal(self, taken: Ints, cells: Ints, barred: Ints) -> Ints:
        """Exchange the cells of members: the largest go where most is wanted per replica to come.

        A member that should go to another cell changes places with one of the smallest there.
        """
        value = self.aim.value[self.flow.members.row[taken]]
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
    flow: ReplicaFlow,
    number: int,
    members: Ints,
    barred: Ints,
    bounds: tuple[float, float] | None,
) -> tuple[Ints, Ints]:
    """Members of a class, and their cells: the smallest, or those that sum up to the wanted value.

    `bounds`: the wanted value, and the most that is accepted if it cannot be met from below.
    """
    aim = flow.aim
    count = min(int(flow.movable_to_cell[number].sum()), len(members))
    taken, cells = _from_place(flow, number, members, barred, count, count)
    if aim is None or bounds is None:
        return taken, cells
    best = _BestChoice(*bounds, float(aim.value[flow.members.row[taken]].sum()), (taken, cells))
    for large in (*(max(count // part, 1) for part in _PARTS), 1):
        small = count - large
        low, high = small, len(members) - large
        while low < high and not best.is_enough:
            place = (low + high + 1) // 2
            found = _from_place(flow, number, members, barred, small, place)
            if best.keeps(float(aim.value[flow.members.row[found[0]]].sum()), found):
                low = place
            else:
                high = place - 1
    if not best.is_enough and best.above is not None:
        return best.above
    return _top_up(flow, members, barred, *best.below, best.wanted - best.value)


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


def _top_up(
    flow: ReplicaFlow, members: Ints, barred: Ints, taken: Ints, cells: Ints, lacking: float
) -> tuple[Ints, Ints]:
    """Exchange some of the smallest chosen members for larger ones that add what is lacking."""
    assert flow.aim is not None
    size = flow.aim.value[flow.members.row]
    taken = taken.copy()
    stay = np.ones(len(members), dtype=bool)
    stay[np.searchsorted(members, taken)] = False
    for at in np.argsort(size[taken], kind="stable")[:_EXCHANGES_MAX].tolist():
        free = np.flatnonzero(stay & ((barred >> flow.cells.rack[cells[at]] & 1) == 0))
        place = np.searchsorted(size[members[free]], size[taken[at]] + lacking, side="right") - 1
        if place < 0 or size[members[free[place]]] <= size[taken[at]]:
            continue
        new = free[place]
        lacking -= float(size[members[new]] - size[taken[at]])
        stay[new] = False
        taken[at] = members[new]
    return taken, cells


def _from_place(
    flow: ReplicaFlow, number: int, members: Ints, barred: Ints, small: int, place: int
) -> tuple[Ints, Ints]:
    """The first `small` members, and the members from that position on.

    The cells with the fewest possible members choose first.
    """
    chosen, sites = flow.movable_to_cell[number], flow.movable.sites[number]
    every = np.arange(len(members))
    order = np.concatenate([every[:small], every[place:], every[small:place][::-1]])
    picked, cells = [], []
    for cell in sorted(np.flatnonzero(chosen).tolist(), key=lambda at: int(sites[at])):
        free = (barred[order] >> flow.cells.rack[cell] & 1) == 0
        taken = np.flatnonzero(free)[: chosen[cell]]
        picked.append(members[order[taken]])
        cells.append(np.full(len(taken), cell))
        order = np.delete(order, taken)
    return concatenate(picked), concatenate(cells)


def concatenate(parts: list[Ints]) -> Ints:
    """One array of all parts, in order."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
