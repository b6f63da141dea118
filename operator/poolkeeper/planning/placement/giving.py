"""What the replicas of a class cost by their size, the smallest first.

A class gives its smallest replicas first (`rounding`). So its cost is convex in how many it gives,
and a class is several arcs of the flow, one for each part of its replicas. The first ten are parts
by themselves; later parts grow by an eighth, so that a class of thousands has some eighty.

Sizes come last: a chain of moves visits a broker at most once, and all that its replicas may cost
by their sizes is less than what a tier costs. To that end all other costs are multiplied with
`unit`. How finely sizes are told apart depends on how large costs may be.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.planning.placement.replica_classes import MovableReplicas
from poolkeeper.planning.problem.arrays import Ints, any_slot
from poolkeeper.planning.problem.pool_problem import PoolProblem

_LEVELS_MAX = 10_000
_COST_MAX = 2**60
_COST_OF_UNITS = 2_000_000
"""The largest cost of a flow, by brokers and units; see `flow`."""


@frozen
class Giving:
    """Parts of classes: the class of each, how many replicas it has, and what each costs more."""

    of: Ints
    count: Ints
    price: Ints
    unit: int

    @property
    def tells_apart(self) -> bool:
        """Whether sizes have a price."""
        return self.unit > 1


def copied_mib(problem: PoolProblem, movable: MovableReplicas, lists: Ints) -> Ints:
    """By replica, what its move copies: nothing if it came to its broker in an earlier round."""
    copied: Ints = problem.mib[movable.row]
    came = np.flatnonzero((problem.lists != lists)[movable.row, movable.slot])
    rows = movable.row[came]
    broker = lists[rows, movable.slot[came]]
    copied[came[~any_slot(problem.lists[rows] == broker[:, None])]] = 0
    return copied


def giving_of(
    movable: MovableReplicas, order: Ints, copied: Ints | None, brokers: int, nodes: int
) -> Giving:
    """The parts of all classes; each class is one where sizes are unknown, alike or of no matter.

    `order`: the replicas class after class, those that cost least first. `copied`: MiB by replica.
    `brokers` and `nodes`: how many the network has, at least.
    """
    levels, known = _levels(brokers, nodes), copied
    if known is None or levels < 2 or len(distinct(known[known > 0])) < 2:
        whole = np.arange(len(movable.size))
        return Giving(whole, movable.size, np.zeros(len(whole), dtype=np.int64), 1)
    number, ordered = movable.number[order], known[order]
    begin = np.searchsorted(number, np.arange(len(movable.size)))
    part = _part_of(np.arange(len(number)) - begin[number])
    first = np.flatnonzero(np.diff(number, prepend=-1) | np.diff(part, prepend=-1))
    count = np.diff(first, append=len(number))
    mean = np.add.reduceat(ordered.astype(np.float64), first) / count
    price = np.rint(levels * mean / known.max()).astype(np.int64)
    return Giving(number[first], count, price, levels * (brokers + 2))


def _levels(brokers: int, nodes: int) -> int:
    """How many sizes are told apart, so that no cost times nodes goes beyond 64 bits."""
    most = _COST_MAX // (_COST_OF_UNITS * (brokers + 2) ** 2 * (2 * nodes + 1))
    return min(_LEVELS_MAX, most)


def _part_of(rank: Ints) -> Ints:
    """The part of each place within a class: single ones first, then ever larger ones."""
    ends = [0]
    while ends[-1] <= int(rank.max(initial=0)):
        ends.append(max(ends[-1] + 1, ends[-1] * 9 // 8))
    found: Ints = np.searchsorted(np.array(ends), rank, side="right")
    return found
