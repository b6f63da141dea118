"""Sums over columns are those that counting partition by partition gives."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.columns.broker_totals import BrokerTotals, totals_now
from poolkeeper.model.columns.partition_columns import PartitionColumns
from poolkeeper.model.topology import Partition

SIZES = st.none() | st.integers(0, 9) | st.integers(0, 2**62)
LISTS = st.lists(st.integers(1, 9) | st.just(2**31 - 1), max_size=4, unique=True).map(tuple)
PARTITIONS = st.lists(
    st.tuples(LISTS, st.none() | st.integers(-2, 9), SIZES).map(
        lambda drawn: Partition(0, drawn[0], leader=drawn[1], size_bytes=drawn[2])
    ),
    max_size=20,
)


@pytest.mark.slow
@examples(200)
@given(PARTITIONS)
def test_totals_are_those_of_the_partitions(partitions: list[Partition]) -> None:
    replicas: Counter[int] = Counter()
    leaders: Counter[int] = Counter()
    held: Counter[int] = Counter()
    unknown = set()
    for each in partitions:
        leader = (each.replicas or (-1,))[0] if each.leader is None else each.leader
        if leader >= 0:
            leaders[leader] += 1
        for broker in each.replicas:
            replicas[broker] += 1
            held[broker] += each.size_bytes or 0
            if each.size_bytes is None:
                unknown.add(broker)
    found = totals_now(PartitionColumns.of(partitions))
    assert found == BrokerTotals(replicas, leaders, held, frozenset(unknown))
    brokers = [1, 2, 3, 77]
    assert found.sums(brokers) == tuple(
        sum(counts[broker] for broker in brokers) for counts in (replicas, leaders, held)
    )
