"""Kafka clusters that operators keep, as a test sees them: declared, said of, done in ZooKeeper.

    site = Site(control_plane, namespace, sandbox)
    site.declare({"old": [1, 2], "new": [3, 4]}, execution={"maxMoves": 2})
    site.create("Topic", "orders", {"poolRef": {"name": "old"}})
    site.await_ready(("Topic", "orders"))
    site.edit("Topic", "orders", {"poolRef": {"name": "new"}})
    site.await_stage(1)                        # its request is in flight
    site.requested()                           # every request since the site was made

    rights = Rights(control_plane, namespace)  # what the chart grants, in parts to take away
    kubeconfig = rights.account("operator-a")
    rights.withdraw("status"); rights.grant("status")

All of it by the API server and the brokers' own words, never by the operator's.
"""

import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kafka import KafkaProducer
from kazoo.client import KazooClient

from conditions import SERVER_POLL_S, until
from control_plane.access import ApiError
from control_plane.planes import ControlPlane
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from real.support import Change, body, history, kazoo, last_zxid, of_path

GROUP_VERSION = "poolkeeper.dev/v1alpha1"
KINDS = {
    "KafkaCluster": "kafkaclusters",
    "ResourcePool": "resourcepools",
    "Topic": "topics",
    "Rebalance": "rebalances",
}
CLUSTER = "main"
CRDS = Path(__file__).parents[1] / "crds"
OUR_KINDS = f"/apis/{GROUP_VERSION}"
REQUEST = "/admin/reassign_partitions"
RUN = "/poolkeeper/run"
EPOCH = "/poolkeeper/epoch"
READY_S = 150.0
POOLS = {"old": [1, 2], "new": [3, 4]}
PARTITIONS = 4
BATCH_BYTES = 64 * 1024
SLOW = {"maxMoves": 2, "throttle": {"mode": "Fixed", "rate": "128Ki"}}
"""Two stages for `PARTITIONS`, each on its way for about a second a batch."""

FOUR_BROKERS = SandboxSpec(
    brokers=spread(4),
    settings=(
        # A throttle of Kafka's lets ten seconds' worth of bytes pass at once, otherwise.
        ("replication.quota.window.num", "2"),
        ("replica.fetch.max.bytes", str(BATCH_BYTES)),
    ),
)

Body = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """What a resource's condition Ready says; empty where it says nothing."""

    status: str = ""
    reason: str = ""
    message: str = ""
    latest: bool = False
    """Whether it is said of the latest generation."""


