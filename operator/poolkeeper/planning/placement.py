"""Where replicas go: one minimum-cost flow per round over classes of replicas.

Nodes are brokers, classes (see `classes`), cells and one sink; the flow says how many replicas of
each class go to each broker:

    broker ──(MOVE each)── offers ──┐
                                    ├── cells ── brokers ──(tiers)── sink
    wants ── (want, rack) ──────────┘

The tiers of a broker, from empty to full, put the goals in their order into one cost: filling up to
the band's low end is rewarded, above its high end is charged, more than any chain of moves costs;
above the broker's cap of replicas costs more than all bands; inside the band a little more the
fuller the broker, less than one move. So the flow meets caps first, then bands, with the fewest
moves, and where there is a choice it evens out. Bounds of racks are capacities of (want, rack), and
offers only reach racks that keep the spread even.

A round realises the flow by taking the smallest replicas of each class (or those that `aims` says),
one of a partition at most.
What that leaves undone the next round does, until the flow has nothing to move. The outcome depends
on the layout alone, not on how it came about, so a layout that was reached is never left again.
"""

from dataclasses import dataclass

import numpy as np

from poolkeeper.model.specs import Goal
from poolkeeper.planning.aims import aim_of, mixed
from poolkeeper.planning.classes import (
    Cells,
    Offers,
    Wants,
    bounds_of,
    by_rack,
    cells_of,
    members_of,
    offers_of,
    wants_of,
)
from poolkeeper.planning.columns import NONE, Floats, Ints, any_slot
from poolkeeper.planning.flows import Network
from poolkeeper.planning.measures import Measure
from poolkeeper.planning.opening import OPEN, Opened
from poolkeeper.planning.picking import Demand
from poolkeeper.planning.seating import seat
from poolkeeper.planning.shares import Band, band
from poolkeeper.planning.units import Unit

_MOVE = 100
_PROPOSAL = 10  # changing the list of a partition that does not exist yet
_TIERS = (-4, -2, 0, 2, 4)
_ROUNDS_MAX = 40

UNLIMITED = np.iinfo(np.int32).max
"""Replicas of a broker without a cap."""

UNLIMITED_MIB = np.iinfo(np.int64).max
"""MiB of a broker without a disk; of a pool replicas, too."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The layout found, and the band that it was made for (`triggered`: the narrower one)."""

    lists: Ints
    band: Band
    triggered: bool


@dataclass(frozen=True, slots=True)
class Room:
    """Hard bounds, huge where nothing is declared: replicas and MiB by broker and of the pool.

    Those of the pool are what still fits with the failures that its headroom asks for.
    """

    replicas: Ints
    mib: Ints
    pool_replicas: int
    pool_mib: int

    @property
    def bounded(self) -> bool:
        """Whether anything is declared."""
        single = (self.replicas < UNLIMITED) | (self.mib < UNLIMITED_MIB)
        return bool(single.any()) or min(self.pool_replicas, self.pool_mib) < UNLIMITED_MIB


def held_by(unit: Unit, lists: Ints) -> Ints:
    """Replicas by broker: of these lists and of the fixed load."""
    # Slots without a replica are counted before the first broker.
    counts: Ints = np.bincount(np.maximum(lists, NONE).ravel() + 1, minlength=len(unit.fixed) + 1)
    return unit.fixed + counts[1:]


def place(
    unit: Unit,
    opened: Opened,
    share: Floats,
    goal: Goal | None,
    room: Room,
    *,
    balance: bool,
    weighed: Measure | None = None,
) -> Placed:
    """Fill all open slots, then even out as the goal asks; `balance` off leaves the rest alone.

    `weighed`: what should come out even besides the number of replicas, if anything.
    """
    sizes = unit.mib if weighed is None else weighed.value
    setting = _Setting(unit, opened, np.argsort(sizes, kind="stable"), room, weighed)
    wide = band(share, goal if balance else None)
    narrow = band(share, goal if balance else None, half=True)
    lists = opened.lists
    if (lists == OPEN).any() or (unit.fresh.any() and not _settled(unit, lists, wide, room)):
        first = _round(setting, lists, wide)
        if first.offered:
            first = _round(setting, lists, narrow)
        lists = first.lists
    if _settled(unit, lists, wide, room):
        return Placed(lists, wide, False)
    for _ in range(_ROUNDS_MAX):
        if _settled(unit, lists, narrow, room):
            break
        step = _round(setting, lists, narrow)
        if not step.moved:
            break
        lists = step.lists
    return Placed(lists, narrow, True)


def _settled(unit: Unit, lists: Ints, target: Band, room: Room) -> bool:
    held = held_by(unit, lists)
    inside = (target.outside(held) == 0) & (held <= room.replicas)
    return bool(inside[unit.eligible].all())


@dataclass(frozen=True, slots=True)
class _Step:
    """Lists after a round; how many moves of existing replicas it wanted, how many moves it did."""

    lists: Ints
    offered: int
    moved: int


@dataclass(frozen=True, slots=True)
class _Setting:
    """What is the same in every round; `by_size` has all rows, the smallest first."""

    unit: Unit
    opened: Opened
    by_size: Ints
    room: Room
    weighed: Measure | None


