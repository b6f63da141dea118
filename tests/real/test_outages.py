"""Brokers that die or are restarted on real clusters.

Sources that are lost, unclean elections, outages in which nothing is rebuilt, the restart lock.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import traffic
from conditions import until
from matrices import soak
from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.sandbox import Sandbox
from real.support import (
    MIB,
    REQUEST,
    RUN,
    asking_brokers,
    assert_nothing_left,
    assignment,
    body,
    command,
    configure,
    create,
    declare,
    desired,
    kazoo,
    move,
    plan_of,
    run,
    seen,
)

ALLOWED = {"remedies": {"allowControllerFailover": True}}
SLOW = {"throttle": {"mode": "Fixed", "rate": "256Ki"}}
LOCK = "/ops/restart"
UNCLEAN = "unclean.leader.election.enable"


def leader_and_isr(sandbox: Sandbox, topic: str) -> tuple[int | None, tuple[int, ...]]:
    found = seen(sandbox, topic).topics.get(topic)
    if found is None:  # it changed while it was being read
        return None, ()
    return found.partitions[0].leader, found.partitions[0].isr or ()


@contextmanager
def applying(folder: Path, output: Path) -> Iterator[subprocess.Popen]:
    words = command("apply", "-f", folder, "--yes")
    with output.open("w") as file:
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)


def without_source(sandbox: Sandbox, tmp_path: Path) -> Path:
    """Move t slowly from brokers 1 and 2 to 3 and 4, and kill both when it has begun.

    Whoever moved it is killed as well, once it has said what it waits for.
    """
    create(sandbox, "t", (1, 2))
    create(sandbox, "u", (5, 3))
    traffic.fill(sandbox.bootstrap, {"t": 1}, 12 * MIB)
    folder = tmp_path / "manifests"
    pools = {
        name: {"brokers": {"ids": ids}}
        for name, ids in {"old": [1, 2], "new": [3, 4], "other": [5]}.items()
    }
    topics = {"t": {"pool": "new", "partitions": 1, "replicationFactor": 2}}
    declare(folder, sandbox, pools, topics, execution=SLOW)
    output = tmp_path / "output"
    with applying(folder, output):
        until(lambda: len(assignment(sandbox, "t")[0]) == 4, "the move has begun")
        for broker in (1, 2):
            sandbox.kill(broker)
        sandbox.await_gone(1, 2)
        told = "no other broker holds t-0 in sync: start"
        until(lambda: told in output.read_text(), told, 60)
    return folder


@pytest.mark.parametrize("version", soak("2.0.1", "2.3.1", "1.1.1"))
def test_a_move_without_a_source_is_let_go_once_its_brokers_are_given_up(
    fresh_kafka, tmp_path: Path, version: str
) -> None:
    sandbox = fresh_kafka(version, brokers=5)
    folder = without_source(sandbox, tmp_path)
    status = " ".join(run("status", "-f", folder).out.split())
    assert "no other broker holds t-0 in sync" in status
    topics = {"t": {"pool": "new", "partitions": 1, "replicationFactor": 2}}
    pools = {"new": {"brokers": {"ids": [3, 4]}}, "other": {"brokers": {"ids": [5]}}}
    declare(folder, sandbox, pools, topics, execution={**SLOW, **ALLOWED})
    output = tmp_path / "let-go"
    with applying(folder, output) as process:
        with kazoo(sandbox.connect) as zookeeper:
            until(lambda: not zookeeper.exists(RUN), "the run has ended", 120)
            assert not zookeeper.exists(REQUEST)
        assert set(assignment(sandbox, "t")[0]) == {1, 2, 3, 4}
        until(lambda: process.poll() is not None, "apply has nothing more to do", 60)
    text = output.read_text()
    assert "elected another controller" in text
    assert process.returncode == 4, text
    # The cluster works on: another topic moves.
    topics["u"] = {"pool": "new", "partitions": 1, "replicationFactor": 2}
    declare(folder, sandbox, pools, topics, execution=ALLOWED)
    assert run("apply", "--yes", "-f", folder).code == 4
    assert set(assignment(sandbox, "u")[0]) == {3, 4}
    # And the data is there again if a source returns after all.
    sandbox.start_broker(1)
    until(lambda: {3, 4} <= set(leader_and_isr(sandbox, "t")[1]), "its copies are in sync")
    assert run("apply", "--yes", "-f", folder).code == 0
    assert set(assignment(sandbox, "t")[0]) == {3, 4}
    assert_nothing_left(sandbox, "t", "u")


@pytest.mark.parametrize("version", soak("3.9.2", "2.8.2", "2.0.1"))
def test_a_move_without_a_source_goes_on_by_an_unclean_election(
    fresh_kafka, tmp_path: Path, version: str
) -> None:
    """As the message says: from what was copied, at the loss of the rest."""
    sandbox = fresh_kafka(version, brokers=5)
    folder = without_source(sandbox, tmp_path)
    with kazoo(sandbox.connect) as zookeeper:
        path = "/config/topics/t"
        config = body(zookeeper, path).get("config", {})
        configure(zookeeper, "topics/t", {**config, UNCLEAN: "true"})
        if version == "2.0.1":  # the controller does not look at it until it starts
            zookeeper.delete("/controller")
        until(lambda: leader_and_isr(sandbox, "t")[0] in (3, 4), "one of the targets leads", 60)
    assert run("apply", "--yes", "-f", folder).code in (0, 4)
    assert set(assignment(sandbox, "t")[0]) == {3, 4}
    with kazoo(sandbox.connect) as zookeeper:
        assert not zookeeper.exists(RUN)


def is_without_leader(sandbox: Sandbox) -> bool:
    """Whether nobody leads t-0; a controller that began after broker 1 died leaves it there."""
    leader, isr = leader_and_isr(sandbox, "t")
    return leader in (-1, 1) and isr == (1,)


@pytest.mark.parametrize("version", soak("3.9.2", "2.8.2", "2.0.1"))
def test_an_unclean_election_is_approved_and_said_aloud(
    fresh_kafka, tmp_path: Path, version: str
) -> None:
    """On Kafka 2.0 only the next controller looks at the config, as the plan says."""
    sandbox = fresh_kafka(version)
    create(sandbox, "t", (1, 2))
    sandbox.kill(2)
    sandbox.await_gone(2)
    traffic.fill(sandbox.bootstrap, {"t": 1}, MIB)
    until(lambda: leader_and_isr(sandbox, "t") == (1, (1,)), "broker 1 alone is in sync")
    sandbox.kill(1)
    sandbox.await_gone(1)
    sandbox.start_broker(2)
    folder, pools = tmp_path / "manifests", {"p": {"brokers": {"ids": [1, 2, 3]}}}
    topics = {"t": {"pool": "p", "partitions": 1, "replicationFactor": 2}}
    declare(folder, sandbox, pools, topics, mode="Apply")
    run("apply", "--yes", "-f", folder)
    assert is_without_leader(sandbox)  # nobody asks for it
    status = " ".join(run("status", "-f", folder).out.split())
    assert "1 partition without a leader" in status, status
    topics["t"]["config"] = {UNCLEAN: "true"}
    declare(folder, sandbox, pools, topics, mode="Apply")
    plan = " ".join(run("plan", "-f", folder).out.split())
    assert "what only broker 1 had is lost, even if they return" in plan
    assert "(up to Kafka 2.0 with the next controller)" in plan
    output = tmp_path / "output"
    with applying(folder, output) as process, kazoo(sandbox.connect) as zookeeper:
        configs = "/config/topics/t"
        until(lambda: UNCLEAN in body(zookeeper, configs).get("config", {}), "it is set", 180)
        if version == "2.0.1":
            until(lambda: process.poll() is not None, "apply has ended", 180)
            assert is_without_leader(sandbox)
            zookeeper.delete("/controller")
        until(lambda: leader_and_isr(sandbox, "t")[0] == 2, "broker 2 leads", 180)
        until(lambda: process.poll() is not None, "apply has ended", 180)
    assert leader_and_isr(sandbox, "t") == (2, (2,)), output.read_text()


@pytest.mark.parametrize("version", soak("3.9.2", "2.0.1"))
def test_nothing_is_rebuilt_in_an_outage(fresh_kafka, tmp_path: Path, version: str) -> None:
    """Both brokers of a rack, then one of them alone, which is a loss and is healed."""
    sandbox = fresh_kafka(version, brokers=4, racks="ab")
    create(sandbox, "t", (1, 2), (3, 4))
    folder, pools = tmp_path / "manifests", {"p": {"brokers": {"ids": [1, 2, 3, 4]}}}
    topics = {"t": {"pool": "p", "partitions": 2, "replicationFactor": 2}}
    heal = {"enabled": True, "after": "1s", "maxBrokers": 2}
    declare(folder, sandbox, pools, topics, heal=heal, mode="Apply")
    assert run("apply", "--yes", "-f", folder).code == 0
    for broker in (2, 4):
        sandbox.kill(broker)
    sandbox.await_gone(2, 4)
    before = assignment(sandbox, "t")
    for _ in range(2):  # the first look records who is missing
        said = run("apply", "--yes", "-f", folder)
        assert said.code == 4
        assert "brokers 2, 4 are missing, all of rack b: such an outage is waited for" in (
            " ".join(said.out.split())
        )
    assert assignment(sandbox, "t") == before
    sandbox.start_broker(4)
    assert run("apply", "--yes", "-f", folder).code in (0, 4)
    until(lambda: healed(folder, sandbox), "broker 2 is healed", 60)


def healed(folder: Path, sandbox: Sandbox) -> bool:
    run("apply", "--yes", "-f", folder)
    return all(2 not in ids for ids in assignment(sandbox, "t"))


@pytest.mark.parametrize("version", ["3.9.2", *soak("2.8.2", "2.0.1")])
def test_no_stage_starts_under_a_restart_lock(
    kafka, topic_name: str, tmp_path: Path, version: str
) -> None:
    sandbox = kafka(version)
    create(sandbox, topic_name, (1, 2), (2, 1))
    throttle = Throttle(ThrottleMode.NONE)
    execution = Execution(throttle=throttle, max_moves=1, restart_lock=LOCK)
    wanted = desired(topic_name, execution=execution)
    moves = [
        move(sandbox, topic_name, 0, (1, 2), (3, 2)),
        move(sandbox, topic_name, 1, (2, 1), (2, 3)),
    ]
    plan, stages, locked = plan_of(wanted, sandbox, moves=moves), [], []
    folder, pools = tmp_path / "manifests", {"p": {"brokers": {"ids": [1, 2, 3]}}}
    with kazoo(sandbox.connect) as zookeeper:

        def watch(outcome: Outcome) -> None:
            for action in outcome.did:
                if action.kind is ActionKind.STAGE_REQUESTED:
                    stages.append(zookeeper.exists(LOCK) is not None)
                    if len(stages) == 1:
                        zookeeper.create(LOCK, b"rolling restart", makepath=True)
            if has(outcome.waits, WaitReason.RESTART_LOCKED):
                locked.append(assignment(sandbox, topic_name))
            if len(locked) == 3 and not told:
                locks = {"execution": {"restartLock": LOCK}}
                declare(folder, sandbox, pools, {}, **locks)
                told.append(run("status", "-f", folder).out)
                zookeeper.delete(LOCK)

        told: list[str] = []
        last = drive(asking_brokers(sandbox), wanted, plan, watch)
        zookeeper.delete("/ops")
    assert (last.state, stages) == (State.CONVERGED, [False, False])
    assert locked[:3] == [[(3, 2), (2, 1)]] * 3 or locked[:3] == [[(1, 2), (2, 3)]] * 3
    assert f"the restart lock {LOCK} exists" in " ".join(told[0].split())
    assert assignment(sandbox, topic_name) == [(3, 2), (2, 3)]
    assert_nothing_left(sandbox, topic_name)


def test_a_throttle_of_all_brokers_is_named(kafka, tmp_path: Path) -> None:
    sandbox = kafka("3.9.2")
    folder, pools = tmp_path / "manifests", {"p": {"brokers": {"ids": [1, 2, 3]}}}
    declare(folder, sandbox, pools, {}, mode="Apply")
    rate = {"follower.replication.throttled.rate": "1000000"}
    with kazoo(sandbox.connect) as zookeeper:
        configure(zookeeper, "brokers/<default>", rate)
        try:
            for words in ("status", "plan"):
                said = " ".join(run(words, "-f", folder).out.split())
                assert "throttles on the default of all brokers (/config/brokers/<default>)" in said
            flag, backup = "--remove-unaccounted-throttles", tmp_path / "backup.json"
            said = run("repair", "-f", folder, "--yes", flag, "--backup", backup)
            assert said.code == 0, said
        finally:
            configure(zookeeper, "brokers/<default>", {})
    assert "default of all brokers" not in run("status", "-f", folder).out
