"""What became of the steps of `poolkeeper fleet`: printed, warned of, and as an exit code."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from poolkeeper.cli.output import left_undone, printing
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.text import count, cut, part_of

if TYPE_CHECKING:
    from poolkeeper.fleet.stages.publishing import FleetOutcome

LINES_MAX = 200
"""Warnings of one kind in a step, at most; `--output json` has all of them."""


def print_outcomes(
    output: str,
    outcomes: Sequence["FleetOutcome"],
    more: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> int:
    """Print the result of every cluster and return the exit code.

    Raises if a step failed for all clusters.
    """
    if output == printing.JSON:
        data = [*map(_outcome_data, outcomes), *(told for _, told in more)]
        printing.emit_json({"steps": data})
    else:
        for line in (*map(_sentence, outcomes), *(sentence for sentence, _ in more)):
            printing.emit(line)
    for outcome in outcomes:
        _warn(f"{outcome.step}: {warning}" for warning in outcome.warnings)
        _warn(f"{outcome.step} {line.cluster}: {line.reason}" for line in outcome.told)
    for outcome in outcomes:
        if outcome.lines and len(outcome.failed) == len(outcome.lines):
            kind = Unavailable if outcome.step == "snapshot" else Refused
            raise kind(f"{outcome.step} failed for every cluster")
    told = {line.cluster for outcome in outcomes for line in outcome.failed}
    missing = [(data["step"], each) for _, data in more for each in data.get("missing", ())]
    # What a budget and the report after it both miss is told once.
    untold = {
        (each["reason"], each["cluster"], each["message"]): (step, each)
        for step, each in reversed(missing)
        if each["cluster"] not in told
    }
    _warn(_missing(*each) for each in reversed(untold.values()))
    return left_undone.EXIT_CODE if told or missing else 0


def _warn(lines: Iterable[str]) -> None:
    printing.warn(cut(lines, LINES_MAX))


def _missing(step: str, told: Mapping[str, Any]) -> str:
    message: str = told["message"]
    return f"{step} {told['cluster']}: {message}" if told["cluster"] else message


def _outcome_data(outcome: "FleetOutcome") -> Mapping[str, Any]:
    return {
        "step": outcome.step,
        "day": outcome.day,
        "clusters": [
            {
                "cluster": line.cluster,
                "status": line.status,
                "reason": line.reason or None,
                "made": line.made,
                **line.figures,
            }
            for line in outcome.lines
        ],
    }


def _sentence(outcome: "FleetOutcome") -> str:
    well = len(outcome.lines) - len(outcome.failed)
    kept = len(outcome.lines) - len(outcome.made)
    parts = [part_of(well, len(outcome.lines), "cluster")]
    for name in ("partitions", "samples", "features", "moves"):
        if total := outcome.total(name):
            parts.append(count(total, name.removesuffix("s")))
    if kept:
        parts.append(f"{kept} as they were")
    return f"{outcome.step} {outcome.day}: {', '.join(parts)}"
