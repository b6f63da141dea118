"""An operator that watches fewer namespaces than before, and then all of them again.

A Topic of a namespace that is no longer watched is still there, and nobody can ask what it wants.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from control_plane.planes import ControlPlane
from operated_resources import Operated, Scene
from operation import OperatorProcess
from poolkeeper.sandbox import Sandbox

pytestmark = pytest.mark.long

QUICK = ("--log-format=json", "--settle=1s")
TWO = {"partitions": 2, "replicationFactor": 2}
FAST, SLOW = {1, 2, 3}, {4, 5, 6}


@contextmanager
def watched_by(scene: Scene, home: str, *namespaces: str) -> Iterator[None]:
    """An operator that sees Topics of these namespaces alone; of all, without any."""
    options = [f"--watch-namespace={namespace}" for namespace in namespaces]
    with OperatorProcess(scene.plane, home, "a", (*QUICK, *options)) as operator:
        scene.operator = operator
        operator.await_role("leader")
        yield


@pytest.fixture
def scene(clean_cluster: ControlPlane, zookeeper: Sandbox) -> Iterator[Scene]:
    idle = OperatorProcess(clean_cluster, clean_cluster.new_namespace(), "none")
    with Scene(Operated(clean_cluster, zookeeper, idle)) as found:
        yield found


def test_topics_of_a_namespace_that_is_no_longer_watched_stay_where_they_are(scene: Scene) -> None:
    home, other = scene.operator.namespace, scene.plane.new_namespace()
    spec = {"mode": "Apply", "approval": {"policy": "Auto"}, "unmanagedTopics": "Manage"}
    slow, theirs = scene.full("pool", "slow"), ("bills", "gifts", "left")
    with watched_by(scene, home):
        scene.apply(
            scene.cluster(**spec, defaultPool=slow),
            scene.pool("fast", *FAST),
            scene.pool("slow", *SLOW),
            scene.topic("orders", "fast", **TWO),
            scene.topic("bills", "fast", namespace=other, **TWO),
            scene.topic("left", "fast", namespace=other, **TWO),
            scene.topic("gifts", "fast", namespace=other, **TWO),
        )
        for name, namespace in (("orders", ""), *((name, other) for name in theirs)):
            scene.says("topic", name, namespace=namespace)
        scene.delete("topic", "left", other)
        scene.wait(lambda: scene.holders("left") <= SLOW, "what is left goes to the default pool")
        scene.says("cluster", about="in place")
    before = scene.assignment("bills")
    with watched_by(scene, home, scene.namespace):
        scene.patch("topic", "orders", config={"retention.ms": "900000000"})
        scene.wait(lambda: scene.config("orders"), "what is watched is followed")
        said = scene.says("cluster", about="not watched")
        assert f"2 topics of namespace {other} (bills, gifts)" in said
        scene.patch("pool", "slow", drain=[4])
        scene.wait(lambda: 4 not in scene.holders("left"), "what is left is managed")
        scene.says("pool", "slow")
        assert scene.assignment("bills") == before

        scene.apply(scene.topic("bills", "slow", deletionPolicy="Delete", **TWO))
        said = scene.says("topic", "bills", "AdoptionRequired")
        assert f"Topic {other}/bills" in said
        scene.delete("topic", "bills")
        scene.gone("topic", "bills")
        scene.barrier("slow")
        assert scene.assignment("bills") == before

        scene.apply(scene.topic("gifts", "slow", **TWO))
        scene.says("topic", "gifts", "AdoptionRequired")
        asked = scene.asked("gifts")
        scene.patch("cluster", approval={"policy": "Auto", "plans": [asked["hash"]]})
        scene.says("topic", "gifts")
        assert scene.holders("gifts") <= SLOW

        scene.patch("pool", "fast", drain=[1])
        scene.wait(lambda: 1 not in scene.holders("bills"), "a drained broker is left")
        assert scene.holders("bills") <= FAST
    with watched_by(scene, home, scene.namespace, other):
        scene.patch("topic", "bills", other, config={"retention.ms": "900000000"})
        scene.wait(lambda: scene.config("bills"), "what is watched again is followed again")
        scene.says("topic", "bills", namespace=other)
        scene.says("topic", "gifts", "TopicConflict", namespace=other)
        said = scene.says("cluster", about="in place")
        assert "watched" not in said
