"""What hangs on real brokers: a request that nobody works on, and a log directory that failed."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from kazoo.client import KazooClient

import traffic
from conditions import until
from matrices import soak
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.specs import Execution, Remedies, Throttle, ThrottleMode
from poolkeeper.model.topology import TopicPartition
from poolkeeper.reconcile.act import stall_recovery
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.journal import journal
from real.support import (
    MIB,
    REQUEST,
    access,
    asking_brokers,
    assert_nothing_left,
    assignment,
    body,
    command,
    create,
    declare,
    desired,
    kazoo,
    move,
    plan_of,
    run,
    seen,
)

VERSIONS = ["3.9.2", *soak("2.8.2", "2.0.1")]
SLOW = Execution(
    throttle=Throttle(ThrottleMode.FIXED, 2 * MIB),
    max_moves=1,
    remedies=Remedies(remove_stale_requests=True, allow_controller_failover=True),
)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_entry_that_poisons_the_next_controller_is_named_and_never_read(
    kafka, topic_name: str, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Somebody adds an entry with ids that are strings to ours while it is worked on."""
    monkeypatch.setattr(stall_recovery, "STALL_MS", 2_000)
    sandbox, other = kafka(version), f"{topic_name}-other"
    create(sandbox, topic_name, (1, 2), (1, 2))
    create(sandbox, other, (1, 2))
    traffic.fill(sandbox.bootstrap, {topic_name: 2}, 12 * MIB)  # seconds, on a busy machine as well
    wanted = desired(topic_name, other, execution=SLOW)
    moves = [
        move(sandbox, topic_name, 0, (1, 2), (3, 2)),
        move(sandbox, topic_name, 1, (1, 2), (1, 3)),
    ]
    outcomes: list[Outcome] = []
    with kazoo(sandbox.connect) as zookeeper:

        def watch(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if not edited and is_worked_on(sandbox, topic_name):
                edited.append(add_entry(zookeeper, other))

        edited: list[bool] = []
        plan = plan_of(wanted, sandbox, moves=moves)
        last = drive(asking_brokers(sandbox), wanted, plan, watch)
        assert (last.state, edited) == (State.CONVERGED, [True])
        assert assignment(sandbox, topic_name) == [(3, 2), (1, 3)]
        if version != "2.0.1":  # this controller writes the node anew from its memory
            named = {wait.reason for outcome in outcomes for wait in outcome.waits}
            assert WaitReason.REQUEST_IDS_INVALID in named
            done = [action.kind for outcome in outcomes for action in outcome.did]
            at = done.index(ActionKind.STALE_REQUEST_WITHDRAWN)
            assert done[at + 1] is ActionKind.CONTROLLER_WOKEN
        assert_nothing_left(sandbox, topic_name, other)
        a_next_controller_works(sandbox, zookeeper, f"{topic_name}-new")
        assert assignment(sandbox, other) == [(1, 2)]


@pytest.mark.parametrize("version", VERSIONS)
def test_requests_that_somebody_left_do_not_keep_a_run_from_beginning(
    kafka, topic_name: str, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """First a request for a broker that nobody knows; then one that controllers refuse."""
    monkeypatch.setattr(stall_recovery, "STALL_MS", 2_000)
    monkeypatch.setattr(stall_recovery, "FOREIGN_IGNORED_MS", 2_000)
    sandbox, other = kafka(version), f"{topic_name}-other"
    create(sandbox, topic_name, (1, 2))
    create(sandbox, other, (1, 2))
    wanted = desired(topic_name, other, execution=SLOW)
    there = (1, 2)
    for to, request in (
        ((3, 2), {"topic": other, "partition": 0, "replicas": [99, 2]}),
        ((1, 2), {"topic": other, "partition": 0, "replicas": [3, 1], "log_dirs": ["any"] * 2}),
    ):
        outcomes: list[Outcome] = []
        plan = plan_of(wanted, sandbox, moves=[move(sandbox, topic_name, 0, there, to)])
        with kazoo(sandbox.connect) as zookeeper:
            asked = json.dumps({"version": 1, "partitions": [request]}).encode()
            zookeeper.create(REQUEST, asked)
            last = drive(asking_brokers(sandbox), wanted, plan, outcomes.append)
        assert last.state is State.CONVERGED
        assert assignment(sandbox, topic_name) == [to]
        there = to
        done = [action.kind for outcome in outcomes for action in outcome.did]
        named = {wait.reason for outcome in outcomes for wait in outcome.waits}
        if request["replicas"] == [99, 2]:
            assert WaitReason.REQUEST_BROKER_UNKNOWN in named
            assert ActionKind.FOREIGN_MOVE_CANCELLED in done
        elif version != "2.0.1":  # this controller deletes it at once
            assert WaitReason.REQUEST_KEY_UNKNOWN in named
            assert ActionKind.CONTROLLER_WOKEN in done
    if version != "2.0.1":  # here the union stays, and is for the next plan to mend
        assert set(assignment(sandbox, other)[0]) == {1, 2}
    assert_nothing_left(sandbox, topic_name, other)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("again", [False, True], ids=["gone", "made-again"])
def test_a_topic_that_is_deleted_in_mid_move_holds_no_rollback_up(
    kafka, topic_name: str, monkeypatch: pytest.MonkeyPatch, version: str, again: bool
) -> None:
    monkeypatch.setattr(stall_recovery, "STALL_MS", 2_000)
    sandbox, other = kafka(version), f"{topic_name}-other"
    create(sandbox, topic_name, (1, 2))
    create(sandbox, other, (1, 2))
    traffic.fill(sandbox.bootstrap, {topic_name: 1}, 6 * MIB)
    slow = Execution(throttle=Throttle(ThrottleMode.FIXED, MIB // 16))
    wanted = desired(topic_name, other, execution=slow)
    outcomes: list[Outcome] = []
    deleted: list[bool] = []
    with kazoo(sandbox.connect) as zookeeper:

        def watch(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if deleted or not is_worked_on(sandbox, topic_name):
                return
            marker = f"/admin/delete_topics/{topic_name}"
            zookeeper.create(marker)
            until(lambda: zookeeper.exists(marker) is None, "the topic is gone")
            if again:
                made = {"version": 1, "partitions": {"0": [2, 3]}}
                zookeeper.create(f"/brokers/topics/{topic_name}", json.dumps(made).encode())
            with access(sandbox).session() as session:
                stop = StopRequest(at_once=True)
                deleted.append(journal.request_stop(session, stop) is not None)

        plan = plan_of(wanted, sandbox, moves=[move(sandbox, topic_name, 0, (1, 2), (3, 1))])
        last = drive(asking_brokers(sandbox), wanted, plan, watch)
        assert (last.state, deleted) == (State.STOPPED, [True])
        assert not zookeeper.exists(REQUEST)
        if version == "2.0.1":  # whose controller notices no later request
            a_next_controller_works(sandbox, zookeeper, f"{topic_name}-next")
    done = [action.kind for outcome in outcomes for action in outcome.did]
    known = not again or version != "2.0.1"  # which has no topic ids
    stale, ignored = ActionKind.STALE_REQUEST_WITHDRAWN, ActionKind.UNNOTICED_REQUEST_WITHDRAWN
    assert (stale if known else ignored) in done
    assert_nothing_left(sandbox, other, *([topic_name] if again else []))


def is_worked_on(sandbox: Sandbox, topic: str) -> bool:
    found = seen(sandbox, topic).topics.get(topic)
    return found is not None and any(len(p.replicas) > 2 for p in found.partitions)


def add_entry(zookeeper: KazooClient, topic: str) -> bool:
    request = body(zookeeper, REQUEST)
    request["partitions"].append({"topic": topic, "partition": 0, "replicas": ["2", "3"]})
    zookeeper.set(REQUEST, json.dumps(request).encode())
    return True


def a_next_controller_works(sandbox: Sandbox, zookeeper: KazooClient, topic: str) -> None:
    before = int(zookeeper.get("/controller_epoch")[0])
    zookeeper.delete("/controller")
    until(lambda: int(zookeeper.get("/controller_epoch")[0]) > before, "another controller")
    create(sandbox, topic, (1, 2))
    assert int(zookeeper.get("/controller_epoch")[0]) == before + 1


@pytest.mark.parametrize("version", soak("3.9.2", "2.8.2", "2.0.1"))
def test_a_log_directory_that_fails_under_a_copy_is_named(
    fresh_kafka, tmp_path: Path, version: str
) -> None:
    sandbox = fresh_kafka(version)
    create(sandbox, "t", (1, 2))
    traffic.fill(sandbox.bootstrap, {"t": 1}, 30 * MIB)
    pools = {"p": {"brokers": {"ids": [2, 3]}}}
    slow = {"throttle": {"mode": "Fixed", "rate": "1Mi"}}
    topics = {"t": {"pool": "p", "partitions": 1, "replicationFactor": 2}}
    declare(tmp_path / "manifests", sandbox, pools, topics, execution=slow)
    output = tmp_path / "output"
    words = command("apply", "-f", tmp_path / "manifests", "--yes")
    with output.open("w") as file:
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT)
    try:
        with BrokerClient.open(sandbox.bootstrap.split(",")) as brokers:
            held = until(lambda: log_dir_of(brokers, 3), "broker 3 copies")
            shutil.rmtree(held)
            held.write_text("no directory\n")
        said = f"log directory {held} of broker 3 has failed (storage error); t-0 cannot be copied"
        until(lambda: said in output.read_text() or process.poll() is not None, said)
        assert said in output.read_text()
        status = run("status", "-f", tmp_path / "manifests").out
    finally:
        process.kill()
        process.wait(60)
    assert status.startswith("blocked by")
    assert f"log directory {held} of broker 3 has failed" in " ".join(status.split())
    assert "all replicas are in sync" not in status


def log_dir_of(brokers: BrokerClient, broker: int) -> Path | None:
    """The directory in which a broker has a replica of t-0 of some size."""
    logs = brokers.sizes([broker]).logs.get(broker)
    log = None if logs is None else logs.current.get(TopicPartition("t", 0))
    return None if log is None or not log.size_bytes else Path(log.log_dir)
