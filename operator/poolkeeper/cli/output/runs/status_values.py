"""The values that `status` shows: the executor, the run's progress, and what blocks it.

Pure. Everything is read from the live cluster and the journal; the executor's process is not asked.
So a run whose executor is dead is shown as recorded, with the remark that no executor drives it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING

from poolkeeper import wording
from poolkeeper.errors import NodeDamage
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.punctuality import Punctuality
from poolkeeper.model.execution.runs import Phase, RateReason
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, hold_up
from poolkeeper.model.plans import Move, PlanProblem
from poolkeeper.model.readings import NodeNote
from poolkeeper.model.specs import Remedies
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.run_state import deletions
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.progress import log_dir_copies
from poolkeeper.planning.run_state.progress.copied_bytes import Copied, bytes_done
from poolkeeper.planning.run_state.progress.log_dir_copies import (
    Replica,
    classify_copies,
    copies_of,
)
from poolkeeper.planning.run_state.progress.move_progress import (
    GIVEN_UP_STATES,
    MoveProgress,
    MoveState,
    classify,
    waits_for_copies,
    waits_for_nodes,
)
from poolkeeper.planning.run_state.progress.punctuality import RunPace, punctuality
from poolkeeper.planning.run_state.reassignments import lost_runs, orphans, requests, stalls
from poolkeeper.planning.run_state.reassignments.requests import Owned
from poolkeeper.planning.run_state.throttling import left_throttles
from poolkeeper.text import count, few

if TYPE_CHECKING:
    from poolkeeper.zk.journal.journal import JournalView


@frozen
class RunStatus:
    """The run under way.

    `moves` counts moves by state. Bytes are those of replicas that have arrived, and what brokers
    said of those that are copied. `bytes_given_up`: what moves would have copied whose topic is
    gone, or that others moved elsewhere. `rolling_back`: moves in flight are cancelled, or shall
    be. `in_flight` are the partitions of the request.
    """

    plan: str
    phase: str
    stage: int
    started_ms: int
    moves: dict[str, int]
    moves_total: int
    bytes_done: int
    bytes_total: int
    throttle_bytes_per_s: int | None
    stopping: bool
    rolling_back: bool = False
    in_flight: tuple[Move, ...] = ()
    throttle_reason: RateReason | None = None
    copies: dict[str, int] = field(default_factory=dict)
    """Moves between log directories by state."""
    punctuality: Punctuality | None = None
    bytes_given_up: int = 0


@frozen
class Status:
    """All that `status` shows of one cluster."""

    cluster: str
    id: str | None
    kafka_version: str | None
    controller: int | None
    brokers: int
    topics: int
    partitions: int
    under_replicated: tuple[TopicPartition, ...]
    arriving: tuple[TopicPartition, ...]
    """Partitions with a replica being added that is not in sync yet."""
    offline: tuple[TopicPartition, ...]
    holder: str | None
    run: RunStatus | None
    stopped: str | None
    waits: tuple[Wait, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[NodeNote, ...] = ()
    balance_waits_until_ms: int | None = None
    """Balance alone starts no plan before."""
    damage: tuple[NodeDamage, ...] = ()
    """The nodes of ours that cannot be read."""
    throttles_left: tuple[Wait, ...] = ()
    """The throttles that no run accounts for."""
    state_unknown: tuple[TopicPartition, ...] = ()
    """Partitions whose leader or in-sync replicas are not known, as their state node is missing."""
    troubles: tuple[PlanProblem, ...] = ()
    """What is wrong with the cluster, its pools and topics, although it may be as declared."""
    approved: tuple[str, ...] = ()
    """The plans that were approved on the command line and that the executor has not begun."""


@frozen
class StatusContext:
    """What is known beside cluster and journal.

    `balance_waits_until_ms`: balance alone starts no plan before. `remedies`: those that are
    allowed; without manifests none is. `notes`: nodes that could not be read.
    `future_bytes`: how much brokers have copied between their log directories. `copied`: how much
    of the replicas that are copied to them; None where they were not asked, or none answered.
    `factors`: the replication factors that topics declare. `now_ms`: the time of the look.
    """

    balance_waits_until_ms: int | None = None
    remedies: Remedies = field(default_factory=Remedies)
    notes: tuple[NodeNote, ...] = ()
    future_bytes: Mapping[Replica, int] = field(default_factory=dict)
    copied: Copied | None = None
    factors: Mapping[str, int] = field(default_factory=dict)
    now_ms: int | None = None


NOTHING_KNOWN = StatusContext()


def status_of(
    cluster: Cluster, journal: "JournalView", context: StatusContext = NOTHING_KNOWN
) -> Status:
    """Combine cluster and journal into a status."""
    health = gates.health(cluster)
    run, waits = _run(cluster, journal, context)
    stored = journal.stored
    left = left_throttles.find(cluster, journal.throttles, stored.running, stored.saved)
    damaged = {each.path for each in journal.damage}
    return Status(
        cluster=cluster.name,
        id=cluster.id,
        kafka_version=cluster.kafka_version,
        controller=cluster.controller.broker,
        brokers=len(cluster.brokers),
        topics=len(cluster.topics),
        partitions=sum(len(topic.partitions) for topic in cluster.topics.values()),
        under_replicated=tuple(sorted(health.under_replicated)),
        arriving=_arriving(cluster),
        offline=_offline(cluster),
        holder=None if journal.holder is None else str(journal.holder),
        run=run,
        stopped=journal.stopped,
        waits=waits,
        warnings=_warnings(cluster, waits),
        notes=context.notes,
        balance_waits_until_ms=context.balance_waits_until_ms,
        damage=journal.damage,
        throttles_left=tuple(w for w in left_throttles.waits(left) if w.path not in damaged),
        state_unknown=_state_unknown(cluster),
        approved=tuple(each for each in journal.approvals if run is None or each != run.plan),
    )


def _run(
    cluster: Cluster, journal: "JournalView", context: StatusContext
) -> tuple[RunStatus | None, tuple[Wait, ...]]:
    """Return the run under way, if there is one, and what is waited for with it or without one."""
    lost = lost_runs.find(cluster, None if journal.stored.running else journal.request)
    path = "" if journal.run_damage is None else journal.run_damage.path
    waits = [*gates.controller(cluster), *gates.isr_disagreements(cluster)]
    waits.extend(replace(wait, path=path) for wait in lost.waits())
    run, document = journal.run, journal.document
    if run is None:
        return None, (*waits, *_waits_without_run(cluster, journal, context, lost.owned))
    # Without a completely stored plan, the run's moves are unknown.
    moves = () if document is None else document.plan.moves
    progress = classify(moves, cluster)
    waits.extend(_waits_of_request(cluster, journal, context, progress, lost.owned))
    waits.extend(_moves_wait(moves, progress, cluster))
    steps = () if document is None else copies_of(document.plan)
    copies = classify_copies(steps, cluster, context.future_bytes)
    if run.phase is Phase.COPYING:
        waits.extend(log_dir_copies.waits_of_copies(steps, copies))
    running = journal.stored.running
    waits.extend(left_throttles.changed_throttles(journal.throttles, running, cluster.damaged))
    if journal.holder is None and journal.run_damage is None:
        waits.append(Wait(WaitReason.RUN_WITHOUT_EXECUTOR))
    by_move = list(zip(moves, progress, strict=True))
    done = sum(bytes_done(move, p, cluster, context.copied or {}) for move, p in by_move)
    given_up = sum(move.bytes for move, p in by_move if p.state in GIVEN_UP_STATES)
    in_flight = tuple(move for move, p in by_move if p.is_at_work)
    in_doubt = sum(move.bytes for move in in_flight) if context.copied is None else 0
    found = RunStatus(
        plan=run.plan,
        phase=run.phase.value,
        stage=run.stage,
        started_ms=run.started_ms,
        moves=dict(Counter(p.state.value for p in progress)),
        moves_total=len(moves),
        bytes_done=done + sum(each.copied_bytes for each in copies),
        bytes_total=sum(move.bytes for move in moves) + sum(step.bytes for step in steps),
        throttle_bytes_per_s=run.rates[0] if run.rates else None,
        throttle_reason=run.rate_reason,
        stopping=journal.stop is not None,
        rolling_back=bool(run.returning) or (journal.stop is not None and journal.stop.at_once),
        in_flight=in_flight,
        copies=dict(Counter(each.state.value for each in copies)),
        punctuality=_punctuality(
            journal, context, done + given_up, in_doubt, waits, copying=bool(in_flight)
        ),
        bytes_given_up=given_up,
    )
    return found, tuple(waits)


def _waits_without_run(
    cluster: Cluster, journal: "JournalView", context: StatusContext, lost: Owned
) -> Iterator[Wait]:
    """Give what others move; `lost` is what a lost run requested."""
    known = requests.known_brokers(cluster, journal.records.brokers)
    yield from gates.foreign(cluster, lost, known)
    allowed = context.remedies.finish_orphaned_moves
    yield from orphans.find(cluster, context.factors, allowed=allowed).waits()
    stall = stalls.foreign_stall_of(cluster, known)
    yield from stalls.waits_for_remedy(stall, context.remedies)


def _waits_of_request(
    cluster: Cluster,
    journal: "JournalView",
    context: StatusContext,
    progress: Sequence[MoveProgress],
    lost: Owned,
) -> Iterator[Wait]:
    """Give what keeps the run's request, and what others move; `progress`: of the run's moves."""
    run, document = journal.run, journal.document
    known = requests.known_brokers(cluster, journal.records.brokers)
    if run is None or document is None:
        yield from gates.foreign(cluster, lost, known)
        return
    moves, step = document.plan.moves, run.step
    owned = stalls.owned_by(moves, step, run.returning)
    owned = Owned({*owned.partitions, *_run_moves(moves, progress)}, owned.targets)
    yield from gates.foreign(cluster, owned, known)
    if not step or run.returning:
        return
    of_step = [progress[m] for m, _ in step]
    targets = ((moves[m], index) for m, index in step)
    yield from gates.waits_for_dead_brokers(targets, of_step, cluster)
    stall = stalls.stall_of(moves, step, of_step, cluster, known)
    ends = journal.stop is not None
    if not stalls.may_be_withdrawn(moves, run, of_step, cluster, stall, ends=ends):
        yield from stalls.waits_for_remedy(
            stall, context.remedies, stalls.requested_partitions(cluster)
        )


def _punctuality(
    journal: "JournalView",
    context: StatusContext,
    bytes_settled: int,
    bytes_in_doubt: int,
    waits: Sequence[Wait],
    *,
    copying: bool,
) -> Punctuality | None:
    run, document = journal.run, journal.document
    if run is None or document is None or context.now_ms is None or run.phase is not Phase.MOVING:
        return None
    rate = run.rates[0] if run.rates else None
    return punctuality(
        document.plan,
        max(0, context.now_ms - run.started_ms) / 1000,
        bytes_settled,
        bytes_in_doubt,
        now=RunPace(rate, hold_up(waits, copying=copying), copying),
        lost=run.lost,
    )


def _run_moves(
    moves: Sequence[Move], progress: Sequence[MoveProgress]
) -> frozenset[TopicPartition]:
    return frozenset(
        move.name
        for move, p in zip(moves, progress, strict=True)
        if p.is_at_work or p.state is MoveState.ORPHANED
    )


def _moves_wait(
    moves: Sequence[Move], progress: Sequence[MoveProgress], cluster: Cluster
) -> list[Wait]:
    waits = list(waits_for_nodes(moves, progress, cluster))
    waits += gates.blocks(moves, progress, cluster).values()
    waits += waits_for_copies(moves, progress, cluster)
    waits += [
        Wait(WaitReason.LEFT_ALONE, partitions=(move.name,))
        for move, p in zip(moves, progress, strict=True)
        if p.state is MoveState.DIVERGED
    ]
    return waits


def _arriving(cluster: Cluster) -> tuple[TopicPartition, ...]:
    """Return the partitions whose added replicas are not all in sync (2.4 and later say which)."""
    return tuple(
        sorted(
            TopicPartition(topic.name, partition.partition)
            for topic in cluster.topics.values()
            for partition in topic.partitions
            if set(partition.adding) - set(partition.isr or ())
        )
    )


def _offline(cluster: Cluster) -> tuple[TopicPartition, ...]:
    return tuple(
        sorted(
            TopicPartition(topic.name, partition.partition)
            for topic in cluster.topics.values()
            for partition in topic.partitions
            if partition.leader == -1 or gates.lost_in_sync(cluster, partition)
        )
    )


def _state_unknown(cluster: Cluster) -> tuple[TopicPartition, ...]:
    """Return those without a known state; Kafka takes it away where it deletes a topic."""
    return tuple(
        sorted(
            TopicPartition(topic.name, partition.partition)
            for topic in cluster.topics.values()
            if topic.name not in cluster.deleting
            for partition in topic.partitions
            if partition.leader is None or partition.isr is None
        )
    )


def _warnings(cluster: Cluster, waits: Sequence[Wait]) -> tuple[str, ...]:
    """Return what else is odd; a deletion that is held up only where no wait tells of it."""
    unseen = {wait.topic for wait in waits if wait.reason is WaitReason.TOPIC_UNREADABLE}
    damaged = ((n, why) for n, why in sorted(cluster.damaged.items()) if n not in unseen)
    found = [f"topic {name}: {why}" for name, why in damaged]
    if cluster.torn:
        names = few(sorted(cluster.torn))
        found.append(f"{count(len(cluster.torn), 'topic')} changed while being read: {names}")
    if cluster.deleting:
        found.append(f"being deleted: {few(sorted(cluster.deleting))}")
        held_up = WaitReason.DELETION_AWAITS_BROKERS
        told = {wait.topic for wait in waits if wait.reason is held_up}
        others = (wait for wait in deletions.waits_for_brokers(cluster) if wait.topic not in told)
        found += wording.sentences(islice(others, 5))
    return tuple(found)
