"""A simulated cluster over the ZooKeeper in process, in virtual time, and a client of its nodes."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from poolkeeper.sandbox.clock import EPOCH_MS, VirtualClock
from poolkeeper.sandbox.fake_zookeeper import FakeClient, FakeZooKeeper
from poolkeeper.sandbox.fake_zookeeper.stored import StoredZooKeeper
from poolkeeper.sandbox.simulation import Randomness, Simulation, SimulationSpec
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode, DeleteNode, WriteNode

REQUEST = "/admin/reassign_partitions"
SESSION_MS = 4000


class SimulatedCluster:
    """`client` is a session without faults; paths are without a chroot.

    `stored_at`: the connect string of a real ZooKeeper in which the nodes lie; else in process.
    """

    def __init__(
        self,
        spec: SimulationSpec,
        choices: Randomness | None = None,
        now_ms: int = EPOCH_MS,
        stored_at: str = "",
    ) -> None:
        self.clock = VirtualClock(now_ms)
        self.server: FakeZooKeeper = (
            StoredZooKeeper(self.clock, stored_at) if stored_at else FakeZooKeeper(self.clock)
        )
        self.client = FakeClient(self.server)
        self.simulation = Simulation(
            spec, lambda: FakeClient(self.server, timeout_ms=SESSION_MS), self.clock, choices
        )

    def start(self, first: int | None = None) -> None:
        """Start all brokers; `first` becomes the controller."""
        ids = sorted(self.simulation.brokers, key=lambda id_: (id_ != first, id_))
        for id_ in ids:
            self.simulation.start_broker(id_)
            path = f"/brokers/ids/{id_}"
            assert self.clock.run_until(partial(self.exists, path), 20_000), path
        self.settle()

    def settle(self, deadline_ms: float = 20_000) -> None:
        """Let time pass until no broker has anything to do."""
        done = self.clock.run_until(
            lambda: self.simulation.controller is not None and self.simulation.idle, deadline_ms
        )
        assert done, "the cluster does not come to rest"

    def exists(self, path: str) -> bool:
        """Whether a node is there."""
        return self.client.exists(path) is not None

    def read(self, path: str) -> Any:
        """Return a node's body, None without a node."""
        found = self.client.get(path)
        return None if found is None else json.loads(found[0])

    def version(self, path: str) -> int:
        """Return a node's data version."""
        found = self.client.get(path)
        assert found is not None, path
        return int(found[1].version)

    def create(self, path: str, body: Any) -> None:
        """Create a node, with bytes or with JSON, and its parent as Kafka's tools do."""
        parent = path.rpartition("/")[0]
        if parent and not self.exists(parent):
            self.create(parent, b"")
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.client.commit([CreateNode(path, data)])

    def set(self, path: str, body: Any) -> None:
        """Replace what a node holds."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.client.commit([WriteNode(path, data)])

    def delete(self, path: str) -> None:
        """Delete a node."""
        self.client.commit([DeleteNode(path)])

    def delete_all(self, path: str) -> None:
        """Delete a node, if it is there, and everything below it."""
        for child in self.client.children(path) or ():
            self.delete_all(f"{path}/{child}")
        if self.exists(path):
            self.delete(path)

    def create_topic(self, topic: str, *replicas: Sequence[int]) -> None:
        """Create a topic, and wait for the states of its partitions."""
        partitions = {str(p): list(ids) for p, ids in enumerate(replicas)}
        self.create(f"/brokers/topics/{topic}", {"version": 1, "partitions": partitions})
        assert self.clock.run_until(
            lambda: all(self.exists(state_path(topic, p)) for p in range(len(replicas))), 10_000
        )
        self.settle()

    def request(self, entries: Mapping[tuple[str, int], Sequence[Any]]) -> None:
        """Ask for a reassignment."""
        self.create(REQUEST, body_of(entries))

    def state(self, topic: str, partition: int = 0) -> tuple[int, list[int], int]:
        """Return leader, ISR and leader epoch."""
        body = self.read(state_path(topic, partition))
        return body["leader"], body["isr"], body["leader_epoch"]

    def replicas(self, topic: str) -> dict[str, list[Any]]:
        """Return a topic's replica lists, by partition."""
        partitions: dict[str, list[Any]] = self.read(f"/brokers/topics/{topic}")["partitions"]
        return dict(sorted(partitions.items()))

    def epoch(self) -> int:
        """Return the controller's epoch."""
        return int(self.read("/controller_epoch"))

    def fail_over(self) -> None:
        """Make the brokers elect another controller, and wait until it has begun."""
        self.delete("/controller")
        self.clock.advance(200)
        self.settle()


def state_path(topic: str, partition: int) -> str:
    """Return the path of a partition's state."""
    return f"/brokers/topics/{topic}/partitions/{partition}/state"


def body_of(entries: Mapping[tuple[str, int], Sequence[Any]]) -> dict[str, Any]:
    """Return the body of a reassignment request."""
    partitions = [
        {"topic": topic, "partition": partition, "replicas": list(ids)}
        for (topic, partition), ids in entries.items()
    ]
    return {"version": 1, "partitions": partitions}
