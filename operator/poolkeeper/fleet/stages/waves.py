"""The budget of a day, from small tables of all clusters to waves; what a report shows of plans.

What was planned is read cluster by cluster, in one process: of a plan its stages, its problems and
certificates, its brokers; never its moves. A cluster without a plan has no work in the budget, and
its reason in the report (`day_report`).
"""

import contextlib
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime

import pyarrow as pa

from poolkeeper.errors import InvalidInput, PoolkeeperError, Refused, Unavailable, wrong_file
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.filesystems import Storage, place_of
from poolkeeper.fleet.lake.lake import Lake, input_digest
from poolkeeper.fleet.lake.reading import Reader
from poolkeeper.fleet.schedule.budget import (
    Bound,
    Budget,
    ClusterWork,
    LeftOut,
    Schedule,
    ScheduledStage,
    Turn,
)
from poolkeeper.fleet.schedule.schedule import schedule
from poolkeeper.fleet.schedule.timeline import budget_text, timeline_of
from poolkeeper.fleet.stages.features import feature_rows
from poolkeeper.fleet.stages.publishing import (
    BUDGET,
    FEATURES,
    FLEET,
    PLAN,
    SNAPSHOT,
    damaged_files,
    distrust,
    publish_tables,
)
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.stages.whole_plan import PlanSources, whole_plan
from poolkeeper.fleet.storage import plan_rows, schemas, table_schema
from poolkeeper.fleet.storage.parquet import from_rows, rows_of, table_of
from poolkeeper.frozen import frozen
from poolkeeper.load.apply import MeasuredLoads
from poolkeeper.model.plans import Plan, PlanProblem, PoolCertificate
from poolkeeper.model.problems import Recorded, reason_named
from poolkeeper.report.values import ClusterReport, Holding, Timeline
from poolkeeper.text import few, first_line

Sites = Mapping[str, str]
"""Site by cluster."""
_MADE_FROM = "madeFrom"
"""The figure of a budget that says what it was made from, by cluster, as JSON."""
_SITES = "sites"
"""The figure of a budget that says where clusters are, as JSON."""


@frozen
class DaySchedule:
    """The schedule of a day; `damaged`: by cluster, why its plan is not in it."""

    schedule: Schedule
    damaged: Mapping[str, str] = field(default_factory=dict)


def schedule_day(
    lake: Lake, storage: Storage, day: str, budget: Budget, sites: Sites, begin: datetime
) -> DaySchedule:
    """When every cluster's plan of that day is carried out; stored as tables.

    If the tables of the same plans, manifests, budget, sites and begin exist already, they are
    returned. A plan whose stages cannot be read is left out, and made again by the next
    `fleet plan`.
    """
    there = lake.current(PLAN, day)
    if not there:
        said = f"holds no plans of {day} (`poolkeeper fleet plan` makes them)"
        raise wrong_file(place_of(lake.root), said)
    planned = {name: e for name, e in there.items() if e.is_ok}
    declared = manifests.read(lake)  # windows of now: a plan may be older
    digest = input_digest(
        "budget",
        repr((budget, sorted(sites.items()), begin.isoformat())),
        *(
            f"{name} {entry.run} {declared[name].digest if name in declared else ''}"
            for name, entry in sorted(planned.items())
        ),
    )
    if (kept := _kept_schedule(lake, storage, day, digest)) is not None:
        return DaySchedule(kept)
    damaged: dict[str, DamagedFile] = {}
    works = list(_works(Reader(lake.root, storage), planned, declared, sites, damaged))
    made = schedule(works, budget, begin)
    # A budget without a plan that should be in it is made again whenever it is asked for.
    made_from = made_from_by_cluster(planned, declared)
    known = {name: what for name, what in made_from.items() if name not in damaged}
    figures = {
        _MADE_FROM: json.dumps(known, sort_keys=True),
        _SITES: json.dumps(dict(sites), sort_keys=True),
    }
    publish_tables(lake, BUDGET, day, _tables_of(made, budget), "" if damaged else digest, figures)
    distrust(lake, (wrong.path for wrong in damaged.values()))
    return DaySchedule(made, {name: wrong.line for name, wrong in damaged.items()})


def made_from_by_cluster(
    planned: Mapping[str, ClusterEntry], declared: Mapping[str, manifests.Manifest]
) -> dict[str, str]:
    """What a budget is made from, by cluster: its plan, and what is declared.

    A plan that is made again and is the same counts as the same: its rows are others, its hash not.
    """
    return {
        name: f"{entry.figures.get('hash')} {declared[name].digest if name in declared else ''}"
        for name, entry in planned.items()
    }


