"""Partitions by column: large clusters are planned without making an object of each partition.

A snapshot in tables has columns, and the planner and the audit want columns. So a topic's
partitions may be a `TopicPartitions`: rows of the columns of the whole cluster, which become
`Partition`s when somebody looks at one. They are never changed: the columns of a topic are what its
partitions say, and the other way round.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, groupby, repeat
from operator import eq
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from poolkeeper.model.columns.log_dir_columns import LogDirColumns
from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists, distinct
from poolkeeper.model.topology import Cluster, Partition, Replicas

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

UNKNOWN = np.iinfo(np.int64).min
"""Stands for a number that is not known; no partition has it."""

BLOCK_ROWS = 1024
"""Partitions of small topics are made so many at a time, which costs a tenth."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionColumns:
    """The fields of partitions, a row for each; see `Partition`.

    `leader` and `bytes` are `UNKNOWN`, and `bytes_in_per_s` is NaN, where they are not known.
    `isr` counts only where `isr_known`, and is empty elsewhere. `log_dirs` is None if no directory
    is known at all, `leader_epoch` if no epoch is.
    """

    number: Ints
    replicas: ReplicaLists
    adding: ReplicaLists
    removing: ReplicaLists
    leader: Ints
    isr: ReplicaLists
    isr_known: Bools
    bytes: Ints
    bytes_in_per_s: Floats
    log_dirs: Sequence[Mapping[int, str] | None] | None = None
    leader_epoch: Ints | None = None
    _blocks: dict[int, tuple[Partition, ...]] = field(default_factory=dict, init=False, repr=False)
    _whole: list[Bools] = field(default_factory=list, init=False, repr=False)
    _settled: list[Bools] = field(default_factory=list, init=False, repr=False)
    _leaders: list[frozenset[int]] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(cls, partitions: Sequence[Partition]) -> "PartitionColumns":
        """The columns of these partitions; raises `OverflowError` for what 64 bits cannot hold."""
        fields = zip(*partitions, strict=True) if partitions else [()] * len(Partition._fields)
        number, replicas, adding, removing, leader, isr, epoch, size, rate, log_dirs = fields
        known = (leader, isr, size, rate, log_dirs, epoch)
        return cls.of_fields(number, replicas, adding, removing, *known)

    @classmethod
    def of_fields(
        cls,
        number: Sequence[int],
        replicas: Sequence[Replicas],
        adding: Sequence[Replicas | None],
        *known: Sequence[Any],
    ) -> "PartitionColumns":
        """The columns of fields by partition.

        `known`: what is removed, leader, replicas in sync, bytes, bytes per second, directories,
        and epochs of leaders if there are any; None where a value is not known. Raises
        `OverflowError` as `of`.
        """
        removing, leader, isr, size, rate, log_dirs, *epochs = known
        isr_known = [each is not None for each in isr]
        return cls(
            np.array(number, dtype=np.int64),
            ReplicaLists.of(replicas),
            _lists(adding),
            _lists(removing),
            _or_unknown(leader),
            ReplicaLists.of(isr if all(isr_known) else [each or () for each in isr]),
            np.array(isr_known, dtype=bool),
            _or_unknown(size),
            np.array(
                rate if None not in rate else [np.nan if each is None else each for each in rate],
                dtype=np.float64,
            ),
            None if all(each is None for each in log_dirs) else log_dirs,
            _or_none_known(*epochs),
        )

    @classmethod
    def concatenated(cls, parts: Sequence["PartitionColumns"]) -> "PartitionColumns":
        """The rows of each of these, one after the other."""

        def lists(name: str) -> ReplicaLists:
            return ReplicaLists.concatenated([getattr(part, name) for part in parts])

        def whole(name: str) -> Any:
            return np.concatenate([getattr(part, name) for part in parts])

        dirs, epochs = None, None
        if any(part.log_dirs is not None for part in parts):
            dirs = list(chain.from_iterable(part.log_dirs or [None] * len(part) for part in parts))
        if any(part.leader_epoch is not None for part in parts):
            epochs = np.concatenate([part.epochs(0, len(part)) for part in parts])
        return cls(
            whole("number"),
            lists("replicas"),
            lists("adding"),
            lists("removing"),
            whole("leader"),
            lists("isr"),
            whole("isr_known"),
            whole("bytes"),
            whole("bytes_in_per_s"),
            dirs,
            epochs,
        )

    def held(self, first: int, last: int) -> Iterator[object]:
        """What the rows from `first` up to `last` hold, column by column, as it is compared."""
        rows = slice(first, last)
        for each in (self.leader, self.number, self.isr_known, self.bytes, self.bytes_in_per_s):
            yield each[rows].tobytes()
        for lists in (self.isr, self.replicas, self.adding, self.removing):
            ends = lists.offsets[first : last + 1]
            yield (ends - ends[0]).tobytes()
            yield lists.ids[ends[0] : ends[-1]].tobytes()
        yield self.epochs(first, last).tobytes()
        dirs = self.log_dirs
        yield [None] * (last - first) if dirs is None else list(dirs[rows])

    def epochs(self, first: int, last: int) -> Ints:
        """The epochs of leaders of these rows, `UNKNOWN` where one is not known."""
        known = self.leader_epoch
        return np.full(last - first, UNKNOWN) if known is None else known[first:last]

    def __len__(self) -> int:
        return len(self.number)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        given = [each.name for each in fields(self) if each.init]
        return PartitionColumns, tuple(getattr(self, name) for name in given)

    def take(self, rows: Ints) -> "PartitionColumns":
        """The partitions of these rows."""
        dirs = self.log_dirs
        return PartitionColumns(
            self.number[rows],
            self.replicas.take(rows),
            self.adding.take(rows),
            self.removing.take(rows),
            self.leader[rows],
            self.isr.take(rows),
            self.isr_known[rows],
            self.bytes[rows],
            self.bytes_in_per_s[rows],
            dirs.take(rows)
            if isinstance(dirs, LogDirColumns)
            else dirs and [dirs[row] for row in rows.tolist()],
            None if self.leader_epoch is None else self.leader_epoch[rows],
        )

    @property
    def whole(self) -> Bools:
        """By row, whether it is not without a leader, its replicas are in sync and none moves."""
        if not self._whole:
            alike = (self.replicas.lengths == self.isr.lengths) & (self.replicas.lengths > 0)
            rows = np.flatnonzero(alike)
            held, in_sync = (each.take(rows).wide() for each in (self.replicas, self.isr))
            alike[rows] = (np.sort(held, axis=1) == np.sort(in_sync, axis=1)).all(axis=1)
            moves = (self.adding.lengths > 0) | (self.removing.lengths > 0)
            self._whole.append(alike & self.isr_known & ~moves & (self.leader != -1))
        return self._whole[0]

    @property
    def settled(self) -> Bools:
        """By row: it does not move, has a replica, and is its topic's first or follows the last."""
        if not self._settled:
            moves = (self.adding.lengths > 0) | (self.removing.lengths > 0)
            follows = (self.number == 0) | (np.diff(self.number, prepend=-1) == 1)
            self._settled.append(follows & ~moves & (self.replicas.lengths > 0))
        return self._settled[0]

    @property
    def leaders(self) -> frozenset[int]:
        """Every leader of any row, with what stands for one that is not known."""
        if not self._leaders:
            self._leaders.append(frozenset(distinct(self.leader).tolist()))
        return self._leaders[0]

    def partitions(self, first: int, last: int) -> tuple[Partition, ...]:
        """The partitions of the rows from `first` up to `last`; small parts are made in blocks."""
        if last - first >= BLOCK_ROWS:
            return self._made(first, last)
        found: list[Partition] = []
        for block in range(first // BLOCK_ROWS, -(-last // BLOCK_ROWS)):
            begin = block * BLOCK_ROWS
            made = self._blocks.get(block)
            if made is None:
                made = self._made(begin, min(begin + BLOCK_ROWS, len(self)))
                self._blocks[block] = made
            found += made[max(first - begin, 0) : last - begin]
        return tuple(found)

    def _made(self, first: int, last: int) -> tuple[Partition, ...]:
        rows = slice(first, last)
        isr: list[tuple[int, ...] | None] = [*self.isr.tuples(first, last)]
        for row in np.flatnonzero(~self.isr_known[rows]).tolist():
            isr[row] = None
        rate = self.bytes_in_per_s[rows].tolist()
        return tuple(
            map(
                Partition,
                self.number[rows].tolist(),
                self.replicas.tuples(first, last),
                self.adding.tuples(first, last),
                self.removing.tuples(first, last),
                none_if_unknown(self.leader[rows]),
                isr,
                repeat(None)
                if self.leader_epoch is None
                else none_if_unknown(self.leader_epoch[rows]),
                none_if_unknown(self.bytes[rows]),
                [each if each == each else None for each in rate],  # NaN is not itself
                repeat(None) if self.log_dirs is None else self.log_dirs[rows],
            )
        )


class TopicPartitions(Sequence[Partition]):
    """Partitions of one topic: the rows of columns from `first` up to `last`."""

    __slots__ = ("_made", "columns", "first", "last")

    def __init__(self, columns: PartitionColumns, first: int, last: int) -> None:
        self.columns, self.first, self.last = columns, first, last
        self._made: tuple[Partition, ...] | None = None

    def _all(self) -> tuple[Partition, ...]:
        if self._made is None:
            self._made = self.columns.partitions(self.first, self.last)
        return self._made

    def __len__(self) -> int:
        return self.last - self.first

    @overload
    def __getitem__(self, at: int) -> Partition: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Partition, ...]: ...
    def __getitem__(self, at: int | slice) -> Partition | tuple[Partition, ...]:
        return self._all()[at]

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TopicPartitions) and _same_rows(self, other):
            return True
        return isinstance(other, TopicPartitions | tuple) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[type, tuple[tuple[Partition, ...]]]:
        return tuple, (self._all(),)


