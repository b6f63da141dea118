"""How many brokers a list may name.

Planners hold all lists as wide as the longest. One list of thousands, as no cluster has it and
somebody may write it, would fill their memory: it counts as damage of its topic.
"""

_CELLS_MAX, _LEAST, _MOST = 1 << 24, 64, 10_000


def list_length_max(partitions: int) -> int:
    """The most brokers of a replica list or ISR in a cluster of so many partitions.

    All lists have some 16 million places together; each has at least 64, and at most 10,000.
    """
    return min(_MOST, max(_LEAST, _CELLS_MAX // max(1, partitions)))
