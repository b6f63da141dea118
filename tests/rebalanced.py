"""Several Kafka clusters with one Rebalance over them, on a real API server.

    def test_x(fleet):
        fleet.declare()                     # KafkaClusters, pools, Topics; all are in place
        fleet.begin(budget={"clustersAtOnce": 1})
        fleet.approve()                     # runs the line that is printed
        fleet.says("Succeeded")
        fleet.states()                      # {"first": "Done", "second": "Done"}

Each is a `Scene` of its own. Names are told as `first`, `second`, … in their order.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import manifests
from operated_resources import HASH, SAYS_S, Operated, Scene
from real.support import REQUEST, of_path

Body = dict[str, Any]

UNEVEN = [(1, 2)] * 6
"""Partitions that are all on two of the three brokers of their pool."""
ORDINALS = ("first", "second", "third", "fourth")


@dataclass(frozen=True)
class Fleet:
    """Kafka clusters, each with a pool `p` of brokers 1 to 3 and a topic that is uneven on it."""

    scenes: Sequence[Scene]

    @property
    def name(self) -> str:
        """The name of the Rebalance."""
        return f"{self.scenes[0].name}-r"

    # What is declared

    def declare(self, **cluster: Any) -> None:
        """Declare all but the Rebalance, and wait until it is in place, but for its balance."""
        for scene in self.scenes:
            scene.create_topic("orders", *UNEVEN)
            scene.apply(
                scene.cluster(**{"mode": "Apply", **cluster}),
                scene.pool("p", 1, 2, 3),
                scene.topic("orders", "p"),
            )
        for scene in self.scenes:
            scene.says("cluster")
            scene.says("topic", "orders")

    def begin(self, **spec: Any) -> None:
        """Create the Rebalance over all clusters."""
        clusters = {"names": [scene.name for scene in self.scenes]}
        body = {"clusters": clusters, **spec}
        self.scenes[0].apply(manifests.body("Rebalance", self.name, body))

    def patch(self, **spec: Any) -> None:
        """Merge fields into its spec."""
        self.scenes[0].patch("rebalance", self.name, **spec)

    def approve(self) -> str:
        """Wait until it waits, run the line that is printed, and return the hash."""
        message = self.says("WaitingForApproval")
        self.scenes[0].run_printed(message)
        return HASH.findall(message)[0]

    def delete(self) -> None:
        """Ask for its deletion."""
        self.scenes[0].delete("rebalance", self.name)

    def write_status(self, status: Body) -> None:
        """Have the API server know this status instead, as if later ones had been lost."""
        scene = self.scenes[0]
        path = scene.path("rebalance", self.name)
        body = {**scene.get("rebalance", self.name), "status": status}
        scene.plane.request("PUT", f"{path}/status", body)

    # What is said

    def says(self, reason: str, about: str = "", timeout_s: float = SAYS_S) -> str:
        """Wait for a reason, with these words; return the message."""
        return self.scenes[0].says("rebalance", self.name, reason, about, timeout_s=timeout_s)

    def status(self) -> Body:
        """Its status."""
        return self.scenes[0].status("rebalance", self.name)

    def cluster(self, number: int) -> Body:
        """What is said of one cluster."""
        named = {each["name"]: each for each in self.status().get("clusters", ())}
        return dict(named.get(self.scenes[number].name, {}))

    def states(self) -> dict[str, str]:
        """State by cluster."""
        return {self.text(e["name"]): e["state"] for e in self.status().get("clusters", ())}

    def await_states(self, *states: str) -> None:
        """Wait until the clusters are so far, in their order."""
        wanted = dict(zip(ORDINALS, states, strict=False))
        self.wait(lambda: self.states() == wanted, f"the clusters are {wanted}")

    def events(self, awaited: str) -> list[tuple[str, str, int]]:
        """What was told of it, oldest first, once that reason is there."""
        return self.scenes[0].events("rebalance", self.name, awaited=awaited)

    def text(self, printed: str) -> str:
        """Text without what differs from run to run."""
        for ordinal, scene in zip(ORDINALS, self.scenes, strict=False):
            printed = printed.replace(scene.name, ordinal)
        return HASH.sub("sha256:PLAN", printed)

    def wait(self, condition: Callable[[], object], what: str, timeout_s: float = SAYS_S) -> None:
        """Wait; a failure tells the status."""
        self.scenes[0].wait(condition, what, timeout_s, self.status)

    # What there is

    def maps(self) -> list[Body]:
        """The ConfigMaps that the Rebalance owns."""
        space = self.scenes[0].operator.namespace
        path = f"/api/v1/namespaces/{space}/configmaps"
        return [
            each
            for each in self.scenes[0].plane.request("GET", path)["items"]
            if self.name in {o["name"] for o in each["metadata"].get("ownerReferences", ())}
        ]

    def requested(self) -> list[list[int]]:
        """Partitions of each cluster's topic that were ever asked to move, sorted."""
        created = [
            [each for each in of_path(scene.changes(), REQUEST) if each.kind == "CREATE"]
            for scene in self.scenes
        ]
        return [
            sorted(e["partition"] for each in found for e in each.body["partitions"])
            for found in created
        ]

    def even(self) -> list[bool]:
        """Whether each cluster's topic is on all brokers of its pool."""
        return [scene.holders("orders") == {1, 2, 3} for scene in self.scenes]


@contextmanager
def fleet_of(operated: Operated, clusters: int) -> Iterator[Fleet]:
    """So many clusters."""
    with ExitStack() as stack:
        scenes = [stack.enter_context(Scene(operated)) for _ in range(clusters)]
        fleet = Fleet(sorted(scenes, key=lambda scene: scene.name))
        stack.callback(lambda: scenes[0].remove(scenes[0].path("rebalance", fleet.name)))
        yield fleet
