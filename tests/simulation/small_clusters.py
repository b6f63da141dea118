"""Small simulated clusters, and what others write into them."""

import json

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode


def cluster_of(kafka: str = "3.9.2", brokers: int = 3, first: int = 1) -> SimulatedCluster:
    cluster = SimulatedCluster(SimulationSpec(spread(brokers), kafka=kafka))
    cluster.start(first=first)
    return cluster


def gone(cluster: SimulatedCluster, path: str, deadline_ms: int = 10_000) -> bool:
    return cluster.clock.run_until(lambda: not cluster.exists(path), deadline_ms)


def config(values: dict[str, object]) -> dict[str, object]:
    return {"version": 1, "config": values}


def notify(cluster: SimulatedCluster, entity: str) -> None:
    body = {"version": 2, "entity_path": entity}
    tell(cluster, json.dumps(body).encode())


def tell(cluster: SimulatedCluster, body: bytes) -> None:
    cluster.client.commit([CreateNode("/config/changes/config_change_", body, sequence=True)])
    cluster.clock.advance(500)
