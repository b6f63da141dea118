"""A cluster on which odd requests are tried, and whether it notices the next one."""

import pytest

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread

MB = 1_000_000
OLD, MIDDLE, NEW = "0.10.2.2", "2.0.1", "3.9.2"
ALL = pytest.mark.parametrize("kafka", [OLD, MIDDLE, "2.3.1", "2.8.2", NEW])
SLOW = 5 * MB


def cluster_of(
    kafka: str, brokers: int = 4, *, slow: bool = False, seed: int = 0
) -> SimulatedCluster:
    """Start a cluster with topic `t`: p0 [1,2], p1 [2,1], 20 MB each, at 5 MB/s if slow."""
    rate = SLOW if slow else 1000 * MB
    spec = SimulationSpec(spread(brokers), kafka=kafka, seed=seed, network_bytes_per_s=rate)
    cluster = SimulatedCluster(spec)
    cluster.start(first=1)
    cluster.create_topic("t", [1, 2], [2, 1])
    for partition in (0, 1):
        cluster.simulation.set_size("t", partition, 20 * MB)
    cluster.settle()
    return cluster


def gone(cluster: SimulatedCluster) -> bool:
    return cluster.clock.run_until(lambda: not cluster.exists(REQUEST), 30_000)


def notices(cluster: SimulatedCluster) -> bool:
    """Say whether a new request is noticed."""
    assert not cluster.exists(REQUEST)
    lists = cluster.replicas("t")
    cluster.request({("t", 1): lists["1"][::-1]})
    noticed = cluster.clock.run_until(lambda: not cluster.exists(REQUEST), 6_000)
    if not noticed:
        cluster.delete(REQUEST)
    return noticed
