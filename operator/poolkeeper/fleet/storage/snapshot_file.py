"""A cluster as one Parquet file: `snapshot --out main.parquet`, beside `.json` and `.json.gz`.

The rows are those of `partitions`, so that any tool can read them. Everything else of the snapshot
(brokers, topics with their configs, requests) is the file's metadata `poolkeeper.snapshot`: the
same JSON as in the other forms, its topics without partitions. `poolkeeper.partitions` counts the
partitions of each topic: a file from which somebody filtered rows is no longer that cluster.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from poolkeeper.errors import InvalidInput, Problem, wrong_file
from poolkeeper.fleet.storage import cluster_rows, parquet, schemas
from poolkeeper.jsontext import compact
from poolkeeper.model import snapshots
from poolkeeper.model.topology import Cluster
from poolkeeper.text import count, few
from poolkeeper.typed_json import INTEGER_MAX

SUFFIXES = (".json", ".json.gz", ".parquet")
BYTES_MAX = 1 << 53
"""Of sizes, and of rates by second, as in the other forms."""
_REST = b"poolkeeper.snapshot"
_COUNTS = b"poolkeeper.partitions"
_ID_LISTS = ("replicas", "adding", "removing", "isr")


def write(path: Path, cluster: Cluster) -> None:
    """Write a `.parquet`, whole or not at all; raises `Refused` where that cannot be."""
    bare = {name: replace(topic, partitions=()) for name, topic in cluster.topics.items()}
    rest = snapshots.to_json(replace(cluster, topics=bare))
    content = cluster_rows.rows_of_cluster(cluster).bodies[schemas.PARTITIONS.name]
    counts = {name: len(topic.partitions) for name, topic in sorted(cluster.topics.items())}
    said = {
        _REST: compact(rest, ascii_only=False).encode(),
        _COUNTS: compact(counts, ascii_only=False).encode(),
    }
    parquet.write(path, content.replace_schema_metadata({**content.schema.metadata, **said}))


def read(path: Path) -> Cluster:
    """Read a snapshot of any form.

    Raises `Refused` for another kind of file or one that cannot be read, `InvalidInput` for one
    that is no snapshot; both name the file.
    """
    if not os.path.exists(path):  # the method raises where it may not be looked for
        raise wrong_file(path, f"there is no such snapshot (expected {', '.join(SUFFIXES)})")
    if path.suffix != ".parquet":
        return snapshots.read(path)
    try:
        content = parquet.read(path, schemas.PARTITIONS)
        with parquet.memory_apart():
            content.validate(full=True)  # what Arrow has read may still be no UTF-8
        metadata = _metadata(path)
        bare = snapshots.decode(metadata[_REST], str(path))
    except (pa.ArrowException, UnicodeDecodeError) as wrong:
        raise wrong_file(path, f"is damaged: {wrong}") from wrong
    if wrong_rows := [*_wrong_values(content), *_wrong_order(content, bare)]:
        raise InvalidInput(Problem(str(path), 0, *each) for each in wrong_rows)
    counts = {
        row["values"]: row["counts"] for row in content.column("topic").value_counts().to_pylist()
    }
    if lost := [*_lost_rows(counts, bare, metadata.get(_COUNTS))]:
        raise InvalidInput(Problem(str(path), 0, *each) for each in lost)
    topics = parquet.from_rows(
        schemas.TOPICS,
        (
            (t.name, t.topic_id, sorted(t.config.items()) if t.config is not None else None, rows)
            for t in bare.topics.values()
            for rows in [counts.get(t.name, 0)]
        ),
    )
    return replace(bare, topics=cluster_rows.topics_of(topics, content))


def _metadata(path: Path) -> dict[bytes, bytes]:
    try:
        metadata = dict(pq.read_schema(path).metadata or {})
        metadata[_REST]  # without it the file is something else
        return metadata
    except (OSError, pa.ArrowException, KeyError) as wrong:
        raise wrong_file(path, f"is no snapshot of a cluster: {wrong!r}") from wrong


def _wrong_values(content: pa.Table) -> Iterator[tuple[str, str]]:
    """The columns that hold what no snapshot holds, and what; as strict as the other forms."""
    ranges = (
        ("partition", content.column("partition"), INTEGER_MAX),
        ("bytes", content.column("bytes"), BYTES_MAX),
        ("bytes_in_per_s", content.column("bytes_in_per_s"), BYTES_MAX),
        *((name, pc.list_flatten(content.column(name)), INTEGER_MAX) for name in _ID_LISTS),
    )
    for name, column, most in ranges:
        inside = pc.and_(pc.greater_equal(column, 0), pc.less_equal(column, most))
        if pc.all(inside).as_py() is False:
            yield name, f"has values that are not from 0 to {most}"
        if name in _ID_LISTS and column.null_count:
            yield name, "has lists with nulls (expected broker ids)"
    if content.num_rows and pc.min(pc.list_value_length(content.column("replicas"))).as_py() == 0:
        yield "replicas", "has empty lists (expected at least one broker id)"
    places = [each.items for each in content.column("log_dirs").chunks]
    if any(each.null_count for each in places):
        yield "log_dirs", "has nulls (expected paths)"


def _lost_rows(
    found: Mapping[str, int], bare: Cluster, said: bytes | None
) -> Iterator[tuple[str, str]]:
    """Where the file has other rows than were written.

    Files of earlier releases do not say how many there were: of them only those are recognised
    that have lost all rows.
    """
    if said is None:
        if bare.topics and not found:
            yield "topic", f"has no rows, of {count(len(bare.topics), 'topic')}"
        return
    try:
        written = json.loads(said)
    except ValueError:
        written = None
    if not isinstance(written, dict) or any(type(number) is not int for number in written.values()):
        yield _COUNTS.decode(), "counts no partitions (expected a number for each topic)"
        return
    counted = {name: number for name, number in written.items() if number}
    names = sorted(name for name in counted.keys() | found if counted.get(name) != found.get(name))
    if names:
        rows = sum(counted.values())
        yield (
            "topic",
            f"has {count(sum(found.values()), 'row')}, and {rows} were written: not all of"
            f" {few(names)} (expected the file as it was written)",
        )


def _wrong_order(content: pa.Table, bare: Cluster) -> Iterator[tuple[str, str]]:
    """Whether each topic's rows follow each other as the topics do, and its partitions by number.

    Rows in another order would be read as partitions of another topic.
    """
    topic = content.column("topic").combine_chunks().dictionary_encode()
    names = topic.dictionary.to_pylist()
    if unknown := sorted(set(names) - bare.topics.keys()):
        yield "topic", f"names topics that the snapshot does not have: {few(unknown)}"
        return
    place = topic.indices.to_numpy()
    number = content.column("partition").to_numpy()
    step, ascends = np.diff(place), np.diff(number.astype(np.int64)) > 0
    if names != sorted(names) or (step < 0).any():
        yield "topic", "is not in the order of names"
    elif not ascends[step == 0].all():
        yield "partition", "is not in ascending order within its topic"
