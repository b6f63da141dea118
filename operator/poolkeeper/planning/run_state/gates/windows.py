"""Windows in which stages may start: open from every firing of a cron line for a duration.

Times are computed in the window's own time zone, so that `0 22 * * *` is ten at night there on both
sides of a change of the clocks.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from poolkeeper.model.specs import Window


def is_open(windows: Sequence[Window], now: datetime) -> bool:
    """Whether a stage may start at `now` (aware): inside any window, or without windows always."""
    return not windows or any(_is_open(window, now) for window in windows)


def _is_open(window: Window, now: datetime) -> bool:
    local = now.astimezone(ZoneInfo(window.time_zone))
    # The iteration excludes its start: look back from just after now.
    last: datetime = next(CronSim(window.cron, local + timedelta(minutes=1), reverse=True))
    if last > local:
        last = next(CronSim(window.cron, local, reverse=True))
    return local - last < timedelta(seconds=window.duration_s)


def next_opening(windows: Sequence[Window], now: datetime) -> str:
    """Return when the next window opens, as a person reads it."""
    return opening_time(windows, now).strftime("%Y-%m-%d %H:%M %Z")


def opening_time(windows: Sequence[Window], now: datetime) -> datetime:
    """Return when the next window opens, in its time zone."""
    openings: list[datetime] = [
        next(CronSim(window.cron, now.astimezone(ZoneInfo(window.time_zone)))) for window in windows
    ]
    return min(openings)
