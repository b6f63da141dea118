"""Which replicas must leave, and how many slots open: what the laws alone demand.

For each partition:

- A replica that may not stay leaves its slot open.
- A higher replication factor opens slots at the end; a lower one drops replicas.
- If the kept replicas are spread unevenly over racks, the fewest slots are opened that mend it.
- If the pool has too few brokers, replicas that should leave stay: a replica in the wrong place is
  better than one less. Slots that still cannot be filled are not opened.
- A partition that has no source to copy from stays as it is.

Nearly all rows need none of this, and comparing columns recognises them. The same holds for rows
that only lose or gain replicas while the others stay, with enough brokers and one replica per rack.
The rest is settled one by one.
"""

from dataclasses import dataclass, replace

import numpy as np

from poolkeeper.planning.constraints.racks import (
    Spread,
    crowded,
    rack_capacity,
    rack_counts,
    spread,
)
from poolkeeper.planning.problem.arrays import NONE, Bools, Floats, Ints, any_slot, count_slots
from poolkeeper.planning.problem.pool_problem import PoolProblem

OPEN = -2
"""A slot that needs a broker."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The pool's lists with open slots; `spreads[spread_of[row]]` bounds the racks of a row.

    By replica:
    `pinned`: it stays where it is.
    `fixed`: it stays for good. Other pinned replicas belong to partitions that only this plan
    holds.
    `stuck`: it should leave and cannot.

    By row:
    `short`: the replicas that were requested and have no broker.
    `forced`: the replicas that every lawful layout must add.
    `crowded`: those of them that only the rack law demands.
    """

    lists: Ints
    pinned: Bools
    fixed: Bools
    spreads: tuple[Spread, ...]
    spread_of: Ints
    stuck: Bools
    short: Ints
    forced: Ints
    crowded: Ints


def open_slots(unit: PoolProblem, load: Ints) -> Opened:
    """Settle every row; `load` (replicas by broker) breaks ties: fuller brokers give first."""
    if not unit.blocked.any():
        return _opened(unit, load)
    there, blocked = unit.lists >= 0, unit.blocked[:, None]
    held = replace(
        unit,
        rf=np.where(unit.blocked, count_slots(there), unit.rf),
        leaves=unit.leaves & ~blocked,
        pinned=unit.pinned | (there & blocked),
    )
    opened = _opened(held, load)
    return replace(opened, stuck=opened.stuck | (unit.leaves & blocked))


def _opened(unit: PoolProblem, load: Ints) -> Opened:
    rows, slots = unit.lists.shape
    lists = unit.lists.copy()
    pinned = unit.pinned.copy()
    stuck = np.zeros((rows, slots), dtype=bool)
    short, forced, for_racks = (np.zeros(rows, dtype=np.int64) for _ in range(3))
    capacity = rack_capacity(unit)
    nothing = (0,) * len(capacity)
    spreads: dict[Spread, int] = {}
    plain = {
        int(f): spreads.setdefault(spread(int(f), capacity, nothing), len(spreads))
        for f in np.unique(unit.rf)
    }
    spread_of = np.array([plain.get(int(f), 0) for f in range(slots + 1)], dtype=np.int64)[unit.rf]
    relative = load / np.maximum(unit.weight, 1e-9)
    work = _needs_work(unit, tuple(spreads), spread_of)
    simple = _simple(unit, work, tuple(spreads), spread_of)
    forced += _open_simple(unit, simple, lists)
    for row in np.flatnonzero(work & ~simple):
        case = _Case(unit, int(row), relative, capacity)
        settled = case.settle()
        lists[row] = NONE
        lists[row, : len(settled.slots)] = settled.slots
        for position, broker in enumerate(settled.slots):
            pinned[row, position] = broker >= 0 and broker in settled.fixed
            stuck[row, position] = broker in settled.stuck
        pinned[row, len(settled.slots) :] = False
        spread_of[row] = spreads.setdefault(settled.spread, len(spreads))
        short[row], forced[row] = settled.short, settled.forced
        for_racks[row] = settled.for_racks
    fixed = pinned
    if unit.still.any():
        held = unit.still[:, None]
        lists = np.where(held, unit.lists, lists)
        pinned = np.where(held, unit.lists >= 0, pinned)
        forced[unit.still] = for_racks[unit.still] = 0
    return Opened(lists, pinned, fixed, tuple(spreads), spread_of, stuck, short, forced, for_racks)


