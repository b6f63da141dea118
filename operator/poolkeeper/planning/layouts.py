"""One pool's layout, from what was found to what is wanted: open, place, lead.

This is section 4 of the design for one unit, read from top to bottom. A higher replication factor
is given up where it would only put the pool further beyond its capacity: a lower law may get worse
for a higher one, and wishing for more replicas is none.
"""

from dataclasses import dataclass, replace

import numpy as np

from poolkeeper.model.specs import ClusterLimits, Goal, GoalKind, LimitPolicy, ResourcePoolSpec
from poolkeeper.planning.columns import NONE, Floats, Ints, any_slot, count_slots
from poolkeeper.planning.leaders import Led, lead
from poolkeeper.planning.opening import Opened, open_slots
from poolkeeper.planning.placement import Placed, Room, held_by, place
from poolkeeper.planning.quotas import headroom_mib, headroom_replicas
from poolkeeper.planning.seating import held_mib
from poolkeeper.planning.shares import Domain, shares
from poolkeeper.planning.spreading import Usable
from poolkeeper.planning.units import Unit

_UNLIMITED = np.iinfo(np.int32).max
_UNLIMITED_MIB = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Layout:
    """The unit as planned for, its slots as the laws opened them, and where all replicas go.

    `ungrown` marks rows whose higher replication factor found no room.
    """

    unit: Unit
    opened: Opened
    placed: Placed
    led: Led
    room: Room
    balance: bool
    ungrown: bool = False

    @property
    def excess(self) -> int:
        """Replicas and MiB above caps, disks and headroom."""
        return _excess(self.unit, self.lists, self.room)

    @property
    def lists(self) -> Ints:
        """The wanted lists, in columns."""
        return self.led.lists


def lay_out(unit: Unit, usable: Usable, limits: ClusterLimits, *, balance: bool) -> Layout:
    """The wanted layout of one unit."""
    room = room_of(unit, usable, limits)
    layout = _lay_out(unit, room, balance=balance)
    found = count_slots(unit.lists >= 0)
    if layout.excess and (unit.rf > found).any():
        modest = _lay_out(replace(unit, rf=np.minimum(unit.rf, found)), room, balance=balance)
        if modest.excess < layout.excess:
            return replace(modest, ungrown=True)
    return layout


def _lay_out(unit: Unit, room: Room, *, balance: bool) -> Layout:
    opened = open_slots(unit, held_by(unit, unit.lists))
    share = share_of(unit, opened, room)
    replicas = _goal(unit.pool, GoalKind.REPLICAS)
    placed = place(unit, opened, share, replicas, room, balance=balance)
    led = lead(unit, placed.lists, unit.placed, _goal(unit.pool, GoalKind.LEADERS), balance=balance)
    return Layout(unit, opened, placed, led, room, balance)


def room_of(unit: Unit, usable: Usable, limits: ClusterLimits) -> Room:
    """Caps by broker; what is not declared is unlimited."""
    replicas = np.full(len(unit.fixed), _UNLIMITED, dtype=np.int64)
    mib = np.full(len(unit.fixed), _UNLIMITED_MIB, dtype=np.int64)
    for broker in unit.pool.brokers:
        row, capacity = unit.brokers.index[broker], unit.pool.capacity_for(broker)
        cap = replicas_cap(unit.pool, broker, limits)
        if cap is not None:
            replicas[row] = cap
        if capacity.disk_bytes is not None:
            mib[row] = capacity.disk_bytes // (1024 * 1024)
    in_pool = headroom_replicas(unit.pool, usable), headroom_mib(unit.pool, usable)
    pool_replicas, pool_mib = (_UNLIMITED_MIB if left is None else left for left in in_pool)
    return Room(replicas, mib, int(pool_replicas), int(pool_mib))


def replicas_cap(pool: ResourcePoolSpec, broker: int, limits: ClusterLimits) -> int | None:
    """The most replicas that the broker may hold: its own cap, or the cluster's enforced limit."""
    caps = [pool.capacity_for(broker).replicas]
    if limits.policy is LimitPolicy.ENFORCE:
        caps.append(limits.replicas_per_broker)
    return min((cap for cap in caps if cap is not None), default=None)


def share_of(unit: Unit, opened: Opened, room: Room) -> Floats:
    """Each eligible broker's fair share of the unit's replicas and the fixed load."""
    eligible, rack = unit.eligible, unit.brokers.rack
    racks, size = len(unit.brokers.rack_names), len(unit.fixed)
    lows, highs = _bounds(opened, racks)
    spreads = len(opened.spreads)
    count = np.bincount(opened.spread_of, minlength=spreads)
    low, high = count @ lows, count @ highs
    pinned = np.bincount(opened.lists[opened.pinned], minlength=size)
    base = unit.fixed + pinned
    # Rows that need all brokers of a rack, or all but a few, leave these brokers no choice.
    plain = np.bincount(opened.spread_of[~any_slot(opened.pinned)], minlength=spreads)
    members = np.bincount(rack[eligible], minlength=racks)
    needed = plain @ np.maximum(lows - np.maximum(members - 1, 0), 0)
    floor = base + needed[rack] * eligible
    movable = int(any_slot((opened.lists != NONE) & ~opened.pinned).sum())
    ceiling = np.maximum(np.minimum(base + movable, room.replicas), floor)
    elsewhere = np.bincount(rack[~eligible], weights=pinned[~eligible], minlength=racks)
    domains = []
    for number in np.unique(rack[eligible]):
        rows = np.flatnonzero(eligible & (rack == number))
        own = unit.fixed[rows].sum() - elsewhere[number]
        domains.append(Domain(rows, float(low[number] + own), float(high[number] + own)))
    slots = int((opened.lists != NONE).sum()) - int(pinned[~eligible].sum())
    total = float(unit.fixed[eligible].sum() + slots)
    return shares(total, unit.weight, floor.astype(float), ceiling.astype(float), tuple(domains))


def _bounds(opened: Opened, racks: int) -> tuple[Ints, Ints]:
    """Low and high ends by (spread, rack)."""
    shape = len(opened.spreads), racks
    lows = np.array([spread.low for spread in opened.spreads], dtype=np.int64)
    highs = np.array([spread.high for spread in opened.spreads], dtype=np.int64)
    return lows.reshape(shape), highs.reshape(shape)


def _excess(unit: Unit, lists: Ints, room: Room) -> int:
    """Replicas and MiB above caps, disks and headroom, summed over the pool's brokers."""
    inside = unit.brokers.rows(unit.pool.brokers)
    held = held_by(unit, lists)[inside]
    mib = (unit.fixed_mib + held_mib(unit, lists))[inside]
    single = np.maximum(held - room.replicas[inside], 0).sum()
    single += np.maximum(mib - room.mib[inside], 0).sum()
    together = max(0, int(held.sum()) - room.pool_replicas) + max(0, int(mib.sum()) - room.pool_mib)
    return int(single) + together


def _goal(pool: ResourcePoolSpec, kind: GoalKind) -> Goal | None:
    return next((goal for goal in pool.goals if goal.kind is kind), None)
