"""What a pass did, as values: a kind and its numbers.

A wait for approval also has actions: those that would be done. `wording` makes the sentence.
"""

from enum import StrEnum
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.topology import TopicPartition


class ActionKind(StrEnum):
    """What was done, or found finished; each says which fields of its `Action` are set."""

    # Steps of a plan.
    CREATE_TOPIC = "CreateTopic"
    """Create `topic` with `count` partitions in `pool`."""
    ADD_PARTITIONS = "AddPartitions"
    """Add `count` partitions to `topic`."""
    SET_CONFIG = "SetConfig"
    """Set and unset config of `topic`."""
    DELETE_TOPIC = "DeleteTopic"
    """Delete `topic` and its data."""
    ELECT_LEADERS = "ElectLeaders"
    """Have preferred replicas of `count` partitions elected as leaders."""
    MOVE_LOG_DIRS = "MoveLogDirs"
    """Move `count` replicas between log directories; `partitions` of `broker` once asked for."""

    LOG_DIR_MOVES_CANCELLED = "LogDirMovesCancelled"
    """`broker` was asked to leave replicas of `partitions` in the directory that they are in."""
    LOG_DIR_MOVES_STALLED = "LogDirMovesStalled"
    """The same, as it has ceased to copy them."""

    PLAN_APPROVED = "PlanApproved"
    """The plan `hash`, or parts of one, is carried out; `by` says who approved it."""
    TOPICS_ADOPTED = "TopicsAdopted"
    """Topics of `namespace` took over `count` topics that existed, as approved under `hash`."""

    # A run.
    RUN_BEGUN = "RunBegun"
    """A run of the plan `hash` was recorded; `by` says who allowed it."""
    RUN_DISCARDED = "RunDiscarded"
    """A run that was not recorded to its end was removed; nothing of it had been done."""
    RUN_TAKEN_UP = "RunTakenUp"
    """The run of plan `hash` lost its record; one was made of its `count` moves in flight."""
    STAGE_REQUESTED = "StageRequested"
    """Stage `stage` was requested, `count` partitions; `attempt`: which time it is, from two on."""
    STAGE_FINISHED = "StageFinished"
    """`count` of `of` partitions of stage `stage` have arrived, and nothing is in flight."""
    MOVES_CANCELLED = "MovesCancelled"
    """`count` moves of stage `stage` were cancelled: they return to where they were."""
    CANCEL_REQUESTED = "CancelRequested"
    """The brokers were asked to cancel `count` moves of stage `stage`."""
    CANCELLED_BY_OTHERS = "CancelledByOthers"
    """Somebody else cancelled moves of `partitions`, of stage `stage`: the run is stopped."""
    LOG_DIR_MOVES_GIVEN_UP = "LogDirMovesGivenUp"
    """The run gave up `count` moves of `partitions` between log directories, asked for in vain."""
    ORDER_REQUESTED = "OrderRequested"
    """The order of replicas before the run was requested for `count` cancelled moves."""
    ELECTION_REQUESTED = "ElectionRequested"
    """An election of preferred leaders was requested, with `count` partitions due for it."""
    LEADERS_KEPT = "LeadersKept"
    """`count` partitions kept another leader than the preferred."""
    RUN_ENDED = "RunEnded"
    """The run was removed; `ending` is why it wound up."""
    LEFT_ALONE = "LeftAlone"
    """Somebody else moved `partitions`; they are left alone."""
    MOVES_UNSEEN = "MovesUnseen"
    """The run ended and could not see what it moved of `topic`: `partitions` may be in flight."""
    MOVES_LEFT_TO_KRAFT = "MovesLeftToKRaft"
    """The run ended while `partitions` moved: a KRaft controller goes on with them."""
    TOPIC_GONE = "TopicGone"
    """The topic of `partitions` is gone, and with it their moves."""

    MOVES_UNLIMITED = "MovesUnlimited"
    """No throttle can limit moves of `partitions`, by `topic`, `broker` or the rate: they stay."""
    CONFIG_UNLOADABLE = "ConfigUnloadable"
    """No broker can load the config of `topic`: moves of `partitions` stay."""
    TOPIC_NODE_TOO_LARGE = "TopicNodeTooLarge"
    """The node of `topic` is too large for any move: `partitions` stay."""

    LEFT_TO_OTHERS = "LeftToOthers"
    """Others moved or deleted `partitions` of a plan that is otherwise done."""

    THROTTLES_TAKEN_OFF = "ThrottlesTakenOff"
    """Throttles that a run had left were taken off `count` topics and brokers."""
    THROTTLES_STAY = "ThrottlesStay"
    """The run left its throttles on `topic` or `broker`: that config we can not read or write."""
    COPIES_UNTHROTTLED = "CopiesUnthrottled"
    """The run ended while `partitions` were copied to `broker`, which goes on without throttle."""
    THROTTLES_LEFT_TO_KRAFT = "ThrottlesLeftToKRaft"
    """The run ended and left its throttles on `count` entities: the cluster migrates to KRaft."""
    THROTTLES_PUT_BACK = "ThrottlesPutBack"
    """Throttles of the run that somebody had removed were set again on `count` entities."""
    TOPIC_TOO_LARGE = "TopicTooLarge"
    """What is to be written of `topic`, `count` bytes, is too large; `of` as in its wait."""
    CONFIG_REFUSED = "ConfigRefused"
    """The config of `topic` was not written, as it is refused."""
    STEP_NOT_ALLOWED = "StepNotAllowed"
    """The step for `topic` was not taken: ZooKeeper does not let us write the topic's node."""
    DELETION_TAKEN_BACK = "DeletionTakenBack"
    """The marker by which `topic` was to be deleted is gone, and the topic is still there."""
    STEP_OUTDATED = "StepOutdated"
    """The step for `topic` was not taken: the topic changed since the plan was made."""

    # A stalled request.
    STALE_REQUEST_WITHDRAWN = "StaleRequestWithdrawn"
    """A request of which nothing could be done any more was withdrawn; it named `partitions`."""
    UNNOTICED_REQUEST_WITHDRAWN = "UnnoticedRequestWithdrawn"
    """A request that the controller did not act on was withdrawn; it named `partitions`."""
    FOREIGN_MOVE_CANCELLED = "ForeignMoveCancelled"
    """Moves of `partitions` to brokers of which nothing is known were cancelled."""
    ORPHANED_MOVES_FINISHED = "OrphanedMovesFinished"
    """Moves of `partitions` that had lost their request were requested again."""
    CONTROLLER_WOKEN = "ControllerWoken"
    """The controller was made to look for requests again."""
    CONTROLLER_FAILOVER = "ControllerFailover"
    """Another controller was elected."""

    UNCLEAN_ELECTION = "UncleanElection"
    """Kafka elected leaders of `partitions` that were not in sync when last seen."""

    # A plan of a Rebalance.
    WITHDRAWN = "Withdrawn"
    """The plan is not wanted any more, and nothing of it runs."""


@frozen
class Action:
    """One thing that a pass did, found finished or would do; the kind says which fields are set."""

    kind: ActionKind
    topic: str = ""
    pool: str = ""
    partitions: tuple[TopicPartition, ...] = ()
    broker: int | None = None
    stage: int = 0
    count: int = 0
    of: int = 0
    hash: str = ""
    ending: Ending | None = None
    by: str = ""
    namespace: str = ""
    attempt: int = 0


class Deletion(NamedTuple):
    """A topic that was deleted, in milliseconds since 1970, and whose it was."""

    at_ms: int
    namespace: str
