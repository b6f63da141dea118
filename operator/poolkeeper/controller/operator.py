"""The operator as one process: creates, starts and ends all of its parts.

    watch        watches resources and fills the resource cache
    elector      takes and renews the Lease: who leads
    loops        one loop per cluster, while this instance leads
    rebalances   plans Rebalances across clusters; the cluster loops execute them
    reporter     statuses, events, finalizers → the API server
    probes       /healthz, /readyz, /metrics

A standby runs the first two, so its cache is filled. It asks for the Lease only after its watch has
started. So no instance leads without seeing what is declared.
"""

import logging
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import field
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

from poolkeeper.cluster_connections import ClusterConnector, masking_reader
from poolkeeper.controller.cluster_loops import SETTLE_S, ClusterLoops
from poolkeeper.controller.rebalance_controller import RebalanceController
from poolkeeper.controller.reporting import event_records
from poolkeeper.controller.reporting.plan_keeper import PlanKeeper, PlanText
from poolkeeper.controller.reporting.rebalance_reporter import RebalanceReporter
from poolkeeper.controller.reporting.reporter import Reporter, finalizer_writer
from poolkeeper.controller.resource_cache import ResourceCache
from poolkeeper.controller.watch import KINDS, ResourceWatch
from poolkeeper.frozen import frozen
from poolkeeper.kube.client import discovery, listing, secrets
from poolkeeper.kube.client.client import Api
from poolkeeper.kube.client.listing import NAMESPACES, FollowedNamespaces
from poolkeeper.kube.client.policies import ApproverPolicy
from poolkeeper.kube.jobs.planner_pods import PlannerPodSettings as PlannerPods
from poolkeeper.kube.leadership.leader_election import DURATION_S, LeaderRole, pace_of
from poolkeeper.kube.leadership.leader_elector import LeaderElector
from poolkeeper.kube.leadership.leader_fence import LeaderFence
from poolkeeper.kube.leadership.lease_owner import LeaseOwner
from poolkeeper.kube.objects.events import EventRecorder
from poolkeeper.kube.objects.status_writer import StatusWriter
from poolkeeper.rebalances import text_store
from poolkeeper.rebalances.planning import planning_jobs
from poolkeeper.rebalances.planning.engines import LOCAL, SPARK, PlanningEngine
from poolkeeper.rebalances.planning.local_engine import LocalEngine
from poolkeeper.rebalances.planning.planning_jobs import JobEngine
from poolkeeper.rebalances.record_store import RecordStore
from poolkeeper.rebalances.text_store import TextStore
from poolkeeper.telemetry import audit, probes
from poolkeeper.telemetry.audit import Emit
from poolkeeper.telemetry.health import ProcessHealth
from poolkeeper.telemetry.metrics import Metrics
from poolkeeper.telemetry.secret_masking import Secrets
from poolkeeper.workers.pool import WorkerPool

DEADLINE_S = 10.0
LOOK_S = 1.0
ELECTOR_QUIET_S = 30.0
WRITE_OUT_S = 5.0
COMPONENT = "poolkeeper"

logger = logging.getLogger(__name__)


@frozen
class OperatorSettings:
    """The settings of an operator process.

    `namespace` holds its Lease and the Secrets. `watched` are the namespaces whose Topics it
    manages; empty means all. `folder` is private, and lost with the process. `planning` describes
    the pods of planning Jobs; without it there are no Jobs. The declared state must be unchanged
    for `settle_s` before moves and deletions begin. `emit` takes what goes into the audit trail.
    `masked` holds what logs must not show. `plan_text` makes what people read of a plan.
    `lease_owner` is the Deployment with which the Lease goes, `lease_s` how long it lasts without a
    renewal; the sessions with ZooKeeper last as long as its holder is sure of it, for the next
    leader waits for both.
    """

    namespace: str
    lease: str
    identity: str
    listen: str
    folder: Path
    watched: tuple[str, ...] = ()
    planners: int = 2
    planning: PlannerPods | None = None
    settle_s: float = SETTLE_S
    lease_owner: str = ""
    lease_s: int = DURATION_S
    emit: Emit = audit.discard
    masked: Secrets = field(default_factory=Secrets)
    plan_text: PlanText = lambda plan, desired, seen: ""


