"""A migration to KRaft, as the controllers of both sides carry it out in ZooKeeper.

The KRaft controller claims the cluster as Kafka's does: in one transaction it raises the epoch and
puts its own `/controller`, which no session holds, in place of the broker's.
"""

import json

from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode, DeleteNode, WriteNode

CONTROLLER, MIGRATION = "/controller", "/migration"
KRAFT = {"version": 2, "brokerid": 3000, "timestamp": "1", "kraftControllerEpoch": 4}
_CLAIMED = {"kraft_controller_id": 3000, "kraft_controller_epoch": 4, "version": 0}


def claim(cluster: SimulatedCluster) -> int:
    """Let a KRaft controller claim the cluster; return the last zxid before it."""
    before = cluster.server.log[-1].zxid
    cluster.client.commit(
        [
            WriteNode("/controller_epoch", str(cluster.epoch() + 1).encode()),
            DeleteNode(CONTROLLER),
            CreateNode(CONTROLLER, json.dumps(KRAFT).encode()),
            CreateNode(MIGRATION, json.dumps(_CLAIMED).encode()),
        ]
    )
    return before


def revert(cluster: SimulatedCluster) -> None:
    """Revert a migration as Kafka's documentation has people do it; a broker is elected."""
    cluster.delete(MIGRATION)
    cluster.delete(CONTROLLER)
