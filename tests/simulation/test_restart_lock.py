"""The restart lock: while somebody restarts brokers no stage starts, and nothing is lost by it."""

from dataclasses import replace

import pytest

from builders import cluster_spec, pool_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, has
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode, TopicSpec
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor, converged

MB = 1_000_000
LOCK = "/ops/restart"
RUN = "/poolkeeper/run"
LOCKED = Wait(WaitReason.RESTART_LOCKED, path=LOCK)
EXECUTION = Execution(throttle=Throttle(ThrottleMode.FIXED, 4 * MB), max_moves=1, restart_lock=LOCK)


def desired(*homes: int, topics: tuple[str, ...] = ("t",)) -> Desired:
    spec = cluster_spec("c", execution=EXECUTION)
    wanted = tuple(TopicSpec(name, "default", name, "p", 3, 1) for name in topics)
    return Desired(spec, (pool_spec("p", *homes, cluster="c"),), wanted)


def cluster_of(kafka: str) -> SimulatedCluster:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1], [2], [1])
    for partition in range(3):
        cluster.simulation.set_size("t", partition, 20 * MB)
    cluster.create("/ops", b"")
    return cluster


def locked(outcome: Outcome) -> bool:
    return has(outcome.waits, WaitReason.RESTART_LOCKED)


def stages(executor: Executor) -> int:
    actions = (action.kind for outcome in executor.seen for action in outcome.did)
    return sum(kind is ActionKind.STAGE_REQUESTED for kind in actions)


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_the_stage_in_flight_ends_and_none_starts_until_the_lock_is_gone(kafka: str) -> None:
    cluster = cluster_of(kafka)
    executor = Executor(
        cluster, desired(3, 4), at_rest=lambda o: has(o.waits, WaitReason.STAGE_IN_FLIGHT)
    )
    executor.finish()
    cluster.create(LOCK, b"rolling restart of jane")
    executor.at_rest = locked
    executor.finish()
    assert stages(executor) == 1
    assert not cluster.exists(REQUEST)
    assert sum(set(ids) <= {3, 4} for ids in cluster.replicas("t").values()) == 1
    for id_ in (1, 2, 3, 4):  # what the lock was taken for
        cluster.simulation.kill(id_)
        cluster.clock.advance(6_000)
        cluster.simulation.start_broker(id_)
        cluster.clock.advance(6_000)
        executor.at_rest = locked
        executor.finish()
        assert stages(executor) == 1
    executor.desired = desired(3, 4, topics=("t", "new"))
    executor.at_rest = lambda _: cluster.exists("/brokers/topics/new")
    executor.finish()
    assert not cluster.exists(REQUEST)
    cluster.delete(LOCK)
    executor.at_rest = converged
    executor.finish()
    cluster.settle()
    assert {b for ids in cluster.replicas("t").values() for b in ids} == {3, 4}
    assert not cluster.exists(RUN)


def test_no_run_begins_and_no_leader_is_elected_under_the_lock() -> None:
    cluster = cluster_of("2.8.2")
    cluster.create(LOCK, b"")
    executor = Executor(cluster, desired(3, 4), at_rest=locked)
    executor.finish()
    assert (executor.seen[-1].waits, cluster.exists(RUN)) == ((LOCKED,), False)
    cluster.delete(LOCK)
    executor.at_rest = converged
    executor.finish()

    cluster.create_topic("led", [1, 2], [2, 1])
    cluster.simulation.kill(1)
    cluster.clock.advance(6_000)
    cluster.create(LOCK, b"")
    cluster.simulation.start_broker(1)
    cluster.clock.advance(6_000)
    spec = TopicSpec("led", "default", "led", "q", 2, 2)
    both = desired(3, 4)
    pools = (*both.pools, pool_spec("q", 1, 2, cluster="c"))
    executor.desired = replace(both, pools=pools, topics=(*both.topics, spec))
    executor.at_rest = locked
    executor.finish()
    assert [cluster.state("led", p)[0] for p in (0, 1)] == [2, 2]
    cluster.delete(LOCK)
    executor.at_rest = converged
    executor.finish()
    cluster.settle()
    assert cluster.state("led")[0] == 1
