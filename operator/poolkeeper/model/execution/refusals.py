"""Why a pass, or a person's plan, was refused, as values."""

from enum import StrEnum

from poolkeeper.errors import RefusalReason, Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Replicas, TopicPartition


class DriftReason(StrEnum):
    """How the live cluster differs from the one that a plan was made for."""

    REPLICAS_CHANGED = "ReplicasChanged"
    """`partition` has `live` replicas; the plan moves it from `planned`."""
    MOVED_TOPIC_GONE = "MovedTopicGone"
    """The `topic` of a move is gone, or was created anew."""
    TOPIC_UNREADABLE = "TopicUnreadable"
    """The `topic` of a move or step cannot be read; `path`: which node, and why."""
    TOPIC_GONE = "TopicGone"
    """The `topic` of a step is gone."""
    TOPIC_EXISTS = "TopicExists"
    """`topic` was to be created, and exists with other replicas."""
    PARTITIONS_ADDED = "PartitionsAdded"
    """`topic` has `count` partitions, not those that the plan adds."""
    TOPIC_RECREATED = "TopicRecreated"
    """`topic` was deleted and created again by somebody else."""
    REPLICA_GONE = "ReplicaGone"
    """`broker` holds `partition` no longer."""
    LOG_DIR_CHANGED = "LogDirChanged"
    """`partition` is in the log directory `path` of `broker`."""
    LOG_DIR_FAILED = "LogDirFailed"
    """The log directory `path` of `broker`, which `partition` is in or goes to, has failed."""
    DECLARED_OTHERWISE = "DeclaredOtherwise"
    """The cluster, its pools or the topics to move are declared otherwise by now."""


@frozen
class Drift:
    """One difference between the live cluster and the one that a plan was made for."""

    reason: DriftReason
    topic: str = ""
    partition: TopicPartition | None = None
    live: Replicas = ()
    planned: Replicas = ()
    broker: int | None = None
    count: int = 0
    path: str = ""


@frozen
class HopelessMove:
    """A move that can never catch up: its partition takes in at least what the throttle allows."""

    partition: TopicPartition
    in_bytes_per_s: float
    throttle_bytes_per_s: int


Fact = Drift | HopelessMove


@frozen
class Refusal:
    """Why something was refused: a reason, the error's own words, and the values behind them."""

    reason: RefusalReason
    detail: str = ""
    facts: tuple[Fact, ...] = ()


def refusal_of(error: Refused) -> Refusal:
    """Return an error as a value."""
    facts = tuple(fact for fact in error.facts if isinstance(fact, Fact))
    return Refusal(error.reason, str(error), facts)
