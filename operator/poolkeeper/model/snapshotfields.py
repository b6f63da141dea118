"""Reading a snapshot's fields: every problem is collected with its place, then raised at once.

A `null` is as good as absent. Unknown keys are ignored. What was wrong reads as unknown until the
end, so that one mistake gives one problem.
"""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, TypeVar

from poolkeeper.errors import InvalidInput, Problem
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    LogDir,
    Partition,
    Replicas,
    Requested,
    Topic,
)

VERSION = 1

_UNNAMED = ("", -1)
"""What an item is called whose name was wrong, which is a problem already."""

T = TypeVar("T")
Read = Callable[["_Problems", Any, str], T | None]


def cluster(data: object, file: str) -> Cluster:
    """Return the cluster; raises `InvalidInput` naming `file` with every problem."""
    problems = _Problems(file)
    found = _cluster(problems, data)
    if problems.found:
        raise InvalidInput(problems.found)
    return found


class _Problems:
    """What is wrong so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []

    def add(self, field: str, message: str) -> None:
        self.found.append(Problem(self.file, 0, field, message))

    def expected(self, field: str, what: str, value: object) -> None:
        self.add(field, f"is {_shown(value)} (expected {what})")


def _cluster(problems: _Problems, data: object) -> Cluster:
    if not isinstance(data, dict):
        problems.expected("", "an object", data)
        return Cluster("", {}, {})
    if data.get("version") != VERSION:
        problems.expected("version", f"{VERSION}", data.get("version"))
    about = _mapping(problems, data.get("cluster"), "cluster")
    if about is None:
        about = {"name": ""}  # its own name is not missed as well
    brokers = _unique(problems, data, "brokers", _broker, lambda broker: broker.id)
    topics = _unique(problems, data, "topics", _topic, lambda topic: topic.name)
    reassignment = None
    if data.get("reassignment") is not None:
        reassignment = tuple(_items(problems, data, "reassignment", _requested))
    damaged = _texts(problems, data.get("damaged"), "damaged")
    return Cluster(
        name=_required(problems, about, "name", "cluster.name", _text) or "",
        brokers=dict(sorted(brokers.items())),
        topics=dict(sorted(topics.items())),
        id=_text(problems, about.get("id"), "cluster.id"),
        kafka_version=_text(problems, about.get("kafkaVersion"), "cluster.kafkaVersion"),
        controller=Controller(_natural(problems, about.get("controller"), "cluster.controller")),
        reassignment=reassignment,
        electing=data.get("electing") is True,
        deleting=frozenset(_items(problems, data, "deleting", _text)),
        torn=frozenset(_items(problems, data, "torn", _text)),
        damaged=damaged or {},
    )


def _broker(problems: _Problems, body: Any, field: str) -> Broker | None:
    if (body := _mapping(problems, body, field)) is None:
        return None
    id_ = _required(problems, body, "id", f"{field}.id", _natural)
    log_dirs = _mapping(problems, body.get("logDirs"), f"{field}.logDirs", optional=True)
    return Broker(
        id=-1 if id_ is None else id_,
        rack=_text(problems, body.get("rack"), f"{field}.rack"),
        endpoints=tuple(_items(problems, body, "endpoints", _text, f"{field}.")),
        config=_texts(problems, body.get("config"), f"{field}.config"),
        log_dirs=None
        if log_dirs is None
        else {
            path: _log_dir(problems, log_dir, f"{field}.logDirs.{path}")
            for path, log_dir in log_dirs.items()
        },
    )


def _log_dir(problems: _Problems, body: Any, field: str) -> LogDir:
    body = _mapping(problems, body, field) or {}
    return LogDir(
        _natural(problems, body.get("totalBytes"), f"{field}.totalBytes"),
        _natural(problems, body.get("usableBytes"), f"{field}.usableBytes"),
    )


def _topic(problems: _Problems, body: Any, field: str) -> Topic | None:
    if (body := _mapping(problems, body, field)) is None:
        return None
    partitions = _unique(
        problems, body, "partitions", _partition, lambda p: p.partition, f"{field}."
    )
    return Topic(
        name=_required(problems, body, "name", f"{field}.name", _text) or "",
        partitions=tuple(partition for _, partition in sorted(partitions.items())),
        topic_id=_text(problems, body.get("id"), f"{field}.id"),
        config=_texts(problems, body.get("config"), f"{field}.config"),
    )


def _partition(problems: _Problems, body: Any, field: str) -> Partition | None:
    if (body := _mapping(problems, body, field)) is None:
        return None
    get = body.get
    number = _required(problems, body, "partition", f"{field}.partition", _natural)
    replicas = _required(problems, body, "replicas", f"{field}.replicas", _replicas)
    if replicas == ():
        problems.expected(f"{field}.replicas", "at least one broker id", [])
    leader = get("leader")
    if leader is not None and (type(leader) is not int or leader < -2):
        problems.expected(f"{field}.leader", "a broker id, or -1 for none", leader)
    return Partition(
        -1 if number is None else number,
        replicas or (),
        _replicas(problems, get("adding"), field, ".adding") or (),
        _replicas(problems, get("removing"), field, ".removing") or (),
        leader,
        _replicas(problems, get("isr"), field, ".isr"),
        None,
        _natural(problems, get("bytes"), field, ".bytes"),
        _rate(problems, get("bytesInPerSecond"), field),
        _placed(problems, get("logDirs"), field),
    )


def _rate(problems: _Problems, value: Any, field: str) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not isfinite(value) or value < 0:
        problems.expected(f"{field}.bytesInPerSecond", "a number of 0 or more", value)
        return None
    return float(value)


def _placed(problems: _Problems, value: Any, field: str) -> dict[int, str] | None:
    """Read log directories by broker."""
    if value is None:
        return None
    found: dict[int, str] = {}
    for key, path in (_texts(problems, value, f"{field}.logDirs") or {}).items():
        if key.isascii() and key.isdecimal():
            found[int(key)] = path
        else:
            problems.add(f"{field}.logDirs.{key}", "is no broker id (expected a number)")
    return found


def _requested(problems: _Problems, body: Any, field: str) -> Requested | None:
    if (body := _mapping(problems, body, field)) is None:
        return None
    topic = _required(problems, body, "topic", f"{field}.topic", _text)
    number = _required(problems, body, "partition", f"{field}.partition", _natural)
    replicas = _required(problems, body, "replicas", f"{field}.replicas", _replicas)
    return Requested(topic or "", -1 if number is None else number, replicas or ())


def _unique(
    problems: _Problems,
    body: Mapping[str, Any],
    key: str,
    read: "Read[T]",
    name: Callable[[T], Any],
    prefix: str = "",
) -> dict[Any, T]:
    """Read a list whose items have names of their own."""
    found: dict[Any, T] = {}
    for item in _items(problems, body, key, read, prefix):
        if name(item) in found and name(item) not in _UNNAMED:
            problems.add(f"{prefix}{key}", f"has {name(item)} twice")
        found[name(item)] = item
    return found


def _items(
    problems: _Problems, body: Mapping[str, Any], key: str, read: "Read[T]", prefix: str = ""
) -> list[T]:
    value = body.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        problems.expected(f"{prefix}{key}", "a list", value)
        return []
    place = f"{prefix}{key}["
    found = [read(problems, item, f"{place}{i}]") for i, item in enumerate(value)]
    return [item for item in found if item is not None]


def _required(
    problems: _Problems, body: Mapping[str, Any], key: str, field: str, read: "Read[T]"
) -> T | None:
    if (value := body.get(key)) is None:
        problems.add(field, "is missing")
        return None
    return read(problems, value, field)


def _mapping(
    problems: _Problems, value: Any, field: str, *, optional: bool = False
) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return value
    if value is None and not optional:
        problems.add(field, "is missing")
    elif value is not None:
        problems.expected(field, "an object", value)
    return None


def _text(problems: _Problems, value: Any, field: str) -> str | None:
    if value is not None and not isinstance(value, str):
        problems.expected(field, "a string", value)
        return None
    return value


def _texts(problems: _Problems, value: Any, field: str) -> dict[str, str] | None:
    found = _mapping(problems, value, field, optional=True)
    for key, text in (found or {}).items():
        if not isinstance(text, str):
            problems.expected(f"{field}.{key}", "a string", text)
    return found


def _natural(problems: _Problems, value: Any, field: str, tail: str = "") -> int | None:
    if value is None:
        return None
    if type(value) is not int or value < 0:
        problems.expected(field + tail, "an integer of 0 or more", value)
        return None
    return value


def _replicas(problems: _Problems, value: Any, field: str, tail: str = "") -> Replicas | None:
    if value is None:
        return None
    if not isinstance(value, list):
        problems.expected(field + tail, "a list of broker ids", value)
        return None
    for i, item in enumerate(value):
        if type(item) is not int or item < 0:
            problems.expected(f"{field}{tail}[{i}]", "a broker id", item)
    return tuple(value)


def _shown(value: object) -> str:
    text = "absent" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
