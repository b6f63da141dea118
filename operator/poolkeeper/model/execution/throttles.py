"""Throttles that runs of ours set on topics and brokers, and those that no run accounts for."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from poolkeeper.errors import NodeDamage
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.runs import ThrottleValues, UnreadableConfig

VALUE_CHARACTERS_MAX = 1024
_DIGEST = "sha256:"


@frozen
class ThrottleRecord:
    """The throttle keys that a run has set on one topic or broker.

    `plan`: the hash of the run's plan. `ours`: the values set last, long ones as their digest
    (`short_value`). `original`: the values before the first of ours.
    """

    plan: str
    ours: ThrottleValues
    original: ThrottleValues


@frozen
class RecordedThrottles:
    """A record and the live values of its keys.

    `live` is None if they cannot be read; `unreadable` then says where and why.
    """

    record: ThrottleRecord
    live: ThrottleValues | None
    unreadable: UnreadableConfig | None = None


@frozen
class ThrottleReading:
    """All records of throttles, and what is set on brokers.

    `broker_values`: the throttle keys of every broker that has any, live or not. `default_values`:
    those of the default of all brokers, by which brokers go from 3.9 on. `damaged`: paths of
    configs that cannot be decoded, and why. `damage`: the records that cannot be read.
    """

    topics: Mapping[str, RecordedThrottles] = field(default_factory=dict)
    brokers: Mapping[int, RecordedThrottles] = field(default_factory=dict)
    broker_values: Mapping[int, ThrottleValues] = field(default_factory=dict)
    damaged: Mapping[str, str] = field(default_factory=dict)
    damage: tuple[NodeDamage, ...] = ()
    default_values: ThrottleValues = field(default_factory=dict)


@frozen
class Throttled:
    """Topics and brokers, each in ascending order; `default`: and the default of all brokers."""

    topics: tuple[str, ...] = ()
    brokers: tuple[int, ...] = ()
    default: bool = False

    def __bool__(self) -> bool:
        return bool(self.topics or self.brokers or self.default)

    def __len__(self) -> int:
        return len(self.topics) + len(self.brokers) + self.default


@frozen
class LeftThrottles:
    """The throttles that no run accounts for.

    `ours`: our records say that a run of ours set them. `recorded`: the topics and brokers whose
    records can be removed now, with the throttles of ours that are still in place. `others`: set by
    nobody that we know. `damaged` and `damage`: as in the reading. `hidden`: those of `ours` whose
    config an ACL hides from us. `migrating`: the cluster migrates to KRaft, and none can be removed
    by us.
    """

    ours: Throttled = Throttled()
    recorded: Throttled = Throttled()
    others: Throttled = Throttled()
    damaged: Mapping[str, str] = field(default_factory=dict)
    damage: tuple[NodeDamage, ...] = ()
    hidden: tuple[UnreadableConfig, ...] = ()
    migrating: bool = False

    @property
    def staying(self) -> "LeftThrottles":
        """What is left once all that can be is taken off."""
        return replace(self, ours=_throttled(self.hidden), recorded=Throttled())


def _throttled(configs: Iterable[UnreadableConfig]) -> Throttled:
    entities = [each.entity for each in configs]
    return Throttled(
        tuple(each for each in entities if isinstance(each, str)),
        tuple(each for each in entities if isinstance(each, int)),
    )


def short_value(value: str | None) -> str | None:
    """Return a value as a record holds it: itself, or its digest if it is long."""
    if value is None or len(value) <= VALUE_CHARACTERS_MAX:
        return value
    return _DIGEST + hashlib.sha256(value.encode()).hexdigest()


def is_value(live: str | None, recorded: str | None) -> bool:
    """Whether a live value is the recorded one, which may be a digest."""
    return recorded in (live, short_value(live))
