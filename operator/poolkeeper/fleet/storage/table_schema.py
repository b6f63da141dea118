"""What a table is: its columns, the folders it lies in, its version.

A table lies in one folder, partitioned as `by` says (Hive's way: `day=2026-11-21/run=ID/`); those
columns are in the path and not in the files. Rows of clusters have the cluster's name as their
first column in files. It is not among `columns`, as whoever makes or reads the rows of one cluster
knows it. Absent knowledge is null, never zero.
"""

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen

TEXT, INT, LONG, DOUBLE, BOOL = "string", "int", "bigint", "double", "boolean"
INTS, TEXTS, PATH = "array<int>", "array<string>", "array<array<int>>"
TEXT_MAP, PLACES = "map<string,string>", "map<int,string>"
FILES = "array<struct<table:string,path:string,bytes:bigint>>"
LOG_DIRS = "array<struct<path:string,total_bytes:bigint,usable_bytes:bigint>>"


@frozen
class Column:
    """A column: its type in Spark's DDL, what it holds, and whether it may be null."""

    name: str
    type: str
    doc: str
    nullable: bool = False


CLUSTER = Column("cluster", TEXT, "The cluster's name.")


@frozen
class TableSchema:
    """A table; `by` are the columns that its folders are named after, all strings.

    `of_clusters`: files have the column `cluster` before all others.
    """

    name: str
    version: int
    doc: str
    columns: tuple[Column, ...]
    by: tuple[str, ...] = ("day", "run")
    of_clusters: bool = True

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns of its files."""
        return (CLUSTER, *self.columns) if self.of_clusters else self.columns

    @property
    def ddl(self) -> str:
        """Spark's schema of the whole table, columns of the path first."""
        return ", ".join((*(f"{name} string" for name in self.by), self.ddl_of_files))

    @property
    def ddl_of_files(self) -> str:
        """Spark's schema of the files."""
        return ", ".join(
            f"{each.name} {each.type}{'' if each.nullable else ' NOT NULL'}" for each in self.stored
        )


def nullable(name: str, type_: str, doc: str) -> Column:
    """Return a column that may be null."""
    return Column(name, type_, doc, nullable=True)


def check_version(table: TableSchema, found: str | None, file: str) -> None:
    """Raise `Refused` for a file of another version, or of none."""
    if found != str(table.version):
        said = "no version" if found is None else f"version {found}"
        raise Refused(
            f"{file}: table {table.name} has {said} (expected version {table.version}):"
            " make it again with this release"
        )
