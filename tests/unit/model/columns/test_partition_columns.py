"""Rows of columns are partitions like any other."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.columns.partition_columns import (
    BLOCK_ROWS,
    PartitionColumns,
    TopicPartitions,
    columns_of,
    partitions_of,
)
from poolkeeper.model.columns.partition_queries import (
    brokers_of,
    factors_of,
    last_of,
    leaders_of,
    led_by_others,
    longest_of,
    not_fully_in_sync,
    numbers_of,
    resting_lists,
    unsettled_partitions,
)
from poolkeeper.model.columns.replica_lists import ReplicaLists, whole_numbers
from poolkeeper.model.topology import Partition, Topic

LISTS = st.lists(st.integers(0, 9), max_size=4).map(tuple)
NUMBERS = st.none() | st.integers(-1, 2**62)
PARTITIONS = st.builds(
    Partition,
    st.integers(0, 99),
    LISTS,
    LISTS,
    LISTS,
    NUMBERS,
    st.none() | LISTS,
    NUMBERS,
    NUMBERS,
    st.none() | st.floats(0, 1e12),
    st.none() | st.dictionaries(st.integers(0, 9), st.sampled_from(("/a", "/b"))),
)
TOPICS = st.lists(st.lists(PARTITIONS, max_size=4).map(tuple), max_size=4)


def in_columns(topics: list[tuple[Partition, ...]]) -> list[TopicPartitions]:
    columns = PartitionColumns.of([each for topic in topics for each in topic])
    ends = np.cumsum([len(topic) for topic in topics]).tolist()
    begins = [0, *ends]
    return [TopicPartitions(columns, *rows) for rows in zip(begins[:-1], ends, strict=True)]


def read(columns: PartitionColumns) -> tuple[Partition, ...]:
    return columns.partitions(0, len(columns))


@examples(60)
@given(TOPICS)
def test_rows_equal_the_partitions_that_they_were_made_of(topics):
    rows = in_columns(topics)
    assert rows == topics
    assert topics == rows
    assert [list(each) for each in rows] == [list(each) for each in topics]
    assert [numbers_of(each) for each in rows] == [numbers_of(each) for each in topics]
    assert list(map(len, rows)) == list(map(len, topics))
    assert [Topic("t", each) for each in rows] == [Topic("t", each) for each in topics]
    assert pickle.loads(pickle.dumps(rows)) == topics


@examples(60)
@given(TOPICS, TOPICS, st.randoms())
def test_rows_are_equal_exactly_where_partitions_are(topics, others, dice):
    rows = in_columns(topics)
    again = in_columns([*others, *topics])[len(others) :]
    assert rows == again
    for one, other in zip(rows, dice.sample(again, len(again)), strict=True):
        assert (one == other) == (tuple(one) == tuple(other))
        assert (tuple(one) == other) == (tuple(one) == tuple(other))


def test_a_zero_is_a_zero_whatever_its_sign():
    rows = [in_columns([(Partition(0, (1,), in_bytes_per_s=rate),)])[0] for rate in (0.0, -0.0)]
    assert rows[0] == rows[1]


@pytest.mark.slow
@examples(60)
@given(st.lists(TOPICS, max_size=4), st.randoms())
def test_columns_of_several_readings_are_those_of_their_partitions(readings, dice):
    topics = [topic for reading in readings for topic in reading]
    rows = [row for reading in readings for row in in_columns(reading)]
    order = dice.sample(range(len(topics)), len(topics))
    expected = tuple(each for at in order for each in topics[at])
    assert read(columns_of([rows[at] for at in order])) == expected


def test_partitions_of_small_topics_are_made_in_blocks_and_each_topic_has_its_own():
    topics = [tuple(Partition(n, (topic, 9)) for n in range(7)) for topic in range(1000)]
    topics.insert(5, tuple(Partition(n, (7,)) for n in range(BLOCK_ROWS + 9)))
    assert in_columns(topics) == topics


@examples(60)
@given(TOPICS, st.randoms())
def test_columns_of_topics_are_those_of_their_partitions(topics, dice):
    rows = in_columns(topics)
    order = dice.sample(range(len(topics)), dice.randint(0, len(topics)))
    for given_topics in (rows, [rows[at] for at in order], [*rows[:1], *topics[1:]]):
        expected = tuple(each for topic in given_topics for each in topic)
        assert read(columns_of(given_topics)) == expected


@examples(60)
@given(TOPICS, st.randoms())
def test_single_partitions_are_found_in_either_form(topics, dice):
    places = [(t, p) for t, topic in enumerate(topics) for p in range(len(topic))]
    chosen = dice.sample(places, dice.randint(0, len(places)))
    topic, position = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    for form in (topics, in_columns(topics)):
        found = partitions_of(form, topic, position)
        assert read(found) == tuple(topics[t][p] for t, p in chosen)


@examples(60)
@given(st.lists(LISTS, max_size=8), st.randoms())
def test_lists_are_taken_and_cut(lists, dice):
    found = ReplicaLists.of(lists)
    first = dice.randint(0, len(lists))
    last = dice.randint(first, len(lists))
    rows = [dice.randrange(len(lists)) for _ in lists]
    assert found.tuples(first, last) == lists[first:last]
    assert found.take(np.array(rows, dtype=np.int64)).tuples() == [lists[row] for row in rows]
    assert [found[row] for row in range(len(found))] == lists


@pytest.mark.parametrize(
    ("value", "error"),
    [
        pytest.param(2**70, OverflowError, id="more-than-64-bits"),
        pytest.param(2**63, OverflowError, id="one-too-many"),
        pytest.param(1.5, TypeError, id="a-fraction"),
        pytest.param("1", TypeError, id="a-text"),
        pytest.param(None, TypeError, id="nothing"),
        pytest.param((), TypeError, id="a-list"),
    ],
)
def test_what_is_no_whole_number_is_never_one_in_a_column(value, error):
    with pytest.raises(error):
        whole_numbers([1, value])


@pytest.mark.parametrize("by_column", [False, True], ids=["objects", "columns"])
def test_what_is_asked_of_a_topic_needs_no_objects(by_column: bool) -> None:
    found = (
        Partition(0, (1, 2), leader=1, isr=(1, 2)),
        Partition(1, (2, 3, 4), leader=None, isr=(2,)),
        Partition(7, (3,), leader=-1),
    )
    rows = TopicPartitions(PartitionColumns.of(found), 0, 3) if by_column else found
    asked = (
        leaders_of(rows),
        longest_of(rows),
        last_of(rows),
        list(unsettled_partitions(rows, {1, 2})),
    )
    assert asked == ([1, None, -1], 3, (7, (3,)), list(found))
    assert longest_of(rows[:0]) == 0


def test_partitions_that_are_led_and_in_sync_are_settled() -> None:
    columns = PartitionColumns.of([Partition(0, (1, 2), leader=1, isr=(1, 2))])
    rows = TopicPartitions(columns, 0, 1)
    assert [list(unsettled_partitions(rows, live)) for live in ({1}, {2})] == [[], list(rows)]


@pytest.mark.slow
@examples(200)
@given(TOPICS)
def test_only_plainly_whole_partitions_are_left_out(topics):
    for topic, rows in zip(topics, in_columns(topics), strict=True):
        assert list(not_fully_in_sync(topic)) == list(topic)
        assert list(not_fully_in_sync(rows)) == [
            each
            for each in topic
            if each.moving
            or each.leader == -1
            or not each.replicas
            or each.isr is None
            or sorted(each.isr) != sorted(each.replicas)
        ]


@pytest.mark.slow
@examples(200)
@given(TOPICS, st.booleans())
def test_resting_lists_are_those_of_partitions_that_do_not_move(topics, whole):
    if whole:
        topics = [
            tuple(
                each._replace(partition=n, adding=(), removing=()) for n, each in enumerate(topic)
            )
            for topic in topics
        ]
    for topic, rows in zip(topics, in_columns(topics), strict=True):
        settled = all(not p.moving and p.partition == n and p.replicas for n, p in enumerate(topic))
        expected = [each.replicas for each in topic] if settled else None
        assert resting_lists(rows) == expected
        assert resting_lists(topic) is None


@examples(100)
@given(TOPICS)
def test_who_is_led_by_another(topics):
    for topic, rows in zip(topics, in_columns(topics), strict=True):
        expected = [p.partition for p in topic if not p.replicas or p.leader != p.replicas[0]]
        assert led_by_others(topic) == led_by_others(rows) == expected


@examples(60)
@given(TOPICS)
def test_factors_and_brokers_are_those_of_the_partitions(topics):
    rows = in_columns(topics)
    for topic, own in zip(topics, rows, strict=True):
        expected = [len(each.replicas) - len(each.removing) for each in topic]
        assert factors_of(topic) == factors_of(own) == expected
    expected_brokers = {broker for topic in topics for each in topic for broker in each.replicas}
    assert brokers_of(topics) == brokers_of(rows) == expected_brokers
    assert brokers_of([*rows[:1], *topics[1:]]) == expected_brokers
