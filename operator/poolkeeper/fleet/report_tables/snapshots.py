"""How complete the snapshot of a cluster is."""

from typing import Any

import numpy as np

from poolkeeper.fleet.report_tables.partition_loads import PartitionLoads
from poolkeeper.report.values import SnapshotReport


def snapshot_report(
    cluster: str, site: str, head: dict[str, Any], loads: PartitionLoads
) -> SnapshotReport:
    """The report of a snapshot that was read, from its row of `clusters`."""
    return SnapshotReport(
        cluster,
        site,
        head["read_ms"],
        head["brokers"] or 0,
        head["topics"] or 0,
        int(head["partitions"] or 0),
        int(np.isnan(loads.size).sum()),
        len(head["torn"] or ()),
        len(head["damaged"] or ()),
        head["reason"] or "",
    )
