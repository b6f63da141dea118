"""Observes a run as far as a decision about it needs.

A run is observed step by step: what is read next depends on what was read before. So a pass over a
large cluster with a request in flight reads only a few topics. A `RunView` is what is known so far;
a decision that needs more says so (`decisions.MissingInput`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from poolkeeper.brokers.enrich import with_sizes
from poolkeeper.brokers.sizes import BrokerLogs
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, BalanceRecord, Records
from poolkeeper.model.execution.runs import (
    Ending,
    Phase,
    Run,
    RunDocument,
    StopRequest,
    ThrottleConflicts,
    contradiction,
)
from poolkeeper.model.plans import ElectLeaders, Move, Plan
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import Cluster, ToldReplicas, TopicPartition
from poolkeeper.model.versions import records_moves
from poolkeeper.planning.run_state.gates.disks import (
    NOT_LOOKED,
    SeenDisks,
    TargetDisks,
    awaited_brokers,
    leaders_of_still,
    leaders_to_ask,
    live_ms_of,
    still_ms_of,
)
from poolkeeper.planning.run_state.progress.log_dir_copies import (
    CopyProgress,
    CopyState,
    classify_copies,
    copies_of,
)
from poolkeeper.planning.run_state.progress.move_progress import (
    IN_FLIGHT_STATES,
    MoveProgress,
    classify,
)
from poolkeeper.planning.run_state.progress.stalled_copies import after_look
from poolkeeper.planning.run_state.returns import (
    AWAITED,
    ReturnState,
    classify_returns,
    partition_of,
)
from poolkeeper.planning.run_state.throttling.adaptive_rate import RateSignals
from poolkeeper.planning.staging import next_stage
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.observe import cancelled_moves
from poolkeeper.reconcile.observe.observation import balance_of

DISKS_EVERY_MS = 15_000
DISKS_DEADLINE_S = 5.0
COPIES_EVERY_MS = 2_000


@frozen
class RunGuard:
    """The conditions under which a run goes on; checked only between stages.

    `records`: what is remembered, after a look at this cluster. By them `still_applies`: whether
    this run is still wanted; and `gone`: the brokers that count as lost.
    `paused`: the run finishes its stage in flight and starts no other. `rate_known`: whether the
    rate that it may have is known.
    """

    still_applies: Callable[[Run, Plan, Records], bool]
    gone: Callable[[Records], frozenset[int]]
    records: Callable[[Cluster | None], Records]
    paused: bool = False
    rate_known: bool = True


@frozen
class RunView:
    """What is known of a run in this pass; `None` is not known yet, or not needed.

    `progress`: of the request's moves while it is in flight (`in_flight`), otherwise of all moves.
    `returns`: the request's moves by index, as if they were cancelled, while it is in flight.
    `cancelled`: the request's moves that somebody else cancelled.
    `overdue`: since when a controller would have ended each of them, had it known of it.
    `stop`: a person's request to end the run, read while something is in flight. `gone_read`:
    whether `gone`, the brokers that count as gone for good, has been found out. `ending_read`:
    whether `ending` has been read. `stage_computed`: whether `stage`, the next one,
    has been computed, by `records`. `throttles`: how the live throttles differ from the run's,
    before a stage.
    `signals`: how the cluster bears the rate of the throttle.
    `unsettled`: the brokers that say that they have not applied the rate. `balanced`: when balance
    last began; read for a run that was just recorded. `copies`: how far the moves between log
    directories are, while it is their turn.
    """

    reading: ClusterReading | None = None
    progress: tuple[MoveProgress, ...] = ()
    in_flight: bool = False
    returns: Mapping[int, ReturnState] = field(default_factory=dict)
    cancelled: tuple[int, ...] = ()
    overdue: Mapping[int, int] = field(default_factory=dict)
    stop: StopRequest | None = None
    gone_read: bool = False
    ending_read: bool = False
    ending: Ending | None = None
    conflicts: ThrottleConflicts | None = None
    throttle_settled: bool | None = None
    unsettled: tuple[int, ...] = ()
    throttles: ThrottleConflicts | None = None
    signals: RateSignals | None = None
    stage_computed: bool = False
    stage: next_stage.Stage | next_stage.NothingFits | None = None
    cluster_with_sizes: Cluster | None = None
    gone: frozenset[int] = frozenset()
    records: Records = NOTHING_RECORDED
    balanced: BalanceRecord | None = None
    disks: TargetDisks = NOT_LOOKED
    copies: tuple[CopyProgress, ...] = ()

    @property
    def seen(self) -> Cluster | None:
        """The observed cluster, if the view has one."""
        return None if self.reading is None else self.reading.cluster

    @property
    def cluster(self) -> Cluster:
        """The observed cluster; only for a view that has one."""
        assert self.reading is not None, "observed in this phase"
        return self.reading.cluster


def document_of(context: PassContext, run: Run) -> RunDocument | None:
    """Return the run's document, read once per process."""
    known = context.memory.documents.get(run.digest)
    if known is None or contradiction(run, known):
        known = context.access.read_document(run)
        if known is not None:
            context.memory.documents = {run.digest: known}
    return known