class Site:
    """One KafkaCluster `main` with its pools, and Topics in one namespace."""

    def __init__(self, plane: ControlPlane, namespace: str, sandbox: Sandbox) -> None:
        self.plane = plane
        self.namespace = namespace
        self.sandbox = sandbox
        self.since = last_zxid(sandbox)

    # What is declared

    def declare(self, pools: Mapping[str, Sequence[int]], **cluster: object) -> None:
        """Create the KafkaCluster, which may do everything by itself, and pools by broker ids."""
        spec = {
            "zookeeper": {"connect": self.sandbox.connect},
            "mode": "Apply",
            "approval": {"policy": "Auto"},
            **cluster,
        }
        self.create("KafkaCluster", CLUSTER, spec)
        for name, ids in pools.items():
            pool = {"clusterRef": {"name": CLUSTER}, "brokers": {"ids": list(ids)}}
            self.create("ResourcePool", name, pool)

    def create(self, kind: str, name: str, spec: Mapping[str, object]) -> None:
        """Create a resource."""
        self.plane.request("POST", self._path(kind), self.body(kind, name, spec))

    def edit(self, kind: str, name: str, spec: Mapping[str, object]) -> None:
        """Merge something into a resource's spec."""
        self.plane.request("PATCH", self._path(kind, name), {"spec": spec})

    def delete(self, kind: str, name: str) -> None:
        """Ask for a resource's deletion."""
        self.plane.request("DELETE", self._path(kind, name))

    def body(self, kind: str, name: str, spec: Mapping[str, object]) -> Body:
        """Return a manifest."""
        metadata = {"name": name} | ({"namespace": self.namespace} if kind == "Topic" else {})
        return {"apiVersion": GROUP_VERSION, "kind": kind, "metadata": metadata, "spec": spec}

    def begin_to_move(self, topic: str, batches: int) -> Body:
        """Have a topic with data moved to other brokers; return the run at its first stage."""
        asked = {"bootstrapServers": self.sandbox.bootstrap}
        self.declare(POOLS, execution=SLOW, brokers=asked)
        spec = {"poolRef": {"name": "old"}, "partitions": PARTITIONS, "replicationFactor": 1}
        self.create("Topic", topic, {**spec, "config": {"compression.type": "uncompressed"}})
        self.await_ready(("Topic", topic))
        fill(self.sandbox.bootstrap, topic, batches)
        self.edit("Topic", topic, {"poolRef": {"name": "new"}})
        return self.await_stage(1)

    # What is said

    def names(self, kind: str) -> list[str]:
        """Return the names of all resources of a kind, sorted."""
        found = self.plane.request("GET", self._path(kind))["items"]
        return sorted(each["metadata"]["name"] for each in found)

    def found(self, kind: str, name: str) -> Body:
        """Return the whole resource."""
        return dict(self.plane.request("GET", self._path(kind, name)))

    def said(self, kind: str, name: str) -> Said:
        """Return what Ready says."""
        found = self.found(kind, name)
        for condition in found.get("status", {}).get("conditions", ()):
            if condition["type"] == "Ready":
                latest = condition["observedGeneration"] == found["metadata"]["generation"]
                words = (condition[word] for word in ("status", "reason", "message"))
                return Said(*words, latest=latest)
        return Said()

    def await_reason(self, kind: str, name: str, reason: str, timeout_s: float = READY_S) -> Said:
        """Wait until a resource says why it is as it is, of its latest generation."""
        last = Said()

        def come() -> bool:
            nonlocal last
            last = self.said(kind, name)
            return last.reason == reason and last.latest

        try:
            until(come, f"{kind} {name} is {reason}", timeout_s, SERVER_POLL_S)
        except AssertionError as failed:
            failed.add_note(f"it says {last}")
            raise
        return last

    def await_ready(self, *resources: tuple[str, str], timeout_s: float = READY_S) -> None:
        """Wait until resources, by default the cluster alone, are in place."""
        for kind, name in resources or (("KafkaCluster", CLUSTER),):
            assert self.await_reason(kind, name, "InPlace", timeout_s).status == "True"

    # What is done

    @cached_property
    def zookeeper(self) -> KazooClient:
        """A session at the cluster's chroot; `close` ends it."""
        self._open = kazoo(self.sandbox.connect)
        return self._open.__enter__()

    def close(self) -> None:
        """End the session, if there is one."""
        if "zookeeper" in self.__dict__:
            del self.__dict__["zookeeper"]
            self._open.__exit__(None, None, None)

    def run(self) -> Body:
        """Return the run that is recorded, empty if none is."""
        return body(self.zookeeper, RUN)

    def in_flight(self) -> bool:
        """Return whether a request is in flight."""
        return self.zookeeper.exists(REQUEST) is not None

    def await_stage(self, number: int, timeout_s: float = READY_S) -> Body:
        """Wait until that stage is in flight, and return the run."""

        def come() -> Body | None:
            run = self.run()
            return run if run.get("stage") == number and self.in_flight() else None

        return until(come, f"stage {number} is in flight", timeout_s) or {}

    def epoch(self) -> int:
        """Return the journal's epoch."""
        return int(self.zookeeper.get(EPOCH)[0])

    def assignment(self, topic: str) -> set[int]:
        """Return the brokers that a topic's partitions are on."""
        return {broker for replicas in self.replicas(topic).values() for broker in replicas}

    def replicas(self, topic: str) -> dict[int, list[int]]:
        """Return a topic's replicas by partition."""
        lists = body(self.zookeeper, f"/brokers/topics/{topic}").get("partitions", {})
        return {int(partition): replicas for partition, replicas in lists.items()}

    def changes(self, path: str = "") -> tuple[Change, ...]:
        """Return all changes since the site was made, of one node or of all."""
        found = history(self.sandbox, self.since)
        return of_path(found, path) if path else found

    def requested(self) -> Counter[tuple[str, int]]:
        """Return how often each partition was requested to be moved."""
        return Counter(
            (entry["topic"], entry["partition"])
            for change in self.changes(REQUEST)
            if change.kind == "CREATE" and isinstance(change.body, dict)
            for entry in change.body["partitions"]
        )

    def throttled(self) -> list[tuple[str, str]]:
        """Return the throttles in force: (node, key)."""
        nodes = [
            f"/config/{kind}/{name}"
            for kind in ("topics", "brokers")
            for name in self.zookeeper.get_children(f"/config/{kind}")
        ]
        return [
            (node, key)
            for node in nodes
            for key in body(self.zookeeper, node).get("config", {})
            if "throttled" in key
        ]

    def _path(self, kind: str, name: str = "") -> str:
        scope = f"namespaces/{self.namespace}/" if kind == "Topic" else ""
        return f"/apis/{GROUP_VERSION}/{scope}{KINDS[kind]}" + (f"/{name}" if name else "")


