"""What a pass did, as sentences: one for each kind of action."""

from collections.abc import Callable, Mapping

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.wording.pieces import (
    STALE,
    UNNOTICED,
    between_log_dirs,
    counted,
    deletion_taken_back,
    few_of,
    node_too_large,
    topic_too_large,
    were,
)


def action_text(action: Action) -> str:
    """Return an action as a sentence."""
    return _ACTIONS[action.kind](action)


def _between(action: Action) -> str:
    whose = "" if action.broker is None else f" of broker {action.broker}"
    return f"move {between_log_dirs(action.count)}{whose}"


def _entities(action: Action) -> str:
    return "1 topic or broker" if action.count == 1 else f"{action.count} topics and brokers"


def _throttled(action: Action) -> str:
    return f"topic {action.topic}" if action.broker is None else f"broker {action.broker}"


def _created(action: Action) -> str:
    return f"create topic {action.topic} ({counted(action.count, 'partition')} in {action.pool})"


def _finished(action: Action) -> str:
    if not action.of:
        return f"stage {action.stage} finished: its cancelled moves are back"
    of = counted(action.of, "partition")
    return f"stage {action.stage} finished: {action.count} of {of} arrived"


def _withdrew(why: str) -> Callable[[Action], str]:
    def told(action: Action) -> str:
        named = f" (it named {few_of(action.partitions)})" if action.partitions else ""
        return f"withdrew the request: {why}{named}"

    return told


def _requested(action: Action) -> str:
    count = counted(action.count, "partition")
    if not action.attempt:
        return f"stage {action.stage} requested: {count}"
    return (
        f"stage {action.stage} requested again: {count}, as the request before was cancelled,"
        " ignored or lost; `poolkeeper rollback` ends the run"
    )


def _unlimited(action: Action) -> str:
    left = f"left as they are: no throttle can limit the moves of {few_of(action.partitions)}"
    if not action.topic and action.broker is None:
        return f"{left}: the partitions take in more than its rate"
    return (
        f"{left}: the config of {_throttled(action)}, or our record of its throttles, cannot be"
        " read or written"
    )


_A = ActionKind

