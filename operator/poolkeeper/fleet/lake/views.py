"""Views over the rows that count, for whoever has Spark SQL, DuckDB or Trino.

A view of a table holds the rows of the runs that the latest object of the table's step names, each
cluster's from its own run. Which object is the latest says its name, as for everybody else
(`versions`): where somebody has copied one beside it, every row would be there twice. With Spark
and DuckDB a view reads the table's folder, so that it need not be made again when something is
published; Trino has to be told of new days and runs, by the same statements again. A table without
a file has no view yet: Spark and DuckDB refuse all statements for one over a folder that holds
none, as a swept run may leave it.

Files of earlier releases lack the columns that a table has got since. Spark takes the columns of
the first file, by its path, unless it is told to merge those of all: then it opens every file for
each statement. So it is told where the first file lacks one, and only there (from Spark 4.0 on).
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from poolkeeper.errors import Refused, wrong_file
from poolkeeper.fleet.lake.filesystems import (
    Storage,
    local_path,
    open_file,
    open_filesystem,
    place_of,
)
from poolkeeper.fleet.lake.objects import Objects
from poolkeeper.fleet.lake.versions import NAME, SUFFIX
from poolkeeper.fleet.storage import schemas, table_schema
from poolkeeper.fleet.storage.table_schema import TableSchema

PREFIX = "fleet_"
_OF_PATTERNS = "[]{}*?\\"
"""What Spark and DuckDB take for a pattern of paths, wherever it stands."""


class SqlDialect(StrEnum):
    """The engine that runs the statements."""

    SPARK = "spark"
    DUCKDB = "duckdb"
    TRINO = "trino"


def tables_there(
    objects: Objects, storage: Storage, steps: Mapping[str, Iterable[TableSchema]]
) -> dict[str, bool]:
    """The names of tables that have a file; and whether the first of it lacks a column.

    `storage`: how tables are opened. Of a file its end is read, which has the names of columns.
    """
    known = (schemas.CURRENT, schemas.MANIFESTS, *(each for of in steps.values() for each in of))
    folders = {each.name for each in objects.children("") if each.is_folder}
    found = {
        each.name: (each, _first_file(objects, each.name, len(each.by)))
        for each in known
        if each.name in folders
    }
    return {
        name: _lacks_columns(objects.root, storage, table, file)
        for name, (table, file) in found.items()
        if file is not None
    }


def _first_file(objects: Objects, folder: str, depth: int) -> str | None:
    """The path of the first file so many folders below."""
    for each in objects.children(folder):
        if depth and each.is_folder:
            if (found := _first_file(objects, each.path, depth - 1)) is not None:
                return found
        elif not depth and not each.is_folder and each.name.endswith(SUFFIX):
            return each.path
    return None


def _lacks_columns(root: str, storage: Storage, table: TableSchema, file: str) -> bool:
    """Whether the file was written before a column of the table; one that is damaged was not."""
    files, base = open_filesystem(root, storage)
    try:
        with open_file(files, f"{base}/{file}") as opened:
            written = pq.read_schema(opened)
    except (OSError, pa.ArrowException):
        return False
    return not {column.name for column in table.stored} <= set(written.names)


def views(
    root: str,
    engine: SqlDialect,
    steps: Mapping[str, Iterable[TableSchema]],
    there: Mapping[str, bool],
) -> str:
    """Statements, each with a semicolon; `there`: see `tables_there`.

    Raises `Refused` where there are no tables, and for a root that the engine takes for a pattern.
    """
    if schemas.CURRENT.name not in there:
        raise wrong_file(place_of(root), "holds no tables (`poolkeeper fleet run` makes them)")
    wrong = [character for character in _OF_PATTERNS if character in root]
    if wrong and engine is not SqlDialect.TRINO:
        raise Refused(
            f"{root}: {engine.value} takes {' '.join(wrong)} for a pattern of paths (expected --out"
            f" without any of {' '.join(_OF_PATTERNS)})"
        )
    source = _SOURCES[engine]
    found: list[str] = []
    for table in (schemas.CURRENT, schemas.MANIFESTS):
        if table.name in there:
            found += source.before(root, table)
            rows = source.versions(root, table, merged=there[table.name])
            found.append(_latest(source, rows, table))
    for step, tables in steps.items():
        for table in tables:
            if table.name in there:
                found += source.before(root, table)
                rows = source.rows(root, table, merged=there[table.name])
                found.append(_view(step, table, rows))
    return "".join(f"{statement};\n\n" for statement in found).rstrip("\n") + "\n"


def _latest(source: "type[_Source]", rows: str, table: TableSchema) -> str:
    """The view of a table of versions: the rows of the latest, in each of its folders."""
    file = source.file
    by = "".join(f"{name}, " for name in table.by)
    of_every = "".join(f"every.{name}, " for name in table.by)
    grouped = f" group by {by.removesuffix(', ')}" if by else ""
    return (
        f"create or replace view {PREFIX}{table.name} as\n"
        f"select {source.columns} from {rows} as every\n"
        f"where ({of_every}every.{file}) in\n"
        f"  (select {by}max(latest.{file}) from {rows} as latest\n"
        f"  where {source.matches}(latest.{file}, '(^|/){NAME}$'){grouped})"
    )


def _view(step: str, table: TableSchema, rows: str) -> str:
    # What a budget writes is of all clusters: its entry names none.
    of_cluster = " and made.cluster = every.cluster" if table.of_clusters else ""
    return (
        f"create or replace view {PREFIX}{table.name} as\n"
        f"select every.* from {rows} as every\n"
        f"join {PREFIX}current as made\n"
        f"  on made.step = '{step}' and made.day = every.day and made.run = every.run{of_cluster}"
    )


def _columns(table: TableSchema, types: Mapping[str, str]) -> str:
    """Columns and types, those of the path last, as external tables want them."""
    stored = [(column.name, column.type) for column in table.stored]
    path = [(name, table_schema.TEXT) for name in table.by]
    return ", ".join(f'"{name}" {types.get(kind, kind)}' for name, kind in (*stored, *path))


class _Source(Protocol):
    """How an engine reads the files of a table.

    `file`: a column that an engine has beside those of a table, the file of a row.
    `columns`: all columns of `every` but that one.
    `matches`: the function that tells whether a text has a match of a pattern.
    """

    file: str
    columns: str
    matches: str

    @staticmethod
    def before(root: str, table: TableSchema) -> list[str]:
        """Statements that must be executed before `rows` can be named."""

    @staticmethod
    def rows(root: str, table: TableSchema, *, merged: bool) -> str:
        """All rows of the table, as a view's statement names them.

        `merged`: with the columns of all files, where the first one lacks some.
        """

    @staticmethod
    def versions(root: str, table: TableSchema, *, merged: bool) -> str:
        """The same with the column `file`."""


class _Spark:
    """Files read in place, with the columns of their path."""

    file, columns, matches = "_metadata.file_name", "every.*", "regexp_like"

    @staticmethod
    def before(root: str, table: TableSchema) -> list[str]:
        return []

    @staticmethod
    def rows(root: str, table: TableSchema, *, merged: bool) -> str:
        options = " with ('mergeSchema' = 'true')" if merged else ""
        return f"parquet.`{root.replace('`', '``')}/{table.name}`{options}"

    @staticmethod
    def versions(root: str, table: TableSchema, *, merged: bool) -> str:
        return _Spark.rows(root, table, merged=merged)


class _DuckDb:
    """Files read in place, with the columns of their path."""

    file, columns, matches = "filename", "every.* exclude (filename)", "regexp_matches"

    @staticmethod
    def before(root: str, table: TableSchema) -> list[str]:
        return []

    @staticmethod
    def rows(root: str, table: TableSchema, *, merged: bool) -> str:
        return _DuckDb._read(root, table)

    @staticmethod
    def versions(root: str, table: TableSchema, *, merged: bool) -> str:
        return _DuckDb._read(root, table, ", filename = true")

    @staticmethod
    def _read(root: str, table: TableSchema, more: str = "") -> str:
        folder = local_path(root)
        place = str(folder) if folder is not None else root.replace("s3a://", "s3://")
        depth = "/".join("*" for _ in (*table.by, table))
        types = ", ".join(f"{name}: varchar" for name in table.by)
        hive = f", hive_partitioning = true, hive_types = {{{types}}}" if table.by else ""
        return (
            f"read_parquet('{_quoted(place)}/{table.name}/{depth}.parquet',"
            f" union_by_name = true{hive}{more})"
        )


_TRINO_TYPES: Mapping[str, str] = {
    table_schema.TEXT: "varchar",
    table_schema.INT: "integer",
    table_schema.INTS: "array(integer)",
    table_schema.TEXTS: "array(varchar)",
    table_schema.PATH: "array(array(integer))",
    table_schema.TEXT_MAP: "map(varchar, varchar)",
    table_schema.PLACES: "map(integer, varchar)",
    table_schema.LOG_DIRS: ("array(row(path varchar, total_bytes bigint, usable_bytes bigint))"),
    table_schema.FILES: 'array(row("table" varchar, path varchar, bytes bigint))',
}


class _Trino:
    """External tables of the Hive connector; new days are found by `sync_partition_metadata`.

    They are made anew, as an earlier release may have declared fewer columns. Of an external table
    Trino drops what it knows of it, and no file.
    """

    file, columns, matches = '"$path"', "every.*", "regexp_like"

    @staticmethod
    def before(root: str, table: TableSchema) -> list[str]:
        name = f"{PREFIX}{table.name}_files"
        by = ", ".join(f"'{column}'" for column in table.by)
        partitioned = f", partitioned_by = array[{by}]" if by else ""
        sync = [f"call system.sync_partition_metadata(current_schema, '{name}', 'FULL')"]
        return [
            f"drop table if exists {name}",
            f"create table {name} ({_columns(table, _TRINO_TYPES)})\n"
            f"with (format = 'PARQUET', external_location = '{_quoted(root)}/{table.name}'"
            f"{partitioned})",
            *(sync if table.by else []),
        ]

    @staticmethod
    def rows(root: str, table: TableSchema, *, merged: bool) -> str:
        return f"{PREFIX}{table.name}_files"

    @staticmethod
    def versions(root: str, table: TableSchema, *, merged: bool) -> str:
        return _Trino.rows(root, table, merged=merged)


def _quoted(text: str) -> str:
    return text.replace("'", "''")


_SOURCES: Mapping[SqlDialect, type[_Source]] = {
    SqlDialect.SPARK: _Spark,
    SqlDialect.DUCKDB: _DuckDb,
    SqlDialect.TRINO: _Trino,
}
