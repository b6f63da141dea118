"""Axes of the pictures: counts by thousands, bytes in powers of 1024, times that differ."""

import re

import pytest

from poolkeeper.report.balance import pools_of
from poolkeeper.report.html import pictures, timelines
from poolkeeper.report.values import Holding


@pytest.mark.parametrize(
    ("held", "ticks"),
    [
        pytest.param(1, ["2", "1", "0"], id="one"),
        pytest.param(700, ["800", "400", "0"], id="hundreds"),
        pytest.param(842, ["1,000", "500", "0"], id="almost-a-thousand"),
        pytest.param(999, ["1,000", "500", "0"], id="nearly-a-thousand"),
        pytest.param(1_000, ["1,000", "500", "0"], id="a-thousand"),
        pytest.param(810_000, ["1,000,000", "500,000", "0"], id="almost-a-million"),
    ],
)
def test_the_axis_of_counts_is_round(held, ticks):
    (pool,) = pools_of("c", [Holding("p", 1, None, True, 1.0, held, 0, 0, 0, 0, 0, sized=False)])
    drawn = pictures.brokers_picture(pool).svg
    assert re.findall(r'text-anchor="end">([^<]*)<', drawn)[:3] == ticks


def test_the_axis_of_bytes_is_in_units_of_1024():
    mib = 2**20
    (pool,) = pools_of("c", [Holding("p", 1, None, True, 1.0, 1, 1, 1, 1, 900 * mib, 0)])
    drawn = pictures.brokers_picture(pool).svg
    assert re.findall(r'text-anchor="end">([^<]*)<', drawn)[6:] == ["1 GiB", "512 MiB", "0 B"]


@pytest.mark.parametrize("span_s", [0.3, 1, 3.25, 6, 12, 59.9, 65, 3_600, 90_000, 10**7])
def test_no_two_lines_of_a_time_axis_have_the_same_label(span_s):
    labels = re.findall(r">([^<]+)</text>", "".join(timelines.time_axis(span_s, 30, 22, 60)))
    assert len(labels) > 1
    assert len(set(labels)) == len(labels)


def test_lines_less_than_a_second_apart_tell_tenths():
    labels = re.findall(r">([^<]+)</text>", "".join(timelines.time_axis(3.25, 30, 22, 60)))
    assert labels == ["0", "0.5 s", "1.0 s", "1.5 s", "2.0 s", "2.5 s", "3.0 s"]


@pytest.mark.parametrize("span_s", [0.3, 65, 393, 395, 3_725, 5_410, 90_000, 93_700, 10**7])
def test_no_two_labels_of_a_time_axis_cover_each_other(span_s):
    drawn = "".join(timelines.time_axis(span_s, 30, 22, 60))
    ends = [0.0]
    for x, anchor, label in re.findall(r'x="([\d.]+)"[^>]*text-anchor="(\w+)">([^<]+)<', drawn):
        letters = 6.0 * len(label)  # at the least
        begin = float(x) - {"start": 0, "middle": letters / 2, "end": letters}[anchor]
        assert begin >= ends[-1], label
        ends.append(begin + letters)
    assert len(ends) > 2
    assert ends[-1] <= pictures.WIDTH
