"""Groups as brokers tell of them: whoever works by Kafka's group protocol, in whatever state.

A member joins by requests of its own, as the library's consumer says nothing but consumers' words.
"""

import contextlib
import json
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from kafka.admin import KafkaAdminClient
from kafka.errors import CoordinatorNotAvailableError
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from conditions import until
from poolkeeper.algorithms.groups import offsets_partition
from poolkeeper.brokers import group_leaders
from poolkeeper.brokers.group_leaders import GroupLeaders
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.sandbox import Sandbox
from real.support import create, run

PARTITIONS = 12
TOPIC = "read-by-groups"
JOIN_WAIT_S = 30.0


def text(word: str) -> bytes:
    return struct.pack(">h", len(word.encode())) + word.encode()


def subscription(topic: str) -> bytes:
    """What a consumer joins with."""
    fields = {"user_data": b"", "owned_partitions": [], "generation_id": -1, "rack_id": None}
    return ConsumerProtocolSubscription(topics=[topic], **fields).encode(version=1)


CONNECT = b"".join(
    (struct.pack(">h", 1), text("http://10.0.0.1:8083/"), struct.pack(">qi", 17, -1))
)
NO_TEXT = struct.pack(">hi", 1, 1) + struct.pack(">h", 2) + b"\xff\xfe" + struct.pack(">ii", 0, 0)
"""A subscription to a topic whose name Java reads, and Python does not."""
REGISTRY = b'{"version":1,"host":"10.0.0.1","port":8081,"master_eligibility":true}'


@pytest.fixture(scope="module")
def sandbox(kafka: Callable[..., Sandbox]) -> Sandbox:
    found = kafka(brokers=1)
    create(found, TOPIC, *((1,) for _ in range(PARTITIONS)))
    with BrokerClient.open(found.bootstrap.split(",")) as brokers:

        def are_told() -> bool:  # the first question makes the topic of groups
            return brokers.group_members(["g"]).members == {"g": ()}

        until(are_told, "groups are told of", JOIN_WAIT_S)
    return found


@pytest.fixture
def brokers(sandbox: Sandbox) -> Iterator[BrokerClient]:
    with BrokerClient.open(sandbox.bootstrap.split(",")) as found:
        yield found


@dataclass
class Member:
    """One member of a group, by requests of its own; it stays without heartbeats for a minute."""

    client: KafkaAdminClient
    group: str
    type: str
    joined_with: bytes
    id: str = ""
    generation: int = -1

    def _send(self, kind: type, **fields: object) -> object:
        manager = self.client._manager
        broker = manager.run(self.client._find_coordinator_ids, [self.group])[self.group]
        known = {"group_id": self.group, "member_id": self.id, "group_instance_id": None}
        return manager.run(manager.send, kind(**known, **fields), broker)

    def join(self) -> None:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="p", metadata=self.joined_with)

        def joined() -> bool:
            told = self._send(
                JoinGroupRequest,
                session_timeout_ms=60_000,
                rebalance_timeout_ms=60_000,
                protocol_type=self.type,
                protocols=[protocol],
            )
            self.id, self.generation = told.member_id, told.generation_id
            return told.error_code == 0

        until(joined, "the member has joined", JOIN_WAIT_S)

    def sync(self, assigned: bytes) -> None:
        given = SyncGroupRequest.SyncGroupRequestAssignment(member_id=self.id, assignment=assigned)
        told = self._send(
            SyncGroupRequest,
            generation_id=self.generation,
            protocol_type=self.type,
            protocol_name="p",
            assignments=[given],
        )
        assert told.error_code == 0

    def commit(self, topic: str, partitions: int) -> None:
        kind = OffsetCommitRequest.OffsetCommitRequestTopic
        part = kind.OffsetCommitRequestPartition
        told = self._send(
            OffsetCommitRequest,
            generation_id_or_member_epoch=self.generation,
            topics=[
                kind(
                    name=topic,
                    partitions=[
                        part(partition_index=number, committed_offset=0, committed_metadata="")
                        for number in range(partitions)
                    ],
                )
            ],
        )
        assert {part.error_code for each in told.topics for part in each.partitions} == {0}

    def is_there(self) -> bool:
        return self._send(HeartbeatRequest, generation_id=self.generation).error_code == 0


