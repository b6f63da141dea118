"""When each cluster moves, with the page of its plan and the line that approves it."""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from poolkeeper.report.document import (
    Cell,
    CellKind,
    Row,
    Section,
    byte_count,
    name,
    number,
    table,
)
from poolkeeper.report.sections import left_undone
from poolkeeper.report.values import Bar, ClusterReport, FleetReport, Timeline
from poolkeeper.text import count, few

_COLUMNS = (
    *("Cluster", "Site", "Begins", "Ends", "Waves", "Partitions", "Moves", "Bytes"),
    *("Destructive", "Undone", "Approved by"),
)
_WAVES_SHOWN = 1


def section(report: FleetReport, rows_max: int) -> Section | None:
    """A row for each cluster with a plan, the first to move first."""
    planned = [cluster for cluster in report.clusters if not cluster.failed]
    if not planned:
        return None
    turns: dict[str, list[Bar]] = defaultdict(list)
    for bar in report.timeline.bars if report.timeline else ():
        turns[bar.cluster].append(bar)
    planned.sort(key=lambda each: (_begin_s(turns[each.name]), -each.bytes, each.name))
    rows = (_row(each, report.timeline, turns[each.name]) for each in planned)
    tables = table("When each moves, in UTC", _COLUMNS, rows, rows_max, "cluster", 0)
    return Section("Clusters", tuple(_notes(report, planned)), tables=tables)


def approval(cluster: str, plan_hash: str, file: str) -> Section:
    """How the plan is approved, for the page of the plan; `file` has it as `plan.json`."""
    run = f"poolkeeper apply -f MANIFESTS --cluster {shlex.quote(cluster)} --plan {file}"
    return Section(
        "How it is approved",
        items=(
            (
                Cell("where an operator keeps the cluster:"),
                Cell(_line(cluster, plan_hash), CellKind.COMMAND),
            ),
            (Cell("elsewhere, with the file beside this page:"), Cell(run, CellKind.COMMAND)),
        ),
    )


def _line(cluster: str, plan_hash: str) -> str:
    return f"kubectl poolkeeper approve --cluster {shlex.quote(cluster)} --plan {plan_hash}"


def time_cell(at: datetime) -> Cell:
    """A cell for a time, to the minute."""
    return number(f"{at.astimezone(UTC):%Y-%m-%d %H:%M}", order=at.timestamp())


def _notes(report: FleetReport, planned: Sequence[ClusterReport]) -> Iterator[str]:
    if report.timeline is None and any(each.moves for each in planned):
        yield "There is no budget, so that nobody knows when each moves (poolkeeper fleet budget)."
    yield (
        "A plan is approved by its hash, and only while it is still the plan of that cluster:"
        " by that line where an operator keeps it, by the one on the plan's page elsewhere."
    )
    if any(each.page for each in planned):
        yield "A cluster's name leads to the page of its plan, in the folder beside this report."
    if report.pages_left_out:
        plans = count(report.pages_left_out, "more plan")
        yield f"There is no page of {plans}, the last to move (--pages raises how many there are)."


def _begin_s(turns: Sequence[Bar]) -> float:
    return min((bar.begin_s for bar in turns), default=float("inf"))


def _row(cluster: ClusterReport, timeline: Timeline | None, turns: Sequence[Bar]) -> Row:
    return (
        name(cluster.name, cluster.page),
        name(cluster.site),
        *_times(cluster, timeline, turns),
        number(cluster.partitions),
        number(cluster.moves),
        byte_count(cluster.bytes),
        number(cluster.destructive),
        number(left_undone(cluster.problems)),
        _approval(cluster),
    )


def _times(
    cluster: ClusterReport, timeline: Timeline | None, turns: Sequence[Bar]
) -> tuple[Cell, Cell, Cell]:
    if timeline is None or not turns:
        return number("unknown" if cluster.moves else "-"), number(""), number("")
    begin = timeline.begin + timedelta(seconds=_begin_s(turns))
    end = timeline.begin + timedelta(seconds=max(bar.end_s for bar in turns))
    waves = sorted({bar.wave for bar in turns})
    shown = number(few(waves, _WAVES_SHOWN), order=waves[0])
    if begin.astimezone(UTC).date() == end.astimezone(UTC).date():
        return (
            time_cell(begin),
            number(f"{end.astimezone(UTC):%H:%M}", order=end.timestamp()),
            shown,
        )
    return time_cell(begin), time_cell(end), shown


def _approval(cluster: ClusterReport) -> Cell:
    if not cluster.hash or not (cluster.moves or cluster.steps):
        return Cell("nothing to do")
    if not (cluster.moves or cluster.destructive):
        return Cell("nobody has to: nothing moves, and no data goes")
    return Cell(_line(cluster.name, cluster.hash), CellKind.COMMAND)
