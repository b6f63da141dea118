"""The first partitions and topics of a cluster by write rate and by size."""

from collections.abc import Iterator

import numpy as np

from poolkeeper.fleet.report_tables.partition_loads import (
    Floats,
    Ints,
    PartitionLoads,
    zero_if_unknown,
)
from poolkeeper.load.apply import WHOLE_TOPIC
from poolkeeper.report.values import BrokerLoad, Hot, Measured

HOTTEST_MAX = 20
"""The most of each kind that are kept of a cluster."""


def hottest(
    cluster: str, loads: PartitionLoads, brokers: tuple[BrokerLoad, ...], most: int = HOTTEST_MAX
) -> tuple[Hot, ...]:
    """The partitions, then the topics, that have most; what is unknown or 0 is none of them.

    The pool is that of the broker of a partition's first replica, of a topic's first partition.
    """
    pool_of = {each.broker: each.pool for each in brokers}
    first = _first_replicas(loads)
    return tuple(
        Hot(
            cluster,
            pool_of.get(int(first[row]), ""),
            measured,
            loads.topics[loads.topic[row]],
            partition,
            value,
        )
        for measured, values in ((Measured.BYTES_IN, loads.rate), (Measured.BYTES, loads.size))
        for row, partition, value in (*_ones(loads, values, most), *_wholes(loads, values, most))
    )


def _first_replicas(loads: PartitionLoads) -> Ints:
    if not len(loads.replica):
        return np.full(len(loads.first), -1)
    return loads.replica[np.minimum(loads.first, len(loads.replica) - 1)]


def _ones(loads: PartitionLoads, values: Floats, most: int) -> Iterator[tuple[int, int, float]]:
    for row in _first(values, most):
        yield row, int(loads.partition[row]), float(values[row])


def _wholes(loads: PartitionLoads, values: Floats, most: int) -> Iterator[tuple[int, int, float]]:
    weights, topics = zero_if_unknown(values), len(loads.topics)
    totals = np.bincount(loads.topic, weights=weights, minlength=topics).astype(np.float64)
    _, first_row = np.unique(loads.topic, return_index=True)
    for topic in _first(totals, most):
        yield int(first_row[topic]), WHOLE_TOPIC, float(totals[topic])


def _first(values: Floats, most: int) -> list[int]:
    """The places of the largest values, ties in the order of places."""
    known = zero_if_unknown(values)
    rows = np.arange(len(known))
    if len(known) > most:
        least = np.partition(known, -most)[-most]
        rows = np.flatnonzero(known >= max(least, 0.0))
    order = rows[np.argsort(-known[rows], kind="stable")][:most]
    return [int(place) for place in order if known[place] > 0]
