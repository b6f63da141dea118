"""How many partitions a topic can have so that its znode can still be written.

A topic's replica lists are one znode. It is written in one transaction, and ZooKeeper closes the
connection of who sends more than it takes. So a topic that is too large for that is refused before
anything is planned for it, and nobody else waits for it.

The estimate is an upper one: every list as long as the longest, every id as long as the longest.
"""

from collections.abc import Collection

NODE_BYTES_MAX = 200 * 1024
"""What is left of a transaction beside the topic's config, its record and the fence."""
_HEAD_BYTES = 120
_BESIDE_IDS_BYTES = len('"":[],')


def topic_node_bytes(partitions: int, factor: int, brokers: Collection[int]) -> int:
    """Return at least the bytes of a topic's znode with that many partitions on these brokers.

    `factor`: the replicas of the longest list.
    """
    id_bytes = max((len(str(broker)) for broker in brokers), default=1) + len(",")
    line = len(str(partitions)) + _BESIDE_IDS_BYTES + factor * id_bytes
    return _HEAD_BYTES + partitions * line


def partitions_max(factor: int, brokers: Collection[int]) -> int:
    """Return how many partitions fit; `factor` and `brokers` as for `topic_node_bytes`."""
    low, high = 0, NODE_BYTES_MAX
    while low < high:
        middle = (low + high + 1) // 2
        fits = topic_node_bytes(middle, factor, brokers) <= NODE_BYTES_MAX
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