def observe_run(context: PassContext, desired: Desired, run: Run, document: RunDocument) -> RunView:
    """Observe what the run's phase needs: nothing, the topics of its request, or everything.

    Who takes a run over looks at all its moves once, so that what it tells counts those before.
    """
    context.memory.stop = None
    if run.phase is not Phase.STORING and not context.memory.all_moves_seen:
        look_at_moves(context, document.plan)
    match run.phase:
        case Phase.STORING:
            return RunView(balanced=balance_of(context.access, run.started_ms))
        case Phase.MOVING:
            return _observe_moves(context, desired, run, document)
        case Phase.COPYING:
            return _observe_copies(context, desired, document)
        case Phase.ELECTING:
            return _observe_leaders(context, desired, document)
        case _:
            return RunView()


def _observe_moves(
    context: PassContext, desired: Desired, run: Run, document: RunDocument
) -> RunView:
    plan, memory = document.plan, context.memory
    named = tuple(sorted({plan.moves[m].topic for m, _ in run.step}))
    if named:
        reading = _with_others(
            context, desired, run, plan, context.access.observe(desired.cluster.name, topics=named)
        )
        memory.note_leaders(reading.cluster)
        progress = classify([plan.moves[m] for m, _ in run.step], reading.cluster)
        returns = classify_returns(run, plan, reading.cluster)
        requested = reading.cluster.reassignment is not None
        moving = any(p.state in IN_FLIGHT_STATES for p in progress)
        if requested or moving or any(returns[m] in AWAITED for m in run.returning):
            memory.disks = _look_at_disks(context, run, plan, reading.cluster)
            for (m, _), p in zip(run.step, progress, strict=True):
                memory.note_progress(plan, m, p, reading.cluster)
            memory.moves_in_flight = len(run.step) - arrived_of(run, progress)
            memory.overdue = _overdue(context, run, plan, reading.cluster)
            memory.stop = context.access.read_stop()
            cancelled_moves.note_begun(context.memory, run, plan, reading.cluster)
            view = RunView(reading, progress, in_flight=True, returns=returns, stop=memory.stop)
            return replace(
                view,
                cancelled=cancelled_moves.cancelled_by_others(context.memory, run, returns),
                disks=memory.disks.disks,
                overdue=memory.overdue,
            )
    lock = desired.cluster.execution.restart_lock
    reading = context.access.observe(desired.cluster.name, restart_lock=lock)
    memory.update_last_observation(reading.cluster)
    memory.moves_in_flight = 0
    progress = classify(plan.moves, reading.cluster)
    memory.note_all_moves(plan, progress, reading.cluster)
    cancelled_moves.note_begun(context.memory, run, plan, reading.cluster)
    returns = classify_returns(run, plan, reading.cluster)
    cancelled = cancelled_moves.cancelled_by_others(context.memory, run, returns)
    return RunView(reading, progress, cancelled=cancelled)


