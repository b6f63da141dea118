"""Why a topic stays as it is, though its Topic declares otherwise."""

from enum import Enum
from typing import ClassVar

from poolkeeper.frozen import frozen
from poolkeeper.model.problems import Facts, ProblemReason
from poolkeeper.model.versions import KafkaVersion, Version
from poolkeeper.planning.facts.capacity import Quantity
from poolkeeper.planning.facts.conflicts import Member
from poolkeeper.planning.facts.phrases import Names, brokers, counted, with_advice
from poolkeeper.text import cut, join


class Unsettled(Enum):
    """Why the state of a topic cannot be trusted now."""

    REQUESTED = "a reassignment request names it"
    MOVING = "replicas of {} are being moved"
    GAPS = "its partition ids have gaps"
    NO_REPLICAS = "it has partitions without replicas"
    CHANGING = "it changed while it was being read"
    DAMAGED = "its znode is damaged: {}"
    DELETING = "it is being deleted"
    UNLOADABLE = "brokers cannot load its config, and so make no replica of it: {}"


@frozen
class TopicLeftOut:
    """The topic stays as it is this time; `detail`: which partitions, or what is damaged."""

    reason: ClassVar = ProblemReason.LEFT_OUT
    why: Unsettled
    detail: str = ""

    def __str__(self) -> str:
        return f"left out of this plan: {self.why.value.format(self.detail)}"


@frozen
class ClaimedTwice:
    """Claims of all these pools match the topic."""

    reason: ClassVar = ProblemReason.SEVERAL_POOLS_CLAIM
    pools: tuple[str, ...]

    def __str__(self) -> str:
        return f"nothing moves: spec.claims of pools {join(self.pools)} match it"


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
        said = f"stays as it is: spec.placement.assignment pins it, and broker {join(reasons)}"
        return with_advice(said, (" and ".join(ways), "change the assignment"))


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
        return with_advice(said, (way, "change the assignment"))


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
            f"nothing is done: its assignment has {counted(self.declared, 'partition')}, and an"
            f" internal topic keeps its {self.found}"
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
        return with_advice(f"{said}; the brokers may run Kafka {self.possible}", ways)


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
        since = join(f"{key} (since {release})" for key, release in self.keys)
        return (
            f"brokers of older releases ignore {since}: the brokers may run Kafka {self.possible}"
        )
