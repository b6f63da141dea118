"""Moves in flight whose in-sync replicas all die: what is told, and how the cluster goes on."""

from dataclasses import replace

import pytest

from builders import cluster_spec, pool_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, has
from poolkeeper.model.specs import Execution, Heal, Remedies, Throttle, ThrottleMode, TopicSpec
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk.journal import runs
from simulation.executors import Executor

MB = 1_000_000
RUN = "/poolkeeper/run"
OLD = ["0.10.2.2", "1.1.1", "2.0.1", "2.3.1"]
SLOW = Execution(throttle=Throttle(ThrottleMode.FIXED, MB), max_moves=8)
ALLOWED = replace(SLOW, remedies=Remedies(allow_controller_failover=True))


def desired(execution: Execution, homes: tuple[int, ...] = (4, 5), **said) -> Desired:
    """Topic t belongs to its new brokers, u to those that it is on."""
    pools = (
        pool_spec("p", *homes, cluster="c"),
        pool_spec("q", 3, 6, cluster="c"),
        pool_spec("old", 1, 2, cluster="c"),
    )
    topics = tuple(
        TopicSpec(name, "default", name, pool, partitions=1, replication_factor=2)
        for name, pool in (("t", "p"), ("u", "q"))
    )
    return Desired(cluster_spec("c", execution=execution, **said), pools, topics)


def without_source(kafka: str, execution: Execution = SLOW) -> tuple[SimulatedCluster, Executor]:
    """Give a cluster that moves t from brokers 1 and 2, both of which die before it has arrived."""
    cluster = SimulatedCluster(SimulationSpec(spread(6), kafka=kafka))
    cluster.start(first=6)
    cluster.create_topic("t", [1, 2])
    cluster.create_topic("u", [3, 6])
    cluster.simulation.set_size("t", 0, 60 * MB)
    executor = Executor(cluster, desired(execution), at_rest=in_flight)
    executor.finish()
    assert cluster.exists(REQUEST)
    for id_ in (1, 2):
        cluster.simulation.kill(id_)
    cluster.clock.advance(10_000)
    cluster.settle()
    assert cluster.state("t")[0] == -1
    return cluster, executor


def in_flight(outcome: Outcome) -> bool:
    return has(outcome.waits, WaitReason.STAGE_IN_FLIGHT)


def waits_of(outcome: Outcome, reason: WaitReason) -> list[Wait]:
    return [wait for wait in outcome.waits if wait.reason is reason]


@pytest.mark.parametrize("kafka", [*OLD, "2.8.2", "3.9.2"])
def test_what_has_no_source_is_named_with_the_brokers_that_held_it(kafka: str) -> None:
    cluster, executor = without_source(kafka)
    executor.at_rest = lambda outcome: bool(waits_of(outcome, WaitReason.SOURCES_NOT_LIVE))
    executor.finish(passes_max=20)
    found = waits_of(executor.seen[-1], WaitReason.SOURCES_NOT_LIVE)
    assert [set(wait.brokers) <= {1, 2} and str(wait.partitions[0]) for wait in found] == ["t-0"]
    for id_ in (1, 2):
        cluster.simulation.start_broker(id_)
    executor.at_rest = lambda outcome: outcome.state is State.CONVERGED
    executor.finish()
    assert sorted(cluster.replicas("t")["0"]) == [4, 5]


@pytest.mark.parametrize("kafka", OLD)
@pytest.mark.parametrize("how", ["healed", "out-of-all-pools"])
def test_a_move_without_a_source_is_let_go_where_its_brokers_are_given_up(
    kafka: str, how: str
) -> None:
    cluster, executor = without_source(kafka, ALLOWED)
    executor.desired = given_up(ALLOWED, how)
    executor.at_rest = lambda _: not cluster.exists(RUN)
    executor.finish(passes_max=600)
    assert not cluster.exists(REQUEST)
    assert sorted(cluster.replicas("t")["0"]) == [1, 2, 4, 5]  # no copy of it is deleted
    assert_goes_on(cluster, executor)


@pytest.mark.parametrize("kafka", ["2.0.1"])
def test_what_letting_go_takes_is_told_until_it_is_allowed(kafka: str) -> None:
    cluster, executor = without_source(kafka)
    executor.desired = given_up(SLOW, "out-of-all-pools")
    executor.at_rest = lambda outcome: has(outcome.waits, WaitReason.CANCEL_NEEDS_FAILOVER)
    executor.finish(passes_max=60)
    (wait,) = waits_of(executor.seen[-1], WaitReason.CANCEL_NEEDS_FAILOVER)
    assert set(wait.brokers) <= {1, 2}
    assert wait.brokers
    assert cluster.epoch() == 1


@pytest.mark.parametrize("kafka", OLD)
def test_a_rollback_lets_go_of_what_has_no_source(kafka: str) -> None:
    cluster, executor = without_source(kafka)
    stop = StopRequest(at_once=True, allow_failover=True)
    cluster.create("/poolkeeper/run/stop", runs.encode_stop(stop))
    executor.at_rest = lambda outcome: outcome.state is State.STOPPED
    executor.finish(passes_max=600)
    assert not cluster.exists(RUN)
    assert not cluster.exists(REQUEST)


@pytest.mark.parametrize("kafka", ["2.0.1", "2.3.1"])
def test_a_source_that_returns_after_all_finishes_what_was_let_go(kafka: str) -> None:
    cluster, executor = without_source(kafka, ALLOWED)
    executor.desired = given_up(ALLOWED, "out-of-all-pools")
    executor.at_rest = lambda _: not cluster.exists(RUN)
    executor.finish(passes_max=600)
    for id_ in (1, 2):
        cluster.simulation.start_broker(id_)
    cluster.clock.advance(10_000)
    executor.desired = desired(ALLOWED)
    executor.at_rest = lambda outcome: outcome.state is State.CONVERGED
    executor.finish()
    assert sorted(cluster.replicas("t")["0"]) == [4, 5]
    assert sorted(cluster.state("t")[1]) == [4, 5]


def given_up(execution: Execution, how: str) -> Desired:
    if how == "healed":
        heal = Heal(enabled=True, after_s=60, max_brokers=2)
        return desired(execution, heal=heal)
    wanted = desired(execution)
    return replace(wanted, pools=tuple(pool for pool in wanted.pools if pool.name != "old"))


def assert_goes_on(cluster: SimulatedCluster, executor: Executor) -> None:
    """Another topic is moved as if nothing had happened."""
    before = executor.desired
    elsewhere = tuple(
        replace(spec, pool="p") if spec.topic == "u" else spec for spec in before.topics
    )
    executor.desired = replace(before, topics=elsewhere)
    executor.at_rest = lambda _: sorted(cluster.replicas("u")["0"]) == [4, 5]
    executor.finish(passes_max=600)
    kinds = [action.kind for outcome in executor.seen for action in outcome.did]
    assert kinds.count(ActionKind.CONTROLLER_FAILOVER) == 1
