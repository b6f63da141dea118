"""A cluster as one Parquet file: `snapshot --out main.parquet`, beside `.json` and `.json.gz`.

The rows are those of `partitions`, so that any tool can read them. Everything else of the snapshot
(brokers, topics with their configs, requests) is the file's metadata `poolkeeper.snapshot`: the
same JSON as in the other forms, its topics without partitions.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from poolkeeper.errors import Refused
from poolkeeper.fleet.storage import cluster_rows, parquet, schemas
from poolkeeper.jsontext import compact
from poolkeeper.model import snapshots
from poolkeeper.model.topology import Cluster

SUFFIXES = (".json", ".json.gz", ".parquet")
_REST = b"poolkeeper.snapshot"


def write(path: Path, cluster: Cluster) -> None:
    """Write a `.parquet`, whole or not at all; raises `Refused` where that cannot be."""
    bare = {name: replace(topic, partitions=()) for name, topic in cluster.topics.items()}
    rest = snapshots.to_json(replace(cluster, topics=bare))
    content = cluster_rows.rows_of_cluster(cluster).bodies[schemas.PARTITIONS.name]
    said = {_REST: compact(rest, ascii_only=False).encode()}
    parquet.write(path, content.replace_schema_metadata({**content.schema.metadata, **said}))


def read(path: Path) -> Cluster:
    """Read a snapshot of any form.

    Raises `Refused` for another kind of file or one that cannot be read, `InvalidInput` for one
    that is no snapshot.
    """
    if path.suffix != ".parquet":
        return snapshots.read(path)
    content = parquet.read(path, schemas.PARTITIONS)
    bare = snapshots.from_json(_rest(path), str(path))
    counts = {
        row["values"]: row["counts"] for row in content.column("topic").value_counts().to_pylist()
    }
    topics = parquet.from_rows(
        schemas.TOPICS,
        (
            (t.name, t.topic_id, sorted(t.config.items()) if t.config is not None else None, count)
            for t in bare.topics.values()
            for count in [counts.get(t.name, 0)]
        ),
    )
    return replace(bare, topics=cluster_rows.topics_of(topics, content))


def _rest(path: Path) -> Any:
    try:
        metadata = pq.read_schema(path).metadata or {}
        return json.loads(metadata[_REST])
    except (OSError, pa.ArrowException, KeyError, ValueError) as wrong:
        raise Refused(f"{path}: is no snapshot of a cluster: {wrong!r}") from wrong
