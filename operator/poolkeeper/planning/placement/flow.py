"""The minimum-cost flow of a round: how many replicas of each class go to each broker.

Nodes are brokers, classes (see `replica_classes` and `open_slots`), cells and one sink. An offer is
a class of replicas that may move; a want is a class of partitions with open slots:

    broker ──(MOVE each)── offers ──┐
                                    ├── cells ── brokers ──(tiers)── sink
    wants ── (want, rack) ──────────┘

The tiers of a broker, from empty to full, put the goals in their order into one cost:

- Filling up to the band's low end is rewarded with more than any chain of moves costs.
- Each replica above the band's high end costs more than any chain of moves.
- Each replica above the broker's cap costs more than all bands.
- Inside the band a fuller broker costs a little more, less than one move.

So the flow meets caps first, then bands, with the fewest moves. Where it has a choice it balances.
The bounds of racks are capacities of (want, rack). Offers reach only racks that keep the spread
even.
"""

from dataclasses import dataclass

import numpy as np

from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.evictions import Opened
from poolkeeper.planning.placement.network import Network
from poolkeeper.planning.placement.open_slots import Wants
from poolkeeper.planning.placement.replica_classes import Cells, Offers, bounds_of, by_rack
from poolkeeper.planning.problem.arrays import Ints
from poolkeeper.planning.problem.pool_problem import PoolProblem

_MOVE = 100
_PROPOSAL = 10  # a changed list of a partition that does not exist yet
_TIERS = (-4, -2, 0, 2, 4)

UNLIMITED = np.iinfo(np.int32).max
"""Replicas of a broker without a cap."""

UNLIMITED_MIB = np.iinfo(np.int64).max
"""MiB of a broker without a disk; of a pool replicas, too."""


@dataclass(frozen=True, slots=True)
class CapacityBounds:
    """Hard bounds on replicas and MiB, by broker and for the pool; huge where nothing is declared.

    The bounds of the pool are what still fits after the failures that its headroom asks for.
    """

    replicas: Ints
    mib: Ints
    pool_replicas: int
    pool_mib: int

    @property
    def bounded(self) -> bool:
        """Whether any bound is declared."""
        single = (self.replicas < UNLIMITED) | (self.mib < UNLIMITED_MIB)
        return bool(single.any()) or min(self.pool_replicas, self.pool_mib) < UNLIMITED_MIB


@dataclass(frozen=True, slots=True)
class RoutingTask:
    """What the flow routes: classes and cells, replicas by broker, and the bands that it aims at.

    `leave`: how many replicas at least must leave each broker, where bytes require that.
    """

    problem: PoolProblem
    opened: Opened
    cells: Cells
    offers: Offers
    wants: Wants
    held: Ints
    target: Band
    room: CapacityBounds
    leave: Ints | None = None


@dataclass(frozen=True, slots=True)
class RoutedFlow:
    """Replicas by (offer, cell), by (want, cell), and by broker."""

    offer_to_cell: Ints
    want_to_cell: Ints
    quota: Ints


def routed(task: RoutingTask) -> RoutedFlow:
    """Solve for the flow of least cost."""
    problem, cells, offers, wants = task.problem, task.cells, task.offers, task.wants
    network = Network()
    broker = network.add_nodes(len(problem.brokers))
    cell = network.add_nodes(len(cells.members))
    sink = network.add_nodes(1)
    prices = _Prices.of(int(problem.eligible.sum()))

    offer = network.add_nodes(len(offers.size))
    cost = np.where(offers.fresh, _PROPOSAL, _MOVE)
    network.add_arcs(broker[offers.broker], offer, offers.size, cost)
    tail, head = np.nonzero(offers.sites)
    offer_arcs = network.add_arcs(offer[tail], cell[head], offers.sites[tail, head], 0)

    want_size = np.diff(wants.start)
    want = network.add_nodes(len(want_size))
    want_tail, want_head, want_arcs = _add_wants(network, want, cell, task, want_size, prices)
    sizes = [len(members) for members in cells.members]
    seats = np.concatenate([np.zeros(0, dtype=np.int64), *cells.members])
    total = int((want_size * wants.slots).sum() + offers.size.sum())
    movable = np.bincount(offers.broker, weights=offers.size, minlength=len(problem.brokers))
    movable = movable.astype(np.int64)
    holds = broker
    if task.leave is not None and task.leave.any():
        # Replicas that must leave have no arc from their broker to the sink.
        holds = network.add_nodes(len(problem.brokers))
        network.add_arcs(broker, holds, np.maximum(movable - task.leave, 0), 0)
    seat_arcs = network.add_arcs(np.repeat(cell, sizes), holds[seats], total, 0)

    supply = np.zeros(network.nodes, dtype=np.int64)
    supply[broker] = movable
    supply[want] = want_size * wants.slots
    supply[sink] = -total
    _add_tiers(network, task, holds, sink, task.held - movable, prices)

    flow = network.solve(supply)
    offer_to_cell = np.zeros(offers.sites.shape, dtype=np.int64)
    offer_to_cell[tail, head] = flow[offer_arcs]
    want_to_cell = np.zeros((len(want), len(cells.members)), dtype=np.int64)
    np.add.at(want_to_cell, (want_tail, want_head), flow[want_arcs])
    quota = np.zeros(len(problem.brokers), dtype=np.int64)
    quota[seats] = flow[seat_arcs]
    return RoutedFlow(offer_to_cell, want_to_cell, quota)


