"""Rows that tasks have made and that no table has yet, each attempt at a task its own.

    ROOT/attempts/RUN/TABLE/00003-TOKEN.arrow    what one attempt at task 3 has made of a table

A task makes rows of several tables at once, and a job of Spark's writes one. So a task puts its
rows down as Arrow, and answers with the name of its attempt; then Spark writes table by table, from
the rows of the attempts that it took an answer from. Rows of attempts that were killed, lost or
overtaken are named by no answer: they never come into a table, and are deleted with all else below
`attempts`. Whoever reads an attempt twice reads the same rows, so that a lost task of a job that
writes is done again by Spark.

Rows are put down as they are made, so that a task holds those of one cluster.
"""

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.lake.filesystems import (
    Storage,
    local_path,
    open_file,
    open_filesystem,
    scheme_of,
)
from poolkeeper.fleet.lake.objects import PUT_AT_ONCE
from poolkeeper.fleet.storage import parquet, schemas
from poolkeeper.fleet.storage.table_schema import TableSchema
from poolkeeper.frozen import frozen
from poolkeeper.text import first_line

T = TypeVar("T")
ATTEMPTS = "attempts"
BATCH_ROWS = 16 * 1024
READ_AT_ONCE = 4 * 1024**2
"""A stream is read some bytes at a time, each of which would be a request to a store."""


@frozen
class Destination:
    """Where the rows of a run go: below a root, as what they are opened with, of which day."""

    root: str
    storage: Storage
    run: str
    day: str

    @property
    def attempts(self) -> str:
        """The folder of all attempts, below the root."""
        return f"{ATTEMPTS}/{self.run}"

    def table(self, name: str) -> str:
        """The folder of the run in a table, below the root."""
        return folder_of_run(name, self.day, self.run)

    def attempt(self, table: str, name: str) -> str:
        """The file of an attempt, below the root."""
        return f"{self.attempts}/{table}/{name}.arrow"


def folder_of_run(table: str, day: str, run: str) -> str:
    """The folder, below a root, to which a run writes a table."""
    return f"{table}/day={day}/run={run}"


class AttemptFiles:
    """The files of one attempt at a task; for one thread."""

    def __init__(self, destination: Destination, task: int) -> None:
        self._destination = destination
        self._name = f"{task:05d}-{secrets.token_hex(6)}"
        self._files: dict[str, _TableRows] = {}

    def add(self, cluster: str, tables: Mapping[str, pa.Table]) -> None:
        """Put down the rows of a cluster; raises `Unavailable` where that cannot be."""
        for name, content in tables.items():
            if content.num_rows:
                if name not in self._files:
                    path = self._destination.attempt(name, self._name)
                    self._files[name] = _TableRows(schemas.TABLES[name], path, self._destination)
                self._done(name, partial(self._files[name].add, cluster, content))

    def close(self) -> str:
        """The name of the attempt, all of whose files are whole; raises as `add`."""
        for name, file in self._files.items():
            self._done(name, file.close)
        return self._name

    def abandon(self) -> None:
        """Delete what is there, as far as that goes: it is swept otherwise."""
        for file in self._files.values():
            with contextlib.suppress(OSError, pa.ArrowException):
                file.delete()

    def _done(self, name: str, action: Callable[[], T]) -> T:
        try:
            return action()
        except (OSError, pa.ArrowException) as failed:
            place = f"{self._destination.root}/{self._destination.attempt(name, self._name)}"
            raise Unavailable(f"{place}: cannot be written: {first_line(failed)}") from failed


def rows_of_attempt(destination: Destination, table: str, attempt: str) -> Iterator[pa.RecordBatch]:
    """The rows of an attempt, as tables hold them; raises `Unavailable` where that cannot be."""
    path = destination.attempt(table, attempt)
    files, base = open_filesystem(destination.root, destination.storage)
    try:
        with open_file(files, f"{base}/{path}") as opened:
            is_far = local_path(destination.root) is None
            source = pa.BufferedInputStream(opened, READ_AT_ONCE) if is_far else opened
            with pa.ipc.open_stream(source) as stream:
                yield from stream
    except (OSError, pa.ArrowException) as failed:
        place = f"{destination.root}/{path}"
        raise Unavailable(f"{place}: cannot be read: {first_line(failed)}") from failed


@dataclass(slots=True)
class _TableRows:
    """One file under way; `waiting`: rows of small clusters that are put down together."""

    table: TableSchema
    path: str
    destination: Destination
    waiting: list[pa.Table] = field(default_factory=list)
    _sink: Any = None
    _stream: Any = None

    def add(self, cluster: str, content: pa.Table) -> None:
        self.waiting.append(parquet.with_cluster(self.table, cluster, content))
        if sum(each.num_rows for each in self.waiting) >= BATCH_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._stream.close()
        self._sink.close()

    def delete(self) -> None:
        files, base = open_filesystem(self.destination.root, self.destination.storage)
        for opened in (self._stream, self._sink):
            with contextlib.suppress(OSError, ValueError, pa.ArrowException):
                if opened is not None:
                    opened.close()
        files.delete_file(f"{base}/{self.path}")

    def _flush(self) -> None:
        if self.waiting:
            rows = pa.concat_tables(self.waiting)
            self.waiting.clear()
            if self._stream is None:
                self._stream = self._opened(rows.schema)
            whole = rows if rows.num_rows >= 2 * BATCH_ROWS else rows.combine_chunks()
            self._stream.write_table(whole, max_chunksize=BATCH_ROWS)

    def _opened(self, schema: pa.Schema) -> Any:
        root = self.destination.root
        files, base = open_filesystem(root, self.destination.storage)
        at = f"{base}/{self.path}"
        if scheme_of(root) not in PUT_AT_ONCE:
            files.create_dir(at.rpartition("/")[0], recursive=True)
        # Here a disk's bytes cost less than their compression; elsewhere they travel.
        options = pa.ipc.IpcWriteOptions(compression="lz4" if local_path(root) is None else None)
        self._sink = files.open_output_stream(at, compression=None)
        return pa.ipc.new_stream(self._sink, schema, options=options)
