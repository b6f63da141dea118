"""Planning by Jobs: one for each request, named after it, owned by its Rebalance.

    no Job                 create it, suspended
    suspended              write its request, owned by it, and resume it
    running                ask again later
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from poolkeeper.errors import Refused, Stale, Unavailable
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.jobs import configmap_blob, jobs, planner_pods
from poolkeeper.kube.jobs.jobs import JobPhase, Look
from poolkeeper.kube.jobs.planner_pods import PlannerJob, PlannerPodSettings
from poolkeeper.model.names import API_VERSION, GROUP
from poolkeeper.model.specs import Desired
from poolkeeper.rebalances import text_chunks
from poolkeeper.rebalances.request import RebalanceRequest
from poolkeeper.rebalances.response import RebalanceResponse

NAME_CHARS_MAX = 27
"""Of a Rebalance's name in those of its Jobs: a driver's, with all that follows, may have 47."""
HASH_CHARS = 8
REBALANCE = f"{GROUP}/rebalance"
"""The label of a Job that says whose it is, as a digest: names may be longer than labels."""

logger = logging.getLogger(__name__)


class PlanningJobApi(jobs.JobApi, configmap_blob.ConfigMapApi, Protocol):
    """The part of the Kubernetes client that is needed here."""


OwnerOf = Callable[[str], dict[str, Any]]
"""Returns the ownerReference of a Rebalance by name; `Unavailable` where it does not exist."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A request, its digest and its Job's name; digests of large fleets take a while."""

    question: RebalanceRequest
    digest: str
    job: str


@dataclass(frozen=True, slots=True)
class JobEngine:
    """Plans by Jobs in one namespace; see `rebalances.engines`. No call waits for a Job."""

    api: PlanningJobApi
    namespace: str
    settings: PlannerPodSettings
    owner_of: OwnerOf
    _known: dict[str, _Known] = field(default_factory=dict)

    def ask(self, name: str, question: RebalanceRequest) -> RebalanceResponse | None:
        """Return the response, or `None` while planning is under way.

        Raises `Unavailable` with a sentence if the Job failed. That Job is deleted, and the next
        call creates another one.
        """
        known = self._knowing(name, question)
        look = jobs.look(self.api, self.namespace, known.job)
        if look is None:
            self._begin(name, known)
            return None
        if look.annotations.get(planner_pods.DIGEST) != known.digest:
            jobs.delete(self.api, self.namespace, known.job, look.uid)
            return None
        match look.phase:
            case JobPhase.SUSPENDED:
                self._let_go(name, known, look)
            case JobPhase.COMPLETE:
                return self._answer(known, look)
            case JobPhase.FAILED:
                jobs.delete(self.api, self.namespace, known.job, look.uid)
                raise Unavailable(look.said)
        return None

    def standing(self, name: str, question: RebalanceRequest) -> str:
        """What the Job waits for, in a sentence; empty if it runs or does not exist."""
        return jobs.standing(self.api, self.namespace, self._knowing(name, question).job)

    def forget(self, name: str) -> None:
        """Delete all Jobs of that Rebalance, and with them their pods, requests and responses.

        A Job that cannot be deleted now goes with the Rebalance, or when its time to live is over.
        An operator that no longer leads leaves it to the next leader, which continues with it.
        """
        self._known.pop(name, None)
        try:
            self._forget(name, but="")
        except (Unavailable, Stale) as failed:
            logger.info("Jobs of rebalance %s are left: %s", name, failed)

    def _forget(self, name: str, but: str) -> None:
        for job in jobs.names(self.api, self.namespace, f"{REBALANCE}={label(name)}"):
            if job != but:
                jobs.delete(self.api, self.namespace, job)

    def _knowing(self, name: str, question: RebalanceRequest) -> _Known:
        known = self._known.get(name)
        if known is None or known.question is not question:
            known = _Known(question, question.digest, job_name(name, question))
            self._known[name] = known
        return known

    def _begin(self, name: str, known: _Known) -> None:
        self._forget(name, but=known.job)
        count = len(text_chunks.chunked(known.question.to_json()))
        body = planner_pods.job(self._order(name, known, count), self.settings)
        self._let_go(name, known, jobs.create(self.api, self.namespace, body))

    def _let_go(self, name: str, known: _Known, look: Look) -> None:
        if look.phase is not JobPhase.SUSPENDED:
            return
        found = text_chunks.chunked(known.question.to_json())
        executor = planner_pods.executor(self._order(name, known, len(found)), self.settings)
        text = configmap_blob.Text(
            found, known.digest, {planner_pods.TEMPLATE: planner_pods.text(executor)}
        )
        configmap_blob.write(
            self.api,
            self.namespace,
            jobs.question_name(look.name),
            jobs.owner(look.name, look.uid),
            text,
            jobs.labels(look.name),
        )
        jobs.resume(self.api, self.namespace, look)

    def _order(self, name: str, known: _Known, count: int) -> PlannerJob:
        return PlannerJob(
            name=known.job,
            namespace=self.namespace,
            owner=self.owner_of(name),
            digest=known.digest,
            pieces=count,
            labels={REBALANCE: label(name)},
            secrets=tuple(sorted(set(secrets_of(known.question)))),
        )

    def _answer(self, known: _Known, look: Look) -> RebalanceResponse | None:
        kept = configmap_blob.read(self.api, self.namespace, jobs.answer_name(look.name))
        try:
            if kept is None:
                raise Refused("its ConfigMaps are not all there")
            answer = RebalanceResponse.from_json(text_chunks.joined(kept.chunks, kept.digest))
            if answer.question != known.digest:
                raise Refused("it is the response to another request")
        except Refused as wrong:
            jobs.delete(self.api, self.namespace, look.name, look.uid)
            raise Unavailable(f"the response of Job {look.name} cannot be used: {wrong}") from wrong
        return answer


def job_name(name: str, question: RebalanceRequest) -> str:
    """`daily-plan-1a2b3c4d`: the same for the same request of the same Rebalance."""
    short = re.sub(r"[^a-z0-9]+", "-", name)[:NAME_CHARS_MAX].strip("-")
    digest = hashlib.sha256(f"{name}\n{question.digest}".encode()).hexdigest()
    return f"{short}-plan-{digest[:HASH_CHARS]}"


def label(name: str) -> str:
    """The label value for a Rebalance's name."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def secrets_of(question: RebalanceRequest) -> Iterator[str]:
    """The Secrets that the clusters of the request name."""
    for asked in question.asked:
        yield from _secrets(asked.desired)


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
