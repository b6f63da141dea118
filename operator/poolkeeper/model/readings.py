"""One reading of a cluster, and what is needed to write only if the cluster is unchanged."""

from collections.abc import Mapping
from dataclasses import field

from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Cluster


@frozen
class NodeNote:
    """What is wrong with a node of Kafka's, but a topic's: its path, and what was found there."""

    path: str
    found: str

    def __str__(self) -> str:
        return f"{self.path}: {self.found}"


@frozen
class ClusterReading:
    """A cluster, the data versions of its request nodes by path, and notes on unreadable nodes.

    `versions` holds `/admin/reassign_partitions` and `/admin/preferred_replica_election` if they
    exist; `request_zxid` is the transaction that wrote the first of them last, -1 without one: a
    later request has its versions, too. `notes` are about nodes other than topics (those are in
    `cluster.damaged`).
    """

    cluster: Cluster
    versions: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[NodeNote, ...] = ()
    request_zxid: int = -1
