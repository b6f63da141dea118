"""Windows for stages, on both sides of midnight and of a change of the clocks."""

from datetime import UTC, datetime

import pytest

from poolkeeper.model.specs import Window
from poolkeeper.planning.run_state.gates import windows

NIGHT = Window("0 22 * * *", 8 * 3600)
BERLIN = Window("0 22 * * *", 3600, "Europe/Berlin")
EARLY = Window("30 1 * * *", 3600, "Europe/Berlin")
LATE = Window("30 2 * * *", 3 * 3600 + 1800, "Europe/Berlin")


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
        # On 25 October 2026 clocks there show the hour from two to three twice, from 0 UTC on.
        pytest.param(EARLY, (2026, 10, 25, 0, 29), True, id="in-the-first-of-two-hours"),
        pytest.param(EARLY, (2026, 10, 25, 0, 30), False, id="closed-in-the-first-of-two-hours"),
        pytest.param(EARLY, (2026, 10, 25, 1, 15), False, id="and-not-open-again-in-the-second"),
        pytest.param(LATE, (2026, 10, 25, 1, 10), True, id="from-the-first-into-the-second"),
        pytest.param(LATE, (2026, 10, 25, 4, 59), True, id="until-the-clock-says-so"),
        pytest.param(LATE, (2026, 10, 25, 5, 0), False, id="closed-when-the-clock-says-so"),
        pytest.param(
            EARLY, (2026, 3, 29, 1, 29), True, id="an-hour-long-where-clocks-leave-one-out"
        ),
        pytest.param(EARLY, (2026, 3, 29, 1, 30), False, id="and-no-longer"),
    ],
)
def test_a_window_is_open_from_its_firing_for_its_duration(window, now, expected):
    assert windows.is_open((window,), datetime(*now, tzinfo=UTC)) is expected


def test_without_windows_it_is_always_open():
    assert windows.is_open((), datetime(2026, 1, 1, tzinfo=UTC))


def test_the_next_opening_is_told_in_the_windows_own_time():
    now = datetime(2026, 7, 10, 12, 0, tzinfo=UTC)
    assert windows.next_opening((NIGHT, BERLIN), now) == "2026-07-10 22:00 CEST"