def look_at_moves(
    context: PassContext, plan: Plan, topics: Iterable[str] = ()
) -> tuple[tuple[MoveProgress, ...], Cluster]:
    """Return where every move is, and the topics of the moves, with `topics` beside them.

    How far the moves are is noted in the memory.
    """
    names = {move.topic for move in plan.moves} | set(topics)
    live = context.access.observe("", topics=names, want_configs=False).cluster
    progress = classify(plan.moves, live)
    context.memory.note_all_moves(plan, progress, live)
    return progress, live


def _observe_copies(context: PassContext, desired: Desired, document: RunDocument) -> RunView:
    """Observe how far the moves between log directories are.

    While some are still to begin the whole cluster is read, as it is between two stages.
    """
    plan, memory = document.plan, context.memory
    lock = desired.cluster.execution.restart_lock
    names = None if memory.copies.pending else {step.topic for step in copies_of(plan)}
    reading = context.access.observe(desired.cluster.name, topics=names, restart_lock=lock)
    if names is None:
        memory.update_last_observation(reading.cluster)
    cluster = look_at_copies(context, plan, reading.cluster)
    memory.stop = context.access.read_stop()
    copies = memory.copies.progress
    return RunView(replace(reading, cluster=cluster), copies=copies, stop=memory.stop)


def look_at_copies(context: PassContext, plan: Plan, cluster: Cluster) -> Cluster:
    """Return the cluster with the log directories of the brokers that move replicas between them.

    How far those moves are is noted in the memory.
    """
    steps, known, now_ms = copies_of(plan), context.memory.copies, context.now_ms()
    if context.brokers is not None and now_ms - known.asked_ms >= COPIES_EVERY_MS:
        asked = {step.broker for step in steps} & cluster.brokers.keys()
        known.sizes, known.asked_ms = context.brokers.sizes(asked, DISKS_DEADLINE_S), now_ms
    cluster = with_sizes(cluster, known.sizes)
    copies = classify_copies(steps, cluster, known.sizes.future_bytes)
    context.memory.note_copies(copies)
    known.looks = after_look(known.looks, steps, copies, known.sizes.future_bytes, known.asked_ms)
    states = {each.state for each in copies}
    known.pending = CopyState.PENDING in states
    if CopyState.UNKNOWN not in states:
        known.silent_since_ms = None
    elif known.silent_since_ms is None:
        known.silent_since_ms = now_ms
    return cluster


def _with_others(
    context: PassContext, desired: Desired, run: Run, plan: Plan, reading: ClusterReading
) -> ClusterReading:
    """Return the reading, with the topics that others added to the request.

    While moves of the request are cancelled on 2.3 and earlier, also with all topics of the plan:
    what goes on there without a request would be forgotten by the next controller.
    """
    named = {plan.moves[m].topic for m, _ in run.step}
    added = {entry.topic for entry in reading.cluster.reassignment or ()}
    if run.returning and records_moves(reading.cluster.kafka_version) is not True:
        added |= {move.topic for move in plan.moves}
    if added <= named:
        return reading
    return context.access.observe(desired.cluster.name, topics=tuple(sorted(named | added)))


def _overdue(context: PassContext, run: Run, plan: Plan, cluster: Cluster) -> Mapping[int, int]:
    """Return since when each move of the request has its target in sync, beside other replicas."""
    before, now_ms = context.memory.overdue, context.now_ms()
    found = [m for m, index in run.step if _would_have_ended(plan.moves[m], index, cluster)]
    return {m: before.get(m, now_ms) for m in found}


