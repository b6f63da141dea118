"""Everything a Topic can say, once, on an old Kafka and on one before 3.0, from manifests."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import traffic
from conditions import until
from matrices import soak
from poolkeeper.model.topology import Topic
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from real.support import (
    MIB,
    REQUEST,
    RUN,
    assert_nothing_left,
    command,
    declare,
    kazoo,
    run,
    seen,
    topic_config,
)

POOLS = {"left": {"brokers": {"ids": [1, 2, 3]}}, "right": {"brokers": {"ids": [4, 5]}}}
FAST = {"throttle": {"mode": "Fixed", "rate": "50Mi"}}
SLOW = {"maxMoves": 2, "throttle": {"mode": "Fixed", "rate": "1Mi"}}


@dataclass
class Declared:
    """A cluster with its manifests, edited as people do."""

    sandbox: Sandbox
    folder: Path
    topics: dict[str, dict[str, object]] = field(default_factory=dict)
    left: dict[str, object] = field(default_factory=dict)
    execution: dict[str, object] = field(default_factory=lambda: FAST)

    def say(self, topic: str, **said: object) -> None:
        self.topics[topic] = self.topics.get(topic, {}) | said
        self.write()

    def write(self) -> None:
        pools = POOLS | {"left": POOLS["left"] | self.left}
        declare(self.folder, self.sandbox, pools, self.topics, execution=self.execution)

    def apply(self, *options: str) -> None:
        done = run("apply", "-f", self.folder, "--yes", *options)
        assert done.code == 0, done.out + done.err

    def live(self, topic: str) -> Topic:
        return seen(self.sandbox, topic).topics[topic]

    def brokers_of(self, topic: str) -> set[int]:
        return {broker for p in self.live(topic).partitions for broker in p.replicas}


@pytest.fixture(params=soak("2.0.1", "2.8.2"))
def declared(request, tmp_path):
    with Sandbox.start(SandboxSpec(brokers=spread(5, ""), kafka=request.param)) as sandbox:
        yield Declared(sandbox, tmp_path)


def test_the_whole_way_of_two_topics(declared):
    created_with_their_config(declared)
    configs_reach_the_brokers(declared)
    partitions_are_added(declared)
    replicas_grow_and_shrink(declared)
    a_topic_moves_to_another_pool(declared)
    a_broker_is_drained(declared)
    a_stopped_run_is_taken_up(declared)
    a_topic_is_deleted_only_with_prune(declared)
    assert_nothing_left(declared.sandbox, "orders")


def created_with_their_config(declared: Declared) -> None:
    config = {"retention.ms": "100000", "segment.ms": "100000"}
    declared.say("orders", pool="left", partitions=3, replicationFactor=2, config=config)
    declared.say("logs", pool="left", partitions=2, replicationFactor=1, deletionPolicy="Delete")
    declared.apply()
    assert declared.live("orders").config == config
    for topic, partitions, size in (("orders", 3, 2), ("logs", 2, 1)):
        found = declared.live(topic).partitions
        assert [len(p.replicas) for p in found] == [size] * partitions
        assert [p.leader for p in found] == [p.replicas[0] for p in found]
        assert declared.brokers_of(topic) <= {1, 2, 3}


def configs_reach_the_brokers(declared: Declared) -> None:
    declared.say("orders", config={"retention.ms": "200000", "max.message.bytes": "2000000"})
    declared.apply()
    wanted = {"retention.ms": "200000", "max.message.bytes": "2000000"}

    def told() -> dict[str, str | None]:
        config = topic_config(declared.sandbox, "orders")
        return {
            key: value
            for key, (value, source) in config.items()
            if source == "DYNAMIC_TOPIC_CONFIG"
        }

    until(lambda: told() == wanted, "the brokers tell the new config")


def partitions_are_added(declared: Declared) -> None:
    before = [p.replicas for p in declared.live("orders").partitions]
    declared.say("orders", partitions=5)
    declared.apply()
    found = declared.live("orders").partitions
    assert [p.replicas for p in found[:3]] == before
    assert [p.leader for p in found] == [p.replicas[0] for p in found]
    assert len(found) == 5


def replicas_grow_and_shrink(declared: Declared) -> None:
    for size in (3, 2):
        declared.say("logs", replicationFactor=size)
        declared.apply()
        found = declared.live("logs").partitions
        assert [(len(p.replicas), len(p.isr)) for p in found] == [(size, size)] * 2


def a_topic_moves_to_another_pool(declared: Declared) -> None:
    traffic.fill(declared.sandbox.bootstrap, {"orders": 5}, MIB)
    clients = traffic.Traffic(declared.sandbox.bootstrap, {"orders": 5}, records_per_s=25)
    with clients:
        declared.say("orders", pool="right")
        declared.apply()
        tally = clients.finish()
    assert declared.brokers_of("orders") == {4, 5}
    assert (tally.problems, tally.received) == ([], tally.acknowledged)


def a_broker_is_drained(declared: Declared) -> None:
    declared.left = {"drain": [3]}
    declared.write()
    declared.apply()
    assert declared.brokers_of("logs") == {1, 2}


def a_stopped_run_is_taken_up(declared: Declared) -> None:
    declared.left = {}
    declared.execution = SLOW
    declared.say("orders", pool="left")
    folder = declared.folder
    with (
        kazoo(declared.sandbox.connect) as zookeeper,
        subprocess.Popen(
            command("apply", "-f", folder, "--yes"), stderr=subprocess.PIPE, text=True
        ) as applying,
    ):
        until(lambda: zookeeper.exists(REQUEST), "a request", timeout_s=60)
        assert zookeeper.exists(RUN)
        stopped = run("stop", "-f", folder)
        assert stopped.code == 0, stopped.err
        said = applying.communicate(timeout=60)[1]
    assert applying.returncode == 1
    assert f"stopped before its end: `poolkeeper apply -f {folder}` plans what is left" in said
    moved = [p for p in declared.live("orders").partitions if not set(p.replicas) & {4, 5}]
    assert 0 < len(moved) < 5
    assert_nothing_left(declared.sandbox, "logs")
    declared.execution = FAST
    declared.write()
    declared.apply()
    assert declared.brokers_of("orders") <= {1, 2, 3}


def a_topic_is_deleted_only_with_prune(declared: Declared) -> None:
    del declared.topics["logs"]
    declared.write()
    declared.apply()
    assert "logs" in seen(declared.sandbox, "logs").topics
    declared.apply("--prune")
    left = seen(declared.sandbox, "logs", "orders")
    assert (set(left.topics), left.deleting) == ({"orders"}, set())
