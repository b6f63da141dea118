"""A topic that we wrote into ZooKeeper is one like any other: for clients, brokers and disks."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from threading import Event, Thread

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from conditions import until
from matrices import soak
from poolkeeper.algorithms.internal_topics import config_problem
from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import State
from poolkeeper.model.plans import AddPartitions, CreateTopic, Plan, SetConfig
from poolkeeper.planning.audit import audit
from poolkeeper.planning.planner import make_plan
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.journal import records as zk_records
from poolkeeper.zk.reading import observe
from real.support import access, assignment, create, desired, ignore, plan_of, seen

OFFSETS = "__consumer_offsets"

COMMIT_MS = 5_000
MEMBER_S = 15.0
VERSIONS = ["3.9.2", "2.0.1", *soak("2.8.2")]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_topic_serves_ordinary_clients_at_once(kafka, topic_name, version):
    sandbox = kafka(version)
    create(sandbox, topic_name, (1, 2), (2, 3), (3, 1))
    sent = {(partition, b"%d" % n) for partition in range(3) for n in range(20)}
    offsets = send(sandbox, topic_name, sorted(sent))
    assert sorted(offsets) == [(p, n) for p in range(3) for n in range(20)]
    assert read_alone(sandbox, topic_name, len(sent)) == sent
    assert read_in_a_group(sandbox, topic_name, len(sent)) == sent


@pytest.mark.parametrize(
    ("version", "length"),
    [
        pytest.param("3.9.2", 22, id="3.9.2-has-ids"),
        pytest.param("2.8.2", 22, id="2.8.2-has-ids", marks=pytest.mark.soak),
        pytest.param("2.0.1", 0, id="2.0.1-has-none"),
    ],
)
def test_a_new_topic_gets_an_id_where_the_version_has_one(kafka, topic_name, version, length):
    sandbox = kafka(version)
    create(sandbox, topic_name, (1, 2))
    assert len(seen(sandbox, topic_name).topics[topic_name].topic_id or "") == length


def test_brokers_keep_the_id_of_a_new_topic_beside_its_data(kafka, topic_name):
    sandbox = kafka()
    create(sandbox, topic_name, (1, 2))
    id_ = seen(sandbox, topic_name).topics[topic_name].topic_id
    for broker in (1, 2):
        files = [d / f"{topic_name}-0" / "partition.metadata" for d in sandbox.log_dirs(broker)]
        (text,) = until(
            lambda files=files: [f.read_text() for f in files if f.exists() and f.read_text()],
            f"broker {broker} writes the id",
        )
        assert text.split() == ["version:", "0", "topic_id:", id_]


@pytest.mark.parametrize("version", VERSIONS)
def test_added_partitions_have_leaders_and_take_records(kafka, topic_name, version):
    sandbox = kafka(version)
    create(sandbox, topic_name, (1, 2))
    id_ = seen(sandbox, topic_name).topics[topic_name].topic_id
    send(sandbox, topic_name, [(0, b"old")])
    wanted = desired(topic_name, partitions=3)
    add = AddPartitions(topic_name, 1, ((2, 3), (3, 1)))
    outcome = drive(access(sandbox), wanted, plan_of(wanted, sandbox, [add]), ignore)
    assert outcome.state is State.CONVERGED
    topic = seen(sandbox, topic_name).topics[topic_name]
    assert topic.topic_id == id_
    assert [(p.replicas, p.leader) for p in topic.partitions] == [
        ((1, 2), 1),
        ((2, 3), 2),
        ((3, 1), 3),
    ]
    send(sandbox, topic_name, [(1, b"new"), (2, b"new")])
    records = {(0, b"old"), (1, b"new"), (2, b"new")}
    assert read_alone(sandbox, topic_name, 3) == records


@pytest.mark.parametrize("version", VERSIONS)
def test_many_topics_at_once_are_all_led(kafka, topic_name, version):
    sandbox = kafka(version)
    names = [f"{topic_name}-{n}" for n in range(20)]
    wanted = desired(*names)
    steps = [CreateTopic(name, "p", ((1, 2), (2, 3), (3, 1))) for name in sorted(names)]
    outcome = drive(access(sandbox), wanted, plan_of(wanted, sandbox, steps), ignore)
    assert outcome.state is State.CONVERGED
    topics = seen(sandbox, *names).topics
    assert {name: [p.leader for p in topics[name].partitions] for name in names} == {
        name: [1, 2, 3] for name in names
    }


@pytest.mark.parametrize("version", ["3.9.2", "2.0.1"])
def test_committed_offsets_get_more_replicas_and_groups_go_on(kafka, topic_name, version):
    sandbox = kafka(version)
    create(sandbox, topic_name, (1, 2))
    send(sandbox, topic_name, [(0, b"%d" % n) for n in range(10)])
    before = {(0, b"%d" % n) for n in range(10)}
    assert read_in_a_group(sandbox, topic_name, len(before)) == before
    [replicas] = assignment(sandbox, OFFSETS)
    assert len(replicas) == 1
    own = seen(sandbox, OFFSETS).topics[OFFSETS].config
    assert {key: config_problem(OFFSETS, key, value) for key, value in own.items()} == {
        "cleanup.policy": None,
        "compression.type": None,
        "segment.bytes": None,
    }

    with consuming(sandbox, topic_name) as received:
        config = {**own, "min.insync.replicas": "2"}
        raised = desired(OFFSETS, replication_factor=3, config=config)
        for steps in ([], [SetConfig]):
            plan = planned(sandbox, raised)
            assert [type(step) for step in plan.steps] == steps
            outcome = drive(access(sandbox), raised, plan, ignore)
            assert outcome.state is State.CONVERGED
        [replicas] = assignment(sandbox, OFFSETS)
        assert sorted(replicas) == [1, 2, 3]
        assert planned(sandbox, raised).empty
        send(sandbox, topic_name, [(0, b"new")])
        until(lambda: b"new" in received, "the group goes on", 240)
    assert received == [b"new"], "nothing is read again"

    # Declared no more, what Kafka set stays; fewer replicas are refused.
    plan = planned(sandbox, desired(OFFSETS, replication_factor=1))
    assert (plan.moves, plan.steps) == ((), ())
    assert "loses no replicas" in plan.problems[0].message
    plan = planned(sandbox, desired(OFFSETS))
    assert plan.empty
    assert plan.problems == ()


def planned(sandbox: Sandbox, wanted: Desired) -> Plan:
    with access(sandbox).session() as session:
        found = observe.cluster(session, "c")
        records = zk_records.read(session)
    plan = make_plan(wanted, found.cluster, records, frozenset())
    audit.enforce(plan, wanted, found.cluster, records, frozenset())
    return plan


@contextmanager
def consuming(sandbox: Sandbox, topic: str) -> Iterator[list[bytes]]:
    """Read in the group of `read_in_a_group`, and commit after every record.

    A member of kafka-python 3.0 whose coordinator moves loses its heartbeats now and then: it polls
    without end and fetches nothing. So each is followed by another, which begins where the group
    is.
    """
    received: list[bytes] = []
    ending = Event()

    def read() -> None:
        while not ending.is_set():
            consumer = member(sandbox, topic)
            until_s = time.monotonic() + MEMBER_S
            while not ending.is_set() and time.monotonic() < until_s:
                for records in consumer.poll(timeout_ms=200).values():
                    received.extend(record.value for record in records)
                with suppress(KafkaError):
                    # The group moved: the next poll joins it.
                    consumer.commit(timeout_ms=COMMIT_MS)
            consumer.close()

    thread = Thread(target=read)
    thread.start()
    try:
        yield received
    finally:
        ending.set()
        thread.join(60)
    assert not thread.is_alive()


def send(sandbox: Sandbox, topic: str, records: list[tuple[int, bytes]]) -> list[tuple[int, int]]:
    """Send (partition, value) pairs, acknowledged by all; return (partition, offset) pairs.

    Brokers hear of new partitions one after the other, and the producer asks any of them.
    """
    brokers, wanted = sandbox.bootstrap.split(","), {partition for partition, _ in records}
    producer = KafkaProducer(bootstrap_servers=brokers, acks="all", metadata_max_age_ms=200)
    until(lambda: wanted <= set(producer.partitions_for(topic)), "the producer knows of all")
    sent = [producer.send(topic, value=value, partition=p) for p, value in records]
    found = [(s.get(timeout=120).partition, s.get(timeout=120).offset) for s in sent]
    producer.close()
    return found


def read_alone(sandbox: Sandbox, topic: str, count: int) -> set[tuple[int, bytes]]:
    """Read all of a topic without a group."""
    consumer = KafkaConsumer(bootstrap_servers=sandbox.bootstrap.split(","))
    partitions = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    return drained(consumer, count)


def read_in_a_group(sandbox: Sandbox, topic: str, count: int) -> set[tuple[int, bytes]]:
    """Subscribe as the one member of a group, and commit what was read; see `consuming`."""
    found: set[tuple[int, bytes]] = set()

    def enough() -> bool:
        found.clear()
        with closing(member(sandbox, topic)) as consumer:
            until_s = time.monotonic() + MEMBER_S
            while len(found) < count and time.monotonic() < until_s:
                found.update(polled(consumer))
            if len(found) >= count:
                consumer.commit()
        return len(found) >= count

    until(enough, f"{count} records")
    return found


def member(sandbox: Sandbox, topic: str) -> KafkaConsumer:
    # A broker may not know yet of a topic just made: asked once in five minutes, as is the default,
    # it would leave the member without partitions for as long.
    return KafkaConsumer(
        topic,
        metadata_max_age_ms=1000,
        bootstrap_servers=sandbox.bootstrap.split(","),
        group_id=f"readers-of-{topic}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )


def drained(consumer: KafkaConsumer, count: int) -> set[tuple[int, bytes]]:
    found: set[tuple[int, bytes]] = set()

    def enough() -> bool:
        found.update(polled(consumer))
        return len(found) >= count

    with closing(consumer):  # threads of one that is left open draw random numbers, as laws may not
        until(enough, f"{count} records")
    return found


def polled(consumer: KafkaConsumer) -> Iterator[tuple[int, bytes]]:
    for records in consumer.poll(timeout_ms=500).values():
        for record in records:
            yield record.partition, record.value
