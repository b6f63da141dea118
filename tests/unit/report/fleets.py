"""Fleets for reports: three clusters that show everything, and a thousand."""

from dataclasses import replace
from datetime import UTC, date, datetime

from poolkeeper.model.plans import PlanProblem, PoolCertificate
from poolkeeper.model.problems import Recorded
from poolkeeper.model.specs import Headroom
from poolkeeper.report.fleet import differences, forecast
from poolkeeper.report.values import (
    Bar,
    BrokerLoad,
    ClusterDay,
    ClusterReport,
    FleetReport,
    Gap,
    Holding,
    Hot,
    Measured,
    Missing,
    Omitted,
    ProblemKey,
    SnapshotReport,
    Timeline,
)

GIB = 2**30
BEGIN = datetime(2026, 3, 1, 22, tzinfo=UTC)
MADE_MS = round(BEGIN.timestamp() * 1000)
HOUR_MS = 3_600_000
UNTIL = date(2026, 5, 30)
HORIZON_DAYS = 90.0


def holding(broker: int, rack: str | None, before: int, after: int, weight: float = 1.0) -> Holding:
    return Holding(
        *("fast", broker, rack, True, weight, before, after),
        *(before // 2, after // 2, before * GIB, after * GIB),
    )


def cluster(name: str, said: str = "") -> ClusterReport:
    return ClusterReport(
        name,
        "north",
        "",
        "sha256:" + "7" * 64,
        100,
        12,
        3,
        1,
        30 * GIB,
        (PoolCertificate("fast", 12, 11, 30 * GIB, 20 * GIB, 9.09, "broker 1 must lose 12"),),
        (PlanProblem("fast", "rack", Recorded(said or "one rack only"), "orders"),),
        (holding(1, "a", 12, 0, 0.0), holding(2, "a", 8, 14), holding(3, None, 8, 14)),
    )


def loads(name: str, growth_gib: float | None = 0.1) -> tuple[BrokerLoad, ...]:
    """Three brokers of 20 GiB, of which one is drained."""
    growth = None if growth_gib is None else growth_gib * GIB
    return tuple(
        BrokerLoad(
            *(name, "fast", broker, rack, weight, replicas, replicas // 2, replicas),
            *(replicas * GIB, 0 if growth is None else replicas * GIB // 2, growth),
            *(20 * GIB, replicas * 1000.0),
        )
        for broker, rack, weight, replicas in (
            (1, "a", 0.0, 2),
            (2, "a", 1.0, 18),
            (3, "b", 1.0, 8),
        )
    )


def small(name: str = "main", said: str = "ZooKeeper did not answer within 30 s") -> FleetReport:
    """A plan with a page, one without, a cluster that could not be read, one without a snapshot."""
    nothing = "it is declared and has no snapshot of that day"
    reports = (
        replace(cluster(name, said), page="report-2026-03-01/main.html"),
        cluster("other"),
        ClusterReport("away", "south", failed=said),
        ClusterReport("late", "south", failed=nothing),
    )
    timeline = Timeline(
        BEGIN,
        (
            Bar(name, "north", 1, 2, 20 * GIB, 0, 3600, 0, 1),
            Bar("other", "north", 4, 1, 30 * GIB, 0, 5400, 1, 1),
            Bar(name, "north", 4, 1, 10 * GIB, 3600, 5400, 0, 2),
        ),
        (Omitted("other", 2, 5 * GIB, said),),
        5400,
        5000,
        "the fleet's rate",
        "10 MiB/s in all",
    )
    known = (*loads(name), *loads("other", None))
    headrooms = {(name, "fast"): Headroom(failures=1)}
    return FleetReport(
        "2026-03-01",
        reports,
        timeline,
        MADE_MS,
        UNTIL,
        (
            SnapshotReport(name, "north", MADE_MS - 2 * HOUR_MS, 3, 10, 100, 3, 1, 2, said),
            SnapshotReport("other", "north", MADE_MS - 50 * HOUR_MS, 3, 10, 100),
            SnapshotReport("away", "south", remark=said),
            SnapshotReport("late", "south", remark=nothing),
        ),
        forecast.pool_forecasts(known, headrooms, HORIZON_DAYS),
        tuple(map(forecast.broker_forecast, known)),
        (
            Hot(name, "fast", Measured.BYTES_IN, said, 3, 5e6),
            Hot("other", "fast", Measured.BYTES_IN, "orders", 0, 2e6),
            Hot(name, "fast", Measured.BYTES_IN, said, -1, 9e6),
            Hot(name, "fast", Measured.BYTES, "orders", 1, 4 * GIB),
            Hot(name, "fast", Measured.BYTES, "orders", -1, 40 * GIB),
        ),
        forecast.skews_of(known),
        differences.differences("2026-02-28", *days(name)),
        (
            Missing(Gap.NOT_READ, "away", said),
            Missing(Gap.NO_SNAPSHOT, "late"),
            Missing(Gap.NOT_SCHEDULED, "other"),
        ),
        1,
    )


def days(name: str = "main") -> tuple[tuple[ClusterDay, ...], tuple[ClusterDay, ...]]:
    """The day before, and the day."""
    rack, disk = ProblemKey("fast", "rack", "orders"), ProblemKey("fast", "capacity", "")
    before = (
        ClusterDay(name, 90, 20 * GIB, True, 2, 5 * GIB, 0.2, frozenset({disk})),
        ClusterDay("gone", 10, GIB, True),
        ClusterDay("same", 5, GIB, True),
    )
    now = (
        ClusterDay(name, 100, 28 * GIB, True, 12, 30 * GIB, 0.429, frozenset({rack})),
        ClusterDay("other", 100, 28 * GIB, True, 12, 30 * GIB, 0.429, frozenset({rack})),
        ClusterDay("same", 5, GIB, True),
    )
    return before, now


def many(clusters: int) -> FleetReport:
    """Many clusters, with turns, snapshots, pools and a difference for each."""
    names = [f"cluster-{n:04d}" for n in range(clusters)]
    bars = [
        Bar(name, "north", n % 5, 1, GIB, n * 7.0, n * 7.0 + 100, n % 60, n // 60 + 1)
        for n, name in enumerate(names * 20)
    ]
    timeline = Timeline(BEGIN, bars, (), 350_100.0, 320_000.0, "the fleet's rate", "none")
    known = [load for name in names for load in loads(name)]
    day = [ClusterDay(name, 100, 28 * GIB, True, 12, 30 * GIB, 0.4) for name in names]
    return FleetReport(
        "2026-03-01",
        [replace(cluster(name), page=f"report-2026-03-01/{name}.html") for name in names],
        timeline,
        MADE_MS,
        UNTIL,
        [SnapshotReport(n, "north", MADE_MS - HOUR_MS, 3, 10, 100, 1) for n in names],
        forecast.pool_forecasts(known, {}, HORIZON_DAYS),
        tuple(map(forecast.broker_forecast, known)),
        [Hot(name, "fast", Measured.BYTES_IN, "orders", p, 1e6) for name in names for p in (-1, 0)],
        forecast.skews_of(known),
        differences.differences("2026-02-28", (), day),
    )
