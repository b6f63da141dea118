"""Shows a run's progress: a bar on a terminal, lines elsewhere.

A line is printed when a step was done or the waits changed, otherwise every few seconds at most,
and ever more seldom while nothing moves. So a CI log stays readable, and a night without a broker
does not fill a log. A line is a pure function of the outcome.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Self, TextIO

import click
from rich import progress as bars
from rich.console import Console

from poolkeeper import wording
from poolkeeper.cli import timing
from poolkeeper.cli.output import hints, left_undone
from poolkeeper.cli.output.left_undone import Undone
from poolkeeper.model.execution.outcomes import Outcome, Progress, State
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Kind, Wait, in_order
from poolkeeper.text import duration, few, part_of, size, visible

WAITS_MAX = 5
UNDONE_MAX = 5
QUIET_S = 300.0
"""The longest pause between lines that tell the same but for rates and times."""
_AT_REST = "nothing is waited for any more"
Kinds = tuple[Kind, ...]


def line(outcome: Outcome) -> str:
    """The progress and the waits of a run in one line; empty if there are none.

    "moving, stage 2: 12 of 81 moves, 10 in flight, 40 MiB of 120 MiB, 12.1 MiB/s, about 8 s left"
    """
    parts = [_progress(outcome.progress)] if outcome.progress else []
    if outcome.waits:
        parts.append(f"waits: {waits(outcome)}")
    return "; ".join(parts)


def waits(outcome: Outcome) -> str:
    """The first few waits in one sentence, what blocks first."""
    return few(wording.sentences(in_order(outcome.waits)), WAITS_MAX, grouped=False)


def _progress(progress: Progress) -> str:
    if progress.phase in (Phase.STORING, Phase.THROTTLING):
        return progress.phase.value
    parts = [part_of(progress.moves_done, progress.moves_total, "move")]
    if progress.moves_in_flight:
        parts.append(f"{progress.moves_in_flight:,} in flight")
    if progress.bytes_total:
        done, total = (size(n) for n in (progress.bytes_done, progress.bytes_total))
        parts.append(f"{done} of {total}")
    if progress.still_s is not None:
        parts.append(f"nothing has moved for {duration(progress.still_s)}")
        return f"{_stage(progress)}: {', '.join(parts)}"
    if progress.rate_bytes_per_s is not None:
        parts.append(f"{size(progress.rate_bytes_per_s)}/s")
    if progress.seconds_left is not None:
        parts.append(f"about {duration(progress.seconds_left)} left")
    return f"{_stage(progress)}: {', '.join(parts)}"


def _stage(progress: Progress) -> str:
    return (
        f"{progress.phase.value}, stage {progress.stage}"
        if progress.stage
        else progress.phase.value
    )


class LinePrinter:
    """Prints progress as lines, to a file that is no terminal. Call it with every outcome.

    `cluster`: the one that each line begins with, where there are several.
    `at_rest` is printed when the last line told of something, and all is done.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        cluster: str = "",
        at_rest: str = "",
        every_s: float = timing.LINES_EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._cluster = cluster
        self._prefix = f"{cluster}: " if cluster else ""
        self._at_rest = at_rest
        self._every_s = every_s
        self._clock = clock
        self._pause_s = every_s
        self._amounts: tuple[int, ...] = ()
        self._last_line = ""
        self._printed_s = float("-inf")
        self._waits: Kinds = ()
        self._asked: tuple[Wait, ...] = ()

    def __call__(self, outcome: Outcome) -> None:
        """Print the steps done, what is asked of a person, and the progress if it changed."""
        for sentence in wording.sentences(outcome.did):
            self.say(sentence)
        asked = _asked(outcome)
        for sentence in wording.sentences(each for each in asked if each not in self._asked):
            self.say(sentence)
        self._asked = asked
        text = line(outcome)
        if text and text != self._last_line and self._is_due(outcome):
            self.say(text)
            self._last_line, self._printed_s = text, self._clock()
        elif not text and self._last_line and outcome.state is State.CONVERGED:
            self._last_line = ""
            if self._at_rest:
                self.say(self._at_rest)
        self._waits = _kinds(outcome)

    def _is_due(self, outcome: Outcome) -> bool:
        """Whether a changed line is printed now; the pause doubles while nothing moves."""
        amounts = _amounts(outcome.progress)
        moves = amounts != self._amounts or _kinds(outcome) != self._waits
        pause_s = self._every_s if moves else self._pause_s
        if _kinds(outcome) == self._waits and self._clock() - self._printed_s < pause_s:
            return False
        self._amounts = amounts
        self._pause_s = self._every_s if moves else min(2 * pause_s, QUIET_S)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def say(self, text: str) -> None:
        """Print a line."""
        click.echo(
            visible(f"{self._prefix}{hints.complete_commands(text, self._cluster)}"),
            file=self._stream,
        )