def _needs_work(unit: PoolProblem, spreads: tuple[Spread, ...], spread_of: Ints) -> Bools:
    held = count_slots(unit.lists >= 0)
    touched = any_slot(unit.leaves | unit.pinned)
    strict = np.array([s.strict for s in spreads] or [True])
    uneven = np.zeros(len(unit), dtype=bool)
    uneven[crowded(unit, unit.lists)] = True
    # With more than one replica per rack, "two in one rack" is not the only uneven spread.
    for number in np.flatnonzero(~strict):
        same = np.flatnonzero(spread_of == number)
        uneven[same] = _uneven(unit, same, spreads[number])
    work: Bools = (held != unit.rf) | touched | uneven
    return work


def _simple(unit: PoolProblem, work: Bools, spreads: tuple[Spread, ...], spread_of: Ints) -> Bools:
    """Rows whose remaining replicas stay lawful whichever brokers fill the open slots."""
    if not work.any():
        return work
    strict = np.array([s.strict for s in spreads] or [True])
    held = count_slots(unit.lists >= 0)
    kept = np.where(unit.leaves, NONE, unit.lists)
    simple: Bools = work & strict[spread_of] & ~any_slot(unit.pinned) & (unit.rf >= held)
    simple &= unit.rf <= unit.eligible.sum()
    simple[crowded(unit, kept)] = False
    return simple


def _open_simple(unit: PoolProblem, simple: Bools, lists: Ints) -> Ints:
    """Open the slots of these rows in place; return how many, by row."""
    rows = np.flatnonzero(simple)
    own = np.where(unit.leaves[rows], OPEN, unit.lists[rows])
    own[(own == NONE) & (np.arange(own.shape[1]) < unit.rf[rows, None])] = OPEN
    lists[rows] = own
    opened = np.zeros(len(unit), dtype=np.int64)
    opened[rows] = (own == OPEN).sum(axis=1)
    return opened


def _uneven(unit: PoolProblem, rows: Ints, even: Spread) -> Bools:
    racks = len(unit.brokers.rack_names)
    counts = np.zeros((len(rows), racks), dtype=np.int64)
    for slot in range(unit.lists.shape[1]):
        brokers = unit.lists[rows, slot]
        there = np.flatnonzero(brokers >= 0)
        np.add.at(counts, (there, unit.brokers.rack[brokers[there]]), 1)
    outside = (counts > np.array(even.high)) | (counts < np.array(even.low))
    return np.asarray(outside.any(axis=1), dtype=bool)


@dataclass(frozen=True, slots=True)
class _Settled:
    slots: list[int]
    fixed: frozenset[int]
    stuck: frozenset[int]
    spread: Spread
    short: int
    forced: int
    for_racks: int


