"""Replica lists by column."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.model.columns.replica_lists import NOBODY, NOWHERE, distinct, places_of


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param([], id="none"),
        pytest.param([3, 1, 1, 3, 0], id="small"),
        pytest.param([2**40, 5, 2**40], id="large"),
        pytest.param([-1, 4, -1, 4, 4], id="negative"),
    ],
)
def test_numbers_are_given_once_in_ascending_order(numbers: list[int]) -> None:
    assert distinct(np.array(numbers, dtype=np.int64)).tolist() == sorted(set(numbers))


@given(
    st.lists(st.integers(-5, 40) | st.sampled_from([NOBODY, 2**62, -(2**62)]), max_size=12),
    st.sets(st.integers(0, 40) | st.sampled_from([-(2**62), -1, 2**40]), max_size=6),
)
def test_the_place_of_an_id_is_that_in_the_order_or_nowhere(
    ids: list[int], among: set[int]
) -> None:
    order = sorted(among)
    expected = [order.index(each) if each in among else NOWHERE for each in ids]
    found = places_of(np.array(ids, dtype=np.int64), np.array(order, dtype=np.int64))
    assert found.tolist() == expected
    twice = np.array([ids, ids], dtype=np.int64)
    assert places_of(twice, np.array(order, dtype=np.int64)).tolist() == [expected, expected]
