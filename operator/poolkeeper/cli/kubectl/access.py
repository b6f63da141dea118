"""A person's access to the API server, and the resources of a cluster that are there."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from poolkeeper.errors import Forbidden, Refused
from poolkeeper.kube.client.client import Api
from poolkeeper.kube.client.references import Reference, collection
from poolkeeper.kube.objects import plan_documents
from poolkeeper.kube.objects.plan_documents import PlanDocument
from poolkeeper.text import first

DEADLINE_S = 30.0
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_SHOWN = 10

Body = dict[str, Any]


@dataclass
class UserAccess:
    """A person's access to the API server, opened when first needed; `namespace`: -n, or empty."""

    kubeconfig: str | None = None
    context: str | None = None
    given_namespace: str = ""

    @cached_property
    def api(self) -> Api:
        """The client; raises `Refused` if there is no kubeconfig."""
        return Api.of_user(self.kubeconfig, self.context, deadline_s=DEADLINE_S)

    @property
    def namespace(self) -> str:
        """The namespace of Topics: that of -n, or of the context."""
        if self.given_namespace and not _can_be(self.given_namespace):
            raise Refused(f"-n {self.given_namespace}: there is no such namespace")
        return self.given_namespace or self.api.namespace or "default"

    def clusters(self) -> list[Body]:
        """Return all KafkaClusters by name."""
        return _by_name(self.api.list(collection("KafkaCluster")))

    def pools(self) -> list[Body]:
        """Return all ResourcePools by name."""
        return _by_name(self.api.list(collection("ResourcePool")))

    def topics(self) -> tuple[list[Body], bool]:
        """Return the Topics that may be listed: all, or (false) those of the namespace."""
        if not self.given_namespace:
            try:
                return _by_name(self.api.list(collection("Topic"))), True
            except Forbidden:
                pass
        return _by_name(self.api.list(collection("Topic", self.namespace))), False

    def cluster(self, name: str) -> Body:
        """Return the KafkaCluster with this name, or the only one there is; raises `Refused`."""
        if name:
            found = self.object("KafkaCluster", name)
            if found is None:
                raise Refused(f"there is no KafkaCluster {name}{self._there_are()}")
            return found
        clusters = self.clusters()
        if len(clusters) == 1:
            return clusters[0]
        if not clusters:
            raise Refused("there is no KafkaCluster")
        raise Refused(f"name one of several KafkaClusters with --cluster{self._there_are()}")

    def object(self, kind: str, name: str, namespace: str = "") -> Body | None:
        """Return a resource of ours, or None."""
        if not _can_be(name) or (namespace and not _can_be(namespace)):
            return None
        return self.api.get(Reference(kind, namespace, name).path)

    def plan(self, cluster: Body) -> PlanDocument | None:
        """Return the whole plan that the status of the cluster names; None if there is none.

        Raises `Forbidden` where this person may not read it.
        """
        status = cluster.get("status") or {}
        hash_ = (status.get("plan") or {}).get("hash")
        namespace, _, _ = (status.get("planDocument") or "").partition("/")
        if not hash_ or not namespace:
            return None
        try:
            found = plan_documents.read(self.api, namespace, cluster["metadata"]["name"])
        except Forbidden as forbidden:
            raise Forbidden(
                f"the plan lies in ConfigMaps {status['planDocument']}-0, …, and you may not read"
                f" them (the chart's role …-plan-reader in namespace {namespace} may): {forbidden}"
            ) from forbidden
        return found if found is not None and found.hash == hash_ else None

    def user(self) -> str:
        """Return the name by which the API server knows this person; empty if it does not say."""
        body: Body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        try:
            review = self.api.create(REVIEW, body)
        except Refused:
            return ""
        name: str = review.get("status", {}).get("userInfo", {}).get("username", "")
        return name

    def _there_are(self) -> str:
        names = [each["metadata"]["name"] for each in self.clusters()]
        verb = "is" if len(names) == 1 else "are"
        return f" (there {verb} {first(names, _SHOWN)})" if names else ""


def _can_be(name: str) -> bool:
    """Whether an object can have this name: others make the path that of something else."""
    return name not in ("", ".", "..") and not {"/", "%"} & set(name)


def status_of(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The status of a resource; empty before the first."""
    return body.get("status") or {}


def _by_name(bodies: Any) -> list[Body]:
    def name(body: Body) -> tuple[str, str]:
        return body["metadata"].get("namespace", ""), body["metadata"]["name"]

    return sorted(bodies, key=name)
