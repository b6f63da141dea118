"""The report of a day, from the tables of all clusters: what there is, and what there should be.

The fleet is what is declared and what is found that day. A cluster without a snapshot, a plan that
is missing, a step that was killed: each is a gap of the report (`report.values.Gap`), never an
absence. A step counts as missing where this day has it for other clusters, or an earlier day had
it: who never makes features or budgets misses none.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeVar

from poolkeeper.errors import PoolkeeperError, Refused
from poolkeeper.fleet.report_tables.broker_loads import broker_loads
from poolkeeper.fleet.report_tables.cluster_tables import (
    BROKER_COLUMNS,
    FEATURE_COLUMNS,
    PARTITION_COLUMNS,
    ClusterTables,
)
from poolkeeper.fleet.report_tables.day_rows import day_rows
from poolkeeper.fleet.report_tables.hottest import hottest
from poolkeeper.fleet.report_tables.partition_loads import partition_loads
from poolkeeper.fleet.report_tables.snapshots import snapshot_report
from poolkeeper.fleet.stages import waves
from poolkeeper.fleet.stages.waves import Sites
from poolkeeper.fleet.storage import codecs, schemas
from poolkeeper.fleet.storage.parquet import from_rows, rows_of
from poolkeeper.fleet.storage.schemas import TableSchema
from poolkeeper.fleet.storage.store import OK, Store
from poolkeeper.model.specs import Desired, Headroom
from poolkeeper.report import balance, forecast, gaps
from poolkeeper.report.differences import differences
from poolkeeper.report.values import (
    BrokerLoad,
    ClusterDay,
    ClusterReport,
    Differences,
    FleetReport,
    Gap,
    Holding,
    Hot,
    Missing,
    ProblemKey,
    SnapshotReport,
    Timeline,
)

T = TypeVar("T")
HORIZON_DAYS = 90
READERS = 8
"""How many clusters are read at one time."""


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report is made with: when it is made, and the day to which pools are forecast."""

    sites: Sites
    now_ms: int
    until: date


@dataclass(frozen=True, slots=True)
class _ClusterFigures:
    """All that a report shows of one cluster."""

    report: ClusterReport
    snapshot: SnapshotReport
    day: ClusterDay
    loads: tuple[BrokerLoad, ...] = ()
    hottest: tuple[Hot, ...] = ()
    headrooms: Mapping[str, Headroom | None] | None = None
    missing: tuple[Missing, ...] = ()


def day_report(store: Store, day: str, options: ReportOptions) -> FleetReport:
    """The values of the report; raises `Refused` where there is nothing of that day."""
    names = _fleet(store, day)
    if not names:
        raise Refused(f"{store.root}: holds nothing of {day} (poolkeeper fleet run makes it)")
    found = _each(lambda name: _figures(store, day, name, options.sites.get(name, "")), names)
    timeline = waves.timeline_of_day(store, day)
    reports = tuple(each.report for each in found)
    loads = [load for each in found for load in each.loads]
    headrooms = {
        (each.report.name, pool): headroom
        for each in found
        for pool, headroom in (each.headrooms or {}).items()
    }
    horizon = max(0, (options.until - date.fromisoformat(day)).days)
    missing = [gap for each in found for gap in each.missing]
    return FleetReport(
        day,
        reports,
        timeline,
        options.now_ms,
        options.until,
        tuple(each.snapshot for each in found),
        forecast.pool_forecasts(loads, headrooms, horizon),
        tuple(map(forecast.broker_forecast, loads)),
        tuple(hot for each in found for hot in each.hottest),
        forecast.skews_of(loads),
        _differences(store, day, [each.day for each in found]),
        tuple(sorted((*missing, *_unscheduled(store, day, reports, timeline)))),
    )


def write_tables(store: Store, day: str, report: FleetReport) -> None:
    """Keep the data behind the report."""
    for name, rows in day_rows(report).items():
        store.write(schemas.TABLES[name], day, "", rows)


def _each(figures: Callable[[str], T], names: Sequence[str]) -> list[T]:
    """The figures of every cluster: thousands of small files, whose reading is mostly waiting."""
    with ThreadPoolExecutor(READERS) as readers:
        return list(readers.map(figures, names))


def _fleet(store: Store, day: str) -> list[str]:
    there = _there(store, day)
    return sorted({*store.clusters(schemas.MANIFESTS), *there}) if there else []


def _there(store: Store, day: str) -> set[str]:
    return {*store.clusters(schemas.CLUSTERS, day), *store.clusters(schemas.PLANS, day)}


def _figures(store: Store, day: str, name: str, site: str) -> _ClusterFigures:
    """All of a cluster; whatever of its tables cannot be read is a gap with the reason."""
    try:
        return _readable(store, day, name, site)
    except PoolkeeperError as wrong:
        return _without(name, site, Missing(Gap.DAMAGED, name, wrong.line))


def _without(name: str, site: str, gap: Missing) -> _ClusterFigures:
    told = gaps.sentence(gap)
    return _ClusterFigures(
        ClusterReport(name, site, failed=told),
        SnapshotReport(name, site, remark=told),
        ClusterDay(name),
        missing=(gap,),
    )


