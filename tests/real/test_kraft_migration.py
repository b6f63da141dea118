"""A cluster is taken over by a real KRaft controller in mid-move, and the migration is reverted."""

import socket
from pathlib import Path

import pytest

from conditions import until
from poolkeeper.sandbox import Sandbox, spread
from real.executors import Executor
from real.kraft_controllers import KraftController, migrating
from real.migrated_topic import TOPIC, fill
from real.migrations import SETTINGS, started
from real.support import (
    REQUEST,
    assert_nothing_left,
    assignment,
    body,
    command,
    create,
    declare,
    history,
    kazoo,
    last_zxid,
    run,
)

pytestmark = pytest.mark.long
SESSIONS = {"session_timeout_ms": 18_000, "session_timeout_max_ms": 60_000}
"""No broker loses its session on a machine with other work: nothing of that is tried here."""
REMEDIES = {"allowControllerFailover": True, "removeStaleRequests": True}
SLOW = {"throttle": {"mode": "Fixed", "rate": "8Ki"}}
"""Slow enough for a KRaft controller to start meanwhile on any machine."""
RATE = "leader.replication.throttled.rate"
MIGRATING = "the cluster is migrating to KRaft"


def test_a_migration_to_kraft_is_left_alone_and_what_stays_is_taken_off_after_its_revert(
    tmp_path: Path,
) -> None:
    reserved = socket.create_server(("127.0.0.1", 0))
    port = reserved.getsockname()[1]
    spec = {"brokers": spread(2, ""), "settings": (*SETTINGS, *migrating(port))}
    with reserved, started("3.9.2", **spec, **SESSIONS) as sandbox:
        folder = tmp_path / "manifests"
        create(sandbox, TOPIC, (1,), (1,))
        fill(sandbox.bootstrap, [24, 24])
        topic = {"pool": "right", "partitions": 2, "replicationFactor": 1}
        execution = {**SLOW, "remedies": REMEDIES}
        declare(
            folder,
            sandbox,
            {"right": {"brokers": {"ids": [2]}}},
            {TOPIC: topic},
            execution=execution,
        )
        words = command("apply", "-f", folder, "--yes")
        with Executor.start(words, tmp_path / "output") as executor:
            until(lambda: lists(sandbox) == [[2, 1], [2, 1]], "both partitions move")
            reserved.close()
            with KraftController.start(sandbox, port, tmp_path) as controller:
                until(controller.leads, "the KRaft controller leads")
                since = last_zxid(sandbox)
                executor.await_said(MIGRATING)
                assert "KRaft controller 3000" in run("status", "-f", folder).out
                stop = run("stop", "-f", folder)
                assert (stop.code, "moves in flight go on and its throttles stay" in stop.out) == (
                    0,
                    True,
                ), stop
                ended = executor.end()
                told = " ".join(ended.out.split())
                assert (ended.code, "run ended: stopped" in told) == (1, True), ended
                assert "left as they are: t-0, t-1 were being moved" in told
                assert "left the throttles on 3 topics and brokers" in told
                assert ours(sandbox, since) == []
                stays(sandbox, folder)
                for broker in (1, 2):
                    controller.run(*taking_off(sandbox, broker))
                # It writes who is in sync after the lists, and is killed in a moment.
                until(lambda: lists(sandbox) == [[2], [2]] == in_sync(sandbox), "it ends the moves")
            revert(sandbox)
            assert run("apply", "-f", folder, "--yes").code == 0
            assert_nothing_left(sandbox, TOPIC)
            assert assignment(sandbox, TOPIC) == [(2,), (2,)]


def lists(sandbox: Sandbox) -> list[list[int]]:
    with kazoo(sandbox.connect) as client:
        found = body(client, f"/brokers/topics/{TOPIC}")["partitions"]
    return [found["0"], found["1"]]


def in_sync(sandbox: Sandbox) -> list[list[int]]:
    partitions = f"/brokers/topics/{TOPIC}/partitions"
    with kazoo(sandbox.connect) as client:
        return [body(client, f"{partitions}/{number}/state")["isr"] for number in (0, 1)]


def ours(sandbox: Sandbox, since: int) -> list[str]:
    """What was written of Kafka's by who writes below /poolkeeper."""
    changes = history(sandbox, since)
    sessions = {c.session for c in changes if c.path.startswith("/poolkeeper/")}
    return [
        change.path
        for change in changes
        if change.session in sessions and not change.path.startswith("/poolkeeper/")
    ]


def stays(sandbox: Sandbox, folder: Path) -> None:
    """What the run had in Kafka is there, and is told; it is no work for `plan` or `repair`."""
    with kazoo(sandbox.connect) as client:
        assert RATE in body(client, "/config/brokers/1")["config"]
        assert client.exists(REQUEST)
        assert body(client, "/controller")["brokerid"] == 3000
    said = " ".join(run("status", "-f", folder).out.split())
    assert "left throttles on topic t and brokers 1, 2" in said
    assert "kafka-configs --alter --delete-config" in said
    seen = run("snapshot", "-f", folder, "--out", folder.parent / "snapshot.json")
    assert (seen.code, MIGRATING in seen.err) == (0, True), seen
    refused = run("repair", "-f", folder, "--yes")
    assert (refused.code, MIGRATING in refused.err) == (1, True), refused


def taking_off(sandbox: Sandbox, broker: int) -> tuple[str, ...]:
    """What `docs/operations.md` says of throttles that were left on a broker."""
    page = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    command = page.partition("\n  kafka-configs ")[2].partition("\n  kafka-configs ")[0]
    command = command.replace("\\\n", " ").replace("HOST:PORT", sandbox.bootstrap)
    assert "--delete-config" in command
    return ("kafka.admin.ConfigCommand", *command.replace(" ID ", f" {broker} ").split())


def revert(sandbox: Sandbox) -> None:
    """As Kafka's documentation has people do it, once no KRaft controller runs any more."""
    with kazoo(sandbox.connect) as client:
        client.delete("/controller")
        until(lambda: client.exists("/controller"), "a broker is elected")
        assert body(client, "/migration")["kraft_controller_id"] == 3000
        client.delete("/migration")
        until(lambda: not client.exists(REQUEST), "it finds the request done")
