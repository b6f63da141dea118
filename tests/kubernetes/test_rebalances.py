"""Rebalances on a real API server: planned for several clusters, approved once, carried out."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from operated_resources import HASH, Operated, Scene
from real.support import manifest

Body = dict[str, Any]
UNEVEN = [(1, 2)] * 6
"""Partitions that are all on two of the three brokers of their pool."""


@dataclass(frozen=True)
class Fleet:
    """Two Kafka clusters, each with a pool `p` of brokers 1 to 3 and a topic that is uneven."""

    first: Scene
    second: Scene

    @property
    def scenes(self) -> Sequence[Scene]:
        return (self.first, self.second)

    @property
    def name(self) -> str:
        """The name of the Rebalance."""
        return f"{self.first.name}-r"

    def declare(self, **cluster: Any) -> None:
        """Declare all but the Rebalance, and wait until it is looked at."""
        for scene in self.scenes:
            scene.create_topic("orders", *UNEVEN)
            scene.apply(
                scene.cluster(mode="Apply", **cluster),
                scene.pool("p", 1, 2, 3),
                scene.topic("orders", "p"),
            )
        for scene in self.scenes:
            scene.says("topic", "orders")

    def rebalance(self, **spec: Any) -> Body:
        """A Rebalance of both clusters."""
        names = {"names": [scene.name for scene in self.scenes]}
        return manifest("Rebalance", {"name": self.name}, {"clusters": names, **spec})

    def begin(self, **spec: Any) -> None:
        """Create the Rebalance."""
        self.first.apply(self.rebalance(**spec))

    def says(self, reason: str, about: str = "") -> str:
        return self.first.says("rebalance", self.name, reason, about)

    def status(self) -> Body:
        return self.first.status("rebalance", self.name)

    def states(self) -> dict[str, str]:
        """State by cluster; the clusters are called `first` and `second`."""
        return {self.named(each["name"]): each["state"] for each in self.status()["clusters"]}

    def message(self, scene: Scene) -> str:
        """What is said of one cluster."""
        found = (each for each in self.status()["clusters"] if each["name"] == scene.name)
        return str(next(found).get("message", ""))

    def named(self, text: str) -> str:
        """Text without what differs from run to run."""
        for name, scene in (("first", self.first), ("second", self.second)):
            text = text.replace(scene.name, name)
        return HASH.sub("sha256:PLAN", text)

    def approve(self) -> str:
        """Run the line that is printed; return the hash."""
        message = self.says("WaitingForApproval")
        self.first.run_printed(message)
        return HASH.findall(message)[0]

    def maps(self) -> list[Body]:
        """The ConfigMaps that the Rebalance owns."""
        space = self.first.operator.namespace
        found = self.first.plane.request("GET", f"/api/v1/namespaces/{space}/configmaps")["items"]
        return [
            each
            for each in found
            if any(
                owner["name"] == self.name for owner in each["metadata"].get("ownerReferences", ())
            )
        ]


@pytest.fixture
def fleet(operated: Operated) -> Iterator[Fleet]:
    with ExitStack() as stack:
        first = stack.enter_context(Scene(operated))
        second = stack.enter_context(Scene(operated))
        both = Fleet(*sorted((first, second), key=lambda scene: scene.name))
        stack.callback(lambda: both.first._remove(both.first.path("rebalance", both.name)))
        yield both


def test_two_clusters_are_planned_approved_by_one_line_and_carried_out(fleet):
    fleet.declare()
    before = [scene.changes() for scene in fleet.scenes]
    fleet.begin()
    message = fleet.says("WaitingForApproval")
    assert [scene.changes() for scene in fleet.scenes] == before
    assert fleet.states() == {"first": "Planned", "second": "Planned"}
    assert len(fleet.maps()) == 1
    fleet.approve()
    assert fleet.says("Succeeded")
    print(fleet.named(message))
    for scene in fleet.scenes:
        assert scene.holders("orders") == {1, 2, 3}
