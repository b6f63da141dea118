"""Orders by sorting bits are those that comparing gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.planning.problem.grouping import ordered_by

SPANS = (3, 2**16 - 1, 2**16, 2**20, 2**32 - 1, 2**32, 2**50)


@st.composite
def columns(draw: st.DrawFn) -> list[np.ndarray]:
    rows = draw(st.integers(0, 30))
    spans = draw(st.lists(st.sampled_from(SPANS), min_size=1, max_size=4))
    return [
        np.array(
            draw(st.lists(st.integers(-span, span), min_size=rows, max_size=rows)), dtype=np.int64
        )
        for span in spans
    ]


@given(columns())
def test_keys_order_rows_as_comparing_them_does(keys):
    before = [key.copy() for key in keys]
    assert ordered_by(*keys).tolist() == np.lexsort(keys).tolist()
    assert all((key == was).all() for key, was in zip(keys, before, strict=True))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_equal_rows_keep_their_order(kind):
    keys = [np.array(column, dtype=kind) for column in ([2, 1, 1, 2], [5, -7, -7, 5])]
    assert ordered_by(*keys).tolist() == [1, 2, 0, 3]


def test_no_key_orders_nothing():
    assert ordered_by().tolist() == []
