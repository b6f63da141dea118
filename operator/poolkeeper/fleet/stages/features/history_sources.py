"""Where the samples of a cluster come from, as columns with few bytes.

A topic is a number and a name once in each piece, so that a sample takes 28 bytes. Samples out of
the window, and of metrics that nobody asks for, are left out as soon as they are read: files of
months are skipped by what Parquet says of their times.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from poolkeeper.errors import Refused, wrong_file
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.filesystems import Storage, open_file, open_filesystem
from poolkeeper.fleet.stages.features.feature_rows import METRICS
from poolkeeper.fleet.stages.features.left_out_samples import LeftOutReason, LeftOutSamples
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.storage import parquet, schemas
from poolkeeper.frozen import frozen
from poolkeeper.load.apply import WHOLE_TOPIC
from poolkeeper.load.prometheus import BYTES
from poolkeeper.load.time_series import VALUE_MAX, HistoryWindow
from poolkeeper.text import first_line

CODED = pa.dictionary(pa.int32(), pa.string())
SAMPLES = pa.schema(
    [
        ("topic", CODED),
        ("partition", pa.int32()),
        ("metric", CODED),
        ("at_ms", pa.int64()),
        ("value", pa.float64()),
    ]
)
ROWS_AT_A_TIME = 512 * 1024
_TEXTS = ("topic", "metric")
_SIZES = ("topic", "partition", "bytes")
_OF_A_MS = {"ms": 1, "us": 1000, "ns": 1_000_000}
"""How many there are of a unit of Parquet's times in a millisecond."""


@frozen
class SourceTask:
    """A place with samples of a cluster: a file of anybody's, a snapshot, or samples kept by us.

    `bytes`: what they take there, about.
    `is_earlier`: a snapshot of an earlier day, without which features are made if it is damaged.
    """

    cluster: str
    root: str = ""
    file: str = ""
    bytes: int = 0
    snapshot: ClusterEntry | None = None
    samples: ClusterEntry | None = None
    is_earlier: bool = False


def samples_of(
    source: SourceTask,
    tables: Tables,
    storage: Storage,
    window: HistoryWindow,
    left_out: LeftOutSamples,
) -> Iterator[pa.Table]:
    """The samples in a window, so many at a time; raises where they cannot be read.

    Others are counted in `left_out`.
    """
    for rows in _rows_of(source, tables, storage, window, left_out):
        wanted = _wanted(rows, window, left_out)
        if source.snapshot is None:
            left_out.taken += wanted.num_rows
        yield wanted


def rows_of_source(source: SourceTask, storage: Storage, window: HistoryWindow) -> int:
    """How many samples there are at most; raises where that cannot be read."""
    if source.snapshot is not None:
        inside = window.begin_ms <= int(source.snapshot.figures["read_ms"]) < window.end_ms
        return source.snapshot.partitions if inside else 0
    if source.samples is not None:
        _require_read(source.samples)
        return int(source.samples.figures["samples"])
    with _opened(source, storage) as opened:
        return sum(group.rows for group in _groups(opened, window) if group.left_out is None)


def _rows_of(
    source: SourceTask,
    tables: Tables,
    storage: Storage,
    window: HistoryWindow,
    left_out: LeftOutSamples,
) -> Iterator[pa.Table]:
    if source.snapshot is not None:
        at_ms = int(source.snapshot.figures["read_ms"])
        if window.begin_ms <= at_ms < window.end_ms:
            yield sizes_of_snapshot(
                tables.reader().rows(source.snapshot, schemas.PARTITIONS, _SIZES), at_ms
            )
    elif source.samples is not None:
        _require_read(source.samples)
        yield _compact(tables.reader().rows(source.samples, schemas.SAMPLES), "samples")
    else:
        yield from _of_file(source, storage, window, left_out)


def _require_read(samples: ClusterEntry) -> None:
    if not samples.is_ok:
        raise Refused(samples.reason)


def _of_file(
    source: SourceTask, storage: Storage, window: HistoryWindow, left_out: LeftOutSamples
) -> Iterator[pa.Table]:
    """Somebody's file, some row groups at a time."""
    names = [column.name for column in schemas.SAMPLES.columns]
    place = f"{source.root}/{source.file}"
    try:
        with parquet.memory_apart(), _opened(source, storage) as opened:
            there = [name for name in names if name in opened.schema_arrow.names]
            found = list(_groups(opened, window))
            for each in found:
                if each.left_out is not None:
                    left_out.add(each.left_out, each.rows)
            for groups in _together([each for each in found if each.left_out is None]):
                yield _compact(opened.read_row_groups(groups, there, use_threads=False), place)
    except (OSError, pa.ArrowException) as failed:
        raise wrong_file(place, f"cannot be read: {first_line(failed)}") from failed


