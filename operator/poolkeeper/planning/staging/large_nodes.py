"""Moves of topics whose node the controller could not write while a partition of theirs moves.

A topic's node grows while its partitions move. Where the ZooKeeper servers do not take it that
large, or it would come near their usual limit, none of them moves (`limits`).
Only another limit of the servers, or other partitions, change that: the run of all others ends.
"""

from collections.abc import Iterable, Sequence

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.staging.limits import Bounds, TopicCaps


def too_large(
    moves: Sequence[Move], left: Iterable[int], cluster: Cluster, bounds: Bounds
) -> dict[int, Wait]:
    """Return such moves by index, each with why it stays, of those `left` to be made."""
    caps = TopicCaps(cluster.topics, bounds)
    return {
        m: Wait(WaitReason.TOPIC_NODE_TOO_LARGE, topic=topic)
        for m in left
        if (topic := moves[m].topic) in cluster.topics and not caps.of(topic)
    }
