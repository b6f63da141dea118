"""Brokers check configs before they are written, and start with what was written."""

import json

import pytest

from conditions import until
from matrices import soak
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.model.topic_config.config_check import ConfigCheck
from real.support import create, declare, kazoo, run, seen, topic_config

pytestmark = pytest.mark.long

POOL = {"p": {"brokers": {"ids": [1]}}}
LISTS = ((1, 2), (2, 1))


@pytest.mark.parametrize("version", ["3.9.2", "2.0.1", *soak("2.8.2", "2.3.1")])
def test_brokers_say_what_they_would_refuse_and_change_nothing(kafka, topic_name, version):
    sandbox = kafka(version)
    create(sandbox, topic_name, (1, 2))
    fine, bad = {"flush.ms": "1000", "cleanup.policy": "compact"}, {"segment.ms": "0"}
    new = {
        f"{topic_name}-{name}": config
        for name, config in {
            "fine": fine,
            "plain": {},
            "bad": bad,
            "unknown": {"no.such.key": "1"},
            "mixed": fine | {"min.insync.replicas": "0"},
        }.items()
    }
    with BrokerClient.open(sandbox.bootstrap.split(",")) as brokers:
        refused = brokers.refused_configs([ConfigCheck(n, c, LISTS) for n, c in new.items()], 60)
        assert {name.rpartition("-")[2] for name in refused} == {"bad", "unknown", "mixed"}
        assert "segment.ms" in refused[f"{topic_name}-bad"]
        assert "no.such.key" in refused[f"{topic_name}-unknown"]
        changes = {
            json.dumps(config): brokers.refused_configs([ConfigCheck(topic_name, config)], 60)
            for config in (fine, bad, {"no.such.key": "1"}, {})
        }
    assert [bool(said) for said in changes.values()] == [False, True, True, False]
    with kazoo(sandbox.connect) as zookeeper:
        found = zookeeper.get_children("/brokers/topics")
    assert [name for name in found if name.startswith(topic_name)] == [topic_name]
    assert seen(sandbox, topic_name).topics[topic_name].config == {}


@pytest.mark.parametrize("asked", [True, False], ids=["asked", "zookeeper-alone"])
@pytest.mark.parametrize("version", ["3.9.2", *soak("2.0.1", "2.8.2")])
def test_a_value_that_stops_brokers_is_one_topics_problem(
    kafka, topic_name, tmp_path, version, asked
):
    """No version is declared; the broker starts again afterwards."""
    sandbox = kafka(version, brokers=1, session_timeout_ms=6_000)
    bad, good, old, tiered = (f"{topic_name}-{name}" for name in ("bad", "good", "old", "tiered"))
    create(sandbox, old, (1,))
    counts = {"pool": "p", "partitions": 1, "replicationFactor": 1}
    configs = {
        bad: {"segment.ms": "0"},
        good: {"retention.ms": "5000"},
        old: {"segment.ms": "0", "flush.ms": "5"},
    }
    reasons = {bad: "InvalidConfig", old: "InvalidConfig"}
    if asked and version == "3.9.2":
        configs[tiered] = {"remote.storage.enable": "true"}
        reasons[tiered] = "ConfigRefused"
    topics = {name: counts | {"config": config} for name, config in configs.items()}
    declare(tmp_path, sandbox if asked else sandbox.connect, POOL, topics)
    planned = run("plan", "-f", tmp_path, "--output", "json")
    problems = {p["topic"]: p["reason"] for p in json.loads(planned.out)["problems"] if p["topic"]}
    assert (planned.code, problems) == (2, reasons)
    done = run("apply", "-f", tmp_path, "--yes", "--output", "json")
    undone = {each["topic"]: each["reason"] for each in json.loads(done.out)["undone"]}
    assert (done.code, undone) == (4, reasons)
    found = {name: topic.config for name, topic in seen(sandbox, *configs).topics.items()}
    assert found == {good: configs[good], old: {}}
    sandbox.kill(1)
    sandbox.await_gone(1)
    sandbox.start_broker(1)
    until(lambda: topic_config(sandbox, good).get("retention.ms"), "the broker is back")
