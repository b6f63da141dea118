"""Moves that keep a replica on a dead broker: no controller ends them before it is back."""

import pytest

import builders
from builders import pool_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import TopicSpec
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.asked import AskedBrokers
from simulation.executors import Executor, converged
from simulation.returning import ALLOWED

VERSIONS = ["2.0.1", "3.9.2"]


def desired(partitions: int, factor: int) -> Desired:
    topic = TopicSpec("t", "d", "t", "p", partitions=partitions, replication_factor=factor)
    return builders.desired(
        pool_spec("p", 1, 2, 3, 4, 5, cluster="c"), topic, name="c", execution=ALLOWED
    )


def without_broker_1(kafka: str, lists: list[list[int]], factor: int) -> Executor:
    cluster = SimulatedCluster(SimulationSpec(spread(5), kafka=kafka))
    cluster.start(first=5)
    cluster.create_topic("t", *lists)
    cluster.simulation.kill(1)
    cluster.clock.advance(8_000)
    wanted = desired(len(lists), factor)
    return Executor(cluster, wanted, brokers=AskedBrokers(cluster))


def settle_for(executor: Executor, duration_ms: int) -> None:
    clock = executor.cluster.clock
    end_ms = clock.now_ms() + duration_ms
    executor.at_rest = lambda _: clock.now_ms() > end_ms
    executor.finish(passes_max=2_000)


def finish_with_broker_1(executor: Executor) -> None:
    executor.cluster.simulation.start_broker(1)
    executor.at_rest = converged
    executor.finish(passes_max=2_000)


@pytest.mark.parametrize("kafka", VERSIONS)
def test_what_is_for_balance_alone_is_not_begun_and_all_else_goes_on(kafka: str) -> None:
    lists = [[1, 2]] * 8 + [[3, 4]] * 6
    executor = without_broker_1(kafka, lists, factor=2)
    settle_for(executor, 300_000)
    outcome = executor.seen[-1]
    assert has(outcome.waits, WaitReason.TARGET_NOT_LIVE)
    assert not has(outcome.waits, WaitReason.STAGE_IN_FLIGHT)
    assert not executor.cluster.exists(REQUEST)
    now = executor.cluster.replicas("t")
    assert [now[str(p)] for p in range(8)] == lists[:8]
    assert any(5 in now[str(p)] for p in range(8, 14))
    finish_with_broker_1(executor)
    assert any(5 in executor.cluster.replicas("t")[str(p)] for p in range(8))


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_dead_broker_that_replicas_are_added_beside_is_named(kafka: str) -> None:
    executor = without_broker_1(kafka, [[1, 2], [1, 2]], factor=3)
    settle_for(executor, 120_000)
    assert all(len(ids) == 3 for ids in executor.cluster.replicas("t").values())
    (told,) = (w for w in executor.seen[-1].waits if w.reason is WaitReason.BROKER_NOT_LIVE)
    assert (told.brokers, len(told.partitions)) == ((1,), 2)
    finish_with_broker_1(executor)
