"""Planning by Jobs: one for each request, named after it, owned by its Rebalance.

    no Job                 create it, suspended
    suspended              write its request, owned by it, and resume it, once in its life
    running                ask again later; a request that is not there yet is written
    complete               read the response, and check that it belongs to this request
    failed                 say why; the next call creates another one
    of another request     delete it: only one of a name is planned

Each call looks at the Job and does the next thing, so an operator that restarts continues where the
last one was. The name contains the request's digest: asking twice creates one Job. The response
stays readable until the Job is forgotten, or for its time to live; then planning begins again.
"""

import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import partial
from typing import Any, Protocol

from poolkeeper.errors import Refused, Stale, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.jobs import configmap_blob, jobs, planner_pods
from poolkeeper.kube.jobs.jobs import JobPhase, JobView
from poolkeeper.kube.jobs.planner_pods import PlannerJob, PlannerPodSettings
from poolkeeper.model.desired import Desired
from poolkeeper.model.names import API_VERSION, GROUP
from poolkeeper.rebalances.planning import text_chunks
from poolkeeper.rebalances.planning.request import RebalanceRequest
from poolkeeper.rebalances.planning.response import RebalanceResponse
from poolkeeper.rebalances.text_store import TextStore

NAME_CHARS_MAX = 27
"""Of a Rebalance's name in those of its Jobs: a driver's, with all that follows, may have 47."""
HASH_CHARS = 8
REBALANCE = f"{GROUP}/rebalance"
"""The label of a Job that says whose it is, as a digest: names may be longer than labels."""

_GOES_ON = (JobPhase.SUSPENDED, JobPhase.RUNNING)

logger = logging.getLogger(__name__)


class PlanningJobApi(jobs.JobApi, configmap_blob.ConfigMapApi, Protocol):
    """The part of the Kubernetes client that is needed here."""


OwnerOf = Callable[[str], dict[str, Any]]
"""Returns the ownerReference of a Rebalance by name; `Unavailable` where it does not exist."""


@frozen
class _JobRequest:
    """A request, its digest and its Job's name; digests of large fleets take a while."""

    request: RebalanceRequest
    digest: str
    job: str


