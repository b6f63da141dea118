"""Replicas between the log directories of real brokers."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import traffic
from conditions import until
from matrices import soak
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.brokers.sizes import BrokerLogs
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.progress import stalled_copies
from poolkeeper.sandbox import Sandbox
from real.support import (
    MIB,
    Ran,
    assert_nothing_left,
    assignment,
    body,
    command,
    create,
    declare,
    kazoo,
    run,
    seen,
)

PARTITIONS = 4
SIZE_BYTES = 2 * 1024 * 1024
EVEN = {"balance": {"logDirs": {"percent": 20}}}


def filled(sandbox: Sandbox, broker: int) -> dict[str, int]:
    """The bytes in each directory of a broker."""
    found = {str(path): 0 for path in sandbox.log_dirs(broker)}
    with BrokerClient.open(sandbox.bootstrap.split(",")) as brokers:
        for log in brokers.sizes([broker]).logs[broker].current.values():
            found[log.log_dir] += log.size_bytes
    return found


def where(sandbox: Sandbox, topic: str) -> dict[int, dict[int, str]]:
    """The directory of each partition, by broker."""
    with BrokerClient.open(sandbox.bootstrap.split(",")) as brokers:
        logs = brokers.sizes([1, 2, 3]).logs
    return {
        broker: {
            partition: each.current[TopicPartition(topic, partition)].log_dir
            for partition in range(PARTITIONS)
            if TopicPartition(topic, partition) in each.current
        }
        for broker, each in logs.items()
    }


def assert_done(ran: Ran) -> None:
    """All is done, but for what other tests of these brokers left in the directory."""
    left = ran.err.splitlines()
    assert all(line.endswith("another pool decides about them") for line in left), ran.err
    assert ran.code == (4 if left else 0), ran.out


def d(sandbox: Sandbox, broker: int, number: int) -> str:
    return str(sandbox.log_dirs(broker)[number])


@pytest.mark.parametrize("version", ["3.9.2", *soak("2.0.1")])
def test_a_drained_directory_gets_empty_and_the_rest_is_evened_out(
    kafka, topic_name: str, tmp_path: Path, version: str
):
    sandbox = kafka(version)
    create(sandbox, topic_name, *[(1, 2)] * PARTITIONS)
    traffic.fill(sandbox.bootstrap, {topic_name: PARTITIONS}, SIZE_BYTES)
    before = where(sandbox, topic_name)
    assert {len(set(dirs.values())) for dirs in before.values() if dirs} == {2}
    folder = tmp_path / "manifests"

    def declared(**pool: object) -> None:
        pools = {"p": {"brokers": {"ids": [1, 2, 3]}, "balance": {}, **pool}}
        declare(folder, sandbox, pools, {topic_name: {"pool": "p"}})

    drained = d(sandbox, 1, 0)
    declared(drainLogDirs=[{"broker": 1, "path": drained}])
    planned = run("plan", "-f", folder, "--output", "json")
    steps = json.loads(planned.out)["steps"]
    leaving = [p for p, path in before[1].items() if path == drained]
    assert [(s["kind"], s["partition"], s["broker"], s["to"]) for s in steps] == [
        ("MoveLogDir", p, 1, d(sandbox, 1, 1)) for p in leaving
    ]
    text = run("plan", "-f", folder).out
    assert f"{len(leaving)} replicas between log directories" in text
    applied = run("apply", "-f", folder, "--yes")
    assert_done(applied)
    after = where(sandbox, topic_name)
    assert set(after[1].values()) == {d(sandbox, 1, 1)}
    assert after[2] == before[2]
    assert "No changes" in run("plan", "-f", folder).out

    declared(**EVEN)
    applied = run("apply", "-f", folder, "--yes")
    assert_done(applied)
    # Other tests left topics on these brokers, which count as well.
    one, other = filled(sandbox, 1).values()
    partition_bytes = 1.01 * SIZE_BYTES  # with the heads of batches
    assert abs(one - other) <= max(0.2 * (one + other) / 2, partition_bytes)
    assert "No changes" in run("plan", "-f", folder).out


def test_what_a_pool_cannot_drain_is_said(kafka, topic_name: str, tmp_path: Path):
    sandbox = kafka()
    create(sandbox, topic_name, (1, 2))
    folder = tmp_path / "manifests"
    both = [{"broker": 1, "path": d(sandbox, 1, number)} for number in (0, 1)]
    pools = {"p": {"brokers": {"ids": [1, 2, 3]}, "balance": {}, "drainLogDirs": both}}
    declare(folder, sandbox, pools, {topic_name: {"pool": "p"}})
    planned = json.loads(run("plan", "-f", folder, "--output", "json").out)
    said = [problem["message"] for problem in planned["problems"]]
    keeps = f"keeps {topic_name}-0: it has no directory that is not drained"
    assert [message for message in said if keeps in message]
    assert planned["steps"] == []


# Throttled, killed, restarted

SLOW = {"throttle": {"mode": "Fixed", "rate": "1Mi"}, "maxMovesPerBroker": 1}
RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


class Drain:
    """A topic of one partition on brokers 1 and 2, whose directory on broker 1 is drained."""

    def __init__(self, sandbox: Sandbox, topic: str, folder: Path, mib: int) -> None:
        self.sandbox, self.folder = sandbox, folder
        self.replica = TopicPartition(topic, 0)
        create(sandbox, topic, (1, 2))
        traffic.fill(sandbox.bootstrap, {topic: 1}, mib * MIB)
        log = until(lambda: self.logs().current.get(self.replica), "its directory", 30)
        self.source = log.log_dir
        pool = {"brokers": {"ids": [1, 2]}, "balance": {}}
        drain = {"drainLogDirs": [{"broker": 1, "path": self.source}]}
        # What other tests left in the directory is not ours.
        topics = {topic: {"pool": "p", "partitions": 1, "replicationFactor": 2}}
        declare(folder, sandbox, {"p": {**pool, **drain}}, topics, execution=SLOW)

    def logs(self) -> BrokerLogs:
        with BrokerClient.open(self.sandbox.bootstrap.split(",")) as brokers:
            return brokers.sizes([1]).logs.get(1, BrokerLogs({}, {}))

    @property
    def copied(self) -> int:
        future = self.logs().future.get(self.replica)
        return 0 if future is None else future.size_bytes

    def apply(self, output: Path) -> subprocess.Popen[bytes]:
        with output.open("ab") as file:
            words = command("apply", "-f", self.folder, "--yes")
            return subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT)

    def status(self) -> str:
        return " ".join(run("status", "-f", self.folder).out.split())

    def assert_done(self) -> None:
        assert self.logs().current[self.replica].log_dir != self.source
        assert self.logs().future == {}
        assert_nothing_left(self.sandbox, self.replica.topic)
        with kazoo(self.sandbox.connect) as zookeeper:
            records = "/poolkeeper/records/throttles"
            assert not zookeeper.exists(records) or zookeeper.get_children(records) == []


@pytest.mark.parametrize("version", ["3.9.2", *soak("2.8.2", "2.0.1")])
def test_a_throttled_copy_goes_on_after_a_kill_and_leaves_nothing(
    kafka, topic_name: str, tmp_path: Path, version: str
):
    drain = Drain(kafka(version), topic_name, tmp_path / "manifests", 16)
    output = tmp_path / "output"
    process = drain.apply(output)
    try:
        until(lambda: drain.copied or process.poll() is not None, "a part is copied")
        copied = drain.copied
        assert copied, output.read_text()
        with kazoo(drain.sandbox.connect) as zookeeper:
            rate = body(zookeeper, "/config/brokers/1")["config"][RATE]
        status = drain.status()
    finally:
        process.kill()
        process.wait(60)
    assert rate == str(MIB)
    assert copied < 16 * MIB
    assert "moving between log directories" in status, status
    assert "directories 0 of 1 done, 1 in flight" in status, status
    assert "throttle 1 MiB/s a broker" in status, status
    applied = run("apply", "-f", drain.folder, "--yes")
    assert_done(applied)
    drain.assert_done()
    last = run("history", "-f", drain.folder, "--output", "json")
    [*_, entry] = json.loads(last.out)["runs"] if "runs" in last.out else json.loads(last.out)
    assert (entry["moves"], entry["movesDone"], entry["ending"]) == (1, 1, "finished")


@pytest.mark.soak
@pytest.mark.parametrize("version", ["3.9.2", "2.8.2", "2.0.1"])
def test_a_copy_goes_on_where_it_was_after_its_broker_was_killed(
    fresh_kafka, tmp_path: Path, version: str
):
    drain = Drain(fresh_kafka(version, brokers=2), "t", tmp_path / "manifests", 24)
    output = tmp_path / "output"
    process = drain.apply(output)
    try:
        before = until(lambda: drain.copied > 4 * MIB and drain.copied, "a part is copied", 60)
        drain.sandbox.kill(1)
        drain.sandbox.start_broker(1)
        after = until(lambda: drain.copied, "the copy goes on", 60)
        process.wait(120)
    finally:
        process.kill()
        process.wait(60)
    assert before <= after + MIB
    assert process.returncode == 0, output.read_text()
    drain.assert_done()


@pytest.mark.soak
@pytest.mark.parametrize("version", ["3.9.2", "2.8.2", "2.0.1"])
def test_a_copy_in_flight_is_cancelled_by_a_rollback(
    kafka, topic_name: str, tmp_path: Path, version: str
):
    drain = Drain(kafka(version), topic_name, tmp_path / "manifests", 16)
    process = drain.apply(tmp_path / "output")
    try:
        until(lambda: drain.copied, "a part is copied", 60)
        assert run("rollback", "-f", drain.folder).code == 0
        process.wait(60)
    finally:
        process.kill()
        process.wait(60)
    assert drain.logs().current[drain.replica].log_dir == drain.source
    assert drain.logs().future == {}
    assert_nothing_left(drain.sandbox, topic_name)


# A directory that fails


@pytest.mark.soak
@pytest.mark.parametrize("version", ["3.9.2", "2.8.2", "2.0.1"])
def test_a_failed_directory_is_evacuated_where_heal_allows(
    fresh_kafka, tmp_path: Path, version: str
):
    sandbox = fresh_kafka(version)
    create(sandbox, "t", *[(1, 2)] * PARTITIONS)
    traffic.fill(sandbox.bootstrap, {"t": PARTITIONS}, MIB)
    before = where(sandbox, "t")[1]
    failed = sandbox.log_dirs(1)[0]
    lost = [p for p, path in before.items() if path == str(failed)]
    shutil.rmtree(failed)
    failed.write_text("no directory\n")
    traffic.fill(sandbox.bootstrap, {"t": PARTITIONS}, MIB // 4)
    until(lambda: len(where(sandbox, "t")[1]) == PARTITIONS - len(lost), "it fails", 60)
    folder = tmp_path / "manifests"

    def declared(**heal: object) -> None:
        pools = {"p": {"brokers": {"ids": [1, 2, 3]}, "balance": {}}}
        topics = {"t": {"pool": "p", "partitions": PARTITIONS, "replicationFactor": 2}}
        declare(folder, sandbox, pools, topics, heal=heal)

    declared(enabled=False)
    planned = run("plan", "-f", folder)
    said = " ".join(planned.out.split())
    assert f"log directory {failed} of broker 1 has failed" in said
    assert "set spec.heal.enabled of the KafkaCluster to true" in said
    assert planned.code == 4
    declared(enabled=True, after="1s")
    run("apply", "-f", folder, "--yes")
    until(lambda: run("plan", "-f", folder).code == 2, "it counts as lost", 30)
    applied = run("apply", "-f", folder, "--yes")
    assert applied.code == 4, applied.err
    assert "until then the broker is given no replicas" in " ".join(applied.err.split())
    for number, replicas in enumerate(assignment(sandbox, "t")):
        assert set(replicas) == ({2, 3} if number in lost else {1, 2})
    for partition in seen(sandbox, "t").topics["t"].partitions:
        assert set(partition.isr) == set(partition.replicas)
    assert_nothing_left(sandbox, "t")


def spoil_segment(directory: str, replica: TopicPartition) -> None:
    """Spoil some bytes in the middle of the only segment of a log, as a bad disk does."""
    [segment] = Path(directory, f"{replica.topic}-{replica.partition}").glob("*.log")
    with segment.open("r+b") as file:
        file.seek(segment.stat().st_size // 2)
        file.write(b"\xff" * 4096)


@pytest.mark.soak
@pytest.mark.parametrize("version", ["3.9.2", "2.8.2", "2.0.1"])
def test_a_copy_that_meets_a_damaged_segment_is_given_up(
    fresh_kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
):
    monkeypatch.setattr(stalled_copies, "STALLED_MS", 3000)
    drain = Drain(fresh_kafka(version, brokers=2), "t", tmp_path / "manifests", 8)
    spoil_segment(drain.source, drain.replica)
    applied = run("apply", "-f", drain.folder, "--yes")
    assert "has ceased to copy t-0 to another log directory" in applied.out, applied.err
    assert "t-0 was not moved between log directories" in " ".join(applied.err.split())
    assert applied.code == 4
    assert drain.logs().current[drain.replica].log_dir == drain.source
    until(lambda: drain.logs().future == {}, "its copy is gone")
    assert_nothing_left(drain.sandbox, "t")
