"""The way through a queue while a stage is filled."""

import bisect

from poolkeeper.planning.staging.queues import Backlog, SideQueue
from poolkeeper.planning.staging.stage_capacity import StageCapacity


class Cursor:
    """A way through a queue for one stage: from the large end, then from the small end.

    After `look_ahead` steps from one end that did not join, it stops there. A step that does not
    fit early in a stage does not fit later; one that was passed over as too large may.
    """

    __slots__ = (
        "_blocked",
        "_bytes",
        "_gone",
        "_high",
        "_is_low",
        "_keys",
        "_kinds",
        "_low",
        "_offers_high",
        "_offers_low",
        "_passed_over",
        "_room",
        "_rows",
        "_sides",
        "_topic",
    )

    def __init__(
        self, queue: SideQueue, backlog: Backlog, room: StageCapacity, look_ahead: int
    ) -> None:
        self._keys, self._rows, self._kinds = queue.keys, queue.rows, queue.sides
        self._blocked = 0
        self._room, self._topic, self._sides = room, backlog.table.topic, backlog.table.sides
        self._gone, self._bytes = backlog.gone, backlog.table.bytes
        self._low, self._high = 0, len(queue.rows)
        self._offers_low = self._offers_high = look_ahead
        self._is_low = True
        self._passed_over: list[tuple[int, int]] = []

    @property
    def head(self) -> int:
        """The bytes of the next step from the large end, or what is known of one that went."""
        place = min(self._low, len(self._rows) - 1)
        row = self._rows[place]
        return -self._keys[place] if self._gone[row] else self._bytes[row]

    def next(self, wanted_bytes: int, bytes_max: int) -> int | None:
        """The next step that fits: the largest of at most `wanted_bytes`, else the smallest.

        `bytes_max`: what the bottleneck can carry at all. Steps that do not fit count against
        `look_ahead`.
        """
        blocked = self._room.blocked
        if blocked != self._blocked:
            self._blocked = blocked
            for each in self._kinds:
                if not each & blocked:
                    break
            else:
                return None
        while True:
            row = self._from_large_end(wanted_bytes)
            if row is None:
                row = self._from_small_end(bytes_max)
            if row is not None or self._low < self._high or not self._passed_over:
                return row
            self._low, self._high = self._passed_over.pop()

    def _from_large_end(self, wanted_bytes: int) -> int | None:
        """The next step of at most that many bytes that fits; larger ones are passed over."""
        rows, gone, low, high = self._rows, self._gone, self._low, self._high
        topic, full, fits = self._topic, self._room.full_topics, self._room.fits
        sides, blocked = self._sides, self._blocked
        fitting = low
        if low < high and -self._keys[low] > wanted_bytes:
            fitting = bisect.bisect_left(self._keys, -wanted_bytes, low, high)
        if fitting == high:
            return None
        if fitting > low:
            self._passed_over.append((low, fitting))
        low = fitting
        while low < high and self._offers_low:
            row = rows[low]
            low += 1
            if not gone[row]:
                self._offers_low -= 1
                if not sides[row] & blocked and topic[row] not in full and fits(row):
                    self._low, self._is_low = low, True
                    return row
        self._low = low
        return None

    def _from_small_end(self, bytes_max: int) -> int | None:
        """The next step of at most that many bytes that fits."""
        rows, gone, keys, low, high = self._rows, self._gone, self._keys, self._low, self._high
        topic, full, fits = self._topic, self._room.full_topics, self._room.fits
        sides, blocked = self._sides, self._blocked
        while low < high and self._offers_high and -keys[high - 1] <= bytes_max:
            high -= 1
            row = rows[high]
            if not gone[row]:
                self._offers_high -= 1
                if not sides[row] & blocked and topic[row] not in full and fits(row):
                    self._high, self._is_low = high, False
                    return row
        self._high = high
        return None

    def taken(self) -> None:
        """The step that was offered last was taken, so it does not count against `look_ahead`."""
        if self._is_low:
            self._offers_low += 1
        else:
            self._offers_high += 1
