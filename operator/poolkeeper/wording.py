"""The messages for people, made from waits, actions and refusals; no other module words them.

Commands, statuses, logs and reports call this module. No module that decides may import it, because
a message can be reworded at any time. Decisions are made on reasons and kinds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from poolkeeper.errors import PoolkeeperError, Refused
from poolkeeper.model.actions import Action, ActionKind
from poolkeeper.model.outcomes import Why
from poolkeeper.model.refusals import Drift, DriftReason, Fact, HopelessMove, Refusal, refusal_of
from poolkeeper.model.runs import RateReason
from poolkeeper.model.waits import Consequence, RoomNeed, RoomShortage, Wait, WaitReason
from poolkeeper.text import count, cut, few, listed, named, size

NAMED_MAX = 5
_WAITING_NAMED_MAX = 3
_MIB = 1024**2


def sentence(value: Why) -> str:
    """Return a wait, an action or a refusal as a sentence."""
    match value:
        case Wait():
            return _WAITS[value.reason](value)
        case Action():
            return _ACTIONS[value.kind](value)
        case Refusal():
            return _refusal(value)


def sentences(values: Iterable[Why]) -> tuple[str, ...]:
    """Return values as sentences, in their order."""
    return tuple(map(sentence, values))


def error_text(error: PoolkeeperError) -> str:
    """Return the message of an error, with the values that it carries."""
    return _refusal(refusal_of(error)) if isinstance(error, Refused) else str(error)


def rate_text(reason: RateReason | None) -> str:
    """Return why an adaptive throttle has its rate, nothing if it does not tell."""
    return "" if reason is None else _RATES[reason]


def drift_text(drift: Drift) -> str:
    """Return one difference between the live cluster and a plan's as a sentence."""
    return _DRIFTS[drift.reason](drift)


def mode_line(cluster: str) -> str:
    """Return the command that lets a cluster be written to."""
    patch = '{"spec":{"mode":"Apply"}}'
    return f"kubectl patch kafkacluster {cluster} --type=merge -p '{patch}'"


def _refusal(refusal: Refusal) -> str:
    if not refusal.facts:
        return refusal.detail
    facts = cut(map(_fact, refusal.facts), NAMED_MAX, grouped=False)
    return f"{refusal.detail}: {'; '.join(facts)}"


def _fact(fact: Fact) -> str:
    match fact:
        case Drift():
            return drift_text(fact)
        case HopelessMove():
            return (
                f"{fact.partition} receives {fact.in_bytes_per_s / _MIB:.1f} MiB/s, "
                f"the throttle allows {fact.throttle_bytes_per_s / _MIB:.1f} MiB/s"
            )


_RATES: Mapping[RateReason, str] = {
    RateReason.OUT_OF_SYNC: "halved: partitions lost in-sync replicas",
    RateReason.FALLING_BEHIND: "halved: replicas fall further behind their leaders",
    RateReason.INGEST: "raised to what the moving partitions receive",
    RateReason.KEEPING_UP: "raised: all replicas keep up",
    RateReason.NOT_LIMITING: "left: the copies use less than half of it",
    RateReason.HIGHEST: "left: it is as high as it may get",
}

# Waits


def _approval(wait: Wait) -> str:
    if wait.action is not None:
        return f"waits for approval: {sentence(wait.action)}"
    return f"waits for approval of {wait.hash}"


def _conflict(wait: Wait) -> str:
    owners = [f"topic {name}" for name in wait.topics] + [f"broker {b}" for b in wait.brokers]
    named = ", ".join(owners[:NAMED_MAX])
    return f"somebody else set throttles on {named} since the run began: remove them"


def _left_throttles(wait: Wait) -> str:
    return (
        f"a run that is gone left throttles on {_throttled(wait)}: they slow replication until"
        " `poolkeeper apply` or `run` takes them off, which waits until nothing is being reassigned"
    )


def _unaccounted_throttles(wait: Wait) -> str:
    return (
        f"no run accounts for the throttles on {_throttled(wait)}: if nobody needs them, remove"
        " them with kafka-configs or `poolkeeper repair --remove-unaccounted-throttles`"
    )


