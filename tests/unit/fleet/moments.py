"""When the schedules of tests begin, a window for them, and degrees of urgency."""

from datetime import UTC, datetime

from poolkeeper.model.specs import Window

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
NIGHT = Window("0 22 * * *", 8 * 3600, "UTC")
HEAL, DRAIN, BALANCE = 0, 1, 4
