"""The observed partitions as columns: read once from a Cluster's objects, then only looked at.

Making columns is a part of reading input. `make_plan` does it where nobody did it before; who plans
the same observation twice (what-if, a fleet) keeps the table and passes it on.

A table holds broker ids; `Lists` holds the same as indices into `BrokerIndex.ids`, rows × slots,
and beside it the lists of the few topics that this plan creates, grows or has moved already.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import median_low

import numpy as np

from poolkeeper.model.topology import Cluster, Partition, Replicas
from poolkeeper.planning.problem.arrays import MIB, NONE, Bools, BrokerIndex, Ints

UNKNOWN = -2
_KIB = 1024
_LOOKED_UP_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class PartitionTable:
    """All partitions, topics by name; topic t has the rows `start[t]` to `start[t + 1]`.

    `replicas` are the lists as found, `ids` the same in a row and `held` the length of each. `odd`
    are topics with partitions that move, are out of their place or have no replicas. `size` is in
    bytes, an unknown one at the topic's median, else 1 MiB; `rate` in KiB/s, likewise, else 0.
    `unsized` and `unrated` say by topic what unknown ones count there, 0 where all are known;
    `sized`: whether any size is known. `leader` is an id, -1 where there is none, or `UNKNOWN`.
    """

    names: tuple[str, ...]
    rank: Mapping[str, int]
    start: Ints
    replicas: Sequence[Replicas]
    held: Ints
    ids: Ints
    odd: tuple[str, ...]
    leader: Ints
    size: Ints
    rate: Ints
    unsized: Ints
    unrated: Ints
    sized: bool


def table_of(cluster: Cluster) -> PartitionTable:
    """Columns of everything observed."""
    names = tuple(sorted(cluster.topics))
    parts = [cluster.topics[name].partitions for name in names]
    start = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum(list(map(len, parts)), out=start[1:])
    partitions = list(chain.from_iterable(parts))
    replicas = [p.replicas for p in partitions]
    held = np.fromiter(map(len, replicas), dtype=np.int64, count=len(replicas))
    sizes = [p.size_bytes for p in partitions]
    size, unsized = _known(sizes, start, MIB)
    rate, unrated = _known(_rates_kib_per_s(partitions), start, 0)
    return PartitionTable(
        names=names,
        rank={name: number for number, name in enumerate(names)},
        start=start,
        replicas=replicas,
        held=held,
        ids=np.fromiter(flat_ids(replicas), dtype=np.int64, count=int(held.sum())),
        odd=tuple(name for name, part in zip(names, parts, strict=True) if _odd(part)),
        leader=_leaders(partitions),
        size=size,
        rate=rate,
        unsized=unsized,
        unrated=unrated,
        sized=any(size is not None for size in sizes),
    )


def _leaders(partitions: Sequence[Partition]) -> Ints:
    ids = (p.leader for p in partitions)
    return np.array([UNKNOWN if id_ is None else id_ for id_ in ids], dtype=np.int64)


def _rates_kib_per_s(partitions: Sequence[Partition]) -> list[int | None]:
    rates = (p.in_bytes_per_s for p in partitions)
    return [None if rate is None else -(-int(rate) // _KIB) for rate in rates]


def _odd(part: Sequence[Partition]) -> bool:
    number, replicas, adding, removing, *_ = zip(*part, strict=True) if part else [()] * 4
    return number != tuple(range(len(part))) or not all(replicas) or any(adding + removing)


def _known(values: Sequence[int | None], start: Ints, otherwise: int) -> tuple[Ints, Ints]:
    """Unknown values at the topic's median, the lower one of two; without any, `otherwise`.

    And by topic what its unknown values are taken for.
    """
    taken = np.zeros(len(start) - 1, dtype=np.int64)
    column = np.array([NONE if x is None else x for x in values], dtype=np.int64)
    unknown = np.flatnonzero(column == NONE)
    for topic in np.unique(np.searchsorted(start, unknown, side="right") - 1).tolist():
        own = column[start[topic] : start[topic + 1]]
        known = own[own != NONE].tolist()
        taken[topic] = median_low(known) if known else otherwise
        own[own == NONE] = taken[topic]
    return column, taken


@dataclass(frozen=True, slots=True)
class Lists:
    """Replica lists: of `changed` topics as they stand there, of all others as found.

    `wide` (rows of the table × slots) holds brokers by index, each once, `NONE` behind the last.
    `doubled` marks rows whose list, as found, names a broker twice; `blocked` those that nothing
    can be copied from (see `sources`).
    """

    table: PartitionTable
    brokers: BrokerIndex
    wide: Ints
    doubled: Bools
    blocked: Bools
    changed: Mapping[str, tuple[Replicas, ...]]

    def __getitem__(self, topic: str) -> tuple[Replicas, ...]:
        if topic in self.changed:
            return self.changed[topic]
        return tuple(self.table.replicas[self.rows(topic)])

    def __contains__(self, topic: object) -> bool:
        return topic in self.changed or topic in self.table.rank

    def rows(self, topic: str) -> slice:
        """The topic's rows in the table; none where it does not exist."""
        rank = self.table.rank.get(topic)
        return slice(0, 0) if rank is None else slice(*self.table.start[rank : rank + 2].tolist())

    def found(self, topic: str) -> int:
        """How many partitions the topic has; 0 if it does not exist."""
        rows = self.rows(topic)
        return int(rows.stop - rows.start)

    def fresh(self, topic: str) -> tuple[int, int]:
        """Bytes and KiB/s that a new partition counts: nothing, unless that would be unknown."""
        rank = self.table.rank.get(topic)
        if rank is None:
            return 0 if self.table.sized else MIB, 0
        return int(self.table.unsized[rank]), int(self.table.unrated[rank])

    def with_changed(self, changed: Mapping[str, tuple[Replicas, ...]]) -> "Lists":
        """The same with these topics' lists."""
        return replace(self, changed={**self.changed, **changed})

    def plain(self, topics: Iterable[str]) -> Ints:
        """The rows of those of these topics that stand as they were found, ascending."""
        rank = self.table.rank
        chosen = np.zeros(len(self.table.names), dtype=bool)
        chosen[[rank[name] for name in topics if name in rank and name not in self.changed]] = True
        return np.flatnonzero(np.repeat(chosen, np.diff(self.table.start)))

    def counts(self) -> tuple[Ints, Ints]:
        """Replicas and preferred leaders by broker."""
        kept = self.wide[self.plain(self.table.names)] if self.changed else self.wide
        size = len(self.brokers.ids)
        # `NONE` is counted before the first broker.
        held = np.bincount(kept.ravel() - NONE, minlength=size + 1)[1:]
        leads = np.bincount(kept[:, 0] - NONE, minlength=size + 1)[1:]
        for assigned in self.changed.values():
            for replicas in assigned:
                rows = self.brokers.rows(dict.fromkeys(replicas))
                held[rows] += 1
                leads[rows[:1]] += 1
        return held, leads


