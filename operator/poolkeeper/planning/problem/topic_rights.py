"""What gives a Topic resource the Kafka topic that it names, or what it lacks for that.

Whoever may create Topics may name any Kafka topic. So a name alone gives nothing that exists:

| the Kafka topic | the Topic gets it |
|---|---|
| is recorded as the Topic's own | yes |
| is recorded as that of another Topic of its namespace, which is gone | yes |
| does not exist | yes, if its namespace may use the name |
| exists otherwise, whether somebody owned it or nobody | if the KafkaCluster lets it, or a person |

A record is about the very topic that it was made for (`TopicRecord.is_of`): one of the same name
that was created later is not owned by anybody. Records of earlier releases do not tell, and count
for the topic that is there.

The names that a namespace may use are a rule for what is new: an owner keeps what it has.
"""

from collections.abc import Collection
from enum import Enum, auto

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.specs import KafkaClusterSpec
from poolkeeper.model.tenancy import AdoptionPolicy
from poolkeeper.model.topic_patterns import matches
from poolkeeper.model.topology import Cluster

SYSTEM_MARK = "_"
"""How the names of topics begin that belong to Kafka or to a service beside it."""


class Right(Enum):
    """What gives a Topic its Kafka topic, or what it lacks."""

    OWNER = auto()
    """It is the recorded owner."""
    NAMESPACE = auto()
    """Another Topic of its namespace was the recorded owner."""
    NEW = auto()
    """The topic does not exist."""
    ALLOWED = auto()
    """The KafkaCluster lets the namespace take the topic over without a question."""
    UNAPPROVED = auto()
    """A person must approve that the namespace takes the topic over."""
    CLOSED = auto()
    """Nobody takes over what exists in this cluster (policy None)."""
    SYSTEM_NAME = auto()
    """The name begins with `_`, and the namespace may not use such names."""
    FOREIGN_NAME = auto()
    """The name does not begin with the prefix of the namespace."""

    @property
    def enough(self) -> bool:
        """Whether the Topic may be followed."""
        return self in (Right.OWNER, Right.NAMESPACE, Right.NEW, Right.ALLOWED)


@frozen
class TopicsFound:
    """What of a cluster decides on rights; without a cluster every topic counts as found.

    `cluster` is None where only topics are asked about that were just observed.
    """

    cluster: Cluster | None
    records: Records

    def exists(self, topic: str) -> bool:
        """Whether the topic is there, readable or not."""
        found = self.cluster
        return found is None or any(
            topic in names for names in (found.topics, found.torn, found.damaged, found.deleting)
        )

    def record_of(self, topic: str) -> TopicRecord | None:
        """The record of the topic, unless it is that of an earlier topic of the same name."""
        record = self.records.topics.get(topic)
        return None if record is None or self.is_outdated(topic, record) else record

    def is_outdated(self, topic: str, record: TopicRecord) -> bool:
        """Whether the record is about an earlier topic of the same name."""
        live = None if self.cluster is None else self.cluster.topics.get(topic)
        return live is not None and not record.is_of(live)


def right_of(spec: KafkaClusterSpec, found: TopicsFound, topic: str, owner: str) -> Right:
    """The right of the Topic `owner` (`namespace/name`) to the Kafka topic that it names."""
    namespace, record = namespace_of(owner), found.record_of(topic)
    exists = found.exists(topic)
    if record is not None and record.owner == owner:
        return Right.OWNER
    if exists and record is not None and namespace_of(record.owner) == namespace:
        return Right.NAMESPACE
    lacking = name_problem(spec, namespace, topic)
    if lacking is not None:
        return lacking
    return _right_to_existing(spec, namespace, topic) if exists else Right.NEW


def name_problem(spec: KafkaClusterSpec, namespace: str, topic: str) -> Right | None:
    """Why Topics of the namespace may not have the name, or None."""
    if topic.startswith(SYSTEM_MARK):
        systems = spec.system_topics
        return None if systems is None or namespace in systems else Right.SYSTEM_NAME
    prefix = prefix_of(spec, namespace)
    return None if topic.startswith(prefix) else Right.FOREIGN_NAME


def prefix_of(spec: KafkaClusterSpec, namespace: str) -> str:
    """How the names of the namespace's topics begin; empty if any name will do."""
    return (spec.topic_prefix or "").replace("{namespace}", namespace)


def _right_to_existing(spec: KafkaClusterSpec, namespace: str, topic: str) -> Right:
    adoption = spec.adoption
    listed = adoption.namespaces is not None or adoption.topics is not None
    if listed and _matches(adoption.namespaces, adoption.topics, namespace, topic):
        return Right.ALLOWED
    if adoption.policy is AdoptionPolicy.NONE:
        return Right.CLOSED
    opened = adoption.policy in (None, AdoptionPolicy.OPEN)
    return Right.ALLOWED if opened and not listed else Right.UNAPPROVED


def _matches(
    namespaces: Collection[str] | None, topics: Collection[str] | None, namespace: str, topic: str
) -> bool:
    if namespaces is not None and namespace not in namespaces:
        return False
    return topics is None or matches(topics, topic)


def doomed_owner(desired: Desired, found: TopicsFound, topic: str) -> str:
    """The topic's recorded owner if it is being deleted, and the topic with it; else empty."""
    record = found.record_of(topic)
    if record is None or Claim(topic, record.owner) not in desired.doomed:
        return ""
    return record.owner


def namespaces_of_doomed(desired: Desired) -> dict[str, str]:
    """By topic, the namespace of the Topic that is being deleted with it."""
    return {claim.topic: namespace_of(claim.owner) for claim in desired.doomed}


def namespace_of(owner: str) -> str:
    """The namespace of `namespace/name`."""
    return owner.partition("/")[0]
