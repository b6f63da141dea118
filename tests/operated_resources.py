"""Resources that a running operator works for, on a real API server and a real ZooKeeper.

    def test_creation(scene):
        scene.apply(scene.cluster(mode="Apply"), scene.pool("fast", 1, 2, 3),
                    scene.topic("orders", "fast", partitions=3))
        scene.says("topic", "orders", "InPlace")
        scene.assignment("orders")                 # {0: (1, 2, 3), …}
        scene.kubectl("get", "topics", "-n", scene.namespace).stdout

`operated` is an operator for all tests of a file, or of several. `scene` is one test's own: a
namespace, a KafkaCluster of a name that no other test has, and a Kafka cluster of simulated brokers
1 to 9 on racks a, b, c, in a chroot of its own. They are as fast as ZooKeeper is, but for topics
that the test makes heavy (`scene.make_heavy`): those move until the test makes them light.

Names of pools and Topics are the test's own: in the API server pools carry the scene's name before
theirs, as pools have no namespace. `scene.text` takes the scene's name out of what is printed.
"""

import json
import re
import secrets
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TypeVar

from kazoo.client import KazooClient

import manifests
from apirequests import GROUP
from conditions import SERVER_POLL_S, until
from control_plane.access import ApiError
from control_plane.planes import ControlPlane
from operated_nodes import KafkaNodes
from operation import OperatorProcess
from poolkeeper.sandbox import Sandbox, spread
from poolkeeper.sandbox.clock import RealClock
from poolkeeper.sandbox.simulation import Simulation, SimulationSpec
from poolkeeper.sandbox.simulation.zookeeper.kazoo_session import KazooSession
from real.support import Change, history, last_zxid

T = TypeVar("T")
Body = dict[str, Any]

SAYS_S = 180.0
KAFKA = "2.8.2"
SPEED = 20
SESSION_S = 20.0
HEAVY_BYTES = 10**15
REGISTRATIONS = ("/brokers/ids/", "/controller")
PLURALS = {
    "cluster": "kafkaclusters",
    "pool": "resourcepools",
    "topic": "topics",
    "rebalance": "rebalances",
}
KINDS = {"cluster": "KafkaCluster", "pool": "ResourcePool", "topic": "Topic"}
HASH = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Operated:
    """A control plane and a ZooKeeper, and the operator that works between them."""

    plane: ControlPlane
    zookeeper: Sandbox
    operator: OperatorProcess


