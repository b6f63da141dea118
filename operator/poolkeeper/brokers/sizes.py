"""The brokers' logs as values, and what follows from them.

A replica that moves between directories of its broker has two logs: the current one and the
*future* one, which takes over once it has caught up. Only the current log is the replica's size. A
broker that has not answered is in `failures`, never an empty entry in `logs`: unknown is not zero.

A directory has failed only where its broker says so. Any other error of a directory tells that the
broker could not look at it, as where the system does not know its volume: such a broker has not
answered, or else its disk would be replaced, and what is on it moved, for nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import NamedTuple

from poolkeeper.errors import Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.model.topology import LogDir, TopicPartition

STORAGE_ERROR = 56
"""Kafka's error code for a directory that failed, in all versions."""


@frozen
class Failure:
    """Why a broker gave no answer; `silent`: it said nothing, and may still answer."""

    reason: str
    silent: bool = False

    def __str__(self) -> str:
        return self.reason


class ReplicaLog(NamedTuple):
    """One log of a replica: its size and its directory."""

    size_bytes: int
    log_dir: str


@frozen
class BrokerLogs:
    """All logs of one broker: `current` are current, `future` ones are being copied on the broker.

    `offline` names directories that have failed, with the reason.
    """

    log_dirs: Mapping[str, LogDir]
    current: Mapping[TopicPartition, ReplicaLog]
    future: Mapping[TopicPartition, ReplicaLog] = field(default_factory=dict)
    offline: Mapping[str, str] = field(default_factory=dict)


@frozen
class Sizes:
    """The answers of all brokers asked, and why the others gave none; both by broker id."""

    logs: Mapping[int, BrokerLogs]
    failures: Mapping[int, Failure] = field(default_factory=dict)

    @property
    def silent(self) -> frozenset[int]:
        """The brokers that did not answer; the others of `failures` said that they cannot tell."""
        return frozenset(id_ for id_, failure in self.failures.items() if failure.silent)

    @property
    def future_bytes(self) -> dict[tuple[TopicPartition, int], int]:
        """The sizes of all future logs, by partition and broker."""
        return {
            (name, broker): log.size_bytes
            for broker, logs in self.logs.items()
            for name, log in logs.future.items()
        }

    def log(self, partition: TopicPartition, broker: int) -> ReplicaLog | None:
        """Return the log of one replica; None if its broker is silent or has none."""
        logs = self.logs.get(broker)
        return logs.current.get(partition) if logs else None


def from_response(answer: Iterable[Mapping[str, object]]) -> BrokerLogs:
    """Read one broker's list of directories, in the shape of DescribeLogDirs.

    Kafka 2.8 lists topics without partitions when asked for others; they leave no trace here.
    Sizes of volumes are -1, or absent, before Kafka 3.3. Raises Unavailable if the broker could not
    look at a directory.
    """
    log_dirs: dict[str, LogDir] = {}
    held: dict[TopicPartition, ReplicaLog] = {}
    future: dict[TopicPartition, ReplicaLog] = {}
    offline: dict[str, str] = {}
    for directory in answer:
        path = str(directory["log_dir"])
        code = _integer(directory["error_code"])
        if code == STORAGE_ERROR:
            offline[path] = "storage error"
            continue
        if code:
            raise Unavailable(
                f"it could not look at log directory {path} (error {code}); its own log says why"
            )
        log_dirs[path] = LogDir(
            _size_or_none(directory.get("total_bytes")),
            _size_or_none(directory.get("usable_bytes")),
        )
        for name, log in _logs(directory):
            replica = TopicPartition(name, _integer(log["partition_index"]))
            entry = ReplicaLog(_integer(log["partition_size"]), path)
            (future if log["is_future_key"] else held)[replica] = entry
    return BrokerLogs(log_dirs, held, future, offline)


def _logs(directory: Mapping[str, object]) -> Iterable[tuple[str, Mapping[str, object]]]:
    topics = directory["topics"]
    assert isinstance(topics, list)
    for topic in topics:
        for log in topic["partitions"]:
            yield topic["name"], log


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value


def _size_or_none(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
