"""What is declared on a Kubernetes, for the pages: by rights to read and nothing else.

Resources are listed when somebody looks, at most every few seconds for all pages together; nothing
is watched, so that a server that nobody looks at costs the API server nothing. Secrets are read
with each look at a cluster, so that a rotated password is used at once.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from poolkeeper.cli import timing
from poolkeeper.cli.commands.ui.operator_leases import OperatorLeases
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cluster_connections import ClusterConnector
from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.kube.client import listing, secrets
from poolkeeper.kube.client.client import Api
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.resources.kinds.custom_resource import read_object

LIST_EVERY_S = 5.0
KINDS = ("KafkaCluster", "ResourcePool", "Topic")


@dataclass(slots=True)
class KubernetesResources:
    """The resources of an API server, listed again once they are older than `LIST_EVERY_S`.

    `namespace` holds the Secrets, `watched` are the namespaces of the Topics (empty: all), `folder`
    is private and takes TLS files.
    """

    api: Api
    namespace: str
    watched: Sequence[str]
    folder: Path
    clock: Callable[[], float] = time.monotonic
    _leases: OperatorLeases = field(init=False)
    _found: Mapping[str, Assembly] = field(default_factory=dict)
    _listed_s: float = float("-inf")
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._leases = OperatorLeases(self.api, self.clock)

    def names(self) -> tuple[str, ...]:
        """Return the names of all KafkaClusters; raises Unavailable and Forbidden."""
        found = self._assemblies().items()
        return tuple(sorted(name for name, each in found if each.cluster is not None))

    def target(self, name: str) -> Target:
        """Return a cluster's target; raises Refused where it is gone or held, and Unavailable."""
        assembly = self._assemblies().get(name)
        if assembly is None or assembly.cluster is None:
            raise Refused(f"KafkaCluster {name} is gone")
        desired = assembly.desired
        if desired is None:
            raise Refused(f"KafkaCluster {name} is held: {assembly.hold or 'it is being deleted'}")
        spec = desired.cluster
        return Target(
            name=name,
            connect=spec.zookeeper.connect,
            bootstrap=spec.brokers.bootstrap_servers if spec.brokers else (),
            client=self._connector(name).client_config(spec),
            kafka_version=spec.kafka_version,
            desired=desired,
        )

    def leaderless(self, name: str) -> tuple[str, ...]:
        """Return a sentence on each release that writes this cluster's status and nobody leads."""
        assembly = self._assemblies().get(name)
        if assembly is None or assembly.cluster is None:
            return ()
        found = self._leases.leaderless({"status": assembly.cluster.status})
        return tuple(each.sentence for each in found)

    def _connector(self, name: str) -> ClusterConnector:
        return ClusterConnector(
            lambda secret: secrets.read(self.api, self.namespace, secret),
            self.folder / name,
            timing.TIMEOUT_S,
            timing.TIMEOUT_S,
        )

    def _assemblies(self) -> Mapping[str, Assembly]:
        with self._lock:
            if self.clock() - self._listed_s >= LIST_EVERY_S:
                followed = listing.followed_namespaces(self.api, self.watched)
                objects = [
                    read_object(body)
                    for kind in KINDS
                    for body in listing.bodies(self.api, kind, followed.readable)
                ]
                labels = {
                    body["metadata"]["name"]: body["metadata"].get("labels") or {}
                    for body in listing.namespaces(self.api)
                }
                before = self._found
                self._found = assemble(
                    objects,
                    labels,
                    own_namespace=self.namespace,
                    watched=listing.known_namespaces(self.watched, followed.lost),
                )
                for gone in before.keys() - self._found.keys():
                    self._connector(gone).remove_files()
                clusters = [each.cluster for each in self._found.values() if each.cluster]
                self._leases.look([{"status": each.status} for each in clusters])
                self._listed_s = self.clock()
            return self._found


@frozen
class DeclaredOnKubernetes:
    """One KafkaCluster of those resources, as the pages ask for it."""

    resources: KubernetesResources
    name: str

    @property
    def words(self) -> tuple[str, ...]:
        """No options of a shell name what is declared here."""
        return ()

    def target(self) -> Target:
        """Return the cluster's target; raises Refused and Unavailable."""
        return self.resources.target(self.name)

    def leaderless(self) -> tuple[str, ...]:
        """Return why nobody acts on what is declared, if no operator leads; raises Unavailable."""
        return self.resources.leaderless(self.name)