class Scene(KafkaNodes):
    """One test's resources and Kafka cluster; a context."""

    def __init__(self, operated: Operated, brokers: int = 9, kafka: str = KAFKA) -> None:
        self.operated = operated
        self.plane = operated.plane
        self.operator = operated.operator
        self.name = f"s{secrets.token_hex(4)}"
        self.namespace = self.plane.new_namespace()
        self.chroot = f"/{self.name}"
        self.connect = operated.zookeeper.zookeeper + self.chroot
        self._clock = RealClock(SPEED)
        self._stack = ExitStack()
        self._began_zxid = 0
        self.simulation = Simulation(
            SimulationSpec(spread(brokers), kafka=kafka),
            lambda: KazooSession(self.connect, self._clock, SESSION_S),
            self._clock,
        )

    def __enter__(self) -> "Scene":
        self._client = KazooClient(self.operated.zookeeper.zookeeper)
        self._client.start(timeout=30)
        self._stack.callback(self._client.close)
        self._stack.callback(self._client.stop)
        self._client.create(self.chroot)
        self._client.chroot = self.chroot
        self._clock.start()
        self._stack.callback(self._clock.stop)
        self._clock.call(self.simulation.start)
        self._stack.callback(lambda: self._clock.call(self.simulation.close))
        self._stack.callback(self._remove_resources)
        began = self._clock.run_until(lambda: self.simulation.controller, 30_000)
        assert began, "the simulated brokers have no controller"
        self._began_zxid = last_zxid(self.operated.zookeeper)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # Resources

    def cluster(self, **spec: Any) -> Body:
        """The KafkaCluster of this scene: nothing is throttled if nothing is said.

        Topics that exist may be taken over without a question, too.
        """
        execution = {"throttle": {"mode": "None"}, **spec.pop("execution", {})}
        spec = {"adoption": {"policy": "Open"}, **spec}
        return manifests.kafka_cluster(self.name, self.connect, execution=execution, **spec)

    def pool(self, name: str, *brokers: int, **spec: Any) -> Body:
        """A ResourcePool of these brokers."""
        full = self.full("pool", name)
        return manifests.resource_pool(full, *brokers, cluster=self.name, **spec)

    def topic(self, name: str, pool: str, namespace: str = "", **spec: Any) -> Body:
        """A Topic; one that does not exist yet needs partitions and a replicationFactor."""
        full = self.full("pool", pool)
        return manifests.topic(name, full, namespace or self.namespace, **spec)

    def apply(self, *bodies: Body, **options: Any) -> CompletedProcess[str]:
        """`kubectl apply` them all at once, as a folder would be."""
        words = [word for name, value in options.items() for word in (f"--{name}={value}",)]
        text = "\n---\n".join(json.dumps(body) for body in bodies)
        return self.kubectl("apply", *words, "-f", "-", input=text)

    def folder(self, path: Path, *bodies: Body) -> Path:
        """Write them as manifests into a folder."""
        text = "\n---\n".join(json.dumps(body, indent=1) for body in bodies)
        (path / "all.yaml").write_text(text + "\n")
        return path

    def patch(self, kind: str, name: str = "", namespace: str = "", **spec: Any) -> Body:
        """Merge fields into a spec."""
        return self._request("PATCH", self.path(kind, name, namespace), {"spec": spec})

    def delete(self, kind: str, name: str = "", namespace: str = "") -> None:
        """Delete a resource, waiting for nothing."""
        self._request("DELETE", self.path(kind, name, namespace))

    def kubectl(self, *words: str, **options: Any) -> CompletedProcess[str]:
        """Run kubectl as administrator."""
        return self.plane.kubectl(*words, **options)

    def full(self, kind: str, name: str = "") -> str:
        """The name of a resource in the API server."""
        return {"cluster": self.name, "pool": f"{self.name}-{name}"}.get(kind, name)

    def path(self, kind: str, name: str = "", namespace: str = "") -> str:
        """The path of a resource."""
        scope = f"/namespaces/{namespace or self.namespace}" if kind == "topic" else ""
        return f"{GROUP}{scope}/{PLURALS[kind]}/{self.full(kind, name)}"

    def get(self, kind: str, name: str = "", namespace: str = "") -> Body:
        """A resource's body; empty if there is none."""
        try:
            return self._request("GET", self.path(kind, name, namespace))
        except ApiError as refused:
            if refused.status != 404:
                raise
            return {}

    def _request(self, method: str, path: str, body: Body | None = None) -> Body:
        return dict(self.plane.request(method, path, body))

    # What they say

    def status(self, kind: str, name: str = "", namespace: str = "") -> Body:
        """A resource's status; empty before there is one."""
        return self.get(kind, name, namespace).get("status") or {}

    def condition(self, kind: str, name: str = "", namespace: str = "") -> Body:
        """What `Ready` says of the generation that is declared now; empty if it says nothing."""
        return ready_of(self.get(kind, name, namespace))

    def says(
        self,
        kind: str,
        name: str = "",
        reason: str = "InPlace",
        about: str = "",
        namespace: str = "",
        timeout_s: float = SAYS_S,
    ) -> str:
        """Wait for a reason, of the latest generation, with these words; return the message."""

        def said() -> str:
            condition = self.condition(kind, name, namespace)
            fits = condition.get("reason") == reason and about in condition["message"]
            return str(condition["message"]) if fits else ""

        what = f"{kind} {name} says {reason} {about}"
        return self.wait(said, what, timeout_s, lambda: self.status(kind, name, namespace))

    def run_printed(self, message: str) -> CompletedProcess[str]:
        """Run the kubectl command that a message ends with, as its reader would."""
        words = shlex.split(message[message.index("kubectl ") :])
        return self.kubectl(*words[1:])

    def approve(self) -> str:
        """Wait until a plan waits, run the line that is printed, and return the plan's hash."""
        message = self.says("cluster", reason="WaitingForApproval")
        self.run_printed(message)
        return HASH.findall(message)[0]

    def asked(self, *topics: str) -> Body:
        """Wait until the KafkaCluster asks about the adoption of these topics; what it asks.

        Topics are told of before it.
        """

        def found() -> Body | None:
            requests = self.status("cluster").get("adoptions", ())
            return next((each for each in requests if each["names"] == [*topics]), None)

        what = f"it is asked whether {', '.join(topics)} may be adopted"
        return self.wait(found, what, SAYS_S, lambda: self.status("cluster")) or {}

    def gone(self, kind: str, name: str = "", namespace: str = "") -> None:
        """Wait until a resource is gone."""
        look = lambda: self.get(kind, name, namespace)  # noqa: E731 - asked twice
        self.wait(lambda: not look(), f"{kind} {name} is gone", SAYS_S, look)

    def wait(
        self,
        condition: Callable[[], T],
        what: str,
        timeout_s: float = SAYS_S,
        instead: Callable[[], object] = lambda: "",
    ) -> T:
        """Wait as `until` does; a failure tells what is there `instead`."""

        def looked() -> T:
            self.operator.assert_alive()
            return condition()

        try:
            return until(looked, what, timeout_s, SERVER_POLL_S)
        except AssertionError as failed:
            failed.add_note(json.dumps(instead()))
            failed.add_note(self.operator.log.read_text()[-6000:])
            raise

    def barrier(self, pool: str) -> None:
        """Wait until what is declared now has been looked at: a new Topic is told of."""
        name = f"barrier-{secrets.token_hex(3)}"
        self.apply(self.topic(name, pool, partitions=1, replicationFactor=1))

        def told() -> bool:
            condition = self.condition("topic", name)
            return condition.get("status", "Unknown") != "Unknown"

        self.wait(told, "a new Topic is looked at", SAYS_S, lambda: self.status("topic", name))

    def events(
        self, kind: str, name: str = "", namespace: str = "", awaited: str = ""
    ) -> list[tuple[str, str, int]]:
        """Type, reason and count of what was told of a resource, oldest first.

        A status comes before the event that tells of it: the `awaited` reason is waited for.
        """
        if awaited:

            def told() -> bool:
                return awaited in [reason for _, reason, _ in self.events(kind, name, namespace)]

            self.wait(told, f"an event {awaited}")
        where = (namespace or self.namespace) if kind == "topic" else "default"
        found = self._request("GET", f"/apis/events.k8s.io/v1/namespaces/{where}/events")["items"]
        uid = self.get(kind, name, namespace)["metadata"]["uid"]
        own = [each for each in found if each["regarding"].get("uid") == uid]
        own.sort(key=lambda each: (each["eventTime"], each["metadata"]["name"]))
        return [(e["type"], e["reason"], (e.get("series") or {"count": 1})["count"]) for e in own]

    def table(self, kind: str, *words: str) -> list[str]:
        """What `kubectl get` prints of this scene's resources, cells parted by bars, no ages."""
        where = ("-n", self.namespace) if kind == "topic" else ()
        printed = self.kubectl("get", PLURALS[kind], *where, *words).stdout
        head, *rows = printed.splitlines()
        starts = [found.start() for found in re.finditer(r"\S+", head)]
        bounds = list(zip(starts, [*starts[1:], None], strict=True))
        own = [row for row in rows if kind == "topic" or self.name in row]
        lines = [[line[a:b].strip() for a, b in bounds] for line in (head, *own)]
        age = lines[0].index("AGE")
        kept = [[cell for n, cell in enumerate(line) if n != age] for line in lines]
        return [self.text(" | ".join(line)) for line in kept]

    def text(self, printed: str) -> str:
        """What was printed, without what differs from run to run."""
        plain = printed.replace(f"{self.name}-", "").replace(self.name, "main")
        plain = plain.replace(self.namespace, "shop")
        return HASH.sub("sha256:PLAN", plain)

    # The Kafka cluster

    def make_heavy(self, topic: str, bytes_: int = HEAVY_BYTES) -> None:
        """Let each partition of a topic be that big: it moves for longer than the test lasts.

        Brokers hear of a replica after it is in ZooKeeper, and until then have no log to be big.
        """
        for partition in self.assignment(topic):
            logs = [
                partial(self.simulation.log, broker, topic, partition)
                for broker in self.in_sync(topic, partition)
            ]
            present = lambda logs=logs: all(map(self._clock.call, logs))  # noqa: E731
            self.wait(present, f"brokers have their replicas of {topic}-{partition}")
            self._clock.call(partial(self.simulation.set_size, topic, partition, bytes_))

    def make_light(self, topic: str) -> None:
        """Let it be tiny: what moves arrives at once."""
        self.make_heavy(topic, 1)

    def changes(self) -> tuple[Change, ...]:
        """All changes in this cluster by others than its brokers, since the scene began."""
        everything = history(self.operated.zookeeper, 0, self.chroot)
        # Brokers on a machine that stood still lose their session, and register with another.
        brokers = {
            each.session
            for each in everything
            if each.kind == "CREATE" and each.path.startswith(REGISTRATIONS)
        }
        return tuple(
            each
            for each in everything
            if each.zxid > self._began_zxid and each.session not in brokers
        )

    def _remove_resources(self) -> None:
        """Delete them, Topics first, whatever keeps them."""
        for kind in ("topic", "pool", "cluster"):
            for item in self._request("GET", f"{GROUP}/{PLURALS[kind]}")["items"]:
                if self._home(item).startswith(self.name):
                    metadata = item["metadata"]
                    name = metadata["name"].removeprefix(f"{self.name}-")
                    self.remove(self.path(kind, name, metadata.get("namespace", "")))

    def remove(self, path: str) -> None:
        """Delete a resource, whatever keeps it."""
        unguarded = {"metadata": {"finalizers": None}}
        for method, body in (("PATCH", unguarded), ("DELETE", None), ("PATCH", unguarded)):
            try:
                self._request(method, path, body)
            except ApiError as refused:
                if refused.status != 404:
                    raise

    def _home(self, item: Body) -> str:
        """The name of the cluster or pool that a resource is of."""
        spec = item["spec"]
        named = spec.get("poolRef") or spec.get("clusterRef") or item["metadata"]
        return str(named["name"])


def ready_of(body: Body) -> Body:
    """What `Ready` says of the latest generation; empty if it says nothing of it."""
    for each in (body.get("status") or {}).get("conditions", ()):
        if each["type"] == "Ready":
            latest = each["observedGeneration"] == body["metadata"]["generation"]
            return dict(each) if latest else {}
    return {}


@contextmanager
def operated_by(plane: ControlPlane, zookeeper: Sandbox, *arguments: str) -> Iterator[Operated]:
    """An operator that leads, for the time of the block."""
    with OperatorProcess(plane, plane.new_namespace(), "a", arguments) as operator:
        operator.await_role("leader")
        yield Operated(plane, zookeeper, operator)