@pytest.fixture
def member(sandbox: Sandbox, topic_name: str) -> Iterator[Callable[..., Member]]:
    clients: list[KafkaAdminClient] = []

    def factory(type_: str, joined_with: bytes) -> Member:
        clients.append(KafkaAdminClient(bootstrap_servers=sandbox.bootstrap.split(",")))
        return Member(clients[-1], f"g-{topic_name}", type_, joined_with)

    yield factory
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    ("type_", "joined_with"),
    [
        pytest.param("connect", CONNECT, id="a worker of Kafka Connect"),
        pytest.param("sr", REGISTRY, id="a schema registry"),
        pytest.param("mine", b"", id="a member that says nothing"),
    ],
)
def test_a_group_of_no_consumers_is_listed_and_no_consumer_is_read_from_it(
    sandbox, brokers, member, type_, joined_with
) -> None:
    worker = member(type_, joined_with)
    worker.join()
    worker.sync(joined_with)
    assert worker.is_there()
    (listed,) = brokers.group_members().members[worker.group] or ()
    assert listed.id == worker.id
    with pytest.raises(Refused, match=rf"{worker.group} has no consumers .* by '{type_}'"):
        brokers.consumer_group(worker.group)
    cluster = ("--zookeeper", sandbox.connect, "--bootstrap", sandbox.bootstrap)
    said = run("whatif", "lose", *cluster, "--broker", "1")
    assert (said.code, said.err) == (0, "")
    assert worker.group in said.out


def test_a_consumer_whose_words_cannot_be_read_is_named(brokers, member) -> None:
    strange = member("consumer", NO_TEXT)
    strange.join()
    strange.sync(b"")
    with pytest.raises(Refused, match=f"what {strange.id} joined with cannot be read"):
        brokers.consumer_group(strange.group)


def test_a_group_that_rebalances_is_not_one_without_members(sandbox, brokers, member) -> None:
    first = member("consumer", subscription(TOPIC))
    first.join()  # and does not tell who reads what
    with pytest.raises(Unavailable, match=r"rebalances \(CompletingRebalance\)"):
        brokers.consumer_group(first.group)
    cluster = ("--zookeeper", sandbox.connect, "--bootstrap", sandbox.bootstrap)
    said = run("whatif", "consumers", *cluster, "--group", first.group)
    assert (said.code, said.out) == (3, "")
    first.sync(b"")
    (told,) = brokers.consumer_group(first.group).members
    assert told.topics == (TOPIC,)
    second = member("consumer", subscription(TOPIC))
    joins = threading.Thread(target=second.join)
    joins.start()  # the first one does not join again
    until(lambda: not first.is_there(), "the group rebalances", JOIN_WAIT_S)
    with pytest.raises(Unavailable, match=r"rebalances \(PreparingRebalance\)"):
        brokers.consumer_group(first.group)
    first.join()
    joins.join(JOIN_WAIT_S)


def test_the_leader_is_found_below_a_thousand_commits(brokers, member) -> None:
    reader = member("consumer", subscription(TOPIC))
    reader.join()
    reader.sync(b"")
    for _ in range(2 + 2 * group_leaders.BLOCK_OFFSETS // PARTITIONS):
        reader.commit(TOPIC, PARTITIONS)
    found = brokers.group_leaders({offsets_partition(reader.group, 1): [reader.group]})
    assert found == GroupLeaders({reader.group: reader.id})


def test_a_broker_that_is_gone_hides_its_own_groups_and_settings_alone(
    fresh_kafka, topic_name
) -> None:
    """It is registered until its session ends; here the groups' one partition is elsewhere."""
    sandbox = fresh_kafka(brokers=3, settings=(("min.insync.replicas", "2"),))
    group = f"g-{topic_name}"
    client = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap.split(","))
    try:
        reader = Member(client, group, "consumer", subscription(TOPIC))
        until(lambda: coordinator(client, group), "the group has a coordinator", JOIN_WAIT_S)
        reader.join()
        reader.sync(b"")
        (dead,) = sorted({1, 2} - {coordinator(client, group)})[:1]
    finally:
        client.close()
    sandbox.kill(dead)
    with BrokerClient.open(sandbox.bootstrap.split(",")) as brokers:
        told = brokers.group_members()
    assert [each.id for each in told.members[group] or ()] == [reader.id]
    assert told.failures.keys() == {dead}
    cluster = ("--zookeeper", sandbox.connect, "--bootstrap", sandbox.bootstrap)
    said = run("whatif", "lose", *cluster, "--broker", "3", "--output", "json")
    found = json.loads(said.out)
    assert [each["leader"]["member"] for each in found["groups"]] == [reader.id]
    assert (said.code, found["assumed"]) == (0, [])
    assert f"broker {dead} tells of no consumer groups: " in said.err


def coordinator(client: KafkaAdminClient, group: str) -> int | None:
    """The broker that coordinates a group; None before the topic of groups is there."""
    with contextlib.suppress(CoordinatorNotAvailableError):
        return client._manager.run(client._find_coordinator_ids, [group])[group]
    return None
