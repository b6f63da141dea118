"""One topic's config that we may not write: it is that topic's matter, on real brokers."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest
from kazoo.security import make_acl, make_digest_acl

import traffic
from matrices import soak
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.throttling import throttles
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.cluster_access import ZooKeeperAccess
from poolkeeper.zk.throttle_entities import unwritable_entities
from real.support import (
    MIB,
    access,
    asking_brokers,
    assert_nothing_left,
    assignment,
    body,
    configure,
    create,
    declare,
    desired,
    history,
    ignore,
    kazoo,
    last_zxid,
    move,
    plan_of,
    run,
)

pytestmark = pytest.mark.long

VERSIONS = ["3.9.2", *soak("2.8.2", "2.0.1")]
LIMITED = Execution(throttle=Throttle(ThrottleMode.FIXED, 1 * MIB))
OURS, THEIRS = make_acl("world", "anyone", all=True), make_acl("world", "anyone", read=True)


@contextmanager
def denied(sandbox: Sandbox, name: str, kind: str = "topics") -> Iterator[None]:
    """Only Alice may write the config; everybody may read it."""
    path = f"/config/{kind}/{name}"
    with kazoo(sandbox.connect) as zookeeper:
        zookeeper.add_auth("digest", "alice:right")
        zookeeper.set_acls(path, [make_digest_acl("alice", "right", all=True), THEIRS])
        try:
            yield
        finally:
            zookeeper.set_acls(path, [OURS])


@pytest.fixture
def pair(kafka, topic_name, request) -> tuple[Sandbox, str, str]:
    """Two topics on brokers 1 and 2."""
    sandbox = kafka(request.param, brokers=4)
    own, other = f"{topic_name}-own", f"{topic_name}-other"
    for name in (own, other):
        create(sandbox, name, (1, 2))
        traffic.fill(sandbox.bootstrap, {name: 1}, 2 * MIB)
    return sandbox, own, other


def throttled(sandbox: Sandbox, topic: str) -> Mapping[str, str]:
    with kazoo(sandbox.connect) as zookeeper:
        config = body(zookeeper, f"/config/topics/{topic}").get("config", {})
    return {key: value for key, value in config.items() if key in throttles.TOPIC_KEYS}


@pytest.mark.parametrize("pair", VERSIONS, indirect=True)
def test_who_may_not_be_throttled_stays_and_all_others_move(pair):
    sandbox, own, other = pair
    wanted = desired(own, other, execution=LIMITED)
    moves = [move(sandbox, name, 0, (1, 2), (3, 2)) for name in (other, own)]
    plan, outcomes = plan_of(wanted, sandbox, moves=moves), []
    with denied(sandbox, own):
        assert drive(asking_brokers(sandbox), wanted, plan, outcomes.append).state is (
            State.CONVERGED
        )
    did = [action for outcome in outcomes for action in outcome.did]
    assert [a.ending for a in did if a.kind is ActionKind.RUN_ENDED] == [Ending.FINISHED]
    left = {name for a in did if a.kind is ActionKind.MOVES_UNLIMITED for name in a.partitions}
    assert {name.topic for name in left} == {own}
    assert (assignment(sandbox, other), assignment(sandbox, own)) == ([(3, 2)], [(1, 2)])
    assert_nothing_left(sandbox, own, other)


@pytest.mark.parametrize("pair", VERSIONS, indirect=True)
def test_what_may_not_be_restored_stays_and_the_run_ends(pair):
    sandbox, own, other = pair
    wanted = desired(own, other, execution=LIMITED)
    moves = [move(sandbox, name, 0, (1, 2), (3, 2)) for name in (other, own)]
    plan, outcomes = plan_of(wanted, sandbox, moves=moves), []
    denial = denied(sandbox, own)

    def watch(outcome: Outcome) -> None:
        if any(action.kind is ActionKind.STAGE_REQUESTED for action in outcome.did):
            denial.__enter__()
        outcomes.append(outcome)

    ended = drive(asking_brokers(sandbox), wanted, plan, watch)
    did = [action for outcome in outcomes for action in outcome.did]
    assert [a.topic for a in did if a.kind is ActionKind.THROTTLES_STAY] == [own]
    assert ended.state is State.CONVERGED
    (told,) = (wait for wait in ended.waits if wait.reason is WaitReason.THROTTLES_LEFT)
    assert told.topics == (own,)
    assert throttled(sandbox, own)
    assert not throttled(sandbox, other)
    assert (assignment(sandbox, other), assignment(sandbox, own)) == ([(3, 2)], [(3, 2)])

    denial.__exit__(None, None, None)
    drive(access(sandbox), wanted, plan_of(wanted, sandbox), ignore)
    assert_nothing_left(sandbox, own, other)


@pytest.mark.parametrize("pair", VERSIONS[:1], indirect=True)
def test_apply_says_what_it_left_with_exit_code_4(pair, tmp_path):
    sandbox, own, other = pair
    folder = tmp_path / "declared"
    topics = {name: {"pool": "p", "partitions": 1, "replicationFactor": 1} for name in (own, other)}
    pool = {"brokers": {"ids": [3]}}
    throttle = {"throttle": {"mode": "Fixed", "rate": "1Mi"}}
    declare(folder, sandbox, {"p": pool}, topics, execution=throttle)
    with denied(sandbox, own):
        for _ in range(2):
            done = run("apply", "-f", folder, "--yes", "--output", "json")
            undone = json.loads(done.out)["undone"]
            assert (done.code, {each["reason"] for each in undone}) == (4, {"MovesUnlimited"})
    assert assignment(sandbox, other) == [(3,)]
    assert set(assignment(sandbox, own)) == {(1, 2)}
    assert run("apply", "-f", folder, "--yes").code == 0
    assert assignment(sandbox, own) == [(3,)]
    assert_nothing_left(sandbox, own, other)


@pytest.mark.parametrize("pair", VERSIONS[:1], indirect=True)
@pytest.mark.parametrize("spoilt", ["a-record-of-throttles", "throttles-too-long-to-be-kept"])
def test_what_a_run_could_not_restore_keeps_its_own_topic_alone(pair, tmp_path, spoilt):
    sandbox, own, other = pair
    folder = tmp_path / "declared"
    topics = {name: {"pool": "p", "partitions": 1, "replicationFactor": 1} for name in (own, other)}
    declare(folder, sandbox, {"p": {"brokers": {"ids": [3]}}}, topics)
    with kazoo(sandbox.connect) as zookeeper:
        if spoilt == "a-record-of-throttles":
            path = f"/poolkeeper/records/throttles/topic:{own}"
            zookeeper.ensure_path(path)
        else:
            path, pairs = f"/config/topics/{own}", ",".join(f"{n}:1" for n in range(9000))
            config = {"leader.replication.throttled.replicas": pairs}
            zookeeper.set(path, json.dumps({"version": 1, "config": config}).encode())
        done = run("apply", "-f", folder, "--yes")
        assert done.code == 4
        zookeeper.delete(path)
    assert assignment(sandbox, other) == [(3,)]
    assert set(assignment(sandbox, own)) == {(1, 2)}


@pytest.mark.parametrize("pair", VERSIONS[:1], indirect=True)
def test_a_broker_that_may_not_be_throttled_holds_up_its_own_moves_alone(pair):
    sandbox, own, other = pair
    wanted = desired(own, other, brokers=(1, 2, 3, 4), execution=LIMITED)
    moves = [move(sandbox, own, 0, (1, 2), (4, 2)), move(sandbox, other, 0, (1, 2), (3, 2))]
    moves.sort(key=lambda each: each.topic)
    plan, outcomes = plan_of(wanted, sandbox, moves=moves), []
    with kazoo(sandbox.connect) as zookeeper:
        configure(zookeeper, "brokers/4", {})
    with denied(sandbox, "4", "brokers"):
        drive(asking_brokers(sandbox), wanted, plan, outcomes.append)
    assert (assignment(sandbox, other), assignment(sandbox, own)) == ([(3, 2)], [(1, 2)])
    assert_nothing_left(sandbox, own, other)


@pytest.mark.parametrize("pair", VERSIONS[:1], indirect=True)
def test_a_config_that_may_not_be_set_keeps_no_other_step_of_a_persons_plan(pair, tmp_path):
    sandbox, own, other = pair
    folder = tmp_path / "declared"
    config = {"config": {"flush.ms": "1000"}}
    topics = {name: {"pool": "p", "partitions": 1, **config} for name in (own, other)}
    declare(folder, sandbox, {"p": {"brokers": {"ids": [1, 2]}}}, topics)
    with denied(sandbox, own):
        done = run("apply", "-f", folder, "--yes", "--output", "json")
    undone = [(each["reason"], each["topic"]) for each in json.loads(done.out)["undone"]]
    assert (done.code, undone) == (4, [("StepNotAllowed", own)])
    with kazoo(sandbox.connect) as zookeeper:
        found = [body(zookeeper, f"/config/topics/{name}")["config"] for name in (own, other)]
    assert found == [{}, {"flush.ms": "1000"}]


@pytest.mark.parametrize("pair", VERSIONS[:1], indirect=True)
def test_to_ask_whether_a_config_may_be_written_writes_nothing(pair):
    sandbox, own, other = pair
    before = last_zxid(sandbox)
    with denied(sandbox, own), access(sandbox).session() as session:
        since = last_zxid(sandbox)
        found = unwritable_entities(session, [own, other, "no-such-topic"])
        changed = {change.path for change in history(sandbox, since)}
    assert found.keys() == {own}
    assert before < since
    assert changed == set()


@pytest.mark.parametrize("pair", VERSIONS[:1], indirect=True)
def test_a_broker_that_may_not_be_throttled_moves_nothing_between_its_directories(pair, tmp_path):
    sandbox, own, other = pair
    folder, place = tmp_path / "declared", TopicPartition(own, 0)

    def directory() -> str:
        with BrokerClient.open(sandbox.bootstrap.split(",")) as brokers:
            return brokers.sizes([1]).logs[1].current[place].log_dir

    source = directory()
    lone = f"{other}-lone"
    create(sandbox, lone, (2,))
    drained = {
        "brokers": {"ids": [1, 2]},
        "balance": {},
        "drainLogDirs": [{"broker": 1, "path": source}],
    }
    topic = {"partitions": 1, "replicationFactor": 1}
    declare(
        folder,
        sandbox,
        {"p": drained, "q": {"brokers": {"ids": [3]}}},
        {own: {"pool": "p", **topic, "replicationFactor": 2}, lone: {"pool": "q", **topic}},
        execution={"throttle": {"mode": "Fixed", "rate": "1Mi"}},
    )
    with kazoo(sandbox.connect) as zookeeper:
        configure(zookeeper, "brokers/1", {})

    def undone() -> set[str]:
        done = run("apply", "-f", folder, "--yes", "--output", "json")
        reasons = {each["reason"] for each in json.loads(done.out)["undone"]}
        return reasons - {"LogDirNotEmptied"}  # by what other tests of these brokers left there

    with denied(sandbox, "1", "brokers"):
        assert undone() == {"MovesUnlimited"}
        assert (directory(), assignment(sandbox, lone)) == (source, [(3,)])
    assert undone() == set()
    assert directory() != source
    assert_nothing_left(sandbox, own, lone)


@pytest.mark.parametrize("looked", [False, True], ids=["before-its-request", "with-its-request"])
@pytest.mark.parametrize("pair", ["3.9.2", *soak("2.8.2")], indirect=True)
def test_a_config_that_no_broker_can_load_holds_its_own_moves_alone(pair, looked, monkeypatch):
    """`looked`: it is written after the pass that makes the request has looked at the configs."""
    sandbox, own, other = pair
    wanted = desired(own, other, execution=LIMITED)
    moves = [move(sandbox, name, 0, (1, 2), (3, 2)) for name in (other, own)]
    plan, outcomes = plan_of(wanted, sandbox, moves=moves), []
    request_stage = ZooKeeperAccess.request_stage

    def spoil() -> None:
        with kazoo(sandbox.connect) as zookeeper:
            live = body(zookeeper, f"/config/topics/{own}").get("config", {})
            configure(zookeeper, f"topics/{own}", {**live, "retention.ms": "a week"})

    def spoil_and_request(*stage: object) -> object:
        monkeypatch.undo()
        spoil()
        return request_stage(*stage)

    def watch(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if not looked and any(a.kind is ActionKind.RUN_BEGUN for a in outcome.did):
            spoil()

    if looked:
        monkeypatch.setattr(ZooKeeperAccess, "request_stage", spoil_and_request)
    assert drive(asking_brokers(sandbox), wanted, plan, watch).state is State.CONVERGED
    did = [action for outcome in outcomes for action in outcome.did]
    left = {(a.topic, a.partitions) for a in did if a.kind is ActionKind.CONFIG_UNLOADABLE}
    assert left == {(own, (TopicPartition(own, 0),))}
    assert any(a.kind is ActionKind.MOVES_CANCELLED for a in did) == looked
    assert [assignment(sandbox, name) for name in (own, other)] == [[(1, 2)], [(3, 2)]]
    with kazoo(sandbox.connect) as zookeeper:
        configure(zookeeper, f"topics/{own}", {})
    rest = plan_of(wanted, sandbox, moves=[each for each in moves if each.topic == own])
    drive(asking_brokers(sandbox), wanted, rest, ignore)
    assert assignment(sandbox, own) == [(3, 2)]
    assert_nothing_left(sandbox, own, other)


@pytest.mark.parametrize("pair", VERSIONS, indirect=True)
def test_a_brokers_config_damaged_in_mid_run_holds_up_its_own_moves_alone(pair):
    sandbox, own, other = pair
    topics = [own, other, f"{other}-more"]
    create(sandbox, topics[2], (1, 2))
    wanted = desired(*topics, brokers=(1, 2, 3, 4), execution=replace(LIMITED, max_moves=1))
    moves = [move(sandbox, name, 0, (1, 2), (3, 2)) for name in topics[:2]]
    moves.append(move(sandbox, topics[2], 0, (1, 2), (4, 2)))
    moves.sort(key=lambda each: each.topic)
    plan = plan_of(wanted, sandbox, moves=moves)
    outcomes, before = [], {}

    def watch(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if not before and any(a.kind is ActionKind.STAGE_REQUESTED for a in outcome.did):
            with kazoo(sandbox.connect) as zookeeper:
                before["4"], _ = zookeeper.get("/config/brokers/4")
                zookeeper.set("/config/brokers/4", b"no JSON")

    drive(asking_brokers(sandbox), wanted, plan, watch)
    did = [action for outcome in outcomes for action in outcome.did]
    left = {(a.broker, a.partitions) for a in did if a.kind is ActionKind.MOVES_UNLIMITED}
    assert left == {(4, (TopicPartition(topics[2], 0),))}
    assert [assignment(sandbox, name) for name in topics] == [[(3, 2)], [(3, 2)], [(1, 2)]]
    with kazoo(sandbox.connect) as zookeeper:
        zookeeper.set("/config/brokers/4", before["4"])
    rest = plan_of(wanted, sandbox, moves=[each for each in moves if each.topic == topics[2]])
    drive(asking_brokers(sandbox), wanted, rest, ignore)
    assert assignment(sandbox, topics[2]) == [(4, 2)]
    assert_nothing_left(sandbox, *topics)
