"""What is left of a plan's steps, and when a plan is stale."""

import pytest

import builders
from builders import partition, topic
from poolkeeper.model.execution.refusals import Drift, DriftReason
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Move,
    MoveLogDir,
    Plan,
    SetConfig,
)
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Partition,
    ReassignmentEntry,
    TopicPartition,
)
from poolkeeper.planning.run_state.progress import step_progress
from poolkeeper.planning.run_state.progress.step_progress import (
    DONE,
    TO_DO,
    StepProgress,
    StepState,
)
from poolkeeper.zk.codecs.kafka_nodes import PreferredElectionNode

R, D = WaitReason, DriftReason
T0 = (TopicPartition("t", 0),)


def settling(reason, **numbers):
    return StepProgress(StepState.SETTLING, Wait(reason, **numbers))


def stale(reason, **numbers):
    return StepProgress(StepState.STALE, drift=Drift(reason, **numbers))


def cluster(*partitions: Partition, config=None, topic_id="id-1", **other) -> Cluster:
    found = topic("t", *partitions, topic_id=topic_id, config=config)
    return builders.cluster((1, 2, 3), found, **other)


ABSENT = builders.cluster((1, 2, 3))
CREATE = CreateTopic("t", "p", ((1, 2),))
ADD = AddPartitions("t", 1, ((2, 3),))
CONFIG = SetConfig("t", {"a": "1"}, ("b",))
ELECT = ElectLeaders((("t", 0),))
DELETE = DeleteTopic("t", "id-1")


@pytest.mark.parametrize(
    ("step", "seen", "expected"),
    [
        pytest.param(CREATE, ABSENT, TO_DO, id="create"),
        pytest.param(CREATE, cluster(partition(0, 1, 2)), DONE, id="created"),
        pytest.param(
            CREATE,
            cluster(Partition(0, (1, 2))),
            settling(R.LEADERS_MISSING, topic="t", partitions=(TopicPartition("t", 0),)),
            id="created-without-leader-yet",
        ),
        pytest.param(
            CREATE,
            cluster(partition(0, 2, 1)),
            stale(D.TOPIC_EXISTS, topic="t"),
            id="created-otherwise-by-somebody",
        ),
        pytest.param(
            CREATE,
            builders.cluster((1, 2, 3), deleting=frozenset({"t"})),
            settling(R.TOPIC_STILL_DELETING, topic="t"),
            id="create-behind-a-deletion",
        ),
        pytest.param(
            CREATE,
            cluster(partition(0, 1, 9), deleting=frozenset({"t"})),
            settling(R.DELETION_AWAITS_BROKERS, topic="t", brokers=(9,)),
            id="create-behind-a-deletion-that-hangs",
        ),
        pytest.param(
            DELETE,
            cluster(partition(0, 1, 9), deleting=frozenset({"t"})),
            settling(R.DELETION_AWAITS_BROKERS, topic="t", brokers=(9,)),
            id="a-deletion-that-hangs",
        ),
        pytest.param(ADD, cluster(partition(0, 1, 2)), TO_DO, id="add"),
        pytest.param(ADD, cluster(partition(0, 1, 2), partition(1, 2, 3)), DONE, id="added"),
        pytest.param(
            ADD,
            cluster(partition(0, 1, 2), partition(1, 3, 2)),
            stale(D.PARTITIONS_ADDED, topic="t", count=2),
            id="added-by-somebody-else",
        ),
        pytest.param(
            ADD,
            cluster(partition(0, 1, 2), reassignment=(ReassignmentEntry("t", 0, (1, 3)),)),
            settling(R.TOPIC_REASSIGNED, topic="t"),
            id="never-add-while-the-topic-moves",
        ),
        pytest.param(ADD, ABSENT, stale(D.TOPIC_GONE, topic="t"), id="add-to-nothing"),
        pytest.param(CONFIG, cluster(config={"b": "2", "c": "3"}), TO_DO, id="config"),
        pytest.param(CONFIG, cluster(config={"a": "1", "c": "3"}), DONE, id="configured"),
        pytest.param(ELECT, cluster(partition(0, 1, 2, leader=2)), TO_DO, id="elect"),
        pytest.param(ELECT, cluster(partition(0, 1, 2)), DONE, id="elected"),
        pytest.param(
            ELECT,
            cluster(partition(0, 1, 2, leader=2, isr=(2,))),
            DONE,
            id="not-while-the-preferred-replica-is-out-of-sync",
        ),
        pytest.param(DELETE, cluster(partition(0, 1)), TO_DO, id="delete"),
        pytest.param(DELETE, ABSENT, DONE, id="deleted"),
        pytest.param(
            DELETE,
            cluster(partition(0, 1), topic_id="id-2"),
            stale(D.TOPIC_RECREATED, topic="t"),
            id="never-delete-its-successor",
        ),
        pytest.param(
            CONFIG,
            cluster(torn=frozenset({"t"})),
            settling(R.TOPIC_CHANGING, topic="t"),
            id="torn",
        ),
        *(
            pytest.param(
                step,
                builders.cluster((1, 2, 3), damaged={"t": "/x: hidden"}),
                stale(D.TOPIC_UNREADABLE, topic="t", path="/x: hidden"),
                id=f"{kind}-what-cannot-be-read",
            )
            for kind, step in (
                ("create", CREATE),
                ("add-to", ADD),
                ("configure", CONFIG),
                ("delete", DELETE),
            )
        ),
    ],
)
def test_a_steps_state_is_read_from_the_cluster(step, seen, expected):
    assert step_progress.progress_of(step, seen) == expected