@frozen
class KubernetesSource:
    """Lists and tries to watch resources and namespaces, for the resource cache."""

    api: Api
    watched: tuple[str, ...]

    def missing(self) -> str:
        """Return a sentence naming our kinds that the API server does not serve, or ""."""
        kinds = discovery.missing_kinds(self.api)
        if not kinds:
            return ""
        named = ", ".join(KINDS[kind] for kind in kinds)
        return f"the API server does not serve {named}: apply the definitions (CRDs)"

    def crds_being_removed(self) -> str:
        """Return a sentence naming our kinds whose CRDs are being removed, or ""."""
        named = ", ".join(KINDS[kind] for kind in discovery.kinds_being_removed(self.api))
        if not named:
            return ""
        return (
            f"the definitions of {named} are being removed: nothing is begun, and no Kafka topic is"
            " deleted"
        )

    def bodies(self, kind: str, followed: FollowedNamespaces) -> Iterable[Mapping[str, Any]]:
        """List the resources of a kind in the namespaces that are followed."""
        return listing.bodies(self.api, kind, followed.readable)

    def namespaces(self) -> Iterable[Mapping[str, Any]]:
        """List the namespaces."""
        return listing.namespaces(self.api)

    def followed(self) -> FollowedNamespaces:
        """Return the namespaces to list."""
        return listing.followed_namespaces(self.api, self.watched)

    def revision(self) -> int | None:
        """Return the revision of the API server's store; None if it is no number."""
        return self.api.revision(NAMESPACES)

    def try_watches(self) -> None:
        """Watch each kind that the cache holds for a moment; raises what a watch fails with."""
        readable = self.followed().readable
        for path in (NAMESPACES, *(p for kind in KINDS for p in listing.paths(kind, readable))):
            self.api.try_watch(path)


