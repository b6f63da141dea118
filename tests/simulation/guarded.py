"""A cluster of the simulation of which nodes can be hidden from Poolkeeper, and damaged."""

from kazoo.security import OPEN_ACL_UNSAFE as OPEN
from kazoo.security import make_acl, make_digest_acl

import builders
from builders import pool_spec, topic_spec
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SESSION_MS, SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import FakeClient
from poolkeeper.sandbox.simulation import Simulation, SimulationSpec, spread

MB = 1_000_000
KAFKAS = (make_digest_acl("kafka", "right", all=True),)
RATE = "leader.replication.throttled.rate"
SLOW = Execution(throttle=Throttle(ThrottleMode.FIXED, 2 * MB), max_moves=2)
WANTED = builders.desired(
    pool_spec("p", 3, 4, cluster="c"),
    topic_spec("t", "p", partitions=2, replication_factor=2),
    topic_spec("u", "p", partitions=2, replication_factor=2),
    name="c",
    execution=SLOW,
)
"""Moves topics t and u from brokers 1 and 2, where they are, to 3 and 4."""


class HidingCluster(SimulatedCluster):
    """A cluster whose brokers, and `client`, may read and write what is hidden from Poolkeeper.

    `of_brokers`: their sessions, also of one that died before it was registered.
    """

    def __init__(self, spec: SimulationSpec) -> None:
        super().__init__(spec)
        self.of_brokers: set[int] = set()
        self.client.log_in("kafka", "right")
        self.simulation = Simulation(spec, self._open, self.clock, None)

    def _open(self) -> FakeClient:
        client = FakeClient(self.server, timeout_ms=SESSION_MS)
        client.log_in("kafka", "right")
        self.of_brokers.add(client.session_id)
        return client

    def hide(self, path: str) -> None:
        self.client.set_acl(path, [*KAFKAS])

    def protect(self, path: str) -> None:
        """Let Poolkeeper read the node, and not write it."""
        self.client.set_acl(path, [*KAFKAS, make_acl("world", "anyone", read=True)])

    def show(self, path: str) -> None:
        self.client.set_acl(path, [*OPEN])


class Guarded(HidingCluster):
    """Four brokers, two of which have topics t and u."""

    def __init__(self, kafka: str) -> None:
        super().__init__(SimulationSpec(spread(4), kafka=kafka))
        self.start()
        for name in ("t", "u"):
            self.create_topic(name, [1, 2], [2, 1])
            for partition in range(2):
                self.simulation.set_size(name, partition, 8 * MB)
        for path in ("/config/topics/t", "/config/topics/u"):
            if not self.exists(path):
                self.create(path, {"version": 1, "config": {}})

    def rates(self) -> list[str]:
        bodies = (self.read(f"/config/brokers/{n}") or {"config": {}} for n in range(1, 5))
        return [body["config"][RATE] for body in bodies if RATE in body["config"]]

    def take_away(self, path: str, cause: str) -> bytes:
        """Make a node unreadable, `hidden` or `damaged`; return what it holds."""
        before: bytes = self.client.get(path)[0]
        if cause == "hidden":
            self.hide(path)
        else:
            self.set(path, b"no JSON")
        return before

    def give_back(self, path: str, cause: str, before: bytes) -> None:
        """Make it readable again, as it was before."""
        if cause == "hidden":
            self.show(path)
        else:
            self.set(path, before)
