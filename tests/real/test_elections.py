"""Elections of preferred leaders that real brokers leave undone, and what ends that."""

import json

import pytest

from conditions import until
from matrices import soak
from poolkeeper.reconcile.decide import steps
from real.support import assignment, create, declare, kazoo, run

pytestmark = pytest.mark.long
ELECTION = "/admin/preferred_replica_election"


@pytest.mark.parametrize("version", [*soak("2.0.1")])
def test_another_controller_ends_an_election_of_a_partition_that_is_gone(
    fresh_kafka, topic_name, tmp_path, version, monkeypatch
):
    monkeypatch.setattr(steps, "ELECTION_PATIENCE_MS", 3_000)
    sandbox = fresh_kafka(version, brokers=2)
    create(sandbox, topic_name, (1, 2))
    sandbox.kill(1)
    sandbox.start_broker(1)
    topics = {topic_name: {"pool": "p", "partitions": 1, "replicationFactor": 2}}
    pools = {"p": {"brokers": {"ids": [1, 2]}}}
    with kazoo(sandbox.connect) as zookeeper:
        state = f"/brokers/topics/{topic_name}/partitions/0/state"

        def leads() -> tuple[int, int]:
            found = json.loads(zookeeper.get(state)[0])
            return found["leader"], len(found["isr"])

        until(lambda: leads() == (2, 2), "broker 1 is back in sync, and broker 2 leads", 60)
        gone = {"version": 1, "partitions": [{"topic": "gone", "partition": 0}]}
        zookeeper.create(ELECTION, json.dumps(gone).encode())
        remedies = {"remedies": {"allowControllerFailover": True}}
        declare(tmp_path, sandbox, pools, topics, execution=remedies)
        ran = run("apply", "-f", tmp_path, "--yes")
        assert ran.code == 0, ran.out + ran.err
        assert "leaves a request for preferred leader elections undone" in ran.out
        until(lambda: leads() == (1, 2), "the preferred leader leads", 30)
        assert zookeeper.exists(ELECTION) is None
    assert assignment(sandbox, topic_name) == [(1, 2)]