class Operator:
    """The operator's parts; `run` starts and ends them."""

    def __init__(self, api: Api, settings: OperatorSettings) -> None:
        self._api = api
        self._settings = settings
        self._health = ProcessHealth()
        self._metrics = Metrics()
        api.on_request = self._metrics.observe_api_request
        self._cache = ResourceCache()
        self._source = KubernetesSource(api, settings.watched)
        self._watch = ResourceWatch(
            self._cache,
            self._source,
            settings.watched,
            beat=lambda patience_s: self._health.beat("resource watch", patience_s),
        )
        self._elector = LeaderElector(
            api,
            settings.namespace,
            settings.lease,
            settings.identity,
            duration_s=settings.lease_s,
            on_change=lambda role, reason: self._cache.changed.set(),
        )
        self._elector.owner = LeaseOwner(api, settings.namespace, settings.lease_owner)

    def run(self, stop: Event) -> None:
        """Work until `stop` is set; then end in order, so that a standby takes over at once.

        Raises `Refused` or `Unavailable` only before anything was started.
        """
        with ExitStack() as stack:
            pages = probes.pages(self._health, self._metrics.page)
            stack.enter_context(probes.ProbeServer.listening(self._settings.listen, pages))
            planners = stack.enter_context(WorkerPool(self._settings.planners))
            self._watch.start()
            stack.callback(self._watch.stop)
            stack.callback(self._elector.release)
            fenced = LeaderFence(self._api, lambda: self._elector.role is LeaderRole.HELD)
            recorder = EventRecorder(fenced, COMPONENT, self._settings.identity)
            stack.callback(recorder.close, WRITE_OUT_S)
            writer = StatusWriter(
                fenced,
                on_written=self._metrics.observe_status_write,
                on_refused=partial(event_records.record_refused_status, recorder),
            )
            stack.callback(writer.close, WRITE_OUT_S)
            self._metrics.follow_statuses(lambda: (writer.pending, writer.lag_s))
            texts = text_store.of_pods(fenced, self._settings.namespace, self._settings.planning)
            plans = PlanKeeper(fenced, self._settings.namespace, self._settings.plan_text)
            named = f"{self._settings.namespace}/{self._settings.lease}"
            reporter = stack.enter_context(
                Reporter(fenced, writer, recorder, self._metrics, plans, named)
            )
            cluster_loops = self._cluster_loops(planners, reporter)
            finalizers = finalizer_writer(fenced)
            stack.callback(finalizers.close)
            rebalance_controller = RebalanceController(
                cache=self._cache,
                cluster_loops=cluster_loops,
                engines=self._engines(planners, fenced, texts),
                records=RecordStore(fenced, self._settings.namespace, texts),
                reporter=RebalanceReporter(writer, recorder, finalizers),
                metrics=self._metrics,
                role=lambda: self._elector.role,
                beat=lambda patience_s: self._health.beat("rebalances", patience_s),
            )
            self._await_watch(stop)
            if not stop.is_set():
                self._elector.start()
                parts = ("cluster loops", cluster_loops), ("rebalances", rebalance_controller)
                for name, part in parts:
                    thread = Thread(target=part.work, name=name, daemon=True)
                    thread.start()
                    stack.callback(thread.join)
                    stack.callback(part.end)
            while not stop.wait(LOOK_S):
                self._update_readiness()
            logger.info("shutting down: stages in flight go on by themselves")

    def _cluster_loops(self, planners: WorkerPool, reporter: Reporter) -> ClusterLoops:
        return ClusterLoops(
            cache=self._cache,
            connector_of=self._connector_of,
            crds_being_removed=self._source.crds_being_removed,
            reporter=reporter,
            metrics=self._metrics,
            health=self._health,
            planner=planners.plan,
            role=lambda: self._elector.role,
            external_plans=None,
            settle_s=self._settings.settle_s,
            approvers_verified=ApproverPolicy(self._api).in_force,
            own_namespace=self._settings.namespace,
            watched=lambda: self._watch.readable,
            emit=self._settings.emit,
        )

    def _engines(
        self, planners: WorkerPool, api: LeaderFence, texts: TextStore
    ) -> Mapping[str, PlanningEngine]:
        """The planning engines for Rebalances: this process, and Jobs if their image is set."""
        engines: dict[str, PlanningEngine] = {
            LOCAL: LocalEngine(
                lambda spec: self._connector_of(spec.name).connections(spec), planners.plan
            )
        }
        pods, namespace = self._settings.planning, self._settings.namespace
        if pods is not None:
            engines[SPARK] = JobEngine(api, namespace, pods, planning_jobs.rebalances(api), texts)
        return engines

    def _connector_of(self, cluster: str) -> ClusterConnector:
        def read_secret(name: str) -> secrets.Secret:
            return secrets.read(self._api, self._settings.namespace, name)

        return ClusterConnector(
            read_secret=masking_reader(read_secret, self._settings.masked),
            folder=self._settings.folder / cluster,
            timeout_s=pace_of(self._settings.lease_s).hold_s,
            deadline_s=DEADLINE_S,
        )

    def _await_watch(self, stop: Event) -> None:
        while not self._watch.ready.wait(LOOK_S / 4) and not stop.is_set():
            self._health.unready(self._watch.failure or "resources are being listed")

    def _update_readiness(self) -> None:
        """Set the readiness probe and the reported role; note that the elector is alive."""
        elector = self._elector
        if elector.quiet_s < ELECTOR_QUIET_S:
            self._health.beat("elector", ELECTOR_QUIET_S)
        if failure := self._watch.failure:
            self._health.unready(failure)
            return
        match elector.role:
            case LeaderRole.HELD:
                self._health.ready("leader")
            case LeaderRole.UNSURE:
                self._health.ready(f"leader, finishing stages in flight: {elector.reason}")
            case LeaderRole.STANDBY:
                self._health.ready(f"standby: {elector.reason}")
