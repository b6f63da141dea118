"""Why a Topic does not get the Kafka topic that it names, or is not followed for it."""

from typing import ClassVar

from poolkeeper.frozen import frozen
from poolkeeper.model.problems import ProblemReason
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.text import named


@frozen
class DeclaredTwice:
    """`others`: the first owners that name the same Kafka topic, and how many more do.

    `deleted_with`: the Topic with which the Kafka topic would be deleted, if there is one.
    """

    reason: ClassVar = ProblemReason.TOPIC_CONFLICT
    owner: str
    others: str
    deleted_with: str = ""

    def __str__(self) -> str:
        said = f"{self.owner} declares a topic that {self.others} declares too"
        if not self.deleted_with:
            return f"{said}; delete one of the Topics"
        return (
            f"{said}; the data goes with {self.deleted_with}: set its spec.deletionPolicy to Retain"
            " before it is deleted, or delete the other Topic"
        )


@frozen
class DeletedWithItsOwner:
    """`owner` declares a Kafka topic that is being deleted with another Topic, `going`."""

    reason: ClassVar = ProblemReason.TOPIC_CONFLICT
    owner: str
    going: str

    def __str__(self) -> str:
        return (
            f"{self.owner} declares a topic that is being deleted with {self.going}: it would be"
            f" created again, without its data; set spec.deletionPolicy of {self.going} to Retain"
            " to keep it"
        )


@frozen
class AdoptionRequired:
    """Topics of a namespace name existing topics, and a person must approve that it gets them."""

    reason: ClassVar = ProblemReason.ADOPTION_REQUIRED
    namespace: str
    topics: Names
    hash: str

    def __str__(self) -> str:
        return (
            f"namespace {self.namespace} asks to take over what exists: {self.topics}; to let it,"
            f" add {self.hash} to spec.approval.plans"
        )


@frozen
class AdoptionRefused:
    """A Topic names an existing topic, and in this cluster nobody takes over what exists."""

    reason: ClassVar = ProblemReason.ADOPTION_REFUSED
    owner: str

    def __str__(self) -> str:
        return (
            f"{self.owner} declares a topic that exists and is not its own, and spec.adoption of"
            " the KafkaCluster lets nobody take it over"
        )


@frozen
class NameNotAllowed:
    """A Topic's namespace may not use the name; `prefix`: how its names begin, if that is why."""

    reason: ClassVar = ProblemReason.NAME_NOT_ALLOWED
    owner: str
    prefix: str = ""

    def __str__(self) -> str:
        if self.prefix:
            why = f"does not begin with {self.prefix} (spec.topicNames of the KafkaCluster)"
        else:
            why = "begins with _, and spec.systemTopics of the KafkaCluster does not name it"
        return f"{self.owner} may not have this name: it {why}"


@frozen
class TopicHeld:
    """Topics that cannot be acted on name the Kafka topic, or own it."""

    reason: ClassVar = ProblemReason.TOPIC_HELD
    owners: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"nothing is done: {named('Topic', self.owners)} cannot be acted on; see its status,"
            " and mend or delete it"
        )


@frozen
class TopicStranded:
    """The Topic that owns the Kafka topic has no place in this cluster."""

    reason: ClassVar = ProblemReason.POOL_UNAVAILABLE
    owner: str

    def __str__(self) -> str:
        return (
            f"it only leaves drained and gone brokers: its owner, Topic {self.owner}, names no"
            " pool of this cluster that takes it"
        )


@frozen
class OwnerNotWatched:
    """The owner of the Kafka topic is a Topic of this namespace, whose Topics nobody sees."""

    reason: ClassVar = ProblemReason.NAMESPACE_NOT_WATCHED
    namespace: str

    def __str__(self) -> str:
        return (
            "it only leaves drained and gone brokers: its owner is a Topic of namespace"
            f" {self.namespace}, which is not watched; watch it again (--watch-namespace, in the"
            " chart watchNamespaces), or declare the topic in a namespace that is watched and"
            " approve that it is taken over"
        )