@frozen
class JobEngine:
    """Plans by Jobs in one namespace; see `engines`. No call waits for a Job."""

    api: PlanningJobApi
    namespace: str
    settings: PlannerPodSettings
    owner_of: OwnerOf
    texts: TextStore
    clock: Callable[[], float] = time.monotonic
    _requests: dict[str, _JobRequest] = field(default_factory=dict)
    _begun: dict[str, str] = field(default_factory=dict)
    """By Rebalance, the uid of the Job that this process has begun, or found begun."""
    _absent: dict[str, tuple[object, float]] = field(default_factory=dict)
    """By Rebalance, the state of its Job that has no pods, and since when it is seen."""

    def request_plans(self, name: str, request: RebalanceRequest) -> RebalanceResponse | None:
        """Return the response, or `None` while planning is under way.

        Raises `Unavailable` with a sentence if the Job failed. That Job is deleted, and the next
        call creates another one.
        """
        job_request = self._request_of(name, request)
        job_view = jobs.read(self.api, self.namespace, job_request.job)
        if job_view is None:
            self._create(name, job_request)
            return None
        if not planner_pods.is_of_request(job_view.arguments, job_request.digest):
            jobs.delete(self.api, self.namespace, job_request.job, job_view.uid)
            return None
        self._begin(name, job_request, job_view)
        match job_view.phase:
            case JobPhase.COMPLETE:
                return self._response(job_request, job_view)
            case JobPhase.FAILED:
                jobs.delete(self.api, self.namespace, job_request.job, job_view.uid)
                raise Unavailable(job_view.failure)
        return None

    def pending_reason(self, name: str, request: RebalanceRequest) -> str:
        """What the Job waits for, in a sentence; empty if it runs or does not exist."""
        job = self._request_of(name, request).job
        return jobs.pending_reason(self.api, self.namespace, job, partial(self._seen_s, name))

    def _seen_s(self, name: str, state: object) -> float:
        now_s = self.clock()
        if self._absent.get(name, (None,))[0] != state:
            self._absent[name] = (state, now_s)
        return now_s - self._absent[name][1]

    def forget(self, name: str) -> None:
        """Delete all Jobs of that Rebalance, and with them their pods, requests and responses.

        A Job that cannot be deleted now goes with the Rebalance, or when its time to live is over.
        An operator that no longer leads leaves it to the next leader, which continues with it.
        """
        self.hand_over(name)
        try:
            self._delete_jobs(name, keep="")
        except (Unavailable, Stale) as failed:
            logger.info("Jobs of rebalance %s are left: %s", name, failed)

    def hand_over(self, name: str) -> None:
        """Drop the request: the next leader continues with its Job."""
        self._requests.pop(name, None)
        self._begun.pop(name, None)
        self._absent.pop(name, None)

    def _delete_jobs(self, name: str, keep: str) -> None:
        for job in jobs.names(self.api, self.namespace, f"{REBALANCE}={label(name)}"):
            if job != keep:
                answer = jobs.answer_name(job)
                stored = self.texts.stored(answer)
                jobs.delete(self.api, self.namespace, job)
                self.texts.delete_stored(answer, stored)

    def _sweep(self) -> None:
        try:
            swept = self.texts.sweep(time.time_ns() // 1_000_000)
        except (Unavailable, Refused) as failed:
            logger.info("storage of plans is not swept: %s", failed)
        else:
            if swept:
                logger.info("plans that nobody needs are swept: %s", ", ".join(swept))

    def _request_of(self, name: str, request: RebalanceRequest) -> _JobRequest:
        job_request = self._requests.get(name)
        if job_request is None or job_request.request is not request:
            job_request = _JobRequest(request, request.digest, job_name(name, request))
            self._requests[name] = job_request
        return job_request

    def _create(self, name: str, job_request: _JobRequest) -> None:
        self._delete_jobs(name, keep=job_request.job)
        self._sweep()
        count = len(text_chunks.chunks_of(job_request.request.to_json()))
        body = planner_pods.job(self._planner_job(name, job_request, count), self.settings)
        self._begin(name, job_request, jobs.create(self.api, self.namespace, body))

    def _begin(self, name: str, job_request: _JobRequest, job: JobView) -> None:
        """Write the Job's request and resume it, once: who suspends it after that has a reason.

        Somebody else may have resumed it before its request was there, as a queue of Jobs does.
        """
        if job.uid == self._begun.get(name) or job.phase not in _GOES_ON:
            return
        is_ours = job.phase is JobPhase.SUSPENDED and not job.is_suspended_again
        if is_ours or not self._is_requested(job_request, job):
            self._write_request(name, job_request, job)
        if is_ours:
            jobs.resume(self.api, self.namespace, job)
        self._begun[name] = job.uid

    def _is_requested(self, job_request: _JobRequest, job: JobView) -> bool:
        """Whether the Job's request is there; its first ConfigMap is written last."""
        try:
            kept = configmap_blob.read(self.api, self.namespace, jobs.question_name(job.name))
        except Refused:
            return False
        return kept is not None and kept.digest == job_request.digest

    def _write_request(self, name: str, job_request: _JobRequest, job: JobView) -> None:
        found = text_chunks.chunks_of(job_request.request.to_json())
        executor = planner_pods.executor(
            self._planner_job(name, job_request, len(found)), self.settings
        )
        text = configmap_blob.Text(
            found, job_request.digest, {planner_pods.TEMPLATE: planner_pods.text(executor)}
        )
        configmap_blob.write(
            self.api,
            self.namespace,
            jobs.question_name(job.name),
            jobs.owner(job.name, job.uid),
            text,
            jobs.labels(job.name),
        )

    def _planner_job(self, name: str, job_request: _JobRequest, count: int) -> PlannerJob:
        return PlannerJob(
            name=job_request.job,
            namespace=self.namespace,
            owner=self.owner_of(name),
            digest=job_request.digest,
            pieces=count,
            labels={REBALANCE: label(name)},
            secrets=tuple(sorted(set(secrets_of(job_request.request)))),
        )

    def _response(self, job_request: _JobRequest, job: JobView) -> RebalanceResponse | None:
        try:
            kept = self.texts.read(jobs.answer_name(job.name))
            if kept is None:
                raise Refused("its ConfigMaps, or what they name, are not all there")
            response = RebalanceResponse.from_json(
                text_chunks.join_chunks(kept.chunks, kept.digest)
            )
            if response.question != job_request.digest:
                raise Refused("it is the response to another request")
        except Refused as wrong:
            jobs.delete(self.api, self.namespace, job.name, job.uid)
            raise Unavailable(f"the response of Job {job.name} cannot be used: {wrong}") from wrong
        return response


def job_name(name: str, request: RebalanceRequest) -> str:
    """`daily-plan-1a2b3c4d`: the same for the same request of the same Rebalance."""
    short = re.sub(r"[^a-z0-9]+", "-", name)[:NAME_CHARS_MAX].strip("-")
    digest = hashlib.sha256(f"{name}\n{request.digest}".encode()).hexdigest()
    return f"{short}-plan-{digest[:HASH_CHARS]}"


def label(name: str) -> str:
    """The label value for a Rebalance's name."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def secrets_of(request: RebalanceRequest) -> Iterator[str]:
    """The Secrets that the clusters of the request name."""
    for cluster_request in request.asked:
        yield from _secrets(cluster_request.desired)


def _secrets(desired: Desired) -> Iterator[str]:
    for way in (desired.cluster.zookeeper, desired.cluster.brokers):
        if way is not None and way.credentials_secret:
            yield way.credentials_secret
        if way is not None and way.tls is not None and way.tls.secret:
            yield way.tls.secret


def rebalances(api: jobs.JobApi) -> OwnerOf:
    """Owners as the API server has them."""

    def owner(name: str) -> dict[str, Any]:
        found = api.get(Reference("Rebalance", "", name).path)
        if found is None:
            raise Unavailable(f"there is no Rebalance {name}")
        uid = found["metadata"]["uid"]
        return {"apiVersion": API_VERSION, "kind": "Rebalance", "name": name, "uid": uid}

    return owner
