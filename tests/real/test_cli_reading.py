"""The commands that only read, against real brokers and a real ZooKeeper."""

import gzip
import json
import socket
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from conditions import until
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.cli import main
from poolkeeper.model.topology import TopicPartition

BALANCE = "/poolkeeper/records/balance"


@pytest.fixture
def run(capfd):
    def call(*words):
        code = main.main([str(word) for word in words])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def topic(kafka, topic_name):
    """Create a topic of two partitions on brokers 1 and 2; wait until every replica has its log."""
    sandbox = kafka()
    client = KazooClient(sandbox.connect)
    client.start(timeout=120)
    body = {"version": 1, "partitions": {"0": [1, 2], "1": [2, 1]}}
    client.create(f"/config/topics/{topic_name}", b'{"version":1,"config":{}}')
    client.create(f"/brokers/topics/{topic_name}", json.dumps(body).encode())
    replicas = [(TopicPartition(topic_name, p), broker) for p in range(2) for broker in (1, 2)]
    with BrokerClient.open(tuple(sandbox.bootstrap.split(","))) as brokers:
        # Logs lag the state nodes: a leader says nothing of its followers' directories.
        until(
            lambda: all(brokers.sizes([1, 2]).log(*replica) is not None for replica in replicas),
            "every replica has its log",
            60,
        )
    client.stop()
    client.close()
    return topic_name


@pytest.fixture
def manifests(kafka, topic, tmp_path):
    sandbox = kafka()
    documents = [
        {
            "kind": "KafkaCluster",
            "metadata": {"name": "main"},
            "spec": {
                "zookeeper": {"connect": sandbox.connect},
                "brokers": {"bootstrapServers": sandbox.bootstrap},
            },
        },
        {
            "kind": "ResourcePool",
            "metadata": {"name": "fast"},
            # Others' topics are on these brokers, too: nothing is evened out for them.
            "spec": {"clusterRef": {"name": "main"}, "brokers": {"ids": [1, 2]}, "balance": {}},
        },
        {
            "kind": "ResourcePool",
            "metadata": {"name": "slow"},
            "spec": {"clusterRef": {"name": "main"}, "brokers": {"ids": [3]}, "balance": {}},
        },
        {
            "kind": "Topic",
            "metadata": {"name": topic},
            "spec": {"poolRef": {"name": "fast"}, "partitions": 2, "replicationFactor": 2},
        },
    ]
    for number, document in enumerate(documents):
        text = json.dumps({"apiVersion": "poolkeeper.dev/v1alpha1", **document})
        (tmp_path / f"{number}.json").write_text(text)
    return tmp_path


def test_status_by_name_and_by_connect_string(run, kafka, manifests):
    ways = [
        ("status", "-f", manifests),
        ("status", "main", "-f", manifests),
        ("status", kafka().connect, "--cluster", "main"),
        ("status", "--zookeeper", kafka().connect, "--cluster", "main"),
    ]
    found = [run(*way, "--output", "json") for way in ways]
    assert [(code, err) for code, _, err in found] == [(0, "")] * 4
    [status, *others] = [json.loads(out) for _, out, _ in found]
    assert others == [status] * 3
    assert (status["cluster"], status["brokers"], status["run"]) == ("main", 3, None)
    assert (status["underReplicated"], status["offline"], status["waits"]) == ([], [], [])


def test_status_as_text(run, manifests):
    code, out, err = run("status", "-f", manifests)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("cluster     main (")
    assert lines[3:] == [
        "health      all replicas are in sync",
        "executor    none is active",
        "run         none is recorded",
    ]


def test_a_plan_for_what_is_there_already_is_empty(run, manifests):
    code, out, _ = run("plan", "-f", manifests, "--output", "json")
    assert code == 0, out


