"""Lists compared slot by slot and by order give the same."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.columns import wide_lists
from poolkeeper.model.columns.move_columns import brokers_not_in
from poolkeeper.model.columns.replica_lists import NOBODY, Ints
from poolkeeper.model.columns.wide_lists import is_in_row, repeats

BROKERS = st.sampled_from([NOBODY, -1, 0, 1, 2, 3, 2**31 - 1])


@st.composite
def wide_pairs(draw: st.DrawFn) -> tuple[Ints, Ints]:
    rows = draw(st.integers(1, 5))

    def lists() -> Ints:
        slots = draw(st.integers(1, 5))
        row = st.lists(BROKERS, min_size=slots, max_size=slots)
        return np.array(draw(st.lists(row, min_size=rows, max_size=rows)), dtype=np.int64)

    return lists(), lists()


@pytest.mark.parametrize("compared_max", [0, 10_000])
@examples(100)
@given(pair=wide_pairs())
def test_values_are_found_within_rows(compared_max: int, pair: tuple[Ints, Ints]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(wide_lists, "COMPARED_MAX", compared_max)
        these, those = pair
        rows = list(zip(these.tolist(), those.tolist(), strict=True))
        assert is_in_row(these, those).tolist() == [
            [v in other for v in own] for own, other in rows
        ]
        for above in (NOBODY, -1):
            kept = [[v for v in own if v > above] for own in these.tolist()]
            assert repeats(these, above).tolist() == [len(set(v)) < len(v) for v in kept]
        assert [
            [v for v in own if v != NOBODY] for own in brokers_not_in(these, those).tolist()
        ] == [sorted(set(own) - set(other) - {NOBODY}) for own, other in rows]


@pytest.mark.slow
def test_a_list_of_thousands_is_compared_at_once() -> None:
    lists = np.full((400, 5000), NOBODY)
    lists[0] = np.arange(5000)
    begin = time.process_time()
    assert not repeats(lists).any()
    assert is_in_row(lists[:, ::-1], lists).all()
    assert (brokers_not_in(lists, lists) == NOBODY).all()
    assert time.process_time() - begin < 20  # slot by slot it takes minutes
