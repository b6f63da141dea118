"""Cron expressions and time zones of maintenance windows."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError

from poolkeeper.resources.parse.schema_messages import suggestion

_FIELDS = 5
_ANY_DAY = datetime(2024, 1, 1, tzinfo=UTC)


def cron_problem(expression: str) -> str | None:
    """The problem of a cron expression, or None."""
    fields = expression.split()
    if len(fields) != _FIELDS:
        return f"{expression!r} has {len(fields)} fields (expected minute hour day month weekday)"
    try:
        next(CronSim(expression, _ANY_DAY))
    except CronSimError as error:
        reason = str(error).removeprefix("Bad ")
        return f"{expression!r} is no schedule: its {reason} is wrong (expected such as 0 22 * * *)"
    except StopIteration:
        return f"{expression!r} never comes (expected such as 0 22 * * *)"
    return None


def time_zone_problem(name: str) -> str | None:
    """The problem of a time zone's name, or None. UTC needs no time zone data."""
    if name == "UTC":
        return None
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = suggestion(name, sorted(available_timezones()))
        hint = near if near.startswith("(did") else "(expected such as UTC or Europe/Zurich)"
        return f"{name!r} is no time zone {hint}"
    return None
