"""While a run waits, as for a dead broker, topics that have arrived are no longer throttled.

The broker comes back with replicas of theirs that are behind, and these would share the rate with
what is still copied.
"""

from builders import desired, pool_spec, topic_spec
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk import znodes
from simulation.executors import Executor

MB = 1_000_000
DEAD = 3


def is_throttled(cluster: SimulatedCluster, entity: str) -> bool:
    config = (cluster.read(f"/config/{entity}") or {}).get("config", {})
    return any("throttled" in key for key in config)


def arrived(cluster: SimulatedCluster, topic: str) -> bool:
    return {*cluster.replicas(topic)["0"]} == {2, DEAD}


def test_what_has_arrived_is_not_throttled_while_the_rest_waits_for_a_dead_broker() -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka="3.9.2"))
    cluster.start(first=4)
    for topic, size in (("small", 20 * MB), ("large", 4000 * MB)):
        cluster.create_topic(topic, [1, 2])
        cluster.simulation.set_size(topic, 0, size)
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, 20 * MB))
    topics = [topic_spec(t, "p", partitions=1, replication_factor=2) for t in ("large", "small")]
    wanted = desired(pool_spec("p", 2, DEAD, cluster="c"), *topics, name="c", execution=execution)
    released: list[bool] = []

    def at_rest(outcome: Outcome) -> bool:
        if arrived(cluster, "small") and not arrived(cluster, "large") and not released:
            assert is_throttled(cluster, "topics/small"), "as long as nobody is away"
            cluster.simulation.kill(DEAD)
            released.append(False)
        elif released == [False] and not is_throttled(cluster, "topics/small"):
            assert is_throttled(cluster, "topics/large")
            assert is_throttled(cluster, f"brokers/{DEAD}")
            assert not cluster.exists(znodes.throttles_of_topic("small"))
            cluster.simulation.start_broker(DEAD)
            released[0] = True
        return outcome.state is State.CONVERGED

    executor = Executor(cluster, wanted, at_rest=at_rest)
    executor.finish(passes_max=3000)
    assert released == [True]
    assert executor.endings == [Ending.FINISHED]
    entities = ("topics/small", "topics/large", *(f"brokers/{n}" for n in (1, 2, 3, 4)))
    assert not [each for each in entities if is_throttled(cluster, each)]
    assert not cluster.client.children("/poolkeeper/records/throttles")


LOCK = "/ops/restart"


def test_what_has_arrived_is_not_throttled_while_no_stage_may_begin() -> None:
    """Brokers are restarted, and catch up; throttles that somebody removed come back for the rest.

    A rate below what is produced to all that has arrived would keep them out of sync for ever.
    """
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka="3.9.2"))
    cluster.start(first=4)
    for topic, size in (("small", 20 * MB), ("zlarge", 40 * MB)):
        cluster.create_topic(topic, [1, 2])
        cluster.simulation.set_size(topic, 0, size)
    throttle = Throttle(ThrottleMode.FIXED, 20 * MB)
    execution = Execution(throttle=throttle, max_moves=1, restart_lock=LOCK)
    topics = [topic_spec(t, "p", partitions=1, replication_factor=2) for t in ("small", "zlarge")]
    wanted = desired(pool_spec("p", 2, DEAD, cluster="c"), *topics, name="c", execution=execution)
    released: list[bool] = []

    def at_rest(outcome: Outcome) -> bool:
        if arrived(cluster, "small") and not cluster.exists(LOCK) and not released:
            cluster.create(LOCK, {})
        elif cluster.exists(LOCK) and not is_throttled(cluster, "topics/small"):
            assert not arrived(cluster, "zlarge")
            assert is_throttled(cluster, "topics/zlarge")
            released.append(False)
            cluster.set("/config/topics/zlarge", {"version": 1, "config": {}})
            cluster.delete(LOCK)
        elif released == [False]:
            released[0] = is_throttled(cluster, "topics/zlarge")
        assert not released or not is_throttled(cluster, "topics/small")
        return outcome.state is State.CONVERGED

    executor = Executor(cluster, wanted, at_rest=at_rest)
    executor.finish(passes_max=3000)
    assert released == [True]
    assert executor.endings == [Ending.FINISHED]
    entities = ("topics/small", "topics/zlarge", *(f"brokers/{n}" for n in (1, 2, 3, 4)))
    assert not [each for each in entities if is_throttled(cluster, each)]
