"""One rehearsal, from top to bottom: copy the cluster, plan, carry the plan out, tell.

The plan is made of the copy as it would be made of the cluster, by the same function, and carried
out by the same passes. The copy's brokers have begun before the rehearsal does: second 0 is when
`poolkeeper apply` is confirmed.
"""

import gc
from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from poolkeeper.errors import PoolkeeperError, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import State
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.proposals.identity import for_copies
from poolkeeper.reconcile.access import Enrich
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.observe.observation import Observation, observe_cluster
from poolkeeper.rehearsal.cluster_copy import loading
from poolkeeper.rehearsal.cluster_copy.rehearsed_brokers import RehearsedBrokers
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.rehearsal.cluster_copy.snapshot_sizes import SnapshotSizes
from poolkeeper.rehearsal.driving import (
    PAUSE_S,
    Driver,
    Quanta,
    RehearsedSession,
    StageTimes,
    error_message,
)
from poolkeeper.rehearsal.executor import NeverEnds
from poolkeeper.rehearsal.faults import Injection
from poolkeeper.rehearsal.recorder import Recorder
from poolkeeper.rehearsal.values import (
    BrokerTrace,
    End,
    LogDirTrace,
    Rehearsal,
    Settings,
    StageTrace,
    WaitTrace,
)
from poolkeeper.text import count, size
from poolkeeper.zk.cluster_access import ZooKeeperView

START_MS = 3_600_000.0
REST_MS = 600_000.0
MakePlan = Callable[[Observation], Plan]
"""Makes the plan of what was observed, with its stages, as `poolkeeper plan` does."""
PASSES_MAX = 1_000_000
PROCESSES_MAX = 200
YOUNG_OBJECTS = 200_000


@frozen
class RehearsedCluster:
    """A copy of a cluster, its brokers running, before the rehearsal."""

    cluster: SimulatedCluster
    recorder: Recorder
    brokers: RehearsedBrokers
    sizes: SnapshotSizes
    injection: Injection


def rehearse(
    cluster: Cluster, desired: Desired, settings: Settings, make_plan: MakePlan
) -> Rehearsal:
    """Rehearse the plan for a cluster; an empty plan ends at second 0."""
    with _SELDOM_COLLECTING:
        return _rehearse(cluster, desired, settings, make_plan)


class _SeldomCollecting:
    """Looks for garbage in cycles seldom: a copy is one cycle of millions of values, which stay.

    Afterwards the copy is garbage, and others may follow. The collector counts for the process, in
    which several rehearsals may run.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running = 0
        self._usual = gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            if not self._running:
                self._usual = gc.get_threshold()
                gc.set_threshold(YOUNG_OBJECTS, 50, 50)
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            if not self._running:
                gc.set_threshold(*self._usual)
        gc.collect()


_SELDOM_COLLECTING = _SeldomCollecting()


def _rehearse(
    cluster: Cluster, desired: Desired, settings: Settings, make_plan: MakePlan
) -> Rehearsal:
    copy = _copy(cluster, desired, settings)
    try:
        return _carried_out(copy, desired, settings, make_plan)
    finally:
        copy.cluster.server.close()


def _carried_out(
    copy: RehearsedCluster, desired: Desired, settings: Settings, make_plan: MakePlan
) -> Rehearsal:
    observed = _observe(copy, desired)
    plan = for_copies(make_plan(observed))
    copy.recorder.begin()
    if plan.empty:
        return _traced(copy, settings, plan, None, End.FINISHED, "")
    driver = _driver(copy, desired, plan, settings)
    copy.injection.begin()
    end, reason = _drive(driver, copy, plan)
    return _traced(copy, settings, plan, driver, end, reason)


def _copy(cluster: Cluster, desired: Desired, settings: Settings) -> RehearsedCluster:
    kafka = loading.release_of(cluster, desired.cluster.kafka_version)
    spec = loading.spec_of(cluster, kafka, settings.hardware)
    stored_at = settings.new_zookeeper() if settings.new_zookeeper else ""
    copy = SimulatedCluster(spec, now_ms=settings.begin_ms, stored_at=stored_at)
    injection = Injection(copy, settings)
    copy.simulation.world.choices = injection.choices
    loading.load(cluster, copy)
    copy.server.log = recorder = Recorder(cluster, copy.simulation, copy.clock)
    copy.simulation.start()
    clock, simulation = copy.clock, copy.simulation
    if not clock.run_until(lambda: simulation.controller is not None, START_MS):
        raise Unavailable("the copy of the cluster does not start: no broker became controller")
    clock.run_until(lambda: simulation.idle, REST_MS)
    simulation.surroundings.ingest = recorder.ingest
    simulation.surroundings.busy = recorder.busy
    simulation.transfers.watch = recorder.flowed
    injection.recorder = recorder
    before = {id_: broker.log_dirs or {} for id_, broker in cluster.brokers.items()}
    brokers = RehearsedBrokers(copy, tells_logs=True, before=before)
    brokers.note_used()
    sizes = SnapshotSizes(simulation, cluster)
    return RehearsedCluster(copy, recorder, brokers, sizes, injection)


def _enriched(copy: RehearsedCluster) -> Enrich:
    """What adds to a cluster, as it was read, what brokers tell, with the snapshot's rates."""
    kafka = copy.cluster.simulation.spec.kafka

    def enrich(cluster: Cluster) -> Cluster:
        found = copy.sizes.complete(cluster, copy.brokers.sizes(cluster.brokers))
        return replace(found, kafka_version=kafka)

    return enrich


def _observe(copy: RehearsedCluster, desired: Desired) -> Observation:
    session = RehearsedSession(copy.cluster.server, copy.cluster.clock)
    try:
        view = ZooKeeperView(session)
        return observe_cluster(view, desired, copy.cluster.clock.now_ms(), _enriched(copy))
    finally:
        session.close()


