"""The report of a day, from the tables of all clusters: what there is, and what there should be.

The fleet is what is declared and what is found that day. A cluster without a snapshot, a plan that
is missing, a step that was killed: each is a gap of the report (`report.values.Gap`), never an
absence. A step counts as missing where this day has it for other clusters, or an earlier day had
it: who never makes features or budgets misses none. A damaged file is a gap of its clusters; the
next run of its step makes it again.

The figures of clusters are summed up by tasks of Spark where it runs already; it is not started for
them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from typing import TypeVar

from poolkeeper.errors import PoolkeeperError, wrong_file
from poolkeeper.fleet.engines.engines import TaskEngine
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.filesystems import place_of
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.reading import Reader
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
from poolkeeper.fleet.stages.day_clusters import Day, day_of, each_cluster
from poolkeeper.fleet.stages.publishing import (
    BUDGET,
    FEATURES,
    PLAN,
    REPORT,
    SNAPSHOT,
    damaged_files,
    distrust,
    publish_tables,
)
from poolkeeper.fleet.stages.waves import DayTimeline, Sites
from poolkeeper.fleet.storage import schemas
from poolkeeper.fleet.storage.parquet import from_rows
from poolkeeper.frozen import frozen
from poolkeeper.load.time_series import DAY_S
from poolkeeper.model.specs import Headroom
from poolkeeper.report import balance
from poolkeeper.report.fleet import forecast, gaps
from poolkeeper.report.fleet.differences import differences
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
from poolkeeper.text import moment

T = TypeVar("T")


@frozen
class ReportInputs:
    """What a report is made with: when it is made, and the day to which pools are forecast.

    `sites`: empty, those of the budget.
    """

    sites: Sites
    now_ms: int
    until: date


@frozen
class ClusterFigures:
    """All that a report shows of one cluster; `damaged`: files that could not be read."""

    report: ClusterReport
    snapshot: SnapshotReport
    day: ClusterDay
    loads: tuple[BrokerLoad, ...] = ()
    hottest: tuple[Hot, ...] = ()
    headrooms: Mapping[str, Headroom | None] | None = None
    missing: tuple[Missing, ...] = ()
    damaged: tuple[str, ...] = ()


@frozen
class _Budget:
    """The timeline of a day, if a budget was made; what is missing of it."""

    timeline: Timeline | None
    missing: tuple[Missing, ...] = ()
    damaged: tuple[str, ...] = ()


def day_report(engine: TaskEngine, known: Day, options: ReportInputs) -> FleetReport:
    """The values of the report; raises `Refused` where there is nothing of that day."""
    lake, day = known.lake, known.day
    if not known.there:
        said = f"holds nothing of {day} (`poolkeeper fleet run` makes it)"
        raise wrong_file(place_of(lake.root), said)
    names = sorted(known.there | known.declared.keys())
    sites = options.sites or waves.sites_of_budget(lake, day)
    found = each_cluster(engine, known, names, partial(_figures, sites=sites), ClusterFigures)
    reports = tuple(each.report for each in found)
    budget = _budget(known, reports)
    distrust(lake, [*budget.damaged, *(path for each in found for path in each.damaged)])
    before = _differences(engine, known, [each.day for each in found])
    loads = [load for each in found for load in each.loads]
    headrooms = {
        (each.report.name, pool): headroom
        for each in found
        for pool, headroom in (each.headrooms or {}).items()
    }
    horizon = max(0, (options.until - date.fromisoformat(day)).days)
    return FleetReport(
        day,
        reports,
        budget.timeline,
        options.now_ms,
        options.until,
        tuple(each.snapshot for each in found),
        forecast.pool_forecasts(loads, headrooms, horizon),
        tuple(map(forecast.broker_forecast, loads)),
        tuple(hot for each in found for hot in each.hottest),
        forecast.skews_of(loads),
        before if isinstance(before, Differences) else None,
        tuple(
            sorted(
                [
                    *budget.missing,
                    *([before] if isinstance(before, Missing) else ()),
                    *(gap for each in found for gap in each.missing),
                ]
            )
        ),
    )


def publish(lake: Lake, day: str, report: FleetReport) -> None:
    """Keep the data behind the report."""
    made = day_rows(report)
    publish_tables(lake, REPORT, day, {schemas.TABLES[name]: made[name] for name in made})


def _figures(known: Day, reader: Reader, name: str, sites: Sites) -> ClusterFigures:
    """All of a cluster; whatever of its tables cannot be read is a gap with the reason."""
    site = sites.get(name, "")
    try:
        return _readable(known, reader, name, site)
    except PoolkeeperError as wrong:
        without = _without(name, site, Missing(Gap.DAMAGED, name, wrong.line))
        return replace(without, damaged=damaged_files(wrong))


def _without(name: str, site: str, gap: Missing) -> ClusterFigures:
    told = gaps.sentence(gap)
    return ClusterFigures(
        ClusterReport(name, site, failed=told),
        SnapshotReport(name, site, remark=told),
        ClusterDay(name),
        missing=(gap,),
    )


def _readable(known: Day, reader: Reader, name: str, site: str) -> ClusterFigures:
    entry = known.entry(SNAPSHOT, name)
    if entry is None:
        return _without(name, site, Missing(Gap.NO_SNAPSHOT, name))
    if not entry.is_ok:
        return _without(name, site, Missing(Gap.NOT_READ, name, entry.reason))
    tables = _tables(known, reader, entry)
    loads = partition_loads(tables)
    brokers = broker_loads(tables, loads)
    report, plan_gaps = _planned(reader, known.entry(PLAN, name), name, site)
    return ClusterFigures(
        report,
        snapshot_report(name, site, tables.head, loads),
        _cluster_day(entry, report),
        brokers,
        hottest(name, loads, brokers),
        {pool.name: pool.headroom for pool in tables.desired.pools} if tables.desired else {},
        (*_unrenewed_snapshot(known, entry), *plan_gaps, *_no_features(known, name)),
    )


def _tables(known: Day, reader: Reader, entry: ClusterEntry) -> ClusterTables:
    name = entry.cluster
    loaded = known.entry(FEATURES, name)
    return ClusterTables(
        name,
        reader.row(entry, schemas.CLUSTERS),
        known.declared[name].desired if name in known.declared else None,
        reader.rows(entry, schemas.PARTITIONS, PARTITION_COLUMNS),
        reader.rows(entry, schemas.BROKERS, BROKER_COLUMNS),
        from_rows(schemas.FEATURES, ()).select(list(FEATURE_COLUMNS))
        if loaded is None
        else reader.rows(loaded, schemas.FEATURES, FEATURE_COLUMNS),
    )


def _planned(
    reader: Reader, entry: ClusterEntry | None, name: str, site: str
) -> tuple[ClusterReport, tuple[Missing, ...]]:
    if entry is not None and entry.is_ok:
        return waves.cluster_report(reader, entry, site), ()
    gap = (
        Missing(Gap.NO_PLAN, name)
        if entry is None
        else Missing(Gap.NOT_PLANNED, name, entry.reason)
    )
    return ClusterReport(name, site, failed=gaps.sentence(gap)), (gap,)


def _unrenewed_snapshot(known: Day, entry: ClusterEntry) -> Iterator[Missing]:
    """A file that nobody makes anew is found day after day; one of the evening before is none."""
    read_ms = int(entry.figures["read_ms"])
    begin = datetime.fromisoformat(known.day).replace(tzinfo=UTC)
    if entry.later_failure:
        detail = f"{moment(read_ms)} ({entry.later_failure})"
        yield Missing(Gap.NOT_READ_AGAIN, entry.cluster, detail)
    if read_ms < (begin.timestamp() - DAY_S) * 1000:
        yield Missing(Gap.OLD_SNAPSHOT, entry.cluster, moment(read_ms))


def _no_features(known: Day, name: str) -> Iterator[Missing]:
    entry = known.entry(FEATURES, name)
    if entry is None:
        if _is_made(known.lake, FEATURES, known.day):
            yield Missing(Gap.NO_FEATURES, name)
    elif not entry.is_ok:
        yield Missing(Gap.NO_FEATURES, name, entry.reason)


def _is_made(lake: Lake, step: str, day: str) -> bool:
    """Whether that step is made for this fleet: that day for some cluster, or on an earlier day."""
    return any(each <= day for each in lake.days(step))


def _budget(known: Day, reports: Sequence[ClusterReport]) -> _Budget:
    try:
        found = waves.timeline_of_day(known.lake, known.storage, known.day)
    except PoolkeeperError as wrong:
        return _Budget(None, (Missing(Gap.DAMAGED, "", wrong.line),), damaged_files(wrong))
    return _Budget(found.timeline if found else None, tuple(_unscheduled(known, reports, found)))


def _unscheduled(
    known: Day, reports: Sequence[ClusterReport], found: DayTimeline | None
) -> Iterator[Missing]:
    moving = [each for each in reports if each.moves]
    if found is None:
        if moving and _is_made(known.lake, BUDGET, known.day):
            yield Missing(Gap.NO_BUDGET)
        return
    for each in found.timeline.omitted:
        yield Missing(Gap.NO_TIME, each.cluster, each.reason)
    made_from = waves.made_from_by_cluster(known.current[PLAN], known.declared)
    timed = _timed_bytes(found.timeline)
    for planned in moving:
        name = planned.name
        is_of_plan = found.made_from is None or found.made_from.get(name) == made_from[name]
        # The hash of a plan does not tell its sizes.
        if not is_of_plan or timed.get(name) != planned.bytes:
            yield Missing(Gap.NOT_SCHEDULED, name)


def _timed_bytes(timeline: Timeline) -> Mapping[str, int]:
    """By cluster, all bytes of the plan that a schedule was made from, in time or left out."""
    found: Counter[str] = Counter()
    for bar in timeline.bars:
        found[bar.cluster] += bar.bytes
    for each in timeline.omitted:
        found[each.cluster] += each.bytes
    return found


def _differences(
    engine: TaskEngine, known: Day, now: Sequence[ClusterDay]
) -> Differences | Missing | None:
    """What changed since the last day before; or why nobody can tell."""
    earlier = next(known.lake.latest_days(SNAPSHOT, before=known.day), None)
    if earlier is None:
        return None
    try:
        before = day_of(known.lake, known.storage, earlier)
    except DamagedFile as wrong:
        return Missing(Gap.DAMAGED, "", wrong.line)
    days = each_cluster(engine, before, sorted(before.there), _earlier_day, ClusterDay)
    return differences(before.day, days, now)


def _earlier_day(before: Day, reader: Reader, name: str) -> ClusterDay:
    entry, plan = before.entry(SNAPSHOT, name), before.entry(PLAN, name)
    if entry is None or not entry.is_ok:
        return ClusterDay(name)
    if plan is None or not plan.is_ok:
        return ClusterDay(name, entry.partitions)
    try:
        head = reader.row(plan, schemas.PLANS)
        problems = waves.problems_of_day(reader, plan) if head["problems"] else ()
        brokers = waves.holdings_of_day(reader, plan)
    except PoolkeeperError:
        return ClusterDay(name)  # nothing is known of that day; of today's tables it would be told
    moves, copied = head["moves"], head["bytes"]
    report = ClusterReport(name, moves=moves, bytes=copied, problems=problems, brokers=brokers)
    return _cluster_day(entry, report)


def _cluster_day(entry: ClusterEntry, report: ClusterReport) -> ClusterDay:
    partitions = entry.partitions
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
