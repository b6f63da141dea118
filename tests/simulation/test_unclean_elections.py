"""Unclean elections: only where the topic asks for them, approved, and said aloud."""

import pytest

from builders import cluster_spec, pool_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.unclean_elections import KEY
from poolkeeper.reconcile.authority import Authority
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor

T0 = TopicPartition("t", 0)


def desired(**config: str) -> Desired:
    topic = TopicSpec("t", "default", "t", "p", 1, 2, config={k: v for k, v in config.items()})
    return Desired(cluster_spec("c"), (pool_spec("p", 1, 2, 3, cluster="c"),), (topic,))


def without_leader(kafka: str) -> SimulatedCluster:
    """Broker 2 is away while broker 1 takes records; then broker 1 dies, and broker 2 returns."""
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka=kafka))
    cluster.start(first=3)
    cluster.create_topic("t", [1, 2])
    cluster.simulation.kill(2)
    cluster.clock.advance(10_000)
    cluster.simulation.kill(1)
    cluster.clock.advance(10_000)
    cluster.simulation.start_broker(2)
    cluster.clock.advance(10_000)
    assert cluster.state("t")[:2] == (-1, [1])
    return cluster


@pytest.mark.parametrize("kafka", ["2.0.1", "2.3.1", "2.8.2", "3.9.2"])
def test_one_is_approved_and_said_aloud(kafka: str) -> None:
    cluster = without_leader(kafka)
    executor = Executor(cluster, desired(**{KEY: "true"}), Authority(steps=True))
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.APPROVAL_REQUIRED)
    executor.finish()
    asked = executor.seen[-1].plan
    assert asked is not None
    (problem,) = [p for p in asked.problems if p.reason is ProblemReason.UNCLEAN_ELECTION]
    assert problem.topic == "t"
    assert cluster.state("t")[0] == -1
    executor.authority = Authority(steps=True, plans=frozenset({asked.hash}))
    if kafka == "2.0.1":
        cluster.clock.after(20_000, lambda: cluster.delete("/controller"))
    executor.at_rest = lambda outcome: bool(said(outcome))
    executor.finish(passes_max=60)
    assert said(executor.seen[-1]) == [
        Action(ActionKind.UNCLEAN_ELECTION, partitions=(T0,)),
    ]
    assert cluster.state("t")[:2] == (2, [2])


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_none_happens_where_nobody_asks(kafka: str) -> None:
    cluster = without_leader(kafka)
    executor = Executor(cluster, desired(), at_rest=lambda o: o.last_observation is not None)
    for _ in range(3):
        executor.finish()
        cluster.fail_over()
    assert cluster.state("t")[:2] == (-1, [1])
    assert not any(said(outcome) for outcome in executor.seen)


@pytest.mark.parametrize("kafka", ["2.8.2", "3.9.2"])
def test_one_of_a_half_copied_target_is_said_aloud(kafka: str) -> None:
    """All sources die in the middle of a move, and a target leads with what it has."""
    network = 1024 * 1024
    spec = SimulationSpec(spread(4), kafka=kafka, network_bytes_per_s=network)
    cluster = SimulatedCluster(spec)
    cluster.start(first=3)
    cluster.create_topic("t", [1, 2])
    cluster.simulation.set_size("t", 0, 60 * network)
    topic = TopicSpec("t", "default", "t", "p", 1, 2, config={KEY: "true"})
    pools = (pool_spec("p", 3, 4, cluster="c"),)
    executor = Executor(cluster, Desired(cluster_spec("c"), pools, (topic,)))

    def kill_sources() -> None:
        assert cluster.state("t")[1] == [1, 2], "nothing has arrived"
        for broker in (1, 2):
            cluster.simulation.kill(broker)

    cluster.clock.after(20_000, kill_sources)
    executor.finish()
    assert [action for seen in executor.seen for action in said(seen)] == [
        Action(ActionKind.UNCLEAN_ELECTION, partitions=(T0,)),
    ]
    assert set(cluster.replicas("t")["0"]) == {3, 4}


def said(outcome: Outcome) -> list[Action]:
    return [action for action in outcome.did if action.kind is ActionKind.UNCLEAN_ELECTION]
