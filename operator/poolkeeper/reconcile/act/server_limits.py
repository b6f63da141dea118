"""What the ZooKeeper servers take, as they say before a run and as they show when they refuse.

A run has throttles from its beginning to its end. So they are asked about topic nodes before it,
too: else one with nothing but such topics would begin and end over and over.
"""

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import replace

from poolkeeper.errors import GrowingNodeTooLarge, TooLarge
from poolkeeper.model.topology import Topic
from poolkeeper.planning.staging.limits import ServerLimits, TopicCaps, node_bytes
from poolkeeper.reconcile.context import PassContext


def note_too_large(context: PassContext, large: TooLarge) -> None:
    """Remember limits for a stage half as large as the one that the servers do not take."""
    limits = _known(context)
    if isinstance(large, GrowingNodeTooLarge):
        limits = _below(limits, large.bytes_before, large.bytes)
    else:
        limits = replace(limits, transaction_bytes=large.bytes // 2)
    context.memory.server_limits = limits


def ask_about_nodes(context: PassContext, topics: Collection[Topic]) -> None:
    """Remember the smallest node, of these topics with a partition that moves, that is refused."""
    limits = _known(context)
    caps = TopicCaps({topic.name: topic for topic in topics}, limits.bounds(limits.learned_ms))
    nodes = [node_bytes(topic) for topic in topics if caps.of(topic.name)]
    sizes = sorted({(node + growth, node) for node, growth in nodes})
    if not sizes or context.access.takes(sizes[-1][0]):
        return
    first = bisect_left(sizes[:-1], True, key=lambda size: not context.access.takes(size[0]))
    size, node = sizes[first]
    context.memory.server_limits = _below(limits, node, size)


def _known(context: PassContext) -> ServerLimits:
    """Return what is known of the servers, as of now."""
    return context.memory.server_limits.as_of(context.now_ms())


def _below(limits: ServerLimits, before: int, after: int) -> ServerLimits:
    """Return limits by which a node of `before` bytes does not grow to `after`."""
    return replace(limits, topic_node_bytes=(before + after) // 2)
