"""Schemas for Arrow, and files: one Parquet file is there whole or not at all.

    write(file, table, columns)      from columns by name, any of which may be absent if nullable
    read(file, table, wanted)        an Arrow table with exactly the columns asked for

Files are compressed with zstd and hold row groups of at most `GROUP_ROWS` rows.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from poolkeeper.errors import Refused
from poolkeeper.fleet.storage import table_schema
from poolkeeper.fleet.storage.table_schema import Column, TableSchema
from poolkeeper.text import first_line

GROUP_ROWS = 256 * 1024
_NAME, _VERSION = b"poolkeeper.table", b"poolkeeper.version"

_TYPES: Mapping[str, Callable[[], pa.DataType]] = {
    table_schema.TEXT: pa.string,
    table_schema.INT: pa.int32,
    table_schema.LONG: pa.int64,
    table_schema.DOUBLE: pa.float64,
    table_schema.BOOL: pa.bool_,
    table_schema.INTS: lambda: pa.list_(pa.int32()),
    table_schema.TEXTS: lambda: pa.list_(pa.string()),
    table_schema.PATH: lambda: pa.list_(pa.list_(pa.int32())),
    table_schema.TEXT_MAP: lambda: pa.map_(pa.string(), pa.string()),
    table_schema.PLACES: lambda: pa.map_(pa.int32(), pa.string()),
    table_schema.FILES: lambda: pa.list_(
        pa.struct([("table", pa.string()), ("path", pa.string()), ("bytes", pa.int64())])
    ),
    table_schema.LOG_DIRS: lambda: pa.list_(
        pa.struct(
            [("path", pa.string()), ("total_bytes", pa.int64()), ("usable_bytes", pa.int64())]
        )
    ),
}


@cache
def arrow(table: TableSchema) -> pa.Schema:
    """Arrow's schema of the rows of one cluster, with the table's name and version."""
    fields = [_field(column) for column in table.columns]
    return pa.schema(fields, {_NAME: table.name.encode(), _VERSION: str(table.version).encode()})


@cache
def stored_schema(table: TableSchema) -> pa.Schema:
    """Arrow's schema of the table's files in a lake, which have the cluster's name as a column."""
    return pa.schema([_field(column) for column in table.stored])


def _field(column: Column) -> pa.Field:
    return pa.field(column.name, _TYPES[column.type](), nullable=column.nullable)


def with_cluster(table: TableSchema, cluster: str, content: pa.Table) -> pa.Table:
    """The rows of one cluster as they are stored."""
    arrays = list(content.select([column.name for column in table.columns]).columns)
    if table.of_clusters:
        arrays.insert(0, pa.repeat(pa.scalar(cluster, pa.string()), content.num_rows))
    return pa.Table.from_arrays(arrays, schema=stored_schema(table))


def table_of(table: TableSchema, columns: Mapping[str, Any]) -> pa.Table:
    """Columns by name (lists or Arrow arrays) as a table; nullable ones may be left out."""
    schema = arrow(table)
    rows = len(next(iter(columns.values()))) if columns else 0
    arrays = [_array(each, schema.field(each.name).type, columns, rows) for each in table.columns]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(
    column: Column, type_: pa.DataType, columns: Mapping[str, Any], rows: int
) -> pa.Array | pa.ChunkedArray:
    if column.name not in columns:
        assert column.nullable or not rows, f"{column.name} is missing"
        return pa.nulls(rows, type_)
    values = columns[column.name]
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values if values.type == type_ else _converted(values, type_)
    if column.type == table_schema.DOUBLE:
        # Arrow takes no whole number above 2^53 for one; the nearest is what is wanted.
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, type_)


