"""The tables of one cluster and day that a report's figures are made from."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from poolkeeper.model.desired import Desired

PARTITION_COLUMNS = ("topic", "partition", "replicas", "bytes", "bytes_in_per_s")
FEATURE_COLUMNS = ("topic", "partition", "metric", "p95", "last", "growth_per_day")
BROKER_COLUMNS = ("broker", "rack", "log_dirs")


@dataclass(frozen=True)
class ClusterTables:
    """A cluster that was read: its row of `clusters`, and rows with at least the columns above.

    `desired`: None where nothing is declared for it.
    """

    cluster: str
    head: dict[str, Any]
    desired: Desired | None
    partitions: pa.Table
    brokers: pa.Table
    features: pa.Table
