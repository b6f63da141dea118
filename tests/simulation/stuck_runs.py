"""A run on a small cluster, and a topic of it that somebody deletes in the middle of its move."""

from builders import desired, pool_spec, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import Execution, Remedies, Throttle, ThrottleMode
from poolkeeper.model.topology import TopicPartition
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.asked import AskedBrokers
from simulation.executors import Executor, converged

MB = 1_000_000


class WokenBrokers(AskedBrokers):
    """Brokers that also let their controller be woken."""

    def wake_controller(self) -> None:
        self.cancel_moves([TopicPartition("poolkeeper.no.such.topic", 0)])


def made(kafka: str, remedies: Remedies, *, api: bool) -> tuple[SimulatedCluster, Executor]:
    """Return a cluster whose topic `t` shall go from brokers 1 and 2 to 3 and 4."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start(first=1)
    cluster.create_topic("t", [1, 2], [2, 1])
    cluster.create_topic("u", [3, 4])
    for partition in range(2):
        cluster.simulation.set_size("t", partition, 8 * MB)
    topics = (
        topic_spec("t", "p", partitions=2, replication_factor=2),
        topic_spec("u", "p", partitions=1, replication_factor=2),
    )
    throttle = Throttle(ThrottleMode.FIXED, 2 * MB)
    execution = Execution(throttle=throttle, max_moves=1, remedies=remedies)
    wanted: Desired = desired(
        pool_spec("p", 3, 4, cluster="c"), *topics, name="c", execution=execution
    )
    brokers = WokenBrokers(cluster) if api else None
    return cluster, Executor(cluster, wanted, brokers=brokers)


def deleted_in_flight(executor: Executor, again: list[int] | None = None) -> None:
    """Delete the topic while its move is in flight, and perhaps make another one of its name."""
    cluster = executor.cluster
    executor.at_rest = lambda _: any(len(ids) > 2 for ids in cluster.replicas("t").values())
    executor.finish()
    cluster.create("/admin/delete_topics/t", b"")
    assert cluster.clock.run_until(lambda: not cluster.exists("/brokers/topics/t"), 60_000)
    cluster.clock.advance(3_000)
    if again is not None:
        cluster.create_topic("t", again, again)
    assert cluster.exists(REQUEST)
    executor.at_rest = converged
