"""The case that the project began with, on nine real brokers, from manifests by the command line.

Nine topics of nine partitions, spread over all brokers by Kafka itself, move into three pools of
three brokers; then a broker is drained and a topic changes its pool, by an edit of one line each.
Clients read and write all the while.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

import traffic
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from real.support import assert_nothing_left, declare, run, seen
from traffic import Tally

# The demo (`test_demo`) shows the same to everybody, in `make test`.
pytestmark = pytest.mark.soak

PARTITIONS = 9
POOL_OF = {f"t{n}": f"pool{(n - 1) // 3 + 1}" for n in range(1, 10)}
BROKERS = {"pool1": [1, 2, 3], "pool2": [4, 5, 6], "pool3": [7, 8, 9]}
THROTTLE = {"throttle": {"mode": "Fixed", "rate": "50Mi"}}


@dataclass
class Case:
    """The cluster and its manifests, with the clients of the change that was made last."""

    sandbox: Sandbox
    folder: Path
    tally: Tally | None = None

    def declare(self, pool_of: Mapping[str, str], **pool1: object) -> None:
        pools = {name: {"brokers": {"ids": ids}} for name, ids in BROKERS.items()}
        pools["pool1"] |= pool1
        topics = {
            topic: {"pool": pool, "partitions": PARTITIONS, "replicationFactor": 1}
            for topic, pool in pool_of.items()
        }
        declare(self.folder, self.sandbox, pools, topics, execution=THROTTLE)

    def apply(self) -> None:
        """Plan and apply, with clients at work; then there is nothing more to do."""
        assert run("plan", "-f", self.folder).code == 2
        clients = traffic.Traffic(self.sandbox.bootstrap, dict.fromkeys(POOL_OF, PARTITIONS))
        with clients:
            done = run("apply", "-f", self.folder, "--yes")
            assert done.code == 0, done.out + done.err
            self.tally = clients.finish()
        again = run("plan", "-f", self.folder)
        assert again.code == 0, again.out

    def brokers_of(self, topic: str) -> set[int]:
        partitions = seen(self.sandbox, topic).topics[topic].partitions
        return {broker for partition in partitions for broker in partition.replicas}

    def leaders(self) -> Counter:
        """How many partitions each broker leads; every partition has a leader."""
        topics = seen(self.sandbox, *POOL_OF).topics.values()
        return Counter(partition.leader for topic in topics for partition in topic.partitions)

    def assert_nobody_noticed(self) -> None:
        assert self.tally.problems == []
        assert self.tally.received == self.tally.acknowledged > 0
        assert_nothing_left(self.sandbox, *POOL_OF)


@pytest.fixture(scope="module")
def case(tmp_path_factory) -> Iterator[Case]:
    """The topics have moved into their pools."""
    with Sandbox.start(SandboxSpec(brokers=spread(9))) as sandbox:
        found = Case(sandbox, tmp_path_factory.mktemp("manifests"))
        spread_by_kafka(sandbox)
        assert {len(found.brokers_of(topic)) for topic in POOL_OF} == {9}
        found.declare(POOL_OF)
        found.apply()
        yield found


def spread_by_kafka(sandbox: Sandbox) -> None:
    """Let the brokers place the topics, and put data into them."""
    admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap.split(","))
    admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in POOL_OF])
    admin.close()
    traffic.fill(sandbox.bootstrap, dict.fromkeys(POOL_OF, PARTITIONS), 256 * 1024)


def test_topics_move_into_their_pools_and_clients_notice_nothing(case):
    assert {topic: case.brokers_of(topic) for topic in POOL_OF} == {
        topic: set(BROKERS[pool]) for topic, pool in POOL_OF.items()
    }
    assert case.leaders() == dict.fromkeys(range(1, 10), 9)
    case.assert_nobody_noticed()


def test_a_line_drains_a_broker_and_a_line_moves_a_topic_to_another_pool(case):
    case.declare(POOL_OF, drain=[3])
    case.apply()
    leaders = case.leaders()
    assert (leaders[3], sorted((leaders[1], leaders[2]))) == (0, [13, 14])
    assert {n: leaders[n] for n in range(4, 10)} == dict.fromkeys(range(4, 10), 9)
    case.assert_nobody_noticed()

    case.declare(POOL_OF | {"t9": "pool1"}, drain=[3])
    case.apply()
    assert case.brokers_of("t9") == {1, 2}
    leaders = case.leaders()
    assert {n: leaders[n] for n in range(1, 10)} == {
        **{1: 18, 2: 18, 3: 0},
        **dict.fromkeys((4, 5, 6), 9),
        **dict.fromkeys((7, 8, 9), 6),
    }
    case.assert_nobody_noticed()
