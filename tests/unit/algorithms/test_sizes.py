"""Node sizes: equal to what a JSON encoder writes, and the known limits follow."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.algorithms import sizes

ONE_DIGIT, FOUR_DIGITS = (1, 2, 3), (1001, 1002, 1003)

names = st.text("abc.-_019", min_size=1, max_size=20)
brokers = st.lists(st.integers(0, 100_000), max_size=5)
assignments = st.dictionaries(st.integers(0, 10_000), brokers, max_size=8)


def compact(data):
    return len(json.dumps(data, separators=(",", ":")).encode())


def keyed(lists):
    return {str(partition): replicas for partition, replicas in lists.items()}


@given(st.lists(st.tuples(names, st.integers(0, 10_000), brokers), max_size=8))
def test_request_node_is_as_long_as_its_json(entries):
    partitions = [{"topic": t, "partition": p, "replicas": r} for t, p, r in entries]
    assert sizes.reassignment_bytes(entries) == compact({"version": 1, "partitions": partitions})


@given(assignments, assignments, assignments, st.sampled_from([1, 2, 3]))
def test_topic_node_is_as_long_as_its_json(partitions, adding, removing, version):
    node = {"version": version, "partitions": keyed(partitions)}
    if version >= 2:
        node |= {"adding_replicas": keyed(adding), "removing_replicas": keyed(removing)}
    if version >= 3:
        node |= {"topic_id": "x" * 22}
    assert sizes.topic_bytes(partitions, adding, removing, version=version) == compact(node)


def test_an_entry_by_the_formula():
    """29 + 39 + name + digits of partition and brokers + RF - 1, and a comma between entries."""
    entries = [("orders", 0, ONE_DIGIT), ("orders", 10, FOUR_DIGITS)]
    first, second = 39 + 6 + 1 + 3 + 2, 39 + 6 + 2 + 12 + 2
    assert sizes.reassignment_entry_bytes(*entries[0]) == first
    assert sizes.reassignment_bytes(entries) == 29 + first + second + 1
    assert sizes.reassignment_bytes([]) == 29


def test_a_create_of_the_request_node():
    assert sizes.create_bytes(sizes.REASSIGNMENT_PATH_LENGTH, 0) == 73
    assert sizes.reassignment_bytes_max() == 1048502
    assert sizes.reassignment_bytes_max("/kafka") == 1048502 - 6
    assert sizes.reassignment_bytes_max(request_bytes_max=4 * 2**20) == 4 * 2**20 - 73


@pytest.mark.parametrize(
    ("name_length", "one_digit", "four_digits"),
    [
        (10, 17659, 15356),
        (20, 15136, 13412),
        (40, 11773, 10702),
        (100, 7044, 6642),
        (249, 3522, 3418),
    ],
)
def test_most_entries_of_one_request(name_length, one_digit, four_digits):
    found = [most_entries("t" * name_length, replicas) for replicas in (ONE_DIGIT, FOUR_DIGITS)]
    assert found == [one_digit, four_digits]


def most_entries(topic, replicas):
    size, count = sizes.reassignment_bytes([]) - 1, 0
    while True:
        size += 1 + sizes.reassignment_entry_bytes(topic, count, replicas)
        if size > sizes.reassignment_bytes_max():
            return count
        count += 1


def idle(count, old, new):
    return sizes.topic_bytes(dict.fromkeys(range(count), old))


def moving(count, old, new):
    everywhere = [dict.fromkeys(range(count), replicas) for replicas in ((*new, *old), new, old)]
    return sizes.topic_bytes(*everywhere)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "old", "new", "most"),
    [
        pytest.param(idle, FOUR_DIGITS, (), 42380, id="idle-four-digit-brokers"),
        pytest.param(
            moving, FOUR_DIGITS, (1004, 1005, 1006), 12019, id="moving-four-digit-brokers"
        ),
        pytest.param(idle, ONE_DIGIT, (), 66219, id="idle-one-digit-brokers"),
        pytest.param(moving, ONE_DIGIT, (4, 5, 6), 20031, id="moving-one-digit-brokers"),
    ],
)
def test_most_partitions_of_one_topic_node(state, old, new, most):
    limit = sizes.reassignment_bytes_max()
    assert state(most, old, new) <= limit < state(most + 1, old, new)