@pytest.mark.parametrize(
    ("name_length", "requests"),
    [pytest.param(5, 2, id="short-names"), pytest.param(249, 11, id="long-names")],
)
def test_a_request_of_elections_is_short_enough_for_zookeeper(name_length, requests):
    partitions = [("t" * name_length, number) for number in range(1500)]
    found = [*step_progress.election_requests(partitions)]
    assert len(found) == requests
    assert [each for request in found for each in request] == partitions
    assert all(len(PreferredElectionNode.encode(request)) < 41 * 1024 for request in found)


def test_due_elections_leave_out_partitions_on_the_move_and_dead_preferred_replicas():
    seen = cluster(
        partition(0, 1, 2, leader=2),
        partition(1, 9, 2, leader=2),
        Partition(2, (3, 1, 2), adding=(3,), leader=1, isr=(1, 2, 3)),
    )
    wanted = [("t", 0), ("t", 1), ("t", 2), ("u", 0)]
    assert step_progress.due_elections(wanted, seen) == (TopicPartition("t", 0),)


def test_a_plan_is_stale_for_each_way_the_cluster_moved_on():
    moves = (
        Move("t", "id-1", 0, ((1, 2), (3, 2)), 1, ""),
        Move("t", "id-1", 1, ((1, 2), (3, 2)), 1, ""),
        Move("gone", None, 0, ((1,), (2,)), 1, ""),
    )
    plan = Plan("c", "h", "f", (AddPartitions("gone", 1, ((1,),)),), moves)
    seen = cluster(partition(0, 3, 2), partition(1, 2, 1))
    assert step_progress.staleness(plan, seen) == (
        Drift(
            D.REPLICAS_CHANGED,
            partition=TopicPartition("t", 1),
            live=(2, 1),
            planned=(1, 2),
        ),
        Drift(D.MOVED_TOPIC_GONE, "gone"),
        Drift(D.TOPIC_GONE, "gone"),
    )


COPY = MoveLogDir("t", 0, 1, "/a", "/b", 1)


def holder(path, arriving=None, replicas=(1, 2)):
    """Broker 1 has partition 0 of t in `path`, on its way to `arriving`."""
    found = partition(0, *replicas, log_dirs=None if path is None else {1: path})
    going = {TopicPartition("t", 0): arriving} if arriving else {}
    return builders.cluster((Broker(1, arriving=going),), topic("t", found))


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(holder("/a"), TO_DO, id="it-is-where-it-was"),
        pytest.param(
            holder("/a", "/b"),
            settling(R.REPLICA_COPYING, partitions=T0, path="/b"),
            id="on-its-way",
        ),
        pytest.param(
            holder("/a", "/c"),
            settling(R.REPLICA_COPYING, partitions=T0, path="/c"),
            id="elsewhere",
        ),
        pytest.param(holder("/b"), DONE, id="it-has-arrived"),
        pytest.param(
            holder("/c"),
            stale(D.LOG_DIR_CHANGED, partition=T0[0], broker=1, path="/c"),
            id="somebody-moved-it",
        ),
        pytest.param(
            holder("/a", replicas=(2, 3)),
            stale(D.REPLICA_GONE, partition=T0[0], broker=1),
            id="it-left-the-broker",
        ),
        pytest.param(
            holder(None),
            settling(R.LOG_DIRS_UNKNOWN, brokers=(1,)),
            id="a-silent-broker",
        ),
    ],
)
def test_copies_between_log_directories(seen, expected):
    assert step_progress.progress_of(COPY, seen) == expected


@pytest.mark.parametrize(
    ("broker", "expected"),
    [
        pytest.param(
            Broker(1, log_dirs={}, arriving={T0[0]: "/b"}),
            settling(R.REPLICA_COPYING, partitions=T0, path="/b"),
            id="its-broker-copies",
        ),
        pytest.param(
            Broker(1, log_dirs={}),
            settling(R.TOPIC_UNREADABLE, topic="t", partitions=T0, detail="/x: hidden"),
            id="nobody-can-say",
        ),
        pytest.param(Broker(1), settling(R.LOG_DIRS_UNKNOWN, brokers=(1,)), id="a-silent-broker"),
        pytest.param(Broker(2), settling(R.LOG_DIRS_UNKNOWN, brokers=(1,)), id="a-dead-broker"),
    ],
)
def test_a_copy_whose_topic_cannot_be_read_is_not_given_up(broker, expected):
    seen = builders.cluster((broker,), damaged={"t": "/x: hidden"})
    assert step_progress.progress_of(COPY, seen) == expected
    unreadable = Drift(D.TOPIC_UNREADABLE, "t", path="/x: hidden")
    assert step_progress.staleness(Plan("c", "h", "f", (COPY,), ()), seen) == (unreadable,)
