"""Controllers that fail one after another are news tens of times a second: passes stay few."""

import pytest

from builders import desired, pool_spec, topic_spec
from poolkeeper.controller.loops.wake_ups import WAKE_UP_EVERY_S, WAKE_UPS_AT_ONCE
from poolkeeper.model.execution.outcomes import State
from poolkeeper.model.specs import Mode
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor, converged

LOOPING_MS = 10_000


@pytest.mark.parametrize("kafka", ["2.0.1", "3.9.2"])
def test_controllers_that_cannot_start_do_not_keep_a_loop_busy(kafka: str) -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1, 2])
    cluster.create_topic("poisoned", [1, 2])
    topic = topic_spec("t", "p", partitions=1, replication_factor=2)
    wanted = desired(pool_spec("p", 3, 4, cluster="c"), topic, name="c", mode=Mode.APPLY)
    executor = Executor(cluster, wanted)
    whole, began_ms, epoch = (
        cluster.read("/brokers/topics/poisoned"),
        cluster.clock.now_ms(),
        cluster.epoch(),
    )
    cluster.set("/brokers/topics/poisoned", {"version": 1, "partitions": {"0": ["1", "2"]}})
    cluster.delete("/controller")
    executor.at_rest = lambda _: cluster.clock.now_ms() - began_ms > LOOPING_MS
    executor.finish(passes_max=10_000)
    assert cluster.epoch() - epoch > LOOPING_MS / 100, "controllers fail ten times a second"
    waiting = [o for o in executor.seen if o.state is State.WAITING]
    assert len(waiting) <= WAKE_UPS_AT_ONCE + LOOPING_MS / 1000 / WAKE_UP_EVERY_S + 2
    assert executor.writes < len(waiting), "those that lose against an election included"
    cluster.set("/brokers/topics/poisoned", whole)
    executor.at_rest = converged
    executor.finish()
    cluster.settle()
    assert sorted(cluster.replicas("t")["0"]) == [3, 4]
