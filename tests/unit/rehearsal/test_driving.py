"""How long a rehearsal pauses between two looks."""

import pytest

from poolkeeper.model.specs import Window
from poolkeeper.rehearsal.driving import PAUSE_S, until_window_s

NIGHT = Window("0 22 * * *", 8 * 3600)
NOON = Window("0 12 * * *", 600)
HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("windows", "now_ms", "pause_s"),
    [
        pytest.param((NIGHT,), 7 * HOUR_MS, 15 * 3600, id="all-day"),
        pytest.param((NIGHT, NOON), 7 * HOUR_MS, 5 * 3600, id="until-the-first-of-several"),
        pytest.param((NIGHT,), 22 * HOUR_MS - 1, PAUSE_S, id="no-less-than-between-two-looks"),
    ],
)
def test_outside_all_windows_the_next_look_is_when_one_opens(windows, now_ms, pause_s):
    assert until_window_s(windows, now_ms) == pause_s
