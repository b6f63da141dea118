"""A cluster as a file: `snapshot.json`, to plan, rehearse and study without the cluster.

An absent value is unknown, never zero: a partition without `leader` was not asked about, one with
`"leader": -1` has none. Versions of znodes and the controller's epoch are not kept, because they
belong to one moment. All fields that the format promises are read back exactly as written.

Beyond the promised keys a snapshot keeps what would otherwise read as "there is no such topic":
`torn` (names) and `damaged` (name to reason); and `electing`. Each is there only if not empty.
`readMs`, which `poolkeeper snapshot` writes, says when the cluster was read, in milliseconds since
1970.

The same cluster gives the same bytes: everything is sorted, one broker or topic a line, and the
compressed form holds no time of writing.
"""

import gzip
import zlib
from collections.abc import Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from poolkeeper import output_files
from poolkeeper.errors import wrong_file
from poolkeeper.jsontext import compact
from poolkeeper.model.snapshots import snapshot_fields
from poolkeeper.model.topology import Broker, Cluster, LogDir, Partition, Topic
from poolkeeper.text import size

VERSION = snapshot_fields.VERSION
BYTES_MAX = 1 << 30
"""Of a snapshot as text: some five million partitions, twenty times the largest clusters."""


def to_json(cluster: Cluster) -> dict[str, Any]:
    """Return the snapshot as JSON data."""
    data: dict[str, Any] = {
        "version": VERSION,
        **_known(readMs=cluster.read_ms),
        "cluster": _known(
            name=cluster.name,
            id=cluster.id,
            kafkaVersion=cluster.kafka_version,
            tracedVersion=cluster.traced_version,
            controller=cluster.controller.broker,
        ),
        "brokers": [_broker(broker) for _, broker in sorted(cluster.brokers.items())],
        "topics": [_topic(topic) for _, topic in sorted(cluster.topics.items())],
    }
    if cluster.reassignment is not None:
        data["reassignment"] = [
            {"topic": e.topic, "partition": e.partition, "replicas": list(e.replicas)}
            for e in sorted(cluster.reassignment, key=lambda e: (e.topic, e.partition))
        ]
    data["deleting"] = sorted(cluster.deleting)
    if cluster.torn:
        data["torn"] = sorted(cluster.torn)
    if cluster.damaged:
        data["damaged"] = dict(sorted(cluster.damaged.items()))
    if cluster.electing:
        data["electing"] = True
    return data


def from_json(data: object, file: str = "") -> Cluster:
    """Return the cluster; raises `InvalidInput` with every problem, each with its field."""
    return snapshot_fields.convert(data, file)


def decode(text: bytes, file: str) -> Cluster:
    """Return the cluster of a JSON text; raises `InvalidInput` naming `file`."""
    return snapshot_fields.decode(text, file)


def write(path: Path | str, cluster: Cluster) -> None:
    """Write `.json` or `.json.gz`; see `output_files`.

    Raises `Refused` for another kind of file or one that cannot be written.
    """
    path = Path(path)
    compressed = _is_compressed(path)
    try:
        text = _text(to_json(cluster)).encode()
    except ValueError as wrong:  # no number of JSON, or no text of UTF-8
        raise wrong_file(path, f"cannot be written: {wrong}") from wrong
    body = gzip.compress(text, compresslevel=6, mtime=0) if compressed else text
    output_files.write(path, body)


def read(path: Path | str) -> Cluster:
    """Read `.json` or `.json.gz`.

    Raises `Refused` for another kind of file or one that cannot be read, `InvalidInput` for one
    that is no snapshot.
    """
    path = Path(path)
    compressed = _is_compressed(path)
    try:
        with gzip.open(path) if compressed else path.open("rb") as opened:
            text = opened.read(BYTES_MAX + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as wrong:
        raise wrong_file(path, "is not a gzip file, or cut off") from wrong
    except OSError as failed:
        raise wrong_file(path, f"cannot be read: {failed.strerror}") from failed
    if len(text) > BYTES_MAX:
        raise wrong_file(path, f"has more than {size(BYTES_MAX)}")
    return decode(text, str(path))


def _is_compressed(path: Path) -> bool:
    require_kind(path)
    return path.suffix == ".gz"


def require_kind(path: Path) -> None:
    """Raise `Refused` for another kind of file than these two."""
    if path.suffix == ".parquet":
        raise wrong_file(path, "Parquet snapshots need the fleet extra (expected .json, .json.gz)")
    if not path.name.endswith((".json", ".json.gz")):
        raise wrong_file(path, "unknown kind of snapshot (expected .json, .json.gz or .parquet)")


def _text(data: Mapping[str, Any]) -> str:
    fields = ",\n".join(f"{_compact(key)}: {_lines(value)}" for key, value in data.items())
    return f"{{{fields}}}\n"


def _lines(value: Any) -> str:
    """Write a list of objects an item a line, anything else on one line."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        items = ",\n".join(map(_compact, value))
        return f"[\n{items}]"
    return _compact(value)


def _known(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _compact(value: Any) -> str:
    return compact(value, ascii_only=False, finite=True)


def _broker(broker: Broker) -> dict[str, Any]:
    return _known(
        id=broker.id,
        rack=broker.rack,
        endpoints=list(broker.endpoints) or None,
        config=_sorted(broker.config),
        logDirs=None
        if broker.log_dirs is None
        else {path: _log_dir(log_dir) for path, log_dir in sorted(broker.log_dirs.items())},
        release=broker.release,
        minInsyncReplicas=broker.min_insync,
    )


def _log_dir(log_dir: LogDir) -> dict[str, Any]:
    return _known(totalBytes=log_dir.total_bytes, usableBytes=log_dir.usable_bytes)


def _topic(topic: Topic) -> dict[str, Any]:
    fields = _known(name=topic.name, id=topic.topic_id, config=_sorted(topic.config))
    return {**fields, "partitions": _partitions(topic.partitions)}


def _partitions(partitions: Iterable[Partition]) -> list[dict[str, Any]]:
    return [_partition(p) for p in sorted(partitions, key=attrgetter("partition"))]


def _partition(p: Partition) -> dict[str, Any]:
    # The one object of which there are hundreds of thousands: fields are added, not taken out.
    body: dict[str, Any] = {"partition": p.partition, "replicas": list(p.replicas)}
    if p.adding:
        body["adding"] = list(p.adding)
    if p.removing:
        body["removing"] = list(p.removing)
    if p.leader is not None:
        body["leader"] = p.leader
    if p.isr is not None:
        body["isr"] = list(p.isr)
    if p.size_bytes is not None:
        body["bytes"] = p.size_bytes
    if p.in_bytes_per_s is not None:
        body["bytesInPerSecond"] = p.in_bytes_per_s
    if p.log_dirs is not None:
        body["logDirs"] = {str(broker): path for broker, path in sorted(p.log_dirs.items())}
    return body


def _sorted(config: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if config is None else dict(sorted(config.items()))
