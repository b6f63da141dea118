"""What a pass waits for, as sentences: one for each reason."""

from collections.abc import Callable, Mapping

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import RoomNeed, RoomShortage, Wait
from poolkeeper.model.topology import LaterEpochs
from poolkeeper.planning.facts.health import ControllerEpochBehind
from poolkeeper.text import few, listed, more, named, size
from poolkeeper.wording.actions import action_text
from poolkeeper.wording.log_dirs import LOG_DIRS
from poolkeeper.wording.pieces import (
    MIB,
    NAMED_MAX,
    STALE,
    UNNOTICED,
    amount_on_broker,
    are,
    brokers_are,
    counted,
    few_of,
    joined,
    lack,
    mib,
    mode_line,
    were,
)
from poolkeeper.wording.refusals import refusal_text
from poolkeeper.wording.requests import REQUESTS
from poolkeeper.wording.throttles import THROTTLES

_WAITING_NAMED_MAX = 3


def wait_text(wait: Wait) -> str:
    """Return a wait as a sentence."""
    return _WAITS[wait.reason](wait)


def _cause(wait: Wait) -> str:
    return "" if wait.cause is None else wait_text(wait.cause)


def _approval(wait: Wait) -> str:
    if wait.action is not None:
        return f"waits for approval: {action_text(wait.action)}"
    return f"waits for approval of {wait.hash}"


def _adoption(wait: Wait) -> str:
    rest = more(wait.count - len(wait.topics))
    topics = " ".join(filter(None, (", ".join(wait.topics), rest)))
    return (
        f"namespace {wait.name} asks to take over {counted(wait.count, 'existing topic')}"
        f" ({topics}): to let it, add {wait.hash} to spec.approval.plans"
    )


def _hanging(wait: Wait) -> str:
    waiting = few(wait.partitions, _WAITING_NAMED_MAX, grouped=False)
    waiting += " wait" if len(wait.partitions) > 1 else " waits"
    return (
        f"{brokers_are(wait.brokers)} not live; {waiting} for it: start it again, or drain it if it"
        " is gone for good, which cancels what waits for it"
    )


def _sourceless(wait: Wait) -> str:
    alone = "it" if len(wait.brokers) == 1 else "one of them"
    return (
        f"{brokers_are(wait.brokers)} not live, and no other broker holds"
        f" {few(wait.partitions, _WAITING_NAMED_MAX, grouped=False)} in sync: start {alone} again."
        " If that cannot be, what was never copied is lost: to go on from what was copied, set"
        " unclean.leader.election.enable=true on the topic with kafka-configs (up to Kafka 2.0 the"
        " next controller sees it); before Kafka 2.4, to let the move go instead, remove"
        f" {named('broker', wait.brokers)} from every pool"
    )


def _held_last(wait: Wait) -> str:
    """Say who must be started again; nothing where that is not known."""
    if not wait.brokers:
        return ""
    return f": {named('broker', wait.brokers)} held it in sync last, and must be started again"


def _held_up_deletion(wait: Wait) -> str:
    kept = "" if not wait.partitions else f"{few_of(wait.partitions)}: "
    return (
        f"{kept}topic {wait.topic} is being deleted, and {brokers_are(wait.brokers)} not live:"
        f" Kafka ends the deletion once {'it has' if len(wait.brokers) == 1 else 'they have'}"
        f" started; where {'it is' if len(wait.brokers) == 1 else 'they are'} gone for good, an"
        " empty broker of the same id does as well"
    )


def _return_behind(wait: Wait) -> str:
    held = f" (it holds {size(wait.count)}, the leader {size(wait.of)})" if wait.of else ""
    return (
        f"{few_of(wait.partitions)} {'is' if len(wait.partitions) == 1 else 'are'} back once"
        f" {named('broker', wait.brokers)} is in sync again{held}: if it does not get nearer, raise"
        " spec.execution.throttle.rate, and look at that broker's log; restart it if it is stuck"
    )


def _return_not_live(wait: Wait) -> str:
    return (
        f"{few_of(wait.partitions)} {'is' if len(wait.partitions) == 1 else 'are'} back once"
        f" {named('broker', wait.brokers)}, which is not live, is in sync again: start it"
    )


def _needs_failover(wait: Wait) -> str:
    gone = f"{brokers_are(wait.brokers)} gone; " if wait.brokers else ""
    whose = "move" if len(wait.partitions) == 1 else "moves"
    why = wait.detail or "the brokers are not known: spec.brokers"
    return (
        f"{gone}cancelling the {whose} of {few_of(wait.partitions)} takes a controller failover"
        f" ({why}): to allow it, set spec.execution.remedies.allowControllerFailover: true, or run"
        " `poolkeeper rollback --allow-controller-failover`, which ends the run as well"
    )


