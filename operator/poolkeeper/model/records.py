"""What Poolkeeper remembers about a cluster between runs (`/poolkeeper/records`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from poolkeeper.model.specs import DeletionPolicy


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """Who owns a Kafka topic, which config keys its owner declared last, and its deletion policy.

    `owner` is `namespace/name` of the Topic resource.
    """

    owner: str
    declared_keys: tuple[str, ...] = ()
    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN


@dataclass(frozen=True, slots=True)
class BrokerRecord:
    """A broker's last known rack, and since when it is missing (seconds since 1970) if it is."""

    rack: str | None = None
    missing_since_s: int | None = None


@dataclass(frozen=True, slots=True)
class BalanceRecord:
    """When the last run began that evened something out (milliseconds since 1970).

    It is read apart from `Records`: no plan depends on it.
    """

    started_ms: int


@dataclass(frozen=True, slots=True)
class Records:
    """All records of one cluster; empty before the first write."""

    cluster_id: str | None = None
    topics: Mapping[str, TopicRecord] = field(default_factory=dict)
    brokers: Mapping[int, BrokerRecord] = field(default_factory=dict)
