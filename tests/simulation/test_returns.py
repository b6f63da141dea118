"""Moves in flight are cancelled for what is declared, or for brokers that are gone for good."""

from dataclasses import replace

import pytest

from matrices import in_part
from poolkeeper.model.execution.outcomes import State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Heal, Mode
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.asked import AskedBrokers
from simulation.executors import Executor, converged
from simulation.returning import (
    ALLOWED,
    FIRST,
    LISTS,
    MB,
    RUN,
    VERSIONS,
    WITH_API,
    assert_back,
    assert_lawful,
    desired,
    in_flight,
    moving,
    stopped,
)

DROPPED = [
    (kafka, dead, by) for kafka in VERSIONS for dead in (4, 5) for by in ("zookeeper", "brokers")
]


@pytest.mark.parametrize(("kafka", "dead", "by"), in_part(DROPPED, 3))
def test_a_target_that_is_gone_and_drained_is_dropped(kafka: str, dead: int, by: str) -> None:
    asked = by == "brokers"
    cluster, executor = moving(kafka, ALLOWED, dead)
    executor.desired = desired(ALLOWED, 1, 2, 3, 4, 5, drain=(dead,))
    executor.brokers, executor.at_rest = AskedBrokers(cluster) if asked else None, converged
    executor.finish()
    assert_lawful(cluster)
    lists = cluster.replicas("t").values()
    assert all(dead not in ids and len(ids) == 2 for ids in lists)
    assert not cluster.exists(RUN)
    assert cluster.epoch() == (1 if asked and kafka in WITH_API else 2)


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_a_target_that_heal_counts_as_gone_is_dropped(kafka: str) -> None:
    cluster, executor = moving(kafka, ALLOWED, dead=5)
    heal = Heal(enabled=True, after_s=60, max_brokers=1)
    executor.desired = desired(ALLOWED, 4, 5, heal=heal)
    executor.at_rest = lambda _: not cluster.exists(RUN)
    executor.finish()
    assert_lawful(cluster)
    assert all(5 not in ids for ids in cluster.replicas("t").values())


@pytest.mark.parametrize("given_up", ["heal", "drain"])
@pytest.mark.parametrize("kafka", in_part(VERSIONS, 2))
def test_a_replica_that_a_move_keeps_and_that_is_gone_keeps_no_run_back(
    kafka: str, given_up: str
) -> None:
    """Broker 1 stays where it is when it dies: no controller ends a move without it."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start(first=4)
    cluster.create_topic("t", *LISTS)
    for partition in range(4):
        cluster.simulation.set_size("t", partition, 20 * MB)
    executor = Executor(cluster, desired(ALLOWED, 1, 3, 4), at_rest=in_flight)
    executor.brokers = AskedBrokers(cluster)
    executor.finish()
    assert any(1 in ids and 2 in ids for ids in cluster.replicas("t").values())
    cluster.simulation.kill(1)
    cluster.clock.advance(8_000)
    heal = Heal(enabled=True, after_s=60, max_brokers=1)
    drained = desired(ALLOWED, 1, 3, 4, drain=(1,))
    executor.desired = drained if given_up == "drain" else desired(ALLOWED, 1, 3, 4, heal=heal)
    executor.at_rest = converged
    executor.finish()
    cluster.settle()
    assert all(set(ids) == {3, 4} for ids in cluster.replicas("t").values())
    assert not cluster.exists(RUN)


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_mode_roll_back_returns_the_stage_and_the_run_can_go_on(kafka: str) -> None:
    cluster, executor = moving(kafka, ALLOWED)
    rolling = desired(ALLOWED, 4, 5, mode=Mode.ROLL_BACK)
    executor.desired, before = rolling, executor.authority
    executor.authority = replace(before, paused=True, steps=False)
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.PAUSED)
    executor.finish()
    assert_lawful(cluster)
    assert cluster.replicas("t") == FIRST
    assert cluster.exists(RUN)
    told = executor.seen[-1].progress
    assert told is not None
    assert told.moves_in_flight == 0
    executor.desired, executor.authority = desired(ALLOWED, 4, 5), before
    executor.at_rest = converged
    executor.finish()
    assert {b for ids in cluster.replicas("t").values() for b in ids} == {4, 5}


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_a_stage_over_its_deadline_returns_and_is_not_begun_again(kafka: str) -> None:
    late = replace(ALLOWED, stage_deadline_s=20, roll_back_on_deadline=True)
    cluster, executor = moving(kafka, late)
    executor.at_rest = stopped
    executor.finish()
    assert_back(cluster)
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.STOPPED_BY_PERSON)
    executor.finish()


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_move_whose_old_broker_is_dead_too_blocks_nothing(kafka: str) -> None:
    """Up to 2.3 its list cannot go back: it is let go, and the next plan takes it from there."""
    cluster = SimulatedCluster(SimulationSpec(spread(5), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1, 2], [2, 1], [2, 3], [3, 2])
    cluster.simulation.kill(1)
    cluster.clock.advance(6_000)
    executor = Executor(cluster, desired(ALLOWED, 1, 2, 3, 4, drain=(1,)), at_rest=in_flight)
    cluster.client.exists(REQUEST, lambda _: cluster.simulation.kill(4))
    executor.finish()
    cluster.clock.advance(8_000)
    executor.desired = desired(ALLOWED, 1, 2, 3, 4, 5, drain=(1, 4))
    executor.at_rest = converged
    executor.finish()
    cluster.settle()
    assert {b for ids in cluster.replicas("t").values() for b in ids} <= {2, 3, 5}
    assert all(len(ids) == 2 for ids in cluster.replicas("t").values())
    assert not cluster.exists(RUN)


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_a_confirmed_plan_whose_target_is_gone_is_given_up(kafka: str) -> None:
    heal = Heal(enabled=True, after_s=60, max_brokers=1)
    cluster, executor = moving(kafka, ALLOWED, dead=5)
    executor.desired = desired(ALLOWED, 4, 5, heal=heal)
    executor.agreed = executor.seen[-1].plan
    executor.at_rest = lambda outcome: outcome.state is State.STOPPED
    executor.finish()
    assert_lawful(cluster)
    assert not cluster.exists(RUN)
