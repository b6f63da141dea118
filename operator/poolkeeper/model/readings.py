"""One reading of a cluster: what was observed, and how to write only if it still is so."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from poolkeeper.model.topology import Cluster


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """A cluster, the data versions of its request nodes by path, and what made no sense.

    `versions` holds `/admin/reassign_partitions` and `/admin/preferred_replica_election` where they
    exist. `notes` are sentences about nodes other than topics (those are in `cluster.damaged`).
    """

    cluster: Cluster
    versions: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