def _kept_schedule(lake: Lake, storage: Storage, day: str, digest: str) -> Schedule | None:
    """The schedule that was made from the same, if it can be read."""
    try:
        entry = lake.whole(lake.readable(BUDGET, day)).get(FLEET)
        if entry is None or entry.input != digest:
            return None
        return _read_schedule(Reader(lake.root, storage), entry)
    except DamagedFile:
        return None


@frozen
class DayTimeline:
    """The schedule of a day for a report, and what of each cluster it was made from, if it says."""

    timeline: Timeline
    made_from: Mapping[str, str] | None


def timeline_of_day(lake: Lake, storage: Storage, day: str) -> DayTimeline | None:
    """The schedule of that day for a report, or None if no budget was made for it."""
    entry = lake.current(BUDGET, day).get(FLEET)
    if entry is None:
        return None
    reader = Reader(lake.root, storage)
    head = reader.row(entry, schemas.BUDGETS)
    said = entry.figures.get(_MADE_FROM)  # earlier releases did not say it
    return DayTimeline(
        _timeline(_read_schedule(reader, entry), head["budget"]),
        None if said is None else json.loads(said),
    )


def sites_of_budget(lake: Lake, day: str) -> Sites:
    """Where the budget of that day has clusters; empty where it does not say it."""
    entry = lake.readable(BUDGET, day).get(FLEET)
    found: Sites = json.loads(entry.figures.get(_SITES, "{}")) if entry else {}
    return found


@frozen
class ShownPlan:
    """A plan with parts and stages; or `without`, why it has none."""

    plan: Plan
    without: str = ""


def plan_of(lake: Lake, storage: Storage, day: str, cluster: str) -> ShownPlan:
    """The plan of a cluster, as it was made; raises `Refused` with the reason where there is none.

    Raises `DamagedFile` where it cannot be read; the next `fleet plan` makes it again.
    """
    plans = lake.current(PLAN, day)
    entry = plans.get(cluster)
    if entry is None:
        made = sorted(name for name, each in plans.items() if each.is_ok)
        others = f"there are plans of {few(made)}; " if made else ""
        raise Refused(f"{cluster} has no plan of {day} ({others}`poolkeeper fleet plan` makes one)")
    if not entry.is_ok:
        raise Refused(f"{cluster} has no plan of {day}: {entry.reason}")
    try:
        plan = plan_of_day(Reader(lake.root, storage), entry)
    except DamagedFile as wrong:
        _distrust_if_allowed(lake, [wrong.path])
        raise
    try:
        read, loaded = (lake.current(step, day).get(cluster) for step in (SNAPSHOT, FEATURES))
        sources = PlanSources(cluster, manifests.read(lake).get(cluster), read, loaded)
        tables = Tables(lake.root, storage, secrets.token_hex(4))
        found = whole_plan(plan, entry, sources, tables)
    except PoolkeeperError as wrong:
        _distrust_if_allowed(lake, damaged_files(wrong))
        return ShownPlan(plan, without=wrong.line)
    return ShownPlan(found.plan)


def _distrust_if_allowed(lake: Lake, damaged: Iterable[str]) -> None:
    """Have damaged files made again; who may only read is told of the damage all the same."""
    with contextlib.suppress(Unavailable):
        distrust(lake, damaged)


def plan_of_day(reader: Reader, entry: ClusterEntry) -> Plan:
    """The plan of an entry; raises `DamagedFile` also if its rows are not of the plan they name."""
    tables = (schemas.PLANS, *plan_rows.BODIES)
    reader.row(entry, schemas.PLANS)
    rows = {table.name: reader.rows(entry, table) for table in tables}
    try:
        return plan_rows.plan_of_rows(entry.cluster, rows)
    except (InvalidInput, ValueError) as wrong:
        path = entry.of_table(schemas.PLANS)[0].path
        raise DamagedFile(path, first_line(wrong)) from wrong


def loads_of(lake: Lake, storage: Storage, day: str, cluster: str) -> MeasuredLoads | None:
    """What the features of a day say of a cluster; None where they say nothing."""
    entry = lake.current(FEATURES, day).get(cluster)
    if entry is None or not entry.is_ok:
        return None
    rows = Reader(lake.root, storage).rows(entry, schemas.FEATURES, feature_rows.NEEDED)
    return feature_rows.loads_of(rows)


