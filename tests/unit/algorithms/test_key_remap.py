"""The share of keys that change partition, counted one by one and as people are told."""

from fractions import Fraction
from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.algorithms.key_remap import moved_share


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        pytest.param(4, 6, Fraction(2, 3), id="half as many again"),
        pytest.param(4, 8, Fraction(1, 2), id="twice as many"),
        pytest.param(12, 24, Fraction(1, 2), id="twice as many of more"),
        pytest.param(3, 4, Fraction(3, 4), id="one more"),
        pytest.param(1, 10, Fraction(9, 10), id="from a single one"),
        pytest.param(6, 6, Fraction(0), id="none more"),
        pytest.param(0, 5, Fraction(0), id="no partitions, no keys"),
    ],
)
def test_the_share_that_changes(before: int, after: int, share: Fraction) -> None:
    assert moved_share(before, after) == share


@examples(60)
@given(st.integers(1, 40), st.integers(1, 40))
def test_it_is_what_one_counts(before: int, after: int) -> None:
    period = lcm(before, after)
    changed = sum(h % before != h % after for h in range(period))
    assert moved_share(before, after) == Fraction(changed, period)
