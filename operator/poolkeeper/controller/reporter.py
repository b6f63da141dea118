"""Turns the outcome of a pass into statuses, events and finalizers on the API server.

A report never waits for the API server. Statuses and events have queues of their own. One thread
adds and removes finalizers. It does not retry a failed write: every report names all the finalizers
that are wanted.

Events report transitions. The status before is the one last reported, or the live one after a
change of leader. So a new leader repeats no event.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from threading import Condition, Lock, Thread
from typing import Any, Self

from poolkeeper.controller.outage import Outages, standing
from poolkeeper.errors import PoolkeeperError
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects import finalizers
from poolkeeper.kube.objects.events import Recorder
from poolkeeper.kube.objects.status_writer import StatusWriter
from poolkeeper.model.outcomes import ExternalPlanState, Outcome, Seen, State
from poolkeeper.model.specs import Mode
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds import kafka_cluster
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey, Status
from poolkeeper.resources.status.all_resources import statuses
from poolkeeper.resources.status.conditions import condition_of
from poolkeeper.resources.status.events import announcements
from poolkeeper.resources.status.finalizers import finalizer_changes
from poolkeeper.resources.status.status_inputs import Survey, survey
from poolkeeper.telemetry.logs import about
from poolkeeper.telemetry.metrics import Metrics

NOT_YET = Outcome(State.WAITING)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Told:
    """The status last reported of an object, and its live status at that time."""

    uid: str
    status: Mapping[str, Any]
    live: Status | None


class Reporter:
    """Reports the outcomes of all clusters; a context manager. `report` is thread-safe."""

    def __init__(
        self,
        api: finalizers.FinalizerApi,
        writer: StatusWriter,
        recorder: Recorder,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer = writer
        self._recorder = recorder
        self._metrics = metrics
        self._guards = Guards(api)
        self._told: dict[ObjectKey, _Told] = {}
        self._outages = Outages()
        self._clock = clock
        self._surveys: dict[str, tuple[Assembly, Seen | None, Survey]] = {}
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._guards.close()

    def report(self, assembly: Assembly, outcome: Outcome) -> None:
        """Report the outcome of a pass on every resource of the cluster."""
        with self._lock:
            rest = self._outages.outcome_for_the_rest(assembly.name, outcome, self._clock())
        found = self._surveyed(assembly, None if rest is None else rest.seen)
        said = self._said(found, outcome, rest)
        for key, status in said.items():
            self._tell(assembly.objects[key], status)
        for key, wanted in finalizer_changes(found, run_looms(assembly, outcome)).items():
            self._guards.put(_reference(assembly.objects[key]), wanted)
        self._count(assembly, said)

    def report_without_loop(self, assemblies: Iterable[Assembly]) -> None:
        """Report on the resources of clusters without a loop why nothing is done for them."""
        for assembly in assemblies:
            self.report(assembly, NOT_YET)

    def retain(self, keys: Collection[ObjectKey], clusters: Collection[str]) -> None:
        """Forget all resources and clusters but these."""
        with self._lock:
            gone = [(key, self._told.pop(key)) for key in set(self._told) - set(keys)]
            for name in set(self._surveys) - set(clusters):
                del self._surveys[name]
            for name in self._outages.names() - set(clusters):
                self._outages.forget(name)
        for key, told in gone:
            self._writer.forget(Reference(key.kind, key.namespace, key.name, told.uid))

    def let_go(self) -> None:
        """Drop all reports not yet written, because another instance leads now."""
        self.retain((), ())
        self._recorder.forget()
        self._guards.forget()

    def _said(
        self, found: Survey, outcome: Outcome, rest: Outcome | None
    ) -> Mapping[ObjectKey, Mapping[str, Any]]:
        """Return the statuses to write: the KafkaCluster's from `outcome`, all others from `rest`.

        A watch lags behind our own writes. So the status before is the one last reported, not the
        cached one.
        """
        now_ms = time.time_ns() // 1_000_000
        assembly = self._as_told(found.assembly)
        said = dict(statuses(assembly, found.seen, rest or outcome, now_ms, found))
        if rest is None:
            for key in standing(assembly):
                del said[key]
        if rest is not outcome and assembly.cluster is not None:
            own = {
                key: each
                for key, each in assembly.objects.items()
                if key.kind == kafka_cluster.KIND
            }
            alone = replace(assembly, objects=own)
            blind = replace(found, seen=None)
            said.update(statuses(alone, None, outcome, now_ms, blind))
        return said

    def _as_told(self, assembly: Assembly) -> Assembly:
        with self._lock:
            objects = {
                key: replace(each, status=told.status)
                if (told := self._told.get(key)) is not None and told.uid == each.uid
                else each
                for key, each in assembly.objects.items()
            }
        return replace(assembly, objects=objects)

    def _surveyed(self, assembly: Assembly, seen: Seen | None) -> Survey:
        """Return the survey; it is reused while assembly and observation are unchanged.

        Making it is most of a report's work.
        """
        with self._lock:
            known = self._surveys.get(assembly.name)
        if known is not None and known[0] is assembly and known[1] is seen:
            return known[2]
        made = survey(assembly, seen)
        with self._lock:
            self._surveys[assembly.name] = (assembly, seen, made)
        return made

    def _tell(self, each: CustomResource, status: Mapping[str, Any]) -> None:
        with self._lock:
            told = self._told.get(each.key)
            if told is not None and told.uid != each.uid:
                told = None
            self._told[each.key] = _Told(each.uid, status, each.status)
        if told is not None and told.status == status and told.live == each.status:
            return
        reference = _reference(each)
        self._writer.put(reference, dict(status), dict(each.status or {}))
        before = each.status if told is None else told.status
        for event in announcements(each.key, before, status):
            warning = event.type == "Warning"
            if self._recorder.record(reference, event.reason, event.note, warning=warning):
                level = logging.WARNING if warning else logging.INFO
                extra = about(each.kind, each.name, each.namespace)
                logger.log(level, "%s: %s", event.reason, event.note, extra=extra)

    def _count(self, assembly: Assembly, said: Mapping[ObjectKey, Mapping[str, Any]]) -> None:
        ready: dict[str, Counter[str]] = {}
        for key, each in assembly.objects.items():
            condition = condition_of(said.get(key, each.status), "Ready")
            ready.setdefault(key.kind, Counter())[condition.get("status", "Unknown")] += 1
        for kind, counts in ready.items():
            self._metrics.resources(assembly.name, kind, counts)


class Guards:
    """A thread that adds our finalizer to objects and removes it; the latest request wins."""

    def __init__(self, api: finalizers.FinalizerApi) -> None:
        self._api = api
        self._wanted: dict[Reference, bool] = {}
        self._ended = False
        self._condition = Condition()
        self._thread = Thread(target=self._work, name="finalizers", daemon=True)
        self._thread.start()

    def put(self, reference: Reference, wanted: bool) -> None:
        """Request that the object has our finalizer, or has it not."""
        with self._condition:
            self._wanted[reference] = wanted
            self._condition.notify_all()

    def forget(self) -> None:
        """Drop all requests."""
        with self._condition:
            self._wanted.clear()

    def close(self) -> None:
        """Stop the thread; the next leader requests again what is left."""
        with self._condition:
            self._ended = True
            self._condition.notify_all()
        self._thread.join(1)

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            reference, wanted = taken
            try:
                change = finalizers.add if wanted else finalizers.remove
                change(self._api, reference)
            except PoolkeeperError as error:
                extra = about(reference.kind, reference.name, reference.namespace)
                logger.info("the finalizer is not written yet: %s", error, extra=extra)

    def _take(self) -> tuple[Reference, bool] | None:
        with self._condition:
            self._condition.wait_for(lambda: self._wanted or self._ended)
            if self._ended:
                return None
            return self._wanted.popitem()


def run_looms(assembly: Assembly, outcome: Outcome) -> bool | None:
    """Whether a run is recorded or the next pass may record one; None if that is unknown.

    The finalizer must be on the KafkaCluster before the run is recorded. Otherwise the KafkaCluster
    could disappear in between, and leave the run and its throttles behind.
    """
    if outcome.progress is not None or outcome.recorded:
        return True
    if outcome.external is not None and outcome.external.state is ExternalPlanState.WAITING:
        return True
    if outcome.seen is None:
        return None
    may_begin = assembly.desired is not None and assembly.desired.cluster.mode is Mode.APPLY
    return may_begin and outcome.plan is not None and bool(outcome.plan.moves)


def _reference(each: CustomResource) -> Reference:
    return Reference(each.kind, each.namespace, each.name, each.uid)
