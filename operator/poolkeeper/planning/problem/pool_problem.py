"""One pool's planning problem as columns: a row per partition, a column per replica slot.

A unit is a pool with every topic that shall live in it: migrating topics and strays count here, not
where they are now. What else stays on the pool's brokers comes along as fixed load. Partitions that
are created by the same plan are rows too, so that they help to even out instead of disturbing.

Decisions count sizes in whole MiB, rounded up; a partition of unknown size counts as its topic's
median, else 1 MiB.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from poolkeeper.model.specs import ResourcePoolSpec
from poolkeeper.planning.problem.arrays import (
    MIB,
    Bools,
    BrokerIndex,
    Floats,
    Ints,
    any_slot,
    eligible_of,
)
from poolkeeper.planning.problem.partitions import Lists
from poolkeeper.planning.problem.pool_rows import fixed_load, rows_of
from poolkeeper.planning.problem.scope import TopicHome, TopicRole


@dataclass(frozen=True, slots=True)
class Unit:
    """A pool and the partitions that shall live in it, rows in order of (topic, partition).

    `lists` (rows × slots) is what was found, each broker once; `rf` is what is wanted. `leaves`
    marks replicas that may not stay where they are, `pinned` those that stay and may not be moved.
    `fresh` marks partitions that do not exist yet: their lists are a proposal, free to change.
    `placed` marks partitions that live here (the others are unmanaged, and only evacuated).
    `still` marks those that must stay as they are this time, and may move again by the next plan,
    `blocked` those that cannot be moved at all: nothing can be copied from them (see `sources`).
    `doubled` marks those whose list named a broker twice and shall not: it changes in any case.
    `eligible`: brokers that may be given replicas; `leads`: those of them that may lead.
    `fixed`, `fixed_leaders`, `fixed_mib` and `fixed_rate` are the load of other topics, by broker.
    `size` is in bytes, `rate` in KiB/s; `sized`: whether any size is known.
    """

    pool: ResourcePoolSpec
    role: TopicRole
    brokers: BrokerIndex
    topics: tuple[str, ...]
    topic: Ints
    number: Ints
    lists: Ints
    rf: Ints
    size: Ints
    mib: Ints
    rate: Ints
    leader: Ints
    fresh: Bools
    leaves: Bools
    pinned: Bools
    eligible: Bools
    leads: Bools
    placed: Bools
    still: Bools
    blocked: Bools
    doubled: Bools
    sized: bool
    weight: Floats
    fixed: Ints
    fixed_leaders: Ints
    fixed_mib: Ints
    fixed_rate: Ints

    def __len__(self) -> int:
        return len(self.rf)


@dataclass(frozen=True, slots=True)
class Guests:
    """Replicas and MiB by broker."""

    replicas: Ints
    mib: Ints


def unit_of(
    pool: ResourcePoolSpec,
    homes: Mapping[str, TopicHome],
    lists: Lists,
    role: TopicRole = TopicRole.PLACED,
    held: frozenset[str] = frozenset(),
    guests: Guests | None = None,
) -> Unit:
    """The pool's columns; `homes` and `lists` of all topics, those of this plan included.

    The unit holds the topics of one role that live in the pool: PLACED ones or, apart from them,
    EVACUATED ones that have a replica to bring out. Existing partitions of topics in `held` stay
    where they are. `guests` is load of other pools' topics that should leave this pool's brokers
    and cannot.
    """
    brokers = lists.brokers
    inside, emptied = _inside(pool, brokers)
    names = _topics(pool, homes, role, lists, inside & emptied)
    rows = rows_of(names, homes, lists, held)
    eligible = eligible_of(pool, brokers)
    leaves, pinned = _standing(rows.lists, rows.placed, inside, emptied, eligible)
    demoted = np.zeros(len(brokers.ids), dtype=bool)
    demoted[brokers.rows(pool.demote & set(pool.brokers))] = True
    fixed = fixed_load(pool, names, homes, lists, inside)
    return Unit(
        pool=pool,
        role=role,
        brokers=brokers,
        topics=names,
        topic=rows.topic,
        number=rows.number,
        lists=rows.lists,
        rf=rows.rf,
        size=rows.size,
        mib=-(-rows.size // MIB),
        rate=rows.rate,
        leader=rows.leader,
        fresh=rows.fresh,
        leaves=leaves,
        pinned=pinned,
        eligible=eligible,
        leads=eligible & ~demoted,
        placed=rows.placed,
        still=rows.still,
        blocked=rows.blocked,
        doubled=rows.doubled & rows.placed & ~rows.blocked & ~rows.still,
        sized=lists.table.sized,
        weight=np.array([pool.capacity_for(b).weight for b in brokers.ids], dtype=np.float64),
        fixed=fixed.replicas if guests is None else fixed.replicas + guests.replicas,
        fixed_leaders=fixed.leaders,
        fixed_mib=fixed.mib if guests is None else fixed.mib + guests.mib,
        fixed_rate=fixed.rate,
    )


def reached(unit: Unit, lists: Ints) -> Unit:
    """The unit as the next plan will find it, once these lists are what there is."""
    inside, emptied = _inside(unit.pool, unit.brokers)
    leaves, pinned = _standing(lists, unit.placed, inside, emptied, unit.eligible)
    return replace(
        unit,
        lists=lists,
        leaves=leaves,
        pinned=pinned,
        leader=lists[:, 0].copy(),
        fresh=np.zeros(len(unit), dtype=bool),
        doubled=np.zeros(len(unit), dtype=bool),
    )


def _inside(pool: ResourcePoolSpec, brokers: BrokerIndex) -> tuple[Bools, Bools]:
    """The pool's brokers, and all that are to be empty."""
    inside = np.zeros(len(brokers.ids), dtype=bool)
    inside[brokers.rows(pool.brokers)] = True
    emptied = brokers.gone.copy()
    emptied[brokers.rows(pool.drain & set(pool.brokers))] = True
    return inside, emptied


def _standing(
    lists: Ints, placed: Bools, inside: Bools, emptied: Bools, eligible: Bools
) -> tuple[Bools, Bools]:
    """Which replicas must leave, and which stay and may not be moved."""
    there = lists >= 0
    outside, out = ~inside[lists], emptied[lists]
    # Unmanaged topics may be anywhere; they only leave brokers of this pool that are emptied.
    leaves = there & np.where(placed[:, None], outside | out, ~outside & out)
    return leaves, there & ~leaves & ~(placed[:, None] & eligible[lists])


def _topics(
    pool: ResourcePoolSpec,
    homes: Mapping[str, TopicHome],
    role: TopicRole,
    lists: Lists,
    emptied: Bools,
) -> tuple[str, ...]:
    found = tuple(name for name in sorted(homes) if homes[name].role is role)
    if role is TopicRole.PLACED:
        return tuple(name for name in found if homes[name].pool == pool.name)
    if not emptied.any():
        return ()
    table = lists.table
    leaving = any_slot((lists.wide >= 0) & emptied[lists.wide])
    counts = np.concatenate([[0], np.cumsum(leaving)])
    some = counts[table.start[1:]] > counts[table.start[:-1]]
    ids = {lists.brokers.ids[row] for row in np.flatnonzero(emptied)}
    return tuple(
        name
        for name in found
        if (
            any(not ids.isdisjoint(replicas) for replicas in lists.changed[name])
            if name in lists.changed
            else some[table.rank[name]]
        )
    )
