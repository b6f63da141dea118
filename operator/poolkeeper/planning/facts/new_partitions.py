"""Why a declared topic is not created, or an existing one gets no new partitions."""

from typing import ClassVar

from poolkeeper.algorithms.key_remap import moved_share
from poolkeeper.frozen import frozen
from poolkeeper.model.problems import Facts, ProblemReason
from poolkeeper.model.specs import Headroom
from poolkeeper.planning.facts.phrases import (
    brokers,
    counted,
    failures_text,
    needed,
    room_after_failures,
    with_advice,
)
from poolkeeper.text import join, percent


@frozen
class NotCreated:
    """A declared topic that is not created."""

    because: Facts

    @property
    def reason(self) -> ProblemReason:
        """The kind of the problem."""
        return self.because.reason

    def __str__(self) -> str:
        return f"not created: {self.because}"


@frozen
class NotExtended:
    """A topic that has `found` partitions and keeps them, though `wanted` are declared."""

    found: int
    wanted: int
    because: Facts

    @property
    def reason(self) -> ProblemReason:
        """The kind of the problem."""
        return self.because.reason

    def __str__(self) -> str:
        return f"stays at {_partitions(self.found)} instead of {self.wanted}: {self.because}"


@frozen
class AwaitsRoom:
    """A declared topic that the next plan creates, or one of `found` partitions that gets more."""

    reason: ClassVar = ProblemReason.AWAITS_ROOM
    found: int | None = None

    def __str__(self) -> str:
        freed = "until moves of this plan have freed capacity for"
        if self.found is None:
            return f"not created {freed} it"
        return f"stays at {_partitions(self.found)} {freed} more"


@frozen
class AwaitsMoves:
    """A topic of `found` partitions that gets more by a later plan."""

    reason: ClassVar = ProblemReason.AWAITS_MOVES
    found: int

    def __str__(self) -> str:
        return f"stays at {_partitions(self.found)} until its replicas have moved"


@frozen
class CrowdedOut:
    """A topic whose new partitions fit by themselves, but not beside the pool's other replicas."""

    reason: ClassVar = ProblemReason.CAPACITY_EXCEEDED

    def __str__(self) -> str:
        return "gets no new partitions: the pool lacks capacity for them and its other replicas"


@frozen
class MetricNameTaken:
    """`other` is the existing topic."""

    reason: ClassVar = ProblemReason.METRIC_NAME_TAKEN
    other: str

    def __str__(self) -> str:
        return f"Kafka's metrics cannot tell it from {self.other}: choose another name"


@frozen
class IllegalName:
    """A topic name that Kafka refuses; `name_problem`: why."""

    reason: ClassVar = ProblemReason.ILLEGAL_NAME
    name_problem: str

    def __str__(self) -> str:
        return f"the name {self.name_problem}"


@frozen
class PartitionsUndeclared:
    """Neither the Topic nor its pool declares a number of partitions."""

    reason: ClassVar = ProblemReason.PARTITIONS_UNDECLARED
    pool: str

    def __str__(self) -> str:
        return (
            f"neither the Topic nor pool {self.pool} says how many partitions (set spec.partitions)"
        )


@frozen
class FactorUndeclared:
    """Neither the Topic nor its pool declares a replication factor."""

    reason: ClassVar = ProblemReason.REPLICATION_FACTOR_UNDECLARED
    pool: str

    def __str__(self) -> str:
        return (
            f"neither the Topic nor pool {self.pool} says how many replicas (set"
            " spec.replicationFactor)"
        )


@frozen
class QuotaExcess:
    """`held` of at most `most` exist, and `more` are wanted; `field`: where `most` is declared.

    `whose`: the cluster, a pool, or a namespace in a pool.
    """

    whose: str
    noun: str
    held: int
    more: int
    most: int
    field: str

    def __str__(self) -> str:
        return (
            f"{self.whose} has {self.held} of {self.most} {self.noun} and would get {self.more}"
            f" more (raise {self.field} to {self.held + self.more})"
        )


@frozen
class QuotaExceeded:
    """Quotas and limits that would be exceeded; each conflicts by itself, so all are named."""

    reason: ClassVar = ProblemReason.QUOTA_EXCEEDED
    excesses: tuple[QuotaExcess, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.excesses))


@frozen
class FewerBrokers:
    """The pool's usable brokers are fewer than `factor`."""

    reason: ClassVar = ProblemReason.TOO_FEW_BROKERS
    pool: str
    factor: int
    usable: tuple[int, ...]

    def __str__(self) -> str:
        said = f"{needed(self.factor)}; usable in pool {self.pool}: {join(self.usable) or 'none'}"
        lacking = counted(self.factor - len(self.usable), "broker")
        return with_advice(said, (f"add {lacking}", "take as many out of spec.drain"))