def _few_in_sync(wait: Wait) -> str:
    return (
        f"moving {few_of(wait.partitions)} to {list(wait.replicas)} would leave {wait.count} of"
        f" {len(wait.replicas)} replicas in sync, {wait.of} are needed"
    )


def _worsened(wait: Wait) -> str:
    return (
        f"moving {few_of(wait.partitions)} from {list(wait.before)} to {list(wait.replicas)} would"
        f" violate the law {wait.law} further"
    )


def _room(wait: Wait) -> str:
    shortage = wait.room or RoomShortage()
    partitions = counted(shortage.more, "more partition")
    more = f"; {partitions} {lack(shortage.more)} space too" if shortage.more > 0 else ""
    ways = ", or ".join(f"free {listed(map(amount_on_broker, way))}" for way in shortage.ways)
    told = "; ".join(_need(need) for need in shortage.needs)
    return f"{told}{more}" + (f". {ways[0].upper()}{ways[1:]}" if ways else "")


def _need(need: RoomNeed) -> str:
    return (
        f"{need.partition} needs {mib(need.needed_bytes)} on broker {need.broker}, which has"
        f" {need.left_bytes // MIB:,} MiB left below its high-water mark"
    )


def _leaders(wait: Wait) -> str:
    numbers = [str(name.partition) for name in wait.partitions]
    listed = ", ".join(numbers[:NAMED_MAX]) + ("…" if len(numbers) > NAMED_MAX else "")
    return f"topic {wait.topic} waits for leaders of partition {listed}"


def _stage(wait: Wait) -> str:
    return f"stage {wait.stage}: {wait.count} of {counted(wait.of, 'partition')} arrived"


