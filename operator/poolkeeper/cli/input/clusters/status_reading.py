"""Reads all that `status` shows: the cluster, the journal, and brokers where something moves."""

import time
from collections.abc import Mapping
from dataclasses import replace

from poolkeeper.brokers.enrich import with_sizes
from poolkeeper.brokers.sizes import Sizes
from poolkeeper.cli import timing
from poolkeeper.cli.input.clusters import cluster_reading
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cli.output.runs import status_values
from poolkeeper.errors import BrokersUnreachable
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.readings import NodeNote
from poolkeeper.model.specs import KafkaClusterSpec, Remedies, ZooKeeperSpec
from poolkeeper.model.topology import Cluster, ToldReplicas
from poolkeeper.model.versions import records_moves
from poolkeeper.planning.diagnosis import health
from poolkeeper.planning.proposals import cool_down
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.reassignments import orphans
from poolkeeper.reconcile.observe.gone_brokers import gone_brokers
from poolkeeper.reconcile.observe.observation import balance_of, replication_factors
from poolkeeper.reconcile.recorded_run import (
    cancel_waits,
    disk_waits,
    held_waits,
    leaders_to_ask,
)
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.cluster_access import ZooKeeperView
from poolkeeper.zk.journal import journal
from poolkeeper.zk.journal.journal import JournalView


def read(session: Session, target: Target) -> status_values.Status:
    """Read the status; changes nothing. Raises Unavailable."""
    observed = cluster_reading.read_cluster(session, target, sizes=False)
    recorded = journal.read_status(session)
    context = _context(target, session, observed.notes)
    if _release_matters(observed.cluster, recorded, context.factors):
        observed = replace(observed, cluster=_with_release(observed.cluster, target))
    found = status_values.status_of(observed.cluster, recorded, context)
    sizes, told, unheard = _said_by_brokers(target, found, observed.cluster, recorded)
    hindered = _cancel_waits(target, observed.cluster, recorded, sizes)
    failed = (*_failed_log_dirs(sizes), *_disk_waits(recorded, observed.cluster, sizes, told))
    sized = with_sizes(observed.cluster, sizes)
    held = (
        *_held_waits(target, sized, recorded),
        *_stage_waits(target, session, found, observed.cluster),
    )
    if found.run is not None and sizes.logs:
        cluster = sized if found.run.copies else observed.cluster
        names = [move.name for move in found.run.in_flight]
        copied = {
            (name, broker): logs.current[name].size_bytes
            for broker, logs in sizes.logs.items()
            for name in names
            if name in logs.current
        }
        context = replace(context, future_bytes=sizes.future_bytes, copied=copied)
        found = status_values.status_of(cluster, recorded, context)
    return replace(
        found,
        waits=(*hindered, *failed, *held, *found.waits, *unheard),
        troubles=_troubles(target, observed.cluster, recorded),
    )


def _context(
    target: Target, session: Session, notes: tuple[NodeNote, ...]
) -> status_values.StatusContext:
    desired = target.desired
    return status_values.StatusContext(
        _balance_waits(target, session),
        Remedies() if desired is None else desired.cluster.execution.remedies,
        notes,
        factors={} if desired is None else replication_factors(desired),
        now_ms=time.time_ns() // 1_000_000,
    )


def _release_matters(cluster: Cluster, recorded: JournalView, factors: Mapping[str, int]) -> bool:
    """Whether the release decides that moves have lost their request."""
    if recorded.run is not None or records_moves(cluster.kafka_version) is not None:
        return False
    return bool(orphans.find(cluster, factors).found)


def _with_release(cluster: Cluster, target: Target) -> Cluster:
    """Return the cluster with the release that the brokers tell, if they do."""
    try:
        brokers = cluster_reading.brokers(replace(target, timeout_s=timing.LOG_DIRS_DEADLINE_S))
    except BrokersUnreachable:
        return cluster
    if brokers is None:
        return cluster
    with brokers:
        told = brokers.versions(cluster.brokers, timing.LOG_DIRS_DEADLINE_S).lowest
    return cluster if told is None else replace(cluster, kafka_version=told)