def from_rows(table: TableSchema, rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Rows in the order of the table's columns as a table."""
    names = [each.name for each in table.columns]
    listed = list(rows)
    columns = list(zip(*listed, strict=True)) if listed else [()] * len(names)
    return table_of(table, dict(zip(names, columns, strict=True)))


def write(file: Path, content: pa.Table) -> None:
    """Write a table over what was there; raises `Refused` where that cannot be."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(content, part, compression="zstd", row_group_size=GROUP_ROWS)
        part.replace(file)
    except OSError as failed:
        with contextlib.suppress(OSError):
            part.unlink()
        raise Refused(f"{file}: cannot be written: {failed.strerror or failed}") from failed


def dump(content: pa.Table, sink: Any) -> None:
    """Write a small table into a stream; pages have checksums, as in files that Spark writes."""
    pq.write_table(content, sink, compression="zstd", write_page_checksum=True)


_NO_THREAD = "Failed to launch worker thread"


@contextmanager
def memory_apart() -> Iterator[None]:
    """Raise `MemoryError` alone where Arrow has too little: its own error is an `ArrowException`.

    A file of which that was said would count as damaged. Where there is no room for the stack of
    a thread, Arrow has no kind of error for it.
    """
    try:
        yield
    except pa.lib.ArrowMemoryError as short:
        raise MemoryError(first_line(short)) from short
    except pa.ArrowException as failed:
        if _NO_THREAD not in str(failed):  # their words: no kind of error says it
            raise
        raise MemoryError(first_line(failed)) from failed


@memory_apart()
def parse(body: bytes) -> pa.Table:
    """The table of a small file that is in memory; raises OSError or ArrowException.

    It is read by this thread alone. A thread of Arrow's may still hold the bytes when the
    interpreter ends; to let go of them it needs the interpreter, and is killed in a place where
    that aborts the process.
    """
    source = pa.BufferReader(body)
    with pq.ParquetFile(source, pre_buffer=False, page_checksum_verification=True) as opened:
        return opened.read(use_threads=False)


def read(
    file: Path, table: TableSchema, columns: Iterable[str] | None = None, *, foreign: bool = False
) -> pa.Table:
    """Read a file, only these columns; nullable ones that it lacks are null.

    `foreign`: the file may be somebody else's, without our name and version in it. Raises
    `Refused` for a file that cannot be read, or is not of this table and version.
    """
    names = [each.name for each in table.columns] if columns is None else list(columns)
    try:
        with memory_apart(), pq.ParquetFile(file, memory_map=False) as opened:
            found = opened.schema_arrow
            metadata = found.metadata or {}
            if foreign:
                check_foreign(table, metadata, str(file))
            else:
                _check(table, metadata, str(file))
            there = [name for name in names if name in found.names]
            content = opened.read(there)
    except (OSError, pa.ArrowException) as failed:
        raise Refused(f"{file}: cannot be read: {first_line(failed)}") from failed
    return complete_columns(content, table, names, str(file))


def check_foreign(table: TableSchema, metadata: Mapping[bytes, bytes], file: str) -> None:
    """Raise `Refused` for a file that is ours, and of another table or version."""
    if _VERSION in metadata:
        _check(table, metadata, file)


def _check(table: TableSchema, metadata: Mapping[bytes, bytes], file: str) -> None:
    name = metadata.get(_NAME, b"").decode()
    if name and name != table.name:
        raise Refused(f"{file}: is table {name} (expected {table.name})")
    version = metadata.get(_VERSION)
    table_schema.check_version(table, None if version is None else version.decode(), file)


def complete_columns(
    content: pa.Table, table: TableSchema, names: Sequence[str], file: str
) -> pa.Table:
    """These columns of what was read, of the types of the table; absent ones are null.

    Raises `Refused` for another type, or where a column that must be there is not, or is twice.
    """
    require_once(content.schema, names, file)
    schema = arrow(table)
    by_name = {each.name: each for each in table.columns}
    arrays = []
    for name in names:
        field = schema.field(name)
        if name in content.column_names:
            column = content.column(name)
            arrays.append(_cast(column, field, file))
        elif by_name[name].nullable:
            arrays.append(pa.chunked_array([pa.nulls(content.num_rows, field.type)]))
        else:
            raise Refused(f"{file}: table {table.name} lacks its column {name}")
    fields = [schema.field(name) for name in names]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _cast(column: pa.ChunkedArray, field: pa.Field, file: str) -> pa.ChunkedArray:
    if column.null_count and not field.nullable:
        raise Refused(f"{file}: column {field.name} has nulls (expected none)")
    if column.type == field.type:
        return column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    what = f"{file}: column {field.name}"
    another = f"{what} is {column.type} (expected {field.type})"
    if not _may_hold(column.type, field.type):
        raise Refused(another)
    try:
        with memory_apart():
            return _converted(column, field.type)
    except pa.ArrowInvalid as wrong:
        if pa.types.is_integer(column.type) and pa.types.is_integer(field.type):
            raise Refused(f"{what} {_out_of_range(column, field)}") from wrong
        raise Refused(f"{another}: {first_line(wrong)}") from wrong
    except pa.ArrowException as wrong:
        raise Refused(another) from wrong


def _may_hold(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a column of one type may say what one of another does.

    Arrow takes more than that: true for 1, a time of the day for one since 1970, 5.0 for the text
    "5.0". Floats of 32 bits hold moments to two minutes.
    """
    if pa.types.is_list(wanted):
        return not _is_list(found) or _may_hold(found.value_type, wanted.value_type)
    if pa.types.is_timestamp(found):
        return bool(pa.types.is_int64(wanted))
    if pa.types.is_boolean(found) or pa.types.is_temporal(found):
        return bool(pa.types.is_boolean(wanted))
    if pa.types.is_floating(found) or pa.types.is_decimal(found):
        is_exact = not pa.types.is_int64(wanted) or found.bit_width >= 64
        return is_exact and not pa.types.is_string(wanted)
    return True


def _is_list(found: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(found)
        or pa.types.is_large_list(found)
        or pa.types.is_fixed_size_list(found)
    )


def _converted(
    values: pa.Array | pa.ChunkedArray, type_: pa.DataType
) -> pa.Array | pa.ChunkedArray:
    """The same values in another type; moments as milliseconds, whole numbers as nearest floats."""
    if pa.types.is_timestamp(values.type):
        moments = pc.CastOptions(pa.timestamp("ms", values.type.tz), allow_time_truncate=True)
        values = values.cast(options=moments)
    return values.cast(type_, safe=not pa.types.is_floating(type_))


def _out_of_range(column: pa.ChunkedArray, field: pa.Field) -> str:
    """Which whole number a type does not hold, and which it does."""
    bits = field.type.bit_width - 1
    least, most = -(2**bits), 2**bits - 1
    found = pc.min_max(column).as_py()
    wrong = found["min"] if found["min"] < least else found["max"]
    return f"holds {wrong} (expected {least} to {most})"


def require_once(schema: pa.Schema, names: Iterable[str], file: str) -> None:
    """Raise `Refused` where a file has one of these columns more than once."""
    for name in names:
        times = schema.names.count(name)
        if times > 1:
            raise Refused(f"{file}: has its column {name} {times} times (expected once)")


def only(content: pa.Table, wanted: pa.ChunkedArray) -> pa.Table:
    """The rows that are wanted; the table itself where all are, as texts are slow to copy."""
    return content if pc.all(wanted, min_count=0).as_py() else content.filter(wanted)


def rows_of(content: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows as dictionaries; maps as dictionaries too. For small tables."""
    maps = {field.name for field in content.schema if pa.types.is_map(field.type)}
    for row in content.to_pylist():
        for name in maps:
            row[name] = None if row[name] is None else dict(row[name])
        yield row
