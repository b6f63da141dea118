"""Why a plan leaves something undone, as values: a reason to decide on, and its facts.

Facts are one frozen class for each kind of problem, with the numbers and names that the problem is
about (the planner's are in `planning.facts`). The sentence for people is made from them, and
nothing is decided on it. A problem that was read from a document has its reason and its sentence
and no other facts.
"""

from enum import StrEnum
from typing import Protocol

from poolkeeper.frozen import frozen


class ProblemReason(StrEnum):
    """The kind of a problem; the values are stable: `reason` in `plan.json`."""

    LEFT_OUT = "LeftOut"
    """The topic's state cannot be built on now; the next plan may do what this one does not."""
    UNTOUCHED = "Untouched"
    """The topic gets no partitions, as nothing is done about it for another problem."""
    AWAITS_ROOM = "AwaitsRoom"
    """A topic is created, or gets partitions, by the next plan, once moves of this one have made
    room for it."""
    AWAITS_MOVES = "AwaitsMoves"
    """A topic gets partitions, or a pool is evened out further, by a later plan: once replicas have
    moved."""
    AWAITS_KAFKA = "AwaitsKafka"
    """Kafka creates this internal topic itself, at its first use."""
    AWAITS_REPLICAS = "AwaitsReplicas"
    """A config is set once as many replicas are in sync as it asks for."""
    AWAITS_PARTITIONS = "AwaitsPartitions"
    """A pool is evened out further by a later plan, once new partitions exist."""
    NO_STAGE = "NoStage"
    """Some moves never get a stage as the cluster is now."""

    TOPIC_CONFLICT = "TopicConflict"
    """Several Topics name one Kafka topic, and this one does not speak for it."""
    ADOPTION_REQUIRED = "AdoptionRequired"
    """A namespace asks to take over topics that exist, and a person must approve it."""
    ADOPTION_REFUSED = "AdoptionRefused"
    """A Topic names a topic that exists, and the cluster lets nobody take it over."""
    NAME_NOT_ALLOWED = "NameNotAllowed"
    """A Topic's namespace may not use the name of the topic."""
    SEVERAL_POOLS_CLAIM = "SeveralPoolsClaim"
    """The claims of several pools match the topic."""
    BROKERS_IN_SEVERAL_POOLS = "BrokersInSeveralPools"
    """A broker belongs to several pools; nothing moves in any of them."""
    POOL_UNAVAILABLE = "PoolUnavailable"
    """The topic's pool does not exist, or nothing may move in it."""
    TOPIC_HELD = "TopicHeld"
    """A Topic that cannot be acted on names the topic or owns it; nothing is done about it."""
    NAMESPACE_NOT_WATCHED = "NamespaceNotWatched"
    """The topic's owner is a Topic in a namespace that the operator does not watch."""
    NO_DEFAULT_POOL = "NoDefaultPool"
    """The topic is unmanaged, and there is no default pool that could be worked in."""
    NAMESPACE_NOT_ADMITTED = "NamespaceNotAdmitted"
    """The pool does not admit Topics of this namespace."""

    ILLEGAL_NAME = "IllegalName"
    """Kafka allows no topic of this name, or keeps it for itself."""
    METRIC_NAME_TAKEN = "MetricNameTaken"
    """Kafka's metrics could not tell the topic from another one."""
    RECORD_DAMAGED = "RecordDamaged"
    """A record of ours in ZooKeeper cannot be read, and something needs it."""
    INTERNAL_TOPIC = "InternalTopic"
    """The topic is Kafka's own."""
    PARTITIONS_UNDECLARED = "PartitionsUndeclared"
    """Neither the Topic nor its pool says how many partitions a new topic has."""
    REPLICATION_FACTOR_UNDECLARED = "ReplicationFactorUndeclared"
    """Neither the Topic nor its pool says how many replicas a new topic has."""
    PARTITIONS_NEVER_SHRINK = "PartitionsNeverShrink"
    """Fewer partitions are declared than there are."""
    KEYS_WOULD_MOVE = "KeysWouldMove"
    """More partitions would send the keys of a keyed topic to other ones."""
    INVALID_ASSIGNMENT = "InvalidAssignment"
    """A manual assignment has an empty list, or names a broker twice."""
    PINNED_BROKERS_UNUSABLE = "PinnedBrokersUnusable"
    """A manual assignment names brokers that its pool cannot use."""

    INVALID_CONFIG = "InvalidConfig"
    """A config has keys or values with which a broker would not start."""
    CONFIG_REFUSED = "ConfigRefused"
    """The brokers were asked to check a config, and refuse it."""
    CONFIG_KEY_UNKNOWN_TO_SOME = "ConfigKeyUnknownToSome"
    """A config key is set that older brokers, which there may be, do not know."""

    QUOTA_EXCEEDED = "QuotaExceeded"
    """A quota of a pool or namespace, or a limit of the cluster that is enforced, is exceeded."""
    LIMIT_EXCEEDED = "LimitExceeded"
    """The cluster holds more than `spec.limits` says, which its policy enforces."""
    LIMIT_WARNED = "LimitWarned"
    """The cluster holds more than `spec.limits` says, of which its policy only warns."""
    TOO_FEW_BROKERS = "TooFewBrokers"
    """Fewer brokers are usable than a partition has replicas."""
    TOO_FEW_RACKS = "TooFewRacks"
    """Fewer racks have usable brokers than a partition has replicas."""
    RACKS_AS_FOUND = "RacksAsFound"
    """Partitions are not spread over racks, and stay so as the pool's `rackPolicy` says."""
    RACKS_INCOMPLETE = "RacksIncomplete"
    """Some brokers of a pool have a rack and others have none."""
    RACKS_CONTRADICTED = "RacksContradicted"
    """Brokers register other racks than their pool names for them; what is registered counts."""
    CAPACITY_EXCEEDED = "CapacityExceeded"
    """Brokers would hold more replicas or bytes than their capacity."""
    HEADROOM_EXCEEDED = "HeadroomExceeded"
    """What a pool holds would not fit with the brokers or racks lost that its headroom names."""
    TOPIC_TOO_LARGE = "TopicTooLarge"
    """More partitions are declared than fit into the topic's znode."""
    PARTITION_TOO_LARGE = "PartitionTooLarge"
    """A partition is larger than the disks of the brokers that it needs."""
    FACTOR_NOT_RAISED = "FactorNotRaised"
    """A higher replication factor is declared, and there is no room for it."""

    UNLAWFUL = "Unlawful"
    """What is declared for a topic or pool would break a law of placement, so that it is kept."""
    UNCLEAN_ELECTION = "UncleanElection"
    """A config has leaders elected at once that are not in sync; the plan does it and says so."""
    HEAL_HELD = "HealHeld"
    """So many brokers are missing at once that `heal` replaces none of them."""
    DATA_LOST = "DataLost"
    """Only brokers that are gone for good held partitions in sync."""
    NO_SOURCE = "NoSource"
    """No live broker holds the partitions in sync, so nothing can be copied from."""
    LOG_DIR_FAILED = "LogDirFailed"
    """A log directory of a broker has failed, and the replicas that were in it are offline."""
    LOG_DIRS_UNKNOWN = "LogDirsUnknown"
    """A broker does not tell its log directories."""
    NO_SUCH_LOG_DIR = "NoSuchLogDir"
    """A log directory is to be drained that the broker does not have."""
    BROKER_NOT_EMPTIED = "BrokerNotEmptied"
    """Replicas stay on a drained broker: their topics are paused or not managed."""
    LOG_DIR_NOT_EMPTIED = "LogDirNotEmptied"
    """Replicas stay in a log directory that is drained."""

    NO_CONTROLLER = "NoController"
    """No broker is elected controller."""
    BROKERS_MISSING = "BrokersMissing"
    """Declared brokers are not live."""
    NO_LIVE_BROKER = "NoLiveBroker"
    """No broker of a pool is live."""
    TOO_FEW_LIVE_BROKERS = "TooFewLiveBrokers"
    """Fewer brokers of a pool are live than its topics have replicas."""
    PARTITIONS_OFFLINE = "PartitionsOffline"
    """Partitions have no live leader: nobody can read or write them."""
    ELECTION_PENDING = "ElectionPending"
    """Partitions have lost their leader, and the controller is to elect one that is in sync."""
    UNDER_MIN_ISR = "UnderMinIsr"
    """Partitions have fewer replicas in sync than `min.insync.replicas`."""
    UNDER_REPLICATED = "UnderReplicated"
    """Partitions have replicas that are not in sync, and enough that are."""
    MIN_ISR_UNREACHABLE = "MinIsrUnreachable"
    """A topic has fewer replicas than its `min.insync.replicas`."""
    DISK_FULL = "DiskFull"
    """A log directory has almost no space left."""
    TOPICS_DAMAGED = "TopicsDamaged"
    """The znode of a topic cannot be read."""
    CONTROLLER_EPOCH_BEHIND = "ControllerEpochBehind"
    """States of partitions name a later controller epoch than /controller_epoch holds."""

    DEMOTED_BROKER_LEADS = "DemotedBrokerLeads"
    """Partitions keep a demoted broker as preferred leader."""
    RATES_UNKNOWN = "RatesUnknown"
    """A goal weighs what is written to partitions, and no rate is known."""
    BALANCE_HELD = "BalanceHeld"
    """Nothing is evened out in a pool while it is not known where a topic has its replicas."""
    GAIN_TOO_SMALL = "GainTooSmall"
    """Balancing would remove less imbalance than `balancing.minGain`."""
    GOAL_NOT_MET = "GoalNotMet"
    """Something cannot be evened out as far as a goal asks."""

    UNTOLD = "Untold"
    """The document that tells of the problem gives no reason, or none that is known here."""


