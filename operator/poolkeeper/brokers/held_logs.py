"""The logs that brokers reported, beside the replicas of a cluster, by column.

A log is a replica's if its broker is in the partition's list; any other is *elsewhere*. 200,000
partitions have 600,000 logs, and each is looked at once.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, repeat

import numpy as np

from poolkeeper.brokers.sizes import Sizes
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.log_dir_columns import NO_DIRECTORY, LogDirColumns
from poolkeeper.model.columns.partition_columns import UNKNOWN, PartitionColumns
from poolkeeper.model.columns.replica_lists import Ints
from poolkeeper.model.topology import Cluster, TopicPartition

_NO_ROW = -1
LogDirsByRow = Sequence[Mapping[int, str] | None]


@frozen
class HeldLogs:
    """By replica, in the order of `columns.replicas.ids`: its partition's row, size, directory.

    `size` is `UNKNOWN`, and `place` (an index in `names`) `NO_DIRECTORY`, where the broker is
    silent or has no log. `elsewhere`: by broker that answered, its logs that are no replica's.
    """

    row: Ints
    size: Ints
    place: Ints
    names: tuple[str, ...]
    elsewhere: Mapping[int, Sequence[TopicPartition]]

    @classmethod
    def of(cls, cluster: Cluster, columns: PartitionColumns, sizes: Sizes) -> "HeldLogs":
        """The logs of these partitions, which are those of the cluster, topic after topic."""
        rows = _rows_by_name(cluster, columns)
        row = np.repeat(np.arange(len(columns)), columns.replicas.lengths)
        order, begin, ends = _slots_by_broker(columns.replicas.ids)
        size = np.full(len(row), UNKNOWN)
        place = np.full(len(row), NO_DIRECTORY)
        names: dict[str, int] = {}
        elsewhere: dict[int, Sequence[TopicPartition]] = {}
        for broker, logs in sizes.logs.items():
            slot_of = np.full(len(columns), _NO_ROW)
            own = order[begin.get(broker, 0) : ends.get(broker, 0)]
            slot_of[row[own]] = own
            found = np.fromiter(map(rows.get, logs.current, repeat(_NO_ROW)), dtype=np.int64)
            slot = np.where(found == _NO_ROW, _NO_ROW, slot_of[found]) if len(columns) else found
            there = slot != _NO_ROW
            elsewhere[broker] = _chosen(logs.current, ~there)
            held = logs.current.values()
            reported = np.array([log.size_bytes for log in held], dtype=np.int64)
            where = [names.setdefault(log.log_dir, len(names)) for log in held]
            size[slot[there]] = reported[there]
            place[slot[there]] = np.array(where, dtype=np.int64)[there]
        return cls(row, size, place, tuple(names), elsewhere)

    def largest(self, known: Ints) -> Ints:
        """By row, the size of its largest log; what is `known` where no log is."""
        found = np.full(len(known), UNKNOWN)
        np.maximum.at(found, self.row, self.size)
        return np.where(found == UNKNOWN, known, found)

    def log_dirs(self, columns: PartitionColumns) -> LogDirsByRow | None:
        """By row, the directories of its logs; what was known before where no log is."""
        before = columns.log_dirs
        if (self.place == NO_DIRECTORY).all():
            return before
        found = LogDirColumns(columns.replicas, self.place, self.names)
        if before is None:
            return found
        return [new or old for new, old in zip(found, before, strict=True)]


def _rows_by_name(cluster: Cluster, columns: PartitionColumns) -> dict[tuple[str, int], int]:
    names = chain.from_iterable(
        repeat(name, len(topic.partitions)) for name, topic in cluster.topics.items()
    )
    return dict(
        zip(zip(names, columns.number.tolist(), strict=True), range(len(columns)), strict=True)
    )


def _slots_by_broker(ids: Ints) -> tuple[Ints, dict[int, int], dict[int, int]]:
    """Return the replicas by broker, and where those of each begin and end."""
    order = np.argsort(ids, kind="stable")
    first = np.flatnonzero(np.diff(ids[order], prepend=ids[order][:1] - 1))
    brokers = ids[order][first].tolist()
    begins = first.tolist()
    ends = [*begins[1:], len(ids)]
    return order, dict(zip(brokers, begins, strict=True)), dict(zip(brokers, ends, strict=False))


def _chosen(names: Mapping[TopicPartition, object], wanted: np.ndarray) -> list[TopicPartition]:
    if not wanted.any():
        return []
    return [name for name, is_wanted in zip(names, wanted.tolist(), strict=True) if is_wanted]
