"""One replica at a time, from drained brokers of which one dies: it leaves first, or is waited for.

No controller ends a step whose list has a broker that is not live.
"""

from dataclasses import replace

import pytest

from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Heal, ReplicasAtATime
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.asked import AskedBrokers
from simulation.executors import Executor, converged
from simulation.returning import ALLOWED, MB, RUN, ask, desired, in_flight, stopped

ONE = replace(ALLOWED, replicas_at_a_time=ReplicasAtATime.ONE)
VERSIONS = ["2.0.1", "3.9.2"]
STOPPED = "/poolkeeper/stopped"
HEAL = Heal(enabled=True, after_s=60, max_brokers=1)


def leaving(kafka: str) -> tuple[SimulatedCluster, Executor]:
    """Topic t on brokers 1 and 2, which are drained, beside 3 and 4."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start(first=4)
    cluster.create_topic("t", [1, 2], [1, 2])
    for partition in range(2):
        cluster.simulation.set_size("t", partition, 20 * MB)
    executor = Executor(cluster, desired(ONE, 1, 2, 3, 4, drain=(1, 2)), at_rest=converged)
    executor.brokers = AskedBrokers(cluster)
    return cluster, executor


def kill(cluster: SimulatedCluster, broker: int) -> None:
    cluster.simulation.kill(broker)
    cluster.clock.advance(8_000)


def hanging(kafka: str) -> tuple[SimulatedCluster, Executor]:
    """The first step of both partitions, which keeps broker 1, once 1 has died."""
    cluster, executor = leaving(kafka)
    executor.at_rest = in_flight
    executor.finish()
    assert all({1, 2} < set(ids) for ids in cluster.replicas("t").values())
    kill(cluster, 1)
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.LEAVING_BROKER_NOT_LIVE)
    executor.finish()
    executor.at_rest = converged
    return cluster, executor


def assert_left(cluster: SimulatedCluster) -> None:
    cluster.settle()
    assert all(set(ids) == {3, 4} for ids in cluster.replicas("t").values())


@pytest.mark.parametrize("dead", [1, 2])
@pytest.mark.parametrize("kafka", VERSIONS)
def test_who_is_dead_when_it_begins_leaves_first(kafka: str, dead: int) -> None:
    cluster, executor = leaving(kafka)
    kill(cluster, dead)
    executor.finish()
    assert_left(cluster)
    assert not any(
        has(outcome.waits, WaitReason.LEAVING_BROKER_NOT_LIVE) for outcome in executor.seen
    )


@pytest.mark.parametrize("kafka", VERSIONS)
def test_who_restarts_is_waited_for(kafka: str) -> None:
    """To cancel the step would begin all over."""
    cluster, executor = hanging(kafka)
    cluster.simulation.start_broker(1)
    executor.finish()
    assert_left(cluster)
    did = {action.kind for outcome in executor.seen for action in outcome.did}
    assert ActionKind.MOVES_CANCELLED not in did


@pytest.mark.parametrize("kafka", VERSIONS)
def test_whom_heal_counts_as_gone_is_given_up(kafka: str) -> None:
    cluster, executor = hanging(kafka)
    executor.desired = desired(ONE, 1, 2, 3, 4, drain=(1, 2), heal=HEAL)
    executor.finish()
    assert_left(cluster)


@pytest.mark.parametrize("kafka", VERSIONS)
def test_after_a_rollback_who_is_dead_leaves_first(kafka: str) -> None:
    cluster, executor = hanging(kafka)
    ask(cluster, StopRequest(at_once=True, allow_failover=True))
    executor.at_rest = stopped
    executor.finish()
    if cluster.exists(STOPPED):  # as `resume` removes it
        cluster.delete(STOPPED)
    executor.at_rest = converged
    executor.finish()
    assert_left(cluster)


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_move_is_not_begun_that_keeps_a_broker_which_nobody_waits_for_any_more(
    kafka: str,
) -> None:
    """Nobody else can have what broker 1 had: its pool is as large as the replication factor."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start(first=4)
    cluster.create_topic("t", [1, 2], [1, 2], [1, 2], [1, 2])
    kill(cluster, 1)
    wanted = desired(ALLOWED, 1, 3, heal=replace(HEAL, after_s=10))
    executor = Executor(cluster, wanted, brokers=AskedBrokers(cluster))
    began_ms = cluster.clock.now_ms()
    executor.at_rest = lambda _: cluster.clock.now_ms() - began_ms > 300_000
    executor.finish(passes_max=1000)
    did = [action.kind for outcome in executor.seen for action in outcome.did]
    assert did.count(ActionKind.MOVES_CANCELLED) <= 1
    assert did.count(ActionKind.STAGE_REQUESTED) <= 1
    (told,) = {w for w in executor.seen[-1].waits if w.reason is WaitReason.TARGET_NOT_LIVE}
    assert told.brokers == (1,)
    assert not cluster.exists(RUN)  # whose throttles would slow for days who has to catch up
    configs = [cluster.read(f"/config/brokers/{b}")["config"] for b in (2, 3)]
    assert configs == [{}, {}]
    cluster.simulation.start_broker(1)
    executor.at_rest = converged
    executor.finish(passes_max=2000)
    assert all(set(ids) == {1, 3} for ids in cluster.replicas("t").values())