def _throttled(wait: Wait) -> str:
    kinds = (("topic", wait.topics), ("broker", wait.brokers))
    return " and ".join(
        f"{noun if len(names) == 1 else f'{noun}s'} {few(names, NAMED_MAX, grouped=False)}"
        for noun, names in kinds
        if names
    )


def _settling(wait: Wait) -> str:
    if wait.brokers:
        return f"the throttle rate is not in force yet on broker {_joined(wait.brokers)}"
    return (
        "the brokers are applying the throttle: they are asked for their rates; lists of topics"
        " cannot be asked for, and are given a few seconds"
    )


def _hanging(wait: Wait) -> str:
    waiting = few(wait.partitions, _WAITING_NAMED_MAX, grouped=False)
    waiting += " wait" if len(wait.partitions) > 1 else " waits"
    return (
        f"{_brokers(wait.brokers)} not live; {waiting} for it: start it again, or drain it if it is"
        " gone for good, which cancels what waits for it"
    )


def _needs_failover(wait: Wait) -> str:
    gone = f"{_brokers(wait.brokers)} gone; " if wait.brokers else ""
    whose = "move" if len(wait.partitions) == 1 else "moves"
    why = wait.detail or "the brokers are not known: spec.brokers"
    return (
        f"{gone}cancelling the {whose} of {_named(wait.partitions)} takes a controller failover"
        f" ({why}): to allow it, set spec.execution.remedies.allowControllerFailover: true, or run"
        " `poolkeeper rollback --allow-controller-failover`, which ends the run as well"
    )


def _few_in_sync(wait: Wait) -> str:
    return (
        f"moving {_partition(wait)} to {list(wait.replicas)} would leave {wait.count} of"
        f" {len(wait.replicas)} replicas in sync, {wait.of} are needed"
    )


def _worsened(wait: Wait) -> str:
    return (
        f"moving {_partition(wait)} from {list(wait.before)} to {list(wait.replicas)} would"
        f" violate the law {wait.law} further"
    )


def _room(wait: Wait) -> str:
    shortage = wait.room or RoomShortage()
    partitions = _counted(shortage.more, "more partition")
    more = f"; {partitions} {_lack(shortage.more)} space too" if shortage.more > 0 else ""
    ways = ", or ".join(f"free {listed(map(_amount, way))}" for way in shortage.ways)
    told = "; ".join(_need(need) for need in shortage.needs)
    return f"{told}{more}" + (f". {ways[0].upper()}{ways[1:]}" if ways else "")


def _need(need: RoomNeed) -> str:
    return (
        f"{need.partition} needs {_mib(need.needed_bytes)} on broker {need.broker}, which has"
        f" {need.left_bytes // _MIB:,} MiB left below its high-water mark"
    )


def _leaders(wait: Wait) -> str:
    numbers = [str(name.partition) for name in wait.partitions]
    listed = ", ".join(numbers[:NAMED_MAX]) + ("…" if len(numbers) > NAMED_MAX else "")
    return f"topic {wait.topic} waits for leaders of partition {listed}"


def _stage(wait: Wait) -> str:
    return f"stage {wait.stage}: {wait.count} of {_counted(wait.of, 'partition')} arrived"


def _became(what: str) -> Callable[[Wait], str]:
    return lambda wait: (
        f"{_counted(len(wait.partitions), 'partition')} became {what}"
        f" since the run began: {_named(wait.partitions)}"
    )


def _log_dir_failed(wait: Wait) -> str:
    held = f"; {_named(wait.partitions)} cannot be copied there" if wait.partitions else ""
    return (
        f"log directory {wait.path} of broker {_joined(wait.brokers)} has failed"
        f" ({wait.detail}){held}: replace the disk and restart the broker, or drain it"
    )


def _run_recorded(wait: Wait) -> str:
    throttle = (
        f"; what is in flight goes on, and its throttle of {size(wait.count)}/s a broker stays"
        " until the run is resumed or ended"
        if wait.count
        else ""
    )
    return f"a run is recorded, and {_cause(wait)}{throttle}"


def _foreign_move(wait: Wait) -> str:
    hanging = f"; {_brokers(wait.brokers)} not live" if wait.brokers else ""
    return f"a foreign reassignment moves {_named(wait.partitions)}{hanging}"


