"""Replica lists by column."""

import numpy as np
import pytest

from poolkeeper.model.columns.replica_lists import distinct


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
