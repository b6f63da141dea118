"""The run on real brokers: phases, throttles, verification, resumption, arbitration.

Plans are made by hand here: what is tested is that they are executed, not that they are good.
"""

import json
import threading
import time
from collections.abc import Callable

import pytest
from kazoo.client import KazooClient

from conditions import until
from matrices import soak
from poolkeeper.controller.loops.drive import drive
from poolkeeper.errors import HolderActive, StalePlan
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.plans import AddPartitions, CreateTopic, SetConfig
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.model.topology import TopicPartition
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.journal import journal
from poolkeeper.zk.journal import records as zk_records
from real.support import (
    MIB,
    access,
    asking_brokers,
    assignment,
    create,
    desired,
    ignore,
    kazoo,
    move,
    plan_of,
    seen,
)

SESSION_S = 15
"""How long ZooKeeper keeps a session of `access`."""


def requested(stage: int, count: int) -> Action:
    return Action(ActionKind.STAGE_REQUESTED, stage=stage, count=count)


@pytest.fixture
def client(kafka) -> Callable[[Sandbox], KazooClient]:
    opened = []

    def open_(sandbox: Sandbox) -> KazooClient:
        zookeeper = KazooClient(sandbox.connect)
        zookeeper.start(timeout=120)
        opened.append(zookeeper)
        return zookeeper

    yield open_
    for zookeeper in opened:
        zookeeper.stop()
        zookeeper.close()


def test_a_created_topic_has_leaders_its_config_and_an_owner(kafka, topic_name):
    sandbox = kafka()
    wanted = desired(topic_name, config={"retention.ms": "100000"})
    step = CreateTopic(topic_name, "p", ((1, 2), (2, 3)), {"retention.ms": "100000"})
    outcome = drive(access(sandbox), wanted, plan_of(wanted, sandbox, [step]), ignore)
    assert outcome.state is State.CONVERGED
    topic = seen(sandbox, topic_name).topics[topic_name]
    assert [(p.replicas, p.leader) for p in topic.partitions] == [((1, 2), 1), ((2, 3), 2)]
    assert topic.config == {"retention.ms": "100000"}
    assert topic.topic_id
    with access(sandbox).session() as session:
        assert zk_records.read(session).topics[topic_name].owner == f"default/{topic_name}"


@pytest.mark.parametrize("version", ["3.9.2", "2.0.1", *soak("2.8.2")])
def test_moves_arrive_in_order_and_leave_no_trace(kafka, topic_name, client, version):
    sandbox = kafka(version)
    create(sandbox, topic_name, (1, 2), (2, 3), (1, 3))
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, 10 * MIB))
    wanted = desired(topic_name, execution=execution)
    moves = [
        move(sandbox, topic_name, 0, (1, 2), (3, 2)),
        move(sandbox, topic_name, 1, (2, 3), (3, 1)),
        move(sandbox, topic_name, 2, (1, 3), (3, 1)),
    ]
    outcomes: list[Outcome] = []
    outcome = drive(access(sandbox), wanted, plan_of(wanted, sandbox, moves=moves), outcomes.append)
    assert outcome.state is State.CONVERGED
    assert assignment(sandbox, topic_name) == [(3, 2), (3, 1), (3, 1)]
    topic = seen(sandbox, topic_name).topics[topic_name]
    assert [p.leader for p in topic.partitions] == [3, 3, 3]
    zookeeper = client(sandbox)
    assert topic.config == {}
    assert json.loads(zookeeper.get("/config/brokers/1")[0])["config"] == {}
    assert not zookeeper.exists("/poolkeeper/run")
    assert not zookeeper.exists("/poolkeeper/holder")
    assert any(requested(1, 3) in o.did for o in outcomes)


def test_replicas_grow_one_at_a_time_and_shrink(kafka, topic_name):
    sandbox = kafka()
    create(sandbox, topic_name, (1,), (2,))
    up = desired(topic_name, replication_factor=3)
    moves = [
        move(sandbox, topic_name, 0, (1,), (1, 2), (1, 2, 3)),
        move(sandbox, topic_name, 1, (2,), (2, 3), (2, 3, 1)),
    ]
    done: list[Action] = []
    drive(
        access(sandbox),
        up,
        plan_of(up, sandbox, moves=moves),
        lambda outcome: done.extend(outcome.did),
    )
    assert assignment(sandbox, topic_name) == [(1, 2, 3), (2, 3, 1)]
    assert [each for each in done if each.kind is ActionKind.STAGE_REQUESTED] == [
        requested(1, 2),
        requested(2, 2),
    ]
    down = desired(topic_name, replication_factor=2)
    back = [
        move(sandbox, topic_name, 0, (1, 2, 3), (1, 2)),
        move(sandbox, topic_name, 1, (2, 3, 1), (2, 3)),
    ]
    drive(access(sandbox), down, plan_of(down, sandbox, moves=back), ignore)
    assert assignment(sandbox, topic_name) == [(1, 2), (2, 3)]


