"""Two releases at work on one Kubernetes and one Kafka cluster: said plainly, and no data at risk.

Each has a namespace, a Lease and an account of its own: the audit log tells which of them wrote
what, ZooKeeper's transaction log who wrote to Kafka.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from conditions import SERVER_POLL_S, until
from control_plane.planes import ControlPlane
from operated import EPOCH, Rights, log_lines
from operated_resources import Operated, Scene
from operation import OperatorProcess
from poolkeeper.controller.reporting.operator_names import ANSWER_S, FORGET_S
from poolkeeper.controller.reporting.outage import OUTAGE_S
from poolkeeper.sandbox import Sandbox
from real.support import of_path

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200, func_only=True)]

NAMES = ("t0", "t1", "t2", "t3", "t4", "t5")
WRITES = ("create", "update", "patch", "delete")
QUICK = ("--log-format=json", "--settle=1s")
LEAVES_S = 2 * (FORGET_S + ANSWER_S) + 180


def release(plane: ControlPlane, name: str) -> OperatorProcess:
    namespace = plane.new_namespace()
    return OperatorProcess(plane, namespace, name, QUICK, Rights(plane, namespace).account(name))


@contextmanager
def two_releases(
    plane: ControlPlane, zookeeper: Sandbox, mode: str
) -> Iterator[tuple[Scene, OperatorProcess, OperatorProcess]]:
    """Start one, and another one when everything is as declared."""
    with release(plane, "first") as first:
        first.await_role("leader")
        with Scene(Operated(plane, zookeeper, first)) as scene:
            cluster = scene.cluster(mode="Apply", approval={"policy": "Auto"})
            spec = {"partitions": 1, "replicationFactor": 2}
            topics = (scene.topic(name, "p", **spec) for name in NAMES)
            scene.apply(cluster, scene.pool("p", 1, 2, 3), *topics)
            for name in NAMES:
                scene.says("topic", name)
            scene.says("cluster")
            scene.patch("cluster", mode=mode)
            scene.says("cluster")
            with release(plane, "second") as second:
                second.await_role("leader")
                yield scene, first, second


def writes(operator: OperatorProcess, since: datetime) -> Counter[str]:
    """How often it wrote what to the API server."""
    account = f"{operator.namespace}/{operator.identity}"
    return Counter(
        f"{event.resource}/{event.subresource}"
        for event in operator.plane.audit()
        if event.account == account and event.verb in WRITES and event.at >= since
    )


def takeovers(scene: Scene) -> list[int]:
    """The sessions that took the journal over, the first one first."""
    return [c.session for c in of_path(scene.changes(), EPOCH) if c.kind == "SET"]


def assert_nothing_flaps(scene: Scene, *operators: OperatorProcess) -> None:
    """For longer than Topics are kept from an outage they say what is so, and few writes say it."""
    since, end_s = datetime.now(UTC), time.monotonic() + OUTAGE_S + 40
    said: set[tuple[str, str]] = set()

    def over() -> bool:
        said.update((name, scene.condition("topic", name)["reason"]) for name in NAMES)
        said.add(("cluster", scene.condition("cluster")["reason"]))
        return time.monotonic() > end_s

    until(over, "statuses were watched for a while", OUTAGE_S + 100, SERVER_POLL_S)
    assert said == {*((name, "InPlace") for name in NAMES), ("cluster", "TwoOperators")}
    for operator in operators:
        found = writes(operator, since)
        assert (found["topics/status"], found["resourcepools/status"]) == (0, 0)
        assert found["kafkaclusters/status"] <= 4
        assert found["events/"] <= 1


def test_both_say_so_and_the_one_that_holds_the_cluster_goes_on_alone(clean_cluster, zookeeper):
    with two_releases(clean_cluster, zookeeper, "Apply") as (scene, first, second):
        both = sorted(f"{each.namespace}/poolkeeper" for each in (first, second))
        said = scene.says("cluster", reason="TwoOperators")
        assert said.startswith(f"2 releases of Poolkeeper work here ({', '.join(both)}: ")
        until(lambda: log_lines(first.log, "TwoOperators"), "the first one logs it", 60)
        until(lambda: log_lines(second.log, "TwoOperators"), "the second one logs it", 60)
        told = scene.events("cluster", awaited="TwoOperators")
        assert ("Warning", "TwoOperators", 1) in told
        assert_nothing_flaps(scene, first, second)

        scene.patch("topic", "t0", config={"retention.ms": "900000000"})
        scene.says("topic", "t0")
        assert scene.config("t0") == {"retention.ms": "900000000"}
        (holder,) = set(takeovers(scene))
        assert {c.session for c in scene.changes() if c.path.startswith("/config/")} == {holder}

        first.stop()
        scene.patch("topic", "t1", config={"retention.ms": "900000000"})
        scene.says("topic", "t1")
        assert scene.config("t1") == {"retention.ms": "900000000"}
        assert len(takeovers(scene)) == 2
        scene.says("cluster", timeout_s=LEAVES_S)
        assert scene.status("cluster")["operator"] == f"{second.namespace}/poolkeeper"


def test_both_say_so_where_nobody_holds_the_cluster(clean_cluster, zookeeper):
    with two_releases(clean_cluster, zookeeper, "PlanOnly") as (scene, first, second):
        scene.says("cluster", reason="TwoOperators")
        assert_nothing_flaps(scene, first, second)
        before = scene.changes()
        scene.patch("pool", "p", drain=[3])
        scene.wait(lambda: "planDocument" in scene.status("cluster"), "the plan is shown")
        until(lambda: log_lines(second.log, "TwoOperators"), "the second one logs it", 60)
        assert scene.changes() == before
        kept = {scene.status("cluster")["planDocument"].partition("/")[0]}

        def over(end_s: float = time.monotonic() + OUTAGE_S) -> bool:
            kept.add(scene.status("cluster")["planDocument"].partition("/")[0])
            return time.monotonic() > end_s

        until(over, "the plan was watched for a while", OUTAGE_S + 60, SERVER_POLL_S)
        assert len(kept) == 1
        second.stop()
        scene.says("cluster", reason="PlanOnly", timeout_s=LEAVES_S)
        assert scene.status("cluster")["operator"] == f"{first.namespace}/poolkeeper"
