"""Samples as rows of a DataFrame, and the features of clusters that are made from them. No Spark.

read       a task for each source: a file of samples, the sizes of a snapshot, kept samples
filter     by Spark: metrics that somebody asks for, and times that a window holds
exchange   by Spark, by cluster, topic and partition, so that all samples of a series meet
figures    of every series, the one definition (`load.time_series`)
exchange   by cluster: the features of a cluster are a hundredth of its samples
gather     a cluster's features, in order, and what is made of them

Where a task can hold all samples of a cluster, which lie in files of its own, nothing is exchanged:
its sources are read one after the other into one partition, where its figures are made.

A row that is no sample carries a note: the task of a cluster, why a source cannot be read, or what
is said of it.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from poolkeeper.fleet.engines.results import StepResult
from poolkeeper.fleet.lake.attempts import Destination
from poolkeeper.frozen import frozen

SAMPLE_ROWS = pa.schema(
    [
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("metric", pa.string()),
        ("at_ms", pa.int64()),
        ("value", pa.float64()),
        ("note", pa.binary()),
    ]
)
SERIES = ("cluster", "topic", "partition")
"""The columns by which samples are exchanged."""
_TEXTS = ("topic", "metric")


class SourceFailure(NamedTuple):
    """Why a source cannot be read; `damaged`: the file of the lake that is, or empty.

    `is_left_out`: features are made without it.
    """

    reason: str
    damaged: str = ""
    is_left_out: bool = False


class SourceNote(NamedTuple):
    """What `read` says of a source to `gather`."""

    what: Any


class ClusterNotes(NamedTuple):
    """The task of a cluster, why sources of it cannot be read, and what is said of others."""

    task: Any
    failures: tuple[SourceFailure, ...] = ()
    said: tuple[Any, ...] = ()


Gather = Callable[[ClusterNotes, Sequence[pa.Table]], StepResult]
"""Makes the result of a cluster of its features."""


@frozen
class HistoryJob:
    """How features are made.

    `sources`: tasks of `read`, which yields rows of `SAMPLE_ROWS`, the clusters' tasks among them.
    `metrics`, `begin_ms`, `end_ms`: samples beyond are left out.
    `parts`: how many partitions samples are exchanged into; 0: all sources of a cluster have one
    slot, follow each other, and are not exchanged.
    `figures`: from samples of a cluster, all of their series, to their features.
    `gather`: from a cluster's notes and features to its result.
    `slots`: by cluster, the number of the partition in which it is gathered.
    `into`: where the rows are written.
    """

    what: str
    sources: Sequence[Any]
    source_slots: Sequence[int]
    read: Callable[[Any], Iterator[pa.RecordBatch]]
    metrics: tuple[str, ...]
    begin_ms: int
    end_ms: int
    parts: int
    figures: Callable[[str, pa.Table], pa.Table]
    gather: Gather
    slots: Mapping[str, int]
    into: Destination


@frozen
class ClusterSamples:
    """Samples of a cluster, texts as numbers, and the notes among them."""

    cluster: str
    notes: tuple[bytes, ...]
    samples: pa.Table


def sample_rows(cluster: str, samples: pa.Table) -> Iterator[pa.RecordBatch]:
    """Samples of a cluster as rows."""
    names = pa.repeat(pa.scalar(cluster, pa.string()), samples.num_rows)
    columns = [samples.column(name) for name in SAMPLE_ROWS.names[1:-1]]
    notes = pa.nulls(samples.num_rows, pa.binary())
    table = pa.table([names, *columns, notes], names=SAMPLE_ROWS.names)
    yield from table.cast(SAMPLE_ROWS).to_batches(max_chunksize=64 * 1024)


def note_row(cluster: str, note: Any) -> pa.RecordBatch:
    """The task of a cluster, a `SourceFailure` or a `SourceNote` as a row."""
    row = dict.fromkeys(SAMPLE_ROWS.names) | {"cluster": cluster, "note": pickle.dumps(note)}
    return pa.RecordBatch.from_pylist([row], schema=SAMPLE_ROWS)


def of_notes(notes: Iterable[bytes]) -> ClusterNotes:
    """The task of a cluster, the failures, each once, and what is said of samples left out."""
    found = [pickle.loads(note) for note in notes]
    failures = {each for each in found if isinstance(each, SourceFailure)}
    said = tuple(each.what for each in found if isinstance(each, SourceNote))
    (task,) = (each for each in found if not isinstance(each, SourceFailure | SourceNote))
    return ClusterNotes(task, tuple(sorted(failures)), said)


def features_of(
    found: ClusterSamples,
    figures: Callable[[str, pa.Table], pa.Table],
    gather: Gather,
) -> StepResult:
    """The result of a cluster all of whose samples are here."""
    tables = [figures(found.cluster, found.samples)] if found.samples.num_rows else []
    return gather(of_notes(found.notes), tables)


def one_after_the_other(batches: Iterable[pa.RecordBatch]) -> Iterator[ClusterSamples]:
    """The samples of clusters whose rows follow each other."""
    parts: list[ClusterSamples] = []
    for part in _by_cluster(batches):
        if parts and part.cluster != parts[0].cluster:
            yield _together(parts)
            parts = []
        parts.append(part)
    if parts:
        yield _together(parts)


def of_all(batches: Iterable[pa.RecordBatch]) -> Iterator[ClusterSamples]:
    """The samples of clusters in any order."""
    found: dict[str, list[ClusterSamples]] = {}
    for part in _by_cluster(batches):
        found.setdefault(part.cluster, []).append(part)
    for name in sorted(found):
        yield _together(found.pop(name))


def _by_cluster(batches: Iterable[pa.RecordBatch]) -> Iterator[ClusterSamples]:
    for batch in batches:
        if not batch.num_rows:
            continue
        names = batch.column("cluster").unique()
        for name in names:
            own = batch
            if len(names) > 1:
                own = batch.filter(pc.equal(batch.column("cluster"), name))
            yield _compact(name.as_py(), own)


def _compact(cluster: str, rows: pa.RecordBatch) -> ClusterSamples:
    notes = rows.column("note")
    if notes.null_count < len(notes):
        rows = rows.filter(pc.is_null(notes))
    columns = {
        name: rows.column(name).dictionary_encode() if name in _TEXTS else rows.column(name)
        for name in SAMPLE_ROWS.names[1:-1]
    }
    return ClusterSamples(cluster, tuple(notes.drop_null().to_pylist()), pa.table(columns))


def _together(parts: Sequence[ClusterSamples]) -> ClusterSamples:
    notes = tuple(note for part in parts for note in part.notes)
    samples = pa.concat_tables([part.samples for part in parts])
    return ClusterSamples(parts[0].cluster, notes, samples)
