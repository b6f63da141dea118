"""Hashes of keys, and partitions of records, against the vectors of Kafka's own tests."""

import pytest

from poolkeeper.algorithms.partitioners import (
    LoadFrequencies,
    key_partition,
    load_frequencies,
    murmur2,
    round_robin,
    to_positive,
)
from poolkeeper.errors import Refused

LONG = "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8"


@pytest.mark.parametrize(
    ("key", "hashed", "partitions"),
    [
        ("21", -973932308, (0, 0, 0, 40)),
        ("foobar", -790332482, (0, 6, 6, 16)),
        ("a-little-bit-long-string", -985981536, (2, 2, 8, 12)),
        ("a-little-bit-longer-string", -1486304829, (2, 9, 11, 19)),
        pytest.param(LONG, -58897971, (2, 7, 5, 27), id="48-bytes"),
        ("abc", 479470107, (0, 7, 3, 7)),
        pytest.param("", 275646681, (0, 1, 9, 31), id="an-empty-key-is-a-key"),
    ],
)
def test_a_key_has_a_hash_and_its_partitions(key, hashed, partitions):
    data = key.encode()
    assert murmur2(data) == hashed
    assert tuple(key_partition(data, count) for count in (3, 10, 12, 50)) == partitions


@pytest.mark.parametrize(
    ("number", "positive"),
    [(0, 0), (7, 7), (-1, 2**31 - 1), (-(2**31), 0), (2**31 - 1, 2**31 - 1)],
)
def test_positive_is_without_the_sign_bit(number, positive):
    assert to_positive(number) == positive


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [
        pytest.param([(1, False), (2, True), (0, True)], [2, 0, 2, 0], id="in-metadata-order"),
        pytest.param([(5, False), (7, False)], [0, 1, 0, 1], id="no-leader-numbers-not-ids"),
        pytest.param([(5, True)], [5, 5, 5, 5], id="one-partition"),
    ],
)
def test_round_robin(partitions, expected):
    assert round_robin(partitions, 4) == expected


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        pytest.param(4, [1, 2, 0, 1], id="in-the-middle"),
        pytest.param(-1, [1, 0, 1, 2], id="a-negative-one-without-its-sign-bit"),
        pytest.param(2**31 - 1, [1, 0, 1, 2], id="the-count-overflows"),
        pytest.param(-(2**31), [0, 1, 2, 0], id="the-least-number"),
    ],
)
def test_round_robin_of_old_producers_starts_anywhere(start, expected):
    assert round_robin([(0, True), (1, True), (2, True)], 4, start=start) == expected


def test_round_robin_needs_a_partition():
    with pytest.raises(Refused, match=r"^partitions: is empty"):
        round_robin([], 0)


@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        pytest.param(
            [5, 0, 3, 0, 1], LoadFrequencies((1, 6, 3, 6, 5), (1, 7, 10, 16, 21)), id="kafkas-own"
        ),
        pytest.param([0, 3, 1], LoadFrequencies((4, 1, 3), (4, 5, 8)), id="three"),
        pytest.param([2, 2, 2], None, id="all-alike-are-drawn-evenly"),
        pytest.param([4], None, id="one-partition"),
        pytest.param([], None, id="no-partitions"),
    ],
)
def test_load_frequencies(queues, expected):
    assert load_frequencies(queues) == expected


def test_sums_must_fit_into_32_bits():
    assert load_frequencies([2**31 - 2, 2**31 - 3]).cumulative == (1, 3)
    with pytest.raises(Refused, match=r"^queue_sizes: give frequencies of 2147483650 in all"):
        load_frequencies([2**31 - 2, 2**31 - 2, 2**31 - 3, 1])
