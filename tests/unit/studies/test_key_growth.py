"""More partitions and keys: by arithmetic, and counted for real keys."""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.algorithms.partitioners import key_partition, murmur2, to_positive
from poolkeeper.studies import key_growth
from poolkeeper.studies.key_growth import (
    KeyCounts,
    PartitionGrowth,
    count_keys,
    is_compacted,
    skew,
)
from poolkeeper.studies.key_hashes import positive_hashes

KEYS = st.lists(st.binary(max_size=13), max_size=40)


@examples(60)
@given(KEYS)
def test_the_hashes_of_many_keys_are_those_of_each(keys: list[bytes]) -> None:
    assert positive_hashes(keys).tolist() == [to_positive(murmur2(key)) for key in keys]


@examples(60)
@given(KEYS, st.integers(1, 9), st.integers(1, 9), st.integers(1, 7))
def test_keys_are_counted_as_one_would(
    keys: list[bytes], before: int, after: int, batch: int
) -> None:
    batches = (keys[place : place + batch] for place in range(0, len(keys), batch))
    moved = [k for k in keys if key_partition(k, before) != key_partition(k, after)]
    distinct = set(moved)
    assert count_keys(batches, before, after) == KeyCounts(
        by_partition(keys, before),
        by_partition(keys, after),
        len(moved),
        len(set(keys)),
        len(distinct),
        by_partition(sorted(distinct), before),
    )


def by_partition(keys: Sequence[bytes], partitions: int) -> tuple[int, ...]:
    places = [key_partition(key, partitions) for key in keys]
    return tuple(places.count(number) for number in range(partitions))


def test_the_measured_share_is_near_the_one_of_arithmetic() -> None:
    keys = [b"customer-%d" % number for number in range(60_000)]
    counts = count_keys([keys], 4, 6)
    assert counts.keys_moved == counts.records_moved
    assert counts.records_moved / counts.records == pytest.approx(2 / 3, abs=0.01)


def test_too_many_keys_are_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_growth, "DISTINCT_MAX", 10)
    counts = count_keys([[b"%d" % n for n in range(11)]] * 2, 2, 3)
    assert (counts.records, counts.keys, counts.keys_moved, counts.left) == (22, None, None, None)
    assert sum(counts.records_after) == 22


@pytest.mark.parametrize(
    ("before", "after", "better"),
    [
        pytest.param(4, 6, 8, id="the next multiple moves fewer"),
        pytest.param(4, 8, None, id="it is a multiple"),
        pytest.param(1, 5, None, id="all are multiples of one"),
        pytest.param(6, 10, 12, id="common factors do not suffice"),
    ],
)
def test_which_number_moves_fewer(before: int, after: int, better: int | None) -> None:
    assert PartitionGrowth("t", before, after).better == better


def test_the_share_of_a_growth() -> None:
    assert PartitionGrowth("t", 4, 6).moved == Fraction(2, 3)


@pytest.mark.parametrize(
    ("counts", "factor"), [((4, 4), 1.0), ((6, 2), 1.5), ((0, 0), 1.0), ((0, 9, 0), 3.0)]
)
def test_how_uneven_counts_are(counts: tuple[int, ...], factor: float) -> None:
    assert skew(counts) == factor


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (None, None),
        ({}, False),
        ({"cleanup.policy": "delete"}, False),
        ({"cleanup.policy": "compact"}, True),
        ({"cleanup.policy": "delete, compact"}, True),
    ],
)
def test_whether_a_topic_is_compacted(config: dict[str, str] | None, expected: bool | None) -> None:
    assert is_compacted(config) is expected
