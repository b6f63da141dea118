"""One loop for each declared cluster, as long as this instance leads.

Every change in the resource cache assembles the declared state again, at most once in `COALESCE_S`,
and less often where that is long, as it is with thousands of Topics (`wake_ups.rest_s`). Loops are
then started, woken or ended to match it. They run only with the Lease:

| the Lease is | loops |
|---|---|
| held | run |
| unsure: the API server does not answer | finish their stage in flight and start no other |
| free, or held by another instance | end; the next leader resumes the run recorded in ZooKeeper |

A resource whose cluster has no loop gets a status only. Its cluster does not exist, or must not be
worked on.

Removing our CRDs deletes all custom resources, but rarely means to delete Kafka topics. While a
definition is being removed or is gone, loops start nothing, as if the Lease were unsure, and no
topic is deleted for a resource that disappears with its definition. The same holds for a while
after it is back (`removed_definitions`). The first resources may be seen to go before the
definition is. So deletions, like moves, wait until the declared state has settled.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from threading import Event

from poolkeeper.controller.cluster_loop import ClusterLoop, ConnectorOf
from poolkeeper.controller.loops.loop import desired_when_leaving, needs_new_connections
from poolkeeper.controller.loops.wake_ups import rest_s
from poolkeeper.controller.removed_definitions import RemovedDefinitions
from poolkeeper.controller.reporting.reporter import Reporter
from poolkeeper.controller.resource_cache import ResourceCache
from poolkeeper.errors import PoolkeeperError
from poolkeeper.kube.leadership.leader_election import LeaderRole
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.specs import KafkaClusterSpec, Mode
from poolkeeper.planning.planner import Planner
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.resources.checks.assembly import Assembly, assemble, seen_id
from poolkeeper.resources.kinds.custom_resource import ObjectKey
from poolkeeper.telemetry import audit
from poolkeeper.telemetry.audit import Emit
from poolkeeper.telemetry.health import ProcessHealth
from poolkeeper.telemetry.metrics import Metrics

COALESCE_S = 1.0
TICK_S = 5.0
END_S = 15.0
SETTLE_S = 5.0
"""Resources arrive one by one: before its Topic has arrived, a Kafka topic looks unmanaged."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ClusterLoops:
    """All cluster loops. One thread runs `work`; `cache.changed` wakes it, also for a new role.

    `assemblies` is the declared state that the last round worked from. `external_plans` are the
    external plans by cluster, None until they are known. Loops then start no stage, because the
    stage might belong to an external plan that is paused.
    `approvers_verified`: whether a policy makes sure who approves. `own_namespace` is the
    operator's. `watched` returns the namespaces whose Topics the cache has; empty means all. `emit`
    takes what goes into the audit trail.
    """

    cache: ResourceCache
    connector_of: ConnectorOf
    crds_being_removed: Callable[[], str]
    reporter: Reporter
    metrics: Metrics
    health: ProcessHealth
    planner: Planner
    role: Callable[[], LeaderRole]
    stop: Event = field(default_factory=Event)
    external_plans: Mapping[str, ExternalPlan] | None = field(default_factory=dict)
    assemblies: Mapping[str, Assembly] | None = None
    settle_s: float = SETTLE_S
    approvers_verified: Callable[[], bool] = lambda: False
    own_namespace: str = ""
    watched: Callable[[], tuple[str, ...]] = lambda: ()
    emit: Emit = audit.discard
    _loops: dict[str, ClusterLoop] = field(default_factory=dict)
    _removed: RemovedDefinitions = field(default_factory=RemovedDefinitions)
    _told_removed: str = ""
    _ending: list[ClusterLoop] = field(default_factory=list)

    def work(self) -> None:
        """Keep the loops in line with the declared state until `stop` is set; then end them."""
        while not self.stop.is_set():
            self.health.beat("cluster loops", 60 + END_S)
            settling = any(cluster_loop.settling for cluster_loop in self._loops.values())
            self.cache.changed.wait(COALESCE_S if settling else TICK_S)
            self.cache.changed.clear()
            began_s = time.monotonic()
            self.reconcile()
            self.stop.wait(max(COALESCE_S, rest_s(time.monotonic() - began_s)))
        self._end_all()

    def end(self) -> None:
        """Make `work` end all loops and return."""
        self.stop.set()
        self.cache.changed.set()

    def reconcile(self) -> None:
        """Bring the loops in line with the declared state once."""
        role = self.role()
        self.metrics.set_leader(role is not LeaderRole.STANDBY)
        self._reap()
        if role is LeaderRole.STANDBY:
            self._end_all()
            self.reporter.drop_pending()
            self.assemblies = None
            self._removed.forget()
            self._told_removed = ""
            return
        resources, labels = self.cache.contents()
        assemblies = assemble(
            resources,
            labels,
            own_namespace=self.own_namespace,
            watched=self.watched(),
            abandoned=self._look_for_abandoned([each.key for each in resources]),
        )
        for name in set(self._loops) - set(assemblies):
            self._leave(self._loops[name])
        for name, assembly in assemblies.items():
            self._adjust(name, assembly)
        for cluster_loop in list(self._loops.values()):
            cluster_loop.wake_when_settled()
        self.reporter.retain({key for a in assemblies.values() for key in a.objects}, assemblies)
        self.reporter.report_without_loop(
            assembly for name, assembly in assemblies.items() if name not in self._loops
        )
        self.metrics.set_loops(len(self._loops))
        self.assemblies = assemblies

    def set_external_plans(self, external_plans: Mapping[str, ExternalPlan]) -> None:
        """Set the external plans that loops execute, by cluster; these replace all earlier ones."""
        before, self.external_plans = self.external_plans, external_plans
        for name, cluster_loop in list(self._loops.items()):
            if before is None or before.get(name) != external_plans.get(name):
                cluster_loop.wake()

    def forget_external_plans(self) -> None:
        """Forget all external plans, because another instance leads now."""
        self.external_plans = None

    def names(self) -> Collection[str]:
        """Return the clusters that have a loop, or one that ends and may still write."""
        return frozenset((*self._loops, *(each.name for each in list(self._ending))))

    def settling(self) -> Collection[str]:
        """Return the clusters whose declared state has not settled."""
        return frozenset(name for name, each in list(self._loops.items()) if each.settling)

    @property
    def abandoned(self) -> str:
        """Why resources may be gone that nobody deleted, as last looked at; empty if none is."""
        return self._told_removed

    def cluster_of_session(self, session_id: int) -> str:
        """Return the cluster whose loop has this session; empty if none has."""
        found = (n for n, each in list(self._loops.items()) if each.session_id == session_id != 0)
        return next(found, "")

    def outcome(self, name: str) -> Outcome | None:
        """The outcome of the cluster's last pass; None without a loop or before its first pass."""
        cluster_loop = self._loops.get(name)
        return None if cluster_loop is None else cluster_loop.outcome

    def _look_for_abandoned(self, keys: Collection[ObjectKey]) -> str:
        """Return why resources may be gone that nobody deleted; empty if none is.

        If the API server is away, that is the last answer.
        """
        try:
            found = self._removed.look(keys, self.crds_being_removed())
        except PoolkeeperError:
            return self._told_removed
        if found and found != self._told_removed:
            logger.warning("%s", found)
        self._told_removed = found
        return found

    def is_current(self, cluster_loop: ClusterLoop) -> bool:
        """Whether this loop is still the current loop of its cluster."""
        return self._loops.get(cluster_loop.name) is cluster_loop

    def _adjust(self, name: str, assembly: Assembly) -> None:
        """Start, wake, restart or end the loop of one cluster."""
        desired = desired_of(assembly)
        cluster_loop = self._loops.get(name)
        if (
            cluster_loop is not None
            and desired is not None
            and needs_new_connections(cluster_loop.desired, desired)
        ):
            if cluster_loop.in_mid_run and not is_same_resource(cluster_loop.assembly, assembly):
                _warn_of_run("was made anew in mid-run, and leads elsewhere", cluster_loop)
            self._end(cluster_loop)
            cluster_loop = None
        if cluster_loop is None:
            if desired is not None and not any(other.name == name for other in self._ending):
                self._start(name, assembly, desired)
        elif desired is None and (assembly.cluster is None or assembly.replaced):
            self._leave(cluster_loop)
        elif cluster_loop.assembly != assembly:
            cluster_loop.leaving = False
            cluster_loop.update(assembly, desired)

    def _start(self, name: str, assembly: Assembly, desired: Desired) -> None:
        cluster_loop = self._loops[name] = ClusterLoop(name, assembly, desired, self)
        logger.info("the loop of cluster %s starts", name, extra={"cluster": name})
        cluster_loop.thread.start()

    def _leave(self, cluster_loop: ClusterLoop) -> None:
        """End the loop of a cluster whose KafkaCluster is gone; a run that is under way goes first.

        Our finalizer keeps a KafkaCluster that has a run, but anybody may remove a finalizer. In
        PlanOnly nothing is written: the run stays.
        """
        name, mode = cluster_loop.name, cluster_loop.desired.cluster.mode
        if mode is Mode.PLAN_ONLY or not cluster_loop.in_mid_run:
            if cluster_loop.in_mid_run:
                _warn_of_run("is gone in mid-run, and its mode was PlanOnly", cluster_loop)
            self._end(cluster_loop)
        elif not cluster_loop.leaving:
            cluster_loop.leaving = True
            cluster_loop.update(Assembly(name), desired_when_leaving(cluster_loop.desired))
            logger.warning(
                "KafkaCluster %s is gone in mid-run: its run ends after the stage in flight first",
                name,
                extra={"cluster": name},
            )

    def _end_all(self) -> None:
        for cluster_loop in list(self._loops.values()):
            self._end(cluster_loop)
        deadline_s = time.monotonic() + END_S
        for cluster_loop in self._ending:
            cluster_loop.thread.join(max(0.0, deadline_s - time.monotonic()))
        self._reap()
        self.metrics.set_loops(0)

    def _end(self, cluster_loop: ClusterLoop) -> None:
        del self._loops[cluster_loop.name]
        cluster_loop.end()
        self._ending.append(cluster_loop)
        logger.info(
            "the loop of cluster %s ends", cluster_loop.name, extra={"cluster": cluster_loop.name}
        )

    def _reap(self) -> None:
        for cluster_loop in list(self._ending):
            if not cluster_loop.thread.is_alive():
                self._ending.remove(cluster_loop)
                self.health.forget(f"loop of {cluster_loop.name}")
                self.connector_of(cluster_loop.name).remove_files()
                if cluster_loop.name not in self._loops:
                    self.metrics.forget(cluster_loop.name)


