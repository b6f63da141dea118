"""Creations and configs that are sent together: each is fenced, answered and told by itself."""

from collections.abc import Sequence

import pytest
from kazoo.security import make_acl, make_digest_acl

from builders import desired, pool_spec, topic_spec
from poolkeeper.errors import Fenced, Forbidden, Stale, Unavailable
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.records import TopicRecord
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.plans import CreateTopic, SetConfig
from poolkeeper.model.specs import DeletionPolicy, Execution, Throttle, ThrottleMode
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, Faults, faults
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk import apply, znodes
from poolkeeper.zk.client.operations import Create, Operation
from poolkeeper.zk.journal import journal
from simulation.executors import Executor

NAMES = ("a", "b", "c", "d")
RECORD = TopicRecord("shop/orders", ("retention.ms",), DeletionPolicy.RETAIN)


@pytest.fixture
def cluster() -> SimulatedCluster:
    found = SimulatedCluster(SimulationSpec(spread(3), kafka="2.8.2"))
    found.start()
    return found


def creation(topic: str) -> tuple[CreateTopic, TopicRecord]:
    config = {"retention.ms": "1"}
    return CreateTopic(topic=topic, pool="p", replicas=((1, 2),), config=config), RECORD


def config(topic: str) -> tuple[SetConfig, TopicRecord]:
    return SetConfig(topic=topic, set={"retention.ms": "2"}, unset=()), RECORD


class Trail(list[tuple[str, bool]]):
    """What is told of transactions: the topic that each creates, and whether it is known done."""

    def note(self, transaction: Sequence[Operation], known_done: bool) -> None:
        made = [each.path for each in transaction if isinstance(each, Create)]
        self += [
            (path.removeprefix("/brokers/topics/"), known_done)
            for path in made
            if path.startswith("/brokers/topics/")
        ]


def held_by(cluster: SimulatedCluster, plan: Faults = faults.none):
    return journal.hold(
        FakeSession(cluster.server, cluster.clock, plan=plan), "run", 0, patience_s=30
    )


def exist(cluster: SimulatedCluster) -> list[str]:
    return [name for name in NAMES if cluster.exists(znodes.topic(name))]


def test_topics_are_created_and_configured_with_their_records(cluster: SimulatedCluster) -> None:
    trail = Trail()
    with held_by(cluster) as held:
        held.on_commit = trail.note
        assert apply.write_topics(held, [creation(name) for name in NAMES]) == [None] * 4
        cluster.settle()
        assert apply.write_topics(held, [config("a"), creation("e"), config("b")]) == [None] * 3
    assert exist(cluster) == list(NAMES)
    assert trail == [(name, True) for name in (*NAMES, "e")]
    assert cluster.read("/config/topics/a")["config"] == {"retention.ms": "2"}
    assert cluster.read("/config/topics/c")["config"] == {"retention.ms": "1"}
    assert cluster.read(znodes.record_of_topic("d"))["owner"] == RECORD.owner
    assert len(cluster.client.children("/config/changes")) == 2


def test_what_lost_against_others_is_told_and_the_rest_is_written(
    cluster: SimulatedCluster,
) -> None:
    cluster.create_topic("b", [1, 2])
    for broker in (1, 2, 3):
        cluster.simulation.kill(broker)  # or the marker would be taken off at once
    cluster.create(znodes.deletion("c"), b"")
    with held_by(cluster) as held:
        found = apply.write_topics(held, [creation(name) for name in NAMES])
    assert [type(error) for error in found] == [type(None), Stale, Stale, type(None)]
    assert "exists already" in str(found[1])
    assert "still being deleted" in str(found[2])
    assert exist(cluster) == ["a", "b", "d"]
    assert not cluster.exists("/config/topics/c")


