"""What Poolkeeper remembers about a cluster between runs (`/poolkeeper/records`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from poolkeeper.errors import NodeDamage
from poolkeeper.model.specs import DeletionPolicy


class RecordKind(StrEnum):
    """The records that are one node for the whole cluster."""

    CLUSTER = "cluster"
    BROKERS = "brokers"
    BALANCE = "balance"


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
    """A broker's last known rack, and since when it is missing (seconds since 1970) if it is.

    `log_dirs_failed_s`: since when it says that log directories failed, by path.
    """

    rack: str | None = None
    missing_since_s: int | None = None
    log_dirs_failed_s: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BalanceRecord:
    """When the last run began that evened something out (milliseconds since 1970).

    It is read apart from `Records`: no plan depends on it.
    """

    started_ms: int


@dataclass(frozen=True, slots=True)
class Records:
    """All records of one cluster; empty before the first write.

    `damaged_topics`, `damage`: the records that cannot be read; they are not among the others.
    """

    cluster_id: str | None = None
    topics: Mapping[str, TopicRecord] = field(default_factory=dict)
    brokers: Mapping[int, BrokerRecord] = field(default_factory=dict)
    damaged_topics: Mapping[str, NodeDamage] = field(default_factory=dict)
    damage: Mapping[RecordKind, NodeDamage] = field(default_factory=dict)
