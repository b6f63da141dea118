"""The minimum-cost flow of a round: how many replicas of each class go to each broker.

Nodes are brokers, classes (see `replica_classes` and `open_slots`), cells and one sink. The
classes are of movable replicas, and of partitions that demand replicas for open slots:

    broker ──(MOVE each)── movable ───┐
                                      ├── cells ── brokers ──(tiers)── sink
    demands ── (demand, rack) ────────┘

The tiers of a broker, from empty to full, put the goals in their order into one cost:

- Filling up to the band's low end is rewarded with more than any chain of moves costs.
- Each replica above the band's high end costs more than any chain of moves.
- Each replica above the broker's cap costs more than all bands. One above the cluster's enforced
  limit costs less than that, because the law of caps ranks higher, and more than all bands.
- Inside the band a fuller broker costs a little more, less than one move.
- A larger replica costs a little more, less than all of that (`giving`).

So the flow meets caps first, then bands, with the fewest moves. Where it has a choice it balances,
and where it still has one it moves few bytes.
The bounds of racks are capacities of (demand, rack), a node each unless they are very many.
Movable replicas reach only racks that keep the spread even.
"""

from dataclasses import replace

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.capacity import UNLIMITED, CapacityBounds
from poolkeeper.planning.constraints.evictions import OpenSlots
from poolkeeper.planning.placement.giving import giving_of
from poolkeeper.planning.placement.network import CostsTooLarge, Network
from poolkeeper.planning.placement.open_slots import SlotDemands
from poolkeeper.planning.placement.replica_classes import Cells, MovableReplicas, bounds_of, by_rack
from poolkeeper.planning.problem.arrays import Ints
from poolkeeper.planning.problem.pool_problem import PoolProblem

_MOVE = 100
_PROPOSAL = 10  # a changed list of a partition that does not exist yet
_TIERS = (-4, -2, 0, 2, 4)
_RACK_NODES_MAX = 100_000
"""Pairs of a demand and a rack that are nodes of their own."""


@frozen
class FlowInput:
    """What the flow is solved for: classes, cells, replicas by broker, and the bands aimed at.

    `leave`: how many replicas at least must leave each broker, where bytes require that.
    `order`: the movable replicas class after class, those that cost least first. `copied`: MiB that
    each of them costs, where those that cost less are to be preferred.
    """

    problem: PoolProblem
    opened: OpenSlots
    cells: Cells
    movable: MovableReplicas
    demands: SlotDemands
    replicas: Ints
    target: Band
    capacity: CapacityBounds
    order: Ints
    leave: Ints | None = None
    copied: Ints | None = None


@frozen
class ClassFlow:
    """Replicas by (movable class, cell), by (demand, cell), and by broker.

    `by_size`: whether replicas that cost fewer bytes were preferred.
    """

    movable_to_cell: Ints
    demand_to_cell: Ints
    quota: Ints
    by_size: bool


def solve_flow(given: FlowInput) -> ClassFlow:
    """Solve for the flow of least cost; what replicas copy counts only if any of them moves.

    So a plan that moves none is the same whatever their sizes are.
    """
    unsized = replace(given, copied=None)
    if given.copied is None:
        return _solve(unsized)
    if len(given.demands.slots):  # else there is but one flow without moves
        found = _solve(unsized)
        if not found.movable_to_cell.any():
            return found
    try:
        return _solve(given)
    except CostsTooLarge:  # sizes come last
        return _solve(unsized)


def _solve(given: FlowInput) -> ClassFlow:
    problem, cells, movable, demands = given.problem, given.cells, given.movable, given.demands
    network = Network()
    broker = network.add_nodes(len(problem.brokers))
    cell = network.add_nodes(len(cells.members))
    sink = network.add_nodes(1)
    group = network.add_nodes(len(movable.size))
    giving = giving_of(movable, given.order, given.copied, len(problem.brokers), network.nodes)
    prices = _Prices.of(int(problem.eligible.sum()), giving.unit)
    cost = np.where(movable.fresh, _PROPOSAL, _MOVE) * giving.unit
    network.add_arcs(
        broker[movable.broker[giving.of]],
        group[giving.of],
        giving.count,
        cost[giving.of] + giving.price,
    )
    tail, head = np.nonzero(movable.sites)
    group_arcs = network.add_arcs(group[tail], cell[head], movable.sites[tail, head], 0)

    demand_size = np.diff(demands.start)
    demand = network.add_nodes(len(demand_size))
    demand_tail, demand_head, demand_arcs = _add_demands(
        network, demand, cell, given, demand_size, prices
    )
    sizes = [len(members) for members in cells.members]
    eligible = np.concatenate([np.zeros(0, dtype=np.int64), *cells.members])
    total = int((demand_size * demands.slots).sum() + movable.size.sum())
    may_leave = np.bincount(movable.broker, weights=movable.size, minlength=len(problem.brokers))
    may_leave = may_leave.astype(np.int64)
    holds = broker
    if given.leave is not None and given.leave.any():
        # Replicas that must leave have no arc from their broker to the sink.
        holds = network.add_nodes(len(problem.brokers))
        network.add_arcs(broker, holds, np.maximum(may_leave - given.leave, 0), 0)
    eligible_arcs = network.add_arcs(np.repeat(cell, sizes), holds[eligible], total, 0)

    supply = np.zeros(network.nodes, dtype=np.int64)
    supply[broker] = may_leave
    supply[demand] = demand_size * demands.slots
    supply[sink] = -total
    _add_tiers(network, given, holds, sink, given.replicas - may_leave, prices)

    flow = network.solve(supply)
    movable_to_cell = np.zeros(movable.sites.shape, dtype=np.int64)
    movable_to_cell[tail, head] = flow[group_arcs]
    demand_to_cell = np.zeros((len(demand), len(cells.members)), dtype=np.int64)
    np.add.at(demand_to_cell, (demand_tail, demand_head), flow[demand_arcs])
    quota = np.zeros(len(problem.brokers), dtype=np.int64)
    quota[eligible] = flow[eligible_arcs]
    return ClassFlow(movable_to_cell, demand_to_cell, quota, giving.tells_apart)