@frozen
class BrokersFull:
    """These brokers together would hold `wanted` replicas and may hold at most `room`.

    `even`: they would because replicas of a partition are spread over racks. `fields`: what bounds
    them.
    """

    reason: ClassVar = ProblemReason.CAPACITY_EXCEEDED
    brokers: tuple[int, ...]
    wanted: int
    room: int
    fields: tuple[str, ...]
    even: bool = False

    def __str__(self) -> str:
        even = ", as replicas are spread over racks" if self.even else ""
        said = (
            f"{brokers(self.brokers)} would hold {_replicas(self.wanted)} and may hold {self.room}"
        )
        return with_advice(said + even, _more_capacity(self.fields))


@frozen
class NoRoomBetween:
    """Every set of brokers has room by count, and yet no replica list is possible.

    `fields`: what bounds the brokers.
    """

    reason: ClassVar = ProblemReason.CAPACITY_EXCEEDED
    fields: tuple[str, ...]

    def __str__(self) -> str:
        said = f"no placement keeps all brokers within {' and '.join(self.fields)}"
        return with_advice(said, _more_capacity(self.fields))


def _more_capacity(fields: tuple[str, ...]) -> tuple[str, ...]:
    return "add a broker", f"raise {' and '.join(fields)}"


@frozen
class BeyondHeadroom:
    """The pool would hold `held` replicas, of which `room` fit after its headroom's failures.

    `smallest_lost`: the replicas of the smallest broker or rack that counts as lost; None: nothing
    is lost.
    """

    reason: ClassVar = ProblemReason.HEADROOM_EXCEEDED
    pool: str
    held: int
    room: int
    headroom: Headroom
    smallest_lost: int | None

    def __str__(self) -> str:
        more = counted(self.held - self.room, "more replica")
        fit = f"{self.room} {'fits' if self.room == 1 else 'fit'}" if self.room else "none fits"
        said = (
            f"pool {self.pool} would hold {counted(self.held, 'replica')}, {fit} with"
            f" {failures_text(self.headroom)}"
        )
        if not self.room:
            return with_advice(said, ["lower spec.headroom"])
        if self.smallest_lost is None:
            return with_advice(said, [f"add capacity for {more}"])
        most = counted(self.smallest_lost, "replica")
        add = room_after_failures(self.headroom, more, most)
        return with_advice(said, ("lower spec.headroom", add))


@frozen
class TopicTooLarge:
    """The topic's replica lists would not fit into one write; `most` partitions do."""

    reason: ClassVar = ProblemReason.TOPIC_TOO_LARGE
    partitions: int
    most: int

    def __str__(self) -> str:
        return (
            f"{self.partitions} partitions do not fit into one znode: ask for at most {self.most},"
            " or for several topics"
        )


@frozen
class AssignedElsewhere:
    """A manual assignment names these brokers, which the pool cannot use."""

    reason: ClassVar = ProblemReason.PINNED_BROKERS_UNUSABLE
    pool: str
    brokers: tuple[int, ...]

    def __str__(self) -> str:
        named = join(self.brokers)
        return f"its assignment names brokers that pool {self.pool} cannot use: {named}"


@frozen
class InvalidAssignment:
    """A list of a manual assignment is empty or names a broker twice."""

    reason: ClassVar = ProblemReason.INVALID_ASSIGNMENT

    def __str__(self) -> str:
        return "its assignment has an empty list or names a broker twice"


@frozen
class TopicUntouched:
    """Nothing is done about the topic; another problem says why."""

    reason: ClassVar = ProblemReason.UNTOUCHED

    def __str__(self) -> str:
        return "the topic is left out of this plan"


@frozen
class NeverShrinks:
    """Fewer partitions are declared than exist; Kafka cannot remove partitions."""

    reason: ClassVar = ProblemReason.PARTITIONS_NEVER_SHRINK

    def __str__(self) -> str:
        return "partitions never shrink"


@frozen
class InternalTopicAbsent:
    """An internal topic that is declared and does not exist."""

    reason: ClassVar = ProblemReason.AWAITS_KAFKA

    def __str__(self) -> str:
        return "not created: Kafka creates this topic itself, at its first use"


@frozen
class InternalTopic:
    """Kafka has created the topic for its own use."""

    reason: ClassVar = ProblemReason.INTERNAL_TOPIC

    def __str__(self) -> str:
        return "it is an internal topic of Kafka"


@frozen
class KeyedTopic:
    """A topic of `found` partitions places records by key, and `wanted` are declared."""

    reason: ClassVar = ProblemReason.KEYS_WOULD_MOVE
    found: int
    wanted: int

    def __str__(self) -> str:
        return (
            f"{percent(100 * float(moved_share(self.found, self.wanted)))} of its keys would change"
            f" partition (set spec.acceptKeyRemapTo to {self.wanted} to allow it)"
        )


def _partitions(number: int) -> str:
    return counted(number, "partition", grouped=False)


def _replicas(number: int) -> str:
    return counted(number, "replica", grouped=False)
