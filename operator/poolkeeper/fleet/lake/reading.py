"""The rows of one cluster, opened by URI by whoever needs them: a task, or the driver.

A file holds several small clusters one after the other, or a part of a giant. Its row groups know
between which names theirs lie, so that only those of the cluster are decoded. A task of many small
clusters finds them in the same row groups: the last few are kept.

Files never change once a run has written them. One that has another length than its entry says, or
values that no run writes, is another file under its name, and is damaged.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry, TableFile
from poolkeeper.fleet.lake.filesystems import Storage, local_path, open_file, open_filesystem
from poolkeeper.fleet.storage import parquet, table_schema
from poolkeeper.fleet.storage.row_values import require_sound
from poolkeeper.fleet.storage.table_schema import TableSchema
from poolkeeper.text import first_line

CLUSTER = table_schema.CLUSTER.name
KEPT_BYTES = 32 * 1024**2
LARGE_BYTES = 16 * 1024**2
"""A row group of too many rows to wait for the next cluster."""
LONG_NAME = 60
NOT_THERE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
"""What a store raises where there is no such file; anything else says nothing of the file."""


@dataclass(slots=True)
class Reader:
    """Reads rows of clusters below a root; for one thread."""

    root: str
    storage: Storage
    _open: dict[str, Any] = field(default_factory=dict)
    _kept: "OrderedDict[tuple[str, int, tuple[str, ...]], pa.Table]" = field(
        default_factory=OrderedDict
    )
    _kept_bytes: int = 0

    def rows(
        self, entry: ClusterEntry, table: TableSchema, columns: Iterable[str] | None = None
    ) -> pa.Table:
        """The rows of a cluster, in their order; none where it has no file of that table.

        Raises `DamagedFile` for a file that cannot be read, `Unavailable` for one that the store
        does not give, `Refused` for another version.
        """
        names = [c.name for c in table.columns] if columns is None else list(columns)
        files = entry.of_table(table)
        parts = [
            part for file in files for part in self._of_file(file, entry.cluster, table, names)
        ]
        if not parts:
            schema = parquet.arrow(table)
            return pa.schema([schema.field(name) for name in names]).empty_table()
        return pa.concat_tables(parts)

    def row(self, entry: ClusterEntry, table: TableSchema) -> dict[str, Any]:
        """The one row of a table that a cluster has; raises as `rows`, also where there is none."""
        row = next(parquet.rows_of(self.rows(entry, table)), None)
        if row is None:
            files = entry.of_table(table)
            path = files[0].path if files else f"{table.name}/run={entry.run}"
            raise DamagedFile(path, f"there is no row of {entry.cluster or 'the fleet'}")
        return row

    def _of_file(
        self, stored: TableFile, cluster: str, table: TableSchema, names: Sequence[str]
    ) -> list[pa.Table]:
        try:
            with parquet.memory_apart():
                return self._read(stored, cluster, table, names)
        except (OSError, ValueError, pa.ArrowException, Refused) as failed:
            raise DamagedFile(stored.path, first_line(failed)) from failed

    def _read(
        self, stored: TableFile, cluster: str, table: TableSchema, names: Sequence[str]
    ) -> list[pa.Table]:
        try:
            return self._parts(self._file(stored), stored.path, cluster, table, names)
        except NOT_THERE:
            raise
        except OSError:
            if local_path(self.root) is not None:
                raise
            # Arrow says it of a file that is damaged and of a store that did not answer.
            return self._parts(self._fetched(stored), stored.path, cluster, table, names)

    def _parts(
        self, file: Any, path: str, cluster: str, table: TableSchema, names: Sequence[str]
    ) -> list[pa.Table]:
        """The rows of a cluster in a file, as they lie in its row groups."""
        there = [name for name in names if name in file.schema_arrow.names]
        parts = []
        for group in range(file.metadata.num_row_groups):
            held = _holding(file, group, cluster) if table.of_clusters else _Held.ALONE
            if held is _Held.NONE:
                continue
            wanted = (CLUSTER, *there) if held is _Held.AMONG else tuple(there)
            content = self._group(file, path, group, wanted, shared=held is _Held.AMONG)
            if held is _Held.AMONG:
                content = _of_cluster(content, cluster)
            if content.num_rows:
                rows = parquet.complete_columns(content, table, names, path)
                require_sound(rows, table, path)
                parts.append(rows)
        return parts

    def _fetched(self, stored: TableFile) -> Any:
        """The file, all of whose bytes are there; raises `Unavailable` where they do not come."""
        files, base = open_filesystem(self.root, self.storage)
        with self._answered(stored), open_file(files, f"{base}/{stored.path}") as opened:
            body = opened.read()
        whole = pq.ParquetFile(pa.BufferReader(body), page_checksum_verification=True)
        self._open[stored.path] = whole
        return whole

    def _file(self, stored: TableFile) -> Any:
        path = stored.path
        if path not in self._open:
            files, base = open_filesystem(self.root, self.storage)
            if len(self._open) >= 16:
                self._open.pop(next(iter(self._open))).close()
            with self._answered(stored):
                opened = open_file(files, f"{base}/{path}")
            if (length := opened.size()) != stored.bytes:
                raise Refused(f"it has {length} bytes (expected {stored.bytes})")
            self._open[path] = pq.ParquetFile(opened, page_checksum_verification=True)
        return self._open[path]

    @contextmanager
    def _answered(self, stored: TableFile) -> Iterator[None]:
        """Raise `Unavailable` where the store gives no rights or no answer, for a file it has."""
        try:
            yield
        except NOT_THERE:
            raise
        except OSError as failed:
            said = first_line(failed)
            raise Unavailable(f"{self.root}/{stored.path}: cannot be read: {said}") from failed

    def _group(
        self, file: Any, path: str, group: int, columns: tuple[str, ...], *, shared: bool
    ) -> pa.Table:
        """A row group, which is kept if the next cluster may want it."""
        key = (path, group, columns)
        if key not in self._kept:
            found = file.read_row_group(group, list(columns), use_threads=False)
            if not shared or found.nbytes > LARGE_BYTES:
                return found
            while self._kept and self._kept_bytes > KEPT_BYTES:
                self._kept_bytes -= self._kept.popitem(last=False)[1].nbytes
            self._kept[key] = found
            self._kept_bytes += found.nbytes
        self._kept.move_to_end(key)
        return self._kept[key]


class _Held(Enum):
    """Which rows of a row group are a cluster's."""

    NONE = "none"
    AMONG = "some, among others"
    ALONE = "all"


def _holding(file: Any, group: int, cluster: str) -> _Held:
    """Which rows of the group are the cluster's, as far as the group knows its names."""
    place = file.schema_arrow.names.index(CLUSTER)  # columns before it are none of several leaves
    known = file.metadata.row_group(group).column(place).statistics
    if known is None or not known.has_min_max:
        return _Held.AMONG
    if not known.min <= cluster <= known.max:
        return _Held.NONE
    # A long name may have been cut off in what the group knows.
    alone = known.min == cluster == known.max and len(cluster) < LONG_NAME
    return _Held.ALONE if alone else _Held.AMONG


def _of_cluster(content: pa.Table, cluster: str) -> pa.Table:
    own = pc.equal(content.column(CLUSTER), cluster)
    rest = content.drop_columns([CLUSTER])
    first, count = pc.index(own, True).as_py(), pc.sum(own, min_count=0).as_py()
    # We write a cluster's rows side by side: then they need no copy.
    if count and pc.all(own.slice(first, count)).as_py():
        return rest.slice(first, count)
    return rest.filter(own)
