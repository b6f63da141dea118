"""Observes a cluster together with our records of it, and what follows from both.

A cluster with another id than the declared or the recorded one is refused here.
"""

from collections.abc import Collection
from dataclasses import field, replace

from poolkeeper.errors import DamagedNode, OtherCluster
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import LastObservation
from poolkeeper.model.execution.records import BalanceRecord, RecordKind, Records
from poolkeeper.model.execution.runs import NOTHING_SAVED, Saved
from poolkeeper.model.execution.throttles import LeftThrottles
from poolkeeper.model.execution.waits import damage_wait
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.parts.split import Circumstances
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.reassignments import lost_runs, orphans
from poolkeeper.planning.run_state.reassignments.lost_runs import NO_LOST_RUN, LostRun
from poolkeeper.planning.run_state.reassignments.orphans import Orphans
from poolkeeper.planning.run_state.throttling import left_throttles
from poolkeeper.reconcile.access import ClusterView, Enrich
from poolkeeper.reconcile.answer_cache import AnswerCache, Question
from poolkeeper.reconcile.observe.gone_brokers import (
    gone_brokers,
    updated_records,
    with_lost_log_dirs,
)


@frozen
class Observation:
    """One reading of the cluster, our records, and what follows from both.

    `balanced`: when the last run began that balanced the cluster. `left`: the throttles that no
    run accounts for. `orphans`: moves of others that lost their request. `lost_run`: what a run of
    ours requested whose record is lost.
    """

    reading: ClusterReading
    cluster: Cluster
    records: Records
    gone: frozenset[int]
    balanced: BalanceRecord | None = None
    left: LeftThrottles = field(default_factory=LeftThrottles)
    orphans: Orphans = field(default_factory=Orphans)
    lost_run: LostRun = NO_LOST_RUN

    def circumstances(self, desired: Desired) -> Circumstances:
        """What a plan for this cluster is made from."""
        return Circumstances(desired, self.cluster, self.records, self.gone)


def observe_cluster(
    view: ClusterView,
    desired: Desired,
    now_ms: int,
    enrich: Enrich,
    *,
    running: Collection[str] = (),
    saved: Saved = NOTHING_SAVED,
) -> Observation:
    """Observe the cluster, check its id, and conclude which brokers are gone.

    `running`: the plans of the run under way, as far as its document can be read; `saved`: what it
    saved of throttles.
    """
    spec = desired.cluster
    reading = view.observe(spec.name, restart_lock=spec.execution.restart_lock)
    cluster = reading.cluster
    records = view.read_records()
    unknown = records.damage.get(RecordKind.CLUSTER)
    if unknown is not None and spec.cluster_id is None:
        raise DamagedNode(unknown)
    check_id(cluster.id, desired, records.cluster_id)
    cluster = enrich(cluster)
    if spec.kafka_version is not None:
        cluster = replace(cluster, kafka_version=spec.kafka_version)
    records = updated_records(records, cluster, desired, now_ms)
    gone = gone_brokers(records, desired, now_ms)
    cluster = with_lost_log_dirs(cluster, records, desired, now_ms)
    left = left_throttles.find(cluster, view.read_throttle_records(), running, saved)
    balanced = balance_of(view, now_ms)
    if running:
        return Observation(reading, cluster, records, gone, balanced, left)
    orphaned, lost = _orphans(cluster, desired), lost_run_of(view, cluster)
    return Observation(reading, cluster, records, gone, balanced, left, orphaned, lost)


def check_id(
    found: str | None, desired: Desired, recorded: str | None = None, reached: str | None = None
) -> None:
    """Raise `OtherCluster` if the cluster has not the id that it must have, or none.

    It is declared, or else that of the last observation and of the cluster that this process
    `reached` before; and `recorded`, that of the first run. The records of a cluster tell of that
    cluster alone: where an address leads elsewhere they are other records.
    """
    declared = desired.cluster.cluster_id
    mended = f"; correct spec.zookeeper.connect, or set spec.clusterId to {found} if it is meant"
    two = f"{mended} (do all its servers belong to one ensemble?)"
    for pinned, where, remedy in (
        (declared, "spec.clusterId", ""),
        (recorded, "the record of the first run", ""),
        (desired.seen_id if declared is None else None, "status.clusterId", mended),
        (reached if declared is None else None, "the connection before", two),
    ):
        if pinned is None or found == pinned:
            continue
        if found is None:
            raise OtherCluster(
                f"the node /cluster/id is damaged or missing, {where} says {pinned}: if this is"
                f' that cluster (cluster.id in meta.properties of its brokers), write {{"version":'
                f' "1", "id": "{pinned}"}} there before a broker restarts'
            )
        raise OtherCluster(
            f"this is another cluster: its id is {found}, {where} says {pinned}{remedy}", found
        )


def lost_run_of(view: ClusterView, cluster: Cluster) -> LostRun:
    """Return what goes on of a run that is not recorded any more; nothing of a damaged record."""
    try:
        return lost_runs.find(cluster, view.read_request_record())
    except DamagedNode as damaged:
        return LostRun(damage=damaged.damage)


def _orphans(cluster: Cluster, desired: Desired) -> Orphans:
    """Return the moves of others that lost their request; empty while a run is recorded."""
    remedies = desired.cluster.execution.remedies
    factors = replication_factors(desired)
    return orphans.find(cluster, factors, allowed=remedies.finish_orphaned_moves)


def replication_factors(desired: Desired) -> dict[str, int]:
    """Return the replication factors of the topics that declare one."""
    return {
        spec.topic: spec.replication_factor
        for spec in desired.topics
        if spec.replication_factor is not None
    }


def balance_of(view: ClusterView, now_ms: int) -> BalanceRecord | None:
    """Return when balance began last; now, so that it waits, if the record cannot be read."""
    try:
        return view.read_balance()
    except DamagedNode:
        return BalanceRecord(now_ms)


def last_observation_of(
    observed: Observation, before: LastObservation | None, known: AnswerCache
) -> LastObservation:
    """Return what statuses report; topics that changed during the reading appear as before."""
    whole = observed.cluster
    disagreements = known.find(
        Question.DISAGREEMENTS, (whole,), lambda: gates.isr_disagreements(whole)
    )
    cluster = observed.cluster
    kept = {
        name: before.cluster.topics[name]
        for name in cluster.torn
        if before is not None and name in before.cluster.topics
    }
    if kept:
        topics = dict(sorted({**cluster.topics, **kept}.items()))
        cluster = replace(cluster, topics=topics, torn=cluster.torn - kept.keys())
    damage = observed.lost_run.damage
    told = (
        *disagreements,
        *(() if damage is None else (damage_wait(damage),)),
        *observed.lost_run.waits(),
        *observed.orphans.waits(),
        *left_throttles.waits(observed.left),
    )
    return LastObservation(cluster, observed.records, observed.gone, told)
