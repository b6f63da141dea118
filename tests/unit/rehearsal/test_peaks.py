"""Peaks are means over ten seconds, whenever somebody looks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.rehearsal.peaks import CELL_S, WINDOW_S, Peaks

PIECES = st.lists(st.tuples(st.integers(1, 40_000), st.integers(0, 1000)), min_size=1, max_size=30)
"""Milliseconds, and the rate that holds for so long."""


def peak(pieces: list[tuple[float, float]], before: float = 0.0, after: float = 0.0) -> float:
    found, at_s = Peaks(np.array([before])), 0.0
    for seconds, rate in pieces:
        at_s += seconds
        found.add(at_s, np.array([rate]))
    found.end(np.array([after]))
    return float(found.highest[0])


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        pytest.param([(600.0, 7.0)], 7.0, id="a-rate-that-holds"),
        pytest.param([(30.0, 0.0), (1.0, 50.0), (30.0, 0.0)], 5.0, id="a-burst-of-a-second"),
        pytest.param([(30.0, 1.0), (0.001, 1e4), (30.0, 1.0)], 2.0, id="a-moment"),
        pytest.param([(4.0, 5.0)], 2.0, id="shorter-than-the-window"),
        pytest.param([(5.5, 0.0), (10.0, 5.0), (9.0, 0.0)], 4.75, id="between-two-cells"),
        pytest.param([(1e9, 1.0), (0.5, 21.0), (1e9, 1.0)], 2.0, id="after-many-years"),
        pytest.param(
            [(9.0, 0.0), (1.0, 90.0), (1e6, 2.0)], 10.8, id="what-went-before-a-long-rest"
        ),
    ],
)
def test_the_peak(pieces: list[tuple[float, float]], wanted: float) -> None:
    assert peak(pieces) == pytest.approx(wanted, rel=1e-3)


def test_what_was_before_counts_as_long_as_it_holds() -> None:
    assert peak([(60.0, 3.0)], before=3.0) == pytest.approx(3.0)
    assert peak([(5.0, 5.0)], before=3.0) == pytest.approx(4.0)


@given(PIECES, st.lists(st.integers(1, 400_000), max_size=30))
def test_looks_change_nothing(pieces: list[tuple[int, int]], looks: list[int]) -> None:
    ends = np.cumsum([ms for ms, _ in pieces]).tolist()
    moments = sorted({*ends, *(look for look in looks if look < ends[-1])})
    looked, at_ms = [], 0
    for moment in moments:
        rate = next(r for end, (_, r) in zip(ends, pieces, strict=True) if moment <= end)
        looked.append(((moment - at_ms) / 1000, float(rate)))
        at_ms = moment
    plain = [(ms / 1000, float(rate)) for ms, rate in pieces]
    assert peak(looked) == pytest.approx(peak(plain), rel=1e-6, abs=1e-6)


@given(PIECES)
def test_it_is_the_highest_of_all_windows(pieces: list[tuple[int, int]]) -> None:
    each_ms = np.concatenate([np.full(ms, rate, dtype=float) for ms, rate in pieces])
    cell = CELL_S * 1000
    cells = np.append(each_ms, np.zeros(-len(each_ms) % cell)).reshape(-1, cell).mean(axis=1)
    span = WINDOW_S // CELL_S
    sums = np.convolve(np.append(np.zeros(span - 1), cells), np.ones(span), "valid")
    assert peak([(ms / 1000, float(r)) for ms, r in pieces]) == pytest.approx(
        sums.max() / span, rel=1e-3, abs=1.0
    )


def test_what_goes_on_after_the_end_counts() -> None:
    assert peak([(600.0, 1.0), (0.5, 6.0)], after=6.0) == pytest.approx(6.0)
