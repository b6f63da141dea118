import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.load.time_series import HistoryWindow, Samples, days_to_full, figures

HOUR_S = 3600
WINDOW = HistoryWindow(
    end_ms=10 * HOUR_S * 1000, length_s=10 * HOUR_S, step_s=HOUR_S, coverage_min=0.5
)


def at(hour: float) -> int:
    return int(hour * HOUR_S * 1000)


def made(
    *rows: tuple[int, float, float], latest: bool = False, window: HistoryWindow = WINDOW
) -> dict:
    """Rows (series, hour, value) to figures by series."""
    series, hours, values = zip(*rows, strict=True) if rows else ((), (), ())
    samples = Samples(
        np.array(series, dtype=np.int64),
        np.array([at(hour) for hour in hours], dtype=np.int64),
        np.array(values, dtype=np.float64),
    )
    found = figures(samples, window, latest=latest)
    names = [field.name for field in fields(found) if field.name != "series"]
    columns = [getattr(found, name).tolist() for name in names]
    return {
        key: {n: None if math.isnan(v) else v for n, v in zip(names, row, strict=True)}
        for key, *row in zip(found.series.tolist(), *columns, strict=True)
    }


FIVE = [(0, hour, value) for hour, value in enumerate((1, 2, 3, 4, 10))]
OF_FIVE = {
    "buckets": 5,
    "coverage": 0.5,
    "p50": 3,
    "p95": 10,
    "max": 10,
    "last": 10,
    "growth_per_day": (10 - 1) / 4 * 24,
}


def test_figures_of_five_samples():
    assert made(*FIVE) == {0: OF_FIVE}


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([(0, 4, 10), (0, 4, 10)], id="twice"),
        pytest.param([(0, 4, 9)], id="twice-with-another-value-the-largest-counts"),
        pytest.param([(0, 2.5, math.nan), (0, 3, math.inf), (0, 3, -1)], id="nonsense"),
        pytest.param([(0, -0.001, 99), (0, 10, 99)], id="outside-of-the-window"),
        pytest.param([(0, 2.5, 2.0), (0, 2.75, 4.0)], id="scraped-more-often-a-bucket-is-a-mean"),
    ],
)
def test_what_monitoring_does_to_samples_changes_nothing(more):
    assert made(*more, *FIVE) == {0: OF_FIVE}


def test_late_samples_count_where_their_time_is():
    late = [(0, 5.0, 5.0)]
    assert made(*FIVE, *late) == made(*late, *FIVE)
    assert made(*FIVE, *late)[0]["last"] == 5


def test_missing_samples_leave_percentiles_unknown_and_never_zero():
    found = made(*FIVE[:4])[0]
    assert found == {
        "buckets": 4,
        "coverage": 0.4,
        "p50": None,
        "p95": None,
        "max": None,
        "last": 4,
        "growth_per_day": None,
    }


def test_sizes_take_the_latest_of_a_step():
    rows = [(0, hour + part, value) for hour in range(5) for part, value in ((0, 8), (0.5, 2))]
    assert made(*rows, latest=True)[0]["max"] == 2
    assert made(*rows)[0]["max"] == 5


def test_series_are_apart_and_absent_ones_stay_absent():
    found = made(*FIVE, *[(7, hour, 1.0) for hour in range(6)])
    assert found[0] == OF_FIVE
    assert found[7]["growth_per_day"] == 0
    assert sorted(found) == [0, 7]


def test_nothing_gives_nothing():
    assert made() == {}
    assert made((0, 11, 1.0)) == {}


def test_one_wrong_sample_does_not_turn_growth_around():
    rising = [(0, hour, 100.0 + hour) for hour in range(9)]
    right = made(*rising, latest=True)[0]["growth_per_day"]
    wrong = made(*rising[:8], (0, 8, 0.0), latest=True)[0]["growth_per_day"]
    assert right == pytest.approx(24)
    assert wrong > 0


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 39).map(lambda q: q / 4), st.integers(0, 50)),
    max_size=60,
)


@examples(40)
@given(ROWS, st.randoms(use_true_random=False), st.booleans())
def test_order_and_repetition_do_not_matter(rows, dice, latest):
    again = dice.sample(rows, len(rows)) + dice.sample(rows, len(rows) // 2)
    assert made(*again, latest=latest) == made(*rows, latest=latest)


@examples(40)
@given(ROWS)
def test_percentiles_are_figures_that_were_there_and_ordered(rows):
    for key, found in made(*rows, latest=True).items():
        if found["p50"] is not None:
            own = {value for series, _, value in rows if series == key}
            assert {found["p50"], found["p95"], found["max"], found["last"]} <= own
            assert found["p50"] <= found["p95"] <= found["max"]


@pytest.mark.parametrize(
    ("held", "capacity", "growth", "days"),
    [
        pytest.param(50, 100, 10.0, 5.0, id="grows"),
        pytest.param(100, 100, None, 0.0, id="full"),
        pytest.param(50, 100, -1.0, None, id="shrinks"),
        pytest.param(50, 100, 0.0, None, id="rests"),
        pytest.param(50, 100, None, None, id="unknown-growth"),
        pytest.param(50, None, 10.0, None, id="unknown-capacity"),
    ],
)
def test_days_to_full(held, capacity, growth, days):
    assert days_to_full(held, capacity, growth) == days
