"""The kinds of trouble."""

from enum import StrEnum


class Trouble(StrEnum):
    """One kind of trouble, as the histogram names it."""

    # Calls of ours to ZooKeeper (`ours`).
    DIED_BEFORE_WRITE = "the process dies before a write"
    DIED_AFTER_WRITE = "the process dies after a write"
    LOST_BEFORE_WRITE = "the connection is lost before a write"
    LOST_AFTER_WRITE = "the connection is lost after a write"
    EXPIRED_BEFORE_WRITE = "the session ends before a write"
    EXPIRED_AFTER_WRITE = "the session ends after a write"
    WRITE_LATE = "the answer to a write is late"
    READ_LOST = "the connection is lost before a read"
    READ_STALE = "a lagging follower answers"
    ZOOKEEPER_SHORTLY_AWAY = "ZooKeeper is away for less than a session"
    ZOOKEEPER_LONG_AWAY = "ZooKeeper is away for longer than a session"

    # Brokers (`machines`).
    CONTROLLER_CHANGES = "another controller is elected"
    CONTROLLER_DIES = "the controller's broker dies and returns"
    BROKER_DIES = "a broker dies for good"
    BROKER_RETURNS = "a broker dies and returns"
    BROKER_RESTARTS = "a broker is restarted in an orderly way"
    RACK_CHANGED = "a broker dies and returns in another rack"
    BROKER_EMPTIED = "a broker dies and returns with empty disks"
    BROKER_SESSION_ENDS = "a broker's session ends"
    DISK_FILLS = "partitions grow beyond the declared disks"

    # Somebody else's programs (`tools`).
    FOREIGN_REQUEST = "somebody requests a reassignment"
    REQUEST_EXTENDED = "somebody adds an entry to the request"
    REQUEST_DELETED = "somebody deletes the request"
    REQUEST_REPLACED = "somebody replaces the request"
    REQUEST_UNREADABLE = "somebody writes an unreadable request"
    REQUEST_FOR_NOBODY = "somebody requests a move to an unknown broker"
    API_MOVE = "somebody moves a partition by the brokers' API"
    API_CANCEL = "somebody cancels a move by the brokers' API"
    ELECTION = "somebody elects preferred leaders"
    THROTTLE_SET = "somebody sets throttles"
    THROTTLE_REMOVED = "somebody removes all throttles"
    TOPIC_CREATED = "somebody creates a topic"
    TOPIC_DELETED = "somebody deletes a topic"
    TOPIC_MADE_AGAIN = "somebody deletes a topic and makes it again"
    PARTITIONS_ADDED = "somebody adds a partition"
    CONFIG_EDITED = "somebody edits a topic's config"

    # Nodes (`damage`).
    TOPIC_NODE_DAMAGED = "a topic node is damaged for a while"
    CONFIG_NODE_DAMAGED = "a config node is damaged for a while"
    RUN_NODE_REMOVED = "the run node is removed"
    RUN_DOCUMENT_CUT = "the run's document is truncated for a while"
    TOPIC_RECORD_DAMAGED = "the record of a topic is damaged for a while"
    BROKERS_RECORD_DAMAGED = "the record of the brokers is damaged for a while"

    # People (`people`).
    DRAINED = "a person drains a broker"
    UNDRAINED = "a person takes drains back"
    POOL_CHANGED = "a person moves a topic to another pool"
    BROKER_OUT_OF_POOL = "a person takes a broker out of its pool"
    FACTOR_CHANGED = "a person changes a replication factor"
    PARTITIONS_RAISED = "a person raises a number of partitions"
    CONFIG_CHANGED = "a person changes a topic's config"
    TOPIC_ADDED = "a person declares a new topic"
    TOPIC_DOOMED = "a person deletes a Topic"
    PAUSED = "a person pauses the cluster for a while"
    PLAN_ONLY = "a person declares PlanOnly for a while"
    ROLL_BACK_MODE = "a person declares RollBack for a while"
    STOPPED = "a person stops the run"
    ROLLED_BACK = "a person rolls the run back"
    FAILOVER_ALLOWED = "a person allows all remedies"
    THROTTLE_CHANGED = "a person changes the throttle"
