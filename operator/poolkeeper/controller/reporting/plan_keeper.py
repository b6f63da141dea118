"""Keeps the plans of all clusters, whole, where people who may not read ZooKeeper can read them.

A plan is rendered and written when it is another one, by a thread of its own: at once, and then
every `EVERY_S`, as each of thousands of Topics that arrive makes another plan of them all. What
cannot be written is tried again with the next report. Whether it is still there, as it was written,
is looked at every `CHECK_S`, with a report: somebody may have deleted or edited it.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from threading import Lock

from poolkeeper.controller.reporting.background_writer import BackgroundWriter
from poolkeeper.frozen import frozen
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.jobs.configmap_blob import ConfigMapApi
from poolkeeper.kube.objects import plan_documents
from poolkeeper.kube.objects.plan_documents import PlanDocument
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import LastObservation
from poolkeeper.model.plans import Plan
from poolkeeper.planning.proposals import plan_json

EVERY_S = 3.0
"""How often the plan of one cluster is written at the most."""
CHECK_S = 60.0
"""How often it is looked for at the most."""

PlanText = Callable[[Plan, Desired, LastObservation], str]
"""What a person reads of a plan, made from what it was made from."""


@frozen
class _PlanToKeep:
    plan: Plan
    desired: Desired
    seen: LastObservation


@frozen
class _WantedPlan:
    """The plan of one cluster that was put last, and when; `digest`: of its document, once there.

    One that comes back while another is written is another one, and is written after that.
    """

    identity: tuple[object, ...]
    at_s: float
    digest: str = ""


class PlanKeeper:
    """Writes the plans that are put; thread-safe. `namespace` is the operator's own."""

    def __init__(
        self,
        api: ConfigMapApi,
        namespace: str,
        text_of: PlanText,
        clock: Callable[[], float] = time.monotonic,
        every_s: float = EVERY_S,
    ) -> None:
        self.namespace = namespace
        self._api = api
        self._text_of = text_of
        self._clock = clock
        self._wanted: dict[str, _WantedPlan] = {}
        self._lock = Lock()
        self._writer: BackgroundWriter[_PlanToKeep] = BackgroundWriter(
            "plans", self._write, every_s
        )

    def put(self, cluster: Reference, plan: Plan, desired: Desired, seen: LastObservation) -> str:
        """Request that this plan is kept; return where: "namespace/name", without the number."""
        now_s = self._clock()
        with self._lock:
            known = self._known(cluster, plan)
            if known is None or now_s - known.at_s >= CHECK_S:
                digest = "" if known is None else known.digest
                self._wanted[cluster.name] = _WantedPlan(_identity(cluster, plan), now_s, digest)
                self._writer.put(cluster, _PlanToKeep(plan, desired, seen))
        return f"{self.namespace}/{plan_documents.name_of(cluster.name)}"

    def retain(self, clusters: Collection[str]) -> None:
        """Forget what was put of all clusters but these."""
        with self._lock:
            for name in set(self._wanted) - set(clusters):
                del self._wanted[name]

    def forget(self) -> None:
        """Drop what is not yet written, because another instance leads now."""
        self._writer.forget()
        self.retain(())

    def close(self) -> None:
        """Stop writing."""
        self._writer.close()

    def _known(self, cluster: Reference, plan: Plan) -> _WantedPlan | None:
        """Return what is known of this plan, if no other was put since; the lock is held."""
        known = self._wanted.get(cluster.name)
        return known if known is not None and known.identity == _identity(cluster, plan) else None

    def _write(self, cluster: Reference, wanted: _PlanToKeep) -> None:
        plan = wanted.plan
        with self._lock:
            known = self._known(cluster, plan)
        digest = "" if known is None else known.digest
        try:
            if not digest or not plan_documents.is_there(
                self._api, self.namespace, cluster, digest
            ):
                text = self._text_of(plan, wanted.desired, wanted.seen)
                document = PlanDocument(cluster.name, plan.hash, text, plan_json.to_json(plan))
                digest = plan_documents.write(self._api, self.namespace, cluster, document)
        except Exception:
            self._note(cluster, plan, None)  # the next report puts it again
            raise
        self._note(cluster, plan, digest)

    def _note(self, cluster: Reference, plan: Plan, digest: str | None) -> None:
        """Note the document of a plan, None if it could not be written."""
        with self._lock:
            known = self._known(cluster, plan)
            if known is not None and digest is not None:
                self._wanted[cluster.name] = replace(known, digest=digest)
            elif known is not None:
                del self._wanted[cluster.name]


def _identity(cluster: Reference, plan: Plan) -> tuple[object, ...]:
    """What a plan is known by: sizes may differ between two plans for the same thing."""
    sizes = len(plan.moves), len(plan.steps), len(plan.problems)
    return (cluster.uid, plan.hash, plan.fingerprint, *sizes)
