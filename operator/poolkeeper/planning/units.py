"""One pool's planning problem as columns: a row per partition, a column per replica slot.

Brokers appear by index into `Brokers.ids` (ascending), so that all counts are plain vectors. A slot
holds a broker's index or `NONE`. Sizes are whole MiB; a partition of unknown size counts as its
topic's median, else 1.

A unit is a pool with every topic that shall live in it: migrating topics and strays count here, not
where they are now. What else stays on the pool's brokers comes along as fixed load.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median_low

import numpy as np
import numpy.typing as npt

from poolkeeper.model.records import Records
from poolkeeper.model.specs import Desired, ResourcePoolSpec
from poolkeeper.model.topology import Cluster, Replicas, Topic
from poolkeeper.planning.scopes import Home, Role, Scope

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

NONE = -1
MIB = 1024 * 1024

Lists = Mapping[str, tuple[Replicas, ...]]
"""Replica lists by topic, by position of the partition."""


@dataclass(frozen=True, slots=True)
class Brokers:
    """All brokers that anything names, by ascending id; `rack` is a row of `rack_names`.

    Brokers without a rack are one rack together, named "": nothing says that they fail apart.
    """

    ids: tuple[int, ...]
    index: Mapping[int, int]
    live: Bools
    gone: Bools
    rack: Ints
    rack_names: tuple[str, ...]

    def rows(self, ids: Iterable[int]) -> list[int]:
        """The indices of brokers by id."""
        return [self.index[broker] for broker in ids]


@dataclass(frozen=True, slots=True)
class Unit:
    """A pool and the partitions that shall live in it, rows in order of (topic, partition).

    `lists` (rows × slots) is what was found, each broker once; `rf` is what is wanted. `leaves`
    marks replicas that may not stay where they are, `pinned` those that stay and may not be moved.
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
    mib: Ints
    leader: Ints
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


def brokers_of(
    scope: Scope, cluster: Cluster, desired: Desired, records: Records, gone: frozenset[int]
) -> Brokers:
    """Columns of all brokers that are live, in a pool or in a replica list."""
    ids = set(cluster.brokers)
    for pool in desired.pools:
        ids.update(pool.brokers)
    for topic in cluster.topics.values():
        for partition in topic.partitions:
            ids.update(partition.replicas)
    order = tuple(sorted(ids))
    racks = [rack_name(broker, desired, cluster, records) or "" for broker in order]
    names = tuple(sorted(set(racks)))
    return Brokers(
        ids=order,
        index={broker: row for row, broker in enumerate(order)},
        live=np.array([broker in cluster.brokers for broker in order], dtype=bool),
        gone=np.array([b in gone and b not in cluster.brokers for b in order], dtype=bool),
        rack=np.array([names.index(rack) for rack in racks], dtype=np.int64),
        rack_names=names,
    )


def rack_name(broker: int, desired: Desired, cluster: Cluster, records: Records) -> str | None:
    """The broker's rack as it registers it, else as its pool says, else as it was last seen."""
    live = cluster.brokers.get(broker)
    if live is not None and live.rack is not None:
        return live.rack
    for pool in desired.pools:
        if broker in pool.racks:
            return pool.racks[broker]
    record = records.brokers.get(broker)
    return record.rack if record else None


def eligible_of(pool: ResourcePoolSpec, brokers: Brokers) -> Bools:
    """Brokers of the pool that may be given replicas: live and not drained."""
    eligible = np.zeros(len(brokers.ids), dtype=bool)
    eligible[brokers.rows(set(pool.brokers) - pool.drain)] = True
    return eligible & brokers.live


def unit_of(
    pool: ResourcePoolSpec, scope: Scope, cluster: Cluster, lists: Lists, brokers: Brokers
) -> Unit:
    """The pool's columns. `lists` are the replica lists of all topics as they will be found."""
    inside = np.zeros(len(brokers.ids), dtype=bool)
    inside[brokers.rows(pool.brokers)] = True
    emptied = brokers.gone.copy()
    emptied[brokers.rows(pool.drain & set(pool.brokers))] = True
    names = _topics(pool, scope, lists, {brokers.ids[i] for i in np.flatnonzero(inside & emptied)})
    rows = _rows(names, scope.homes, cluster, lists, brokers)
    placed = rows.placed[:, None]
    held = rows.lists >= 0
    leaves = np.where(placed, ~inside[rows.lists] | emptied[rows.lists], False)
    leaves |= np.where(placed, False, inside[rows.lists] & emptied[rows.lists])
    leaves &= held
    eligible = eligible_of(pool, brokers)
    demoted = np.zeros(len(brokers.ids), dtype=bool)
    demoted[brokers.rows(pool.demote & set(pool.brokers))] = True
    fixed, leaders, mib = _fixed_load(pool, set(names), scope, cluster, lists, brokers)
    weight = np.array([pool.capacity_for(b).weight for b in brokers.ids], dtype=np.float64)
    return Unit(
        pool=pool,
        brokers=brokers,
        topics=names,
        topic=rows.topic,
        number=rows.number,
        lists=rows.lists,
        rf=rows.rf,
        mib=rows.mib,
        leader=rows.leader,
        leaves=leaves,
        pinned=held & ~leaves & ~(placed & eligible[rows.lists]),
        eligible=eligible,
        leads=eligible & ~demoted,
        placed=rows.placed,
        weight=weight,
        fixed=fixed,
        fixed_leaders=leaders,
        fixed_mib=mib,
    )