def test_a_plan_knows_sizes_and_changes_nothing(run, kafka, manifests, topic):
    before = _nodes(kafka())
    pools = json.loads((manifests / "3.json").read_text())
    pools["spec"]["poolRef"]["name"] = "slow"
    pools["spec"]["replicationFactor"] = 1
    (manifests / "3.json").write_text(json.dumps(pools))
    code, out, err = run("plan", "-f", manifests, "--output", "json")
    assert (code, err) == (2, "")
    assert {(m["topic"], m["partition"], tuple(m["to"])) for m in json.loads(out)["moves"]} == {
        (topic, 0, (3,)),
        (topic, 1, (3,)),
    }
    assert run("plan", "-f", manifests)[0] == 2
    assert _nodes(kafka()) == before


def test_until_when_balance_waits_is_said(run, kafka, manifests):
    for number, changed in (
        (0, {"mode": "Apply", "approval": {"policy": "Auto"}, "balancing": {"coolDown": "2h"}}),
        (1, {"brokers": {"ids": [1, 2, 3]}, "balance": {"topicReplicas": {"count": 1}}}),
    ):
        body = json.loads((manifests / f"{number}.json").read_text())
        body["spec"] |= changed
        (manifests / f"{number}.json").write_text(json.dumps(body))
    (manifests / "2.json").unlink()
    forget(kafka(), BALANCE)  # another file's run on these brokers may have left one
    code, out, _ = run("plan", "-f", manifests, "--output", "json")
    assert (code, {move["urgency"] for move in json.loads(out)["moves"]}) == (2, {4})
    assert "balanceWaitsUntil" not in json.loads(out)

    began = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    record = {"version": 1, "started_ms": int(began.timestamp() * 1000)}
    until_text = (began + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    with remembered(kafka(), BALANCE, record):
        code, out, _ = run("plan", "-f", manifests, "--output", "json")
        assert (code, json.loads(out)["balanceWaitsUntil"]) == (2, until_text)
        assert f"Until {until_text} a loop leaves out" in run("plan", "-f", manifests)[1]
        code, out, _ = run("status", "-f", manifests, "--output", "json")
        assert (code, json.loads(out)["balanceWaitsUntil"]) == (0, until_text)
        assert f"starts no plan before {until_text}" in run("status", "-f", manifests)[1]


def forget(sandbox, path):
    """Delete a node of ours, if it is there."""
    client = KazooClient(sandbox.connect)
    client.start(timeout=120)
    if client.exists(path):
        client.delete(path)
    client.stop()
    client.close()


@contextmanager
def remembered(sandbox, path, body):
    """Have a node of ours for the time of the block."""
    client = KazooClient(sandbox.connect)
    client.start(timeout=120)
    client.create(path, json.dumps(body).encode(), makepath=True)
    try:
        yield
    finally:
        client.delete(path)
        client.stop()
        client.close()


def _nodes(sandbox):
    """Return every node outside of Kafka's own housekeeping, with its version."""
    client = KazooClient(sandbox.connect)
    client.start(timeout=120)
    found, left = {}, ["/brokers/topics", "/config", "/admin"]
    while left:
        path = left.pop()
        _, stat = client.get(path)
        found[path] = stat.version
        left += [f"{path}/{child}" for child in client.get_children(path)]
    found["/poolkeeper"] = client.exists("/poolkeeper")
    client.stop()
    client.close()
    return found


@pytest.mark.parametrize("name", ["snapshot.json", "snapshot.json.gz"])
def test_a_snapshot_holds_sizes_and_plans_like_the_cluster(run, manifests, topic, tmp_path, name):
    file = tmp_path.parent / f"{tmp_path.name}-{name}"
    before_ms = time.time_ns() // 1_000_000
    code, out, err = run("snapshot", "-f", manifests, "--out", file)
    assert (code, err) == (0, "")
    assert out.startswith(f"wrote {file}: 3 brokers, ")
    data = file.read_bytes()
    body = json.loads(gzip.decompress(data) if name.endswith(".gz") else data)
    [found] = [t for t in body["topics"] if t["name"] == topic]
    assert [p["bytes"] for p in found["partitions"]] == [0, 0]
    assert [set(p["logDirs"]) for p in found["partitions"]] == [{"1", "2"}] * 2
    assert body["cluster"]["kafkaVersion"] == "3.9"
    assert before_ms <= body["readMs"] <= time.time_ns() // 1_000_000
    assert run("plan", "-f", manifests, "--snapshot", file)[0] == 0


def test_import_from_the_cluster_moves_nothing(run, kafka, topic, tmp_path):
    out = tmp_path / "imported"
    where = ("--zookeeper", kafka().connect, "--bootstrap", kafka().bootstrap)
    assert run("import", *where, "--out", out)[0] == 0
    assert topic in (out / "topics.yaml").read_text()
    assert run("validate", "-f", out)[0] == 0
    shown = json.loads(run("plan", "-f", out, "--output", "json")[1])
    assert shown["moves"] == []
    # What other tests have moved on these brokers may be led by others than the preferred leaders.
    assert {step["kind"] for step in shown["steps"]} <= {"ElectLeaders"}


def test_nothing_to_stop_and_nothing_to_show(run, kafka):
    where = ("--zookeeper", kafka().connect)
    assert run("stop", *where) == (0, "no run is recorded: nothing to stop\n", "")
    code, out, err = run("show", "5f2a91c4", *where)
    assert (code, out, err) == (
        1,
        "",
        "no run is recorded and no plan waits for approval, so none is stored\n",
    )


def unreachable(run, *words):
    """Run a command that must fail with exit code 3 and one line; return the line."""
    code, out, err = run(*words)
    assert (code, out) == (3, "")
    [line] = err.splitlines()
    return line


COMMANDS = [("status",), ("stop",), ("show", "5f2a91c4"), ("snapshot", "--out", "unwritten.json")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_closed_port_is_exit_code_3(run, command):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets this port
        port = taken.getsockname()[1]
        where = ("--zookeeper", f"127.0.0.1:{port}/kafka", "--timeout", 2)
        assert str(port) in unreachable(run, *command, *where)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_wrong_chroot_is_exit_code_3_and_is_not_created(run, kafka, command):
    sandbox = kafka()
    line = unreachable(run, *command, "--zookeeper", f"{sandbox.zookeeper}/nowhere")
    assert "/nowhere" in line
    client = KazooClient(sandbox.zookeeper)
    client.start(timeout=120)
    assert client.exists("/nowhere") is None
    client.stop()
    client.close()


@pytest.fixture
def guarded(chroot):
    """Yield a chroot that looks like a cluster and that only `owner` may read."""
    acl = [make_digest_acl("owner", "right", all=True)]
    client = KazooClient(chroot, auth_data=[("digest", "owner:right")])
    client.start(timeout=120)
    for path in ("/brokers", "/brokers/ids", "/brokers/topics", "/config", "/config/topics"):
        client.create(path, acl=acl)
    for path in ("/config/brokers", "/config/changes", "/admin", "/admin/delete_topics"):
        client.create(path, acl=acl)
    client.create("/controller_epoch", b"1", acl=acl)
    client.create("/cluster", acl=acl)
    client.create("/cluster/id", b'{"version":"1","id":"guarded"}', acl=acl)
    yield chroot
    for path in client.get_children("/"):
        client.delete(path, recursive=True)
    client.stop()
    client.close()


def client_config(tmp_path, password):
    file = tmp_path / f"client-{password}.yaml"
    file.write_text(f"zookeeper: {{scheme: digest, username: owner, password: {password}}}\n")
    return file


def test_wrong_credentials_are_exit_code_3(run, guarded, tmp_path):
    wrong = client_config(tmp_path, "wrong")
    line = unreachable(run, "status", "--zookeeper", guarded, "--client-config", wrong)
    assert "wrong" not in line.replace(str(wrong), "")
    unreachable(run, "status", "--zookeeper", guarded)


def test_right_credentials_read_a_guarded_cluster(run, guarded, tmp_path):
    right = client_config(tmp_path, "right")
    where = ("--zookeeper", guarded, "--client-config", right)
    code, out, err = run("status", *where, "--output", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["id"] == "guarded"


def test_errors_as_data(run):
    where = ("--zookeeper", "127.0.0.1:1", "--timeout", 1, "--output", "json")
    code, out, err = run("status", *where)
    assert code == 3
    assert json.loads(out) == {
        "errors": [{"file": None, "line": None, "field": None, "message": err.rstrip("\n")}]
    }