def test_throttle_values_of_others_come_back_after_the_run(kafka, topic_name, client):
    sandbox = kafka()
    create(sandbox, topic_name, (1, 2))
    zookeeper = client(sandbox)
    before = {"version": 1, "config": {"follower.replication.throttled.rate": "77", "x": "y"}}
    zookeeper.ensure_path("/config/brokers/3")
    zookeeper.set("/config/brokers/3", json.dumps(before).encode())
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, 10 * MIB))
    wanted = desired(topic_name, execution=execution)
    during = []

    def watch(outcome: Outcome) -> None:
        during.append(json.loads(zookeeper.get("/config/brokers/3")[0])["config"])

    moves = [move(sandbox, topic_name, 0, (1, 2), (3, 2))]
    drive(asking_brokers(sandbox), wanted, plan_of(wanted, sandbox, moves=moves), watch)
    rate = str(10 * MIB)
    assert {
        "leader.replication.throttled.rate": rate,
        "follower.replication.throttled.rate": rate,
        "x": "y",
    } in during
    assert json.loads(zookeeper.get("/config/brokers/3")[0]) == before
    zookeeper.set("/config/brokers/3", b'{"version":1,"config":{}}')


def test_configs_are_set_and_unset_and_others_stay(kafka, topic_name):
    sandbox = kafka()
    declared = {"retention.ms": "100000", "segment.ms": "100000"}
    wanted = desired(topic_name, config=declared)
    create_it = CreateTopic(topic_name, "p", ((1,),), declared)
    drive(access(sandbox), wanted, plan_of(wanted, sandbox, [create_it]), ignore)
    with kazoo(sandbox.connect) as zookeeper:
        foreign = {"version": 1, "config": {**declared, "flush.ms": "5"}}
        zookeeper.set(f"/config/topics/{topic_name}", json.dumps(foreign).encode())
    wanted = desired(topic_name, config={"retention.ms": "200000"})
    change = SetConfig(topic_name, {"retention.ms": "200000"}, ("segment.ms",))
    drive(access(sandbox), wanted, plan_of(wanted, sandbox, [change]), ignore)
    live = seen(sandbox, topic_name).topics[topic_name].config
    assert live == {"retention.ms": "200000", "flush.ms": "5"}
    with access(sandbox).session() as session:
        record = zk_records.read(session).topics[topic_name]
    assert record.declared_keys == ("retention.ms",)


def test_partitions_are_added_and_have_leaders(kafka, topic_name):
    sandbox = kafka()
    create(sandbox, topic_name, (1, 2))
    wanted = desired(topic_name, partitions=3)
    add = AddPartitions(topic_name, 1, ((2, 3), (3, 1)))
    drive(access(sandbox), wanted, plan_of(wanted, sandbox, [add]), ignore)
    topic = seen(sandbox, topic_name).topics[topic_name]
    assert [(p.replicas, p.leader) for p in topic.partitions] == [
        ((1, 2), 1),
        ((2, 3), 2),
        ((3, 1), 3),
    ]


def test_a_foreign_request_is_waited_for_and_named_and_nothing_is_written(
    kafka, topic_name, client
):
    sandbox = kafka()
    create(sandbox, topic_name, (1, 2), (2, 3))
    wanted = desired(topic_name)
    plan = plan_of(wanted, sandbox, moves=[move(sandbox, topic_name, 0, (1, 2), (3, 2))])
    zookeeper = client(sandbox)
    # Broker 99 does not exist, so this request hangs until it is withdrawn.
    foreign = {"topic": topic_name, "partition": 1, "replicas": [2, 99]}
    body = json.dumps({"version": 1, "partitions": [foreign]}).encode()
    zookeeper.create("/admin/reassign_partitions", body)
    cured = threading.Event()

    def watch(outcome: Outcome) -> None:
        named = {name for wait in outcome.waits for name in wait.partitions}
        if TopicPartition(topic_name, 1) in named and not cured.is_set():
            assert not zookeeper.exists("/poolkeeper/run")
            cured.set()
            zookeeper.delete("/admin/reassign_partitions")
            zookeeper.delete("/controller")
            until(lambda: zookeeper.exists("/controller"), "another controller")
            back = {"version": 1, "partitions": [foreign | {"replicas": [2, 3]}]}
            zookeeper.create("/admin/reassign_partitions", json.dumps(back).encode())

    outcome = drive(access(sandbox), wanted, plan, watch)
    assert outcome.state is State.CONVERGED
    assert cured.is_set()
    assert assignment(sandbox, topic_name) == [(3, 2), (2, 3)]