def _round(setting: _Setting, lists: Ints, target: Band) -> _Step:
    unit, opened, room = setting.unit, setting.opened, setting.room
    strict = all(spread.strict for spread in opened.spreads)
    cells = cells_of(unit, merge=setting.weighed is not None and strict)
    offers = offers_of(unit, opened, lists, cells)
    wants = wants_of(unit, opened, lists, cells)
    flow = _solve(unit, opened, cells, offers, wants, held_by(unit, lists), target, room)
    aim, chosen = None, flow.offer_to_cell
    if setting.weighed is not None:
        aim = aim_of(setting.weighed, lists, unit.eligible)
        if chosen.any() and cells.merged:
            chosen = mixed(chosen, offers.sites)
    members = members_of(offers, any_slot(chosen > 0), setting.by_size)
    demand = Demand(cells, offers, members, wants, chosen, flow.want_to_cell, flow.quota, aim)
    seated = seat(unit, lists, demand, room.mib)
    return _Step(seated.lists, int(flow.offer_to_cell[~offers.fresh].sum()), seated.moved)


@dataclass(frozen=True, slots=True)
class _Flow:
    """Replicas by (offer, cell), (want, cell) and by broker."""

    offer_to_cell: Ints
    want_to_cell: Ints
    quota: Ints


def _solve(
    unit: Unit,
    opened: Opened,
    cells: Cells,
    offers: Offers,
    wants: Wants,
    held: Ints,
    target: Band,
    room: Room,
) -> _Flow:
    network = Network()
    broker = network.add_nodes(len(unit.fixed))
    cell = network.add_nodes(len(cells.members))
    sink = network.add_nodes(1)
    prices = _Prices.of(int(unit.eligible.sum()))

    offer_size = offers.size
    offer = network.add_nodes(len(offer_size))
    cost = np.where(offers.fresh, _PROPOSAL, _MOVE)
    network.add_arcs(broker[offers.broker], offer, offer_size, cost)
    tail, head = np.nonzero(offers.sites)
    offer_arcs = network.add_arcs(offer[tail], cell[head], offers.sites[tail, head], 0)

    want_size = np.diff(wants.start)
    want = network.add_nodes(len(want_size))
    want_tail, want_head, want_arcs = _add_wants(
        network, want, cell, opened, cells, wants, want_size, prices
    )
    sizes = [len(members) for members in cells.members]
    seats = np.concatenate([np.zeros(0, dtype=np.int64), *cells.members])
    total = int((want_size * wants.slots).sum() + offer_size.sum())
    seat_arcs = network.add_arcs(np.repeat(cell, sizes), broker[seats], total, 0)

    movable = np.bincount(offers.broker, weights=offer_size, minlength=len(unit.fixed))
    supply = np.zeros(network.nodes, dtype=np.int64)
    supply[broker] = movable.astype(np.int64)
    supply[want] = want_size * wants.slots
    supply[sink] = -total
    _add_tiers(network, unit, broker, sink, held - supply[broker], target, room, prices)

    flow = network.solve(supply)
    offer_to_cell = np.zeros(offers.sites.shape, dtype=np.int64)
    offer_to_cell[tail, head] = flow[offer_arcs]
    want_to_cell = np.zeros((len(want), len(cells.members)), dtype=np.int64)
    np.add.at(want_to_cell, (want_tail, want_head), flow[want_arcs])
    quota = np.zeros(len(unit.fixed), dtype=np.int64)
    quota[seats] = flow[seat_arcs]
    return _Flow(offer_to_cell, want_to_cell, quota)


@dataclass(frozen=True, slots=True)
class _Prices:
    """Of one replica outside its band, above a cap, and of one that keeps racks uneven."""

    outside: int
    above_cap: int
    uneven: int

    @staticmethod
    def of(brokers: int) -> "_Prices":
        # One replica outside a band must outweigh the longest chain of moves that can mend it.
        outside = 2 * _MOVE * (brokers + 2)
        return _Prices(outside, outside * 1_000, outside * 10_000)


def _add_wants(
    network: Network,
    want: Ints,
    cell: Ints,
    opened: Opened,
    cells: Cells,
    wants: Wants,
    size: Ints,
    prices: _Prices,
) -> tuple[Ints, Ints, slice]:
    """Arcs from wants to racks, within the racks' bounds, and on to cells: (class, cell, arcs)."""
    racks = int(cells.rack.max(initial=-1)) + 1
    low, high = bounds_of(opened, wants.spread_of, racks)
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
    network: Network,
    unit: Unit,
    broker: Ints,
    sink: Ints,
    base: Ints,
    target: Band,
    room: Room,
    prices: _Prices,
) -> None:
    """Arcs from brokers to the sink, dearer tier by tier; `base` is what each holds anyway."""
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
        rows = np.flatnonzero((bound > begin) & unit.eligible)
        network.add_arcs(broker[rows], np.repeat(sink, len(rows)), (bound - begin)[rows], cost)
        begin = bound