def sizes_mib(topic: Topic) -> list[int]:
    """Sizes of the topic's partitions in whole MiB, the unknown ones at the median of the known."""
    known = [p.size_bytes for p in topic.partitions if p.size_bytes is not None]
    other = median_low(known) if known else MIB
    sizes = (other if p.size_bytes is None else p.size_bytes for p in topic.partitions)
    return [-(-size // MIB) for size in sizes]


@dataclass(frozen=True, slots=True)
class _Rows:
    topic: Ints
    number: Ints
    lists: Ints
    rf: Ints
    mib: Ints
    leader: Ints
    placed: Bools


def _topics(
    pool: ResourcePoolSpec, scope: Scope, lists: Lists, emptied: set[int]
) -> tuple[str, ...]:
    """Topics that live in the pool, and evacuated ones that have a replica to bring out."""

    def comes(name: str) -> bool:
        home = scope.homes[name]
        if home.role is Role.PLACED:
            return home.pool == pool.name
        leaves = home.role is Role.EVACUATED and bool(emptied)
        return leaves and any(not emptied.isdisjoint(replicas) for replicas in lists[name])

    return tuple(name for name in sorted(scope.homes) if comes(name))


def _rows(
    names: tuple[str, ...],
    homes: Mapping[str, Home],
    cluster: Cluster,
    lists: Lists,
    brokers: Brokers,
) -> _Rows:
    topic: list[int] = []
    number: list[int] = []
    flat: list[int] = []
    lengths: list[int] = []
    wanted: list[int] = []
    mib: list[int] = []
    leader: list[int] = []
    placed: list[bool] = []
    index = brokers.index
    for row, name in enumerate(names):
        found = cluster.topics[name]
        spec = homes[name].spec
        declared = spec.replication_factor if spec else None
        count = len(found.partitions)
        topic += [row] * count
        number += range(count)
        mib += sizes_mib(found)
        leader += [
            index.get(NONE if p.leader is None else p.leader, NONE) for p in found.partitions
        ]
        placed += [homes[name].role is Role.PLACED] * count
        for replicas in lists[name]:
            distinct = dict.fromkeys(replicas)
            flat += [index[broker] for broker in distinct]
            lengths.append(len(distinct))
            wanted.append(declared or len(distinct))
    size = np.array(lengths, dtype=np.int64)
    rf = np.array(wanted, dtype=np.int64)
    slots = int(max(size.max(initial=1), rf.max(initial=1)))
    columns = np.full((len(size), slots), NONE, dtype=np.int64)
    columns[np.arange(slots) < size[:, None]] = flat
    return _Rows(
        topic=np.array(topic, dtype=np.int64),
        number=np.array(number, dtype=np.int64),
        lists=columns,
        rf=rf,
        mib=np.array(mib, dtype=np.int64),
        leader=np.array(leader, dtype=np.int64),
        placed=np.array(placed, dtype=bool),
    )


def _fixed_load(
    pool: ResourcePoolSpec,
    names: set[str],
    scope: Scope,
    cluster: Cluster,
    lists: Lists,
    brokers: Brokers,
) -> tuple[Ints, Ints, Ints]:
    """Replicas, preferred leaders and MiB on the pool's brokers that stay there untouched."""
    fixed, leaders, mib = (np.zeros(len(brokers.ids), dtype=np.int64) for _ in range(3))
    inside = {broker: brokers.index[broker] for broker in pool.brokers}
    for name, assigned in lists.items():
        home = scope.homes.get(name)
        if name in names or (home is not None and home.role is Role.PLACED):
            continue
        sizes = sizes_mib(cluster.topics[name]) if name in cluster.topics else []
        for position, replicas in enumerate(assigned):
            for slot, broker in enumerate(dict.fromkeys(replicas)):
                row = inside.get(broker)
                if row is not None:
                    fixed[row] += 1
                    leaders[row] += slot == 0
                    mib[row] += sizes[position] if position < len(sizes) else 0
    return fixed, leaders, mib
