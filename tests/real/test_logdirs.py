"""Replicas between the log directories of real brokers."""

import json
from pathlib import Path

import pytest

import traffic
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.model.topology import TopicPartition
from poolkeeper.sandbox import Sandbox
from real.support import Ran, create, declare, run

PARTITIONS = 4
EVEN = {"balance": {"logDirs": {"percent": 20}}}


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


@pytest.mark.parametrize("version", ["3.9.2", "2.0.1"])
def test_a_drained_directory_gets_empty_and_the_rest_is_evened_out(
    kafka, topic_name: str, tmp_path: Path, version: str
):
    sandbox = kafka(version)
    create(sandbox, topic_name, *[(1, 2)] * PARTITIONS)
    traffic.fill(sandbox.bootstrap, {topic_name: PARTITIONS}, 2 * 1024 * 1024)
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
    evened = where(sandbox, topic_name)
    assert sorted(evened[1].values()) == sorted([d(sandbox, 1, 0), d(sandbox, 1, 1)] * 2)
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
