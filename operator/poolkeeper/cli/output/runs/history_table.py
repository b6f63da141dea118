"""Finished runs as a table and as JSON values."""

from collections.abc import Sequence

from poolkeeper.cli.output.ink import Ink
from poolkeeper.cli.output.printing import HASH_DIGITS
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.text import duration, moment, size

HEADING = ("ended", "plan", "how", "approval", "executor", "took", "stages", "moves", "copied")


def lines(runs: Sequence[FinishedRun], ink: Ink) -> list[str]:
    """Return the table, the latest run first."""
    if not runs:
        return ["no run has ended yet"]
    return ink.table([HEADING, *(row(run) for run in reversed(runs))], names=5)


def row(run: FinishedRun) -> tuple[str, ...]:
    """The cells of a run, as `HEADING` names them."""
    return (
        moment(run.ended_ms),
        run.plan[:HASH_DIGITS],
        run.ending.value if run.ending else "",
        run.approved_by,
        run.executor,
        duration((run.ended_ms - run.started_ms) / 1000),
        str(run.stages),
        f"{run.moves_done:,} of {run.moves:,}",
        _copied(run),
    )


def _copied(run: FinishedRun) -> str:
    planned = size(run.size_bytes)
    return f"of {planned}" if run.bytes_done is None else f"{size(run.bytes_done)} of {planned}"


def as_data(run: FinishedRun) -> dict[str, object]:
    """Return a run as JSON values; times are milliseconds since 1970."""
    return {
        "plan": run.plan,
        "startedMs": run.started_ms,
        "endedMs": run.ended_ms,
        "ending": run.ending.value if run.ending else None,
        "stages": run.stages,
        "moves": run.moves,
        "movesDone": run.moves_done,
        "bytes": run.size_bytes,
        "bytesDone": run.bytes_done,
        "approvedBy": run.approved_by,
        "executor": run.executor,
    }
