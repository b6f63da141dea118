"""`status --watch` on a terminal: one look after the other in place, as a live view.

The view has what `status` tells, in the same words and order, and beside it what takes several
looks or more room: a bar with the rate and the time left, and the brokers that receive and give up
replicas. It is as high as the terminal at most: lines that do not fit are counted.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from poolkeeper.cli.output.runs import status_text
from poolkeeper.cli.output.runs.status_values import RunStatus, Status
from poolkeeper.controller.loops.transfer_rate import TransferRate
from poolkeeper.model.execution.outcomes import Progress
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.plans import Move
from poolkeeper.text import count, duration, more, size

BAR_WIDTH = 40
BROKERS_MAX = 12
ALARMING = ("damaged", "blocked by", "unhealthy", "throttles")
"""Lines of `status` that are shown in red."""
IN_THE_TABLES = ("moving",)
"""Lines of `status` that the view has as a table."""


class LiveStatus:
    """Shows each look in the place of the last. A context manager; the last look stays."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._pace = TransferRate()
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def show(self, status: Status) -> None:
        """Draw the status."""
        self._live.update(self.view(status), refresh=True)

    def view(self, status: Status) -> RenderableType:
        """Return what is drawn: the status with the rate since earlier looks, as high as fits."""
        rated = self._pace.measure(_progress(status.run), self._clock())
        parts: list[RenderableType] = [_facts(status)]
        if status.run is not None and rated is not None:
            parts += [Text(), _bar(status.run, rated)]
            if status.run.in_flight:
                parts += [Text(), _brokers(status.run.in_flight), Text(), _moves(status.run)]
        return self._cut(Group(*parts))

    def _cut(self, view: RenderableType) -> RenderableType:
        """Return the view with as many lines as fit, and how many do not."""
        height = max(4, self._console.size.height - 1)
        lines = self._console.render_lines(view, pad=False)
        if len(lines) <= height:
            return view
        kept = [Text.assemble(*((seg.text, seg.style or "") for seg in line)) for line in lines]
        rest = more(len(lines) - height + 1, "line")
        return Group(*kept[: height - 1], Text(rest, style="dim"))


def _progress(run: RunStatus | None) -> Progress | None:
    """Return the run's progress as its executor would tell it, with what `status` knows."""
    if run is None:
        return None
    return Progress(
        plan=run.plan,
        phase=Phase(run.phase),
        stage=run.stage,
        moves_done=run.moves.get("done", 0),
        moves_in_flight=len(run.in_flight),
        moves_total=run.moves_total,
        bytes_done=run.bytes_done,
        bytes_total=run.bytes_total,
        throttle_bytes_per_s=run.throttle_bytes_per_s,
        bytes_given_up=run.bytes_given_up,
    )


def _facts(status: Status) -> RenderableType:
    table = _grid()
    table.add_column(style="bold", min_width=status_text.NAMES_WIDTH, no_wrap=True)
    table.add_column(overflow="fold")
    before = ""
    for name, fact in status_text.facts_of(status):
        before = name or before
        if before not in IN_THE_TABLES:
            table.add_row(Text(name), Text(fact, style="red" if before in ALARMING else ""))
    return table


def _bar(run: RunStatus, rated: Progress) -> RenderableType:
    """The bytes that have arrived; moves that only reorder replicas have none, and count alone."""
    total, done = run.bytes_total, run.bytes_done
    if not total:
        total, done = rated.moves_total, rated.moves_done
    facts = []
    if rated.still_s is not None:
        facts.append(f"nothing has moved for {duration(rated.still_s)}")
    if rated.rate_bytes_per_s is not None:
        facts.append(f"{size(rated.rate_bytes_per_s)}/s")
    if rated.seconds_left is not None:
        facts.append(f"about {duration(rated.seconds_left)} left")
    row = _grid(1)
    row.add_row(
        Text(f"{_whole_percent(done, total):3} %"),
        ProgressBar(total=total or 1, completed=done, width=BAR_WIDTH),
        Text(", ".join(facts)),
    )
    return row


def _whole_percent(done: int, total: int) -> int:
    """The part that is done, rounded down, as 100 is all of it; 0 is nothing."""
    return max(100 * done // total, 1 if done else 0) if total else 0


def _brokers(moves: Iterable[Move]) -> RenderableType:
    """The brokers that receive and give up replicas in the request, busiest first."""
    takes: Counter[int] = Counter()
    takes_bytes: Counter[int] = Counter()
    gives: Counter[int] = Counter()
    for move in moves:
        added = set(move.target) - set(move.source)
        for broker in added:
            takes[broker] += 1
            takes_bytes[broker] += move.bytes // len(added)
        gives.update(set(move.source) - set(move.target))
    busiest = sorted({*takes, *gives}, key=lambda broker: (-takes_bytes[broker], broker))
    table = _table("broker", "receives", "bytes", "gives up")
    for broker in busiest[:BROKERS_MAX]:
        bytes_in = size(takes_bytes[broker]) if takes[broker] else ""
        table.add_row(str(broker), _replicas(takes[broker]), bytes_in, _replicas(gives[broker]))
    rest = more(len(busiest) - BROKERS_MAX, "broker")
    return Group(table, Text(rest)) if rest else table


def _replicas(number: int) -> str:
    return count(number, "replica") if number else ""


def _moves(run: RunStatus) -> RenderableType:
    table = _table("moving", "from", "to", "bytes")
    for move in run.in_flight[: status_text.NAMED_MAX]:
        source, target = (",".join(map(str, ids)) for ids in (move.source, move.target))
        table.add_row(f"{move.topic}-{move.partition}", source, target, size(move.bytes))
    rest = more(len(run.in_flight) - status_text.NAMED_MAX, "move")
    return Group(table, Text(rest)) if rest else table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _grid(gap: int = 0) -> Table:
    return Table(box=None, show_header=False, pad_edge=False, padding=(0, gap, 0, 0))