def is_same_resource(before: Assembly, now: Assembly) -> bool:
    """Whether the KafkaCluster is the one of before: its status tells then of a run left behind."""
    was, is_ = before.cluster, now.cluster
    return was is not None and is_ is not None and was.uid == is_.uid


def _warn_of_run(why: str, cluster_loop: ClusterLoop) -> None:
    """Log that nobody works on a run any more."""
    logger.warning(
        "KafkaCluster %s %s: its run stays recorded, with its throttles; `poolkeeper stop"
        " --zookeeper %s`, and an operator that it is declared to again, end it",
        cluster_loop.name,
        why,
        cluster_loop.desired.cluster.zookeeper.connect,
        extra={"cluster": cluster_loop.name},
    )


def desired_of(assembly: Assembly) -> Desired | None:
    """Return the desired state that a cluster's loop works towards, or None if it gets no loop.

    While a KafkaCluster is being deleted its loop only ends the run. It gets a paused desired state
    without pools and topics. The run no longer matches that state and therefore ends. Where another
    KafkaCluster has taken its place, that one's loop takes the run over.
    """
    if assembly.desired is not None:
        return assembly.desired
    spec = assembly.cluster.spec if assembly.cluster is not None else None
    if assembly.leaving and not assembly.replaced and isinstance(spec, KafkaClusterSpec):
        return Desired(replace(spec, mode=Mode.PAUSED), seen_id=seen_id(assembly.cluster))
    return None
