"""Where the tables of a fleet lie, and what of them need not be made again.

    ROOT/partitions/day=2026-11-21/cluster=main/rows.parquet

One file per table, day and cluster: executors write them without asking each other, a cluster is
read without looking at others, and Spark, DuckDB or pandas read a whole table with `day` and
`cluster` as columns of their own. `ROOT` is a folder that the driver and all executors see.

**A step of a cluster is whole or not there.** Each step has a head table (`clusters`, `features`,
`plans`, `budgets`), with one file that is removed before anything else is written and written
after everything else. The head's metadata hold the *input*: the digest of all that the step was
made from, the release of Poolkeeper included. A step whose head says `ok` for the same input is not
made again. A restart needs nothing else.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from poolkeeper import __version__
from poolkeeper.errors import Refused
from poolkeeper.fleet.storage import codecs, parquet, schemas
from poolkeeper.fleet.storage.schemas import TableSchema

FILE = "rows.parquet"
OK, FAILED = "ok", "failed"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of tables. `day` is `2026-11-21`; empty for tables that know no days."""

    root: Path

    def file(self, table: TableSchema, day: str, cluster: str) -> Path:
        """Where the rows of that day and cluster are; raises `Refused` for no name of a folder."""
        values = {"day": day, "cluster": cluster}
        for name, form in (("day", _DAY), ("cluster", _NAME)):
            if name in table.by and not form.fullmatch(values[name]):
                raise Refused(f"{name} {values[name]!r} cannot be a folder of table {table.name}")
        folders = (f"{name}={values[name]}" for name in table.by)
        return self.root.joinpath(table.name, *folders, FILE)

    def days(self, table: TableSchema) -> tuple[str, ...]:
        """The days that there is anything of, ascending."""
        return tuple(_values(self.root / table.name, "day"))

    def clusters(self, table: TableSchema, day: str = "") -> tuple[str, ...]:
        """The clusters that there are rows of, sorted."""
        folder = self.root / table.name
        if "day" in table.by:
            folder /= f"day={day}"
        return tuple(n for n in _values(folder, "cluster") if self.file(table, day, n).exists())

    def read(
        self, table: TableSchema, day: str, cluster: str, columns: Iterable[str] | None = None
    ) -> pa.Table:
        """The rows of one cluster; raises `Refused` where there are none, or of another version."""
        return parquet.read(self.file(table, day, cluster), table, columns)

    def head(self, table: TableSchema, day: str, cluster: str) -> dict[str, Any] | None:
        """The row of a head table with one row, or None where there is none that can be used."""
        file = self.file(table, day, cluster)
        if not file.exists():
            return None
        try:
            return next(parquet.rows_of(parquet.read(file, table)), None)
        except Refused:
            return None  # cut off, or of another version: made again

    def is_made(self, table: TableSchema, day: str, cluster: str, digest: str) -> bool:
        """Whether the step with this head is there, made from that input."""
        return parquet.input_of(self.file(table, day, cluster)) == digest

    def begin(self, table: TableSchema, day: str, cluster: str) -> None:
        """Take the head away: what follows it is about to change."""
        with contextlib.suppress(FileNotFoundError):
            self.file(table, day, cluster).unlink()

    def write(
        self, table: TableSchema, day: str, cluster: str, content: pa.Table, digest: str = ""
    ) -> None:
        """Write the rows of one cluster; with the input's digest if they are a head."""
        parquet.write(self.file(table, day, cluster), content, digest)

    def step(
        self,
        head: TableSchema,
        day: str,
        cluster: str,
        content: Mapping[str, pa.Table],
        digest: str,
    ) -> None:
        """Write a whole step: all tables by name, the head among them."""
        self.begin(head, day, cluster)
        for name, rows in content.items():
            if name != head.name:
                self.write(schemas.TABLES[name], day, cluster, rows)
        self.write(head, day, cluster, content[head.name], digest)


def input_digest(*said: str, files: Iterable[Path] = ()) -> str:
    """`sha256:` and the digest of what a step is made from: words, files' content, our release."""
    return codecs.digest(__version__, *said, *map(_of_file, files))


def _of_file(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except FileNotFoundError:
        return "none"
    except OSError as failed:
        raise Refused(f"{file}: cannot be read: {failed.strerror}") from failed


def _values(folder: Path, name: str) -> Iterator[str]:
    """The values that folders here are named after, `name=value`."""
    try:
        found = sorted(each.name for each in folder.iterdir())
    except OSError:
        return
    for each in found:
        key, _, value = each.partition("=")
        if key == name and value:
            yield value