def with_partitions(cluster: Cluster, columns: PartitionColumns) -> Cluster:
    """The cluster whose partitions are these rows, topic after topic, as many as each has now."""
    topics, last = {}, 0
    for name, topic in cluster.topics.items():
        first, last = last, last + len(topic.partitions)
        topics[name] = replace(topic, partitions=TopicPartitions(columns, first, last))
    return replace(cluster, topics=topics)


def columns_of(topics: Sequence[Sequence[Partition]]) -> PartitionColumns:
    """The columns of the partitions of these topics, one topic after the other."""
    rows = _rows_of_one(topics)
    if not rows:
        if topics and all(isinstance(each, TopicPartitions) for each in topics):
            alike = groupby(topics, key=columns_id)
            return PartitionColumns.concatenated([columns_of(list(part)) for _, part in alike])
        return PartitionColumns.of(list(chain.from_iterable(topics)))
    columns = rows[0].columns
    ends = [each.last for each in rows]
    if [each.first for each in rows] == [0, *ends[:-1]] and ends[-1] == len(columns):
        return columns
    return columns.take(np.concatenate([np.arange(each.first, each.last) for each in rows]))


def partitions_of(
    topics: Sequence[Sequence[Partition]], topic: Ints, position: Ints
) -> PartitionColumns:
    """The columns of single partitions, each at a position within one of these topics."""
    rows = _rows_of_one(topics)
    if not rows:
        places = zip(topic.tolist(), position.tolist(), strict=True)
        return PartitionColumns.of([topics[number][place] for number, place in places])
    return rows[0].columns.take(np.array([each.first for each in rows])[topic] + position)


