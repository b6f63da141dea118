"""Files that tasks write, each attempt at a task its own, where nobody looks.

    ROOT/attempts/RUN/TABLE/00003-TOKEN.parquet      what one attempt at task 3 has written
    ROOT/TABLE/day=D/run=RUN/part-00003-TOKEN.parquet   the same when its job is done (`Lake.adopt`)

Spark hands on the answer of one attempt at a task, and an attempt answers with the names of its
files. Files that no answer names were written by attempts that were killed, lost or overtaken:
they never come into a table, and are deleted with all else below `attempts`.

Rows are written as they are made, so that a task holds those of one cluster. Small clusters share
row groups, and a large one has its own.
"""

import contextlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.lake.entries import TableFile
from poolkeeper.fleet.lake.filesystems import Storage, open_filesystem, scheme_of
from poolkeeper.fleet.lake.objects import PUT_AT_ONCE
from poolkeeper.fleet.storage import parquet, schemas
from poolkeeper.fleet.storage.table_schema import TableSchema
from poolkeeper.frozen import frozen

T = TypeVar("T")
ATTEMPTS = "attempts"
OWN_GROUP_ROWS = 16 * 1024
SHARED_GROUP_ROWS = 64 * 1024
SHARED_GROUP_BYTES = 8 * 1024**2


@frozen
class Destination:
    """Where the tasks of a run write: below a root, as what they are opened with."""

    root: str
    storage: Storage
    run: str

    @property
    def folder(self) -> str:
        """The folder of all attempts, below the root."""
        return f"{ATTEMPTS}/{self.run}"


class AttemptFiles:
    """The files of one attempt at a task; for one thread."""

    def __init__(self, destination: Destination, task: int) -> None:
        self._destination = destination
        self._name = f"{task:05d}-{secrets.token_hex(6)}.parquet"
        self._files: dict[str, _TableFile] = {}

    def add(self, cluster: str, tables: Mapping[str, pa.Table]) -> None:
        """Write the rows of a cluster; raises `Unavailable` where that cannot be."""
        for name, content in tables.items():
            if content.num_rows:
                if name not in self._files:
                    path = f"{self._destination.folder}/{name}/{self._name}"
                    self._files[name] = _TableFile(schemas.TABLES[name], path, self._destination)
                self._done(name, partial(self._files[name].add, cluster, content))

    def close(self) -> dict[str, TableFile]:
        """The files by table, all of them whole; raises as `add`."""
        return {name: self._done(name, file.close) for name, file in self._files.items()}

    def abandon(self) -> None:
        """Delete what is there, as far as that goes: it is swept otherwise."""
        for file in self._files.values():
            with contextlib.suppress(OSError, pa.ArrowException):
                file.delete()

    def _done(self, name: str, action: Callable[[], T]) -> T:
        try:
            return action()
        except (OSError, pa.ArrowException) as failed:
            said = (str(failed).splitlines() or [type(failed).__name__])[0]
            place = f"{self._destination.root}/{self._destination.folder}/{name}/{self._name}"
            raise Unavailable(f"{place}: cannot be written: {said}") from failed


@dataclass(slots=True)
class _TableFile:
    """One file under way; `waiting`: rows of small clusters that will share a row group."""

    table: TableSchema
    path: str
    destination: Destination
    waiting: list[pa.Table] = field(default_factory=list)
    _sink: Any = None
    _writer: Any = None

    def add(self, cluster: str, content: pa.Table) -> None:
        rows = parquet.with_cluster(self.table, cluster, content)
        if rows.num_rows >= OWN_GROUP_ROWS:
            self._flush()
            self._write(rows)
            return
        self.waiting.append(rows)
        if (
            sum(each.num_rows for each in self.waiting) >= SHARED_GROUP_ROWS
            or sum(each.nbytes for each in self.waiting) >= SHARED_GROUP_BYTES
        ):
            self._flush()

    def close(self) -> TableFile:
        self._flush()
        self._writer.close()
        length = self._sink.tell()
        self._sink.close()
        return TableFile(self.table.name, self.path, length)

    def delete(self) -> None:
        files, base = open_filesystem(self.destination.root, self.destination.storage)
        for opened in (self._writer, self._sink):
            with contextlib.suppress(OSError, ValueError, pa.ArrowException):
                if opened is not None:
                    opened.close()
        files.delete_file(f"{base}/{self.path}")

    def _flush(self) -> None:
        if self.waiting:
            rows = pa.concat_tables(self.waiting)
            self.waiting.clear()
            self._write(rows)

    def _write(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._writer = self._opened(rows.schema)
        self._writer.write_table(rows, row_group_size=parquet.GROUP_ROWS)

    def _opened(self, schema: pa.Schema) -> Any:
        files, base = open_filesystem(self.destination.root, self.destination.storage)
        at = f"{base}/{self.path}"
        if scheme_of(self.destination.root) not in PUT_AT_ONCE:
            files.create_dir(at.rpartition("/")[0], recursive=True)
        self._sink = files.open_output_stream(at)
        return pq.ParquetWriter(
            self._sink, schema, compression="zstd", write_page_checksum=True, store_schema=False
        )
