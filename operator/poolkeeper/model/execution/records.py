"""What Poolkeeper remembers about a cluster between runs (`/poolkeeper/records`)."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from poolkeeper.errors import NodeDamage
from poolkeeper.frozen import frozen
from poolkeeper.model.plans import Move
from poolkeeper.model.specs import DeletionPolicy
from poolkeeper.model.topology import Topic


class RecordKind(StrEnum):
    """The records that are one node for the whole cluster."""

    CLUSTER = "cluster"
    BROKERS = "brokers"
    BALANCE = "balance"


@frozen
class TopicRecord:
    """Who owns a Kafka topic, which config keys its owner declared last, and its deletion policy.

    `owner` is `namespace/name` of the Topic resource. `topic_id` and `created_zxid` tell the very
    topic that it owns: one that is deleted and created again is another one. Both are None in a
    record of a release that did not note them, and of a topic that was just created. `adoption`:
    the hash under which a person approved that the owner took the topic over. `released`: the
    owner's Topic was seen to be gone, and the Kafka topic stayed.
    """

    owner: str
    declared_keys: tuple[str, ...] = ()
    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN
    topic_id: str | None = None
    created_zxid: int | None = None
    adoption: str | None = None
    released: bool = False

    def is_of(self, topic: Topic) -> bool:
        """Whether the record is about this topic, and not about an earlier one of the same name.

        The znode of a topic lives as long as the topic: if it is the same, so is the topic. The id
        tells where the ensemble was copied, so that all znodes are new. A topic without an id gets
        one when a controller of Kafka 2.8 or later first sees it.
        """
        pairs = ((self.created_zxid, topic.created_zxid), (self.topic_id, topic.topic_id))
        known = [ours == live for ours, live in pairs if None not in (ours, live)]
        return any(known) or not known


@frozen
class Looks:
    """The looks of executors that found a broker missing; `absences` counts by them.

    `last_s`: when the last one was that is recorded (seconds since 1970). `watched_s`: for how many
    seconds looks had followed each other closely by then. `gaps`: how many times nobody had looked
    for longer. `in_outage`: so many brokers were missing that it tells nothing of this one.
    `lost`: the broker counts as lost until it is seen again.
    """

    last_s: int
    watched_s: int = 0
    gaps: int = 0
    in_outage: bool = False
    lost: bool = False


@frozen
class BrokerRecord:
    """A broker's last known rack, and since when it is missing (seconds since 1970) if it is.

    `log_dirs_failed_s`: since when it says that log directories failed, by path. `looks`: None of a
    broker that is there or that `heal` does not concern, and in a record of an earlier release.
    `seen`: one that is missing was there before it went.
    """

    rack: str | None = None
    missing_since_s: int | None = None
    log_dirs_failed_s: Mapping[str, int] = field(default_factory=dict)
    looks: Looks | None = None
    seen: bool = False

    @property
    def was_live(self) -> bool:
        """Whether a recorded broker was ever found live: declared ones that never were, are too."""
        return self.seen or self.rack is not None or self.missing_since_s is None


@frozen
class BalanceRecord:
    """When the last run began that evened something out (milliseconds since 1970).

    It is read apart from `Records`: no plan depends on it.
    """

    started_ms: int


@frozen
class RequestRecord:
    """What the run under way asked the controller for last.

    It is read apart from `Records`, as no plan depends on it, and survives the node of its run.

    `plan`, `fingerprint`, `approved_by`: of the run. `moves`: each from the list that the request
    found to the one that it asks for.
    """

    plan: str
    fingerprint: str
    moves: tuple[Move, ...]
    approved_by: str = ""


@frozen
class Records:
    """All records of one cluster; empty before the first write.

    `damaged_topics`, `damage`: the records that cannot be read; they are not among the others.
    """

    cluster_id: str | None = None
    topics: Mapping[str, TopicRecord] = field(default_factory=dict)
    brokers: Mapping[int, BrokerRecord] = field(default_factory=dict)
    damaged_topics: Mapping[str, NodeDamage] = field(default_factory=dict)
    damage: Mapping[RecordKind, NodeDamage] = field(default_factory=dict)


NOTHING_RECORDED = Records()
"""The records of a cluster before the first write."""
