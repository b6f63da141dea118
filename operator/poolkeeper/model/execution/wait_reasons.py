"""Why nothing more is done now: the reasons of waits, and what a stuck request does meanwhile.

Status conditions, metrics and the pass itself decide on the reason. `wording` makes the sentence
from it, for people only. The reasons are stable: code, tests and dashboards may name them.
"""

from enum import StrEnum


class Consequence(StrEnum):
    """What a reassignment request that nobody works on does, as long as it is there."""

    BLOCKS = "Blocks"
    """It blocks every later request, and the controller may not notice the next one."""
    DROPPED = "Dropped"
    """It blocks every later request; the next controller drops it."""
    HANGS = "Hangs"
    """It hangs until the broker starts, and blocks every later request meanwhile."""
    CARRIED_OUT = "CarriedOut"
    """The next controller carries it out, whoever wanted it and however old it is."""
    CRASH_LOOP = "CrashLoop"
    """It poisons the topic: no controller after the next can start (2.4 and later)."""
    DATA_LOSS = "DataLoss"
    """The next controller deletes all replicas of the partition (2.3 and earlier)."""
    DATA_LOSS_OR_CRASH_LOOP = "DataLossOrCrashLoop"
    """One of the two, by release; the release is not known."""
    IDS_KEPT = "IdsKept"
    """The next controller writes the list to the topic with ids in it twice."""


