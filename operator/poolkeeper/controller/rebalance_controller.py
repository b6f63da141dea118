"""Takes each Rebalance from planning to its end, as long as this instance leads.

    scope → request → engine → response → record (ConfigMaps) → approval → external plans → end

Each look decides from three inputs: the Rebalance's course, the declared state, and the loops' last
outcomes. The course is what was last reported of the Rebalance, or what its status says after a
change of leader. Nothing here waits, and nothing here writes to a cluster. Loops execute the
external plans that they are given (`external_plan`), and their journals record what runs. So this
process may be lost at any point:

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Event

from poolkeeper.controller.cluster_loops import Keepers
from poolkeeper.controller.rebalance_reporter import RebalanceReporter
from poolkeeper.controller.resource_cache import Declared
from poolkeeper.errors import PoolkeeperError
from poolkeeper.kube.leadership.leases import LeaderRole
from poolkeeper.model.rebalances import Course, RebalanceSpec, RebalanceStep
from poolkeeper.rebalances import lifecycle
from poolkeeper.rebalances import offers as rebalances_offers
from poolkeeper.rebalances.engines import PlanningEngine
from poolkeeper.rebalances.lifecycle import KnownCluster
from poolkeeper.rebalances.metrics import RebalanceMetrics, tally
from poolkeeper.rebalances.planning_task import PlanningTask
from poolkeeper.rebalances.records import RebalanceRecords, Record
from poolkeeper.reconcile.external_plan import ExternalPlan
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds import rebalance
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import Mood, Remark
from poolkeeper.resources.status.rebalance import Saying, asked_ms, course_of, invalid, remark_of
from poolkeeper.telemetry.metrics import Metrics

LOOK_S = 1.0
LOOK_MAX_S = 300.0

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Kept:
    """One Rebalance as this process knows it.

    `told`: its generation, deletion and finalizer when its status was last reported. `reason` is
    the reason reported then.
    """

    uid: str
    course: Course
    planning: PlanningTask
    record: Record | None = None
    told: tuple[int, bool, bool] | None = None
    reason: str = ""


@dataclass(slots=True)
class Rebalancers:
    """Drives all Rebalances; one thread runs `work`."""

    declared: Declared
    keepers: Keepers
    engines: Mapping[str, PlanningEngine]
    records: RebalanceRecords
    reporter: RebalanceReporter
    metrics: Metrics
    role: Callable[[], LeaderRole]
    stop: Event = field(default_factory=Event)
    wake: Event = field(default_factory=Event)
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    beat: Callable[[float], None] = lambda patience_s: None
    _kept: dict[str, _Kept] = field(default_factory=dict)

    def work(self) -> None:
        """Look at all Rebalances again and again, until `stop` is set."""
        while not self.stop.is_set():
            self.beat(LOOK_MAX_S)
            try:
                self.look()
            except Exception:
                # A bug in one look must not end this thread: nobody would notice.
                logger.exception("a pass over all Rebalances failed")
            self.wake.wait(LOOK_S)
            self.wake.clear()

    def end(self) -> None:
        """Make `work` return; the next leader resumes what is under way."""
        self.stop.set()
        self.wake.set()

    def look(self) -> None:
        """Take every Rebalance one step further."""
        role, assemblies = self.role(), self.keepers.assemblies
        if role is LeaderRole.STANDBY:
            self._let_go()
        if role is not LeaderRole.HELD or assemblies is None:
            return
        found = self._found()
        offers: dict[str, ExternalPlan] = {}
        takers: dict[str, str] = {}
        for each in sorted(found, key=self._order):
            try:
                offers = {**self._looked(each, assemblies, takers), **offers}
            except Exception:
                # A bug, or a status written by a later release, must not stop the other Rebalances.
                logger.exception("a pass over %s failed", each.key)
        self.keepers.offer(offers)
        uids = {each.uid for each in found}
        for uid in set(self._kept) - uids:
            self._kept.pop(uid).planning.end()
        self.reporter.retain(uids)
        self.metrics.rebalances(Counter(kept.reason for kept in self._kept.values()))

    def _order(self, each: CustomResource) -> tuple[bool, int, str]:
        """Sort key: Rebalances that execute come first, the oldest of them before the others.

        The first has its turn in a cluster.
        """
        kept = self._kept.get(each.uid)
        if kept is not None:
            return kept.course.step is not RebalanceStep.EXECUTING, kept.course.asked_ms, each.name
        status = each.status or {}
        return status.get("step") != RebalanceStep.EXECUTING, asked_ms(status), each.name

    def _found(self) -> list[CustomResource]:
        return [each for each in self.declared.known()[0] if each.kind == rebalance.KIND]

    def _kept_of(self, each: CustomResource) -> _Kept:
        kept = self._kept.get(each.uid)
        if kept is None:
            course = course_of(each.status)
            kept = _Kept(each.uid, course, PlanningTask(each.name, self.engines))
            self._kept[each.uid] = kept
        return kept

    def _let_go(self) -> None:
        """Forget everything, because another instance leads now."""
        self._kept.clear()
        self.metrics.rebalances({})
        self.reporter.retain(())
        self.keepers.let_go_of_offers()

    def _looked(
        self, each: CustomResource, assemblies: Mapping[str, Assembly], takers: dict[str, str]
    ) -> Mapping[str, ExternalPlan]:
        """Take one Rebalance one step further; return its external plans by cluster."""
        kept, spec = self._kept_of(each), each.spec
        seen = (each.generation, each.deleting, each.guarded)
        before = kept.course
        if before.step.ended and kept.told == seen:
            return {}  # it has ended, and its end was reported
        offers: Mapping[str, ExternalPlan] = {}
        if each.deleting:
            offers, remark = self._withdrawn(kept)
        elif not isinstance(spec, RebalanceSpec) or not each.sound:
            remark = invalid(each)
        else:
            try:
                offers, remark = self._step(kept, each, spec, assemblies, takers)
            except PoolkeeperError as failed:
                remark = Remark(Mood.UNSURE, "Waiting", str(failed))
        takers.update(dict.fromkeys(offers, each.name))
        guard = bool(offers) if each.deleting else kept.course.step is RebalanceStep.EXECUTING
        declared = spec if isinstance(spec, RebalanceSpec) else None
        self.reporter.tell(each, Saying(kept.course, remark), declared, guard=guard)
        kept.told, kept.reason = seen, remark.reason
        self._count(tally(before, kept.course, self.now_ms()))
        return offers

    def _count(self, new: RebalanceMetrics) -> None:
        if new.planned_s is not None:
            self.metrics.planned(new.engine, new.planned_s, new.planned_bytes)
        self.metrics.rebalanced(new.ended, new.moved_bytes)

    def _step(
        self,
        kept: _Kept,
        each: CustomResource,
        spec: RebalanceSpec,
        assemblies: Mapping[str, Assembly],
        takers: Mapping[str, str],
    ) -> tuple[Mapping[str, ExternalPlan], Remark]:
        if kept.course.step is RebalanceStep.WAITING_FOR_APPROVAL:
            self._await_approval(kept, each, spec, assemblies)
        if kept.course.step is RebalanceStep.PLANNING:
            if spec.paused:
                return {}, Remark(Mood.BUSY, "Paused", "nothing is planned; spec.paused is true")
            return {}, self._plan(kept, each, spec, assemblies)
        offers: Mapping[str, ExternalPlan] = {}
        if kept.course.step is RebalanceStep.EXECUTING:
            views = lifecycle.views(kept.course, assemblies, self.keepers.outcome, takers)
            offers = self._execute(kept, each, spec, views)
        return offers, remark_of(kept.course, spec)

    def _plan(
        self,
        kept: _Kept,
        each: CustomResource,
        spec: RebalanceSpec,
        assemblies: Mapping[str, Assembly],
    ) -> Remark:
        settling, now_ms = self.keepers.settling(), self.now_ms()
        found = kept.planning.look(spec, kept.course, assemblies, settling, now_ms)
        kept.course = found.course
        if found.record is None or found.scope is None:
            return found.remark
        digest = self.records.write(each, found.record)
        course = lifecycle.planned(found.course, found.scope, found.record.answer, digest)
        kept.course, kept.record = lifecycle.ended(course, now_ms), found.record
        kept.planning.end()
        return remark_of(kept.course, spec)

    def _await_approval(
        self,
        kept: _Kept,
        each: CustomResource,
        spec: RebalanceSpec,
        assemblies: Mapping[str, Assembly],
    ) -> None:
        """Begin to execute once the plans are approved; plan again if they are outdated."""
        if kept.planning.is_outdated(spec, kept.course, assemblies):
            self.records.remove(each, kept.course.record)
            kept.course, kept.record = Course(), None
        elif lifecycle.is_approved(spec, kept.course) and not spec.paused:
            kept.course = replace(kept.course, step=RebalanceStep.EXECUTING)

    def _execute(
        self,
        kept: _Kept,
        each: CustomResource,
        spec: RebalanceSpec,
        views: Mapping[str, KnownCluster],
    ) -> Mapping[str, ExternalPlan]:
        """Return the external plans of the clusters whose turn it is, and update their progress."""
        course = kept.course
        due = lifecycle.due(course, spec, views)
        course = lifecycle.seen(course, views, due)
        try:
            kept.record = kept.record or self.records.read(each, course.record)
            if kept.record is None:
                course = lifecycle.without_record(course)
        except PoolkeeperError as failed:
            logger.warning("the plans of %s cannot be read: %s", each.key, failed)
        kept.course = lifecycle.ended(course, self.now_ms())
        if kept.course.step.ended:
            kept.record = None
        if not each.guarded:
            return {}  # without our finalizer it could disappear and leave its runs behind
        return rebalances_offers.offers(kept.course, due, kept.record, spec, self.now_ms())

    def _withdrawn(self, kept: _Kept) -> tuple[Mapping[str, ExternalPlan], Remark]:
        """End the runs of a deleted Rebalance, each after its stage in flight.

        Returns a withdrawn external plan for each cluster that may still run one.
        """
        kept.planning.end()
        offers = {}
        if kept.course.step is RebalanceStep.EXECUTING:
            for part in kept.course.parts:
                outcome, loops = self.keepers.outcome(part.cluster), self.keepers.names()
                if rebalances_offers.may_run(part, outcome, kept=part.cluster in loops):
                    offers[part.cluster] = ExternalPlan(part.hash, withdrawn=True)
        left = ", ".join(sorted(offers)) or "none is left"
        message = f"its runs end after their stages in flight: {left}"
        return offers, Remark(Mood.BUSY, "Deleting", message)