def _readable(store: Store, day: str, name: str, site: str) -> _ClusterFigures:
    head = _head(store, schemas.CLUSTERS, day, name)
    if head is None:
        return _without(name, site, Missing(Gap.NO_SNAPSHOT, name))
    if head["status"] != OK:
        return _without(name, site, Missing(Gap.NOT_READ, name, head["reason"]))
    tables = _tables(store, day, name, head)
    loads = partition_loads(tables)
    brokers = broker_loads(tables, loads)
    report, plan_gaps = _planned(store, day, name, site)
    return _ClusterFigures(
        report,
        snapshot_report(name, site, head, loads),
        _cluster_day(head, report),
        brokers,
        hottest(name, loads, brokers),
        {pool.name: pool.headroom for pool in tables.desired.pools} if tables.desired else {},
        (*plan_gaps, *_no_features(store, day, name)),
    )


def _head(store: Store, table: TableSchema, day: str, name: str) -> dict[str, Any] | None:
    """The cluster's row; None where there is none. Raises `Refused` for a damaged one."""
    if not store.file(table, day, name).exists():
        return None
    return next(rows_of(store.read(table, day, name)), None)


def _tables(store: Store, day: str, name: str, head: dict[str, Any]) -> ClusterTables:
    def read(table: TableSchema, columns: Sequence[str]) -> Any:
        if not store.file(table, day, name).exists():
            return from_rows(table, ()).select(list(columns))
        return store.read(table, day, name, columns)

    return ClusterTables(
        name,
        head,
        _declared(store, name),
        read(schemas.PARTITIONS, PARTITION_COLUMNS),
        read(schemas.BROKERS, BROKER_COLUMNS),
        read(schemas.FEATURES, FEATURE_COLUMNS),
    )


def _declared(store: Store, name: str) -> Desired | None:
    row = _head(store, schemas.MANIFESTS, "", name)
    return None if row is None else codecs.from_text(Desired, row["desired"])


def _planned(
    store: Store, day: str, name: str, site: str
) -> tuple[ClusterReport, tuple[Missing, ...]]:
    head = _head(store, schemas.PLANS, day, name)
    if head is not None and head["status"] == OK:
        return waves.cluster_report(store, day, name, site, head), ()
    gap = (
        Missing(Gap.NO_PLAN, name)
        if head is None
        else Missing(Gap.NOT_PLANNED, name, head["reason"] or "")
    )
    return ClusterReport(name, site, failed=gaps.sentence(gap)), (gap,)


def _no_features(store: Store, day: str, name: str) -> Iterator[Missing]:
    if not store.file(schemas.FEATURES, day, name).exists() and _is_made(
        store, schemas.FEATURES, day
    ):
        yield Missing(Gap.NO_FEATURES, name)


def _is_made(store: Store, table: TableSchema, day: str) -> bool:
    """Whether that step is made for this fleet: that day for some cluster, or on an earlier day."""
    return any(each <= day for each in store.days(table))


def _unscheduled(
    store: Store, day: str, reports: Sequence[ClusterReport], timeline: Timeline | None
) -> Iterator[Missing]:
    moving = [each for each in reports if each.moves]
    if timeline is None:
        if moving and _is_made(store, schemas.BUDGETS, day):
            yield Missing(Gap.NO_BUDGET)
        return
    timed: Counter[str] = Counter()
    for bar in timeline.bars:
        timed[bar.cluster] += bar.bytes
    for each in timeline.omitted:
        timed[each.cluster] += each.bytes
    for planned in moving:
        # A schedule has all bytes of the plan that it was made from, in time or left out.
        if planned.name not in timed or timed[planned.name] != planned.bytes:
            yield Missing(Gap.NOT_SCHEDULED, planned.name)


def _differences(store: Store, day: str, now: Sequence[ClusterDay]) -> Differences | None:
    earlier = [each for each in store.days(schemas.CLUSTERS) if each < day]
    if not earlier:
        return None
    since = earlier[-1]
    before = _each(lambda name: _earlier_day(store, since, name), sorted(_there(store, since)))
    return differences(since, before, now)


def _earlier_day(store: Store, day: str, name: str) -> ClusterDay:
    try:
        head = _head(store, schemas.CLUSTERS, day, name)
        if head is None or head["status"] != OK:
            return ClusterDay(name)
        plan = _head(store, schemas.PLANS, day, name)
        if plan is None or plan["status"] != OK:
            return ClusterDay(name, int(head["partitions"] or 0))
        brokers = waves.holdings_of_day(store, day, name)
        problems = waves.problems_of_day(store, day, name, plan)
        moves, copied = plan["moves"], plan["bytes"]
        report = ClusterReport(name, moves=moves, bytes=copied, problems=problems, brokers=brokers)
        return _cluster_day(head, report)
    except PoolkeeperError:
        return ClusterDay(name)  # nothing is known of that day; of today's tables it would be told


def _cluster_day(head: Mapping[str, Any], report: ClusterReport) -> ClusterDay:
    partitions = int(head["partitions"] or 0)
    if report.failed:
        return ClusterDay(report.name, partitions)
    return ClusterDay(
        report.name,
        partitions,
        sum(each.bytes_before for each in report.brokers),
        planned=True,
        moves=report.moves,
        move_bytes=report.bytes,
        imbalance=_imbalance(report.name, report.brokers),
        problems=frozenset(ProblemKey(p.pool, p.law, p.topic) for p in report.problems),
    )


def _imbalance(name: str, brokers: Sequence[Holding]) -> float:
    """The part of the replicas in pools that are off their brokers' share."""
    off = total = 0.0
    for pool in balance.pools_of(name, brokers):
        if pool.pool:
            held = sum(each.replicas_before for each in pool.brokers)
            off += held * pool.imbalances[0][0]
            total += held
    return off / total if total else 0.0
