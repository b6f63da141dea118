"""What a pass waits for, as sentences: one for each reason."""

from collections.abc import Callable, Mapping, Sequence

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import LaterEpochs
from poolkeeper.planning.facts.health import ControllerEpochBehind
from poolkeeper.text import few, more, named, size
from poolkeeper.wording.actions import action_text
from poolkeeper.wording.cancellations import CANCELLATIONS
from poolkeeper.wording.log_dirs import LOG_DIRS
from poolkeeper.wording.partitions import PARTITIONS
from poolkeeper.wording.pieces import (
    NAMED_MAX,
    STALE,
    UNNOTICED,
    are,
    brokers_are,
    counted,
    few_of,
    mode_line,
    topic_too_large,
    were,
)
from poolkeeper.wording.refusals import refusal_text
from poolkeeper.wording.requests import REQUESTS
from poolkeeper.wording.throttles import THROTTLES


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


def _leaders(wait: Wait) -> str:
    numbers = [name.partition for name in wait.partitions]
    return f"topic {wait.topic} waits for leaders of {_partitions(numbers)}"


def _partitions(numbers: Sequence[int]) -> str:
    if len(numbers) <= NAMED_MAX:
        return named("partition", numbers)
    return f"{named('partition', numbers[:NAMED_MAX])}…"


def _stage(wait: Wait) -> str:
    return f"stage {wait.stage}: {wait.count} of {counted(wait.of, 'partition')} arrived"


def _became(what: str) -> Callable[[Wait], str]:
    return lambda wait: (
        f"{counted(len(wait.partitions), 'partition')} became {what}"
        f" since the run began ({few_of(wait.partitions)}): no stage begins before that is over"
        "; to go on with them as they are, run `poolkeeper stop`, then `poolkeeper apply` (on"
        " Kubernetes `kubectl poolkeeper stop` and `resume`)"
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
        " than most of the topic: a move lost its request, which Kafka up to 2.3 forgets"
    )


def _remedy(stall: str, verb: str = "withdraw") -> Callable[[Wait], str]:
    to_do = f"to {verb} it, set spec.execution.remedies.removeStaleRequests"
    return lambda wait: f"{stall} ({_its_entries(wait)}{to_do})"


def _its_entries(wait: Wait) -> str:
    return f"it names {few_of(wait.partitions)}; " if wait.partitions else ""


def _migration(wait: Wait) -> str:
    said = "the cluster is migrating to KRaft: nothing is written to ZooKeeper any more"
    if not wait.brokers:
        return said
    return (
        f"{said}; /migration says so, and {named('broker', wait.brokers)} is the controller: if the"
        " migration was reverted, delete /migration, as Kafka's documentation tells"
    )


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
    _R.KRAFT_MIGRATION: _migration,
    _R.ISR_OUTSIDE_REPLICAS: lambda wait: (
        f"{brokers_are(wait.brokers)} in sync for {few_of(wait.partitions)} and not among the"
        " replicas there: the topic's node and the partition's state disagree, and the next"
        " controller would forget what is in sync: `poolkeeper repair` writes the list"
    ),
    _R.UNDER_REPLICATED: _became("under-replicated"),
    _R.UNDER_MIN_ISR: _became("below min.insync.replicas"),
    _R.TOPICS_CHANGING: _told(
        "topics changed while they were read: the next pass reads them again"
    ),
    _R.UNAVAILABLE: lambda wait: wait.detail,
    _R.STALE_WRITE: lambda wait: wait.detail,
    _R.NODE_DAMAGED: lambda wait: wait.detail,
    _R.FAILED: lambda wait: wait.detail if wait.refusal is None else refusal_text(wait.refusal),
    _R.STAGE_IN_FLIGHT: _stage,
    _R.STAGE_DEADLINE: lambda wait: (
        f"stage {wait.stage} takes longer than spec.execution.stageDeadline: raise"
        " spec.execution.throttle.rate if that is what limits it, or roll back"
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
    _R.CONTROLLER_UNNOTICING: lambda wait: (
        f"the controller may not notice requests ({wait.detail or 'the brokers cannot be asked'}): "
        "to elect another, set spec.execution.remedies.allowControllerFailover"
    ),
    _R.FAILOVER_UNSAFE: lambda wait: f"no controller failover: {_cause(wait)}",
    _R.ELECTION_IN_PROGRESS: _told("a preferred leader election is under way"),
    _R.ELECTION_IGNORED: _told(
        "the controller leaves a request for preferred leader elections undone"
        " (/admin/preferred_replica_election), as Kafka before 2.2 does if it names a partition"
        " that is gone, and elects no others"
    ),
    **CANCELLATIONS,
    **PARTITIONS,
    **LOG_DIRS,
    _R.CONFIG_REFUSED: lambda wait: (
        f"the config of topic {wait.topic} is not written: {wait.detail}"
    ),
    _R.TOPIC_TOO_LARGE: lambda wait: topic_too_large(wait.topic, wait.count, wait.of),
    _R.TOPIC_CHANGING: lambda wait: (
        f"topic {wait.topic} changed while it was read: the next pass reads it again"
    ),
    _R.TOPIC_REASSIGNED: lambda wait: (
        f"topic {wait.topic} is being reassigned: its partitions are added afterwards"
    ),
    _R.TOPIC_STILL_DELETING: lambda wait: f"topic {wait.topic} is still being deleted",
    _R.TOPIC_DELETING: lambda wait: f"topic {wait.topic} is being deleted by the brokers",
    _R.LEADERS_MISSING: _leaders,
    _R.BROKERS_NOT_ASKED: _told(
        "the brokers cannot be asked to move replicas between log directories: declare spec.brokers"
    ),
    _R.BROKERS_UNREACHABLE: lambda wait: f"the brokers are not asked: {wait.detail}",
    _R.PLAN_BEING_READ: _told("the plan is being read"),
    _R.REBALANCE_PAUSED: _told("the Rebalance is paused"),
    _R.REBALANCE_INVALID: _told("the Rebalance is invalid: no further stage starts"),
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
