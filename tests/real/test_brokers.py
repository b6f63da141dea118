"""The brokers' protocol against real brokers: sizes, directories, configs, versions, silence."""

import json
import time
from contextlib import contextmanager
from types import MappingProxyType

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kazoo.client import KazooClient

from builders import cluster
from conditions import until
from matrices import soak
from poolkeeper.algorithms.throttles import LOG_DIRS_RATE
from poolkeeper.brokers import enrich
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.errors import Unavailable
from poolkeeper.model.topology import Partition, Topic, TopicPartition
from real.support import configure, topic_config

pytestmark = pytest.mark.long

VERSIONS = ["3.9.2", "2.0.1", *soak("2.8.2")]
LEADER = "leader.replication.throttled.rate"
FOLLOWER = "follower.replication.throttled.rate"
RECORD = b"x" * 10_000
RECORDS = 100
DATA_BYTES = len(RECORD) * RECORDS


def servers(sandbox):
    return tuple(sandbox.bootstrap.split(","))


@contextmanager
def admin(sandbox):
    client = KafkaAdminClient(bootstrap_servers=servers(sandbox))
    yield client
    client.close()


def create(sandbox, topic, assignment, config=MappingProxyType({})):
    client = KazooClient(sandbox.connect)
    client.start(timeout=120)
    body = {"version": 1, "partitions": {str(p): ids for p, ids in assignment.items()}}
    said = {"version": 1, "config": dict(config)}
    client.create(f"/config/topics/{topic}", json.dumps(said).encode())
    client.create(f"/brokers/topics/{topic}", json.dumps(body).encode())
    client.stop()
    client.close()


def fill(sandbox, topic, partition=0):
    producer = KafkaProducer(bootstrap_servers=servers(sandbox), acks="all")
    for _ in range(RECORDS):
        producer.send(topic, RECORD, partition=partition)
    producer.flush(timeout=120)
    producer.close()


@contextmanager
def dynamic_config(sandbox, broker):
    """Yield a function that sets the broker's config as an operator does, by ZooKeeper."""
    client = KazooClient(sandbox.connect)
    client.start(timeout=120)

    def put(config):
        configure(client, f"brokers/{broker}", config)

    yield put
    put({})
    client.stop()
    client.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_sizes_and_directories_of_all_replicas(kafka, topic_name, version):
    sandbox = kafka(version)
    create(sandbox, topic_name, {0: [1, 2], 1: [3, 2]})
    fill(sandbox, topic_name)
    with BrokerClient.open(servers(sandbox)) as brokers:
        found = until(
            lambda: _complete(brokers.sizes([1, 2, 3]), TopicPartition(topic_name, 0)),
            "all replicas are as big",
        )
    full, empty = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    largest = max(found.log(full, broker).size_bytes for broker in (1, 2))
    assert DATA_BYTES <= largest < DATA_BYTES * 1.1
    assert found.log(empty, 3).size_bytes == 0
    assert found.log(full, 3) is None
    for broker in (1, 2, 3):
        paths = {str(path) for path in sandbox.log_dirs(broker)}
        assert set(found.logs[broker].log_dirs) == paths
        held = found.logs[broker].current
        assert {held[p].log_dir for p in (full, empty) if p in held} <= paths
        for volume in found.logs[broker].log_dirs.values():
            assert (volume.total_bytes is not None) == (version == "3.9.2")


def _complete(sizes, partition):
    first, second = sizes.log(partition, 1), sizes.log(partition, 2)
    done = first and second and first.size_bytes == second.size_bytes > 0
    return sizes if done else None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cluster_is_completed(kafka, topic_name, version):
    sandbox = kafka(version)
    create(sandbox, topic_name, {0: [2, 1]})
    before = cluster((1, 2, 3), Topic(topic_name, (Partition(0, (2, 1)),)))
    with BrokerClient.open(servers(sandbox)) as brokers:
        found = until(
            lambda: _known(enrich.enrich_cluster(before, brokers, 10), topic_name),
            "directories are told",
        )
    assert found.warnings == ()
    assert found.cluster.kafka_version == version.rpartition(".")[0]
    [partition] = found.cluster.topics[topic_name].partitions
    assert partition.size_bytes == 0
    assert set(partition.log_dirs) == {1, 2}


def _known(found, topic):
    [partition] = found.cluster.topics[topic].partitions
    return found if partition.log_dirs and len(partition.log_dirs) == 2 else None


