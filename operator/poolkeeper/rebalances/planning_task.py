"""The planning of one Rebalance: what is requested, from which engine, and when it is again.

A request is made once, and its response then fetched. It is made again if the scope changes, or
what is declared of clusters and pools. While declarations still arrive, the task waits. If no
cluster at all could be planned, there is no plan yet: clusters that are away may return.
"""

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from poolkeeper.errors import PoolkeeperError, Refused, Unavailable
from poolkeeper.model.rebalances import Course, RebalanceSpec, RebalanceStep
from poolkeeper.rebalances.engines import LOCAL, PlanningEngine, chosen
from poolkeeper.rebalances.records import Record, record_of
from poolkeeper.rebalances.request import RebalanceRequest
from poolkeeper.rebalances.response import RebalanceResponse
from poolkeeper.rebalances.scope import Declarations, RebalanceScope, scope_of
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.status.conditions import Mood, Remark
from poolkeeper.resources.status.wording import count, few

AGAIN_S = 30.0
SETTLING_MS_MAX = 30_000
SHOWN_MAX = 3
CLUSTERS_MAX = 1000
"""A status is one object of the API server's, and tells of each of them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of the planning; with a `record` it is done, for the scope `scope`."""

    course: Course
    remark: Remark
    scope: RebalanceScope | None = None
    record: Record | None = None


class PlanningTask:
    """The planning of one Rebalance; see the module. One for each, while it is being planned."""

    def __init__(
        self,
        name: str,
        engines: Mapping[str, PlanningEngine],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._engines = engines
        self._clock = clock
        self._declarations = Declarations()
        self._question: RebalanceRequest | None = None
        self._again_s = 0.0
        self._failed: Remark | None = None

    def look(
        self,
        spec: RebalanceSpec,
        course: Course,
        assemblies: Mapping[str, Assembly],
        settling: Collection[str],
        now_ms: int,
    ) -> Finding:
        """Request plans, or fetch the response; `settling`: clusters that are being declared."""
        scope = scope_of(spec, assemblies, self._declarations)
        if hindrance := _hindrance(scope):
            self.end()
            return Finding(Course(), hindrance)
        if course.scope != scope.digest or not course.asked_ms:
            self.end()
            course = Course(asked_ms=now_ms, scope=scope.digest)
        arriving = not {each.cluster for each in scope.asked}.isdisjoint(settling)
        early = self._question is None and now_ms - course.asked_ms < SETTLING_MS_MAX
        if arriving and early:
            message = "what is declared changed a moment ago: planning waits for the settle time"
            return Finding(course, Remark(Mood.BUSY, "Planning", message))
        if self._failed is not None:
            if self._clock() < self._again_s:
                return Finding(course, self._failed)
            if self._question is None:
                course = replace(course, asked_ms=now_ms)
            self._failed = None
        return self._ask(spec, course, scope)

    def is_outdated(
        self, spec: RebalanceSpec, course: Course, assemblies: Mapping[str, Assembly]
    ) -> bool:
        """Whether the request would now differ from the one that has its response."""
        return scope_of(spec, assemblies, self._declarations).digest != course.scope

    def end(self) -> None:
        """Drop the planning under way."""
        if self._question is not None:
            for engine in self._engines.values():
                # What cannot be deleted now goes with the Rebalance, or makes way for the next.
                with contextlib.suppress(PoolkeeperError):
                    engine.forget(self._name)
        self._question = None
        self._failed = None

    def _ask(self, spec: RebalanceSpec, course: Course, scope: RebalanceScope) -> Finding:
        try:
            choice = chosen(spec.engine, self._engines, scope.partitions)
            course = replace(course, step=RebalanceStep.PLANNING, engine=choice.name)
            question = self._question or scope.question(spec, course.asked_ms)
            self._question = question
            answer = choice.engine.ask(self._name, question)
            waits = choice.engine.standing(self._name, question) if answer is None else ""
        except PoolkeeperError as failed:
            return self._later(course, _trouble(failed))
        if answer is None:
            who = "the operator" if choice.name == LOCAL else "a Job with Spark"
            message = f"{who} reads and plans {count(len(scope.asked), 'cluster')}"
            told = "; ".join(filter(None, (message, choice.remark, waits)))
            return Finding(course, Remark(Mood.BUSY, "Planning", told))
        if all(each.plan is None for each in answer.clusters):
            self.end()
            return self._later(course, _nowhere(answer))
        said = Remark(Mood.BUSY, "Planning", "the plans are being stored")
        return Finding(course, said, scope, record_of(question, answer))

    def _later(self, course: Course, remark: Remark) -> Finding:
        self._failed = remark
        self._again_s = self._clock() + AGAIN_S
        return Finding(course, remark)


def _hindrance(scope: RebalanceScope) -> Remark | None:
    """What a person must change before plans can be requested."""
    if scope.missing:
        message = f"spec.pools: no cluster in scope has ResourcePool {few(scope.missing)}"
        return Remark(Mood.STALLED, "NoSuchPool", message)
    if len(scope.asked) + len(scope.others) > CLUSTERS_MAX:
        message = f"more than {CLUSTERS_MAX} clusters are in scope; divide them by spec.clusters"
        return Remark(Mood.STALLED, "Impossible", message)
    if scope.asked:
        return None
    if not scope.others:
        message = "spec.clusters: no KafkaCluster with a pool in scope exists"
        return Remark(Mood.STALLED, "NoSuchCluster", message)
    told = few((f"{part.cluster}: {part.message}" for part in scope.others), SHOWN_MAX)
    return Remark(Mood.STALLED, "NoSuchCluster", told)


def _trouble(failed: PoolkeeperError) -> Remark:
    match failed:
        case Refused():
            return Remark(Mood.STALLED, "Impossible", str(failed))
        case Unavailable():
            return Remark(Mood.UNSURE, "Unreachable", str(failed))
        case _:
            return Remark(Mood.UNSURE, "Planning", str(failed))


def _nowhere(answer: RebalanceResponse) -> Remark:
    told = few((f"{each.cluster}: {each.problem}" for each in answer.clusters), SHOWN_MAX)
    message = f"no cluster could be planned, retrying: {told}"
    return Remark(Mood.UNSURE, "Unreachable", message)
