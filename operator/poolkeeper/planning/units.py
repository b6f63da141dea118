"""One pool's planning problem as columns: a row per partition, a column per replica slot.

A unit is a pool with every topic that shall live in it: migrating topics and strays count here, not
where they are now. What else stays on the pool's brokers comes along as fixed load. Partitions that
are created by the same plan are rows too, so that they help to even out instead of disturbing.

Decisions count sizes in whole MiB, rounded up; a partition of unknown size counts as its topic's
median, else 1 MiB.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median_low

import numpy as np

from poolkeeper.model.specs import ResourcePoolSpec, Strategy
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.planning.columns import (
    MIB,
    NONE,
    Bools,
    Brokers,
    Floats,
    Ints,
    Lists,
    eligible_of,
)
from poolkeeper.planning.scopes import Home, Role


@dataclass(frozen=True, slots=True)
class Unit:
    """A pool and the partitions that shall live in it, rows in order of (topic, partition).

    `lists` (rows × slots) is what was found, each broker once; `rf` is what is wanted. `leaves`
    marks replicas that may not stay where they are, `pinned` those that stay and may not be moved.
    `fresh` marks partitions that do not exist yet: their lists are a proposal, free to change.
    `placed` marks partitions that live here (the others are unmanaged, and only evacuated).
    `eligible`: brokers that may be given replicas; `leads`: those of them that may lead.
    `fixed`, `fixed_leaders` and `fixed_mib` are the load of other topics, by broker.
    """

    pool: ResourcePoolSpec
    brokers: Brokers
    topics: tuple[str, ...]
    topic: Ints
    number: Ints
    lists: Ints
    rf: Ints
    size: Ints
    mib: Ints
    leader: Ints
    fresh: Bools
    leaves: Bools
    pinned: Bools
    eligible: Bools
    leads: Bools
    placed: Bools
    weight: Floats
    fixed: Ints
    fixed_leaders: Ints
    fixed_mib: Ints

    def __len__(self) -> int:
        return len(self.rf)


@dataclass(frozen=True, slots=True)
class Guests:
    """Replicas and MiB by broker."""

    replicas: Ints
    mib: Ints


def unit_of(
    pool: ResourcePoolSpec,
    homes: Mapping[str, Home],
    cluster: Cluster,
    lists: Lists,
    brokers: Brokers,
    role: Role = Role.PLACED,
    held: frozenset[str] = frozenset(),
    guests: Guests | None = None,
) -> Unit:
    """The pool's columns; `homes` and `lists` of all topics, those of this plan included.

    The unit holds the topics of one role that live in the pool: PLACED ones or, apart from them,
    EVACUATED ones that have a replica to bring out. Existing partitions of topics in `held` stay
    where they are. `guests` is load of other pools' topics that should leave this pool's brokers
    and cannot.
    """
    inside = np.zeros(len(brokers.ids), dtype=bool)
    inside[brokers.rows(pool.brokers)] = True
    emptied = brokers.gone.copy()
    emptied[brokers.rows(pool.drain & set(pool.brokers))] = True
    names = _topics(
        pool, homes, role, lists, {brokers.ids[i] for i in np.flatnonzero(inside & emptied)}
    )
    rows = _rows(names, homes, cluster, lists, brokers, held)
    there = rows.lists >= 0
    outside, out = ~inside[rows.lists], emptied[rows.lists]
    # Unmanaged topics may be anywhere; they only leave brokers of this pool that are emptied.
    leaves = there & np.where(rows.placed[:, None], outside | out, ~outside & out)
    eligible = eligible_of(pool, brokers)
    demoted = np.zeros(len(brokers.ids), dtype=bool)
    demoted[brokers.rows(pool.demote & set(pool.brokers))] = True
    fixed, leaders, mib = _fixed_load(pool, set(names), homes, cluster, lists, brokers)
    return Unit(
        pool=pool,
        brokers=brokers,
        topics=names,
        topic=rows.topic,
        number=rows.number,
        lists=rows.lists,
        rf=rows.rf,
        size=rows.size,
        mib=-(-rows.size // MIB),
        leader=rows.leader,
        fresh=rows.fresh,
        leaves=leaves,
        pinned=there & ~leaves & ~(rows.placed[:, None] & eligible[rows.lists]),
        eligible=eligible,
        leads=eligible & ~demoted,
        placed=rows.placed,
        weight=np.array([pool.capacity_for(b).weight for b in brokers.ids], dtype=np.float64),
        fixed=fixed if guests is None else fixed + guests.replicas,
        fixed_leaders=leaders,
        fixed_mib=mib if guests is None else mib + guests.mib,
    )


def sizes_of(topic: Topic | None, count: int) -> list[int]:
    """Bytes of that many partitions; unknown ones at the topic's median, new ones 0."""
    if topic is None:
        return [0] * count
    known = [p.size_bytes for p in topic.partitions if p.size_bytes is not None]
    other = median_low(known) if known else MIB
    sizes = [other if p.size_bytes is None else p.size_bytes for p in topic.partitions]
    return (sizes + [0] * (count - len(sizes)))[:count]