def _balance_waits(target: Target, session: Session) -> int | None:
    """Until when balance alone starts nothing; known only of a cluster with manifests."""
    desired = target.desired
    if desired is None or not cool_down.starts_by_itself(desired):
        return None
    now_ms = time.time_ns() // 1_000_000
    last = balance_of(ZooKeeperView(session), now_ms)
    return cool_down.waits_until_ms(desired.cluster.balancing, last, now_ms)


def _troubles(target: Target, cluster: Cluster, recorded: JournalView) -> tuple[PlanProblem, ...]:
    """What is wrong with the cluster; of brokers and pools only with manifests."""
    desired = target.desired or Desired(KafkaClusterSpec(cluster.name, ZooKeeperSpec("")))
    return health.problems(desired, cluster, recorded.records)


def _cancel_waits(
    target: Target, cluster: Cluster, recorded: JournalView, sizes: Sizes
) -> tuple[Wait, ...]:
    """Why moves in flight are not cancelled; known only of a cluster with manifests."""
    if target.desired is None or recorded.run is None:
        return ()
    now_ms = time.time_ns() // 1_000_000
    gone = gone_brokers(recorded.records, target.desired, now_ms)
    return cancel_waits(recorded.stored, cluster, target.desired, gone, now_ms, sizes.logs)


def _held_waits(target: Target, cluster: Cluster, recorded: JournalView) -> tuple[Wait, ...]:
    """Why moves of a run are held while others go on; known only with manifests."""
    if target.desired is None or recorded.run is None:
        return ()
    now_ms = time.time_ns() // 1_000_000
    gone = gone_brokers(recorded.records, target.desired, now_ms)
    return held_waits(recorded.stored, cluster, target.desired, now_ms, gone=gone)


def _stage_waits(
    target: Target, session: Session, found: status_values.Status, cluster: Cluster
) -> tuple[Wait, ...]:
    """Why no stage of a run or of an approved plan starts now; known only with manifests."""
    desired = target.desired
    if desired is None or not (found.run or found.approved):
        return ()
    lock = desired.cluster.execution.restart_lock
    locked = lock is not None and session.exists(lock)
    now_ms = time.time_ns() // 1_000_000
    return gates.waits_before_stages(desired, replace(cluster, restart_locked=locked), now_ms)


def _said_by_brokers(
    target: Target, found: status_values.Status, cluster: Cluster, recorded: JournalView
) -> tuple[Sizes, ToldReplicas, tuple[Wait, ...]]:
    """Ask the brokers for their log directories, if something moves or is not in sync.

    Of a stage that lasts, the leaders also for what they know of its replicas. Last comes why they
    cannot be asked.
    """
    nothing: tuple[Sizes, ToldReplicas] = (Sizes({}), {})
    if not (found.run or found.arriving or found.under_replicated):
        return *nothing, ()
    try:
        brokers = cluster_reading.brokers(replace(target, timeout_s=timing.LOG_DIRS_DEADLINE_S))
    except BrokersUnreachable as error:
        return *nothing, (Wait(WaitReason.BROKERS_UNREACHABLE, detail=str(error)),)
    if brokers is None:
        return *nothing, ()
    leaders = leaders_to_ask(recorded.stored, cluster, time.time_ns() // 1_000_000)
    with brokers:
        sizes = brokers.sizes(cluster.brokers, timing.LOG_DIRS_DEADLINE_S)
        return sizes, brokers.told_replicas(leaders, timing.LOG_DIRS_DEADLINE_S), ()


def _disk_waits(
    recorded: JournalView, cluster: Cluster, sizes: Sizes, told: ToldReplicas
) -> tuple[Wait, ...]:
    """Name what keeps copies from going on, other than failed directories."""
    now_ms = time.time_ns() // 1_000_000
    waits = disk_waits(recorded.stored, cluster, sizes.logs, now_ms, told)
    return tuple(wait for wait in waits if wait.reason is not WaitReason.LOG_DIR_FAILED)


def _failed_log_dirs(sizes: Sizes) -> tuple[Wait, ...]:
    return tuple(
        Wait(WaitReason.LOG_DIR_FAILED, brokers=(broker,), path=path, detail=why)
        for broker, each in sorted(sizes.logs.items())
        for path, why in sorted(each.offline.items())
    )
