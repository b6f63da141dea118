"""Kafka's replica assignment, against the vectors of Kafka's own tests and the laws behind them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.algorithms.assignments import (
    RackMode,
    add_partitions,
    assign_replicas,
    rack_alternated,
    with_rack_mode,
)
from poolkeeper.errors import Refused

SIX_RACKED = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def plain(*ids):
    return [(broker, None) for broker in ids]


def lists(text, first=0):
    """Read "012 123" as the lists of partitions first, first + 1, …"""
    return {first + n: tuple(map(int, word)) for n, word in enumerate(text.split())}


@pytest.mark.parametrize(
    ("racks", "expected"),
    [
        pytest.param(SIX_RACKED, [0, 3, 1, 5, 4, 2], id="three-racks-of-two"),
        pytest.param(
            {b: r for b, r in SIX_RACKED.items() if b != 5}, [0, 3, 1, 4, 2], id="one-rack-short"
        ),
        pytest.param(
            {1: "a", 2: "a", 3: "b", 4: "a"}, [1, 3, 2, 4], id="an-exhausted-rack-is-skipped"
        ),
        pytest.param({3: "z", 1: "Z", 2: "_"}, [1, 2, 3], id="racks-sort-by-code-unit"),
        pytest.param({1: "\uff00", 2: "\U0001f600"}, [2, 1], id="java-puts-surrogates-first"),
        pytest.param({}, [], id="no-brokers"),
    ],
)
def test_rack_alternated_list(racks, expected):
    assert rack_alternated(racks) == expected


@pytest.mark.parametrize(
    ("brokers", "partitions", "replication_factor", "start", "expected"),
    [
        pytest.param(
            plain(0, 1, 2, 3, 4),
            10,
            3,
            0,
            lists("012 123 234 340 401 023 134 240 301 412"),
            id="the-worked-example-of-five-brokers",
        ),
        pytest.param(
            list(SIX_RACKED.items()),
            7,
            3,
            0,
            lists("031 315 154 542 420 203 042"),
            id="six-brokers-in-three-racks",
        ),
        pytest.param(
            plain(7), 3, 1, 0, lists("7 7 7"), id="one-broker-has-no-others-to-shift-over"
        ),
        pytest.param([(7, "a")], 2, 1, 0, lists("7 7"), id="one-racked-broker"),
        pytest.param(plain(5, 9), 3, 2, 1, lists("95 59 95"), id="start-one-of-two"),
        pytest.param(plain(4, 2), 2, 1, 0, lists("4 2"), id="brokers-count-in-the-order-given"),
    ],
)
def test_assignment_at_creation(brokers, partitions, replication_factor, start, expected):
    found = assign_replicas(brokers, partitions, replication_factor, start=start, shift=start)
    assert found == expected


def test_start_and_shift_are_independent():
    found = assign_replicas(plain(0, 1, 2, 3, 4), 2, 3, start=3, shift=2)
    assert found == lists("312 423")


def test_first_partition_continues_the_sequence():
    whole = assign_replicas(plain(0, 1, 2, 3, 4), 5, 3, start=0, shift=0)
    tail = assign_replicas(plain(0, 1, 2, 3, 4), 3, 3, start=0, shift=0, first_partition=2)
    assert tail == {p: whole[p] for p in (2, 3, 4)}


@pytest.mark.parametrize(
    ("brokers", "partitions", "replication_factor", "message"),
    [
        pytest.param(
            plain(0, 1), 1, 0, "replication_factor: is 0 (expected at least 1)", id="rf-zero"
        ),
        pytest.param(
            plain(0, 1, 2, 3, 4),
            10,
            6,
            "brokers: has 5 (expected at least 6, the replication factor)",
            id="more-replicas-than-brokers",
        ),
        pytest.param(
            plain(7),
            1,
            2,
            "brokers: has 1 (expected at least 2, the replication factor)",
            id="a-single-broker",
        ),
        pytest.param(
            [],
            1,
            1,
            "brokers: has 0 (expected at least 1, the replication factor)",
            id="no-broker-at-all",
        ),
        pytest.param(
            plain(0, 1), 0, 1, "partitions: is 0 (expected at least 1)", id="no-partitions"
        ),
        pytest.param(
            plain(0, 1, 0), 1, 1, "brokers: has 0 twice (expected each once)", id="a-broker-twice"
        ),
        pytest.param(
            [(0, "a"), (1, "a"), (2, "b"), (3, None), (4, "b")],
            10,
            3,
            "brokers: has no rack for 3 (expected one for all brokers or for none)",
            id="a-rack-missing-on-one-of-five",
        ),
    ],
)
def test_assignment_refused(brokers, partitions, replication_factor, message):
    with pytest.raises(Refused) as refused:
        assign_replicas(brokers, partitions, replication_factor, start=0, shift=0)
    assert str(refused.value) == message


@pytest.mark.parametrize("wrong", [{"start": -1}, {"shift": -1}, {"first_partition": -1}])
def test_random_numbers_must_be_drawn_by_the_caller(wrong):
    with pytest.raises(Refused, match="must not be < 0"):
        assign_replicas(plain(0, 1), 1, 1, **{"start": 0, "shift": 0, **wrong})


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (RackMode.ENFORCED, [(0, "a"), (1, None)]),
        (RackMode.SAFE, [(0, None), (1, None)]),
        (RackMode.DISABLED, [(0, None), (1, None)]),
    ],
)
def test_rack_mode_of_a_mix(mode, expected):
    assert with_rack_mode([(0, "a"), (1, None)], mode) == expected


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (RackMode.ENFORCED, [(0, "a"), (1, "b")]),
        (RackMode.SAFE, [(0, "a"), (1, "b")]),
        (RackMode.DISABLED, [(0, None), (1, None)]),
    ],
)
def test_rack_mode_of_full_racks(mode, expected):
    assert with_rack_mode([(0, "a"), (1, "b")], mode) == expected


RACKED_FOUR = [(0, "a"), (1, "a"), (2, "b"), (3, "b")]


@pytest.mark.parametrize(
    ("brokers", "existing", "new_total", "expected"),
    [
        pytest.param(
            plain(0, 1, 2, 3),
            {0: (2, 3, 0, 1)},
            7,
            lists("3201 0312 1023 2301 3012 0123", first=1),
            id="one-partition-on-all-brokers-grows-to-seven",
        ),
        pytest.param(
            plain(0, 1, 2, 3), {0: (1, 2)}, 3, lists("20 31", first=1), id="grows-to-three"
        ),
        pytest.param(
            plain(3, 1, 0, 2), {0: (1, 2)}, 3, lists("20 31", first=1), id="in-any-broker-order"
        ),
        pytest.param(
            plain(1, 4, 6), {0: (3,)}, 2, lists("6", first=1), id="leader-gone-next-id-counts"
        ),
        pytest.param(
            plain(1, 4, 6), {0: (9,)}, 2, lists("4", first=1), id="leader-above-all-counts-as-0"
        ),
        # Alternated: 0 2 1 3. Broker 2 has index 2 by id, so p1 starts at position 3: broker 3.
        pytest.param(
            RACKED_FOUR, {0: (2, 0)}, 2, lists("31", first=1), id="id-index-into-rack-list"
        ),
    ],
)
def test_added_partitions(brokers, existing, new_total, expected):
    assert add_partitions(brokers, existing, new_total) == expected


def test_kafka_0_8_takes_the_broker_id_for_the_index():
    brokers = plain(10, 20, 30)
    assert add_partitions(brokers, {0: (20, 30)}, 2) == {1: (30, 20)}
    assert add_partitions(brokers, {0: (20, 30)}, 2, start_at_broker_id=True) == {1: (10, 20)}


def test_manual_lists_are_taken_as_they_are():
    manual = {2: [3, 0], 1: [2, 3]}
    assert add_partitions(plain(0, 1, 2, 3), {0: (0, 1)}, 3, manual) == {1: (2, 3), 2: (3, 0)}


@pytest.mark.parametrize(
    ("existing", "new_total", "manual", "message"),
    [
        pytest.param(
            {1: (0, 1)},
            3,
            None,
            "existing: has partitions 1 (expected 0 and",
            id="partition-0-missing",
        ),
        pytest.param(
            {0: (0,), 2: (1,)}, 4, None, "existing: has partitions 0, 2 (expected 0 and", id="a-gap"
        ),
        pytest.param(
            {0: (0, 1)},
            1,
            None,
            "new_total: is 1 (expected more than 1, as partitions can only",
            id="no-growth",
        ),
        pytest.param(
            {0: (0, 1), 1: (1, 0)}, 1, None, "new_total: is 1 (expected more than 2", id="shrinking"
        ),
        pytest.param(
            {0: ()},
            2,
            None,
            "existing.0: is empty (expected the replicas of",
            id="nothing-to-count",
        ),
        pytest.param(
            {0: (0, 1, 2, 3, 4)},
            2,
            None,
            "brokers: has 4 (expected at least 5",
            id="too-few-brokers",
        ),
        pytest.param(
            {0: (0, 1)}, 2, {1: []}, "manual.1: has 0 replicas (expected 2", id="manual-empty"
        ),
        pytest.param(
            {0: (0, 1)},
            2,
            {1: [2, 2]},
            "manual.1: names a broker twice: 2, 2 (expected",
            id="manual-duplicate",
        ),
        pytest.param(
            {0: (0, 1)},
            2,
            {1: [2, 9]},
            "manual.1: names brokers that are absent: 9 (expected",
            id="manual-dead",
        ),
        pytest.param(
            {0: (0, 1)},
            2,
            {1: [0, 1, 2]},
            "manual.1: has 3 replicas (expected 2, as partition 0)",
            id="manual-of-another-rf",
        ),
        pytest.param(
            {0: (0, 1)}, 2, {1: [0]}, "manual.1: has 1 replica (expected 2", id="manual-of-rf-1"
        ),
        pytest.param(
            {0: (0, 1)},
            3,
            {1: [0, 1]},
            "manual: has partitions 1 (expected 1 to 2)",
            id="manual-for-too-few",
        ),
        pytest.param(
            {0: (0, 1)},
            2,
            {0: [0, 1], 1: [1, 2]},
            "manual: has partitions 0, 1 (expected 1 alone)",
            id="manual-for-present-ones",
        ),
    ],
)
def test_adding_refused(existing, new_total, manual, message):
    with pytest.raises(Refused) as refused:
        add_partitions(plain(0, 1, 2, 3), existing, new_total, manual)
    assert message in str(refused.value)


def test_nine_partitions_over_all_brokers_and_over_one_pool():
    """Over nine brokers each leads one of the nine; within a pool of three each leads three."""
    everywhere = assign_replicas(plain(*range(1, 10)), 9, 1, start=4, shift=0)
    pool = assign_replicas(plain(4, 5, 6), 9, 1, start=1, shift=0)
    assert Counter(r for (r,) in everywhere.values()) == dict.fromkeys(range(1, 10), 1)
    assert Counter(r for (r,) in pool.values()) == {4: 3, 5: 3, 6: 3}


NO_RACKS = st.none()


@st.composite
def requests(draw, racks=NO_RACKS):
    ids = sorted(draw(st.sets(st.integers(0, 200), min_size=1, max_size=12)))
    brokers = [(broker, draw(racks)) for broker in ids]
    return {
        "brokers": brokers,
        "partitions": draw(st.integers(1, 40)),
        "replication_factor": draw(st.integers(1, len(ids))),
        "start": draw(st.integers(0, len(ids) - 1)),
        "shift": draw(st.integers(0, len(ids) - 1)),
        "first_partition": draw(st.integers(0, 30)),
    }


@given(st.one_of(requests(), requests(racks=st.sampled_from("abcd"))))
def test_lists_are_distinct_brokers_and_leaders_are_even(request):
    """Every partition has RF distinct brokers; leaders per broker differ by one at most."""
    found = assign_replicas(**request)
    first = request["first_partition"]
    assert list(found) == list(range(first, first + request["partitions"]))
    ids = {broker for broker, _ in request["brokers"]}
    for replicas in found.values():
        assert len(replicas) == len(set(replicas)) == request["replication_factor"]
        assert set(replicas) <= ids
    leaders = Counter(dict.fromkeys(ids, 0))
    leaders.update(replicas[0] for replicas in found.values())
    assert max(leaders.values()) - min(leaders.values()) <= 1


@given(requests(racks=st.sampled_from("abcd")))
def test_replicas_lie_on_as_many_racks_as_there_are(request):
    """One replica per rack when RF <= racks, and every rack is used when RF >= racks."""
    racks = dict(request["brokers"])
    count = len(set(racks.values()))
    for replicas in assign_replicas(**request).values():
        used = {racks[replica] for replica in replicas}
        assert len(used) == min(count, request["replication_factor"])


@given(st.dictionaries(st.integers(0, 99), st.sampled_from("abcde")))
def test_the_alternated_list_names_every_broker_once(racks):
    assert sorted(rack_alternated(racks)) == sorted(racks)