def _driver(copy: RehearsedCluster, desired: Desired, plan: Plan, settings: Settings) -> Driver:
    authority = Authority(
        steps=True,
        plans=frozenset({plan.hash}),
        approved_by_name=frozenset(desired.cluster.approval.plans),
    )
    predicted_s = plan.makespan.seconds if plan.makespan is not None else 60.0
    longest_stage_s = max((stage.seconds for stage in plan.stages), default=60.0)
    adapts = desired.cluster.execution.throttle.mode is ThrottleMode.ADAPTIVE
    return Driver(
        copy.cluster,
        desired,
        authority,
        lambda outcome: outcome.state in (State.CONVERGED, State.STOPPED),
        plan,
        enrich=_enriched(copy),
        brokers=copy.brokers,
        recorder=copy.recorder,
        first_pause_s=min(30.0, max(PAUSE_S, predicted_s / 200)),
        longest_pause_s=min(120.0, max(PAUSE_S, predicted_s / 20)),
        calm_pause_s=0.0 if settings.faults or adapts else 2 * longest_stage_s,
        quiet_max_s=max(3 * 3600.0, 10 * longest_stage_s),
        longest_s=settings.longest_s,
        quanta=Quanta(predicted_s, tuple(stage.seconds for stage in plan.stages)),
        open_session=copy.injection.open_session,
        zookeeper_back_ms=lambda: copy.injection.choices.away_until_ms,
        faults_over_s=lambda: copy.injection.over_s,
    )


def _drive(driver: Driver, copy: RehearsedCluster, plan: Plan) -> tuple[End, str]:
    """Carry the plan out to whatever end."""
    try:
        driver.finish(copy.injection.plans, passes_max=PASSES_MAX, processes_max=PROCESSES_MAX)
    except NeverEnds as endless:
        return End.NEVER_ENDS, f"{endless}{_because(driver, copy, plan)}"
    except PoolkeeperError as refused:
        return End.REFUSED, error_message(refused)
    last = driver.last
    if last is not None and last.state is State.STOPPED:
        return End.STOPPED, "the run stopped before its end"
    if driver.staying is not None:
        return End.REFUSED, driver.words_of(driver.staying)
    return End.FINISHED, ""


def _because(driver: Driver, copy: RehearsedCluster, plan: Plan) -> str:
    """Why a run never ends: a network that is too small, else what it waits for."""
    moved = {broker for move in plan.moves for step in move.path for broker in step}
    overloaded = copy.recorder.overloaded_brokers(moved)
    if overloaded:
        worst = max(overloaded, key=lambda id_: overloaded[id_][0] / overloaded[id_][1])
        taken, carries = overloaded[worst]
        more = len(overloaded) - 1
        others = f", and so are those of {count(more, 'more broker')}" if more else ""
        return (
            f"; the network of broker {worst}, of {size(carries)}/s, is too small for the"
            f" {size(taken)}/s that producers write and followers fetch there{others}"
        )
    waits = [each.text for each in driver.waits_now()]
    return f"; it waits: {'; '.join(waits)}" if waits else ""


def _traced(
    copy: RehearsedCluster,
    settings: Settings,
    plan: Plan,
    driver: Driver | None,
    end: End,
    reason: str,
) -> Rehearsal:
    recorder = copy.recorder
    seconds = recorder.end()
    waited = {} if driver is None else driver.waited
    return Rehearsal(
        plan,
        copy.cluster.simulation.spec.kafka,
        settings,
        end,
        reason,
        seconds,
        _stages(recorder, plan, [] if driver is None else driver.stages, seconds),
        _brokers(copy),
        recorder.series(),
        tuple(recorder.below),
        recorder.least_margin,
        recorder.out_of_sync_max,
        recorder.leader_changes,
        tuple(
            WaitTrace(why, each.text, each.begin_s, each.seconds) for why, each in waited.items()
        ),
        tuple(recorder.happenings),
        notes=copy.cluster.simulation.notes[:20],
    )


def _stages(
    recorder: Recorder, plan: Plan, times: list[StageTimes], end_s: float
) -> tuple[StageTrace, ...]:
    """The stages with what was requested for each; a request made again belongs to its stage."""
    sizes = {(m.topic, m.partition): m for m in plan.moves}
    found = []
    for n, stage in enumerate(times):
        until_s = times[n + 1].begin_s if n + 1 < len(times) else float("inf")
        mine = next((e for at, e in recorder.requests if stage.begin_s - 1 <= at < until_s), ())
        found.append(
            StageTrace(
                stage.number,
                stage.begin_s,
                end_s if stage.end_s is None else stage.end_s,
                mine,
                sum(sizes[name].bytes for name in mine if name in sizes),
                plan.stages[n].seconds if n < len(plan.stages) else None,
            )
        )
    return tuple(found)


def _brokers(copy: RehearsedCluster) -> tuple[BrokerTrace, ...]:
    recorder, found = copy.recorder, []
    racks = {broker.id: broker.rack for broker in copy.cluster.simulation.spec.brokers}
    for row, id_ in enumerate(recorder.ids):
        dirs = tuple(
            LogDirTrace(
                path,
                round(recorder.used_before[n]),
                round(recorder.used_high[n]),
                float(recorder.used_high_s[n]),
                copy.brokers.limit(id_, path),
            )
            for n, (owner, path) in enumerate(recorder.dirs)
            if owner == id_
        )
        copied_in, copied_out = recorder.copied[:, row]
        peaks = recorder.peaks[:, row].tolist()
        found.append(
            BrokerTrace(
                id_, racks[id_], round(copied_in), round(copied_out), peaks[0], peaks[1], dirs
            )
        )
    return tuple(found)
