"""A day's report as tables, for whoever reads the data behind the page."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from poolkeeper.fleet.storage import report_schemas
from poolkeeper.fleet.storage.parquet import from_rows
from poolkeeper.report.fleet import gaps
from poolkeeper.report.values import ClusterDifference, FleetReport, SnapshotReport

Rows = Iterator[tuple[Any, ...]]


def day_rows(report: FleetReport) -> dict[str, pa.Table]:
    """The tables by name; none of them is nested by cluster."""
    rows = (
        (
            report_schemas.SNAPSHOT_STATES,
            (_snapshot(each, report.made_ms) for each in report.snapshots),
        ),
        (
            report_schemas.MISSING,
            ((m.cluster, m.gap.value, gaps.sentence(m)) for m in report.missing),
        ),
        (report_schemas.POOL_FORECASTS, _pools(report)),
        (report_schemas.BROKER_FORECASTS, _brokers(report)),
        (
            report_schemas.HOTTEST,
            ((each.cluster, each.pool, each.measured.value, *each[3:]) for each in report.hottest),
        ),
        (
            report_schemas.SKEWS,
            (
                (each.cluster, each.pool, each.measured.value, *each[3:], each.ratio)
                for each in report.skews
            ),
        ),
        (report_schemas.DIFFERENCES, _differences(report)),
    )
    return {table.name: from_rows(table, made) for table, made in rows}


def _snapshot(each: SnapshotReport, made_ms: int) -> tuple[Any, ...]:
    age_s = None if each.read_ms is None else (made_ms - each.read_ms) / 1000
    return (
        each.cluster,
        each.site,
        each.read_ms,
        age_s,
        each.brokers,
        each.topics,
        each.partitions,
        each.unknown_sizes,
        each.torn,
        each.damaged,
        each.remark,
    )


def _pools(report: FleetReport) -> Rows:
    for each in report.pools:
        yield (
            *(each.cluster, each.pool, each.brokers, each.bytes),
            *(each.capacity, each.limit, each.growth, *each.coverage),
            *(each.days_to_full, each.days_to_limit, each.first_broker_days),
            *(each.horizon_days, each.brokers_to_add),
        )


def _brokers(report: FleetReport) -> Rows:
    for load, coverage, days_to_full in report.brokers:
        yield (
            *(load.cluster, load.pool, load.broker, load.rack, load.weight),
            *(load.replicas, load.leaders, load.bytes, load.capacity, load.growth),
            *(*coverage, days_to_full, load.bytes_in_per_s),
        )


def _differences(report: FleetReport) -> Rows:
    found = report.differences
    for each in found.clusters if found else ():
        yield _difference(found.since if found else "", each)


def _difference(since: str, each: ClusterDifference) -> tuple[Any, ...]:
    days = each.before, each.now
    pairs = [
        (day.moves, day.move_bytes, day.imbalance) if day.planned else (None, None, None)
        for day in days
    ]
    return (
        *(each.cluster, since, each.presence.value),
        *(day.partitions for day in days),
        *(day.held for day in days),
        *(figure for pair in zip(*pairs, strict=True) for figure in pair),
        *(len(each.problems_new), len(each.problems_solved)),
    )
