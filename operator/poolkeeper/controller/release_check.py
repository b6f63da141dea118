"""Whether a release works: `helm test`. Health, rights, and the way to every cluster's ZooKeeper.

It runs in a pod of its own, as the operator's account, and reads only: what it may not or cannot
do, the operator may not or cannot do either.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from poolkeeper.cluster_connections import ClusterConnector
from poolkeeper.errors import PoolkeeperError
from poolkeeper.frozen import frozen
from poolkeeper.kube.client import secrets
from poolkeeper.kube.client.client import Api
from poolkeeper.kube.client.references import collection
from poolkeeper.kube.leadership import lease_reader
from poolkeeper.model.names import GROUP
from poolkeeper.model.specs import KafkaClusterSpec
from poolkeeper.resources.kinds.custom_resource import CustomResource, read_object
from poolkeeper.temporary_folders import temporary_folder

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SESSION_S = 8.0
DEADLINE_S = 10.0
CLUSTERS_MAX = 200
_WHOLE = ("kafkaclusters", "resourcepools", "rebalances")
_READ = ("get", "list", "watch", "patch")


@frozen
class CheckResult:
    """One thing that was looked at: what, and what is wrong with it (empty: nothing)."""

    what: str
    wrong: str = ""

    def __str__(self) -> str:
        return f"{'WRONG' if self.wrong else 'ok   '} {self.what}" + (
            f": {self.wrong}" if self.wrong else ""
        )


@frozen
class NeededRight:
    """A right that the operator needs."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        kind = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f" {self.name}" if self.name else ""
        return f"{self.verb} {kind}{named}" + (f" in {self.namespace}" if self.namespace else "")


@frozen
class ReleaseCheck:
    """What is looked at: the release's namespace and Lease, and the namespaces of its Topics."""

    api: Api
    namespace: str
    lease: str
    watched: tuple[str, ...] = ()
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def findings(self) -> Iterator[CheckResult]:
        """Yield what was found, health first; never raises for what is wrong outside."""
        yield self._health()
        yield self._rights()
        yield from self._clusters()

    def _health(self) -> CheckResult:
        what = f"health: an operator leads (Lease {self.namespace}/{self.lease})"
        again = partial(lease_reader.read_lease, self.api, self.namespace, self.lease)
        try:
            lease = again()
            if lease is None:
                return CheckResult(what, "there is no Lease: see the logs of the operator's pods")
            held = lease_reader.held_lease(
                *(lease, again),
                clock=self.clock,
                sleep=self.sleep,
                recent_s=2 * lease.duration_s,
            )
        except PoolkeeperError as failed:
            return CheckResult(what, str(failed))
        if held is not None:
            return CheckResult(what)
        wrong = f"{lease.holder} renews it no more, the last time was {lease.renewed}"
        wrong = wrong if lease.holder else "nobody holds it"
        return CheckResult(what, f"{wrong}: see the logs of the operator's pods")

    def _rights(self) -> CheckResult:
        what = "rights: the operator's account may do what it needs"
        try:
            missing = [str(right) for right in self.needed_rights() if not self._may(right)]
        except PoolkeeperError as failed:
            return CheckResult(what, str(failed))
        return CheckResult(what, f"it may not {'; '.join(missing)}" if missing else "")

    def needed_rights(self) -> Sequence[NeededRight]:
        """Return the rights without which the operator cannot work."""
        here = self.namespace
        topics = self.watched or ("",)
        return (
            *(NeededRight(verb, GROUP, kind) for kind in _WHOLE for verb in _READ),
            *(NeededRight("patch", GROUP, f"{kind}/status") for kind in _WHOLE),
            *(NeededRight(verb, GROUP, "topics", where) for where in topics for verb in _READ),
            *(NeededRight("patch", GROUP, "topics/status", where) for where in topics),
            *(NeededRight("create", "events.k8s.io", "events", where) for where in topics),
            *(NeededRight(verb, "", "namespaces") for verb in ("list", "watch")),
            NeededRight("create", "coordination.k8s.io", "leases", here),
            *(
                NeededRight(verb, "coordination.k8s.io", "leases", here, self.lease)
                for verb in ("get", "update")
            ),
            *(
                NeededRight(verb, "", "configmaps", here)
                for verb in ("create", "delete", "get", "patch")
            ),
        )

    def _may(self, right: NeededRight) -> bool:
        resource, _, subresource = right.resource.partition("/")
        attributes = {
            "verb": right.verb,
            "group": right.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": right.namespace,
            "name": right.name,
        }
        body: dict[str, Any] = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        return bool(self.api.create(REVIEWS, body).get("status", {}).get("allowed"))

    def _clusters(self) -> Iterator[CheckResult]:
        try:
            bodies = list(self.api.list(collection("KafkaCluster")))
        except PoolkeeperError as failed:
            yield CheckResult("ZooKeeper: the KafkaClusters are read", str(failed))
            return
        if not bodies:
            yield CheckResult("ZooKeeper: no KafkaCluster is declared yet")
        for resource in map(read_object, bodies[:CLUSTERS_MAX]):
            yield self._cluster(resource)

    def _cluster(self, resource: CustomResource) -> CheckResult:
        what = f"ZooKeeper: KafkaCluster {resource.name}"
        spec = resource.spec
        if not isinstance(spec, KafkaClusterSpec):
            return CheckResult(what, "; ".join(problem.message for problem in resource.problems))
        try:
            with temporary_folder() as folder:
                connector = ClusterConnector(
                    read_secret=lambda name: secrets.read(self.api, self.namespace, name),
                    folder=folder / "cluster",
                    timeout_s=SESSION_S,
                    deadline_s=DEADLINE_S,
                )
                with connector.connections(spec).session() as session:
                    found = session.read("/cluster/id")
        except PoolkeeperError as failed:
            return CheckResult(what, str(failed))
        if found is None:
            return CheckResult(
                what, "it answers, but there is no Kafka below this path (its chroot?)"
            )
        return CheckResult(what)
