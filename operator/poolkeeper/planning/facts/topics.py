"""Why a topic stays as it is, though its Topic declares otherwise."""

from enum import Enum
from typing import ClassVar

from poolkeeper.frozen import frozen
from poolkeeper.model.problems import Facts, ProblemReason
from poolkeeper.model.versions import KafkaVersion, Version
from poolkeeper.planning.facts.capacity import Quantity
from poolkeeper.planning.facts.conflicts import Member
from poolkeeper.planning.facts.phrases import Names, advised, brokers, joined
from poolkeeper.text import cut, named


class Unsettled(Enum):
    """Why the state of a topic cannot be trusted now."""

    REQUESTED = "a reassignment request names it"
    MOVING = "replicas of {} are being moved"
    GAPS = "its partition ids have gaps"
    NO_REPLICAS = "it has partitions without replicas"
    CHANGING = "it changed while it was being read"
    DAMAGED = "its znode is damaged: {}"
    DELETING = "it is being deleted"


@frozen
class TopicLeftOut:
    """The topic stays as it is this time; `detail`: which partitions, or what is damaged."""

    reason: ClassVar = ProblemReason.LEFT_OUT
    why: Unsettled
    detail: str = ""

    def __str__(self) -> str:
        return f"left out of this plan: {self.why.value.format(self.detail)}"


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
class ClaimedTwice:
    """Claims of all these pools match the topic."""

    reason: ClassVar = ProblemReason.SEVERAL_POOLS_CLAIM
    pools: tuple[str, ...]

    def __str__(self) -> str:
        return f"nothing moves: spec.claims of pools {joined(self.pools)} match it"


@frozen
class NoDefaultPool:
    """No Topic names the topic, no claim matches it, and there is no default pool."""

    reason: ClassVar = ProblemReason.NO_DEFAULT_POOL

    def __str__(self) -> str:
        return "nothing moves: no Topic and no claim names it, and no default pool can be used"


@frozen
class PoolUnavailable:
    """The pool that the Topic names cannot be worked in."""

    reason: ClassVar = ProblemReason.POOL_UNAVAILABLE
    pool: str

    def __str__(self) -> str:
        return f"nothing is done: its pool {self.pool} does not exist or cannot be used"


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


@frozen
class KeptAsItIs:
    """What is declared would break a law; `what`: what the audit says of it."""

    reason: ClassVar = ProblemReason.UNLAWFUL
    law: str
    what: str

    def __str__(self) -> str:
        return f"stays as it is: what is declared would break the law {self.law}: {self.what}"


@frozen
class NotAdmitted:
    """The pool that the Topic names does not admit the Topic's namespace."""

    reason: ClassVar = ProblemReason.NAMESPACE_NOT_ADMITTED
    pool: str
    namespace: str

    def __str__(self) -> str:
        return f"nothing is done: pool {self.pool} does not admit namespace {self.namespace}"


@frozen
class PinnedElsewhere:
    """Brokers of a manual assignment that cannot be used; those without obstacle are outside.

    Each of them conflicts with the assignment by itself, so all are named.
    """

    reason: ClassVar = ProblemReason.PINNED_BROKERS_UNUSABLE
    pool: str
    brokers: tuple[Member, ...]

    def __str__(self) -> str:
        reasons, ways = [], []
        for broker in self.brokers:
            if broker.obstacle is None:
                reasons.append(f"{broker.id} is not in pool {self.pool}")
                ways.append(f"add broker {broker.id} to the pool")
            else:
                reasons.append(str(broker))
                ways.append(broker.obstacle.remedy(broker.id))
        said = f"stays as it is: spec.placement.assignment pins it, and broker {joined(reasons)}"
        return advised(said, (" and ".join(ways), "change the assignment"))


@frozen
class PinnedBeyondCapacity:
    """A manual assignment would put `would` on a broker of which `room` may hold.

    `broker` is None where it is the pool that lacks room, for the failures of its headroom.
    """

    reason: ClassVar = ProblemReason.CAPACITY_EXCEEDED
    pool: str
    broker: int | None
    quantity: Quantity
    would: int
    room: int

    def __str__(self) -> str:
        field = "replicas" if self.quantity is Quantity.REPLICAS else "disk"
        where = f"pool {self.pool}" if self.broker is None else f"broker {self.broker}"
        way = "lower spec.headroom" if self.broker is None else f"raise spec.capacity.{field}"
        said = (
            f"stays as it is: with its assignment {where} would hold"
            f" {self.quantity.text(self.would)} and may hold {self.quantity.text(self.room)}"
        )
        return advised(said, (way, "change the assignment"))