def _opened(source: SourceTask, storage: Storage) -> Any:
    files, base = open_filesystem(source.root, storage)
    place = f"{source.root}/{source.file}"
    if files.get_file_info(f"{base}/{source.file}").type == FileType.Unknown:
        # Whoever opens a pipe waits for ever.
        raise wrong_file(place, "is no file that can be read (expected a regular one)")
    try:
        with parquet.memory_apart():
            file = open_file(files, f"{base}/{source.file}")
            known = pq.read_metadata(file)
            names = {known.schema.column(n).path for n in range(known.num_columns)}
            coded = [name for name in _TEXTS if name in names]
            opened = pq.ParquetFile(file, metadata=known, read_dictionary=coded)
    except (OSError, pa.ArrowException) as failed:
        raise wrong_file(place, f"cannot be read: {first_line(failed)}") from failed
    found = opened.schema_arrow
    parquet.check_foreign(schemas.SAMPLES, found.metadata or {}, place)
    parquet.require_once(found, (column.name for column in schemas.SAMPLES.columns), place)
    return opened


class _RowGroup(NamedTuple):
    """A row group; `left_out`: why all of it is, if its file says so."""

    number: int
    rows: int
    left_out: LeftOutReason | None


def _groups(opened: Any, window: HistoryWindow) -> Iterator[_RowGroup]:
    """All row groups; those that may hold samples of the window are not left out."""
    known = opened.metadata
    names = [known.schema.column(n).path for n in range(known.num_columns)]
    column = names.index("at_ms") if "at_ms" in names else -1
    per_ms = _per_ms(opened.schema_arrow.field("at_ms").type) if column >= 0 else None
    for group in range(known.num_row_groups):
        found = known.row_group(group)
        times = found.column(column).statistics if per_ms else None
        why = None
        if times is not None and times.has_min_max:
            if times.max_raw // per_ms < window.begin_ms:
                why = LeftOutReason.EARLIER
            elif times.min_raw // per_ms >= window.end_ms:
                why = LeftOutReason.LATER
        yield _RowGroup(group, found.num_rows, why)


def _per_ms(type_: pa.DataType) -> int | None:
    """How many of the numbers of a type are a millisecond; None where they say no times."""
    if pa.types.is_signed_integer(type_):
        return 1
    return _OF_A_MS.get(type_.unit) if pa.types.is_timestamp(type_) else None


def _together(groups: Sequence[_RowGroup]) -> Iterator[list[int]]:
    listed: list[int] = []
    filled = 0
    for group, rows, _ in groups:
        if listed and filled + rows > ROWS_AT_A_TIME:
            yield listed
            listed, filled = [], 0
        listed.append(group)
        filled += rows
    if listed:
        yield listed


def _compact(content: pa.Table, place: str) -> pa.Table:
    """Samples of any types that can be cast; raises `Refused` for others."""
    coded = {
        name: content.column(name)
        for name in _TEXTS
        if name in content.column_names
        and content.column(name).type == CODED
        and not _nulls(content.column(name))
    }
    others = [name for name in SAMPLES.names if name not in coded]
    plain = parquet.complete_columns(
        content.drop_columns(list(coded)), schemas.SAMPLES, others, place
    )
    columns = [
        coded[name]
        if name in coded
        else plain.column(name).dictionary_encode()
        if name in _TEXTS
        else plain.column(name)
        for name in SAMPLES.names
    ]
    return pa.Table.from_arrays(columns, schema=SAMPLES)


def _nulls(coded: pa.ChunkedArray) -> bool:
    """Whether a column of numbered texts has nulls, or a number has none."""
    return coded.null_count > 0 or any(each.dictionary.null_count for each in coded.chunks)


def _wanted(rows: pa.Table, window: HistoryWindow, left_out: LeftOutSamples) -> pa.Table:
    metric = rows.column("metric")
    at = rows.column("at_ms").to_numpy()
    value = rows.column("value").to_numpy()  # NaN where there is none
    tests = (
        (LeftOutReason.METRIC, pc.is_in(metric, pa.array(METRICS)).to_numpy()),
        (LeftOutReason.PARTITION, rows.column("partition").to_numpy() >= WHOLE_TOPIC),
        (LeftOutReason.VALUE, (value >= 0) & (value <= VALUE_MAX)),
        (LeftOutReason.EARLIER, at >= window.begin_ms),
        (LeftOutReason.LATER, at < window.end_ms),
    )
    wanted = np.ones(rows.num_rows, dtype=bool)
    kept = rows.num_rows
    for why, passed in tests:
        wanted &= passed
        before, kept = kept, int(np.count_nonzero(wanted))
        left_out.add(why, before - kept)
        if why is LeftOutReason.METRIC and kept < before:
            left_out.name(set(metric.unique().to_pylist()).difference(METRICS))
    return rows if kept == rows.num_rows else rows.filter(pa.array(wanted))


def sizes_of_snapshot(partitions: pa.Table, at_ms: int) -> pa.Table:
    """The sizes that a snapshot of that moment knows, as samples."""
    known = partitions.filter(pc.is_valid(partitions.column("bytes")))
    rows = known.num_rows
    codes = pa.array(np.zeros(rows, dtype=np.int32))
    return pa.Table.from_arrays(
        [
            known.column("topic").dictionary_encode(),
            known.column("partition"),
            pa.DictionaryArray.from_arrays(codes, pa.array([BYTES])),
            pa.array(np.full(rows, at_ms)),
            known.column("bytes").cast(pa.float64()),
        ],
        schema=SAMPLES,
    )
