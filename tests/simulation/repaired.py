"""A small cluster whose nodes `poolkeeper repair` mends."""

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.our_tree import OurTree

ERAS = ("2.0.1", "2.8.2", "3.9.2")


def cluster_of(kafka: str) -> SimulatedCluster:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start(first=1)
    cluster.create_topic("t", [1, 2], [2, 1])
    cluster.settle()
    return cluster


def tree_of(cluster: SimulatedCluster) -> OurTree:
    return OurTree(cluster.server, cluster.clock, cluster.client)


def starts_again(cluster: SimulatedCluster) -> bool:
    """Elect another controller, and say whether one stays."""
    if cluster.exists("/controller"):
        cluster.delete("/controller")
    cluster.clock.advance(5_000)
    epoch = cluster.epoch()
    cluster.clock.advance(3_000)
    return cluster.epoch() == epoch and cluster.exists("/controller")
