"""Servers whose jute.maxbuffer was lowered to 64 KiB: what a run of usual stages writes fits."""

import builders
from builders import pool_spec
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.specs import Execution, TopicSpec
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor

BUFFER_BYTES = 64 * 1024
TOPICS = [f"{n:03}-{'a-topic-with-a-long-name' * 5}" for n in range(150)]


def test_a_run_over_many_topics_fits() -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka="3.9.2"))
    cluster.start()
    for topic in TOPICS:
        cluster.create_topic(topic, [1, 2])
    cluster.server.request_bytes_max = BUFFER_BYTES
    pool = pool_spec("p", 3, 4, cluster="c")
    specs = [TopicSpec(t, "default", t, "p", partitions=1, replication_factor=2) for t in TOPICS]
    wanted = builders.desired(pool, *specs, name="c", execution=Execution())
    executor = Executor(cluster, wanted)
    executor.finish(passes_max=3000)
    assert executor.endings == [Ending.FINISHED]
    assert all({*cluster.replicas(t)["0"]} == {3, 4} for t in TOPICS)
