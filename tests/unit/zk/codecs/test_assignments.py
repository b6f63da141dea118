"""Assignments that are decoded by type are those that a strict look at each value finds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.errors import Refused
from poolkeeper.zk.codecs.assignments import TopicAssignment
from poolkeeper.zk.codecs.kafka_nodes import TopicNode

NODE = (
    b'{"partitions":{"10":[1,2],"9":[4,1,2]},"topic_id":"gczQTcQlQD2_hh6pPSlgsQ",'
    b'"adding_replicas":{"9":[4]},"removing_replicas":{"9":[2]},"version":3}'
)

ids = st.integers(0, 9) | st.sampled_from([-1, 2**31 - 1, 2**31, 2**70, True, 1.0, "1", None])
keys = st.integers(0, 12).map(str) | st.sampled_from(["-1", "-0", "00", "+1", " 1", "1.0", "a", ""])
lists = st.dictionaries(keys, st.lists(ids, max_size=3) | st.sampled_from([None, 1, {}]))
plain = st.dictionaries(
    st.integers(0, 12).map(str), st.lists(st.integers(0, 9), min_size=1, unique=True)
)
moving = plain | lists | st.none()
bodies = st.fixed_dictionaries(
    {"partitions": plain | lists},
    optional={
        "adding_replicas": moving,
        "removing_replicas": moving,
        "topic_id": st.sampled_from(["gczQTcQlQD2_hh6pPSlgsQ", "é", "\ud800", None, 5]),
        "version": st.sampled_from([1, 3, 99, -1, 2**70, 1.0, "3", None]),
        "unknown": st.none() | lists,
    },
)


def strictly(data: bytes) -> TopicAssignment | str:
    try:
        node = TopicNode.decode(data)
    except Refused as damage:
        return str(damage)
    numbers, replicas = list(node.partitions), list(node.partitions.values())
    known = (node.adding, node.removing, node.topic_id, node.knows_adding)
    return TopicAssignment(numbers, replicas, *known)


def read(data: bytes) -> TopicAssignment | str:
    try:
        return TopicAssignment.decode(data)
    except Refused as damage:
        return str(damage)


def test_an_assignment() -> None:
    assert TopicAssignment.decode(NODE) == TopicAssignment(
        [9, 10], [(4, 1, 2), (1, 2)], {9: (4,)}, {9: (2,)}, "gczQTcQlQD2_hh6pPSlgsQ", True
    )


@given(bodies)
def test_any_body_is_what_a_strict_look_finds(body: dict[str, object]) -> None:
    for text in (json.dumps(body), json.dumps(body, separators=(",", ":"))):
        assert read(text.encode()) == strictly(text.encode())


@given(st.integers(0, len(NODE) - 1), st.binary(max_size=3))
def test_any_bytes_are_what_a_strict_look_finds(place: int, bytes_: bytes) -> None:
    for data in (NODE[:place] + bytes_ + NODE[place:], NODE[:place] + bytes_ + NODE[place + 1 :]):
        assert read(data) == strictly(data)


@pytest.mark.parametrize("odd", [b"1.0", b"1e0", b"10E-1", b"NaN", b"1 2", b"01", b"-0"])
def test_no_number_is_taken_for_an_integer_that_is_none(odd: bytes) -> None:
    data = NODE.replace(b"[1,2]", b"[" + odd + b",2]")
    assert read(data) == strictly(data)