def test_what_an_acl_forbids_is_told_and_the_rest_is_written(cluster: SimulatedCluster) -> None:
    for name in NAMES:
        cluster.create(znodes.topic_config(name), {"version": 1, "config": {}})
        cluster.create_topic(name, [1, 2])
    acl = [make_digest_acl("alice", "right", all=True), make_acl("world", "anyone", read=True)]
    cluster.client.set_acl("/config/topics/b", acl)
    with held_by(cluster) as held:
        found = apply.write_topics(held, [config(name) for name in NAMES])
    assert [type(error) for error in found] == [type(None), Forbidden, type(None), type(None)]
    assert "setting /config/topics/b is not allowed" in str(found[1])
    written = [cluster.read(f"/config/topics/{name}")["config"] for name in NAMES]
    assert written == [{"retention.ms": "2"}, {}, {"retention.ms": "2"}, {"retention.ms": "2"}]


def test_a_config_that_an_acl_forbids_keeps_no_topic_from_moving(
    cluster: SimulatedCluster,
) -> None:
    for name in ("a", "b"):
        cluster.create(znodes.topic_config(name), {"version": 1, "config": {}})
        cluster.create_topic(name, [1])
    acl = [make_digest_acl("alice", "right", all=True), make_acl("world", "anyone", read=True)]
    cluster.client.set_acl("/config/topics/b", acl)
    wanted = desired(
        (pool_spec("p", 1, 2, cluster="c"), pool_spec("q", 3, cluster="c")),
        topic_spec("a", "q", partitions=1, replication_factor=1),
        topic_spec("b", partitions=1, replication_factor=1, config={"retention.ms": "2"}),
        name="c",
        execution=Execution(throttle=Throttle(ThrottleMode.NONE)),
    )

    def told(outcome: Outcome) -> bool:
        return outcome.progress is None and has(outcome.waits, WaitReason.UNAVAILABLE)

    executor = Executor(cluster, wanted, at_rest=lambda o: told(o) and moved(cluster))
    assert executor.finish(passes_max=60, processes_max=1) == 1
    (wait,) = executor.seen[-1].waits
    assert wait.detail == "setting /config/topics/b is not allowed for this ZooKeeper identity"


def moved(cluster: SimulatedCluster) -> bool:
    return set(cluster.replicas("a")["0"]) == {3}


def test_nothing_is_written_without_a_journal(cluster: SimulatedCluster) -> None:
    with held_by(cluster) as held:
        for path in (znodes.HOLDER, znodes.EPOCH):
            cluster.delete(path)
        with pytest.raises(Fenced, match=r"the journal was deleted .*poolkeeper status"):
            apply.write_topics(held, [creation(name) for name in NAMES])
    assert exist(cluster) == []


def test_nothing_of_them_is_written_by_who_is_not_the_holder(cluster: SimulatedCluster) -> None:
    trail = Trail()
    with held_by(cluster) as dethroned:
        dethroned.on_commit = trail.note
        epoch = int(cluster.client.get(znodes.EPOCH)[0])
        cluster.set(znodes.EPOCH, str(epoch + 1).encode())
        with pytest.raises(Fenced, match="somebody wrote into"):
            apply.write_topics(dethroned, [creation(name) for name in NAMES])
    assert exist(cluster) == []
    assert trail == []


@pytest.mark.parametrize("done", [True, False])
def test_an_answer_that_is_lost_is_told_as_unknown(cluster: SimulatedCluster, done: bool) -> None:
    lost, trail = Fault(FaultKind.LOST, done=done), Trail()
    calls: list[str] = []

    def plan(call):
        path = znodes.topic("b")
        if call.write and path in call.paths and path not in calls:
            calls.append(path)
            return lost
        return None

    with held_by(cluster, plan) as held:
        held.on_commit = trail.note
        with pytest.raises(Unavailable, match="outcome unknown"):
            apply.write_topics(held, [creation(name) for name in NAMES])
    assert trail == [(name, name != "b") for name in NAMES], "each that was sent is told of"
    assert exist(cluster) == [name for name in NAMES if done or name != "b"]