@frozen
class _Prices:
    """The costs of a replica outside its band, above a limit or a cap, and of an uneven spread.

    `unit`: what all costs are multiplied with, those of moves and tiers as well.
    """

    unit: int
    outside: int
    above_limit: int
    above_cap: int
    uneven: int

    @staticmethod
    def of(brokers: int, unit: int) -> "_Prices":
        # One replica outside a band must cost more than the longest chain of moves to mend it.
        outside = 2 * _MOVE * (brokers + 2) * unit
        return _Prices(unit, outside, outside * 100, outside * 1_000, outside * 10_000)


def _add_demands(
    network: Network,
    demand: Ints,
    cell: Ints,
    given: FlowInput,
    size: Ints,
    prices: _Prices,
) -> tuple[Ints, Ints, slice]:
    """Add arcs from demands to racks, within the racks' bounds, and on to cells.

    Where racks are the cells, and there are very many of these arcs, those to the cells carry the
    bounds. Returns (class, cell, arcs).
    """
    cells, demands = given.cells, given.demands
    racks = int(cells.rack.max(initial=-1)) + 1
    low, high = bounds_of(given.opened, demands.spread_of, racks)
    kept = by_rack(demands.kept, cells, racks)
    at_least = np.maximum(low - kept, 0) * size[:, None]
    at_most = np.maximum(high - kept, 0) * size[:, None]
    usable = np.array([len(members) > 0 for members in cells.members])
    direct = not cells.fine and np.count_nonzero(at_most) > _RACK_NODES_MAX
    class_of, rack_of = np.nonzero(at_most * usable if direct else at_most)
    needed = at_least[class_of, rack_of]
    rest = at_most[class_of, rack_of] - needed
    if direct:
        must = needed > 0
        tail, head = (np.concatenate([each[must], each]) for each in (class_of, rack_of))
        cost = np.where(np.arange(len(tail)) < must.sum(), -prices.uneven, 0)
        capacity = np.concatenate([needed[must], rest])
        return tail, head, network.add_arcs(demand[tail], cell[head], capacity, cost)
    middle = network.add_nodes(len(class_of))
    network.add_arcs(demand[class_of], middle, needed, -prices.uneven)
    network.add_arcs(demand[class_of], middle, rest, 0)
    pair = (cells.rack[None, :] == rack_of[:, None]) & usable
    if cells.fine:
        pair &= demands.kept[class_of] == 0
    node, head = np.nonzero(pair)
    tail = class_of[node]
    capacity = size[tail] if cells.fine else at_most[tail, cells.rack[head]]
    return tail, head, network.add_arcs(middle[node], cell[head], capacity, 0)


def _add_tiers(
    network: Network, given: FlowInput, broker: Ints, sink: Ints, base: Ints, prices: _Prices
) -> None:
    """Add arcs from brokers to the sink, one tier after another, each at a higher cost.

    `base`: the replicas that each broker holds in any case.
    """
    target, capacity = given.target, given.capacity
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
    unlimited = np.full(len(base), UNLIMITED, dtype=np.int64)
    inner = (cost * prices.unit for cost in _TIERS)
    costs = (-prices.outside, *inner, prices.outside)
    tiers: list[tuple[Ints, Ints | int]] = [
        (np.minimum(end, capacity.replicas), cost)
        for end, cost in zip([*ends, unlimited], costs, strict=True)
    ]
    begin = base
    for end, cost in (*tiers, *_forbidden_tiers(capacity, prices)):
        bound = np.maximum(end, begin)
        rows = np.flatnonzero((bound > begin) & given.problem.eligible)
        prices_of = np.broadcast_to(cost, len(base))[rows]
        sinks = np.repeat(sink, len(rows))
        network.add_arcs(broker[rows], sinks, (bound - begin)[rows], prices_of)
        begin = bound


def _forbidden_tiers(capacity: CapacityBounds, prices: _Prices) -> list[tuple[Ints, Ints | int]]:
    """Above one of cap and limit, then above both: the ends of these tiers, and their costs."""
    end = np.full(len(capacity.replicas), 2 * UNLIMITED, dtype=np.int64)
    if (capacity.limits == UNLIMITED).all():
        return [(end, prices.above_cap)]
    one = np.where(capacity.caps <= capacity.limits, prices.above_cap, prices.above_limit)
    both = prices.above_cap + prices.above_limit
    return [(np.maximum(capacity.caps, capacity.limits), one), (end, both)]