_AS_DECLARED = frozenset(
    (
        ProblemReason.GAIN_TOO_SMALL,
        ProblemReason.AWAITS_KAFKA,
        ProblemReason.UNCLEAN_ELECTION,
        ProblemReason.UNDER_REPLICATED,
        ProblemReason.RACKS_AS_FOUND,
        ProblemReason.RACKS_CONTRADICTED,
        ProblemReason.CONFIG_KEY_UNKNOWN_TO_SOME,
        ProblemReason.LIMIT_WARNED,
    )
)
"""What is told although it is as declared: small gains, a topic of Kafka's, what a step costs,
replicas that catch up, racks that a pool leaves as they are or that brokers name themselves, and
limits that are not enforced.
"""

_NEXT_PLAN = frozenset(
    (
        ProblemReason.AWAITS_ROOM,
        ProblemReason.AWAITS_MOVES,
        ProblemReason.AWAITS_PARTITIONS,
        ProblemReason.AWAITS_REPLICAS,
    )
)


def reason_named(name: str | None) -> ProblemReason:
    """The reason of that name; unknown if what tells it is of an older or of a newer release."""
    return ProblemReason(name) if name in set(ProblemReason) else ProblemReason.UNTOLD


def is_left_undone(reason: ProblemReason) -> bool:
    """Whether a cluster with such a problem is not as declared."""
    return reason not in _AS_DECLARED


def awaits_next_plan(reason: ProblemReason) -> bool:
    """Whether the problem ends by itself once this plan is carried out and another is made."""
    return reason in _NEXT_PLAN


class Facts(Protocol):
    """What one problem is about; immutable with all its parts, as problems are kept in sets."""

    @property
    def reason(self) -> ProblemReason:
        """The kind of the problem."""

    def __str__(self) -> str:
        """Return the sentence that people read."""


@frozen
class Recorded:
    """A problem that was read from a document."""

    message: str
    reason: ProblemReason = ProblemReason.UNTOLD

    def __str__(self) -> str:
        return self.message
