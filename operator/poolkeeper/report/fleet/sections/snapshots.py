"""How old and how complete every cluster's snapshot is."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from poolkeeper.report.balance import heat
from poolkeeper.report.document import Cell, Row, Section, Tile, name, number, share, span, table
from poolkeeper.report.fleet.sections.clusters import time_cell
from poolkeeper.report.values import FleetReport, SnapshotReport
from poolkeeper.text import count, duration

_COLUMNS = (
    *("Cluster", "Site", "Read (UTC)", "Age", "Brokers", "Topics", "Partitions"),
    *("Sizes unknown", "Part", "Torn", "Damaged", "Remark"),
)


def section(report: FleetReport, rows_max: int) -> Section | None:
    """A row for each cluster: without a snapshot first, then the oldest and least complete."""
    if not report.snapshots:
        return None
    rows = (_row(each, report.made_ms) for each in sorted(report.snapshots, key=_rank))
    notes = (
        "Sizes unknown: partitions whose size neither the snapshot nor the load history knows."
        " Torn topics changed while they were read, damaged ones cannot be decoded.",
    )
    tables = table("Age and completeness", _COLUMNS, rows, rows_max, "cluster", 0)
    return Section("Snapshots", notes, tables=tables)


def tiles(report: FleetReport) -> Iterator[Tile]:
    """The age of the oldest snapshot, and how many sizes are unknown."""
    read = [each.read_ms for each in report.snapshots if each.read_ms is not None]
    if read:
        yield Tile(duration(_age_s(min(read), report.made_ms)), "age of the oldest snapshot")
    unknown = sum(each.unknown_sizes for each in report.snapshots)
    if unknown:
        clusters = sum(1 for each in report.snapshots if each.unknown_sizes)
        yield Tile(f"{unknown:,}", f"sizes unknown, in {count(clusters, 'cluster')}", "bad")


def _rank(each: SnapshotReport) -> tuple[int, float, str]:
    return each.read_ms or 0, -_unknown(each), each.cluster


def _unknown(each: SnapshotReport) -> float:
    return each.unknown_sizes / each.partitions if each.partitions else 0.0


def _age_s(read_ms: int, made_ms: int) -> float:
    return max(0, made_ms - read_ms) / 1000


def _row(each: SnapshotReport, made_ms: int) -> Row:
    whose = name(each.cluster), name(each.site)
    if each.read_ms is None:
        return (*whose, number("never"), *_blank(8), Cell(each.remark))
    unknown = _unknown(each)
    return (
        *whose,
        time_cell(datetime.fromtimestamp(each.read_ms / 1000, UTC)),
        span(_age_s(each.read_ms, made_ms)),
        number(each.brokers),
        number(each.topics),
        number(each.partitions),
        number(each.unknown_sizes),
        share(unknown, heat(unknown)),
        number(each.torn),
        number(each.damaged),
        Cell(each.remark),
    )


def _blank(cells: int) -> Sequence[Cell]:
    return [number("")] * cells