def _requested(what: Callable[[Wait], str]) -> Callable[[Wait], str]:
    """The wording of a request that nobody works on: what it is, and what comes of it."""

    def told(wait: Wait) -> str:
        if wait.consequence is None:
            return what(wait)
        return f"{what(wait)}: {_CONSEQUENCES[wait.consequence]}"

    return told


def _remedy(stall: str, verb: str = "withdraw") -> Callable[[Wait], str]:
    return lambda wait: f"{stall} (to {verb} it, set spec.execution.remedies.removeStaleRequests)"


def _told(text: str) -> Callable[[Wait], str]:
    """The wording of a reason that needs no numbers."""
    return lambda wait: text


_STALE = (
    "nothing is left to do of the request in /admin/reassign_partitions, "
    "which blocks every later one as long as it stays"
)
_UNNOTICED = (
    "the controller does not act on the reassignment request: it may have stopped noticing new ones"
)
_UNREACHABLE = (
    "the reassignment request waits for brokers that are not known, and blocks every later one"
)
_REQUEST = "the request in /admin/reassign_partitions"
_C = Consequence
_CONSEQUENCES: Mapping[Consequence, str] = {
    _C.BLOCKS: "it stays and blocks every later request",
    _C.DROPPED: "it blocks every later request until the next controller drops it",
    _C.HANGS: "it blocks every later request until that broker starts",
    _C.CARRIED_OUT: "it blocks every later request, and the next controller carries it out",
    _C.CRASH_LOOP: "it poisons the topic, and then no controller can start any more: remove it"
    " before the controller changes",
    _C.DATA_LOSS: "the next controller deletes all data of the partition: remove it before the"
    " controller changes",
    _C.DATA_LOSS_OR_CRASH_LOOP: "the next controller deletes all data of the partition (Kafka 2.3"
    " and earlier), or none can start after it (2.4 and later): remove it before the controller"
    " changes",
    _C.IDS_KEPT: "the next controller writes the list to the topic as it is: remove it before the"
    " controller changes",
}
_R = WaitReason