@frozen
class NotDeleted:
    """A topic is not deleted; `name_problem`: what Kafka says of its name."""

    reason: ClassVar = ProblemReason.INTERNAL_TOPIC
    name_problem: str

    def __str__(self) -> str:
        return f"not deleted: it {self.name_problem}"


@frozen
class InternalTopicResized:
    """An internal topic's assignment has another number of partitions than the topic."""

    reason: ClassVar = ProblemReason.INTERNAL_TOPIC
    declared: int
    found: int

    def __str__(self) -> str:
        return (
            f"nothing is done: its assignment has {self.declared} partitions, and an internal"
            f" topic keeps its {self.found}"
        )


@frozen
class InternalTopicShrunk:
    """An internal topic would lose replicas; `partition` is the first that would."""

    reason: ClassVar = ProblemReason.INTERNAL_TOPIC
    partition: int
    replicas: int

    def __str__(self) -> str:
        return (
            "nothing is done: an internal topic of Kafka loses no replicas, partition"
            f" {self.partition} has {self.replicas}"
        )


@frozen
class AwaitsReplicas:
    """A config value that is set once enough replicas of every partition are in sync."""

    reason: ClassVar = ProblemReason.AWAITS_REPLICAS
    key: str
    value: str
    in_sync: int

    def __str__(self) -> str:
        return (
            f"{self.key} is set to {self.value} once as many replicas of every partition are in"
            f" sync, now {self.in_sync}"
        )


@frozen
class UncleanElection:
    """Partitions without a leader, for which a config elects one that is not in sync.

    `held`: the brokers that held them in sync last.
    """

    reason: ClassVar = ProblemReason.UNCLEAN_ELECTION
    held: tuple[int, ...]
    partitions: Names

    def __str__(self) -> str:
        return (
            "unclean.leader.election.enable elects leaders that are not in sync, at once (up to"
            f" Kafka 2.0 with the next controller): {self.partitions}: what only"
            f" {brokers(self.held)} had is lost, even if they return"
        )


@frozen
class ConfigNotSet:
    """A topic keeps its config."""

    because: Facts

    @property
    def reason(self) -> ProblemReason:
        """The kind of the problem."""
        return self.because.reason

    def __str__(self) -> str:
        return f"its config stays as it is: {self.because}"


@frozen
class ConfigInvalid:
    """Keys that a broker would not start with, each with what is wrong.

    `possible`: the releases that the brokers may run, where that is not known for certain.
    """

    reason: ClassVar = ProblemReason.INVALID_CONFIG
    problems: tuple[tuple[str, str], ...]
    possible: Version | None = None

    def __str__(self) -> str:
        shown = cut([f"{key}: {problem}" for key, problem in self.problems], 5, grouped=False)
        said = f"spec.config is not valid: {'; '.join(shown)}"
        if self.possible is None:
            return said
        ways = ("change the value", "declare spec.brokers or spec.kafkaVersion of the KafkaCluster")
        return advised(f"{said}; the brokers may run Kafka {self.possible}", ways)


@frozen
class ConfigRefusedByBrokers:
    """A config that the brokers refused when they were asked to check it; `words`: theirs."""

    reason: ClassVar = ProblemReason.CONFIG_REFUSED
    words: str

    def __str__(self) -> str:
        return f"the brokers refuse it: {self.words}"


@frozen
class ConfigKeysUnknownToSome:
    """Keys to set that only some of the releases know which the brokers may run."""

    reason: ClassVar = ProblemReason.CONFIG_KEY_UNKNOWN_TO_SOME
    keys: tuple[tuple[str, KafkaVersion], ...]
    possible: Version

    def __str__(self) -> str:
        since = joined(f"{key} (since {release})" for key, release in self.keys)
        return (
            f"brokers of older releases ignore {since}: the brokers may run Kafka {self.possible}"
        )
