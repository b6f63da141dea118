"""Kafka's topic config keys: since when, which values, which server-side default.

The table holds the names that a broker's validator accepts, 0.8.1 to 3.9; it rejects all others.
What changed later stands behind the first entry with its release: bounds became tighter
(`retention.ms` may be below -1 only before 2.2), choices became more (zstd from 2.1), and three
defaults changed: unclean elections were on before 0.11.0, batches could be 1,000,012 bytes before
2.5, and the message format follows the broker's own version (None here).

The defaults are Kafka's documented ones. A broker's own settings (`log.retention.hours`, …) come
before them; who can ask the brokers should.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from poolkeeper.model.topic_config.values import (
    INT_MAX,
    LONG_MAX,
    LONG_MIN,
    Anything,
    Flag,
    FormatVersion,
    Fraction,
    OneOf,
    SomeOf,
    ValueKind,
    Whole,
)
from poolkeeper.model.versions import KafkaVersion

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReleaseHistory(Generic[T]):
    """A value that changed with releases, oldest first."""

    entries: tuple[tuple[KafkaVersion, T], ...]

    def at(self, release: KafkaVersion) -> T:
        """The value in that release; the oldest for earlier ones."""
        held = [value for since, value in self.entries if since <= release]
        return held[-1] if held else self.entries[0][1]


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One topic config key; `owned_by_executor`: set and cleared by moves, never declared."""

    name: str
    kinds: ReleaseHistory[ValueKind]
    defaults: ReleaseHistory[str | None]
    owned_by_executor: bool = False

    @property
    def since(self) -> KafkaVersion:
        """The first release that accepts the name."""
        return self.kinds.entries[0][0]


def _history(since: str, first: T, later: dict[str, T] | None) -> ReleaseHistory[T]:
    changes = {since: first, **(later or {})}
    return ReleaseHistory(
        tuple((KafkaVersion.parse(text), value) for text, value in changes.items())
    )


def _key(
    name: str,
    since: str,
    kind: ValueKind,
    default: str | None,
    later: dict[str, ValueKind] | None = None,
    default_later: dict[str, str | None] | None = None,
) -> ConfigKey:
    owned = name.endswith(".replication.throttled.replicas")
    kinds: ReleaseHistory[ValueKind] = _history(since, kind, later)
    return ConfigKey(name, kinds, _history(since, default, default_later), owned)


def _long(low: int) -> Whole:
    return Whole(low, LONG_MAX)


def _int(low: int) -> Whole:
    return Whole(low, INT_MAX)


_POLICIES = ("compact", "delete")
_CODECS = ("uncompressed", "snappy", "lz4", "gzip", "producer")
_FOREVER = str(LONG_MAX)

_ROWS = (
    _key(
        "cleanup.policy",
        "0.8.1",
        OneOf(_POLICIES),
        "delete",
        {"0.10.1": SomeOf(_POLICIES)},
    ),
    _key("delete.retention.ms", "0.8.1", _long(0), "86400000"),
    _key("file.delete.delay.ms", "0.8.1", _long(0), "60000"),
    _key("flush.messages", "0.8.1", _long(0), _FOREVER, {"3.3": _long(1)}),
    _key("flush.ms", "0.8.1", _long(0), _FOREVER),
    _key("index.interval.bytes", "0.8.1", _int(0), "4096"),
    _key("max.message.bytes", "0.8.1", _int(0), "1000012", None, {"2.5": "1048588"}),
    _key("min.cleanable.dirty.ratio", "0.8.1", Fraction(0, 1), "0.5"),
    _key("retention.bytes", "0.8.1", _long(LONG_MIN), "-1"),
    _key("retention.ms", "0.8.1", _long(LONG_MIN), "604800000", {"2.2": _long(-1)}),
    _key("segment.bytes", "0.8.1", _int(14), "1073741824"),
    _key("segment.index.bytes", "0.8.1", _int(0), "10485760", {"3.3": _int(4)}),
    _key("segment.ms", "0.8.1", _long(0), "604800000", {"2.0": _long(1)}),
    _key("segment.jitter.ms", "0.8.2", _long(0), "0"),
    _key("min.insync.replicas", "0.8.2", _int(1), "1"),
    _key("unclean.leader.election.enable", "0.8.2", Flag(), "true", None, {"0.11": "false"}),
    _key("compression.type", "0.9", OneOf(_CODECS), "producer", {"2.1": OneOf((*_CODECS, "zstd"))}),
    _key("preallocate", "0.9", Flag(), "false"),
    _key("message.format.version", "0.10.0", FormatVersion(), None),
    _key("message.timestamp.type", "0.10.0", OneOf(("CreateTime", "LogAppendTime")), "CreateTime"),
    _key("message.timestamp.difference.max.ms", "0.10.0", _long(0), _FOREVER),
    _key("min.compaction.lag.ms", "0.10.1", _long(0), "0"),
    _key("leader.replication.throttled.replicas", "0.10.1", Anything(), ""),
    _key("follower.replication.throttled.replicas", "0.10.1", Anything(), ""),
    _key("message.downconversion.enable", "2.0", Flag(), "true"),
    _key("max.compaction.lag.ms", "2.3", _long(1), _FOREVER),
    _key("remote.storage.enable", "3.0", Flag(), "false"),
    _key("local.retention.ms", "3.0", _long(-2), "-2"),
    _key("local.retention.bytes", "3.0", _long(-2), "-2"),
    _key("message.timestamp.before.max.ms", "3.6", _long(0), _FOREVER),
    _key("message.timestamp.after.max.ms", "3.6", _long(0), _FOREVER),
    _key("compression.gzip.level", "3.8", Whole(1, 9, beside=-1), "-1"),
    _key("compression.lz4.level", "3.8", Whole(1, 17), "9"),
    _key("compression.zstd.level", "3.8", Whole(-131072, 22), "3"),
    _key("remote.log.copy.disable", "3.9", Flag(only_false=True), "false"),
    _key("remote.log.delete.on.disable", "3.9", Flag(only_false=True), "false"),
)

KEYS: dict[str, ConfigKey] = {row.name: row for row in _ROWS}
"""Every topic config key by name."""
