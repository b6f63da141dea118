"""From load history to a few figures per series: percentiles, growth. Pure, on columns.

A *window* is cut into steps of equal length. A step with a sample is a *bucket*. This removes the
usual faults of monitoring from the figures:

- **twice**: samples of one series with the same time count once, the largest of them;
- **late**: a sample counts in the window of its own time, whenever it arrives; figures of that
  window that are computed again then differ;
- **too many**: every bucket weighs the same, whatever the rate of scraping. A rate's bucket is the
  mean of its samples, a size's the latest of them;
- **missing**: missing buckets are not filled in. Below `coverage_min` (buckets as a part of all
  steps) percentiles and growth are unknown (NaN), never zero;
- **nonsense**: NaN, infinite, negative and impossibly large values are no samples.

Percentiles are by nearest rank: each is a figure that was measured. Growth is the median of the
last third of the buckets less that of the first third, over the time between their medians. So one
deletion of old segments, or one wrong sample, does not change its sign.
"""

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.problem.arrays import Floats, Ints

DAY_S = 86_400
GROWTH_BUCKETS_MIN = 3
VALUE_MAX = 2.0**53
"""Bytes, or bytes per second, that nothing has."""
DENSE = 4
"""A table of all series may have so many times as many places as there are values."""


@frozen
class HistoryWindow:
    """From `end_ms - length_s` (included) to `end_ms` (not included), in steps of `step_s`."""

    end_ms: int
    length_s: int
    step_s: int
    coverage_min: float = 0.5

    @property
    def begin_ms(self) -> int:
        """The time at which the window begins."""
        return self.end_ms - self.length_s * 1000

    @property
    def steps(self) -> int:
        """The number of steps; the last one may be shorter."""
        return -(-self.length_s // self.step_s)


@frozen
class Samples:
    """Samples in any order: the series (from 0), the time, the value."""

    series: Ints
    at_ms: Ints
    value: Floats


@frozen
class Figures:
    """Figures by series with a sample in the window, ascending; NaN: unknown."""

    series: Ints
    buckets: Ints
    coverage: Floats
    p50: Floats
    p95: Floats
    max: Floats
    last: Floats
    growth_per_day: Floats


def figures(samples: Samples, window: HistoryWindow, *, latest: bool) -> Figures:
    """The figures of a window; `latest`: buckets are the latest of their samples, not the mean.

    Five samples 1, 2, 3, 4 and 10, a step apart: p50 3, p95 10, max 10, last 10.
    """
    buckets = _buckets(_with_coverage(samples, window), window, latest=latest)
    series, at, value = buckets.series, buckets.at_ms, buckets.value
    first = np.flatnonzero(np.diff(series, prepend=-1))
    count = np.diff(np.append(first, len(series)))
    coverage = count / window.steps
    known = coverage >= window.coverage_min
    ranked = _ranked(series, value)
    end = first + count - 1
    return Figures(
        series=series[first],
        buckets=count,
        coverage=coverage,
        p50=np.where(known, ranked[_rank(first, count, 50)], np.nan),
        p95=np.where(known, ranked[_rank(first, count, 95)], np.nan),
        max=np.where(known, ranked[end], np.nan),
        last=value[end],
        growth_per_day=np.where(known, _growth(first, count, at, value), np.nan),
    )


def _with_coverage(samples: Samples, window: HistoryWindow) -> Samples:
    """The samples that count: plausible, not negative, in the window, once; by series and time."""
    kept = (samples.value >= 0) & (samples.value <= VALUE_MAX)
    kept &= (samples.at_ms >= window.begin_ms) & (samples.at_ms < window.end_ms)
    series, at, value = samples.series[kept], samples.at_ms[kept], samples.value[kept]
    order = _by_series_and_time(series, at)
    series, at, value = series[order], at[order], value[order]
    new = (np.diff(series, prepend=-1) != 0) | (np.diff(at, prepend=window.begin_ms - 1) != 0)
    first = np.flatnonzero(new)
    if len(first) == len(series):
        return Samples(series, at, value)
    # Of several samples of one time the largest counts.
    return Samples(series[first], at[first], np.maximum.reduceat(value, first))


def _by_series_and_time(series: Ints, at: Ints) -> Ints:
    """Rows by series, then time; one key sorts several times as fast as two."""
    if not len(series):
        return np.zeros(0, dtype=np.int64)
    begin = int(at.min())
    span = int(at.max()) - begin + 1
    if (int(series.max()) + 1) * span >= 2**62:
        return np.lexsort((at, series))
    return np.argsort(series * span + (at - begin))


def _ranked(series: Ints, value: Floats | Ints) -> Floats:
    """The values of each series in ascending order; series ascend."""
    first = np.flatnonzero(np.diff(series, prepend=-1))
    count = np.diff(np.append(first, len(series)))
    slots = int(count.max(initial=0))
    if len(count) * slots > DENSE * len(series):
        return value[np.lexsort((value, series))].astype(np.float64)
    held = np.arange(slots) < count[:, None]
    table = np.full(held.shape, np.inf)
    table[held] = value
    table.sort(axis=1)
    found: Floats = table[held]
    return found


def _buckets(samples: Samples, window: HistoryWindow, *, latest: bool) -> Samples:
    """One sample per series and step; the time is that of the step's latest sample."""
    step = (samples.at_ms - window.begin_ms) // (window.step_s * 1000)
    new = (np.diff(samples.series, prepend=-1) != 0) | (np.diff(step, prepend=-1) != 0)
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(step)))
    end = first + count - 1
    if latest or not len(first):
        value = samples.value[end]
    else:
        value = np.add.reduceat(samples.value, first) / count
    return Samples(samples.series[first], samples.at_ms[end], value)


def _rank(first: Ints, count: Ints, percent: int) -> Ints:
    """The position of a percentile among sorted values: the least that so many do not exceed."""
    return first + np.maximum(-(-count * percent // 100), 1) - 1


def _growth(first: Ints, count: Ints, at: Ints, value: Floats) -> Floats:
    """The growth of a series per day; rows of a series are in order of time."""
    series = np.repeat(np.arange(len(first)), count)
    place = np.arange(len(series)) - first[series]
    third = np.maximum(count // 3, 1)
    early = place < third[series]
    late = place >= (count - third)[series]
    apart_s = (_medians(series[late], at[late]) - _medians(series[early], at[early])) / 1000
    grown = _medians(series[late], value[late]) - _medians(series[early], value[early])
    enough = count >= GROWTH_BUCKETS_MIN
    return np.where(enough, grown / np.where(enough, apart_s, 1) * DAY_S, np.nan)


def _medians(series: Ints, value: Floats | Ints) -> Floats:
    """The lower median by series; every series has a value."""
    ranked = _ranked(series, value)
    first = np.flatnonzero(np.diff(series, prepend=-1))
    return ranked[_rank(first, np.diff(np.append(first, len(series))), 50)]


def days_to_full(
    used_bytes: int, capacity: int | None, growth_per_day: float | None
) -> float | None:
    """The days until a disk is full at this growth: 0 now, `None` never or unknown."""
    if capacity is None:
        return None
    if used_bytes >= capacity:
        return 0.0
    if growth_per_day is None or not growth_per_day > 0:
        return None
    return (capacity - used_bytes) / growth_per_day
