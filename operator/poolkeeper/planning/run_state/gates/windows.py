"""Windows in which stages may start: open from every firing of a cron line for a duration.

Times are computed in the window's own time zone, so that `0 22 * * *` is ten at night there on both
sides of a change of the clocks.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from poolkeeper.model.specs import Window

_SET_BACK = timedelta(hours=3, minutes=1)
"""More than clocks are ever set back: two hours at Troll station."""


def is_open(windows: Sequence[Window], now: datetime) -> bool:
    """Whether a stage may start at `now` (aware): inside any window, or without windows always."""
    return not windows or any(_is_open(window, now) for window in windows)


def _is_open(window: Window, now: datetime) -> bool:
    local = now.astimezone(ZoneInfo(window.time_zone))
    # Clocks that are set back show an hour twice: what fired later by them may have fired before.
    firings = CronSim(window.cron, local + _SET_BACK, reverse=True)
    last: datetime = next(fired for fired in firings if fired.astimezone(UTC) <= now)
    return now < closing_time(window, last)


def closing_time(window: Window, fired: datetime) -> datetime:
    """Return when a window closes, in UTC, that opened at that firing of its cron line.

    The clock on the wall ends it: eight hours from ten at night end at six, whether or not clocks
    change that night. Where they show that time twice, the first one ends it, for good; where they
    leave it out, the window is as long as it says.
    """
    closes = fired + timedelta(seconds=window.duration_s)
    return closes.replace(fold=fired.fold).astimezone(UTC)  # a sum forgets which of the two it is


def next_opening(windows: Sequence[Window], now: datetime) -> str:
    """Return when the next window opens, as a person reads it."""
    return opening_time(windows, now).strftime("%Y-%m-%d %H:%M %Z")


def opening_time(windows: Sequence[Window], now: datetime) -> datetime:
    """Return when the next window opens, in its time zone."""
    openings: list[datetime] = [
        next(CronSim(window.cron, now.astimezone(ZoneInfo(window.time_zone)))) for window in windows
    ]
    return min(openings)
