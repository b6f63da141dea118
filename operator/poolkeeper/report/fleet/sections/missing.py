"""Clusters without a plan, and the other results that a fleet's report should have."""

from collections.abc import Iterator

from poolkeeper.report.document import Cell, Section, Tile, name, table
from poolkeeper.report.fleet import gaps
from poolkeeper.report.values import FleetReport, Missing


def section(report: FleetReport, rows_max: int) -> Section | None:
    """Clusters without a plan first, with the reason; then what else is missing."""
    failed = sorted((c for c in report.clusters if c.failed), key=lambda c: c.name)
    others = sorted(_others(report))
    if not failed and not others:
        return None
    without = ((name(c.name), name(c.site), Cell(c.failed)) for c in failed)
    rest = ((name(each.cluster), Cell(gaps.sentence(each))) for each in others)
    tables = (
        *table("Clusters", ("Cluster", "Site", "Why"), without, rows_max, "cluster", 0),
        *table("Results that are missing", ("Cluster", "Why"), rest, rows_max, "result", 0),
    )
    return Section("Without a plan" if failed else "Missing", tables=tables)


def tiles(report: FleetReport) -> Iterator[Tile]:
    """How many clusters have no plan, and what else is missing."""
    failed = sum(1 for cluster in report.clusters if cluster.failed)
    others = sum(1 for _ in _others(report))
    if failed:
        yield Tile(f"{failed:,}", "without a plan", "bad")
    if others:
        yield Tile(f"{others:,}", "other results missing", "bad")


def _others(report: FleetReport) -> Iterator[Missing]:
    """What is missing beside plans, whose clusters are listed with the reason."""
    failed = {cluster.name for cluster in report.clusters if cluster.failed}
    for each in report.missing:
        if not (each.gap in gaps.NO_PLAN and each.cluster in failed):
            yield each