_WAITS: Mapping[WaitReason, Callable[[Wait], str]] = {
    _R.APPROVAL_REQUIRED: _approval,
    _R.PAUSED: _told("the cluster is paused"),
    _R.PLAN_ONLY: _told("the mode is PlanOnly: nothing is written"),
    _R.STOPPED_BY_PERSON: _told(
        "the run was stopped, or its stage rolled back: to go on, run `poolkeeper apply`, or change"
        " what is declared"
    ),
    _R.RUN_RECORDED: _run_recorded,
    _R.RUN_WITHOUT_EXECUTOR: _told(
        "no executor is active on this run: to resume it, start `poolkeeper apply` or `run`"
    ),
    _R.SETTLING: _told(
        "what is declared changed a moment ago: moves and deletions wait for the settle time"
    ),
    _R.OUTSIDE_WINDOW: lambda wait: (
        f"outside spec.execution.windows: the next window opens {wait.until}"
    ),
    _R.RESTART_LOCKED: lambda wait: (
        f"the restart lock {wait.path} exists: no stage starts while brokers are restarted"
    ),
    _R.EXECUTOR_ACTIVE: lambda wait: f"another executor is active on this cluster: {wait.detail}",
    _R.FOREIGN_REQUEST: lambda wait: (
        f"a foreign reassignment request runs for {_named(wait.partitions)}"
    ),
    _R.FOREIGN_MOVE: _foreign_move,
    _R.UNREADABLE_REQUEST: _requested(
        lambda wait: f"{_REQUEST} cannot be read ({wait.detail or 'it has no entry'})"
    ),
    _R.REQUEST_EMPTY: _requested(lambda wait: f"{_REQUEST} names no partition"),
    _R.REQUEST_KEY_UNKNOWN: _requested(
        lambda wait: f"{_REQUEST} holds {wait.detail}, for which the controller refuses all of it"
    ),
    _R.REQUEST_ENTRY_UNREADABLE: _requested(
        lambda wait: f"{_REQUEST} holds what is no entry ({wait.detail})"
    ),
    _R.REQUEST_IDS_INVALID: _requested(
        lambda wait: (
            f"{_REQUEST} gives {_named(wait.partitions)} what is no broker id ({wait.detail})"
        )
    ),
    _R.REQUEST_WITHOUT_REPLICAS: _requested(
        lambda wait: f"{_REQUEST} gives {_named(wait.partitions)} no replicas at all"
    ),
    _R.REQUEST_IDS_TWICE: _requested(
        lambda wait: f"{_REQUEST} names a broker twice for {_named(wait.partitions)}"
    ),
    _R.REQUEST_PARTITION_UNKNOWN: _requested(
        lambda wait: (
            f"{_REQUEST} names {_named(wait.partitions)}, which"
            f" {'does' if len(wait.partitions) == 1 else 'do'} not exist"
        )
    ),
    _R.REQUEST_BROKER_UNKNOWN: _requested(
        lambda wait: (
            f"{_REQUEST} wants {_named(wait.partitions)} on {named('broker', wait.brokers)}, of"
            " which nothing is known"
        )
    ),
    _R.REQUEST_BROKER_NOT_LIVE: _requested(
        lambda wait: (
            f"{_REQUEST} wants {_named(wait.partitions)} on {named('broker', wait.brokers)}, which"
            f" {_is(wait.brokers)} not live"
        )
    ),
    _R.REQUEST_DONE: _requested(
        lambda wait: f"{_REQUEST} still names {_named(wait.partitions)}, for which it is done"
    ),
    _R.REQUEST_NOT_BEGUN: _requested(
        lambda wait: f"{_REQUEST} names {_named(wait.partitions)}, and the controller has not begun"
    ),
    _R.LEFT_ALONE: lambda wait: f"{_partition(wait)} was moved by somebody else and is left alone",
    _R.THROTTLES_LEFT: _left_throttles,
    _R.THROTTLES_UNACCOUNTED: _unaccounted_throttles,
    _R.THROTTLE_RECORD_DAMAGED: lambda wait: (
        f"{wait.path} tells of throttles and is damaged: {wait.detail}: run `poolkeeper repair`"
    ),
    _R.THROTTLE_CONFLICT: _conflict,
    _R.THROTTLES_YIELDED: lambda wait: (
        f"somebody else set throttles on {_throttled(wait)} during the run: they stay as they are"
    ),
    _R.THROTTLES_NOT_KEPT: lambda wait: (
        f"somebody removed the throttles of the run {wait.count} times: they are not set again, and"
        " what moves is not limited"
    ),
    _R.NO_CONTROLLER: _told("no controller is elected"),
    _R.KRAFT_MIGRATION: _told(
        "the cluster is migrating to KRaft: nothing is written to ZooKeeper any more"
    ),
    _R.UNDER_REPLICATED: _became("under-replicated"),
    _R.UNDER_MIN_ISR: _became("below min.insync.replicas"),
    _R.TOPICS_CHANGING: _told("topics change while they are read"),
    _R.UNAVAILABLE: lambda wait: wait.detail,
    _R.STALE_WRITE: lambda wait: wait.detail,
    _R.NODE_DAMAGED: lambda wait: wait.detail,
    _R.FAILED: lambda wait: wait.detail if wait.refusal is None else _refusal(wait.refusal),
    _R.THROTTLE_SETTLING: _settling,
    _R.STAGE_IN_FLIGHT: _stage,
    _R.STAGE_DEADLINE: lambda wait: f"stage {wait.stage} is over its deadline",
    _R.MOVES_RETURNING: lambda wait: (
        f"stage {wait.stage}: {_counted(wait.count, 'cancelled move')} not back yet"
    ),
    _R.CANCEL_NEEDS_FAILOVER: _needs_failover,
    _R.ARRIVALS_FIRST: lambda wait: (
        f"{_counted(wait.count, 'move')} can still arrive: before Kafka 2.4 no other controller is"
        " elected, which cancels moves, until they have"
    ),
    _R.CANCEL_REFUSED: lambda wait: (
        f"the brokers do not cancel the move of {_partition(wait)}: {wait.detail}"
    ),
    _R.ORIGIN_NOT_IN_SYNC: lambda wait: (
        f"{_partition(wait)} cannot return to {list(wait.replicas)}:"
        f" {_brokers(wait.brokers)} not in sync"
    ),
    _R.REQUEST_IGNORED: lambda wait: (
        f"the controller ignored this request {wait.count} times, and gets it again every 10"
        " minutes: elect another controller, or declare spec.brokers so that it can be woken"
    ),
    _R.REQUEST_STALE: _remedy(_STALE),
    _R.REQUEST_UNNOTICED: _remedy(_UNNOTICED),
    _R.REQUEST_UNREACHABLE: _remedy(_UNREACHABLE, "cancel"),
    _R.FOREIGN_CANCEL_NEEDS_BROKERS: lambda wait: (
        f"only the brokers' API cancels the move of {_named(wait.partitions)}"
        f" ({wait.detail or 'no address of the brokers is declared'}): declare spec.brokers, or"
        " cancel it with Kafka's own tool"
    ),
    _R.FOREIGN_CANCEL_NEEDS_FAILOVER: lambda wait: (
        f"up to Kafka 2.3 the move of {_named(wait.partitions)} ends with the election of another"
        " controller only: set spec.execution.remedies.allowControllerFailover"
    ),
    _R.CONTROLLER_UNNOTICING: lambda wait: (
        f"the controller may not notice requests ({wait.detail or 'the brokers cannot be asked'}): "
        "to elect another, set spec.execution.remedies.allowControllerFailover"
    ),
    _R.FAILOVER_UNSAFE: lambda wait: f"no controller failover: {_cause(wait)}",
    _R.ELECTION_IN_PROGRESS: _told("a preferred leader election is under way"),
    _R.BROKER_NOT_LIVE: _hanging,
    _R.TARGET_NOT_LIVE: lambda wait: f"{_partition(wait)}: {_brokers(wait.brokers)} not live",
    _R.TOPIC_QUEUED_FOR_DELETION: lambda wait: (
        f"{_partition(wait)}: topic {wait.partitions[0].topic} is being deleted"
    ),
    _R.PARTITION_STATE_UNKNOWN: lambda wait: (
        f"{_partition(wait)}: the partition's state is not known"
    ),
    _R.PARTITION_LEADERLESS: lambda wait: f"{_partition(wait)}: the partition has no leader",
    _R.REPLICA_NOT_IN_SYNC: lambda wait: (
        f"{_partition(wait)}: replica {_joined(wait.brokers)} is not in sync yet"
    ),
    _R.NO_LIVE_REPLICA_IN_SYNC: lambda wait: f"{_partition(wait)}: no in-sync replica is live",
    _R.TOO_FEW_IN_SYNC: _few_in_sync,
    _R.TOPIC_NODE_TOO_LARGE: lambda wait: (
        f"{_partition(wait)}: the znode of topic {wait.partitions[0].topic} is too large"
        " for any move"
    ),
    _R.LAW_WORSENED: _worsened,
    _R.NO_ROOM_ON_DISKS: _room,
    _R.LOG_DIR_FAILED: _log_dir_failed,
    _R.LOG_DIRS_FULL: lambda wait: (
        f"the log directories of broker {_joined(wait.brokers)} have {size(wait.count)} free, and"
        f" copies of {_named(wait.partitions)} still need {size(wait.of)}: free space there"
    ),
    _R.TOPIC_CHANGING: lambda wait: f"topic {wait.topic} changed while it was being read",
    _R.TOPIC_REASSIGNED: lambda wait: (
        f"topic {wait.topic} is being reassigned: its partitions are added afterwards"
    ),
    _R.TOPIC_STILL_DELETING: lambda wait: f"topic {wait.topic} is still being deleted",
    _R.TOPIC_DELETING: lambda wait: f"topic {wait.topic} is being deleted by the brokers",
    _R.LEADERS_MISSING: _leaders,
    _R.LOG_DIRS_UNKNOWN: lambda wait: (
        f"broker {_joined(wait.brokers)} does not report its log directories"
    ),
    _R.REPLICA_COPYING: lambda wait: f"{_partition(wait)} is being copied to {wait.path}",
    _R.LOG_DIR_MOVES_IN_FLIGHT: lambda wait: (
        f"{_between_log_dirs(wait.count)} in flight, {wait.of} to go"
    ),
    _R.LOG_DIR_MOVE_REFUSED: lambda wait: (
        f"broker {_joined(wait.brokers)} does not move {_partition(wait)}: {wait.detail}"
    ),
    _R.BROKERS_NOT_ASKED: _told(
        "the brokers cannot be asked to move replicas between log directories"
    ),
    _R.PLAN_BEING_READ: _told("the plan is being read"),
    _R.REBALANCE_PAUSED: _told("the Rebalance is paused"),
    _R.OUTSIDE_REBALANCE_WINDOW: lambda wait: (
        f"outside the windows of the Rebalance; the next opens {wait.until}"
    ),
    _R.OWN_PLAN_RUNNING: _told("the cluster's own plan is under way"),
    _R.OWN_PLAN_URGENT: _told("the cluster's own plan heals or drains: it goes first"),
    _R.RUN_ENDING: lambda wait: f"its run ends: {wait.ending}",
    _R.CLUSTER_MISSING: lambda wait: f"KafkaCluster {wait.name} does not exist",
    _R.DECLARATION_HELD: lambda wait: f"nothing is done: {wait.detail}",
    _R.MODE_NOT_APPLY: lambda wait: f"the mode is {wait.mode}: {mode_line(wait.name)}",
    _R.OTHER_REBALANCE_FIRST: lambda wait: f"Rebalance {wait.name} goes first",
    _R.NOT_OBSERVED_YET: _told("the cluster has not been observed yet"),
    _R.TOPIC_DAMAGED: lambda wait: f"topic {wait.topic} is damaged: {wait.detail}",
    _R.NO_REPLICAS_WANTED: lambda wait: (
        f"topic znodes list no target replicas for {_named(wait.partitions)}"
    ),
    _R.MOVES_WITHOUT_REQUEST: lambda wait: (
        f"{_counted(wait.count, 'move')} in flight without a reassignment request"
    ),
}