@pytest.mark.parametrize("version", VERSIONS)
def test_configs_in_force(kafka, topic_name, version):
    sandbox = kafka(version)
    create(sandbox, topic_name, {0: [1]}, {"retention.ms": "1000"})
    with BrokerClient.open(servers(sandbox)) as brokers:
        broker = brokers.broker_config(2)
    topic = until(lambda: topic_config(sandbox, topic_name), "the config is told")
    assert topic["retention.ms"] == ("1000", "DYNAMIC_TOPIC_CONFIG")
    assert topic["cleanup.policy"] == ("delete", "DEFAULT_CONFIG")
    assert broker["broker.id"].value == "2"


@pytest.mark.parametrize("version", VERSIONS)
def test_brokers_tell_when_they_have_taken_a_throttle_over(kafka, version):
    sandbox = kafka(version)
    rates = {LEADER: "2000000", FOLLOWER: "3000000"}
    # 2.0 shows that a rate is set, but not which.
    certain = None if version == "2.0.1" else True
    with BrokerClient.open(servers(sandbox)) as brokers, dynamic_config(sandbox, 1) as put:
        assert brokers.throttle_settled(1, rates) is False
        assert brokers.throttle_settled(1, {LEADER: None, FOLLOWER: None}) is True
        put(rates)
        until(lambda: brokers.throttle_settled(1, rates) is certain, "the rates are in force")
        assert brokers.throttle_settled(1, {**rates, FOLLOWER: None}) is False
        assert brokers.throttle_settled(2, rates) is False
        put({})
        gone = {LEADER: None, FOLLOWER: None}
        until(lambda: brokers.throttle_settled(1, gone) is True, "the rates are gone")


@pytest.mark.parametrize("version", VERSIONS)
def test_brokers_tell_how_many_replicas_must_be_in_sync(fresh_kafka, version):
    """Not of a cluster that others use: 2.0 keeps the dynamic setting once it is gone."""
    sandbox = fresh_kafka(version, brokers=2, settings=(("min.insync.replicas", "2"),))
    with BrokerClient.open(servers(sandbox)) as brokers, dynamic_config(sandbox, 1) as put:
        until(lambda: brokers.min_insync([1, 2, 77]) == {1: 2, 2: 2}, "both ask for two")
        put({"min.insync.replicas": "3"})
        until(lambda: brokers.min_insync([1, 2]) == {1: 3, 2: 2}, "broker 1 asks for three")


def test_a_dead_broker_is_named_and_the_others_answer_as_long_as_there_are_any(fresh_kafka):
    sandbox = fresh_kafka(brokers=2)
    with BrokerClient.open(servers(sandbox)) as brokers:
        assert brokers.ids() == (1, 2)
        until(lambda: not brokers.sizes([1, 2]).failures, "both answer")
        sandbox.kill(2)
        found = brokers.sizes([1, 2, 77])
        releases = brokers.versions([1, 2])
    assert set(found.logs) == {1}
    assert set(found.failures) == found.silent == {2, 77}
    assert found.failures[2].reason.startswith("cannot connect")
    assert found.failures[77].reason == "the other brokers do not know it"
    assert (dict(releases.releases), set(releases.failures)) == ({1: "3.9"}, {2})
    sandbox.kill(1)
    began = time.monotonic()
    with pytest.raises(Unavailable, match=r"no broker answers .*Connection refused"):
        BrokerClient.open(servers(sandbox), deadline_s=100)
    assert time.monotonic() - began < 60


def test_a_replica_between_directories_has_a_future_log(kafka, topic_name):
    sandbox = kafka()
    create(sandbox, topic_name, {0: [1]})
    # The quota counts over eleven seconds: what is copied before it bites must not be everything.
    for _ in range(3):
        fill(sandbox, topic_name)
    replica, slow = TopicPartition(topic_name, 0), {LOG_DIRS_RATE: "1000"}
    with (
        BrokerClient.open(servers(sandbox)) as brokers,
        admin(sandbox) as client,
        dynamic_config(sandbox, 1) as put,  # brokers do not read this rate from their own file
    ):
        put(slow)
        until(lambda: brokers.throttle_settled(1, slow) is True, "the rate is in force")
        source = brokers.sizes([1]).logs[1].current[replica].log_dir
        [target] = {str(path) for path in sandbox.log_dirs(1)} - {source}
        client.alter_replica_log_dirs({(topic_name, 0, 1): target})
        logs = until(
            lambda: _with_future(brokers.sizes([1]).logs[1], replica), "the future log is told"
        )
    assert logs.current[replica].log_dir == source
    assert logs.future[replica].log_dir == target
    assert logs.future[replica].size_bytes < logs.current[replica].size_bytes


def _with_future(logs, replica):
    return logs if replica in logs.future else None
