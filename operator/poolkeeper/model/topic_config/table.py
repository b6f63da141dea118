"""Kafka's topic config keys: since when, which values, which server-side default.

`keys.json` is made of what the class of topic configs of every supported release says itself, by
`tests/topic_configs`; the tests compare them again. A key has an entry for each release that
changed its type, its bounds, its words or its default. What that class leaves to whoever loads the
config is here: `_AT_LOADING`.

The defaults are Kafka's documented ones. A broker's own settings (`log.retention.hours`, …) come
before them; who can ask the brokers should. `message.format.version` has none here: it is the
broker's own version.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from poolkeeper.frozen import frozen
from poolkeeper.model.topic_config.values import (
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


@frozen
class ReleaseHistory(Generic[T]):
    """A value that changed with releases, oldest first."""

    entries: tuple[tuple[KafkaVersion, T], ...]

    def at(self, release: KafkaVersion) -> T:
        """The value in that release; the oldest for earlier ones."""
        held = [value for since, value in self.entries if since <= release]
        return held[-1] if held else self.entries[0][1]


@frozen
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


_FORMAT = "message.format.version"
_AT_LOADING: Mapping[str, ValueKind] = {
    _FORMAT: FormatVersion(),
    "message.timestamp.type": OneOf(("CreateTime", "LogAppendTime")),
    "remote.log.copy.disable": Flag(only_false=True),
    "remote.log.delete.on.disable": Flag(only_false=True),
}
"""What a broker takes where its class of topic configs takes more."""


_EARLIER = {
    "0.8.1": (
        "cleanup.policy delete.retention.ms file.delete.delay.ms flush.messages flush.ms"
        " index.interval.bytes max.message.bytes min.cleanable.dirty.ratio retention.bytes"
        " retention.ms segment.bytes segment.index.bytes segment.ms"
    ),
    "0.8.2": "segment.jitter.ms min.insync.replicas unclean.leader.election.enable",
    "0.9.0": "compression.type preallocate",
    "0.10.0": ("message.format.version message.timestamp.type message.timestamp.difference.max.ms"),
}
"""The keys of releases before the first supported one, which has all of them."""


def _kind(name: str, entry: Mapping[str, Any]) -> ValueKind:
    words = tuple(entry.get("words", ()))
    if name in _AT_LOADING:
        return _AT_LOADING[name]
    match entry["type"]:
        case "INT" | "LONG":
            return Whole(entry["low"], entry["high"], entry.get("beside"))
        case "DOUBLE":
            return Fraction(entry["low"], entry["high"])
        case "BOOLEAN":
            return Flag()
        case "STRING" if words:
            return OneOf(words)
        case "LIST" if words:
            return SomeOf(words)
        case _:
            return Anything()


def _key(name: str, changes: Mapping[str, Mapping[str, Any]]) -> ConfigKey:
    entries = [(KafkaVersion.parse(since), entry) for since, entry in changes.items()]
    kinds = [(since, _kind(name, entry)) for since, entry in entries]
    defaults = [(since, None if name == _FORMAT else entry["default"]) for since, entry in entries]
    for since in (KafkaVersion.parse(r) for r, names in _EARLIER.items() if name in names.split()):
        first = kinds[0][1]
        # A list of policies came with 0.10.1.
        kinds.insert(0, (since, OneOf(first.words) if isinstance(first, SomeOf) else first))
        defaults.insert(0, (since, defaults[0][1]))
    owned = name.endswith(".replication.throttled.replicas")
    return ConfigKey(name, ReleaseHistory(tuple(kinds)), ReleaseHistory(tuple(defaults)), owned)


def _read() -> dict[str, ConfigKey]:
    text = Path(__file__).with_name("keys.json").read_text(encoding="utf-8")
    return {name: _key(name, changes) for name, changes in json.loads(text).items()}


KEYS: Mapping[str, ConfigKey] = _read()
"""Every topic config key by name."""
