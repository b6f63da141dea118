"""Observes what a plan is made for: a live cluster, or a snapshot. Nothing is written."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.readings import ClusterReading
from poolkeeper.planning.run_state import deletions
from poolkeeper.reconcile.observe.gone_brokers import updated_records
from poolkeeper.reconcile.observe.observation import Observation, observe_cluster

if TYPE_CHECKING:  # what becomes of a run takes long to import, and plans of files need none of it
    from poolkeeper.reconcile.recorded_run import RecordedRun


@frozen
class PlanObservation:
    """The observation that a plan is made from, what could not be read, and what blocks every move.

    `pending`: the plan that an operator asks about. `carried_out`: hashes of plans of earlier runs.
    """

    observed: Observation
    warnings: tuple[str, ...] = ()
    waits: tuple[Wait, ...] = ()
    pending: Plan | None = None
    carried_out: frozenset[str] = frozenset()


def observe_for_plan(target: Target, desired: Desired) -> PlanObservation:
    """Observe a live cluster, with what could not be read and what blocks every move now."""
    from poolkeeper.cli.input.clusters import cluster_reading
    from poolkeeper.reconcile.recorded_run import cancel_waits, damage_waits, recorded_run
    from poolkeeper.zk import znodes
    from poolkeeper.zk.cluster_access import ZooKeeperView
    from poolkeeper.zk.journal import journal

    with cluster_reading.session(target) as session:
        enriching = cluster_reading.ClusterEnricher(target)
        view = ZooKeeperView(session)
        status = journal.read_status(session)
        stored = status.stored
        seen = observe_cluster(
            view, desired, now_ms(), enriching, running=stored.running, saved=stored.saved
        )
        found = PlanObservation(
            seen, pending=view.read_pending_plan(), carried_out=view.read_finished_plans()
        )
    recorded, damaged = recorded_run(status.stored, seen.cluster), damage_waits(status.stored)
    waits = (*damaged, *live_waits(seen, recorded, desired))
    # The plan itself names the records, and the waits the run.
    named = {wait.path for wait in damaged}
    damage = [
        each
        for each in status.damage
        if each.path not in named
        and (
            each.path == znodes.RECORD_OF_REQUEST or not each.path.startswith(f"{znodes.RECORDS}/")
        )
    ]
    warnings = (*map(str, damage), *map(str, seen.reading.notes), *enriching.warnings)
    if recorded is None:
        return replace(found, warnings=warnings, waits=waits)
    # What it has yet to move is planned as if there were no run.
    under_way = f"run {recorded.run.plan} is under way: topics in flight are left out of this plan"
    hindered = cancel_waits(status.stored, seen.cluster, desired, seen.gone, now_ms(), {})
    warnings = (*warnings, f"{under_way}, and what is yet to move is in it")
    return replace(found, warnings=warnings, waits=(*hindered, *waits))


def live_waits(
    seen: Observation, recorded: "RecordedRun | None", desired: Desired
) -> tuple[Wait, ...]:
    """Return what blocks every move now, topics that cannot be read, and deletions held up.

    Of deletions those of topics that are recorded and no longer declared: of one that is declared
    the plan tells, and others are nobody's matter here.
    """
    from poolkeeper.reconcile.recorded_run import waits_of

    damaged = (
        Wait(WaitReason.TOPIC_DAMAGED, topic=name, detail=why)
        for name, why in sorted(seen.cluster.damaged.items())
    )
    declared = {spec.topic for spec in desired.topics}
    released = seen.records.topics.keys() - declared
    held_up = (wait for wait in deletions.waits_for_brokers(seen.cluster) if wait.topic in released)
    return (*waits_of(seen, recorded, desired.cluster.execution.remedies), *damaged, *held_up)


def observe_snapshot(file: Path, desired: Desired) -> PlanObservation:
    """Observe a snapshot; raises Refused for one of another cluster."""
    cluster, warnings = snapshot_files.read_declared(file, desired.cluster)
    records = updated_records(Records(), cluster, desired, now_ms())
    return PlanObservation(
        Observation(ClusterReading(cluster), cluster, records, frozenset()), warnings
    )


def now_ms() -> int:
    """Return milliseconds since 1970."""
    return time.time_ns() // 1_000_000