def _would_have_ended(move: Move, index: int, cluster: Cluster) -> bool:
    partition, target = partition_of(move, cluster), move.path[index]
    if partition is None or partition.moving or partition.replicas == target:
        return False
    in_sync = set(partition.isr or ()) & set(cluster.brokers)
    return set(target) <= set(partition.replicas) & in_sync


def _look_at_disks(context: PassContext, run: Run, plan: Plan, cluster: Cluster) -> SeenDisks:
    """Ask the brokers that the stage waits for, for their log directories, now and then.

    Also those that its cancelled moves return to, the leaders of these, and those of copies that do
    not grow.
    """
    seen, now_ms = context.memory.disks, context.now_ms()
    if context.brokers is None or now_ms - seen.at_ms < DISKS_EVERY_MS:
        return seen
    steps = [(plan.moves[m], index) for m, index in run.step]
    targets = awaited_brokers(steps, cluster) | leaders_of_still(seen.disks, cluster)
    for m, index in run.step:
        partition = partition_of(plan.moves[m], cluster)
        if m in run.returning and partition is not None and partition.leader is not None:
            targets |= {*plan.moves[m].path[index - 1], partition.leader}
    logs = context.brokers.sizes(targets & cluster.brokers.keys(), DISKS_DEADLINE_S).logs
    leaders = leaders_to_ask(steps, cluster, now_ms - run.requested_ms)
    told = context.brokers.told_replicas(leaders, DISKS_DEADLINE_S) if leaders else {}
    found = target_disks(run, plan, logs, now_ms, told)
    still_ms, live_ms = still_ms_of(seen, found.copied, now_ms), live_ms_of(seen, logs, now_ms)
    return SeenDisks(now_ms, replace(found, still_ms=still_ms, live_ms=live_ms))


def target_disks(
    run: Run,
    plan: Plan,
    logs: Mapping[int, BrokerLogs],
    now_ms: int,
    told: ToldReplicas | None = None,
) -> TargetDisks:
    """Return what brokers say of the directories to which the stage in flight copies.

    `told`: what its leaders know of the replicas.
    """
    names = {TopicPartition(plan.moves[m].topic, plan.moves[m].partition) for m, _ in run.step}
    return TargetDisks(
        {broker: each.log_dirs for broker, each in logs.items()},
        {broker: each.offline for broker, each in logs.items() if each.offline},
        {
            (name, broker): each.current[name].size_bytes
            for broker, each in logs.items()
            for name in names & each.current.keys()
        },
        now_ms - run.requested_ms,
        told or {},
    )


def _observe_leaders(context: PassContext, desired: Desired, document: RunDocument) -> RunView:
    plan = document.plan
    names = sorted({topic for topic, _ in led_partitions(plan)})
    reading = context.access.observe(desired.cluster.name, topics=names)
    context.memory.note_electing(electing=reading.cluster.electing, now_ms=context.now_ms())
    progress = classify(plan.moves, reading.cluster)
    context.memory.note_all_moves(plan, progress, reading.cluster)
    return RunView(reading, progress)


def led_partitions(plan: Plan) -> list[tuple[str, int]]:
    """Return the partitions whose preferred leaders are elected at the end of the run."""
    found = [(move.topic, move.partition) for move in plan.moves]
    for step in plan.steps:
        if isinstance(step, ElectLeaders):
            found.extend(step.partitions)
    return found


def arrived_of(run: Run, progress: Sequence[MoveProgress]) -> int:
    """Return how many of the request's moves have arrived; `progress` is that of the request."""
    return sum(p.at >= index for (_, index), p in zip(run.step, progress, strict=True))


def find_ending(
    context: PassContext, run: Run, plan: Plan, guard: RunGuard, seen: Cluster | None
) -> Ending | None:
    """Return why the run ends early: a person stopped it, or it is no longer wanted."""
    stop = context.access.read_stop()
    if stop is not None:
        return stop.ending
    return None if guard.still_applies(run, plan, guard.records(seen)) else Ending.REPLACED