def fill(bootstrap: str, topic: str, batches: int) -> None:
    """Put so many batches of `BATCH_BYTES` into every partition.

    They are sent compressed, as checksums in Python are slow, and written out by the brokers.
    """
    producer = KafkaProducer(
        bootstrap_servers=bootstrap.split(","), acks="all", compression_type="gzip"
    )
    for _ in range(batches):
        for partition in range(PARTITIONS):
            producer.send(topic, value=b"x" * (BATCH_BYTES - 512), partition=partition)
        producer.flush(timeout=60)
    producer.close(timeout=10)


OURS = " ".join(KINDS.values())
STATUSES = " ".join(f"{plural}/status" for plural in KINDS.values())
PARTS = {
    "watch": ("get list watch patch", "poolkeeper.dev", OURS),
    "namespaces": ("get list watch", "", "namespaces"),
    "status": ("patch", "poolkeeper.dev", STATUSES),
    "events": ("create", "events.k8s.io", "events"),
    "leases": ("get create update", "coordination.k8s.io", "leases"),
    "secrets": ("get", "", "secrets"),
    "plans": ("create delete get patch", "", "configmaps"),
}
RBAC = "rbac.authorization.k8s.io"


class Rights:
    """Service accounts with what the operator needs, granted in `PARTS`."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._plane = plane
        self._namespace = namespace
        for part in PARTS:
            self.grant(part)

    def grant(self, part: str) -> None:
        """Allow a part to all accounts; it may have been withdrawn."""
        verbs, group, resources = PARTS[part]
        rule = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
        self._create("clusterroles", self._role(part), rules=[rule])

    def withdraw(self, part: str) -> None:
        """Allow a part to nobody."""
        self._plane.request("DELETE", f"/apis/{RBAC}/v1/clusterroles/{self._role(part)}")

    def account(self, name: str) -> Path:
        """Return a kubeconfig of a new account that all parts are allowed to."""
        path = f"/api/v1/namespaces/{self._namespace}/serviceaccounts"
        self._plane.request("POST", path, {"metadata": {"name": name}})
        account = {"kind": "ServiceAccount", "name": name, "namespace": self._namespace}
        for part in PARTS:
            role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": self._role(part)}
            self._create(
                "clusterrolebindings",
                f"{self._role(part)}-{name}",
                roleRef=role,
                subjects=[account],
            )
        return self._plane.account_kubeconfig(self._namespace, name)

    def _create(self, plural: str, name: str, **body: object) -> None:
        path = f"/apis/{RBAC}/v1/{plural}"
        self._plane.request("POST", path, {"metadata": {"name": name}, **body})

    def _role(self, part: str) -> str:
        return f"{self._namespace}-{part}"


def connected(pid: int, address: str) -> int:
    """Return how many connections a process has to `127.0.0.1:PORT`."""
    host, _, port = address.rpartition(":")
    number = int.from_bytes(socket.inet_aton(host), "little")
    remote = f"{number:08X}:{int(port):04X}"
    ours = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            ours.add(str(link.readlink()))
        except FileNotFoundError:
            continue
    lines = Path(f"/proc/{pid}/net/tcp").read_text("ascii").splitlines()[1:]
    rows = [line.split() for line in lines]
    return sum(row[2] == remote and f"socket:[{row[9]}]" in ours for row in rows)


def in_pool(name: str, **more: object) -> dict[str, object]:
    """The spec of a Topic of that pool."""
    return {"poolRef": {"name": name}, "partitions": 2, "replicationFactor": 1, **more}


def log_lines(log: Path, *words: str) -> list[str]:
    """Return the lines of a log that have all of the words."""
    return [line for line in log.read_text().splitlines() if all(word in line for word in words)]


def mend(plane: ControlPlane) -> None:
    """Have the API server serve our kinds, whatever was done to it."""
    if plane.api_server.pid is None:
        plane.api_server.start()
    plane.api_server.thaw()
    plane.api_server.await_ready()
    try:
        served = {each["name"] for each in plane.request("GET", OUR_KINDS)["resources"]}
    except ApiError:
        served = set()
    if not served.issuperset(KINDS.values()):
        plane.apply_crds(CRDS)


def mended_site(plane: ControlPlane, namespace: str, sandbox: Sandbox) -> Iterator[Site]:
    """A site for a fixture, after which the API server serves our kinds again."""
    site = Site(plane, namespace, sandbox)
    yield site
    mend(plane)
    site.close()
