"""Observation of real clusters: what three versions write, and while their controllers write it."""

import json
import threading
import time
import uuid
from collections.abc import Callable

import pytest

from matrices import soak
from poolkeeper.model import snapshots
from poolkeeper.model.topology import Cluster, ReassignmentEntry
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk import znodes
from poolkeeper.zk.client.operations import Create
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs.kafka_nodes import ReassignmentNode, TopicNode
from poolkeeper.zk.reading import observe

DEADLINE_S = 60.0
TOPICS = 6
LOOKS = 4
Lists = tuple[tuple[int, ...], ...]


def create(session: Session, topic: str, *lists: tuple[int, ...]) -> None:
    """Create a topic and wait for its leaders."""
    config = b'{"version":1,"config":{"retention.ms":"3600000"}}'
    body = TopicNode.encode_new(lists)
    session.commit((Create(znodes.topic_config(topic), config), Create(znodes.topic(topic), body)))
    paths = [znodes.state(topic, partition) for partition in range(len(lists))]
    await_(lambda: None not in session.read_many(paths))


def await_(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not true():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("version", "inferred", "has_ids"),
    [
        ("3.9.2", "3.4 to 3.9", True),
        ("2.0.1", "1.0 to 3.3", False),
        *soak(("2.8.2", "2.8 to 3.3", True)),
    ],
)
def test_a_real_cluster(
    kafka: Callable[..., Sandbox], topic_name: str, version: str, inferred: str, has_ids: bool
) -> None:
    cluster = kafka(version)
    with Session.open(cluster.connect, deadline_s=DEADLINE_S) as session:
        create(session, topic_name, (1, 2), (2, 3), (3, 1))
        found = observe.cluster(session, "main").cluster
    topic = found.topics[topic_name]
    assert [(p.partition, p.replicas, p.leader, p.isr) for p in topic.partitions] == [
        (0, (1, 2), 1, (1, 2)),
        (1, (2, 3), 2, (2, 3)),
        (2, (3, 1), 3, (3, 1)),
    ]
    assert topic.config == {"retention.ms": "3600000"}
    assert (topic.topic_id is not None) is has_ids
    assert {id_: broker.rack for id_, broker in found.brokers.items()} == {1: "a", 2: "b", 3: "c"}
    assert all(broker.endpoints for broker in found.brokers.values())
    assert found.controller.broker in found.brokers
    assert (found.controller.epoch or 0) >= 1
    assert not found.controller.kraft
    assert found.id is not None
    assert len(found.id) == 22
    assert found.kafka_version == inferred
    assert (found.reassignment, found.electing, found.deleting) == (None, False, frozenset())
    assert (found.torn, dict(found.damaged)) == (frozenset(), {})
    again = snapshots.from_json(json.loads(json.dumps(snapshots.to_json(found))))
    assert again.topics[topic_name].partitions[0].isr == (1, 2)


def test_a_move_is_seen_with_its_request_until_both_are_gone(
    fresh_kafka: Callable[..., Sandbox], topic_name: str
) -> None:
    """A dead target holds the move, so that it can be looked at."""
    cluster = fresh_kafka("3.9.2", brokers=2)
    with Session.open(cluster.connect, deadline_s=DEADLINE_S) as session:
        create(session, topic_name, (1, 2))
        request = ReassignmentEntry(topic_name, 0, (2, 99))
        session.commit((Create(znodes.REASSIGNMENT, ReassignmentNode.encode([request])),))
        await_(lambda: b'"adding_replicas":{"0"' in session.read(znodes.topic(topic_name)).data)
        found = observe.cluster(session, "main")
        partition = found.cluster.topics[topic_name].partitions[0]
        assert partition.moving
        assert (partition.replicas, partition.adding, partition.removing) == (
            (2, 99, 1),
            (99,),
            (1,),
        )
        assert found.cluster.reassignment == (request,)
        assert znodes.REASSIGNMENT in found.versions


@pytest.mark.parametrize("version", ["3.9.2", "2.0.1"])
def test_observing_while_topics_come_move_and_go(
    kafka: Callable[..., Sandbox], topic_name: str, version: str
) -> None:
    cluster = kafka(version)
    moving = [f"{topic_name}-moving-{i}" for i in range(TOPICS)]
    lists = {"before": ((1, 2), (2, 3), (3, 1)), "after": ((2, 1), (3, 2), (1, 3))}
    with (
        Session.open(cluster.connect, deadline_s=DEADLINE_S) as session,
        Session.open(cluster.connect, deadline_s=DEADLINE_S) as writing,
    ):
        for name in moving:
            create(session, name, *lists["before"])
        looked, done = threading.Event(), threading.Event()

        def write() -> None:
            try:
                move_all(writing, moving, lists["after"])
                while not looked.is_set():
                    move_all(writing, moving, lists["before"])
                    move_all(writing, moving, lists["after"])
            finally:
                done.set()

        writer = threading.Thread(target=write)
        writer.start()
        looks = 0
        try:
            while not done.is_set():
                found = observe.cluster(session, "main").cluster
                assert_seen_right(found, moving, lists)
                looks += 1
                if looks == LOOKS:
                    looked.set()
        finally:
            looked.set()
            writer.join()
        assert looks >= LOOKS
        found = observe.cluster(session, "main").cluster
        assert {tuple(p.replicas for p in found.topics[name].partitions) for name in moving} == {
            lists["after"]
        }


def move_all(session: Session, topics: list[str], lists: Lists) -> None:
    """Move topics one after the other; beside each of them another one comes and goes."""
    for name in topics:
        passing = f"{name}-passing-{uuid.uuid4().hex[:8]}"
        entries = [ReassignmentEntry(name, p, ids) for p, ids in enumerate(lists)]
        create(session, passing, (1, 2), (2, 3))
        session.commit((Create(znodes.REASSIGNMENT, ReassignmentNode.encode(entries)),))
        session.commit((Create(znodes.deletion(passing), b""),))
        await_(lambda: not session.exists(znodes.REASSIGNMENT))


def assert_seen_right(found: Cluster, moving: list[str], lists: dict[str, Lists]) -> None:
    """A partition is where it was or where it goes, or its request is seen with it."""
    assert not found.damaged
    for name in set(moving) - found.torn:
        topic = found.topics[name]
        assert len(topic.partitions) == 3
        assert all(p.leader is not None for p in topic.partitions)
        requested = {e.partition for e in found.reassignment or () if e.topic == name}
        for p in topic.partitions:
            settled = p.replicas in (lists["before"][p.partition], lists["after"][p.partition])
            assert settled or p.partition in requested
