"""How close a plan is to the fewest moves: lower bounds that hold for every plan that does as well.

Let a plan satisfy the laws as well as ours and end inside the same bands. Then, counting the
replicas that it adds:

1. *Forced.* A slot whose replica may not stay and is asked for, a slot that a higher replication
   factor adds, and a replica too many in a rack, each need one addition, in different slots.
   So additions >= the sum over partitions of forced additions.
2. *Over-full.* Consider the slots not forced by 1 except for racks. Broker b keeps k_b of them on
   eligible brokers and may end with high_b at most, so at least k_b - high_b of its replicas leave
   and, as the partition keeps its replication factor, each is replaced by an addition in a slot
   that (1) has not counted. So additions >= forced without racks + sum of (k_b - high_b)+.
3. *Under-full.* Broker b ends with low_b at least and keeps at most k_b, so it is given at least
   low_b - k_b. Each addition goes to one broker. So additions >= sum of (low_b - k_b)+.

Where a replication factor falls, which replica stays is the plan's choice; (2) and (3) then count
k_b with all of them kept for (3), and without them for (2), so both remain bounds.

The bound is the largest of the three. The bound of bytes is that of 1 and 2 alike: forced additions
cost their partitions' size, and what leaves an over-full broker costs its smallest replicas at
least; where (3) is larger it adds nothing. Both bounds hold each by itself, not together.
"""

import numpy as np

from poolkeeper.model.plans import Move, PoolCertificate
from poolkeeper.planning.layouts import Layout
from poolkeeper.planning.units import MIB, Ints, Unit

_WITNESSES = 5


def certificate(layout: Layout, moves: list[Move]) -> PoolCertificate:
    """Bounds for one unit; `moves` are its moves."""
    unit, opened = layout.unit, layout.opened
    added = sum(len(set(move.target) - set(move.source)) for move in moves)
    forced, racks = int(opened.forced.sum()), int(opened.crowded.sum())
    surely, possibly = _kept(layout)
    band = layout.placed.band
    high = np.minimum(band.high, layout.room.replicas)
    eligible = unit.eligible
    over = np.where(eligible, np.maximum(surely - high, 0), 0)
    under = np.where(eligible, np.maximum(band.low - possibly, 0), 0)
    bound = max(forced, forced - racks + int(over.sum()), int(under.sum()))
    moved = sum(move.bytes for move in moves)
    least = _bytes_bound(layout, over)
    return PoolCertificate(
        pool=unit.pool.name,
        replica_moves=added,
        replica_moves_lower_bound=bound,
        bytes=moved,
        bytes_lower_bound=min(least, moved),
        gap_percent=round(100 * (added - bound) / bound, 2) if bound else 0.0,
        witness=_witness(layout, surely, possibly, over, under),
    )


def _kept(layout: Layout) -> tuple[Ints, Ints]:
    """Replicas by broker that stay unless balance moves them: at least, and at most."""
    unit, opened = layout.unit, layout.opened
    stays = (unit.lists >= 0) & ~unit.leaves
    shrinking = stays.sum(axis=1) > (opened.lists != -1).sum(axis=1)
    size = len(unit.fixed)
    possibly = np.bincount(unit.lists[stays], minlength=size)
    surely = np.bincount(unit.lists[stays & ~shrinking[:, None]], minlength=size)
    return unit.fixed + surely, unit.fixed + possibly


def _bytes_bound(layout: Layout, over: Ints) -> int:
    unit, opened = layout.unit, layout.opened
    forced = int((opened.forced * unit.mib).sum())
    spread_only = int((opened.crowded * unit.mib).sum())
    smallest = 0
    for broker in np.flatnonzero(over):
        sizes = np.sort(unit.mib[(unit.lists == broker).any(axis=1)])
        smallest += int(sizes[: over[broker]].sum())
    # Sizes are rounded up to MiB: take back what rounding may have added.
    rounding = int(opened.forced.sum() + over.sum())
    return max(0, max(forced, forced - spread_only + smallest) - rounding) * MIB


def _witness(layout: Layout, surely: Ints, possibly: Ints, over: Ints, under: Ints) -> str:
    unit = layout.unit
    parts = []
    leaving = np.bincount(unit.lists[unit.leaves & (unit.lists >= 0)], minlength=len(over))
    for broker in _largest(leaving):
        parts.append(f"broker {_id(unit, broker)} must give {leaving[broker]}")
    for broker in _largest(over):
        held, high = surely[broker], surely[broker] - over[broker]
        parts.append(f"broker {_id(unit, broker)} keeps {held}, may hold {high}")
    for broker in _largest(under):
        held, low = possibly[broker], possibly[broker] + under[broker]
        parts.append(f"broker {_id(unit, broker)} keeps {held}, shall hold {low}")
    grown = int(np.maximum(unit.rf - (unit.lists >= 0).sum(axis=1), 0).sum())
    if grown:
        parts.append(f"{grown} replicas more are asked for")
    if racks := int(layout.opened.crowded.sum()):
        parts.append(f"{racks} replicas stand too many in their racks")
    return "; ".join(parts)


def _largest(counts: Ints) -> list[int]:
    rows = np.flatnonzero(counts > 0)
    return rows[np.lexsort((rows, -counts[rows]))][:_WITNESSES].tolist()


def _id(unit: Unit, row: int) -> int:
    return unit.brokers.ids[row]