# What was done


def _between(action: Action) -> str:
    whose = "" if action.broker is None else f" of broker {action.broker}"
    return f"move {_between_log_dirs(action.count)}{whose}"


def _created(action: Action) -> str:
    return f"create topic {action.topic} ({_counted(action.count, 'partition')} in {action.pool})"


def _finished(action: Action) -> str:
    of = _counted(action.of, "partition")
    return f"stage {action.stage} finished: {action.count} of {of} arrived"


def _withdrew(why: str) -> Callable[[Action], str]:
    def told(action: Action) -> str:
        named = f" (it named {_named(action.partitions)})" if action.partitions else ""
        return f"withdrew the request: {why}{named}"

    return told


_A = ActionKind

_ACTIONS: Mapping[ActionKind, Callable[[Action], str]] = {
    _A.CREATE_TOPIC: _created,
    _A.ADD_PARTITIONS: lambda action: (
        f"add {_counted(action.count, 'partition')} to topic {action.topic}"
    ),
    _A.SET_CONFIG: lambda action: f"set config of topic {action.topic}",
    _A.DELETE_TOPIC: lambda action: f"delete topic {action.topic} and its data",
    _A.ELECT_LEADERS: lambda action: (
        f"elect preferred leaders of {_counted(action.count, 'partition')}"
    ),
    _A.MOVE_LOG_DIRS: _between,
    _A.RUN_BEGUN: lambda action: f"run begun: {action.hash}",
    _A.RUN_DISCARDED: lambda action: "discarded a run that was not recorded to its end",
    _A.STAGE_REQUESTED: lambda action: (
        f"stage {action.stage} requested: {_counted(action.count, 'partition')}"
    ),
    _A.STAGE_FINISHED: _finished,
    _A.MOVES_CANCELLED: lambda action: (
        f"stage {action.stage}: cancelled {_counted(action.count, 'move')}"
    ),
    _A.CANCEL_REQUESTED: lambda action: (
        f"stage {action.stage}: asked the brokers to cancel {_counted(action.count, 'move')}"
    ),
    _A.ORDER_REQUESTED: lambda action: (
        f"requested the former order of replicas of {_counted(action.count, 'partition')}"
    ),
    _A.ELECTION_REQUESTED: lambda action: (
        f"preferred leaders requested for {_counted(action.count, 'partition')}"
    ),
    _A.LEADERS_KEPT: lambda action: (
        f"{_counted(action.count, 'partition')} kept another leader than the preferred"
    ),
    _A.THROTTLES_TAKEN_OFF: lambda action: (
        "took off the throttles that a run had left on "
        + ("1 topic or broker" if action.count == 1 else f"{action.count} topics and brokers")
    ),
    _A.THROTTLES_PUT_BACK: lambda action: (
        "set the throttles of the run again, which somebody had removed"
    ),
    _A.RUN_ENDED: lambda action: f"run ended: {action.ending}",
    _A.LEFT_ALONE: lambda action: (
        f"left alone: {_named(action.partitions)} {_was(action.partitions)} moved by somebody else"
    ),
    _A.TOPIC_GONE: lambda action: (
        f"left alone: {_named(action.partitions)} {_is(action.partitions)} gone"
    ),
    _A.LEFT_TO_OTHERS: lambda action: (
        f"left alone, as others moved or deleted them: {_named(action.partitions)}"
    ),
    _A.STEP_OUTDATED: lambda action: (
        f"left undone: topic {action.topic} changed since the plan was made"
    ),
    _A.STALE_REQUEST_WITHDRAWN: _withdrew(_STALE),
    _A.UNNOTICED_REQUEST_WITHDRAWN: _withdrew(_UNNOTICED),
    _A.FOREIGN_MOVE_CANCELLED: lambda action: (
        f"cancelled the move of {_named(action.partitions)} to brokers that are not known"
    ),
    _A.CONTROLLER_WOKEN: lambda action: "made the controller look for requests again",
    _A.CONTROLLER_FAILOVER: lambda action: "elected another controller",
    _A.WITHDRAWN: lambda action: "the plan is withdrawn",
}