@dataclass(frozen=True, slots=True)
class _Prices:
    """The costs of a replica outside its band, above a cap, and of an uneven spread over racks."""

    outside: int
    above_cap: int
    uneven: int

    @staticmethod
    def of(brokers: int) -> "_Prices":
        # One replica outside a band must cost more than the longest chain of moves to mend it.
        outside = 2 * _MOVE * (brokers + 2)
        return _Prices(outside, outside * 1_000, outside * 10_000)


def _add_wants(
    network: Network,
    want: Ints,
    cell: Ints,
    task: RoutingTask,
    size: Ints,
    prices: _Prices,
) -> tuple[Ints, Ints, slice]:
    """Add arcs from wants to racks, within the racks' bounds, and on to cells.

    Returns (class, cell, arcs).
    """
    cells, wants = task.cells, task.wants
    racks = int(cells.rack.max(initial=-1)) + 1
    low, high = bounds_of(task.opened, wants.spread_of, racks)
    kept = by_rack(wants.kept, cells, racks)
    at_least = np.maximum(low - kept, 0) * size[:, None]
    at_most = np.maximum(high - kept, 0) * size[:, None]
    class_of, rack_of = np.nonzero(at_most)
    middle = network.add_nodes(len(class_of))
    needed = at_least[class_of, rack_of]
    network.add_arcs(want[class_of], middle, needed, -prices.uneven)
    network.add_arcs(want[class_of], middle, at_most[class_of, rack_of] - needed, 0)
    usable = np.array([len(members) > 0 for members in cells.members])
    pair = (cells.rack[None, :] == rack_of[:, None]) & usable
    if cells.fine:
        pair &= wants.kept[class_of] == 0
    node, head = np.nonzero(pair)
    tail = class_of[node]
    capacity = size[tail] if cells.fine else at_most[tail, cells.rack[head]]
    return tail, head, network.add_arcs(middle[node], cell[head], capacity, 0)


def _add_tiers(
    network: Network, task: RoutingTask, broker: Ints, sink: Ints, base: Ints, prices: _Prices
) -> None:
    """Add arcs from brokers to the sink, one tier after another, each at a higher cost.

    `base`: the replicas that each broker holds in any case.
    """
    target, room = task.target, task.room
    floor = np.floor(target.share + 1e-6).astype(np.int64)
    ceiling = np.ceil(target.share - 1e-6).astype(np.int64)
    ends = [
        target.low,
        (target.low + floor) // 2,
        floor,
        ceiling,
        (np.minimum(target.high, 2 * ceiling + 1) + ceiling) // 2,
        target.high,
    ]
    begin = base
    unlimited = np.full(len(base), np.iinfo(np.int32).max, dtype=np.int64)
    costs = (-prices.outside, *_TIERS, prices.outside, prices.above_cap)
    for end, cost in zip([*ends, unlimited, unlimited * 2], costs, strict=True):
        bound = end if cost == prices.above_cap else np.minimum(end, room.replicas)
        bound = np.maximum(bound, begin)
        rows = np.flatnonzero((bound > begin) & task.problem.eligible)
        network.add_arcs(broker[rows], np.repeat(sink, len(rows)), (bound - begin)[rows], cost)
        begin = bound