class _Case:
    """One partition being settled; used only within `open_slots`."""

    def __init__(
        self, unit: PoolProblem, row: int, relative: Floats, capacity: tuple[int, ...]
    ) -> None:
        self.unit, self.relative, self.capacity = unit, relative, capacity
        self.rf = int(unit.rf[row])
        found = unit.lists[row].tolist()
        self.slots: list[int] = [b for b in found if b >= 0]
        self.leaving = {b for s, b in enumerate(found) if b >= 0 and unit.leaves[row, s]}
        self.fixed = {b for s, b in enumerate(found) if b >= 0 and unit.pinned[row, s]}
        leader = int(unit.leader[row])
        self.leader = leader if leader in self.slots else self.slots[0]

    def settle(self) -> _Settled:
        stuck, short = self._retain()
        self.slots = [OPEN if b in self.leaving else b for b in self.slots]
        self._resize(self.rf - short)
        kept = [b for b in self.slots if b >= 0]
        even = self._spread(kept)
        missing = self.slots.count(OPEN)
        for_racks = self._open_for_racks(even, missing)
        return _Settled(
            slots=self.slots,
            fixed=frozenset(self.fixed),
            stuck=frozenset(stuck & set(self.slots)),
            spread=even,
            short=short,
            forced=missing + for_racks,
            for_racks=for_racks,
        )

    def _retain(self) -> tuple[set[int], int]:
        """Keep leaving replicas that cannot be replaced; return how many others have no broker."""
        unit = self.unit
        kept = [b for b in self.slots if b not in self.leaving]
        free = int(unit.eligible.sum()) - sum(bool(unit.eligible[b]) for b in kept)
        possible = len(kept) + free
        # Existing replicas are kept. But no replica is added while another ought to leave, nor
        # beyond what live brokers can hold while others are down.
        target = min(self.rf, max(min(possible, int(unit.eligible.sum())), len(self.slots)))
        lacking = max(0, target - possible)
        inside = set(unit.brokers.rows(unit.pool.brokers))
        candidates = sorted(
            (b for b in self.slots if b in self.leaving),
            key=lambda b: (b not in inside, not unit.brokers.live[b], self.slots.index(b)),
        )
        stuck = set(candidates[:lacking])
        self.leaving -= stuck
        self.fixed |= stuck
        return stuck, self.rf - target

    def _spread(self, kept: list[int]) -> Spread:
        fixed = sorted(self.fixed & set(kept))
        pinned = tuple(rack_counts(self.unit, fixed))
        room = self.capacity
        if sum(map(max, room, pinned)) < len(self.slots):
            # Live brokers have too little room while others are down: count those as well.
            free = rack_capacity(self.unit, fixed)
            room = tuple(a + b for a, b in zip(free, pinned, strict=True))
        return spread(len(self.slots), room, pinned)

    def _resize(self, wanted: int) -> None:
        while len(self.slots) > wanted and OPEN in self.slots:
            self.slots.remove(OPEN)
        while len(self.slots) > wanted:
            self.slots.remove(self._to_drop(wanted))
        self.slots += [OPEN] * (wanted - len(self.slots))

    def _to_drop(self, wanted: int) -> int:
        """What to drop: dead ones first, then as racks stay even, then no leader, then fullest."""
        even = spread(wanted, self.capacity, (0,) * len(self.capacity))

        def key(broker: int) -> tuple[bool, int, bool, float, int]:
            rest = rack_counts(self.unit, [b for b in self.slots if b >= 0 and b != broker])
            return (
                bool(self.unit.brokers.live[broker]),
                even.excess(rest),
                broker == self.leader,
                -float(self.relative[broker]),
                -self.slots.index(broker),
            )

        return min((b for b in self.slots if b >= 0), key=key)

    def _open_for_racks(self, even: Spread, missing: int) -> int:
        """Open slots in overfull racks until filling alone can make the rest even."""
        opened = 0
        while True:
            kept = [b for b in self.slots if b >= 0]
            counts = rack_counts(self.unit, kept)
            above = even.above(counts)
            if above == 0 and even.below(counts) <= missing + opened:
                return opened
            rack = self.unit.brokers.rack
            bound = even.high if above else even.low
            givers = [b for b in kept if b not in self.fixed and counts[rack[b]] > bound[rack[b]]]
            if not givers:
                return opened
            giver = min(
                givers,
                key=lambda b: (b == self.leader, -float(self.relative[b]), -self.slots.index(b)),
            )
            self.slots[self.slots.index(giver)] = OPEN
            opened += 1
