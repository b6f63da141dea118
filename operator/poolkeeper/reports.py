"""From what a pass found to what the API server shows: statuses, events and finalizers.

A report never waits for the API server. Statuses and events have queues of their own; finalizers
are put on and taken off by one thread, and since every report says again which are wanted, one that
failed is not repeated here.

Events tell transitions. What an object's status was before is what was last reported of it, or what
is live where nothing was: a new leader announces nothing again.
"""

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from threading import Condition, Lock, Thread
from types import TracebackType
from typing import Any, Self

from poolkeeper.errors import PoolkeeperError
from poolkeeper.kube import finalizers
from poolkeeper.kube.clients import Api
from poolkeeper.kube.events import Recorder
from poolkeeper.kube.references import Reference
from poolkeeper.kube.statuses import StatusWriter
from poolkeeper.model.outcomes import Outcome, Seen, State
from poolkeeper.resources.announcements import announcements
from poolkeeper.resources.assemblies import Assembly
from poolkeeper.resources.conditions import condition_of
from poolkeeper.resources.finalizers import finalizer_changes
from poolkeeper.resources.objects import Object, ObjectKey, Status
from poolkeeper.resources.statuses import statuses
from poolkeeper.resources.surveys import Survey, survey
from poolkeeper.telemetry.logs import about
from poolkeeper.telemetry.metrics import Metrics

NOT_YET = Outcome(State.WAITING)
OUTAGE_S = 60.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Told:
    """What was last reported of an object, and what it said then."""

    uid: str
    status: Mapping[str, Any]
    live: Status | None


class Reporter:
    """Reports of all clusters; a context. `report` may be called from several threads."""

    def __init__(
        self, api: Api, writer: StatusWriter, recorder: Recorder, metrics: Metrics
    ) -> None:
        self._writer = writer
        self._recorder = recorder
        self._metrics = metrics
        self._guards = Guards(api)
        self._told: dict[ObjectKey, _Told] = {}
        self._seen: dict[str, tuple[Seen, float]] = {}
        self._surveys: dict[str, tuple[Assembly, Seen | None, Survey]] = {}
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._guards.close()

    def report(self, assembly: Assembly, outcome: Outcome) -> None:
        """Have every resource of a cluster say how a pass over it ended."""
        seen = self._seen_of(assembly.name, outcome)
        found = self._surveyed(assembly, seen)
        said = statuses(assembly, seen, outcome, time.time_ns() // 1_000_000, found)
        for key, status in said.items():
            self._tell(assembly.objects[key], status)
        for key, wanted in finalizer_changes(found, _run_recorded(outcome)).items():
            self._guards.put(_reference(assembly.objects[key]), wanted)
        self._count(assembly, said)

    def report_without_loop(self, assemblies: Iterable[Assembly]) -> None:
        """Have the resources say why nothing is done for them."""
        for assembly in assemblies:
            self.report(assembly, NOT_YET)

    def retain(self, keys: Collection[ObjectKey], clusters: Collection[str]) -> None:
        """Forget resources and clusters that are gone."""
        with self._lock:
            gone = [(key, self._told.pop(key)) for key in set(self._told) - set(keys)]
            for name in set(self._surveys) - set(clusters):
                del self._surveys[name]
                self._seen.pop(name, None)
        for key, told in gone:
            self._writer.forget(Reference(key.kind, key.namespace, key.name, told.uid))

    def let_go(self) -> None:
        """Write nothing any more of what was reported: somebody else leads."""
        self.retain((), ())

    def _seen_of(self, name: str, outcome: Outcome) -> Seen | None:
        """Let a short outage show on the KafkaCluster alone, not on thousands of Topics."""
        now_s = time.monotonic()
        with self._lock:
            if outcome.seen is not None:
                self._seen[name] = (outcome.seen, now_s)
            last, at_s = self._seen.get(name, (None, 0.0))
            return last if now_s - at_s < OUTAGE_S else None

    def _surveyed(self, assembly: Assembly, seen: Seen | None) -> Survey:
        """Keep the survey while neither changes: it is most of the work."""
        with self._lock:
            known = self._surveys.get(assembly.name)
        if known is not None and known[0] is assembly and known[1] is seen:
            return known[2]
        made = survey(assembly, seen)
        with self._lock:
            self._surveys[assembly.name] = (assembly, seen, made)
        return made

    def _tell(self, each: Object, status: Mapping[str, Any]) -> None:
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
        for key, status in said.items():
            condition = condition_of(status, "Ready")
            ready.setdefault(key.kind, Counter())[condition.get("status", "Unknown")] += 1
        for kind, counts in ready.items():
            self._metrics.resources(assembly.name, kind, counts)


class Guards:
    """A thread that puts our finalizer on objects and takes it off; the latest wish counts."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._wanted: dict[Reference, bool] = {}
        self._ended = False
        self._condition = Condition()
        self._thread = Thread(target=self._work, name="finalizers", daemon=True)
        self._thread.start()

    def put(self, reference: Reference, wanted: bool) -> None:
        """Want the finalizer on the object, or off it."""
        with self._condition:
            self._wanted[reference] = wanted
            self._condition.notify_all()

    def close(self) -> None:
        """Do no more; what is left is wanted again by the next leader."""
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
                logger.info("the finalizer is not as wanted yet: %s", error, extra=extra)

    def _take(self) -> tuple[Reference, bool] | None:
        with self._condition:
            self._condition.wait_for(lambda: self._wanted or self._ended)
            if self._ended:
                return None
            return self._wanted.popitem()


def _run_recorded(outcome: Outcome) -> bool | None:
    if outcome.progress is not None or outcome.recorded:
        return True
    return None if outcome.seen is None else False


def _reference(each: Object) -> Reference:
    return Reference(each.kind, each.namespace, each.name, each.uid)
