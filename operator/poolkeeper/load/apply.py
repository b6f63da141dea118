"""Load figures of an observed cluster, so that its plan suits the usual load.

A rate is the 95th percentile of its history: the mean hides the evening peak, and the maximum is
one restart of a consumer. An observed size stays; a missing one is replaced by the latest figure.
The figure of a topic as a whole is shared evenly by its partitions without a figure of their own. A
partition without any figure stays as observed.
"""

from collections.abc import Mapping
from dataclasses import replace

from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Cluster, Partition, Topic

WHOLE_TOPIC = -1
"""The number of a partition that stands for its whole topic."""

Figure = Mapping[tuple[str, int], float]
"""By topic and partition, or `WHOLE_TOPIC`."""


@frozen
class MeasuredLoads:
    """The size of one replica in bytes, and the bytes per second that are written."""

    bytes: Figure
    rate_bytes_per_s: Figure


def with_loads(cluster: Cluster, loads: MeasuredLoads) -> Cluster:
    """The cluster with these figures applied."""
    if not loads.bytes and not loads.rate_bytes_per_s:
        return cluster
    topics = {name: _topic(topic, loads) for name, topic in cluster.topics.items()}
    return replace(cluster, topics=topics)


def _topic(topic: Topic, loads: MeasuredLoads) -> Topic:
    size, rate = (_topic_share(topic, figure) for figure in (loads.bytes, loads.rate_bytes_per_s))
    return replace(topic, partitions=tuple(_partition(p, size, rate) for p in topic.partitions))


def _partition(p: Partition, size: Mapping[int, float], rate: Mapping[int, float]) -> Partition:
    held = size.get(p.partition) if p.size_bytes is None else None
    return p._replace(
        size_bytes=p.size_bytes if held is None else int(held),
        in_bytes_per_s=rate.get(p.partition, p.in_bytes_per_s),
    )


def _topic_share(topic: Topic, figure: Figure) -> dict[int, float]:
    """By partition: its own figure, else an even part of what the topic has besides those."""
    numbers = [p.partition for p in topic.partitions]
    own = {n: figure[topic.name, n] for n in numbers if (topic.name, n) in figure}
    whole = figure.get((topic.name, WHOLE_TOPIC))
    others = [n for n in numbers if n not in own]
    if whole is None or not others:
        return own
    part = max(0.0, whole - sum(own.values())) / len(others)
    return own | dict.fromkeys(others, part)