def test_a_plan_whose_partition_was_moved_by_somebody_else_is_refused(kafka, topic_name, client):
    sandbox = kafka()
    create(sandbox, topic_name, (1, 2))
    wanted = desired(topic_name)
    plan = plan_of(wanted, sandbox, moves=[move(sandbox, topic_name, 0, (2, 3), (3, 2))])
    with pytest.raises(StalePlan) as refused:
        drive(access(sandbox), wanted, plan, ignore)
    (drift,) = refused.value.facts
    assert (drift.partition, drift.live) == ((topic_name, 0), (1, 2))
    assert not client(sandbox).exists("/poolkeeper/run")


def test_of_two_executors_the_second_says_who_works(kafka, topic_name):
    sandbox = kafka()
    wanted = desired(topic_name)
    step = CreateTopic(topic_name, "p", ((1,),))
    plan = plan_of(wanted, sandbox, [step])
    with (
        access(sandbox).session() as session,
        journal.hold(session, "apply", 0, patience_s=5),
        pytest.raises(HolderActive, match=r"poolkeeper apply on .*, process \d+"),
    ):
        drive(access(sandbox), wanted, plan, ignore, patience_s=1)
    assert drive(access(sandbox), wanted, plan, ignore).state is State.CONVERGED


def test_a_stop_ends_the_run_after_the_stage_in_flight(kafka, topic_name, client):
    sandbox = kafka()
    create(sandbox, topic_name, *[(1, 2)] * 6)
    execution = Execution(max_moves=2, throttle=Throttle(ThrottleMode.FIXED, 10 * MIB))
    wanted = desired(topic_name, execution=execution)
    moves = [move(sandbox, topic_name, p, (1, 2), (3, 2)) for p in range(6)]
    plan = plan_of(wanted, sandbox, moves=moves)

    def stop_at_first_stage(outcome: Outcome) -> None:
        if any(each.kind is ActionKind.STAGE_REQUESTED for each in outcome.did):
            with access(sandbox).session() as session:
                assert journal.request_stop(session) is not None

    outcome = drive(asking_brokers(sandbox), wanted, plan, stop_at_first_stage)
    assert outcome.state is State.STOPPED
    moved = sum(replicas == (3, 2) for replicas in assignment(sandbox, topic_name))
    assert moved == 2
    assert seen(sandbox, topic_name).topics[topic_name].config == {}
    assert not client(sandbox).exists("/poolkeeper/run")
    assert drive(asking_brokers(sandbox), wanted, plan, ignore).state is State.CONVERGED
    assert assignment(sandbox, topic_name) == [(3, 2)] * 6


def test_a_topic_deleted_in_the_middle_of_a_run_is_left_alone(kafka, topic_name):
    sandbox = kafka()
    other = f"{topic_name}-other"
    create(sandbox, topic_name, (1, 2))
    create(sandbox, other, (1, 2))
    wanted = desired(
        topic_name, other, execution=Execution(max_moves=1, throttle=Throttle(ThrottleMode.NONE))
    )
    moves = [
        move(sandbox, topic_name, 0, (1, 2), (3, 2)),
        move(sandbox, other, 0, (1, 2), (3, 2)),
    ]
    plan = plan_of(wanted, sandbox, moves=moves)

    def delete_other(outcome: Outcome) -> None:
        if any(each.kind is ActionKind.STAGE_REQUESTED for each in outcome.did):
            with kazoo(sandbox.connect) as zookeeper:
                zookeeper.create(f"/admin/delete_topics/{other}")
                until(lambda: not zookeeper.exists(f"/brokers/topics/{other}"), "it is deleted")

    assert drive(access(sandbox), wanted, plan, delete_other).state is State.CONVERGED
    assert assignment(sandbox, topic_name) == [(3, 2)]
    assert other not in seen(sandbox, other).topics


@pytest.mark.soak
def test_apply_goes_on_after_zookeeper_was_away_for_longer_than_a_session(fresh_kafka, topic_name):
    """ZooKeeper still has the old session when it is back; that is not another executor."""
    sandbox = fresh_kafka()
    create(sandbox, topic_name, *[(1, 2)] * 4)
    wanted = desired(topic_name, execution=Execution(max_moves=1))
    moves = [move(sandbox, topic_name, p, (1, 2), (3, 2)) for p in range(4)]
    plan = plan_of(wanted, sandbox, moves=moves)
    away = []

    def take_zookeeper_away(outcome: Outcome) -> None:
        if not away and any(each.kind is ActionKind.STAGE_REQUESTED for each in outcome.did):
            away.append(outcome)
            sandbox.kill_zookeeper()
            gone_s = time.monotonic()
            until(lambda: time.monotonic() - gone_s > SESSION_S + 2, "any session would be over")
            sandbox.start_zookeeper()

    outcome = drive(access(sandbox), wanted, plan, take_zookeeper_away)
    assert (len(away), outcome.state) == (1, State.CONVERGED)
    assert assignment(sandbox, topic_name) == [(3, 2)] * 4
    with kazoo(sandbox.connect) as zookeeper:
        assert not zookeeper.exists("/poolkeeper/run")
        assert not zookeeper.exists("/poolkeeper/holder")