class WaitReason(StrEnum):
    """Why nothing more is done now; each says which fields of its `Wait` are set."""

    # A person must act.
    APPROVAL_REQUIRED = "ApprovalRequired"
    """A person must approve the plan `hash`, or one `action`."""
    PREDECESSORS_NOT_APPROVED = "PredecessorsNotApproved"
    """Part `name` of the plan, `hash`, is approved; parts `names`, which come before, are not."""
    APPROVAL_UNMATCHED = "ApprovalUnmatched"
    """The approval of `hash` is of no plan that waits for one; `cause` is what waits."""
    ADOPTION_REQUIRED = "AdoptionRequired"
    """Namespace `name` asks to take over `count` existing topics, `topics` first, under `hash`."""
    PAUSED = "Paused"
    """The cluster is paused: `spec.mode` is Paused or RollBack."""
    PLAN_ONLY = "PlanOnly"
    """`spec.mode` is PlanOnly: nothing is written."""
    STOPPED_BY_PERSON = "StoppedByPerson"
    """A person or a deadline stopped this plan; a loop does not begin it again by itself."""
    RUN_RECORDED = "RunRecorded"
    """A run is recorded and is not taken further because of `cause`.

    `count`: the bytes per second to which it throttles each broker meanwhile, 0 for none.
    """
    RUN_WITHOUT_EXECUTOR = "RunWithoutExecutor"
    """A run is recorded and no process works on it."""

    # What is declared, and when something may begin.
    SETTLING = "Settling"
    """What is declared changed a moment ago; moves and deletions wait until it has settled."""
    OUTSIDE_WINDOW = "OutsideWindow"
    """No window of `execution.windows` is open; the next opens at `until`."""
    RESTART_LOCKED = "RestartLocked"
    """The znode `path` exists: brokers are being restarted."""

    # Who else works on the cluster.
    EXECUTOR_ACTIVE = "ExecutorActive"
    """Another Poolkeeper, named in `detail`, holds the journal."""
    FOREIGN_REQUEST = "ForeignRequest"
    """A reassignment request of somebody else names `partitions`."""
    FOREIGN_MOVE = "ForeignMove"
    """Somebody else moves `partitions` by the brokers' API; moves to dead `brokers` hang."""
    ORPHANED_MOVES = "OrphanedMoves"
    """Moves of `partitions` lost their request (2.3 and earlier); a remedy would finish them.

    `path`: the field that must be declared first, where the release is not known.
    """
    ORPHANED_MOVES_AWAITED = "OrphanedMovesAwaited"
    """The same, and they are finished soon; `brokers` must be in sync before."""
    RUN_LOST = "RunLost"
    """The record of the run of plan `hash` is lost; what it requested of `partitions` goes on.

    `brokers`: targets that are not live.
    """
    LEFT_ALONE = "LeftAlone"
    """Somebody else moved `partitions`; the run leaves them alone."""
    THROTTLES_LEFT_TO_KRAFT = "ThrottlesLeftToKRaft"
    """Like `ThrottlesLeft`, while the cluster migrates to KRaft."""
    THROTTLES_LEFT = "ThrottlesLeft"
    """A run of ours that is gone left throttles on `topics` and `brokers`.

    `detail`: the first of their configs, and why it cannot be read or written, if it cannot.
    """
    THROTTLES_UNACCOUNTED = "ThrottlesUnaccounted"
    """No run of ours accounts for the throttles of `topics`, `brokers` and the config `path`."""
    THROTTLED_CONFIG_DAMAGED = "ThrottledConfigDamaged"
    """The config in `path`, which may hold throttles, cannot be decoded; `detail` says why."""
    THROTTLE_CONFLICT = "ThrottleConflict"
    """Somebody else set throttles of `topics` and `brokers` since the run began."""

    THROTTLES_UNREADABLE = "ThrottlesUnreadable"
    """Configs of `topics` and `brokers` of a run cannot be read, and so not be throttled.

    `path`: the first of them; `detail`: why.
    """
    THROTTLES_UNWRITABLE = "ThrottlesUnwritable"
    """`path` cannot be read or written as a run must: moves of `topic` or `brokers` stay.

    `detail`: why.
    """
    THROTTLES_YIELDED = "ThrottlesYielded"
    """Somebody else changed throttles of `topics` and `brokers` during the run; those stay."""
    THROTTLES_NOT_KEPT = "ThrottlesNotKept"
    """Somebody removed the run's throttles `count` times; they are not set again."""

    # A reassignment request that nobody works on; `consequence` is what comes of it.
    UNREADABLE_REQUEST = "UnreadableRequest"
    """/admin/reassign_partitions cannot be read as a request; `detail` says why."""
    REQUEST_EMPTY = "RequestEmpty"
    """/admin/reassign_partitions names no partition."""
    REQUEST_KEY_UNKNOWN = "RequestKeyUnknown"
    """The request has the keys `detail`: controllers from 2.4 on refuse all of it."""
    REQUEST_ENTRY_UNREADABLE = "RequestEntryUnreadable"
    """An entry of the request cannot be read; `detail` says why."""
    REQUEST_IDS_INVALID = "RequestIdsInvalid"
    """The replicas requested for `partitions` are no integers; `detail` has the first."""
    REQUEST_WITHOUT_REPLICAS = "RequestWithoutReplicas"
    """The request gives `partitions` no replicas at all."""
    REQUEST_IDS_TWICE = "RequestIdsTwice"
    """The request names a broker twice for each of `partitions`."""
    REQUEST_PARTITION_UNKNOWN = "RequestPartitionUnknown"
    """The request names `partitions`, which do not exist."""
    REQUEST_BROKER_UNKNOWN = "RequestBrokerUnknown"
    """The request wants `partitions` on `brokers`, of which nothing is known."""
    REQUEST_BROKER_NOT_LIVE = "RequestBrokerNotLive"
    """The request wants `partitions` on `brokers`, which are not live."""
    REQUEST_DONE = "RequestDone"
    """What the request wants of `partitions` is done, and the entries stay."""
    REQUEST_NOT_BEGUN = "RequestNotBegun"
    """The controller has not begun what the request wants of `partitions`."""

    # How the cluster is.
    NO_CONTROLLER = "NoController"
    """No controller is elected."""
    CONTROLLER_EPOCH_BEHIND = "ControllerEpochBehind"
    """States of `count` partitions, of `partitions` first, are of later epochs, up to `of`."""
    KRAFT_MIGRATION = "KRaftMigration"
    """The cluster is migrating to KRaft; ZooKeeper is not written to any more."""
    ISR_OUTSIDE_REPLICAS = "IsrOutsideReplicas"
    """`brokers` are in sync for `partitions` and not among the replicas in the topic nodes."""
    UNDER_REPLICATED = "UnderReplicated"
    """`partitions` became under-replicated since the run began."""
    UNDER_MIN_ISR = "UnderMinIsr"
    """`partitions` fell below min.insync.replicas since the run began."""
    TOPICS_CHANGING = "TopicsChanging"
    """Topics changed while they were read; the next pass reads them again."""
    UNAVAILABLE = "Unavailable"
    """A system could not be reached; `detail` is its error."""
    STALE_WRITE = "StaleWrite"
    """A versioned write lost against somebody else's; the next pass observes again."""
    NODE_DAMAGED = "NodeDamaged"
    """The node `path` of ours cannot be read; `detail` says what is wrong and what to do."""
    FAILED = "Failed"
    """An error kept the pass from its work: `detail` is its message, `refusal` its values."""

    # A run under way.
    THROTTLE_SETTLING = "ThrottleSettling"
    """The brokers have not taken up the throttle yet; `brokers` say so themselves."""
    STAGE_IN_FLIGHT = "StageInFlight"
    """`count` of `of` partitions of stage `stage` have arrived."""
    STAGE_DEADLINE = "StageDeadline"
    """Stage `stage` is over `execution.stageDeadline`."""
    MOVES_RETURNING = "MovesReturning"
    """`count` cancelled moves of stage `stage` are not back yet."""
    RETURN_BEHIND = "ReturnBehind"
    """Cancelled moves of `partitions` are back once live `brokers`, which had them, are in sync.

    These hold `count` bytes of them by now, their leaders `of`; 0 where brokers do not tell.
    """
    RETURN_NOT_LIVE = "ReturnNotLive"
    """The same, and `brokers` are not live."""
    CANCEL_NEEDS_FAILOVER = "CancelNeedsFailover"
    """Moves of `partitions` can only be cancelled by a controller failover, which is not allowed.

    `brokers` are the targets that are gone, if that is why; `detail` says why the brokers could not
    cancel it themselves.
    """
    ARRIVALS_FIRST = "ArrivalsFirst"
    """`count` moves arrive before another controller may be elected, which cancels the others."""
    CANCEL_REFUSED = "CancelRefused"
    """A broker refuses to cancel the move of `partitions`; `detail` is its error.

    Without one the controller knows of no such move, which goes on by the topic's node.
    """
    ORIGIN_NOT_IN_SYNC = "OriginNotInSync"
    """`partitions` cannot return to `replicas`: `brokers` of these are not in sync."""
    REQUEST_IGNORED = "RequestIgnored"
    """The controller ignored the same request `count` times."""
    REQUEST_STALE = "RequestStale"
    """Nothing of the request can ever be done, or all is; a remedy would withdraw it."""
    REQUEST_UNREACHABLE = "RequestUnreachable"
    """The request waits for brokers of which nothing is known; a remedy would cancel it."""
    FOREIGN_CANCEL_NEEDS_BROKERS = "ForeignCancelNeedsBrokers"
    """Only the brokers' API cancels the moves of `partitions`; `detail` is why it does not."""
    FOREIGN_CANCEL_NEEDS_FAILOVER = "ForeignCancelNeedsFailover"
    """Up to 2.3 the moves of `partitions` end with the election of another controller only."""
    REQUEST_UNNOTICED = "RequestUnnoticed"
    """The controller does not act on the request; a remedy would withdraw it."""
    CONTROLLER_UNNOTICING = "ControllerUnnoticing"
    """The controller may not notice requests; `detail` says why it could not be asked to look."""
    FAILOVER_UNSAFE = "FailoverUnsafe"
    """Because of `cause`, no other controller is elected."""
    ELECTION_IN_PROGRESS = "ElectionInProgress"
    """A preferred leader election is under way."""
    ELECTION_IGNORED = "ElectionIgnored"
    """The controller does not get the request for preferred leader elections done."""

    # Moves that wait alone; `partitions` is the one to move.
    BROKER_NOT_LIVE = "BrokerNotLive"
    """`brokers` are not live; moves of `partitions` to them are in flight."""
    LEAVING_BROKER_NOT_LIVE = "LeavingBrokerNotLive"
    """The same of brokers that `partitions` leave in a later step."""
    SOURCES_NOT_LIVE = "SourcesNotLive"
    """Only `brokers` held `partitions` in sync, and none is live: their moves are in flight."""
    TOPIC_UNREADABLE = "TopicUnreadable"
    """`topic` cannot be read, so moves of `partitions` are not seen; `detail`: node and cause."""
    TARGET_NOT_LIVE = "TargetNotLive"
    """`brokers` are not live; the move to them cannot begin."""
    TOPIC_QUEUED_FOR_DELETION = "TopicQueuedForDeletion"
    """`topic`, with `partitions` that are to be moved, is being deleted."""
    DELETION_TAKEN_BACK = "DeletionTakenBack"
    """The marker by which `topic` was to be deleted is gone, and the topic is still there."""
    DELETION_AWAITS_BROKERS = "DeletionAwaitsBrokers"
    """`topic` is being deleted, and `brokers`, which are not live, hold that up."""
    PARTITION_STATE_UNKNOWN = "PartitionStateUnknown"
    """The partition has no state node yet."""
    PARTITION_LEADERLESS = "PartitionLeaderless"
    """The partition has no leader; `brokers` held it in sync last."""
    REPLICA_NOT_IN_SYNC = "ReplicaNotInSync"
    """The replicas on `brokers` are not in sync, and the partition is to get another one."""
    NO_LIVE_REPLICA_IN_SYNC = "NoLiveReplicaInSync"
    """No in-sync replica of the partition is live; `brokers` held it in sync last."""
    TOO_FEW_IN_SYNC = "TooFewInSync"
    """Going to `replicas` would keep `count` of them in sync, and `of` are needed."""
    TOPIC_NODE_TOO_LARGE = "TopicNodeTooLarge"
    """The node of `topic` is too large for any move."""
    LAW_WORSENED = "LawWorsened"
    """The step from `before` to `replicas` would make the law `law` worse."""
    NO_ROOM_ON_DISKS = "NoRoomOnDisks"
    """Full disks stand in the way of every step; see `room`."""

    COPY_NOT_BEGUN = "CopyNotBegun"
    """A live broker has had no log of `partitions` since long after it was to copy them."""
    CONFIG_UNLOADABLE = "ConfigUnloadable"
    """No broker can load the config of `topic` (`detail`), and so none makes a replica of it."""
    COPY_STANDS_STILL = "CopyStandsStill"
    """Live `brokers` have logs of `partitions` that do not grow, and copy nothing else.

    `count` bytes, where these are more than the `of` of the leaders.
    """
    LEADER_UNAWARE = "LeaderUnaware"
    """Live `brokers` lead `partitions` and were not told of the replicas to copy them."""
    LOG_DIR_FAILED = "LogDirFailed"
    """The log directory `path` of `brokers` has failed (`detail`); it keeps `partitions` back."""
    TARGET_LOG_LARGER = "TargetLogLarger"
    """`brokers`, no replicas of `partitions` yet, hold `count` bytes of it, its leader `of`."""
    LOG_OF_NEW_PARTITION = "LogOfNewPartition"
    """`brokers` hold `count` bytes of `partitions`, which are still to be created."""
    LOGS_NOT_TOLD = "LogsNotTold"
    """`brokers` have not told yet whether they hold logs of `partitions`; new replicas cut them."""
    LOG_DIRS_FULL = "LogDirsFull"
    """`brokers` have `count` bytes free; copies of `partitions` to them still need `of`."""

    # Steps that Kafka has not finished.
    TOPIC_CHANGING = "TopicChanging"
    """`topic` changed while it was being read."""
    CONFIG_REFUSED = "ConfigRefused"
    """The config to be written to `topic` is refused; `detail` has the words."""
    TOPIC_TOO_LARGE = "TopicTooLarge"
    """What is to be written of `topic` is `count` bytes at once: the ZooKeeper servers do not take
    it, or it is above `of`, the most that we write."""
    TOPIC_REASSIGNED = "TopicReassigned"
    """`topic` is being reassigned; partitions are added after that."""
    TOPIC_STILL_DELETING = "TopicStillDeleting"
    """`topic` is to be created, and its predecessor is still being deleted."""
    TOPIC_DELETING = "TopicDeleting"
    """The brokers delete `topic`."""
    LEADERS_MISSING = "LeadersMissing"
    """New `partitions` have no leader yet."""

    # Replicas between log directories.
    LOG_DIRS_UNKNOWN = "LogDirsUnknown"
    """`brokers` do not tell their log directories."""
    REPLICA_COPYING = "ReplicaCopying"
    """The replica of `partitions` is being copied to the log directory `path`."""
    LOG_DIR_MOVES_IN_FLIGHT = "LogDirMovesInFlight"
    """`count` replicas are on their way between log directories, `of` are still to go."""
    LOG_DIR_MOVES_RETURNING = "LogDirMovesReturning"
    """`count` moves between log directories are being cancelled."""
    LOG_DIRS_BROKER_NOT_LIVE = "LogDirsBrokerNotLive"
    """`brokers` are not live; replicas of `partitions` are to move between their directories."""
    LOG_DIR_MOVE_REFUSED = "LogDirMoveRefused"
    """A broker refuses to move a replica; `detail` is its error."""
    LOG_DIR_MOVE_UNDONE = "LogDirMoveUndone"
    """`brokers` took `count` requests to move `partitions`: each time somebody took them back."""
    LOG_DIR_MOVE_STALLED = "LogDirMoveStalled"
    """`brokers` took `count` requests to move `partitions`: the last copy stood still."""
    BROKERS_NOT_ASKED = "BrokersNotAsked"
    """The brokers' protocol is needed and no address of it is declared."""
    BROKERS_UNREACHABLE = "BrokersUnreachable"
    """The declared brokers cannot be asked; `detail` is their error. Nothing else waits for it."""

    # A plan of a Rebalance.
    PLAN_BEING_READ = "PlanBeingRead"
    """The plan of the Rebalance is being read."""
    REBALANCE_PAUSED = "RebalancePaused"
    """`spec.paused` of the Rebalance is true."""
    REBALANCE_INVALID = "RebalanceInvalid"
    """`spec` of the Rebalance is invalid since it was edited."""
    OUTSIDE_REBALANCE_WINDOW = "OutsideRebalanceWindow"
    """No window of the Rebalance's budget is open; the next opens at `until`."""
    REBALANCE_RATE_IN_USE = "RebalanceRateInUse"
    """The rate of the Rebalance's budget is in use by clusters that began before."""
    OWN_PLAN_RUNNING = "OwnPlanRunning"
    """A run of the cluster's own plan is under way."""
    OWN_PLAN_URGENT = "OwnPlanUrgent"
    """The cluster's own plan heals or drains, and goes first."""
    RUN_ENDING = "RunEnding"
    """The run of the plan winds up; `ending` is why."""

    # Why a cluster cannot have its turn in a Rebalance.
    CLUSTER_MISSING = "ClusterMissing"
    """KafkaCluster `name` does not exist."""
    DECLARATION_HELD = "DeclarationHeld"
    """What is declared of the cluster cannot be followed; `detail` says why."""
    MODE_NOT_APPLY = "ModeNotApply"
    """`spec.mode` of KafkaCluster `name` is `mode`."""
    OTHER_REBALANCE_FIRST = "OtherRebalanceFirst"
    """Rebalance `name` has its turn in the cluster before."""
    NOT_OBSERVED_YET = "NotObservedYet"
    """The cluster has not been looked at yet."""

    # Hazards: only as the cause of `FAILOVER_UNSAFE`.
    TOPIC_DAMAGED = "TopicDamaged"
    """The node of `topic` cannot be decoded; `detail` says why."""
    NO_REPLICAS_WANTED = "NoReplicasWanted"
    """`partitions` are to have no replicas."""
    MOVES_WITHOUT_REQUEST = "MovesWithoutRequest"
    """`count` moves run without their request."""