class BarPrinter:
    """Shows a bar with bytes, rate and time left on a terminal; steps done are printed above it."""

    def __init__(self, console: Console) -> None:
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(bar_width=24),
            bars.TextColumn("{task.fields[facts]}", markup=False),
            console=console,
        )
        self._task = self._bar.add_task("starting", total=None, facts="")
        self._waits: Kinds = ()

    def __call__(self, outcome: Outcome) -> None:
        """Redraw the bar; print the steps done, and the waits if they changed."""
        for sentence in wording.sentences(outcome.did):
            self._above(sentence)
        if outcome.waits and _kinds(outcome) != self._waits:
            self._above(f"waits: {waits(outcome)}")
        self._waits = _kinds(outcome)
        progress = outcome.progress
        if progress is not None:
            stage, _, facts = _progress(progress).partition(": ")
            # Moves that only reorder replicas have no bytes; the bar counts them too.
            total, done = progress.bytes_total, progress.bytes_done
            if not total:
                total, done = progress.moves_total, progress.moves_done
            self._bar.update(
                self._task, description=stage, total=total or 1, completed=done, facts=facts
            )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()

    def _above(self, sentence: str) -> None:
        self._bar.console.print(
            visible(hints.complete_commands(sentence)),
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def printer(stream: TextIO) -> "LinePrinter | BarPrinter":
    """Return a bar for a terminal, lines for any other stream."""
    if stream.isatty():
        return BarPrinter(Console(file=stream))
    return LinePrinter(stream)


class LoopPrinter:
    """Prints the progress of a loop as lines, and once what its plans leave undone."""

    def __init__(self, stream: TextIO, cluster: str) -> None:
        self._lines = LinePrinter(stream, cluster=cluster, at_rest=_AT_REST)
        self._undone: Counter[tuple[str, str, str]] = Counter()

    def __call__(self, outcome: Outcome) -> None:
        """Print what is new in the outcome."""
        self._lines(outcome)
        undone = left_undone.of_loop(outcome)
        if undone is None:
            return
        found = Counter(each.key for each in undone)
        new = [each for each in undone if found[each.key] > self._undone[each.key]]
        self._undone = found
        if new:
            told = few(map(left_undone.sentence, new), UNDONE_MAX, grouped=False)
            self._lines.say(f"not as declared: {told}")


def news_printer(cluster: str, stream: TextIO, *, as_json: bool) -> Callable[[Outcome], None]:
    """Return the printer of one cluster's changes among others: lines, or JSON objects."""
    if not as_json:
        return LoopPrinter(stream, cluster)
    last: list[dict[str, object]] = [{}]
    last_undone: list[tuple[Undone, ...]] = [()]

    def say(outcome: Outcome) -> None:
        undone = left_undone.of_loop(outcome)
        last_undone[0] = undone = last_undone[0] if undone is None else undone
        keys = [each.key for each in undone]
        news = {"cluster": cluster, **as_data(outcome)}
        seen = {**news, "progress": None, "undone": keys}
        if outcome.did or seen != last[0]:
            told = {**news, "undone": left_undone.as_data(undone)}
            click.echo(json.dumps(told), file=stream)
        last[0] = seen

    return say


def as_data(outcome: Outcome) -> dict[str, object]:
    """Return an outcome as JSON values; the plan appears as its hash."""
    progress = outcome.progress
    return {
        "state": outcome.state.value,
        "did": list(wording.sentences(outcome.did)),
        "waits": list(wording.sentences((*in_order(outcome.waits), *_asked(outcome)))),
        "plan": outcome.plan.hash if outcome.plan else None,
        "progress": None if progress is None else _progress_data(progress),
    }


def _progress_data(progress: Progress) -> dict[str, object]:
    return {
        "plan": progress.plan,
        "phase": progress.phase.value,
        "stage": progress.stage,
        "movesDone": progress.moves_done,
        "movesInFlight": progress.moves_in_flight,
        "movesTotal": progress.moves_total,
        "bytesDone": progress.bytes_done,
        "bytesTotal": progress.bytes_total,
        "throttleBytesPerSecond": progress.throttle_bytes_per_s,
        "throttleReason": progress.throttle_reason,
        "bytesPerSecond": progress.rate_bytes_per_s,
        "secondsLeft": progress.seconds_left,
        "stillSeconds": None if progress.still_s is None else int(progress.still_s),
    }


def _asked(outcome: Outcome) -> tuple[Wait, ...]:
    """Return what Topics ask to take over; no pass waits for the answer."""
    last = outcome.last_observation
    found = () if last is None else last.unaccounted
    return tuple(wait for wait in found if wait.reason is WaitReason.ADOPTION_REQUIRED)


def _amounts(progress: Progress | None) -> tuple[int, ...]:
    """Return what grows while something moves."""
    if progress is None:
        return ()
    return progress.stage, progress.moves_done, progress.moves_in_flight, progress.bytes_done


def _kinds(outcome: Outcome) -> Kinds:
    """Return the reasons of the waits without their numbers: a countdown is no change."""
    return tuple(wait.kind for wait in outcome.waits)
