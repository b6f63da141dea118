"""Sizes of requests are what a JSON encoder writes."""

import json

from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.algorithms import sizes

ONE_DIGIT, FOUR_DIGITS = (1, 2, 3), (1001, 1002, 1003)

names = st.text("abc.-_019", min_size=1, max_size=20)
brokers = st.lists(st.integers(0, 100_000), max_size=5)


def compact(data):
    return len(json.dumps(data, separators=(",", ":")).encode())


@given(st.lists(st.tuples(names, st.integers(0, 10_000), brokers), max_size=8))
def test_request_node_is_as_long_as_its_json(entries):
    partitions = [{"topic": t, "partition": p, "replicas": r} for t, p, r in entries]
    assert sizes.reassignment_bytes(entries) == compact({"version": 1, "partitions": partitions})


def test_an_entry_by_the_formula():
    """29 + 39 + name + digits of partition and brokers + RF - 1, and a comma between entries."""
    entries = [("orders", 0, ONE_DIGIT), ("orders", 10, FOUR_DIGITS)]
    first, second = 39 + 6 + 1 + 3 + 2, 39 + 6 + 2 + 12 + 2
    assert sizes.reassignment_entry_bytes(*entries[0]) == first
    assert sizes.reassignment_bytes(entries) == 29 + first + second + 1
    assert sizes.reassignment_bytes([]) == 29
