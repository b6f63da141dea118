"""Partitions by column: large clusters are planned without making an object of each partition.

A snapshot in tables has columns, and the planner and the audit want columns. So a topic's
partitions may be a `TopicPartitions`: rows of the columns of the whole cluster, which become
`Partition`s when somebody looks at one. They are never changed: the columns of a topic are what its
partitions say, and the other way round.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists, distinct
from poolkeeper.model.topology import Partition, Replicas

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

UNKNOWN = np.iinfo(np.int64).min
"""Stands for a number that is not known; no partition has it."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionColumns:
    """The fields of partitions, a row for each; see `Partition`.

    `leader` and `bytes` are `UNKNOWN`, and `bytes_in_per_s` is NaN, where they are not known.
    `isr` counts only where `isr_known`. `log_dirs` is None if no directory is known at all.
    Epochs of leaders are not kept.
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

    @classmethod
    def of(cls, partitions: Sequence[Partition]) -> "PartitionColumns":
        """The columns of these partitions; raises `OverflowError` for what 64 bits cannot hold."""
        fields = zip(*partitions, strict=True) if partitions else [()] * len(Partition._fields)
        number, replicas, adding, removing, leader, isr, _, size, rate, log_dirs = fields
        return cls.of_fields(number, replicas, adding, removing, leader, isr, size, rate, log_dirs)

    @classmethod
    def of_fields(
        cls,
        number: Sequence[int],
        replicas: Sequence[Replicas],
        adding: Sequence[Replicas | None],
        *known: Sequence[Any],
    ) -> "PartitionColumns":
        """The columns of fields by partition, in the order of `Partition`, without epochs.

        `known`: what is removed, leader, replicas in sync, bytes, bytes per second, directories;
        None where a value is not known. Raises `OverflowError` as `of`.
        """
        removing, leader, isr, size, rate, log_dirs = known
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
        )

    def __len__(self) -> int:
        return len(self.number)

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
            None if dirs is None else [dirs[row] for row in rows.tolist()],
        )

    def partitions(self, first: int, last: int) -> tuple[Partition, ...]:
        """The partitions of the rows from `first` up to `last`."""
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
                _or_none(self.leader[rows]),
                isr,
                repeat(None),
                _or_none(self.bytes[rows]),
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
        return isinstance(other, TopicPartitions | tuple) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[type, tuple[tuple[Partition, ...]]]:
        return tuple, (self._all(),)


def columns_of(topics: Sequence[Sequence[Partition]]) -> PartitionColumns:
    """The columns of the partitions of these topics, one topic after the other."""
    rows = _rows_of_one(topics)
    if not rows:
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


def _rows_of_one(topics: Sequence[Sequence[Partition]]) -> list[TopicPartitions]:
    """The topics, if all are rows of the same columns; else none."""
    rows = [each for each in topics if isinstance(each, TopicPartitions)]
    alike = len(rows) == len(topics) and all(each.columns is rows[0].columns for each in rows)
    return rows if alike else []


def numbers_of(partitions: Sequence[Partition]) -> list[int]:
    """The partitions' numbers."""
    if isinstance(partitions, TopicPartitions):
        found: list[int] = partitions.columns.number[partitions.first : partitions.last].tolist()
        return found
    return [partition.partition for partition in partitions]


def leaders_of(partitions: Sequence[Partition]) -> list[int | None]:
    """The partitions' leaders, `None` where one is not known."""
    if isinstance(partitions, TopicPartitions):
        return _or_none(partitions.columns.leader[partitions.first : partitions.last])
    return [partition.leader for partition in partitions]


def unsettled(partitions: Sequence[Partition], live: Collection[int]) -> Iterable[Partition]:
    """The partitions without those, as far as columns tell, that are led and wholly in sync."""
    if not isinstance(partitions, TopicPartitions):
        return partitions
    columns, rows = partitions.columns, slice(partitions.first, partitions.last)
    ends = slice(partitions.first, partitions.last + 1)
    replicas, isr = (np.diff(each.offsets[ends]) for each in (columns.replicas, columns.isr))
    leaders = columns.leader[rows]
    led = [broker for broker in distinct(leaders).tolist() if broker in live]
    settled = columns.isr_known[rows] & (replicas == isr) & np.isin(leaders, led)
    return () if settled.all() else partitions


def surely_settled(partitions: Sequence[Partition]) -> bool:
    """Whether columns tell that none moves, each has a replica, and their numbers have no gap."""
    if not isinstance(partitions, TopicPartitions):
        return False
    columns, first, last = partitions.columns, partitions.first, partitions.last
    changing = (columns.adding.offsets, columns.removing.offsets)
    return (
        all(offsets[first] == offsets[last] for offsets in changing)
        and bool((columns.number[first:last] == np.arange(last - first)).all())
        and bool((np.diff(columns.replicas.offsets[first : last + 1]) > 0).all())
    )


def longest_of(partitions: Sequence[Partition]) -> int:
    """The length of the longest replica list; 0 of no partitions."""
    if isinstance(partitions, TopicPartitions):
        offsets = partitions.columns.replicas.offsets[partitions.first : partitions.last + 1]
        return int(np.diff(offsets).max(initial=0))
    return max((len(partition.replicas) for partition in partitions), default=0)


def last_of(partitions: Sequence[Partition]) -> tuple[int, Replicas]:
    """The number and the replicas of the last of at least one partition."""
    if isinstance(partitions, TopicPartitions):
        columns, row = partitions.columns, partitions.last - 1
        return int(columns.number[row]), columns.replicas[row]
    return partitions[-1].partition, partitions[-1].replicas


def _lists(values: Sequence[Replicas | None]) -> ReplicaLists:
    if not any(values):
        return ReplicaLists.empty(len(values))
    return ReplicaLists.of([each or () for each in values])


def _or_unknown(values: Sequence[int | None]) -> Ints:
    if None in values:
        values = [UNKNOWN if each is None else each for each in values]
    return np.array(values, dtype=np.int64)


def _or_none(values: Ints) -> list[int | None]:
    found: list[int | None] = values.tolist()
    for row in np.flatnonzero(values == UNKNOWN).tolist():
        found[row] = None
    return found