def _timeline(made: Schedule, budget: str) -> Timeline:
    shown = timeline_of(made, Budget())
    return Timeline(
        shown.begin,
        shown.bars,
        shown.omitted,
        shown.makespan_s,
        shown.bound_s,
        shown.bound_cause,
        budget,
    )


def _works(
    reader: Reader,
    planned: Mapping[str, ClusterEntry],
    declared: Mapping[str, manifests.Manifest],
    sites: Sites,
    damaged: dict[str, DamagedFile],
) -> Iterable[ClusterWork]:
    """The work of every cluster; clusters whose rows share a file one after the other.

    One whose rows cannot be read is put into `damaged`.
    """
    for name, entry in sorted(planned.items(), key=lambda item: (item[1].files, item[0])):
        try:
            rows = reader.rows(entry, schemas.STAGES)
        except DamagedFile as wrong:
            damaged[name] = wrong
            continue
        columns = [column.to_pylist() for column in rows.columns[1:]]
        stages = tuple(map(ScheduledStage, *columns)) if rows.num_rows else ()
        windows = declared[name].desired.cluster.execution.windows if name in declared else ()
        yield ClusterWork(name, stages, sites.get(name, ""), windows)


def holdings_of_day(reader: Reader, entry: ClusterEntry) -> tuple[Holding, ...]:
    """The cluster's brokers before its plan and after it."""
    return tuple(Holding(**row) for row in rows_of(reader.rows(entry, schemas.BALANCES)))


def problems_of_day(reader: Reader, entry: ClusterEntry) -> tuple[PlanProblem, ...]:
    """The problems of the cluster's plan."""
    return tuple(
        PlanProblem(
            row["pool"],
            row["law"],
            Recorded(row["message"], reason_named(row["reason"])),
            row["topic"],
        )
        for row in rows_of(reader.rows(entry, schemas.PROBLEMS))
    )


def cluster_report(reader: Reader, entry: ClusterEntry, site: str) -> ClusterReport:
    """The numbers of the cluster's plan."""
    head = reader.row(entry, schemas.PLANS)
    steps = reader.rows(entry, schemas.STEPS, ["destructive"]).column(0).to_pylist()
    return ClusterReport(
        entry.cluster,
        site,
        hash=head["hash"],
        partitions=head["partitions"],
        moves=head["moves"],
        steps=head["steps"],
        destructive=sum(steps),
        bytes=head["bytes"],
        certificates=tuple(
            PoolCertificate(**row) for row in rows_of(reader.rows(entry, schemas.CERTIFICATES))
        ),
        problems=problems_of_day(reader, entry),
        brokers=holdings_of_day(reader, entry),
    )


def _tables_of(made: Schedule, budget: Budget) -> Mapping[table_schema.TableSchema, pa.Table]:
    def columns(
        table: table_schema.TableSchema, rows: Iterable[Turn | LeftOut]
    ) -> Iterable[tuple[object, ...]]:
        names = [column.name for column in table.columns]
        return (tuple(getattr(row, name) for name in names) for row in rows)

    head = {
        "begin_ms": [round(made.begin.timestamp() * 1000)],
        "makespan_ms": [made.makespan_ms],
        "bound_ms": [made.bound.ms],
        "bound_cause": [made.bound.cause],
        "budget": [budget_text(budget)],
    }
    return {
        schemas.TURNS: from_rows(schemas.TURNS, columns(schemas.TURNS, made.turns)),
        schemas.LEFT_OUT: from_rows(schemas.LEFT_OUT, columns(schemas.LEFT_OUT, made.left_out)),
        schemas.BUDGETS: table_of(schemas.BUDGETS, head),
    }


def _read_schedule(reader: Reader, entry: ClusterEntry) -> Schedule:
    """The schedule without its slices: what reports and people need of it."""
    head = reader.row(entry, schemas.BUDGETS)
    return Schedule(
        datetime.fromtimestamp(head["begin_ms"] / 1000, UTC),
        tuple(Turn(**row) for row in rows_of(reader.rows(entry, schemas.TURNS))),
        (),
        tuple(LeftOut(**row) for row in rows_of(reader.rows(entry, schemas.LEFT_OUT))),
        Bound(head["bound_ms"], head["bound_cause"]),
    )