@dataclass(frozen=True, slots=True)
class _Rows:
    topic: Ints
    number: Ints
    lists: Ints
    rf: Ints
    size: Ints
    leader: Ints
    placed: Bools
    fresh: Bools


def _topics(
    pool: ResourcePoolSpec, homes: Mapping[str, Home], role: Role, lists: Lists, emptied: set[int]
) -> tuple[str, ...]:
    found = (name for name in sorted(homes) if homes[name].role is role)
    if role is Role.PLACED:
        return tuple(name for name in found if homes[name].pool == pool.name)
    return tuple(
        name
        for name in found
        if emptied and any(not emptied.isdisjoint(replicas) for replicas in lists[name])
    )


def _rows_in_unit(home: Home, found: int, listed: int) -> int:
    """How many of a topic's lists are rows: new ones placed as Kafka does are fixed load."""
    as_kafka = home.spec is not None and home.spec.strategy is Strategy.KAFKA
    return found if as_kafka else listed


def _rows(
    names: tuple[str, ...],
    homes: Mapping[str, Home],
    cluster: Cluster,
    lists: Lists,
    brokers: Brokers,
    still: frozenset[str],
) -> _Rows:
    flat: list[int] = []
    rows: list[tuple[int, int, int, int, int, int, bool, bool]] = []
    index = brokers.index
    for place, name in enumerate(names):
        home, topic = homes[name], cluster.topics.get(name)
        partitions = topic.partitions if topic else ()
        declared = home.spec.replication_factor if home.spec else None
        count = _rows_in_unit(home, len(partitions), len(lists[name]))
        settled = name in still
        sizes = sizes_of(topic, count)
        for number, replicas in enumerate(lists[name][:count]):
            distinct = replicas if len(set(replicas)) == len(replicas) else dict.fromkeys(replicas)
            held = len(distinct)
            flat += [index[broker] for broker in distinct]
            fresh = number >= len(partitions)
            leader = NONE if fresh else _leader(index, partitions[number].leader)
            placed = home.role is Role.PLACED and (fresh or not settled)
            wanted = held if fresh else declared or held
            rows.append((place, number, held, wanted, sizes[number], leader, placed, fresh))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 8).T
    topic_of, number_of, held_of, rf, size, leader_of, placed_of, fresh_of = columns
    slots = int(max(held_of.max(initial=1), rf.max(initial=1)))
    table = np.full((len(rows), slots), NONE, dtype=np.int64)
    table[np.arange(slots) < held_of[:, None]] = flat
    flags = placed_of.astype(bool), fresh_of.astype(bool)
    return _Rows(topic_of, number_of, table, rf, size, leader_of, *flags)


def _leader(index: Mapping[int, int], leader: int | None) -> int:
    return NONE if leader is None else index.get(leader, NONE)


def _fixed_load(
    pool: ResourcePoolSpec,
    names: set[str],
    homes: Mapping[str, Home],
    cluster: Cluster,
    lists: Lists,
    brokers: Brokers,
) -> tuple[Ints, Ints, Ints]:
    """Replicas, preferred leaders and MiB on the pool's brokers that stay there untouched."""
    fixed, leaders, mib = (np.zeros(len(brokers.ids), dtype=np.int64) for _ in range(3))
    inside = {broker: brokers.index[broker] for broker in pool.brokers}
    for name, assigned in lists.items():
        home, topic = homes[name], cluster.topics.get(name)
        found = len(topic.partitions) if topic else 0
        first = 0
        if name in names or (home.role is Role.PLACED and home.pool != pool.name):
            first = _rows_in_unit(home, found, len(assigned))
        if first == len(assigned):
            continue
        sizes = sizes_of(topic, len(assigned))
        for replicas, size in zip(assigned[first:], sizes[first:], strict=True):
            for slot, broker in enumerate(dict.fromkeys(replicas)):
                row = inside.get(broker)
                if row is not None:
                    fixed[row] += 1
                    leaders[row] += slot == 0
                    mib[row] += -(-size // MIB)
    return fixed, leaders, mib
