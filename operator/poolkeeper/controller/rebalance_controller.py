"""Takes each Rebalance from planning to its end, as long as this instance leads.

    scope → request → engine → response → record (ConfigMaps) → approval → external plans → end

Each round decides from three inputs: the Rebalance's state, the declared state, and the loops' last
outcomes. The Rebalance's state is what was last reported of the Rebalance, or what its status says
after a change of leader. Nothing here waits, and nothing here writes to a cluster. Loops execute
the external plans that they are given (`external_plan`), and their journals record what runs. So
this process may be lost at any point:

| lost after | then |
|---|---|
| the request was sent | its time is in the status: the next leader sends the same request |
| the record was written | the next leader finds it by its name, or makes it again |
| the approval was seen | it is in the spec |
| a plan was handed to a loop | the cluster's journal records the run under the plan's hash |

A Rebalance that executes has our finalizer. A deleted Rebalance is gone once its runs have ended.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from threading import Event

from poolkeeper.controller.cluster_loops import ClusterLoops
from poolkeeper.controller.rebalance_entry import RebalanceEntry
from poolkeeper.controller.reporting.rebalance_reporter import RebalanceReporter
from poolkeeper.controller.resource_cache import ResourceCache
from poolkeeper.errors import OtherFormat, PoolkeeperError, Refused
from poolkeeper.kube.leadership.leader_election import LeaderRole
from poolkeeper.model.rebalances import RebalanceSpec, RebalanceState, RebalanceStep
from poolkeeper.rebalances import lifecycle
from poolkeeper.rebalances import plans_to_offer as rebalances_offers
from poolkeeper.rebalances.lifecycle import KnownCluster
from poolkeeper.rebalances.metrics import RebalanceMetrics, metrics_of
from poolkeeper.rebalances.planning.engines import PlanningEngine
from poolkeeper.rebalances.planning.planning_task import PlanningTask
from poolkeeper.rebalances.rate_shares import limits_of
from poolkeeper.rebalances.records import RebalanceRecords, Record
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds import rebalance
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus
from poolkeeper.resources.status.finalizers import forbidden_condition
from poolkeeper.resources.status.rebalance import (
    RebalanceStatusInputs,
    invalid_condition,
    ready_condition_of,
    requested_ms_of,
)
from poolkeeper.telemetry.metrics import Metrics

LOOK_S = 1.0
LOOK_MAX_S = 300.0
STORE_AGAIN_MS = 30_000

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class RebalanceController:
    """Drives all Rebalances; one thread runs `work`."""

    cache: ResourceCache
    cluster_loops: ClusterLoops
    engines: Mapping[str, PlanningEngine]
    records: RebalanceRecords
    reporter: RebalanceReporter
    metrics: Metrics
    role: Callable[[], LeaderRole]
    stop: Event = field(default_factory=Event)
    wake: Event = field(default_factory=Event)
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    beat: Callable[[float], None] = lambda patience_s: None
    _entries: dict[str, RebalanceEntry] = field(default_factory=dict)

    def work(self) -> None:
        """Look at all Rebalances again and again, until `stop` is set."""
        while not self.stop.is_set():
            self.beat(LOOK_MAX_S)
            try:
                self.reconcile()
            except Exception:
                # A bug in one look must not end this thread: nobody would notice.
                logger.exception("a pass over all Rebalances failed")
            self.wake.wait(LOOK_S)
            self.wake.clear()

    def end(self) -> None:
        """Make `work` return; the next leader resumes what is under way."""
        self.stop.set()
        self.wake.set()

    def reconcile(self) -> None:
        """Take every Rebalance one step further."""
        role, assemblies = self.role(), self.cluster_loops.assemblies
        if role is LeaderRole.STANDBY:
            self._forget_all()
        if role is not LeaderRole.HELD or assemblies is None:
            return
        found = self._rebalances()
        self._forget_gone({each.uid for each in found})
        external_plans: dict[str, ExternalPlan] = {}
        rebalance_of: dict[str, str] = {}
        for each in sorted(found, key=self._sort_key):
            try:
                external_plans = {
                    **self._reconcile_one(each, assemblies, rebalance_of),
                    **external_plans,
                }
            except Refused as unreadable:  # the status that it begins with; all else is told there
                self.reporter.report_unreadable(each, unreadable)
            except Exception:
                # A bug must not stop the other Rebalances.
                logger.exception("a pass over %s failed", each.key)
        self.cluster_loops.set_external_plans(external_plans)
        self.metrics.set_rebalances(Counter(entry.reason for entry in self._entries.values()))

    def _forget_gone(self, uids: Collection[str]) -> None:
        """Forget all Rebalances but these.

        This comes before others are planned: one that was deleted and made anew has the same name,
        under which planners and writers know it.
        """
        for uid in set(self._entries) - set(uids):
            self._entries.pop(uid).planning.end()
        self.reporter.retain(uids)

    def _sort_key(self, resource: CustomResource) -> tuple[bool, int, str]:
        """Sort key: Rebalances that execute come first, the oldest of them before the others.

        The first has its turn in a cluster.
        """
        entry = self._entries.get(resource.uid)
        if entry is not None:
            return (
                entry.state.step is not RebalanceStep.EXECUTING,
                entry.state.requested_ms,
                resource.name,
            )
        status = resource.status or {}
        return status.get("step") != RebalanceStep.EXECUTING, requested_ms_of(status), resource.name

    def _rebalances(self) -> list[CustomResource]:
        return [each for each in self.cache.contents()[0] if each.kind == rebalance.KIND]

    def _entry_of(self, resource: CustomResource) -> RebalanceEntry:
        entry = self._entries.get(resource.uid)
        if entry is None:
            entry = RebalanceEntry.from_resource(
                resource, PlanningTask(resource.name, self.engines)
            )
            self._entries[resource.uid] = entry
        return entry

    def _forget_all(self) -> None:
        """Forget everything, because another instance leads now."""
        for entry in self._entries.values():
            entry.planning.hand_over()
        self._entries.clear()
        self.metrics.set_rebalances({})
        self.reporter.retain(())
        self.cluster_loops.forget_external_plans()

    def _reconcile_one(
        self,
        resource: CustomResource,
        assemblies: Mapping[str, Assembly],
        rebalance_of: dict[str, str],
    ) -> Mapping[str, ExternalPlan]:
        """Take one Rebalance one step further; return its external plans by cluster."""
        entry = self._entry_of(resource)
        declared = resource.spec if isinstance(resource.spec, RebalanceSpec) else None
        spec = declared if resource.sound else None
        seen = (resource.generation, resource.deleting, resource.has_finalizer)
        before = entry.state
        if before.step.is_final and entry.reported_version == seen:
            self.reporter.repeat_end(resource)
            return {}
        external_plans: Mapping[str, ExternalPlan] = {}
        if resource.deleting:
            external_plans, condition = self._withdraw(entry, spec)
        elif spec is None:
            external_plans = self._hold(entry, resource, assemblies, rebalance_of)
            condition = invalid_condition(resource)
        else:
            try:
                external_plans, condition = self._step(
                    entry, resource, spec, assemblies, rebalance_of
                )
            except PoolkeeperError as failed:
                condition = ReadyCondition(ReadyStatus.UNKNOWN, "Waiting", str(failed))
        entry.offered.clusters.update(external_plans)
        rebalance_of.update(dict.fromkeys(external_plans, resource.name))
        guard = (
            bool(external_plans)
            if resource.deleting
            else entry.state.step is RebalanceStep.EXECUTING
        )
        if guard and (why := self.reporter.finalizer_hindrance(resource)):
            condition = forbidden_condition(rebalance.KIND, condition.message, why)
        self.reporter.report(
            resource, RebalanceStatusInputs(entry.state, condition), declared, needs_finalizer=guard
        )
        if entry.state.step.is_final:
            entry.planning.forget()
        entry.reported_version, entry.reason = seen, condition.reason
        self._count(metrics_of(before, entry.state, self.now_ms()))
        return external_plans

    def _count(self, new: RebalanceMetrics) -> None:
        if new.planned_s is not None:
            self.metrics.observe_planning(new.engine, new.planned_s, new.planned_bytes)
        self.metrics.count_rebalanced(new.ended, new.moved_bytes)

    def _step(
        self,
        entry: RebalanceEntry,
        resource: CustomResource,
        spec: RebalanceSpec,
        assemblies: Mapping[str, Assembly],
        rebalance_of: Mapping[str, str],
    ) -> tuple[Mapping[str, ExternalPlan], ReadyCondition]:
        if entry.state.step is RebalanceStep.WAITING_FOR_APPROVAL:
            self._await_approval(entry, resource, spec, assemblies)
        if entry.state.step is RebalanceStep.PLANNING:
            if spec.paused:
                return {}, ReadyCondition(
                    ReadyStatus.RECONCILING, "Paused", "nothing is planned; spec.paused is true"
                )
            return {}, self._plan(entry, resource, spec, assemblies)
        external_plans: Mapping[str, ExternalPlan] = {}
        if entry.state.step is RebalanceStep.EXECUTING:
            views = self._views(entry, assemblies, rebalance_of)
            external_plans = self._execute(entry, resource, spec, views)
            if entry.other_format:
                return external_plans, ReadyCondition(
                    ReadyStatus.UNKNOWN, "Waiting", entry.other_format
                )
        return external_plans, _with_unread(ready_condition_of(entry.state, spec), entry.unread)

    def _plan(
        self,
        entry: RebalanceEntry,
        resource: CustomResource,
        spec: RebalanceSpec,
        assemblies: Mapping[str, Assembly],
    ) -> ReadyCondition:
        settling, now_ms = self.cluster_loops.settling(), self.now_ms()
        # A clock that was set back holds nothing up.
        if entry.unstored is not None and 0 <= now_ms - entry.unstored_ms < STORE_AGAIN_MS:
            raise entry.unstored
        found = entry.planning.poll(spec, entry.state, assemblies, settling, now_ms)
        entry.state = found.state
        if found.record is None or found.scope is None:
            return found.condition
        digest = self._store(entry, resource, found.record, now_ms)
        rebalance_state = lifecycle.with_plans(
            found.state, found.scope, found.record.answer, digest
        )
        entry.state, entry.record = lifecycle.with_end(rebalance_state, now_ms), found.record
        entry.planning.end()
        return ready_condition_of(entry.state, spec)

    def _store(
        self, entry: RebalanceEntry, resource: CustomResource, record: Record, now_ms: int
    ) -> str:
        """Keep the plans; where that fails, they are not asked for and written every second."""
        try:
            digest = self.records.write(resource, record)
        except PoolkeeperError as failed:
            entry.unstored, entry.unstored_ms = failed, now_ms
            raise
        entry.unstored = None
        return digest

    def _await_approval(
        self,
        entry: RebalanceEntry,
        resource: CustomResource,
        spec: RebalanceSpec,
        assemblies: Mapping[str, Assembly],
    ) -> None:
        """Begin to execute once the plans are approved; plan again if they are outdated."""
        if entry.planning.is_outdated(spec, entry.state, assemblies):
            self.records.remove(resource, entry.state.record)
            entry.state, entry.record = RebalanceState(), None
        elif lifecycle.is_approved(spec, entry.state) and not spec.paused:
            entry.state = replace(entry.state, step=RebalanceStep.EXECUTING)

    def _execute(
        self,
        entry: RebalanceEntry,
        resource: CustomResource,
        spec: RebalanceSpec,
        views: Mapping[str, KnownCluster],
    ) -> Mapping[str, ExternalPlan]:
        """Return the external plans of the clusters whose turn it is, and update their progress."""
        due = lifecycle.clusters_due(entry.state, spec, views)
        self._update(entry, resource, views, due)
        if not resource.has_finalizer:
            return {}  # without our finalizer it could disappear and leave its runs behind
        rates = rebalances_offers.observed_rates(
            entry.rates, entry.state, entry.record, self.cluster_loops.outcome
        )
        offered = rebalances_offers.external_plans(
            entry.state, due, entry.record, spec, self.now_ms(), rates
        )
        entry.rates = {
            name: rate.offered(offered[name].bytes_per_s) if name in offered else rate
            for name, rate in rates.items()
        }
        return offered

    def _update(
        self,
        entry: RebalanceEntry,
        resource: CustomResource,
        views: Mapping[str, KnownCluster],
        due: Collection[str],
    ) -> None:
        """Update the state with what the loops report, and read the record if that is due."""
        rebalance_state = lifecycle.with_outcomes(entry.state, views, due)
        try:
            entry.record = entry.record or self.records.read(resource, rebalance_state.record)
            if entry.record is None:
                rebalance_state = lifecycle.without_record(rebalance_state)
            entry.other_format = entry.unread = ""
        except OtherFormat as other:
            entry.other_format = str(other)
        except PoolkeeperError as failed:
            entry.note_unread(resource, failed)
        entry.state = lifecycle.with_end(rebalance_state, self.now_ms())
        if entry.state.step.is_final:
            entry.record, entry.unread = None, ""

    def _hold(
        self,
        entry: RebalanceEntry,
        resource: CustomResource,
        assemblies: Mapping[str, Assembly],
        rebalance_of: Mapping[str, str],
    ) -> Mapping[str, ExternalPlan]:
        """Keep what runs as it is while the Rebalance is invalid, and update its progress."""
        if entry.state.step is not RebalanceStep.EXECUTING:
            return {}
        views = self._views(entry, assemblies, rebalance_of)
        self._update(entry, resource, views, due=())
        return rebalances_offers.held_plans(entry.state, entry.record, entry.rates)

    def _views(
        self,
        entry: RebalanceEntry,
        assemblies: Mapping[str, Assembly],
        rebalance_of: Mapping[str, str],
    ) -> Mapping[str, lifecycle.KnownCluster]:
        loops = self.cluster_loops
        return lifecycle.known_clusters(
            entry.state, assemblies, loops.outcome, rebalance_of, loops.abandoned
        )

    def _withdraw(
        self, entry: RebalanceEntry, spec: RebalanceSpec | None
    ) -> tuple[Mapping[str, ExternalPlan], ReadyCondition]:
        """End the runs of a deleted Rebalance, each after its stage in flight.

        Returns a withdrawn external plan for each cluster that may still run one. It keeps its rate
        until then.
        """
        entry.planning.end()
        running = entry.offered.still_running(
            entry.state.parts, self.cluster_loops.outcome, self.cluster_loops.names()
        )
        names = [part.cluster for part in running]
        limits = () if spec is None else limits_of(spec.budget, names, self.now_ms())
        kept = rebalances_offers.kept_rates(running, limits, entry.rates)
        external_plans = {
            part.cluster: rebalances_offers.withdrawn_plan(part, kept[part.cluster])
            for part in running
        }
        left = ", ".join(sorted(external_plans)) or "none is left"
        message = f"its runs end after their stages in flight: {left}"
        return external_plans, ReadyCondition(ReadyStatus.RECONCILING, "Deleting", message)


def _with_unread(condition: ReadyCondition, unread: str) -> ReadyCondition:
    """The condition, which also tells why the plans cannot be read; `unread` may be empty."""
    if not unread:
        return condition
    return replace(condition, message=f"{condition.message}; its plans cannot be read: {unread}")
