"""When a fleet may move, and how fast: windows expanded into intervals after a begin.

A window is open as in `planning.run_state.gates.windows`, from every firing of its cron line for
its duration, in its own time zone. There, a stage must *begin* in a window. Here it must also *end*
in it, because outside of it the network belongs to others. So a fall of the fleet's rate, to zero
or not, is a deadline for all stages before it; a rise is none.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim

from poolkeeper.fleet.schedule.budget import LATEST_S, UNBOUNDED, Budget
from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Window
from poolkeeper.planning.run_state.gates.windows import closing_time


class Opening(NamedTuple):
    """From `begin_ms` to `end_ms`, the latter excluded."""

    begin_ms: int
    end_ms: int


ALWAYS = (Opening(0, UNBOUNDED),)


class Piece(NamedTuple):
    """A time of one rate; `deadline_ms`: the next fall of the rate, at its end or later."""

    begin_ms: int
    end_ms: int
    bytes_per_s: int
    deadline_ms: int


@frozen
class Fleet:
    """The fleet's rate over time: pieces without gaps, the first from 0; later there is none."""

    pieces: tuple[Piece, ...]

    @property
    def most_bytes_per_s(self) -> int:
        """The highest rate at any time."""
        return max((piece.bytes_per_s for piece in self.pieces), default=0)

    def at(self, at_ms: int) -> Piece:
        """The piece of that time."""
        index = bisect_right(self.pieces, at_ms, key=lambda piece: piece.begin_ms) - 1
        piece = self.pieces[index] if index >= 0 else Piece(0, 0, 0, 0)
        return piece if at_ms < piece.end_ms else Piece(at_ms, UNBOUNDED, 0, UNBOUNDED)

    def spells(self, openings: Sequence[Opening]) -> Iterator[Piece]:
        """Pieces with a rate, as far as they lie in openings; deadlines at their ends, too."""
        rated = [piece for piece in self.pieces if piece.bytes_per_s]
        place = 0
        for opening in openings:
            while place < len(rated) and rated[place].end_ms <= opening.begin_ms:
                place += 1
            index = place
            while index < len(rated) and rated[index].begin_ms < opening.end_ms:
                piece, index = rated[index], index + 1
                begin = max(piece.begin_ms, opening.begin_ms)
                end = min(piece.end_ms, opening.end_ms)
                deadline = min(piece.deadline_ms, opening.end_ms)
                yield Piece(begin, end, piece.bytes_per_s, deadline)


def openings(windows: Sequence[Window], begin: datetime, horizon_s: int) -> tuple[Opening, ...]:
    """The times when at least one window is open, up to the horizon; without windows always."""
    if not windows:
        return ALWAYS
    found = (opening for window in windows for opening in _unrolled(window, begin, horizon_s))
    return merge_openings(found)


def merge_openings(found: Iterable[Opening]) -> tuple[Opening, ...]:
    """The same times, ascending, without overlaps; adjacent ones joined."""
    joined: list[Opening] = []
    for opening in sorted(found):
        if joined and opening.begin_ms <= joined[-1].end_ms:
            joined[-1] = Opening(joined[-1].begin_ms, max(joined[-1].end_ms, opening.end_ms))
        elif opening.begin_ms < opening.end_ms:
            joined.append(opening)
    return tuple(joined)


def fleet_of(budget: Budget, begin: datetime) -> Fleet:
    """The fleet's rate over time."""
    whole = UNBOUNDED if budget.bytes_per_s is None else max(0, budget.bytes_per_s)
    if not budget.windows:
        return Fleet((Piece(0, LATEST_S * 1000, whole, LATEST_S * 1000),))
    rated = [
        (opening, whole if each.bytes_per_s is None else max(0, min(whole, each.bytes_per_s)))
        for each in budget.windows
        for opening in openings((each.window,), begin, budget.horizon_s)
    ]
    times = sorted({0, budget.horizon_s * 1000, *(time for span, _ in rated for time in span)})
    return Fleet(_with_deadlines(list(_levels(times, rated))))


def _unrolled(window: Window, begin: datetime, horizon_s: int) -> Iterator[Opening]:
    local = begin.astimezone(ZoneInfo(window.time_zone))
    duration = timedelta(seconds=window.duration_s)
    horizon_ms = horizon_s * 1000
    # A window that opened before the begin may still be open; a day more, as clocks change.
    for fired in CronSim(window.cron, local - duration - timedelta(days=1)):
        opens = _ms(fired, begin)
        if opens >= horizon_ms:
            return
        closes = min(_ms(closing_time(window, fired), begin), horizon_ms)
        if closes > 0:
            yield Opening(max(0, opens), closes)


def _ms(at: datetime, begin: datetime) -> int:
    return round((at.astimezone(UTC) - begin.astimezone(UTC)) / timedelta(milliseconds=1))


def _levels(
    times: Sequence[int], rated: Sequence[tuple[Opening, int]]
) -> Iterator[tuple[Opening, int]]:
    """The intervals between these times, each with the highest rate of its open windows."""
    changes: dict[int, list[tuple[int, int]]] = {}
    for opening, rate in rated:
        changes.setdefault(opening.begin_ms, []).append((rate, 1))
        changes.setdefault(opening.end_ms, []).append((rate, -1))
    open_at: dict[int, int] = {}
    for begin, end in pairwise(times):
        for rate, change in changes.get(begin, ()):
            open_at[rate] = open_at.get(rate, 0) + change
        yield Opening(begin, end), max((rate for rate, n in open_at.items() if n), default=0)


def _with_deadlines(levels: Sequence[tuple[Opening, int]]) -> tuple[Piece, ...]:
    """The intervals with their deadlines; after the last one the rate is zero."""
    pieces: list[Piece] = []
    deadline, later = 0, -1
    for (begin, end), rate in reversed(levels):
        if rate > later:
            deadline = end
        pieces.append(Piece(begin, end, rate, deadline))
        later = rate
    return tuple(reversed(pieces))
