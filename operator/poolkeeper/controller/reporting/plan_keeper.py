"""Keeps the plans of all clusters, whole, where people who may not read ZooKeeper can read them.

A plan is rendered and written when it is another one, by a thread of its own: at once, and then
every `EVERY_S`, as each of thousands of Topics that arrive makes another plan of them all. What
cannot be written is tried again with the next report.
"""

from collections.abc import Callable, Collection
from threading import Lock

from poolkeeper.controller.reporting.background_writer import BackgroundWriter
from poolkeeper.frozen import frozen
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects import plan_documents
from poolkeeper.kube.objects.plan_documents import DocumentApi, PlanDocument
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import LastObservation
from poolkeeper.model.plans import Plan
from poolkeeper.planning.proposals import plan_json

EVERY_S = 3.0
"""How often the plan of one cluster is written at the most."""

PlanText = Callable[[Plan, Desired, LastObservation], str]
"""What a person reads of a plan, made from what it was made from."""


@frozen
class _PlanToKeep:
    plan: Plan
    desired: Desired
    seen: LastObservation


class PlanKeeper:
    """Writes the plans that are put; thread-safe. `namespace` is the operator's own."""

    def __init__(self, api: DocumentApi, namespace: str, text_of: PlanText) -> None:
        self.namespace = namespace
        self._api = api
        self._text_of = text_of
        self._wanted: dict[str, tuple[object, ...]] = {}
        self._lock = Lock()
        self._writer: BackgroundWriter[_PlanToKeep] = BackgroundWriter(
            "plans", self._write, EVERY_S
        )

    def put(self, cluster: Reference, plan: Plan, desired: Desired, seen: LastObservation) -> str:
        """Request that this plan is kept; return where: "namespace/name", without the number."""
        identity = _identity(cluster, plan)
        with self._lock:
            if self._wanted.get(cluster.name) != identity:
                self._wanted[cluster.name] = identity
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

    def _write(self, cluster: Reference, wanted: _PlanToKeep) -> None:
        plan = wanted.plan
        try:
            text = self._text_of(plan, wanted.desired, wanted.seen)
            document = PlanDocument(cluster.name, plan.hash, text, plan_json.to_json(plan))
            plan_documents.write(self._api, self.namespace, cluster, document)
        except Exception:
            self._want_again(cluster, plan)
            raise

    def _want_again(self, cluster: Reference, plan: Plan) -> None:
        """Let the next report put a plan that could not be written, if no other was put since."""
        with self._lock:
            if self._wanted.get(cluster.name) == _identity(cluster, plan):
                del self._wanted[cluster.name]


def _identity(cluster: Reference, plan: Plan) -> tuple[object, ...]:
    """What a plan is known by: sizes may differ between two plans for the same thing."""
    sizes = len(plan.moves), len(plan.steps), len(plan.problems)
    return (cluster.uid, plan.hash, plan.fingerprint, *sizes)
