"""The budget of a day: from the tables of all clusters to waves; and what a report shows of plans.

Only what was planned is read, cluster by cluster, in one process. A cluster without a plan has no
work in the budget, and its reason in the report (`day_report`).
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from poolkeeper.fleet.schedule.budget import Bound, Budget, ClusterWork, LeftOut, Schedule, Turn
from poolkeeper.fleet.schedule.schedule import schedule
from poolkeeper.fleet.schedule.timeline import budget_text, timeline_of
from poolkeeper.fleet.schedule.work import cut_of, work_of
from poolkeeper.fleet.stages.plan import desired_of
from poolkeeper.fleet.storage import plan_rows, schemas
from poolkeeper.fleet.storage.parquet import from_rows, rows_of, table_of
from poolkeeper.fleet.storage.store import OK, Store, input_digest
from poolkeeper.model.plans import Plan, PlanProblem, PoolCertificate
from poolkeeper.model.problems import Recorded
from poolkeeper.report.values import ClusterReport, Holding, Timeline

Sites = Mapping[str, str]
"""Site by cluster."""

_FROM_PLANS = (schemas.PLANS, schemas.MOVES, schemas.BALANCES)


def schedule_day(store: Store, day: str, budget: Budget, sites: Sites, begin: datetime) -> Schedule:
    """When every cluster's plan of that day is carried out; stored as tables.

    If the tables of the same plans, budget, sites and begin exist already, they are returned.
    """
    planned = [name for name in store.clusters(schemas.PLANS, day) if _has_plan(store, day, name)]
    digest = input_digest(
        "budget",
        repr((budget, sorted(sites.items()), begin.isoformat())),
        *planned,
        files=(store.file(table, day, name) for name in planned for table in _FROM_PLANS),
    )
    if not store.is_made(schemas.BUDGETS, day, "", digest):
        works = (_work(store, day, name, sites.get(name, "")) for name in planned)
        _write_schedule(store, day, schedule(works, budget, begin), budget, digest)
    return _read_schedule(store, day)


def timeline_of_day(store: Store, day: str) -> Timeline | None:
    """The schedule of that day for a report, or None if no budget was made for it."""
    if not store.file(schemas.BUDGETS, day, "").exists():
        return None
    (head,) = rows_of(store.read(schemas.BUDGETS, day, ""))
    return _timeline(_read_schedule(store, day), head["budget"])


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


def _has_plan(store: Store, day: str, name: str) -> bool:
    head = store.head(schemas.PLANS, day, name)
    return head is not None and head["status"] == OK


def plan_of_day(store: Store, day: str, name: str) -> Plan:
    """The cluster's plan; raises `InvalidInput` if what it says of itself is not so."""
    rows = {t.name: store.read(t, day, name) for t in (schemas.PLANS, *plan_rows.BODIES)}
    return plan_rows.plan_of_rows(name, rows)


def _work(store: Store, day: str, name: str, site: str) -> ClusterWork:
    execution = desired_of(store, name).cluster.execution
    plan, brokers = plan_of_day(store, day, name), holdings_of_day(store, day, name)
    return work_of(plan, brokers, site, execution.windows, cut_of(execution))


def holdings_of_day(store: Store, day: str, name: str) -> tuple[Holding, ...]:
    """The cluster's brokers before its plan and after it."""
    columns = store.read(schemas.BALANCES, day, name, Holding._fields)
    return tuple(Holding(**row) for row in rows_of(columns))


def problems_of_day(
    store: Store, day: str, name: str, head: Mapping[str, Any]
) -> tuple[PlanProblem, ...]:
    """The problems of the cluster's plan, whose row of `plans` is `head`."""
    if not head["problems"]:
        return ()
    return tuple(
        PlanProblem(row["pool"], row["law"], Recorded(row["message"]), row["topic"])
        for row in rows_of(store.read(schemas.PROBLEMS, day, name))
    )


def cluster_report(
    store: Store, day: str, name: str, site: str, head: Mapping[str, Any]
) -> ClusterReport:
    """The numbers of the cluster's plan, whose row of `plans` is `head`."""
    steps = (
        store.read(schemas.STEPS, day, name, ["destructive"]).column(0).to_pylist()
        if head["steps"]
        else ()
    )
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
            PoolCertificate(**row) for row in rows_of(store.read(schemas.CERTIFICATES, day, name))
        ),
        problems=problems_of_day(store, day, name, head),
        brokers=holdings_of_day(store, day, name),
    )


def _write_schedule(store: Store, day: str, made: Schedule, budget: Budget, digest: str) -> None:
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
    content = {
        schemas.TURNS.name: from_rows(schemas.TURNS, columns(schemas.TURNS, made.turns)),
        schemas.LEFT_OUT.name: from_rows(
            schemas.LEFT_OUT, columns(schemas.LEFT_OUT, made.left_out)
        ),
        schemas.BUDGETS.name: table_of(schemas.BUDGETS, head),
    }
    store.step(schemas.BUDGETS, day, "", content, digest)


def _read_schedule(store: Store, day: str) -> Schedule:
    """The schedule without its slices: what reports and people need of it."""
    (head,) = rows_of(store.read(schemas.BUDGETS, day, ""))
    return Schedule(
        datetime.fromtimestamp(head["begin_ms"] / 1000, UTC),
        tuple(Turn(**row) for row in rows_of(store.read(schemas.TURNS, day, ""))),
        (),
        tuple(LeftOut(**row) for row in rows_of(store.read(schemas.LEFT_OUT, day, ""))),
        Bound(head["bound_ms"], head["bound_cause"]),
    )
