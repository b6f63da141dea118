"""The budget and the report of a day: from small tables of all clusters to waves and to pages.

Both read what was planned, cluster by cluster, in one process: of a plan its stages, its problems
and certificates, its brokers; never its moves. A cluster without a plan has no work in the budget,
and its reason in the report.
"""

import io
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from poolkeeper.errors import Refused
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.entries import Entry, TableFile
from poolkeeper.fleet.lake.filesystems import Storage
from poolkeeper.fleet.lake.lake import Lake, Run, input_digest
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
from poolkeeper.fleet.stages import features
from poolkeeper.fleet.stages.publishing import BUDGET, FEATURES, PLAN, TABLES_OF
from poolkeeper.fleet.storage import parquet, plan_rows, schemas
from poolkeeper.fleet.storage.parquet import from_rows, rows_of, table_of
from poolkeeper.load.apply import MeasuredLoads
from poolkeeper.model.plans import Plan, PlanProblem, PoolCertificate
from poolkeeper.model.problems import Recorded
from poolkeeper.report.values import ClusterReport, FleetReport, Holding, Timeline

Sites = Mapping[str, str]
"""Site by cluster."""

_FLEET = ""
"""The cluster of the entry of a budget, which is of all of them."""


def schedule_day(
    lake: Lake, storage: Storage, day: str, budget: Budget, sites: Sites, begin: datetime
) -> Schedule:
    """When every cluster's plan of that day is carried out; stored as tables.

    If the tables of the same plans, budget, sites and begin exist already, they are returned.
    """
    planned = {name: e for name, e in lake.current(PLAN, day).items() if e.is_ok}
    digest = input_digest(
        "budget",
        repr((budget, sorted(sites.items()), begin.isoformat())),
        *(f"{name} {entry.run}" for name, entry in sorted(planned.items())),
    )
    entry = lake.whole(lake.current(BUDGET, day)).get(_FLEET)
    if entry is None or entry.input != digest:
        works = _works(lake, storage, planned, sites)
        made = _tables_of(schedule(works, budget, begin), budget)
        entry = _publish(lake, day, made, digest)
    return _read_schedule(Reader(lake.root, storage), entry)


def fleet_report_of(lake: Lake, storage: Storage, day: str, sites: Sites) -> FleetReport:
    """What was planned that day, and the schedule if a budget was made for it."""
    planned = lake.current(PLAN, day)
    if not planned:
        raise Refused(f"{lake.root}: holds no plans of {day} (poolkeeper fleet plan makes them)")
    reader = Reader(lake.root, storage)
    timeline = None
    entry = lake.current(BUDGET, day).get(_FLEET)
    if entry is not None:
        (head,) = rows_of(reader.rows(entry, schemas.BUDGETS))
        timeline = _timeline(_read_schedule(reader, entry), head["budget"])
    clusters = (
        _cluster(reader, entry, sites.get(name, "")) for name, entry in sorted(planned.items())
    )
    return FleetReport(day, tuple(clusters), timeline)


def plan_of(lake: Lake, storage: Storage, day: str, cluster: str) -> Plan:
    """The plan of a cluster, as it was made; raises `Refused` with the reason where there is none.

    Raises `InvalidInput` if its rows are not of the plan that their hash names.
    """
    entry = lake.current(PLAN, day).get(cluster)
    if entry is None:
        raise Refused(f"{cluster} has no plan of {day} (poolkeeper fleet plan makes one)")
    if not entry.is_ok:
        raise Refused(f"{cluster} has no plan of {day}: {entry.reason}")
    reader = Reader(lake.root, storage)
    tables = (schemas.PLANS, *plan_rows.BODIES)
    return plan_rows.plan_of_rows(cluster, {t.name: reader.rows(entry, t) for t in tables})


def loads_of(lake: Lake, storage: Storage, day: str, cluster: str) -> MeasuredLoads | None:
    """What the features of a day say of a cluster; None where they say nothing."""
    entry = lake.current(FEATURES, day).get(cluster)
    if entry is None or not entry.is_ok:
        return None
    rows = Reader(lake.root, storage).rows(entry, schemas.FEATURES, features.NEEDED)
    return features.loads_of(rows)


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
    lake: Lake, storage: Storage, planned: Mapping[str, Entry], sites: Sites
) -> Iterable[ClusterWork]:
    """The work of every cluster; clusters whose rows share a file one after the other."""
    declared, reader = manifests.read(lake), Reader(lake.root, storage)
    for name, entry in sorted(planned.items(), key=lambda item: (item[1].files, item[0])):
        rows = reader.rows(entry, schemas.STAGES)
        columns = [column.to_pylist() for column in rows.columns[1:]]
        stages = tuple(map(ScheduledStage, *columns)) if rows.num_rows else ()
        windows = declared[name].desired.cluster.execution.windows if name in declared else ()
        yield ClusterWork(name, stages, sites.get(name, ""), windows)


def _cluster(reader: Reader, entry: Entry, site: str) -> ClusterReport:
    name = entry.cluster
    if not entry.is_ok:
        return ClusterReport(name, site, failed=entry.reason)
    (head,) = rows_of(reader.rows(entry, schemas.PLANS))
    steps = reader.rows(entry, schemas.STEPS, ["destructive"]).column(0).to_pylist()
    return ClusterReport(
        name,
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
        problems=tuple(
            PlanProblem(row["pool"], row["law"], Recorded(row["message"]), row["topic"])
            for row in rows_of(reader.rows(entry, schemas.PROBLEMS))
        ),
        brokers=tuple(
            Holding(**row) for row in rows_of(reader.rows(entry, schemas.BALANCES, Holding._fields))
        ),
    )


def _tables_of(made: Schedule, budget: Budget) -> Mapping[schemas.TableSchema, pa.Table]:
    def columns(
        table: schemas.TableSchema, rows: Iterable[Turn | LeftOut]
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


def _publish(
    lake: Lake, day: str, made: Mapping[schemas.TableSchema, pa.Table], digest: str
) -> Entry:
    """Write the tables of a budget, which are small, and make them what counts."""
    run = lake.begin(BUDGET, day, TABLES_OF[BUDGET])
    files = tuple(_write(lake, run, table, content) for table, content in made.items())
    versions = {table.name: str(table.version) for table in made}
    entry = Entry(_FLEET, run.id, digest, versions=versions, files=files)
    lake.publish(run, [entry])
    return entry


def _write(lake: Lake, run: Run, table: schemas.TableSchema, content: pa.Table) -> TableFile:
    sink = io.BytesIO()
    pq.write_table(content.cast(parquet.stored(table)), sink, compression="zstd")
    path = f"{run.folder(table)}/part-00000.parquet"
    lake.objects.put(path, sink.getvalue())
    return TableFile(table.name, path, len(sink.getvalue()))


def _read_schedule(reader: Reader, entry: Entry) -> Schedule:
    """The schedule without its slices: what reports and people need of it."""
    (head,) = rows_of(reader.rows(entry, schemas.BUDGETS))
    return Schedule(
        datetime.fromtimestamp(head["begin_ms"] / 1000, UTC),
        tuple(Turn(**row) for row in rows_of(reader.rows(entry, schemas.TURNS))),
        (),
        tuple(LeftOut(**row) for row in rows_of(reader.rows(entry, schemas.LEFT_OUT))),
        Bound(head["bound_ms"], head["bound_cause"]),
    )
