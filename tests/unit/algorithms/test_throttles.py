"""Throttle lists: what Kafka's validator passes, and what Kafka 2.6 and later writes for moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.algorithms.reassignments import ReplicaAssignment
from poolkeeper.algorithms.throttles import (
    Copying,
    ReplicaList,
    ThrottleLists,
    copying,
    is_valid,
    list_value,
    parse,
    throttle_lists,
)
from poolkeeper.errors import Refused
from poolkeeper.model.topology import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("", ReplicaList(), id="empty"),
        pytest.param(" ", ReplicaList(), id="a-blank"),
        pytest.param("*", ReplicaList(every=True), id="all"),
        pytest.param("* ", ReplicaList(every=True), id="all-and-a-blank"),
        pytest.param("100:10", ReplicaList(frozenset({(100, 10)})), id="one-pair"),
        pytest.param("0:1,1:2", ReplicaList(frozenset({(0, 1), (1, 2)})), id="two-pairs"),
        pytest.param(
            " 0:1,1:2  ", ReplicaList(frozenset({(0, 1), (1, 2)})), id="blanks-at-the-ends"
        ),
        pytest.param(
            "0:1 , 1:2", ReplicaList(frozenset({(0, 1), (1, 2)})), id="blanks-around-elements"
        ),
        pytest.param("100:0,", ReplicaList(frozenset({(100, 0)})), id="an-empty-element"),
        pytest.param(",", ReplicaList(), id="only-empty-elements"),
    ],
)
def test_valid_lists(value, expected):
    assert is_valid(value)
    assert parse(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("100", id="no-broker"),
        pytest.param("100:", id="broker-missing"),
        pytest.param(":1", id="partition-missing"),
        pytest.param("100:0,10   ", id="second-without-broker"),
        pytest.param("100:0,10:", id="second-broker-missing"),
        pytest.param("0 :1", id="blank-within-a-pair"),
        pytest.param("-1:0", id="negative"),
        pytest.param("a:b", id="letters"),
        pytest.param("0:1:2", id="three-numbers"),
        pytest.param("**", id="two-stars"),
        pytest.param("*,0:1", id="star-first"),
        pytest.param("0:1,*", id="star-last"),
        pytest.param("\u0663:1", id="a-digit-of-another-script"),
        pytest.param("0:1;1:2", id="semicolons"),
    ],
)
def test_invalid_lists(value):
    assert not is_valid(value)
    with pytest.raises(Refused) as refused:
        parse(value)
    assert str(refused.value) == (
        f"{value!r} is no list of replicas (expected partition:broker pairs such as 0:1,1:2, or *)"
    )


def test_a_list_with_a_number_that_nothing_has_is_refused():
    value = f"0:1,{'9' * 5000}:1"
    assert is_valid(value)
    with pytest.raises(Refused, match="has a number that no partition or broker has"):
        parse(value)


def test_what_a_list_covers():
    assert ReplicaList(every=True).covers(7, 7)
    some = parse("0:1,1:2")
    assert [some.covers(0, 1), some.covers(0, 2), some.covers(1, 2)] == [True, False, True]
    assert (str(some), str(ReplicaList(every=True)), str(ReplicaList())) == ("0:1,1:2", "*", "")


def test_pairs_sort_as_text():
    assert list_value([(2, 1), (10, 1), (0, 1), (2, 1)]) == "0:1,10:1,2:1"


@pytest.mark.parametrize(
    ("running", "proposed", "current", "expected"),
    [
        pytest.param(
            {},
            {T0: (1, 2)},
            {T0: (1, 3)},
            ThrottleLists({"t": "0:1,0:3"}, {"t": "0:2"}, (1, 2, 3)),
            id="one-replica-moves",
        ),
        pytest.param(
            {},
            {T0: (3, 1)},
            {T0: (1, 3)},
            ThrottleLists({"t": "0:1,0:3"}, {"t": ""}, (1, 3)),
            id="a-reorder-lists-its-leaders-and-no-follower",
        ),
        pytest.param(
            {T0: ReplicaAssignment((4, 1, 2), (4,), (2,))},
            {},
            {},
            ThrottleLists({"t": "0:1,0:2"}, {"t": "0:4"}, (1, 2, 4)),
            id="a-move-under-way",
        ),
        pytest.param(
            {T0: ReplicaAssignment((4, 1, 2), (4,), (2,))},
            {T0: (5, 1)},
            {T0: (4, 1, 2)},
            ThrottleLists({"t": "0:1,0:2"}, {"t": "0:5"}, (1, 2, 5)),
            id="a-new-target-keeps-the-sources-of-the-move-under-way",
        ),
        pytest.param(
            {U0: ReplicaAssignment((9, 8), (9,), (8,))},
            {T1: (2, 10), T0: (2, 3)},
            {T0: (1, 2), T1: (1, 2)},
            ThrottleLists(
                {"t": "0:1,0:2,1:1,1:2", "u": "0:8"},
                {"t": "0:3,1:10", "u": "0:9"},
                (1, 2, 3, 8, 9, 10),
            ),
            id="two-topics",
        ),
        pytest.param({}, {}, {}, ThrottleLists({}, {}, ()), id="nothing"),
    ],
)
def test_lists_for_moves(running, proposed, current, expected):
    assert throttle_lists(copying(running, proposed, current)) == expected


def test_a_partition_without_replicas_has_no_source():
    with pytest.raises(Refused, match=r"^current\.t-0: is missing"):
        copying({}, {T0: (1,)}, {})


replicas = st.lists(st.integers(0, 30), unique=True, min_size=1, max_size=5).map(tuple)
moves = st.dictionaries(st.integers(0, 200), st.tuples(replicas, replicas), max_size=20)


@given(moves)
def test_every_list_is_valid_and_throttles_exactly_the_move(moves):
    """What is written parses back to: leaders = present replicas, followers = target - present."""
    current = {TopicPartition("t", p): source for p, (source, _) in moves.items()}
    proposed = {TopicPartition("t", p): target for p, (_, target) in moves.items()}
    copies = copying({}, proposed, current)
    found = throttle_lists(copies)
    leaders = {(p, b) for p, (source, _) in moves.items() for b in source}
    followers = {(p, b) for p, (s, target) in moves.items() for b in target if b not in s}
    assert parse(found.leader.get("t", "")).pairs == leaders
    assert parse(found.follower.get("t", "")).pairs == followers
    assert all(c == Copying(c.sources, c.destinations - c.sources) for c in copies.values())
