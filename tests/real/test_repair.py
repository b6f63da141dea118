"""Nodes are poisoned, repaired, and the controller is killed: the next one starts, on real brokers.

A cluster that is poisoned as it has been seen in the field has a controller that works, and no next
one. `repair` mends the nodes, and says that this is not enough until another controller is elected.
"""

import json
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from conditions import until
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal
from real.support import REQUEST, assignment, body, create, kazoo, run

pytestmark = pytest.mark.long

EPOCH = "/controller_epoch"
STEADY_S = 3


def epoch(zookeeper: KazooClient) -> int:
    return int(zookeeper.get(EPOCH)[0])


def is_gone(zookeeper: KazooClient, path: str) -> bool:
    return zookeeper.exists(path) is None


def ask(zookeeper: KazooClient, topic: str, replicas: list[object]) -> None:
    """Make a request that no tool should make."""
    entry = {"topic": topic, "partition": 0, "replicas": replicas}
    zookeeper.create(REQUEST, json.dumps({"version": 1, "partitions": [entry]}).encode())
    until(lambda: is_gone(zookeeper, REQUEST), "the poisoned request is taken")


def poison(zookeeper: KazooClient, version: str) -> list[str]:
    """Poison Kafka's nodes, and one of ours; return their paths."""
    ask(zookeeper, "texts", ["2", "3"])
    until(
        lambda: "2" in body(zookeeper, "/brokers/topics/texts")["partitions"]["0"],
        "the texts are in the topic's node",
    )
    paths = ["/brokers/topics/texts", "/poolkeeper/records/topics/whole"]
    if version != "2.0.1":  # there it destroys the data at once
        ask(zookeeper, "nothing", [])
        paths.append("/brokers/topics/nothing")
    zookeeper.create("/brokers/topics/empty", b"")
    zookeeper.set("/config/topics/whole", b'{"version":1,"config":{"retention.ms":600000}}')
    zookeeper.set("/poolkeeper/records/topics/whole", b'{"version":1,"owner":')
    return [*paths, "/brokers/topics/empty", "/config/topics/whole"]


def state(zookeeper: KazooClient, topic: str) -> dict:
    try:
        return body(zookeeper, f"/brokers/topics/{topic}/partitions/0/state")
    except NoNodeError:
        return {}


def a_controller_stays(zookeeper: KazooClient, after: int) -> None:
    """Wait until a controller later than that epoch stays, and gives a new topic a leader."""

    def stays() -> bool:
        before = epoch(zookeeper)
        if before <= after or is_gone(zookeeper, "/controller"):
            return False
        changed = zookeeper.handler.event_object()
        zookeeper.get(EPOCH, watch=lambda _: changed.set())
        return not changed.wait(STEADY_S) and epoch(zookeeper) == before

    until(stays, "a controller stays")


@pytest.mark.parametrize(
    "version",
    [
        "3.9.2",
        pytest.param("2.8.2", marks=pytest.mark.soak),
        pytest.param("2.0.1", marks=pytest.mark.soak),
    ],
)
def test_what_is_poisoned_is_repaired_and_the_next_controller_starts(
    fresh_kafka, version: str, tmp_path: Path
) -> None:
    sandbox = fresh_kafka(version, brokers=3)
    for name in ("texts", "nothing", "whole"):
        create(sandbox, name, (1, 2))
    with kazoo(sandbox.connect) as zookeeper:
        paths = poison(zookeeper, version)
        shown = repair(sandbox, tmp_path)
        assert shown.code == 2
        assert [path for path in paths if path not in shown.out] == []

        # The controller still has the poison in memory, and the command says so.
        said = repair(sandbox, tmp_path, "--yes")
        assert said.code == 4, said
        assert "may write" in said.out
        assert repair(sandbox, tmp_path).code == 0
        assert body(zookeeper, "/config/topics/whole")["config"] == {"retention.ms": "600000"}
        with Session.open(sandbox.connect) as session:
            assert journal.read_status(session).damage == ()

        # It is killed, and the next one starts.
        before, controller = epoch(zookeeper), body(zookeeper, "/controller")["brokerid"]
        sandbox.kill(controller)
        a_controller_stays(zookeeper, before)
        assert epoch(zookeeper) <= before + 2
        sandbox.start_broker(controller)
        create(sandbox, "after", (2, 3))
        until(lambda: state(zookeeper, "after").get("isr") == [2, 3], "the new topic is led")
        for name in ("texts", "nothing", "whole"):
            assert assignment(sandbox, name) == [(1, 2)]
            until(
                lambda name=name: set(state(zookeeper, name)["isr"]) == {1, 2},
                f"all replicas of {name} are in sync",
            )
        assert repair(sandbox, tmp_path).code == 0

        # Once more, and this time it is noticed late: no controller starts any more.
        ask(zookeeper, "whole", ["2", "3"])
        before = epoch(zookeeper)
        zookeeper.delete("/controller")
        until(lambda: epoch(zookeeper) > before + 10, "controllers fail one after another")
        said = repair(sandbox, tmp_path, "--yes")
        assert said.code == 0, said
        a_controller_stays(zookeeper, before)
        assert assignment(sandbox, "whole") == [(1, 2)]

        # And with a failover that is allowed, in one go; a request that nobody can read as well.
        ask(zookeeper, "whole", ["2", "3"])
        zookeeper.create(REQUEST, b"{")
        said = repair(sandbox, tmp_path, "--yes", "--allow-controller-failover")
        assert said.code == 0, said
        create(sandbox, "last", (1, 3))
        until(lambda: state(zookeeper, "last").get("isr") == [1, 3], "the new topic is led")
        assert assignment(sandbox, "whole") == [(1, 2)]


def repair(sandbox: Sandbox, folder: Path, *words: str):
    return run("repair", sandbox.connect, "--backup", folder / "backup.json", *words)
