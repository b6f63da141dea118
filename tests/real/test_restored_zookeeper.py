"""ZooKeeper is restored from an old backup: what brokers hold is kept, and who is deaf is named."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from kazoo.client import KazooClient

import traffic
from conditions import until
from matrices import soak
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.errors import Unavailable
from poolkeeper.model.topology import TopicPartition
from poolkeeper.sandbox import Sandbox
from real.executors import Executor
from real.support import (
    MIB,
    REQUEST,
    assert_nothing_left,
    assignment,
    body,
    command,
    create,
    declare,
    kazoo,
    run,
)

VERSIONS = soak("3.9.2", "2.8.2", "2.0.1")
T0 = TopicPartition("t", 0)
STATE = "/brokers/topics/t/partitions/0/state"
POOLS = {"left": {"brokers": {"ids": [1, 2]}}, "right": {"brokers": {"ids": [3, 4]}}}
TOPICS = {"t": {"pool": "right", "partitions": 1, "replicationFactor": 2}}
TOPICS_IN_P = {"t": {"pool": "p", "partitions": 1, "replicationFactor": 2}}
ALL_ALLOWED = {"mode": "Apply", "approval": {"policy": "Auto"}}
UNKNOWN_S = 5
OVERWRITE = {"remedies": {"overwriteLargerLogs": True}}


def held(sandbox: Sandbox, broker: int) -> int | None:
    """The bytes of t-0 that a broker holds; None without a log."""
    with BrokerClient.open(sandbox.bootstrap.split(",")) as brokers:
        log = brokers.sizes([broker]).log(T0, broker)
    return None if log is None else log.size_bytes


def elect_another(zookeeper: KazooClient) -> None:
    epoch = int(zookeeper.get("/controller_epoch")[0])
    zookeeper.delete("/controller")
    until(lambda: int(zookeeper.get("/controller_epoch")[0]) > epoch, "another controller")


def put_back(sandbox: Sandbox, backup: Path) -> None:
    """Stop everything, and put a backup in the place of what ZooKeeper holds."""
    data = sandbox.transaction_log()
    for broker in sandbox.spec.brokers:
        sandbox.kill(broker.id)
    sandbox.kill_zookeeper()
    shutil.rmtree(data)
    shutil.copytree(backup, data)


@contextmanager
def applying(folder: Path) -> Iterator[Executor]:
    words = command("apply", "--yes", "-f", folder)
    with Executor.start(words, folder.parent / "output") as executor:
        yield executor


@pytest.mark.parametrize("version", VERSIONS)
def test_what_only_strangers_hold_is_not_cut(fresh_kafka, tmp_path: Path, version: str) -> None:
    """The backup is from before t-0 was moved to brokers 3 and 4; its old brokers lost it then."""
    sandbox, folder = fresh_kafka(version, brokers=4), tmp_path / "manifests"
    create(sandbox, "t", (1, 2))
    traffic.fill(sandbox.bootstrap, {"t": 1}, MIB)
    with kazoo(sandbox.connect) as zookeeper:
        backup = {path: zookeeper.get(path)[0] for path in ("/brokers/topics/t", STATE)}
        entry = {"topic": "t", "partition": 0, "replicas": [3, 4]}
        zookeeper.create(REQUEST, json.dumps({"version": 1, "partitions": [entry]}).encode())
        until(lambda: not zookeeper.exists(REQUEST), "t-0 is moved")
        until(lambda: held(sandbox, 1) is None and held(sandbox, 2) is None, "its logs are gone")
        whole = held(sandbox, 3)
        for broker in (1, 2, 3, 4):
            sandbox.kill(broker)
        sandbox.await_gone(1, 2, 3, 4)
        for path, data in backup.items():
            zookeeper.set(path, data)
        for broker in (1, 2, 3, 4):
            sandbox.start_broker(broker)
        sandbox.await_ready()
    until(lambda: held(sandbox, 1) == 0, "broker 1 leads an empty log")
    assert held(sandbox, 3) == whole
    declare(folder, sandbox, POOLS, TOPICS)
    said = "would be cut to what the leader has"
    planned = run("plan", "-f", folder)
    assert (planned.code, said in " ".join(planned.out.split())) == (2, True), planned
    with applying(folder) as executor:
        executor.await_said(said)
    assert assignment(sandbox, "t") == [(1, 2)]
    assert held(sandbox, 3) == whole
    declare(folder, sandbox, POOLS, TOPICS, execution=OVERWRITE)
    done = run("apply", "--yes", "-f", folder)
    assert done.code == 0, done
    assert {*assignment(sandbox, "t")[0]} == {3, 4}
    assert held(sandbox, 3) == 0
    assert_nothing_left(sandbox, "t")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_that_the_backup_does_not_know_is_not_made_anew(
    fresh_kafka, tmp_path: Path, version: str
) -> None:
    """The brokers of the backup are registered right after the restore, and none of them lives."""
    sandbox, folder = fresh_kafka(version, brokers=3), tmp_path / "manifests"
    brokers, backup = (1, 2, 3), tmp_path / "backup"
    shutil.copytree(sandbox.transaction_log(), backup)
    create(sandbox, "t", (1, 2))
    traffic.fill(sandbox.bootstrap, {"t": 1}, MIB)
    whole = held(sandbox, 2)
    put_back(sandbox, backup)
    declare(folder, sandbox, {"p": {"brokers": {"ids": [*brokers]}}}, TOPICS_IN_P, **ALL_ALLOWED)
    with Executor.start(command("run", "-f", folder), tmp_path / "output") as executor:
        executor.await_said("no ZooKeeper answers")
        sandbox.start_zookeeper()
        for broker in brokers:
            sandbox.start_broker(broker)
        executor.await_said("of t-0, which is to be created: what it holds would be lost")
    with kazoo(sandbox.connect) as zookeeper:
        assert not zookeeper.exists("/brokers/topics/t")
    assert (held(sandbox, 1), held(sandbox, 2)) == (whole, whole)


@pytest.mark.parametrize("version", VERSIONS)
def test_no_replica_is_added_before_brokers_tell_what_they_hold(
    fresh_kafka, tmp_path: Path, version: str
) -> None:
    """By the backup all is well: brokers 1 and 2 are in sync. Neither lives, nor has a log."""
    sandbox, folder = fresh_kafka(version, brokers=4), tmp_path / "manifests"
    backup, execution = tmp_path / "backup", {"throttle": {"mode": "None"}}
    create(sandbox, "t", (1, 2))
    traffic.fill(sandbox.bootstrap, {"t": 1}, MIB)
    shutil.copytree(sandbox.transaction_log(), backup)
    with kazoo(sandbox.connect) as zookeeper:
        entry = {"topic": "t", "partition": 0, "replicas": [3, 4]}
        zookeeper.create(REQUEST, json.dumps({"version": 1, "partitions": [entry]}).encode())
        until(lambda: not zookeeper.exists(REQUEST), "t-0 is moved")
        until(lambda: held(sandbox, 1) is None and held(sandbox, 2) is None, "its logs are gone")
    whole = held(sandbox, 3)
    put_back(sandbox, backup)
    declare(folder, sandbox, POOLS, TOPICS, execution=execution, **ALL_ALLOWED)
    with Executor.start(command("run", "-f", folder), tmp_path / "output") as executor:
        executor.await_said("no ZooKeeper answers")
        sandbox.start_zookeeper()
        executor.await_said("moving: 0 of 1 move")
        for broker in (1, 2, 3, 4):
            sandbox.start_broker(broker)
        executor.await_said("of t-0, and the leader 0 B: a replica there would be cut")
    assert assignment(sandbox, "t") == [(1, 2)]
    assert (held(sandbox, 3), held(sandbox, 4)) == (whole, whole)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_leader_that_ignores_the_controller_is_named(
    fresh_kafka, tmp_path: Path, version: str
) -> None:
    """The backup counts the epochs of controllers anew: who does not restart knows a later one."""
    sandbox, folder = fresh_kafka(version, brokers=4), tmp_path / "manifests"
    create(sandbox, "t", (1, 2))
    traffic.fill(sandbox.bootstrap, {"t": 1}, MIB)
    with kazoo(sandbox.connect) as zookeeper:
        backup = zookeeper.get(STATE)[0]  # a controller changes no state of a later epoch
        for _ in range(2):
            elect_another(zookeeper)
            sandbox.await_ready()
        until(lambda: body(zookeeper, STATE)["leader"] == 1, "broker 1 leads")
        for broker in (2, 3, 4):
            sandbox.kill(broker)
        sandbox.await_gone(2, 3, 4)
        until(lambda: body(zookeeper, STATE)["isr"] == [1], "the last controller wrote its state")
        zookeeper.set("/controller_epoch", b"1")
        zookeeper.set(STATE, backup)
        zookeeper.delete("/controller")
        for broker in (2, 3, 4):
            with suppress(Unavailable):  # broker 1 will never say that it knows them
                sandbox.start_broker(broker, UNKNOWN_S)
        until(lambda: len(zookeeper.get_children("/brokers/ids")) == 4, "all are registered")
    declare(folder, sandbox, POOLS, TOPICS)
    said = "broker 1 is live and leads t-0, and does not know of the new replicas"
    with applying(folder) as executor:
        executor.await_said(said, 180)
        told = run("status", "-f", folder)
        assert said in " ".join(told.out.split()), told
        sandbox.kill(1)
        sandbox.await_gone(1)
        sandbox.start_broker(1)
        assert executor.end().code == 0, executor.said()
    assert {*assignment(sandbox, "t")[0]} == {3, 4}
    assert_nothing_left(sandbox, "t")


@pytest.mark.parametrize("version", soak("3.9.2", "2.8.2", "2.0.1"))
def test_an_epoch_that_was_deleted_is_raised(fresh_kafka, tmp_path: Path, version: str) -> None:
    """Somebody elects another controller as a page on the web says: by deleting both nodes."""
    sandbox, folder = fresh_kafka(version, brokers=4), tmp_path / "manifests"
    with kazoo(sandbox.connect) as zookeeper:
        for _ in range(3):
            elect_another(zookeeper)
            sandbox.await_ready()
        create(sandbox, "t", (1, 2))
        until(lambda: body(zookeeper, STATE)["isr"] == [1, 2], "t-0 is in sync")
        written = body(zookeeper, STATE)["controller_epoch"]
        assert written > 3
        declare(folder, sandbox, POOLS, TOPICS)
        zookeeper.delete("/controller_epoch")
        zookeeper.delete("/controller")
        until(lambda: zookeeper.exists("/controller_epoch"), "a controller counts anew")
        until(lambda: zookeeper.exists("/controller"), "there is one")
        before = body(zookeeper, "/brokers/topics/t")
        mend = ("repair", "-f", folder, "--yes", "--backup", tmp_path / "backup.json")
        mend = (*mend, "--allow-controller-failover")

        said = f"1 partition (such as t-0) was written under controller epochs up to {written}"
        for code, words in ((2, ("plan",)), (0, ("status",))):
            told = run(*words, "-f", folder)
            assert (told.code, said in " ".join(told.out.split())) == (code, True), told
        with applying(folder) as executor:
            executor.await_said(said)
            refused = run(*mend)
            assert (refused.code, "PlanOnly" in refused.err) == (1, True), refused
            assert body(zookeeper, "/brokers/topics/t") == before
            assert not zookeeper.exists(REQUEST)
        mended = run(*mend)
        assert mended.code == 0, mended
        assert int(zookeeper.get("/controller_epoch")[0]) > written
        done = run("apply", "--yes", "-f", folder)
        assert done.code == 0, done
        assert {*assignment(sandbox, "t")[0]} == {3, 4}
        assert body(zookeeper, STATE)["controller_epoch"] > written
    assert_nothing_left(sandbox, "t")
