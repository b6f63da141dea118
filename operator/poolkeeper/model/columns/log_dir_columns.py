"""Which log directory each replica is in, by column; a mapping is made when somebody asks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists

NO_DIRECTORY = -1


@dataclass(frozen=True, slots=True, eq=False)
class LogDirColumns(Sequence[Mapping[int, str] | None]):
    """By partition: its brokers' log directories, as far as they are known; None if none is.

    `place`: by replica, in the order of `replicas.ids`, the index in `names` of its directory, or
    `NO_DIRECTORY`.
    """

    replicas: ReplicaLists
    place: Ints
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.replicas)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            first, last, step = at.indices(len(self))
            assert step == 1, "neighbours are asked for"
            return self._mappings(first, max(first, last))
        row = range(len(self))[at]
        return self._mappings(row, row + 1)[0]

    def __iter__(self) -> Iterator[Mapping[int, str] | None]:
        return iter(self._mappings(0, len(self)))

    def take(self, rows: Ints) -> "LogDirColumns":
        """The partitions of these rows."""
        slots = ReplicaLists(self.replicas.offsets, self.place).take(rows)
        return LogDirColumns(self.replicas.take(rows), slots.ids, self.names)

    def _mappings(self, first: int, last: int) -> list[Mapping[int, str] | None]:
        brokers = self.replicas.tuples(first, last)
        places = ReplicaLists(self.replicas.offsets, self.place).tuples(first, last)
        names = self.names
        return [
            {broker: names[n] for broker, n in zip(own, known, strict=True) if n != NO_DIRECTORY}
            or None
            for own, known in zip(brokers, places, strict=True)
        ]