_ACTIONS: Mapping[ActionKind, Callable[[Action], str]] = {
    _A.CREATE_TOPIC: _created,
    _A.ADD_PARTITIONS: lambda action: (
        f"add {counted(action.count, 'partition')} to topic {action.topic}"
    ),
    _A.SET_CONFIG: lambda action: f"set config of topic {action.topic}",
    _A.DELETE_TOPIC: lambda action: f"delete topic {action.topic} and its data",
    _A.ELECT_LEADERS: lambda action: (
        f"elect preferred leaders of {counted(action.count, 'partition')}"
    ),
    _A.MOVE_LOG_DIRS: _between,
    _A.LOG_DIR_MOVES_CANCELLED: lambda action: (
        f"asked broker {action.broker} to cancel {between_log_dirs(action.count)}"
    ),
    _A.LOG_DIR_MOVES_STALLED: lambda action: (
        f"broker {action.broker} has ceased to copy {few_of(action.partitions)} to another log"
        " directory: it was asked to cancel that, and its log tells why"
    ),
    _A.PLAN_APPROVED: lambda action: f"{action.hash} is carried out: {action.by}",
    _A.TOPICS_ADOPTED: lambda action: (
        f"namespace {action.namespace} took over {counted(action.count, 'topic')}, approved as"
        f" {action.hash}"
    ),
    _A.RUN_BEGUN: lambda action: f"run begun: {action.hash}",
    _A.RUN_DISCARDED: lambda action: "discarded a run that was not recorded to its end",
    _A.RUN_TAKEN_UP: lambda action: (
        f"took up {counted(action.count, 'move')} in flight of run {action.hash}, whose record was"
        " lost"
    ),
    _A.STAGE_REQUESTED: _requested,
    _A.STAGE_FINISHED: _finished,
    _A.MOVES_CANCELLED: lambda action: (
        f"stage {action.stage}: cancelled {counted(action.count, 'move')}"
    ),
    _A.CANCEL_REQUESTED: lambda action: (
        f"stage {action.stage}: asked the brokers to cancel {counted(action.count, 'move')}"
    ),
    _A.CANCELLED_BY_OTHERS: lambda action: (
        f"stage {action.stage}: somebody else cancelled"
        f" {'the move' if len(action.partitions) == 1 else 'moves'} of"
        f" {few_of(action.partitions)}, as `kafka-reassign-partitions --cancel` does: the run is"
        " stopped"
    ),
    _A.LOG_DIR_MOVES_GIVEN_UP: lambda action: (
        f"left alone: {few_of(action.partitions)} {were(action.partitions)} not moved between log"
        " directories: brokers refused it, somebody took it back, or nothing was copied, each time"
        " that it was asked for; the broker's log tells"
    ),
    _A.ORDER_REQUESTED: lambda action: (
        f"requested the former order of replicas of {counted(action.count, 'partition')}"
    ),
    _A.ELECTION_REQUESTED: lambda action: (
        f"preferred leaders requested for {counted(action.count, 'partition')}"
    ),
    _A.LEADERS_KEPT: lambda action: (
        f"{counted(action.count, 'partition')} kept another leader than the preferred"
    ),
    _A.THROTTLES_TAKEN_OFF: lambda action: (
        f"took off the throttles that a run had left on {_entities(action)}"
    ),
    _A.THROTTLES_STAY: lambda action: (
        f"left the throttles on {_throttled(action)}, whose config cannot be read or written: once"
        " it can be, the next `poolkeeper apply` or `run` takes them off"
    ),
    _A.COPIES_UNTHROTTLED: lambda action: (
        f"took the throttles off while {few_of(action.partitions)} {were(action.partitions)} still"
        f" copied to broker {action.broker}: that goes on without a throttle"
    ),
    _A.THROTTLES_LEFT_TO_KRAFT: lambda action: (
        f"left the throttles on {_entities(action)}, as the cluster migrates to KRaft: take them"
        " off with `kafka-configs --alter --delete-config`; `poolkeeper status` names them"
    ),
    _A.THROTTLES_PUT_BACK: lambda action: (
        "set the throttles of the run again, which somebody had removed"
    ),
    _A.RUN_ENDED: lambda action: f"run ended: {action.ending}",
    _A.LEFT_ALONE: lambda action: (
        f"left alone: {few_of(action.partitions)} {were(action.partitions)} moved by somebody else;"
        " `poolkeeper plan` shows what is left to do"
    ),
    _A.MOVES_UNSEEN: lambda action: (
        f"left as they are: topic {action.topic} cannot be read, and {few_of(action.partitions)}"
        " may still be in flight: once it can be read, the next `poolkeeper apply` or `run` plans"
        " what is left"
    ),
    _A.MOVES_UNLIMITED: _unlimited,
    _A.CONFIG_UNLOADABLE: lambda action: (
        f"left as they are: no broker makes replicas of {few_of(action.partitions)} with the config"
        f" of topic {action.topic}; `poolkeeper plan` says why"
    ),
    _A.TOPIC_NODE_TOO_LARGE: lambda action: (
        f"left as they are: {few_of(action.partitions)}, as {node_too_large(action.topic)}"
    ),
    _A.MOVES_LEFT_TO_KRAFT: lambda action: (
        f"left as they are: {few_of(action.partitions)} {were(action.partitions)} being moved, and"
        " the KRaft controller goes on with that: `kafka-reassign-partitions --list` shows it"
    ),
    _A.TOPIC_GONE: lambda action: (
        f"left alone: the topic of {few_of(action.partitions)} is gone or was created again;"
        " `poolkeeper plan` shows what is left to do"
    ),
    _A.LEFT_TO_OTHERS: lambda action: (
        f"left alone, as others moved or deleted them: {few_of(action.partitions)}"
    ),
    _A.STEP_NOT_ALLOWED: lambda action: (
        f"left as it is: what is planned for topic {action.topic} may not be written by our"
        " ZooKeeper identity: mend the ACL of its nodes below /brokers/topics and /config/topics"
    ),
    _A.CONFIG_REFUSED: lambda action: (
        f"left undone: the config of topic {action.topic} is refused; `poolkeeper plan` says why"
    ),
    _A.TOPIC_TOO_LARGE: lambda action: (
        f"left undone: {topic_too_large(action.topic, action.count, action.of)}"
    ),
    _A.DELETION_TAKEN_BACK: lambda action: deletion_taken_back(action.topic),
    _A.STEP_OUTDATED: lambda action: (
        f"left undone: topic {action.topic} changed since the plan was made"
    ),
    _A.STALE_REQUEST_WITHDRAWN: _withdrew(STALE),
    _A.UNNOTICED_REQUEST_WITHDRAWN: _withdrew(UNNOTICED),
    _A.FOREIGN_MOVE_CANCELLED: lambda action: (
        f"cancelled the move of {few_of(action.partitions)} to brokers that are not known"
    ),
    _A.ORPHANED_MOVES_FINISHED: lambda action: (
        f"finished the moves of {few_of(action.partitions)}, which had lost their request"
    ),
    _A.UNCLEAN_ELECTION: lambda action: (
        f"Kafka elected leaders of {few_of(action.partitions)} that were not in sync when last"
        " seen, as unclean elections are allowed: what they lacked is lost"
    ),
    _A.CONTROLLER_WOKEN: lambda action: "made the controller look for requests again",
    _A.CONTROLLER_FAILOVER: lambda action: "elected another controller",
    _A.WITHDRAWN: lambda action: "the plan is withdrawn",
}
