"""Moves that lose their request on real brokers of 2.3 and earlier, and who finishes them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from kazoo.client import KazooClient

import traffic
from conditions import until
from matrices import soak
from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.reconcile.act import stall_recovery
from poolkeeper.sandbox import Sandbox
from real.support import (
    MIB,
    REQUEST,
    asking_brokers,
    assert_nothing_left,
    assignment,
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

VERSIONS = ["2.0.1", *soak("2.3.1", "1.1.1", "0.10.2.2")]
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


def throttle(zookeeper: KazooClient, topic: str, brokers: Sequence[int], rate: int | None) -> None:
    """Throttle copies of the topic on these brokers, or end it."""
    for broker in brokers:
        config = {} if rate is None else dict.fromkeys(RATES, str(rate))
        configure(zookeeper, f"brokers/{broker}", config)
    configure(zookeeper, f"topics/{topic}", {} if rate is None else dict.fromkeys(LISTS, "*"))


def holds(sandbox: Sandbox, broker: int, topic: str) -> bool:
    """Whether the broker has a log of the topic's first partition, with something in it."""
    logs = (sandbox.folder / f"broker-{broker}").rglob(f"{topic}-0/*.log")
    return any(log.stat().st_size for log in logs)


def forget(zookeeper: KazooClient) -> None:
    """Delete the request, then have another controller elected, as impatient people do."""
    epoch = int(zookeeper.get("/controller_epoch")[0])
    zookeeper.delete(REQUEST)
    zookeeper.delete("/controller")
    until(lambda: int(zookeeper.get("/controller_epoch")[0]) > epoch, "another controller")
    until(lambda: zookeeper.exists("/controller"), "it is elected")


def in_sync(sandbox: Sandbox, topic: str) -> set[int]:
    return set(seen(sandbox, topic).topics[topic].partitions[0].isr or ())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_move_of_others_is_named_and_then_finished(
    kafka, topic_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(stall_recovery, "STALL_MS", 2_000)
    sandbox = kafka(version)
    create(sandbox, topic_name, (1, 2), (2, 1))
    traffic.fill(sandbox.bootstrap, {topic_name: 1}, 6 * MIB)
    with kazoo(sandbox.connect) as zookeeper:
        throttle(zookeeper, topic_name, (1, 2, 3), MIB // 4)
        entry = {"topic": topic_name, "partition": 0, "replicas": [3, 2]}
        zookeeper.create(REQUEST, json.dumps({"version": 1, "partitions": [entry]}).encode())
        until(lambda: assignment(sandbox, topic_name)[0] == (3, 2, 1), "the move has begun")
        # A broker that was not told yet may ignore the next controller, which is another story.
        until(lambda: holds(sandbox, 3, topic_name), "the copy has begun")
        forget(zookeeper)
        throttle(zookeeper, topic_name, (1, 2, 3), None)
        until(lambda: in_sync(sandbox, topic_name) == {1, 2, 3}, "the copy goes on", 60)
        assert not zookeeper.exists(REQUEST)
    assert assignment(sandbox, topic_name) == [(3, 2, 1), (2, 1)]
    folder, pools = tmp_path / "manifests", {"p": {"brokers": {"ids": [1, 2, 3]}}}
    told = f"{topic_name}-0 has more replicas than most of the topic: a move lost its request"
    remedy = "set spec.execution.remedies.finishOrphanedMoves: true"
    declare(folder, sandbox, pools, {}, mode="Apply")  # brokers tell their release
    said = " ".join(run("status", "-f", folder).out.split())
    assert (told in said, f"forgets: to finish it, {remedy}" in said) == (True, True), said
    declare(folder, sandbox, pools, {}, mode="Apply", kafkaVersion=version)
    for words in (("status",), ("plan",), ("apply", "--yes")):
        said = run(*words, "-f", folder)
        text = " ".join(said.out.split())
        assert (said.code, told in text, remedy in text) == (0, True, True), (words, said)
    assert assignment(sandbox, topic_name) == [(3, 2, 1), (2, 1)]
    allowed = {"remedies": {"finishOrphanedMoves": True}}
    declare(folder, sandbox, pools, {}, mode="Apply", kafkaVersion=version, execution=allowed)
    assert run("plan", "-f", folder).code == 2
    said = run("apply", "--yes", "-f", folder)
    assert said.code == 0, said
    assert f"finished the moves of {topic_name}-0, which had lost their request" in said.out
    until(lambda: assignment(sandbox, topic_name) == [(3, 2), (2, 1)], "the move is done")
    until(lambda: in_sync(sandbox, topic_name) == {2, 3}, "what remains is in sync")
    assert_nothing_left(sandbox, topic_name)
    assert run("plan", "-f", folder).code == 0


@pytest.mark.parametrize("version", soak(*["2.0.1", "2.3.1", "1.1.1", "0.10.2.2"]))
def test_our_own_move_is_requested_again(kafka, topic_name: str, version: str) -> None:
    sandbox = kafka(version)
    create(sandbox, topic_name, (1, 2), (2, 1))
    traffic.fill(sandbox.bootstrap, {topic_name: 2}, 6 * MIB)
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, MIB))
    wanted = desired(topic_name, execution=execution)
    moves = [
        move(sandbox, topic_name, 0, (1, 2), (3, 2)),
        move(sandbox, topic_name, 1, (2, 1), (2, 3)),
    ]
    outcomes: list[Outcome] = []
    with kazoo(sandbox.connect) as zookeeper:

        def watch(outcome: Outcome) -> None:
            outcomes.append(outcome)
            flying = has(outcome.waits, WaitReason.STAGE_IN_FLIGHT)
            begun = all(len(ids) == 3 for ids in assignment(sandbox, topic_name))
            if flying and begun and not forgotten:
                forgotten.append(int(zookeeper.get("/controller_epoch")[0]))
                forget(zookeeper)

        forgotten: list[int] = []
        plan = plan_of(wanted, sandbox, moves=moves)
        last = drive(asking_brokers(sandbox), wanted, plan, watch)
    assert (last.state, len(forgotten)) == (State.CONVERGED, 1)
    assert assignment(sandbox, topic_name) == [(3, 2), (2, 3)]
    done = [action.kind for outcome in outcomes for action in outcome.did]
    assert done.count(ActionKind.STAGE_REQUESTED) >= 2
    assert_nothing_left(sandbox, topic_name)