def lists_of(table: PartitionTable, brokers: BrokerIndex, blocked: Bools | None = None) -> Lists:
    """All lists as found; no row is blocked unless said so."""
    none = np.zeros(len(table.held), dtype=bool)
    wide, doubled = _wide(table, brokers)
    return Lists(table, brokers, wide, doubled, none if blocked is None else blocked, {})


def flat_ids(replicas: Sequence[Replicas]) -> Iterator[int]:
    """All ids, list after list."""
    return chain.from_iterable(replicas)


def _wide(table: PartitionTable, brokers: BrokerIndex) -> tuple[Ints, Bools]:
    """The lists with each broker once, and the rows where that leaves a name out."""
    held = table.held
    wide = np.full((len(held), int(held.max(initial=1))), NONE, dtype=np.int64)
    wide[np.arange(wide.shape[1]) < held[:, None]] = index_of(table.ids, brokers)
    doubled = _repeats(wide)
    for row in np.flatnonzero(doubled).tolist():
        once = brokers.rows(dict.fromkeys(table.replicas[row]))
        wide[row] = NONE
        wide[row, : len(once)] = once
    return wide, doubled


def index_of(ids: Ints, brokers: BrokerIndex) -> Ints:
    """Brokers by index; `NONE` for ids that are none of theirs."""
    order = np.array(brokers.ids, dtype=np.int64)
    if not len(order):
        return np.full(len(ids), NONE, dtype=np.int64)
    if order[0] >= 0 and order[-1] < _LOOKED_UP_MAX:
        # Ids below or above all of theirs fall on the two ends, which are nobody's.
        place_of = np.full(order[-1] + 3, NONE, dtype=np.int64)
        place_of[order + 1] = np.arange(len(order))
        return place_of[np.clip(ids, -1, order[-1] + 1) + 1]
    place = np.minimum(np.searchsorted(order, ids), len(order) - 1)
    return np.where(order[place] == ids, place, NONE)


def _repeats(wide: Ints) -> Bools:
    """By row, whether a broker is named twice."""
    repeats = np.zeros(len(wide), dtype=bool)
    for second in range(1, wide.shape[1]):
        for first in range(second):
            repeats |= (wide[:, first] == wide[:, second]) & (wide[:, first] >= 0)
    return repeats
