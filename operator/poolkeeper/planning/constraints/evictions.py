"""Which replicas must leave, and how many slots open: what the laws alone demand.

For each partition:

- A replica that may not stay leaves its slot open.
- A higher replication factor opens slots at the end; a lower one drops replicas.
- If the kept replicas are spread unevenly over racks, the fewest slots are opened that mend it;
  none under `rackPolicy: AsFound`.
- If the pool has too few brokers, replicas that should leave stay: a replica in the wrong place is
  better than one less. Slots that still cannot be filled are not opened.
- A partition that has no source to copy from stays as it is.

Nearly all rows need none of this, and comparing columns recognises them. The same holds for rows
that only lose or gain replicas while the others stay, with enough brokers and one replica per rack,
and for rows of a lower replication factor whose replicas may all stay (`lowered_factors`). The rest
is settled one by one.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.model.specs import RackPolicy
from poolkeeper.planning.constraints.lowered_factors import kept_lists, lowered_rows
from poolkeeper.planning.constraints.racks import (
    Spread,
    as_found,
    crowded_rows,
    even_spread,
    rack_capacity,
    rack_counts,
)
from poolkeeper.planning.constraints.uneven_lists import WholeLists, open_for_racks
from poolkeeper.planning.problem.arrays import NONE, Bools, Floats, Ints, any_slot, count_slots
from poolkeeper.planning.problem.pool_problem import PoolProblem

OPEN = -2
"""A slot that needs a broker."""


@frozen
class OpenSlots:
    """The pool's lists with open slots; `spreads[spread_of[row]]` bounds the racks of a row.

    By replica:
    `stays`: it stays where it is in this plan: it is immovable, or its partition is on hold.
    `immovable`: it stays where it is in every plan.
    `stuck`: it should leave and cannot.

    By row:
    `brokerless`: the replicas that were requested and have no broker.
    `forced`: the replicas that every lawful layout must add.
    `forced_by_racks`: those of them that only the rack law demands.
    """

    lists: Ints
    stays: Bools
    immovable: Bools
    spreads: tuple[Spread, ...]
    spread_of: Ints
    stuck: Bools
    brokerless: Ints
    forced: Ints
    forced_by_racks: Ints


def open_slots(problem: PoolProblem, load: Ints) -> OpenSlots:
    """Settle every row; `load` (replicas by broker) breaks ties: fuller brokers give first."""
    if not problem.no_source.any():
        return _open(problem, load)
    there, no_source = problem.lists >= 0, problem.no_source[:, None]
    left = replace(
        problem,
        rf=np.where(problem.no_source, count_slots(there), problem.rf),
        leaves=problem.leaves & ~no_source,
        immovable=problem.immovable | (there & no_source),
    )
    opened = _open(left, load)
    return replace(opened, stuck=opened.stuck | (problem.leaves & no_source))


def _open(problem: PoolProblem, load: Ints) -> OpenSlots:
    rows, slots = problem.lists.shape
    lists = problem.lists.copy()
    immovable = problem.immovable.copy()
    stuck = np.zeros((rows, slots), dtype=bool)
    brokerless, forced, forced_by_racks = (np.zeros(rows, dtype=np.int64) for _ in range(3))
    capacity = rack_capacity(problem)
    nothing = (0,) * len(capacity)
    spreads: dict[Spread, int] = {}
    plain = {int(f): even_spread(int(f), capacity, nothing) for f in distinct(problem.rf)}
    number = {f: spreads.setdefault(even, len(spreads)) for f, even in plain.items()}
    spread_of = np.array([number.get(f, 0) for f in range(slots + 1)], dtype=np.int64)[problem.rf]
    relative = load / np.maximum(problem.weight, 1e-9)
    work = _needs_work(problem, tuple(spreads), spread_of)
    simple = _simple_rows(problem, work, tuple(spreads), spread_of)
    forced += _open_simple(problem, simple, lists)
    settled = lowered_rows(problem)
    lists[settled] = kept_lists(problem, np.flatnonzero(settled))
    crooked = settled.copy()
    crooked[settled] = _uneven(problem, lists[settled], tuple(spreads), spread_of[settled])
    uneven = whole_but_uneven(problem, work & ~simple)
    if problem.pool.rack_policy is RackPolicy.AS_FOUND:
        _widen(problem, lists, uneven | crooked, plain, spreads, spread_of)
    else:
        forced_by_racks += _open_uneven(problem, uneven, plain, lists, relative)
        settled &= ~crooked
    forced += forced_by_racks
    for row in np.flatnonzero(work & ~simple & ~settled & ~uneven):
        case = _Case(problem, int(row), relative, capacity)
        found = case.settle()
        lists[row] = NONE
        lists[row, : len(found.slots)] = found.slots
        for position, broker in enumerate(found.slots):
            immovable[row, position] = broker >= 0 and broker in found.immovable
            stuck[row, position] = broker in found.stuck
        immovable[row, len(found.slots) :] = False
        spread_of[row] = spreads.setdefault(found.spread, len(spreads))
        brokerless[row], forced[row] = found.brokerless, found.forced
        forced_by_racks[row] = found.forced_by_racks
    stays = immovable
    if problem.hold.any():
        on_hold = problem.hold[:, None]
        lists = np.where(on_hold, problem.lists, lists)
        stays = np.where(on_hold, problem.lists >= 0, immovable)
        forced[problem.hold] = forced_by_racks[problem.hold] = 0
    return OpenSlots(
        lists,
        stays,
        immovable,
        tuple(spreads),
        spread_of,
        stuck,
        brokerless,
        forced,
        forced_by_racks,
    )


def _needs_work(problem: PoolProblem, spreads: tuple[Spread, ...], spread_of: Ints) -> Bools:
    held = count_slots(problem.lists >= 0)
    touched = any_slot(problem.leaves | problem.immovable)
    work: Bools = (held != problem.rf) | touched
    return work | _uneven(problem, problem.lists, spreads, spread_of)


def _uneven(
    problem: PoolProblem, lists: Ints, spreads: tuple[Spread, ...], spread_of: Ints
) -> Bools:
    """By list, whether it is outside its spread."""
    strict = np.array([s.strict for s in spreads] or [True])
    uneven = np.zeros(len(lists), dtype=bool)
    uneven[crowded_rows(problem, lists)] = True
    # With more than one replica per rack, "two in one rack" is not the only uneven spread.
    for number in np.flatnonzero(~strict):
        same = np.flatnonzero(spread_of == number)
        uneven[same] = _uneven_rows(problem, lists[same], spreads[number])
    return uneven


def _simple_rows(
    problem: PoolProblem, work: Bools, spreads: tuple[Spread, ...], spread_of: Ints
) -> Bools:
    """Rows whose remaining replicas stay lawful whichever brokers fill the open slots."""
    if not work.any():
        return work
    strict = np.array([s.strict for s in spreads] or [True])
    held = count_slots(problem.lists >= 0)
    kept = np.where(problem.leaves, NONE, problem.lists)
    simple: Bools = work & strict[spread_of] & ~any_slot(problem.immovable) & (problem.rf >= held)
    simple &= problem.rf <= problem.eligible.sum()
    simple[crowded_rows(problem, kept)] = False
    return simple


def _open_simple(problem: PoolProblem, simple: Bools, lists: Ints) -> Ints:
    """Open the slots of these rows in place; return how many, by row."""
    rows = np.flatnonzero(simple)
    own = np.where(problem.leaves[rows], OPEN, problem.lists[rows])
    own[(own == NONE) & (np.arange(own.shape[1]) < problem.rf[rows, None])] = OPEN
    lists[rows] = own
    opened = np.zeros(len(problem), dtype=np.int64)
    opened[rows] = (own == OPEN).sum(axis=1)
    return opened


def whole_but_uneven(problem: PoolProblem, work: Bools) -> Bools:
    """Of these rows those of which nothing but the racks is wrong: all replicas may stay."""
    usable = int(problem.eligible.sum())
    held = count_slots(problem.lists >= 0)
    first = np.arange(problem.lists.shape[1]) < problem.rf[:, None]
    found: Bools = work & (held == problem.rf) & ((problem.lists >= 0) == first).all(axis=1)
    found &= (problem.rf > 0) & (problem.rf <= usable)
    return found & ~any_slot(problem.leaves | problem.immovable)


def _open_uneven(
    problem: PoolProblem, uneven: Bools, plain: Mapping[int, Spread], lists: Ints, relative: Floats
) -> Ints:
    """Open the slots of these rows in place, as `_Case` would; return how many, by row."""
    opened = np.zeros(len(problem), dtype=np.int64)
    for factor, even in plain.items():
        rows = np.flatnonzero(uneven & (problem.rf == factor))
        if not len(rows):
            continue
        own = problem.lists[rows, :factor]
        leader = problem.leader[rows]
        leads = own == np.where((own == leader[:, None]).any(axis=1), leader, own[:, 0])[:, None]
        opened[rows] = open_for_racks(
            WholeLists(own, problem.brokers.rack[own], leads), even, relative, OPEN
        )
        lists[rows, :factor] = own
    return opened


def _widen(
    problem: PoolProblem,
    lists: Ints,
    uneven: Bools,
    plain: Mapping[int, Spread],
    spreads: dict[Spread, int],
    spread_of: Ints,
) -> None:
    """Bound these rows by the spread that their own racks widen, in place."""
    for factor, even in plain.items():
        rows = np.flatnonzero(uneven & (problem.rf == factor))
        racks = np.sort(problem.brokers.rack[lists[rows, :factor]], axis=1)
        number: dict[tuple[int, ...], int] = {}
        for row, held in zip(rows.tolist(), map(tuple, racks.tolist()), strict=True):
            known = number.get(held)
            if known is None:
                widened = as_found(even, Counter(held), 0)
                known = number[held] = spreads.setdefault(widened, len(spreads))
            spread_of[row] = known


def _uneven_rows(problem: PoolProblem, lists: Ints, even: Spread) -> Bools:
    racks = len(problem.brokers.rack_names)
    counts = np.zeros((len(lists), racks), dtype=np.int64)
    for slot in range(lists.shape[1]):
        brokers = lists[:, slot]
        there = np.flatnonzero(brokers >= 0)
        np.add.at(counts, (there, problem.brokers.rack[brokers[there]]), 1)
    outside = (counts > np.array(even.high)) | (counts < np.array(even.low))
    return np.asarray(outside.any(axis=1), dtype=bool)


@frozen
class _RowSlots:
    slots: list[int]
    immovable: frozenset[int]
    stuck: frozenset[int]
    spread: Spread
    brokerless: int
    forced: int
    forced_by_racks: int


class _Case:
    """One partition being settled; used only within `open_slots`."""

    def __init__(
        self, problem: PoolProblem, row: int, relative: Floats, capacity: tuple[int, ...]
    ) -> None:
        self.problem, self.relative, self.capacity = problem, relative, capacity
        self.rf = int(problem.rf[row])
        found = problem.lists[row].tolist()
        self.slots: list[int] = [b for b in found if b >= 0]
        self.leaving = {b for s, b in enumerate(found) if b >= 0 and problem.leaves[row, s]}
        self.immovable = {b for s, b in enumerate(found) if b >= 0 and problem.immovable[row, s]}
        leader = int(problem.leader[row])
        self.leader = leader if leader in self.slots else self.slots[0]

    def settle(self) -> _RowSlots:
        stuck, brokerless = self._retain()
        self.slots = [OPEN if b in self.leaving else b for b in self.slots]
        self._resize(self.rf - brokerless)
        kept = [b for b in self.slots if b >= 0]
        even = self._spread(kept)
        missing = self.slots.count(OPEN)
        forced_by_racks = 0
        if self.problem.pool.rack_policy is RackPolicy.AS_FOUND:
            even = as_found(even, rack_counts(self.problem, kept), missing)
        else:
            forced_by_racks = self._open_for_racks(even, missing)
        return _RowSlots(
            slots=self.slots,
            immovable=frozenset(self.immovable),
            stuck=frozenset(stuck & set(self.slots)),
            spread=even,
            brokerless=brokerless,
            forced=missing + forced_by_racks,
            forced_by_racks=forced_by_racks,
        )

    def _retain(self) -> tuple[set[int], int]:
        """Keep leaving replicas that cannot be replaced; return how many others have no broker."""
        problem = self.problem
        kept = [b for b in self.slots if b not in self.leaving]
        free = int(problem.eligible.sum()) - sum(bool(problem.eligible[b]) for b in kept)
        possible = len(kept) + free
        # Existing replicas are kept. But no replica is added while another ought to leave, nor
        # beyond what live brokers can hold while others are down.
        target = min(self.rf, max(min(possible, int(problem.eligible.sum())), len(self.slots)))
        lacking = max(0, target - possible)
        stuck: set[int] = set()
        for _ in range(min(lacking, len(self.leaving))):
            stays = self._stays_best(kept)
            kept.append(stays)
            stuck.add(stays)
            self.leaving.remove(stays)
        self.immovable |= stuck
        return stuck, self.rf - target

    def _stays_best(self, kept: list[int]) -> int:
        """Return the leaving replica that does least harm beside `kept`.

        Every broker that may hold replicas will have one of them: a replica in a rack of its own
        stays before one that would share its rack with them, wherever the two are. Where racks are
        shared that were not, the audit refuses the topic.
        """
        problem = self.problem
        inside = set(problem.pool_brokers)
        beside = {*kept, *np.flatnonzero(problem.eligible).tolist()}
        held = rack_counts(problem, list(beside))

        def harm(broker: int) -> tuple[int, bool, bool, int]:
            shared = held[int(problem.brokers.rack[broker])] - (broker in beside)
            live = bool(problem.brokers.live[broker])
            return shared, broker not in inside, not live, self.slots.index(broker)

        best: int = min(self.leaving, key=harm)
        return best

    def _spread(self, kept: list[int]) -> Spread:
        holders = sorted(self.immovable & set(kept))
        capacity = self.capacity
        held = rack_counts(self.problem, holders)
        immovable = tuple([held[rack] for rack in range(len(capacity))])
        if sum(map(max, capacity, immovable)) < len(self.slots):
            # Live brokers have too little room while others are down: count those as well.
            free = rack_capacity(self.problem, holders)
            capacity = tuple(a + b for a, b in zip(free, immovable, strict=True))
        return even_spread(len(self.slots), capacity, immovable)

    def _resize(self, wanted: int) -> None:
        while len(self.slots) > wanted and OPEN in self.slots:
            self.slots.remove(OPEN)
        while len(self.slots) > wanted:
            self.slots.remove(self._to_drop(wanted))
        self.slots += [OPEN] * (wanted - len(self.slots))

    def _to_drop(self, wanted: int) -> int:
        """What to drop: dead ones first, then as racks stay even, then no leader, then fullest."""
        even = even_spread(wanted, self.capacity, (0,) * len(self.capacity))

        def key(broker: int) -> tuple[bool, int, bool, float, int]:
            rest = rack_counts(self.problem, [b for b in self.slots if b >= 0 and b != broker])
            return (
                bool(self.problem.brokers.live[broker]),
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
            counts = rack_counts(self.problem, kept)
            above = even.above(counts)
            if above == 0 and even.below(counts) <= missing + opened:
                return opened
            rack = self.problem.brokers.rack
            bound = even.high if above else even.low
            givers = [
                b for b in kept if b not in self.immovable and counts[rack[b]] > bound[rack[b]]
            ]
            if not givers:
                return opened
            giver = min(
                givers,
                key=lambda b: (b == self.leader, -float(self.relative[b]), -self.slots.index(b)),
            )
            self.slots[self.slots.index(giver)] = OPEN
            opened += 1
