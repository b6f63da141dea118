"""Load figures of an observed cluster, so that its plan suits the usual load.

A rate is the 95th percentile of its history: the mean hides the evening peak, and the maximum is
one restart of a consumer. An observed size stays; a missing one is replaced by the latest figure.
The figure of a topic as a whole is shared evenly by its partitions without a figure of their own. A
partition without any figure stays as observed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_columns import (
    UNKNOWN,
    Floats,
    columns_of,
    with_partitions,
)
from poolkeeper.model.columns.partition_queries import numbers_of
from poolkeeper.model.topology import Cluster

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
    columns = columns_of([topic.partitions for topic in cluster.topics.values()])
    size, rate = (_by_row(cluster, figure) for figure in (loads.bytes, loads.rate_bytes_per_s))
    given = (columns.bytes == UNKNOWN) & ~np.isnan(size)
    joined = replace(
        columns,
        bytes=np.where(given, np.where(given, size, 0.0).astype(np.int64), columns.bytes),
        bytes_in_per_s=np.where(np.isnan(rate), columns.bytes_in_per_s, rate),
    )
    return with_partitions(cluster, joined)


def _by_row(cluster: Cluster, figure: Figure) -> Floats:
    """By partition, topic after topic, its figure; NaN where there is none."""
    found: list[float] = []
    for topic in cluster.topics.values():
        numbers = numbers_of(topic.partitions)
        share = _topic_share(topic.name, numbers, figure)
        found += [share.get(number, np.nan) for number in numbers]
    return np.array(found, dtype=np.float64)


def _topic_share(topic: str, numbers: Sequence[int], figure: Figure) -> dict[int, float]:
    """By partition: its own figure, else an even part of what the topic has besides those."""
    own = {n: figure[topic, n] for n in numbers if (topic, n) in figure}
    whole = figure.get((topic, WHOLE_TOPIC))
    others = [n for n in numbers if n not in own]
    if whole is None or not others:
        return own
    part = max(0.0, whole - sum(own.values())) / len(others)
    return own | dict.fromkeys(others, part)