def columns_id(partitions: Sequence[Partition]) -> int:
    """Tell the columns of which these are rows; 0 if they are objects."""
    return id(partitions.columns) if isinstance(partitions, TopicPartitions) else 0


def _same_rows(one: TopicPartitions, other: TopicPartitions) -> bool:
    """Whether columns hold the same, number by number; where they differ, partitions may not."""
    left, right = one.columns, other.columns
    if left is right and (one.first, one.last) == (other.first, other.last):
        return True
    mine, theirs = left.held(one.first, one.last), right.held(other.first, other.last)
    return len(one) == len(other) and all(map(eq, mine, theirs))


def _rows_of_one(topics: Sequence[Sequence[Partition]]) -> list[TopicPartitions]:
    """The topics, if all are rows of the same columns; else none."""
    rows = [each for each in topics if isinstance(each, TopicPartitions)]
    alike = len(rows) == len(topics) and all(each.columns is rows[0].columns for each in rows)
    return rows if alike else []


def _lists(values: Sequence[Replicas | None]) -> ReplicaLists:
    if not any(values):
        return ReplicaLists.empty(len(values))
    return ReplicaLists.of([each or () for each in values])


def _or_unknown(values: Sequence[int | None]) -> Ints:
    if None in values:
        values = [UNKNOWN if each is None else each for each in values]
    return np.array(values, dtype=np.int64)


def _or_none_known(values: Sequence[int | None] = ()) -> Ints | None:
    return _or_unknown(values) if any(each is not None for each in values) else None


def none_if_unknown(values: Ints) -> list[int | None]:
    """The numbers, None for `UNKNOWN`."""
    found: list[int | None] = values.tolist()
    for row in np.flatnonzero(values == UNKNOWN).tolist():
        found[row] = None
    return found
