"""How many brokers a list may name.

Planners hold all lists as wide as the longest. One list of thousands, as no cluster has it and
somebody may write it, would fill their memory: it counts as damage of its topic, for whoever reads
a cluster or a snapshot of one.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_columns import PartitionColumns

_CELLS_MAX, _LEAST, _MOST = 1 << 24, 64, 10_000


def list_length_max(partitions: int) -> int:
    """The most brokers of a replica list or ISR in a cluster of so many partitions.

    All lists have some 16 million places together; each has at least 64, and at most 10,000.
    """
    return min(_MOST, max(_LEAST, _CELLS_MAX // max(1, partitions)))


@frozen
class LongList:
    """A row's replica list or ISR (`is_isr`) that names more brokers than it may, and why so."""

    row: int
    is_isr: bool
    why: str


def long_lists(columns: PartitionColumns, most: int) -> tuple[LongList, ...]:
    """The lists that name more than so many brokers: replica lists, then ISRs, by row."""
    return tuple(
        LongList(
            row,
            what == "ISR",
            f"the {what} of partition {columns.number[row]} names {int(lists.lengths[row]):,}"
            f" brokers (expected at most {most:,})",
        )
        for what, lists in (("replica list", columns.replicas), ("ISR", columns.isr))
        for row in np.flatnonzero(lists.lengths > most).tolist()
    )
