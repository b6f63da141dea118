"""One pool's planning problem as columns: a row per partition, a column per replica slot.

The problem has every topic that should live in the pool. Topics that migrate to it, and replicas
that are in the wrong pool, count here and not where they are now. All other replicas on the pool's
brokers are its background load, which does not move. Partitions that the same plan creates are rows
too, so that they help the balance instead of disturbing it.

Decisions count sizes in whole MiB, rounded up. A partition of unknown size counts as its topic's
median, else as 1 MiB.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from poolkeeper.frozen import frozen
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
from poolkeeper.planning.problem.pool_membership import TopicHome, TopicRole
from poolkeeper.planning.problem.pool_rows import BackgroundLoad, background_load, rows_of


@frozen
class PoolProblem:
    """A pool and the partitions that should live in it, rows in order of (topic, partition).

    By row:
    `lists` (rows × slots): the replicas found, each broker once.
    `rf`: the replication factor wanted.
    `placed`: the partition lives in this pool; all others are unmanaged, and only evacuated.
    `fresh`: the partition does not exist yet, so that its list is a proposal that may change.
    `hold`: the partition stays as it is in this plan, and may move in the next.
    `no_source`: the partition cannot move at all, having no source to copy from (see `sources`).
    `duplicate`: the list found names a broker twice, so that it changes in any case.
    `size`: in bytes. `rate`: in KiB/s. `sized`: whether any size is known.

    By replica:
    `leaves`: may not stay where it is.
    `immovable`: stays where it is, in this plan and in the next.
    `lost`: is in a log directory that is lost for good.

    By broker:
    `eligible`: may be given replicas.
    `leads`: may lead what it holds: is live, not drained, not demoted.
    `background_load`: of topics that are not in this problem.
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
    immovable: Bools
    lost: Bools
    eligible: Bools
    leads: Bools
    placed: Bools
    hold: Bools
    no_source: Bools
    duplicate: Bools
    sized: bool
    weight: Floats
    background_load: BackgroundLoad

    def __len__(self) -> int:
        return len(self.rf)

    @property
    def pool_brokers(self) -> list[int]:
        """All brokers of the pool, as indices."""
        return self.brokers.rows(self.pool.brokers)


@frozen
class StuckLoad:
    """The load, by broker, of other pools' topics that should leave it and cannot."""

    replicas: Ints
    mib: Ints


def pool_problem(
    pool: ResourcePoolSpec,
    homes: Mapping[str, TopicHome],
    lists: Lists,
    role: TopicRole = TopicRole.PLACED,
    hold: frozenset[str] = frozenset(),
    stuck_load: StuckLoad | None = None,
) -> PoolProblem:
    """The problem of one pool.

    `homes`, `lists`: of all topics, including those that this plan creates.
    `role`: PLACED for topics that live in the pool; EVACUATED for unmanaged topics with a replica
    that must leave a broker.
    `hold`: topics whose existing partitions stay where they are.
    `stuck_load`: load of other pools' topics that should leave this pool's brokers and cannot.
    """
    brokers = lists.brokers
    inside, to_empty = _inside(pool, brokers)
    names = _topics(pool, homes, role, lists, inside & to_empty)
    rows = rows_of(names, homes, lists, hold)
    # A broker with a failed directory cannot be given every replica: it is given none.
    usable = eligible_of(pool, brokers)
    eligible = usable & ~brokers.failed
    leaves, immovable = _leaving_and_immovable(rows.lists, rows.placed, inside, to_empty, eligible)
    lost = rows.lost & rows.placed[:, None]
    demoted = np.zeros(len(brokers), dtype=bool)
    demoted[brokers.rows(pool.demote & set(pool.brokers))] = True
    load = background_load(pool, names, homes, lists, inside)
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
        leaves=leaves | lost,
        immovable=immovable & ~lost,
        lost=lost,
        eligible=eligible,
        leads=usable & ~demoted,
        placed=rows.placed,
        hold=rows.hold,
        no_source=rows.no_source,
        duplicate=rows.duplicate & rows.placed & ~rows.no_source & ~rows.hold,
        sized=lists.table.sized,
        weight=np.array([pool.capacity_for(b).weight for b in brokers.ids], dtype=np.float64),
        background_load=_with_stuck(load, stuck_load),
    )


def problem_after(problem: PoolProblem, lists: Ints) -> PoolProblem:
    """The problem that the next plan finds once these lists are carried out."""
    inside, to_empty = _inside(problem.pool, problem.brokers)
    leaves, immovable = _leaving_and_immovable(
        lists, problem.placed, inside, to_empty, problem.eligible
    )
    return replace(
        problem,
        lists=lists,
        leaves=leaves,
        immovable=immovable,
        lost=np.zeros(lists.shape, dtype=bool),
        leader=lists[:, 0].copy(),
        fresh=np.zeros(len(problem), dtype=bool),
        duplicate=np.zeros(len(problem), dtype=bool),
    )


def _with_stuck(load: BackgroundLoad, stuck: StuckLoad | None) -> BackgroundLoad:
    if stuck is None:
        return load
    return replace(load, replicas=load.replicas + stuck.replicas, mib=load.mib + stuck.mib)


def _inside(pool: ResourcePoolSpec, brokers: BrokerIndex) -> tuple[Bools, Bools]:
    """The pool's brokers, and all brokers that should be empty."""
    inside = np.zeros(len(brokers), dtype=bool)
    inside[brokers.rows(pool.brokers)] = True
    to_empty = brokers.gone.copy()
    to_empty[brokers.rows(pool.drain & set(pool.brokers))] = True
    return inside, to_empty


def _leaving_and_immovable(
    lists: Ints, placed: Bools, inside: Bools, to_empty: Bools, eligible: Bools
) -> tuple[Bools, Bools]:
    """The replicas that must leave, and those that stay and may not be moved."""
    there = lists >= 0
    outside, out = ~inside[lists], to_empty[lists]
    # Unmanaged topics may live anywhere; they leave only drained and gone brokers of this pool.
    leaves = there & np.where(placed[:, None], outside | out, ~outside & out)
    return leaves, there & ~leaves & ~(placed[:, None] & eligible[lists])


def _topics(
    pool: ResourcePoolSpec,
    homes: Mapping[str, TopicHome],
    role: TopicRole,
    lists: Lists,
    to_empty: Bools,
) -> tuple[str, ...]:
    found = tuple(name for name in sorted(homes) if homes[name].role is role)
    if role is TopicRole.PLACED:
        return tuple(name for name in found if homes[name].pool == pool.name)
    if not to_empty.any():
        return ()
    table = lists.table
    leaving = any_slot((lists.wide >= 0) & to_empty[lists.wide])
    counts = np.concatenate([[0], np.cumsum(leaving)])
    some = counts[table.start[1:]] > counts[table.start[:-1]]
    return tuple(
        name
        for name in found
        if (
            any(to_empty[broker] for rows in lists.changed[name] for broker in rows)
            if name in lists.changed
            else some[table.rank[name]]
        )
    )
