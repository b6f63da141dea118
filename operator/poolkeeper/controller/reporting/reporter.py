"""Turns the outcome of a pass into statuses, events and finalizers on the API server.

A report never waits for the API server. Statuses and events have queues of their own. Two threads
add and remove finalizers. They do not retry a failed write: every report names all the finalizers
that are wanted.

Events report transitions of statuses, and decisions of passes. The status before is the one last
reported, or the live one after a change of leader. So a new leader repeats no transition.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import replace
from threading import Lock
from typing import Any, Self

from poolkeeper.controller.reporting import event_records
from poolkeeper.controller.reporting.answered_requests import AnsweredRequests
from poolkeeper.controller.reporting.background_writer import BackgroundWriter
from poolkeeper.controller.reporting.event_records import reference_of
from poolkeeper.controller.reporting.operator_names import OPERATOR, OperatorName, two_operators
from poolkeeper.controller.reporting.outage import (
    Outages,
    ReportedPass,
    resources_with_current_status,
)
from poolkeeper.controller.reporting.pass_assembly import unchanged_resources
from poolkeeper.controller.reporting.plan_keeper import PlanKeeper
from poolkeeper.controller.reporting.reported_status import ReportedStatus
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects import finalizers
from poolkeeper.kube.objects.conditions import status_bytes
from poolkeeper.kube.objects.events import EventRecorder
from poolkeeper.kube.objects.status_writer import StatusWriter
from poolkeeper.model.execution.outcomes import LastObservation, Outcome, State
from poolkeeper.model.execution.person_requests import RequestAnswer
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds import kafka_cluster, resource_pool, topic
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.all_resources import statuses
from poolkeeper.resources.status.conditions import condition_of, conditions
from poolkeeper.resources.status.decision_events import (
    RUN_ENDED,
    ToldDecisions,
    answer_event,
    decision_events,
)
from poolkeeper.resources.status.events import StatusEvent, status_events
from poolkeeper.resources.status.finalizers import (
    finalizer_changes,
    forbidden_condition,
    is_run_possible,
)
from poolkeeper.resources.status.status_inputs import StatusInputs, status_inputs_of
from poolkeeper.telemetry.metrics import Metrics

NOT_YET = Outcome(State.WAITING)
COUNTED_KINDS = (kafka_cluster.KIND, resource_pool.KIND, topic.KIND)
PLAN_DOCUMENT = "planDocument"
FINALIZER_THREADS = 2


class Reporter:
    """Reports the outcomes of all clusters; a context manager. `report` is thread-safe."""

    def __init__(
        self,
        api: finalizers.FinalizerApi,
        writer: StatusWriter,
        recorder: EventRecorder,
        metrics: Metrics,
        plans: PlanKeeper | None = None,
        operator: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer = writer
        self._recorder = recorder
        self._metrics = metrics
        self._plans = plans
        self._operator = OperatorName(operator)
        self._finalizers = finalizer_writer(api)
        self._requests = AnsweredRequests(api)
        self._reported: dict[ObjectKey, ReportedStatus] = {}
        self._outages = Outages()
        self._clock = clock
        self._inputs: dict[str, tuple[Assembly, LastObservation | None, StatusInputs]] = {}
        self._decisions: dict[str, ToldDecisions] = {}
        self._counted: set[str] = set()
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._finalizers.close()
        self._requests.close()
        if self._plans is not None:
            self._plans.close()

    def answer(self, cluster: CustomResource, answer: RequestAnswer) -> None:
        """Tell what came of a person's request, and take it off the KafkaCluster."""
        event_records.record(self._recorder, cluster, answer_event(answer))
        self._requests.put(reference_of(cluster), answer)

    def is_left(self, cluster: CustomResource, text: str) -> bool:
        """Whether a request that was answered is still to be taken off; this tries it again."""
        return self._requests.put_again(reference_of(cluster), text)

    def report(
        self, assembly: Assembly, outcome: Outcome, edited: Set[ObjectKey] = frozenset()
    ) -> None:
        """Report the outcome of a pass on every resource of the cluster but those `edited` since.

        What has been edited keeps its status and its finalizer until a pass knows of the edit.
        """
        with self._lock:
            dependents = self._outages.pass_for_topics_and_pools(assembly, outcome, self._clock())
        found = self._inputs_of(assembly, dependents)
        statuses_of = self._statuses(assembly, found, outcome, dependents)
        self._keep_plan(assembly, outcome, statuses_of)
        statuses_of = self._with_operators(assembly, outcome, statuses_of)
        needed = finalizer_changes(found, is_run_possible(assembly, outcome))
        changes = {
            key: wanted
            for key, wanted in needed.items()
            if key in assembly.objects and key not in edited
        }
        self._tell_of_forbidden_finalizers(assembly, changes, statuses_of)
        self._report_decisions(assembly, outcome)
        for key, status in statuses_of.items():
            if key not in edited:
                self._report_status(assembly.objects[key], status)
        for key, wanted in changes.items():
            self._finalizers.put(reference_of(assembly.objects[key]), wanted)
        self._count_ready(assembly, statuses_of)

    def report_without_loop(self, assemblies: Iterable[Assembly]) -> None:
        """Report on the resources of clusters without a loop why nothing is done for them."""
        for assembly in assemblies:
            self.report(assembly, NOT_YET)

    def retain(self, keys: Collection[ObjectKey], clusters: Collection[str]) -> None:
        """Forget all resources and clusters but these."""
        with self._lock:
            gone = [(key, self._reported.pop(key)) for key in set(self._reported) - set(keys)]
            for name in set(self._decisions) - set(clusters):
                del self._decisions[name]
            for name in set(self._inputs) - set(clusters):
                del self._inputs[name]
            self._operator.retain(clusters)
            for name in self._outages.names() - set(clusters):
                self._outages.forget(name)
            uncounted = self._counted - set(clusters)
            self._counted -= uncounted
        for name in uncounted:
            self._metrics.forget_resources(name)
        if self._plans is not None:
            self._plans.retain(clusters)
        for key, reported in gone:
            reference = Reference(key.kind, key.namespace, key.name, reported.uid)
            self._writer.forget(reference)
            self._finalizers.forget_object(reference)
            self._requests.forget_object(reference)

    def drop_pending(self) -> None:
        """Drop all reports not yet written, because another instance leads now."""
        self.retain((), ())
        self._recorder.forget()
        self._finalizers.forget()
        self._requests.forget()
        if self._plans is not None:
            self._plans.forget()

    def _keep_plan(
        self,
        assembly: Assembly,
        outcome: Outcome,
        statuses_of: dict[ObjectKey, Mapping[str, Any]],
    ) -> None:
        """Keep the plan that the status of the KafkaCluster names, and say there where it is."""
        cluster, desired = assembly.cluster, assembly.desired
        if self._plans is None or cluster is None:
            return
        status = statuses_of.get(cluster.key)
        if status is None or "plan" not in status:
            return
        where = (self._reported_status(cluster) or {}).get(PLAN_DOCUMENT)
        plan, seen = outcome.plan, outcome.last_observation
        if plan is not None and desired is not None and seen is not None:
            where = self._plans.put(reference_of(cluster), plan, desired, seen)
        if where:
            statuses_of[cluster.key] = {**status, PLAN_DOCUMENT: where}

    def _with_operators(
        self,
        assembly: Assembly,
        outcome: Outcome,
        statuses_of: dict[ObjectKey, Mapping[str, Any]],
    ) -> dict[ObjectKey, Mapping[str, Any]]:
        """Say in the status of the KafkaCluster who writes it, and if several releases do.

        Where another release writes the statuses, that is all that is said.
        """
        cluster, desired = assembly.cluster, assembly.desired
        if cluster is None or cluster.key not in statuses_of or not self._operator.own:
            return statuses_of
        live = cluster.status or {}
        with self._lock:
            writers = self._operator.writers(
                cluster.name, str(live.get(OPERATOR, "")), self._clock()
            )
        mode = None if desired is None else desired.cluster.mode
        is_ours = self._operator.may_write(writers, outcome, mode)
        status = {**(statuses_of[cluster.key] if is_ours else live), OPERATOR: writers.said}
        if len(writers.names) > 1:
            condition = two_operators(writers.names)
            now_ms = time.time_ns() // 1_000_000
            status["conditions"] = conditions(condition, cluster.generation, live, now_ms)
            if writers.is_news:
                event_records.record(
                    self._recorder,
                    cluster,
                    StatusEvent("Warning", condition.reason, condition.message),
                )
        if is_ours:
            return {**statuses_of, cluster.key: status}
        return {} if status_bytes(status) == status_bytes(dict(live)) else {cluster.key: status}

    def _tell_of_forbidden_finalizers(
        self,
        assembly: Assembly,
        changes: Mapping[ObjectKey, bool],
        statuses_of: dict[ObjectKey, Mapping[str, Any]],
    ) -> None:
        """Say of what is as declared that it lacks the finalizer, if it may not be added."""
        now_ms = time.time_ns() // 1_000_000
        for key, wanted in changes.items():
            resource, status = assembly.objects[key], statuses_of.get(key)
            ready = condition_of(status, "Ready")
            if status is None or not wanted or ready.get("status") != "True":
                continue
            if why := self._finalizers.hindrance(reference_of(resource)):
                condition = forbidden_condition(key.kind, ready["message"], why)
                before = self._reported_status(resource)
                told = conditions(condition, resource.generation, before, now_ms)
                statuses_of[key] = {**status, "conditions": told}

    def _reported_status(self, resource: CustomResource) -> Mapping[str, Any] | None:
        with self._lock:
            reported = self._reported.get(resource.key)
        if reported is not None and reported.uid == resource.uid:
            return reported.status
        return resource.status

    def _statuses(
        self,
        assembly: Assembly,
        inputs: StatusInputs,
        outcome: Outcome,
        dependents: ReportedPass | None,
    ) -> dict[ObjectKey, Mapping[str, Any]]:
        """Return the statuses: the KafkaCluster's from `outcome`, others from `dependents`.

        A watch lags behind our own writes. So the status before is the one last reported, not the
        cached one.
        """
        now_ms = time.time_ns() // 1_000_000
        now = self._with_reported_statuses(assembly)
        if dependents is not None and dependents.outcome is outcome:
            return dict(statuses(now, inputs.observation, outcome, now_ms, inputs))
        # What no pass told of, because it is new, or edited since, tells what keeps passes away.
        told: dict[ObjectKey, Mapping[str, Any]] = {**statuses(now, None, outcome, now_ms)}
        for key in resources_with_current_status(now):
            del told[key]
        if dependents is not None:
            then = self._with_reported_statuses(dependents.assembly)
            of_pass = statuses(then, inputs.observation, dependents.outcome, now_ms, inputs)
            told |= {key: of_pass[key] for key in unchanged_resources(then, now)}
        if assembly.cluster is not None:
            own = {assembly.cluster.key: now.objects[assembly.cluster.key]}
            alone = replace(now, objects=own)
            blind = replace(inputs, assembly=now, desired=now.desired, observation=None)
            told |= statuses(alone, None, outcome, now_ms, blind)
        return told

    def _with_reported_statuses(self, assembly: Assembly) -> Assembly:
        with self._lock:
            objects = {
                key: replace(each, status=reported.status)
                if (reported := self._reported.get(key)) is not None and reported.uid == each.uid
                else each
                for key, each in assembly.objects.items()
            }
        return replace(assembly, objects=objects)

    def _inputs_of(self, assembly: Assembly, dependents: ReportedPass | None) -> StatusInputs:
        """Return the status inputs, reused while assembly and observation are unchanged.

        Making them is most of a report's work.
        """
        observation = None
        if dependents is not None:
            assembly, observation = dependents.assembly, dependents.outcome.last_observation
        with self._lock:
            known = self._inputs.get(assembly.name)
        if known is not None and known[0] is assembly and known[1] is observation:
            return known[2]
        made = status_inputs_of(assembly, observation)
        with self._lock:
            self._inputs[assembly.name] = (assembly, observation, made)
        return made

    def _report_status(self, resource: CustomResource, status: Mapping[str, Any]) -> None:
        """Have a status written, and tell what changed."""
        now_s, live = self._clock(), resource.status
        with self._lock:
            reported = self._reported.get(resource.key)
            if reported is not None and reported.uid != resource.uid:
                reported = None
            if reported is not None and reported.tells(status, live, now_s):
                return
            self._reported[resource.key] = ReportedStatus(resource.uid, status, live, now_s)
        reference = reference_of(resource)
        self._writer.put(reference, dict(status), dict(resource.status or {}))
        before = resource.status if reported is None else reported.status
        for event in status_events(resource.key, before, status):
            if event.reason != RUN_ENDED or not self._is_end_told(resource):
                event_records.record(self._recorder, resource, event)

    def _report_decisions(self, assembly: Assembly, outcome: Outcome) -> None:
        """Send the events of what the pass decided."""
        if assembly.cluster is None:
            return
        with self._lock:
            told = self._decisions.get(assembly.name, ToldDecisions())
            events, self._decisions[assembly.name] = decision_events(outcome, told, self._clock())
        for event in events:
            event_records.record(self._recorder, assembly.cluster, event)

    def _is_end_told(self, resource: CustomResource) -> bool:
        """Whether a pass of this process ended the cluster's run, and told how."""
        with self._lock:
            return self._decisions.get(resource.name, ToldDecisions()).has_ended

    def _count_ready(
        self, assembly: Assembly, statuses_of: Mapping[ObjectKey, Mapping[str, Any]]
    ) -> None:
        ready: dict[str, Counter[str]] = {kind: Counter() for kind in COUNTED_KINDS}
        for key, each in assembly.objects.items():
            condition = condition_of(statuses_of.get(key, each.status), "Ready")
            ready[key.kind][condition.get("status", "Unknown")] += 1
        with self._lock:
            self._counted.add(assembly.name)
        for kind, counts in ready.items():
            self._metrics.set_resources(assembly.name, kind, counts)


def finalizer_writer(api: finalizers.FinalizerApi) -> BackgroundWriter[bool]:
    """Return what adds our finalizer to objects (true) and removes it (false)."""

    def write(reference: Reference, wanted: bool) -> None:
        change = finalizers.add if wanted else finalizers.remove
        change(api, reference)

    return BackgroundWriter("finalizers", write, threads=FINALIZER_THREADS)
