"""A row of `current`: what counts of one cluster in one step of one day."""

import io
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import NamedTuple

import pyarrow as pa

from poolkeeper.errors import Refused
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.storage import parquet, schemas, table_schema
from poolkeeper.fleet.storage.schemas import OK
from poolkeeper.fleet.storage.table_schema import TableSchema
from poolkeeper.frozen import frozen
from poolkeeper.text import first_line

_COUNTED = ("partitions", "read_ms", "moves")
"""Figures that are whole numbers, where they are told."""


class TableFile(NamedTuple):
    """A file with rows of a cluster: its table, its path below the root, its length."""

    table: str
    path: str
    bytes: int


@frozen
class ClusterEntry:
    """What counts of a cluster: the run that made its rows, from which input, and where they are.

    `input` is empty where the rows must be made again.
    `later_failure`: why a later run could not make them anew, so that these still count.
    """

    cluster: str
    run: str
    input: str
    status: str = OK
    reason: str = ""
    figures: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    files: tuple[TableFile, ...] = ()
    later_failure: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether there are rows."""
        return self.status == OK

    @property
    def partitions(self) -> int:
        """How many partitions the cluster had; 0 where nothing says."""
        return int(self.figures.get("partitions", 0))

    def of_table(self, table: TableSchema) -> tuple[TableFile, ...]:
        """The files with its rows of a table; raises `Refused` for another version of the table."""
        found = tuple(file for file in self.files if file.table == table.name)
        if found:
            table_schema.check_version(table, self.versions.get(table.name), found[0].path)
        return found

    def without_input(self) -> "ClusterEntry":
        """The same entry without its input, so that the next run makes its rows again."""
        return replace(self, input="")


def to_bytes(entries: Iterable[ClusterEntry], published: int) -> bytes:
    """A file of `current`."""
    listed = sorted(entries, key=lambda entry: entry.cluster)
    content = pa.Table.from_pylist(
        [
            {
                "cluster": each.cluster,
                "published": published,
                "run": each.run,
                "input": each.input,
                "status": each.status,
                "reason": each.reason or None,
                "figures": sorted(each.figures.items()),
                "versions": sorted(each.versions.items()),
                "files": [file._asdict() for file in each.files],
                "later_failure": each.later_failure or None,
            }
            for each in listed
        ],
        schema=parquet.stored_schema(schemas.CURRENT),
    )
    sink = io.BytesIO()
    parquet.dump(content, sink)
    return sink.getvalue()


def from_bytes(body: bytes, file: str) -> dict[str, ClusterEntry]:
    """The entries of a file by cluster; raises `DamagedFile` for what is no such file."""
    try:
        content = parquet.parse(body)
        names = [column.name for column in schemas.CURRENT.columns]
        clusters = content.column("cluster").to_pylist()
        rows = parquet.rows_of(parquet.complete_columns(content, schemas.CURRENT, names, file))
        found = {
            cluster: _sound(
                ClusterEntry(
                    cluster,
                    row["run"],
                    row["input"],
                    row["status"],
                    row["reason"] or "",
                    row["figures"],
                    row["versions"],
                    tuple(TableFile(**each) for each in row["files"]),
                    row["later_failure"] or "",
                )
            )
            for cluster, row in zip(clusters, rows, strict=True)
        }
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException, Refused) as wrong:
        raise DamagedFile(file, first_line(wrong)) from wrong
    if len(found) != len(clusters):
        raise DamagedFile(file, "a cluster is there twice")
    return found


def _sound(entry: ClusterEntry) -> ClusterEntry:
    """The entry; raises `ValueError` where it says what no run says."""
    if None in entry.figures.values() or None in entry.versions.values():
        raise ValueError(f"a figure of {entry.cluster} is null")
    if any(int(entry.figures.get(name) or 0) < 0 for name in _COUNTED):
        raise ValueError(f"a figure of {entry.cluster} is below 0")
    if any(None in each for each in entry.files):
        raise ValueError(f"a file of {entry.cluster} has no path")
    is_snapshot = any(each.table == schemas.CLUSTERS.name for each in entry.files)
    if is_snapshot and entry.is_ok and "read_ms" not in entry.figures:
        raise ValueError(f"nothing says when {entry.cluster} was read")
    return entry
