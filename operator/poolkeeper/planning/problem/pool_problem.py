"""One pool's planning problem as columns: a row per partition, a column per replica slot.

The problem has every topic that should live in the pool. Topics that migrate to it, and replicas
that are in the wrong pool, count here and not where they are now. All other replicas on the pool's
brokers are its background load, which does not move. Partitions that the same plan creates are rows
too, so that they help the balance instead of disturbing it.

Decisions count sizes in whole MiB, rounded up. A partition of unknown size counts as its topic's
median, else as 1 MiB.
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
class PoolProblem:
    """A pool and the partitions that should live in it, rows in order of (topic, partition).

    By row:
    `lists` (rows × slots): the replicas found, each broker once.
    `rf`: the replication factor wanted.
    `placed`: the partition lives in this pool; all others are unmanaged, and only evacuated.
    `fresh`: the partition does not exist yet, so that its list is a proposal that may change.
    `still`: the partition stays as it is in this plan, and may move in the next.
    `blocked`: the partition cannot move at all, having no source to copy from (see `sources`).
    `doubled`: the list found names a broker twice, so that it changes in any case.
    `size`: in bytes. `rate`: in KiB/s. `sized`: whether any size is known.

    By replica:
    `leaves`: may not stay where it is.
    `pinned`: stays where it is and may not be moved.

    By broker:
    `eligible`: may be given replicas.
    `leads`: is eligible and may lead.
    `fixed`, `fixed_leaders`, `fixed_mib`, `fixed_rate`: the background load.
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
    """The load, by broker, of other pools' topics that should leave it and cannot."""

    replicas: Ints
    mib: Ints


def unit_of(
    pool: ResourcePoolSpec,
    homes: Mapping[str, TopicHome],
    lists: Lists,
    role: TopicRole = TopicRole.PLACED,
    held: frozenset[str] = frozenset(),
    guests: Guests | None = None,
) -> PoolProblem:
    """The problem of one pool.

    `homes`, `lists`: of all topics, including those that this plan creates.
    `role`: PLACED for topics that live in the pool; EVACUATED for unmanaged topics with a replica
    that must leave a broker.
    `held`: topics whose existing partitions stay where they are.
    `guests`: load of other pools' topics that should leave this pool's brokers and cannot.
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
    return PoolProblem(
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


def reached(unit: PoolProblem, lists: Ints) -> PoolProblem:
    """The problem that the next plan finds once these lists are carried out."""
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
    """The pool's brokers, and all brokers that should be empty."""
    inside = np.zeros(len(brokers.ids), dtype=bool)
    inside[brokers.rows(pool.brokers)] = True
    emptied = brokers.gone.copy()
    emptied[brokers.rows(pool.drain & set(pool.brokers))] = True
    return inside, emptied


def _standing(
    lists: Ints, placed: Bools, inside: Bools, emptied: Bools, eligible: Bools
) -> tuple[Bools, Bools]:
    """The replicas that must leave, and those that stay and may not be moved."""
    there = lists >= 0
    outside, out = ~inside[lists], emptied[lists]
    # Unmanaged topics may live anywhere; they leave only drained and gone brokers of this pool.
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
