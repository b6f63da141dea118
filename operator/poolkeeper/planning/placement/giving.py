"""What the replicas of a class cost by their size, the smallest first.

A class gives its smallest replicas first (`rounding`). So its cost is convex in how many it gives,
and a class is several arcs of the flow, one for each part of its replicas. The first ten are parts
by themselves; later parts grow by an eighth, so that a class of thousands has some eighty.

Sizes come last: a chain of moves visits a broker at most once, and all that its replicas may cost
by their sizes is less than what a tier costs. To that end all other costs are multiplied with
`unit`. How finely sizes are told apart depends on how large costs may be.

Where one partition is out of all proportion, most others would cost the same next to it. Then half
of the prices are for sizes up to some multiple of the usual one, the other half for those above.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.planning.placement.replica_classes import MovableReplicas
from poolkeeper.planning.problem.arrays import Floats, Ints, any_slot, take_rows
from poolkeeper.planning.problem.pool_problem import PoolProblem

_LEVELS_MAX = 10_000
_FINE = 8
"""Into so many prices the usual size should be told apart."""
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
    changed = (problem.lists != lists).ravel()
    came = np.flatnonzero(changed[movable.row * lists.shape[1] + movable.slot])
    rows = movable.row[came]
    broker = lists[rows, movable.slot[came]]
    copied[came[~any_slot(take_rows(problem.lists, rows) == broker[:, None])]] = 0
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
    of, first = _parts_of(movable.size)
    count = np.diff(first, append=len(order))
    mean = np.add.reduceat(known[order].astype(np.float64), first) / count
    price = np.rint(_prices(mean, known[known > 0], levels)).astype(np.int64)
    return Giving(of, count, price, levels * (brokers + 2))


def _prices(mean: Floats, known: Ints, levels: int) -> Floats:
    """The price of each mean, in proportion to it as far as the levels suffice to tell sizes apart.

    `known`: all sizes, none of which is 0.
    """
    largest, usual = float(known.max()), float(np.median(known))
    knee = levels / 2 * usual / _FINE
    if 2 * knee >= largest:
        return levels * mean / largest
    above = np.maximum(mean - knee, 0) / (largest - knee)
    prices: Floats = levels / 2 * (np.minimum(mean, knee) / knee + above)
    return prices


def _levels(brokers: int, nodes: int) -> int:
    """How many sizes are told apart, so that no cost times nodes goes beyond 64 bits."""
    most = _COST_MAX // (_COST_OF_UNITS * (brokers + 2) ** 2 * (2 * nodes + 1))
    return min(_LEVELS_MAX, most)


def _parts_of(size: Ints) -> tuple[Ints, Ints]:
    """The class of each part, and its first place; the classes, of these sizes, follow each other.

    The first parts of a class are single replicas, the later ones ever larger.
    """
    begins = [0]
    while begins[-1] < int(size.max(initial=0)):
        begins.append(max(begins[-1] + 1, begins[-1] * 9 // 8))
    parts = np.searchsorted(np.array(begins), size)
    of = np.repeat(np.arange(len(size)), parts)
    within = np.arange(len(of)) - np.repeat(np.cumsum(parts) - parts, parts)
    return of, (np.cumsum(size) - size)[of] + np.array(begins)[within]
