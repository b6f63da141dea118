"""Topics that real brokers cannot delete, and what ends that."""

import json
from dataclasses import replace

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import UnknownTopicOrPartitionError

from conditions import until
from matrices import soak
from poolkeeper.cli.main import main
from poolkeeper.model.versions import records_moves
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import body_of
from poolkeeper.sandbox import spread
from real.support import (
    REQUEST,
    assignment,
    create,
    declare,
    history,
    kazoo,
    last_zxid,
    of_path,
    run,
)

pytestmark = pytest.mark.long
MARKERS = "/admin/delete_topics"


@pytest.mark.parametrize("version", ["3.9.2", *soak("2.8.2", "2.0.1")])
def test_an_empty_broker_of_the_missing_id_ends_a_deletion(
    fresh_kafka, topic_name, version, capsys
):
    sandbox = fresh_kafka(version, brokers=2)
    with kazoo(sandbox.connect) as zookeeper:
        create(sandbox, topic_name, (1, 2), (2, 1))
        body = body_of({(topic_name, 0): [1, 99]})
        zookeeper.create(REQUEST, json.dumps(body).encode())
        node = f"/brokers/topics/{topic_name}"
        until(lambda: b"99" in zookeeper.get(node)[0], "the move that cannot end", 30)
        zookeeper.create(f"{MARKERS}/{topic_name}")
        state = f"{node}/partitions/0/state"
        until(lambda: b'"leader":-1' in zookeeper.get(state)[0], "the deletion's begin", 30)
        assert main(("status", sandbox.connect)) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert f"topic {topic_name} is being deleted, and broker 99 is not live" in told
        if records_moves(version):
            admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap.split(","))
            wanted = TopicPartition(topic_name, 0)
            answer = admin.alter_partition_reassignments({wanted: [2]})
            admin.close()
            assert answer == {wanted: UnknownTopicOrPartitionError}
        assert zookeeper.exists(node)
        sandbox.add_broker(replace(spread(1)[0], id=99))
        until(lambda: not zookeeper.get_children(MARKERS), "the deletion's end", 30)
        assert not zookeeper.exists(node)


@pytest.mark.parametrize("version", ["3.9.2", *soak("2.8.2", "2.0.1")])
def test_a_deletion_that_the_controller_takes_back_is_asked_for_once_and_told(
    fresh_kafka, topic_name, version, tmp_path
):
    sandbox = fresh_kafka(version, brokers=1, settings=(("delete.topic.enable", "false"),))
    pools = {"p": {"brokers": {"ids": [1]}}}
    topic = {"pool": "p", "partitions": 1, "replicationFactor": 1, "deletionPolicy": "Delete"}
    folder = tmp_path / "manifests"
    declare(folder, sandbox, pools, {topic_name: topic})
    assert run("apply", "-f", folder, "--yes").code == 0
    declare(folder, sandbox, pools, {})
    since = last_zxid(sandbox)
    left = run("apply", "-f", folder, "--yes", "--prune")
    assert (left.code, "delete.topic.enable=false" in left.err) == (4, True), left
    marked = of_path(history(sandbox, since), f"{MARKERS}/{topic_name}")
    assert [change.kind for change in marked] == ["CREATE", "DELETE"]


@pytest.mark.parametrize("version", ["3.9.2", *soak("2.0.1")])
def test_a_topic_that_others_made_anew_is_not_pruned_for_the_one_that_was_declared(
    kafka, topic_name, version, tmp_path
):
    sandbox = kafka(version, 2)
    pools = {"p": {"brokers": {"ids": [1, 2]}}}
    topic = {"pool": "p", "partitions": 1, "replicationFactor": 2, "deletionPolicy": "Delete"}
    folder = tmp_path / "manifests"
    declare(folder, sandbox, pools, {topic_name: topic})
    assert run("apply", "-f", folder, "--yes").code == 0
    with kazoo(sandbox.connect) as zookeeper:
        node = f"/brokers/topics/{topic_name}"
        zookeeper.create(f"{MARKERS}/{topic_name}")
        until(lambda: not zookeeper.exists(node), "somebody deletes it", 30)
        until(lambda: not zookeeper.exists(f"{MARKERS}/{topic_name}"), "the deletion's end", 30)
        admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap.split(","))
        admin.create_topics({topic_name: {"num_partitions": 1, "replication_factor": 2}})
        admin.close()
        until(lambda: zookeeper.exists(node), "somebody makes another one", 30)
        declare(folder, sandbox, pools, {})
        left = run("apply", "-f", folder, "--yes", "--prune")
        assert (left.code, "DELETE" in left.out) == (0, False), left
        assert zookeeper.exists(node)
        assert not zookeeper.exists(f"{MARKERS}/{topic_name}")


@pytest.mark.parametrize("version", ["3.9.2", *soak("2.8.2", "2.0.1")])
def test_topics_that_dead_brokers_keep_hold_up_no_other(fresh_kafka, tmp_path, version):
    sandbox = fresh_kafka(version, brokers=3)
    folder = tmp_path / "manifests"
    topic = {"partitions": 1, "replicationFactor": 1}
    doomed = {**topic, "deletionPolicy": "Delete"}
    pools = {"live": {"brokers": {"ids": [1, 2]}}, "dead": {"brokers": {"ids": [3]}}}
    create(sandbox, "moved", (1,))
    create(sandbox, "lost", (3,))
    create(sandbox, "dies", (3,))
    create(sandbox, "goes", (1,))
    topics = {"moved": {"pool": "live", **topic}, "lost": {"pool": "dead", **topic}}
    asked = {"dies": {"pool": "dead", **doomed}, "goes": {"pool": "live", **doomed}}
    declare(folder, sandbox, pools, {**topics, **asked})
    assert run("apply", "-f", folder, "--yes").code == 0
    sandbox.kill(3)
    pools["live"] = {"brokers": {"ids": [2]}}
    with kazoo(sandbox.connect) as zookeeper:
        until(lambda: not zookeeper.exists("/brokers/ids/3"), "its session's end", 60)
        declare(folder, sandbox, pools, {**topics, "new": {"pool": "live", **topic}})
        done = run("apply", "-f", folder, "--yes", "--prune", "--output", "json")
        undone = json.loads(done.out)["undone"]
        assert done.code == 4
        (held,) = (each for each in undone if each["reason"] == "DeletionAwaitsBrokers")
        assert held["topic"] == "dies"
        assert "an empty broker of the same id" in held["message"]
        assert sorted(zookeeper.get_children("/brokers/topics")) == ["dies", "lost", "moved", "new"]
        assert assignment(sandbox, "moved") == assignment(sandbox, "new") == [(2,)]
        sandbox.start_broker(3)
        until(lambda: not zookeeper.exists("/brokers/topics/dies"), "the deletion's end", 60)
