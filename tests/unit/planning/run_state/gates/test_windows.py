"""Windows for stages, on both sides of midnight and of a change of the clocks."""

from datetime import UTC, datetime

import pytest

from poolkeeper.model.specs import Window
from poolkeeper.planning.run_state.gates import windows

NIGHT = Window("0 22 * * *", 8 * 3600)
BERLIN = Window("0 22 * * *", 3600, "Europe/Berlin")


@pytest.mark.parametrize(
    ("window", "now", "expected"),
    [
        pytest.param(NIGHT, (2026, 3, 1, 21, 59), False, id="a-minute-early"),
        pytest.param(NIGHT, (2026, 3, 1, 22, 0), True, id="at-the-opening"),
        pytest.param(NIGHT, (2026, 3, 2, 5, 59), True, id="the-next-morning"),
        pytest.param(NIGHT, (2026, 3, 2, 6, 0), False, id="when-it-is-over"),
        pytest.param(BERLIN, (2026, 1, 10, 21, 30), True, id="winter-time"),
        pytest.param(BERLIN, (2026, 7, 10, 21, 30), False, id="summer-time-is-an-hour-off"),
        pytest.param(BERLIN, (2026, 7, 10, 20, 30), True, id="summer-time"),
    ],
)
def test_a_window_is_open_from_its_firing_for_its_duration(window, now, expected):
    assert windows.is_open((window,), datetime(*now, tzinfo=UTC)) is expected


def test_without_windows_it_is_always_open():
    assert windows.is_open((), datetime(2026, 1, 1, tzinfo=UTC))


def test_the_next_opening_is_told_in_the_windows_own_time():
    now = datetime(2026, 7, 10, 12, 0, tzinfo=UTC)
    assert windows.next_opening((NIGHT, BERLIN), now) == "2026-07-10 22:00 CEST"