def _became(what: str) -> Callable[[Wait], str]:
    return lambda wait: (
        f"{counted(len(wait.partitions), 'partition')} became {what}"
        f" since the run began: {few_of(wait.partitions)}"
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
    hanging = f"; {brokers_are(wait.brokers)} not live" if wait.brokers else ""
    return f"a foreign reassignment moves {few_of(wait.partitions)}{hanging}"


def _lost_run(wait: Wait) -> str:
    hanging = f"; {brokers_are(wait.brokers)} not live" if wait.brokers else ""
    lost = f"in {wait.path} cannot be read" if wait.path else "is lost"
    mended = "once `poolkeeper repair` has mended it, " if wait.path else ""
    return (
        f"the record of run {wait.hash} {lost}, and what it requested goes on:"
        f" {few_of(wait.partitions)}{hanging}; {mended}`poolkeeper apply` or `run` takes it up, and"
        " keeps its throttles until it has ended"
    )


def _orphaned(wait: Wait) -> str:
    remedy = "set spec.execution.remedies.finishOrphanedMoves: true"
    if wait.path:
        remedy = f"declare {wait.path} or spec.brokers and {remedy}"
    return f"{_has_more(wait)}: to finish it, {remedy}"


def _orphaned_awaited(wait: Wait) -> str:
    when = f" once {named('broker', wait.brokers)} is in sync" if wait.brokers else ""
    return f"{_has_more(wait)}: it is finished{when}"


def _has_more(wait: Wait) -> str:
    return (
        f"{few_of(wait.partitions)} {'has' if len(wait.partitions) == 1 else 'have'} more replicas"
        " than the topic: a move lost its request, which Kafka up to 2.3 forgets"
    )


def _remedy(stall: str, verb: str = "withdraw") -> Callable[[Wait], str]:
    to_do = f"to {verb} it, set spec.execution.remedies.removeStaleRequests"
    return lambda wait: f"{stall} ({_its_entries(wait)}{to_do})"


def _its_entries(wait: Wait) -> str:
    return f"it names {few_of(wait.partitions)}; " if wait.partitions else ""


def _told(text: str) -> Callable[[Wait], str]:
    """The wording of a reason that needs no numbers."""
    return lambda wait: text


_UNREACHABLE = (
    "the reassignment request waits for brokers that are not known, and blocks every later one"
)
_R = WaitReason

_WAITS: Mapping[WaitReason, Callable[[Wait], str]] = {
    _R.APPROVAL_REQUIRED: _approval,
    _R.PREDECESSORS_NOT_APPROVED: lambda wait: (
        f"part {wait.name} is approved and comes after {few(wait.names)}: approve that, too"
    ),
    _R.APPROVAL_UNMATCHED: lambda wait: (
        f"the approval of {wait.hash} fits no plan that waits: that plan was carried out, or"
        f" another one took its place; now the cluster {_cause(wait)}"
    ),
    _R.ADOPTION_REQUIRED: _adoption,
    _R.PAUSED: _told("the cluster is paused"),
    _R.PLAN_ONLY: _told("the mode is PlanOnly: nothing is written"),
    _R.STOPPED_BY_PERSON: _told(
        "the run was stopped, or its stage rolled back: to go on, run `poolkeeper apply` (on"
        " Kubernetes `kubectl poolkeeper resume`), or change what is declared"
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
        f"a foreign reassignment request runs for {few_of(wait.partitions)}"
    ),
    _R.FOREIGN_MOVE: _foreign_move,
    **REQUESTS,
    _R.ORPHANED_MOVES: _orphaned,
    _R.RUN_LOST: _lost_run,
    _R.ORPHANED_MOVES_AWAITED: _orphaned_awaited,
    _R.LEFT_ALONE: lambda wait: (
        f"{few_of(wait.partitions)} {were(wait.partitions)} moved by somebody else and"
        f" {are(wait.partitions)} left alone: the next plan looks at it again"
    ),
    **THROTTLES,
    _R.NO_CONTROLLER: _told("no controller is elected"),
    _R.CONTROLLER_EPOCH_BEHIND: lambda wait: str(
        ControllerEpochBehind(LaterEpochs(wait.of, wait.count, wait.partitions[0]))
    ),
    _R.KRAFT_MIGRATION: _told(
        "the cluster is migrating to KRaft: nothing is written to ZooKeeper any more"
    ),
    _R.ISR_OUTSIDE_REPLICAS: lambda wait: (
        f"{brokers_are(wait.brokers)} in sync for {few_of(wait.partitions)} and not among the"
        " replicas there: the topic's node and the partition's state disagree, and the next"
        " controller would forget what is in sync: `poolkeeper repair` writes the list"
    ),
    _R.UNDER_REPLICATED: _became("under-replicated"),
    _R.UNDER_MIN_ISR: _became("below min.insync.replicas"),
    _R.TOPICS_CHANGING: _told("topics change while they are read"),
    _R.UNAVAILABLE: lambda wait: wait.detail,
    _R.STALE_WRITE: lambda wait: wait.detail,
    _R.NODE_DAMAGED: lambda wait: wait.detail,
    _R.FAILED: lambda wait: wait.detail if wait.refusal is None else refusal_text(wait.refusal),
    _R.STAGE_IN_FLIGHT: _stage,
    _R.STAGE_DEADLINE: lambda wait: f"stage {wait.stage} is over its deadline",
    _R.MOVES_RETURNING: lambda wait: (
        f"stage {wait.stage}: {counted(wait.count, 'cancelled move')} not back yet"
    ),
    _R.RETURN_BEHIND: _return_behind,
    _R.RETURN_NOT_LIVE: _return_not_live,
    _R.CANCEL_NEEDS_FAILOVER: _needs_failover,
    _R.ARRIVALS_FIRST: lambda wait: (
        f"{counted(wait.count, 'move')} can still arrive: before Kafka 2.4 no other controller is"
        " elected, which cancels moves, until they have"
    ),
    _R.CANCEL_REFUSED: lambda wait: (
        f"the brokers do not cancel the move of {few_of(wait.partitions)}: {wait.detail}"
    ),
    _R.ORIGIN_NOT_IN_SYNC: lambda wait: (
        f"{few_of(wait.partitions)} cannot return to {list(wait.replicas)}:"
        f" {brokers_are(wait.brokers)} not in sync"
    ),
    _R.REQUEST_IGNORED: lambda wait: (
        f"the controller ignored this request {wait.count} times, and gets it again every 10"
        " minutes: elect another controller, set"
        " spec.execution.remedies.allowControllerFailover, or declare spec.brokers so that it can"
        " be woken"
    ),
    _R.REQUEST_STALE: _remedy(STALE),
    _R.REQUEST_UNNOTICED: _remedy(UNNOTICED),
    _R.REQUEST_UNREACHABLE: _remedy(_UNREACHABLE, "cancel"),
    _R.FOREIGN_CANCEL_NEEDS_BROKERS: lambda wait: (
        f"only the brokers' API cancels the move of {few_of(wait.partitions)}"
        f" ({wait.detail or 'no address of the brokers is declared'}): declare spec.brokers, or"
        " cancel it with Kafka's own tool"
    ),
    _R.FOREIGN_CANCEL_NEEDS_FAILOVER: lambda wait: (
        f"up to Kafka 2.3 the move of {few_of(wait.partitions)} ends with the election of another"
        " controller only: set spec.execution.remedies.allowControllerFailover"
    ),
    _R.CONTROLLER_UNNOTICING: lambda wait: (
        f"the controller may not notice requests ({wait.detail or 'the brokers cannot be asked'}): "
        "to elect another, set spec.execution.remedies.allowControllerFailover"
    ),
    _R.FAILOVER_UNSAFE: lambda wait: f"no controller failover: {_cause(wait)}",
    _R.ELECTION_IN_PROGRESS: _told("a preferred leader election is under way"),
    _R.BROKER_NOT_LIVE: _hanging,
    _R.SOURCES_NOT_LIVE: _sourceless,
    _R.TARGET_NOT_LIVE: lambda wait: (
        f"{few_of(wait.partitions)}: {brokers_are(wait.brokers)} not live"
    ),
    _R.TOPIC_QUEUED_FOR_DELETION: lambda wait: (
        f"{few_of(wait.partitions)}: topic {wait.topic} is being deleted"
    ),
    _R.DELETION_AWAITS_BROKERS: _held_up_deletion,
    _R.PARTITION_STATE_UNKNOWN: lambda wait: (
        f"{few_of(wait.partitions)}: the partition's state is not known"
    ),
    _R.PARTITION_LEADERLESS: lambda wait: (
        f"{few_of(wait.partitions)}: the partition has no leader{_held_last(wait)}"
    ),
    _R.REPLICA_NOT_IN_SYNC: lambda wait: (
        f"{few_of(wait.partitions)}: replica {joined(wait.brokers)} is not in sync yet"
    ),
    _R.NO_LIVE_REPLICA_IN_SYNC: lambda wait: (
        f"{few_of(wait.partitions)}: no in-sync replica is live{_held_last(wait)}"
    ),
    _R.TOO_FEW_IN_SYNC: _few_in_sync,
    _R.TOPIC_NODE_TOO_LARGE: lambda wait: (
        f"{few_of(wait.partitions)}: the znode of topic {wait.topic} is too large for any move"
    ),
    _R.LAW_WORSENED: _worsened,
    _R.NO_ROOM_ON_DISKS: _room,
    _R.COPY_NOT_BEGUN: lambda wait: (
        f"broker {joined(wait.brokers)} is live and has not begun to copy"
        f" {few_of(wait.partitions)}: restart it, as it ignores what the controller tells it"
    ),
    _R.COPY_STANDS_STILL: lambda wait: (
        f"broker {joined(wait.brokers)} is live and copies nothing of {few_of(wait.partitions)}: if"
        " its log tells of another topic id, what it has there is of an earlier topic of this name:"
        " stop that broker, delete the partition's folder there, and start it again"
    ),
    _R.LEADER_UNAWARE: lambda wait: (
        f"broker {joined(wait.brokers)} is live and leads {few_of(wait.partitions)}, and does not"
        " know of the new replicas: restart it if this lasts, as it ignores what the controller"
        " tells it"
    ),
    **LOG_DIRS,
    _R.CONFIG_REFUSED: lambda wait: (
        f"the config of topic {wait.topic} is not written: {wait.detail}"
    ),
    _R.TOPIC_CHANGING: lambda wait: f"topic {wait.topic} changed while it was being read",
    _R.TOPIC_REASSIGNED: lambda wait: (
        f"topic {wait.topic} is being reassigned: its partitions are added afterwards"
    ),
    _R.TOPIC_STILL_DELETING: lambda wait: f"topic {wait.topic} is still being deleted",
    _R.TOPIC_DELETING: lambda wait: f"topic {wait.topic} is being deleted by the brokers",
    _R.LEADERS_MISSING: _leaders,
    _R.BROKERS_NOT_ASKED: _told(
        "the brokers cannot be asked to move replicas between log directories"
    ),
    _R.BROKERS_UNREACHABLE: lambda wait: f"the brokers are not asked: {wait.detail}",
    _R.PLAN_BEING_READ: _told("the plan is being read"),
    _R.REBALANCE_PAUSED: _told("the Rebalance is paused"),
    _R.REBALANCE_RATE_IN_USE: _told("other clusters use the rate of the Rebalance's budget"),
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
        f"topic znodes list no target replicas for {few_of(wait.partitions)}"
    ),
    _R.MOVES_WITHOUT_REQUEST: lambda wait: (
        f"{counted(wait.count, 'move')} in flight without a reassignment request"
    ),
}