# How a live cluster differs

_D = DriftReason

_DRIFTS: Mapping[DriftReason, Callable[[Drift], str]] = {
    _D.REPLICAS_CHANGED: lambda drift: (
        f"{drift.partition} has replicas {list(drift.live)}, planned from {list(drift.planned)}"
    ),
    _D.MOVED_TOPIC_GONE: lambda drift: f"topic {drift.topic} is gone or was created again",
    _D.TOPIC_GONE: lambda drift: f"topic {drift.topic} is gone",
    _D.TOPIC_EXISTS: lambda drift: f"topic {drift.topic} now exists, with other replicas",
    _D.PARTITIONS_ADDED: lambda drift: f"topic {drift.topic} now has {drift.count} partitions",
    _D.TOPIC_RECREATED: lambda drift: (
        f"topic {drift.topic} was deleted and created again by somebody else"
    ),
    _D.REPLICA_GONE: lambda drift: f"broker {drift.broker} no longer holds {drift.partition}",
    _D.LOG_DIR_CHANGED: lambda drift: (
        f"{drift.partition} is now in {drift.path} of broker {drift.broker}"
    ),
    _D.DECLARED_OTHERWISE: lambda drift: (
        "the declaration of the cluster, its pools or the topics to move has changed"
    ),
}


# Pieces of sentences


def _cause(wait: Wait) -> str:
    return "" if wait.cause is None else sentence(wait.cause)


def _partition(wait: Wait) -> str:
    return _named(wait.partitions)


def _named(names: Sequence[object]) -> str:
    return few(names, NAMED_MAX, grouped=False)


def _was(items: Sequence[object]) -> str:
    return "was" if len(items) == 1 else "were"


def _lack(number: int) -> str:
    return "lacks" if number == 1 else "lack"


def _is(items: Sequence[object]) -> str:
    return "is" if len(items) == 1 else "are"


def _brokers(ids: Sequence[int]) -> str:
    return f"{named('broker', ids)} {_is(ids)}"


def _joined(ids: Iterable[int]) -> str:
    return ", ".join(map(str, ids))


def _between_log_dirs(count: int) -> str:
    return f"{_counted(count, 'replica')} between log directories"


def _amount(amount: tuple[int, int]) -> str:
    broker, size_bytes = amount
    return f"{_mib(size_bytes)} on broker {broker}"


def _mib(size_bytes: int) -> str:
    return f"{-(-size_bytes // _MIB):,} MiB"


def _counted(number: int, noun: str) -> str:
    return count(number, noun, grouped=False)
