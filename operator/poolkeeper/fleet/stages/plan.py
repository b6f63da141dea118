"""The plan of one cluster, or of a part of a giant one, from tables to rows. No Spark in it.

`plan_cluster` is what the local planner does too (`poolkeeper plan --snapshot`): what the live
cluster shows to be wrong, then `make_plan`, and where a person is asked, the platform's part first.
As there, a plan is kept only if the independent audit finds nothing, and topics and pools that it
finds something of stay as they are (`lawful_plan`); one of many parts is audited as a whole. Who
executes it audits it again, on the live cluster. What the budget needs of a plan is made here as
well: nobody else sees all moves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from poolkeeper.errors import Refused
from poolkeeper.fleet.engines.results import ClusterOutcome, StepResult
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.schedule.work import cut_of, work_of
from poolkeeper.fleet.stages import plan_parts
from poolkeeper.fleet.stages.features import feature_join, feature_rows
from poolkeeper.fleet.stages.tasks import Tables, files_of
from poolkeeper.fleet.storage import cluster_rows, codecs, plan_rows, schemas
from poolkeeper.fleet.storage.cluster_rows import ClusterRows
from poolkeeper.fleet.storage.parquet import from_rows, rows_of
from poolkeeper.fleet.storage.schemas import OK
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.move_columns import ColumnMoves, MoveColumns, columns_of_moves
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import ApprovalPolicy
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit import audit
from poolkeeper.planning.lawful_plan import lawful_plan
from poolkeeper.planning.parts.platform_first import may_be_mixed, platform_first
from poolkeeper.planning.parts.split import Circumstances
from poolkeeper.planning.planner import PlanOptions, make_plan
from poolkeeper.planning.problem.partitions import PartitionTable, table_of
from poolkeeper.reconcile.observe.gone_brokers import updated_records
from poolkeeper.report.values import Holding
from poolkeeper.zk.client.gc_pause import collector_paused

AnyPlanner = Callable[..., Plan]
"""Takes what `make_plan` takes, its options as well, and makes the plan that it makes."""

NEEDED = (
    "partition",
    "replicas",
    "adding",
    "removing",
    "leader",
    "isr",
    "bytes",
    "bytes_in_per_s",
)
"""Columns of `partitions` that plans are made from."""


@frozen
class PlanInput:
    """The input of a plan."""

    desired: Desired
    cluster: Cluster
    records: Records
    gone: frozenset[int]


@frozen
class PlanTask:
    """A cluster to plan; or, with `pool`, its part of which that is the first pool.

    `desired`: what is declared, as canonical JSON; empty: nothing.
    `snapshot`, `features`: what counts of the cluster in these steps, if there is anything.
    `weight`: the number of partitions.
    `refused`: why it is not to be planned, if it is not.
    """

    cluster: str
    desired: str = ""
    snapshot: ClusterEntry | None = None
    features: ClusterEntry | None = None
    weight: int = 0
    pool: str = ""
    refused: str = ""


def perform(task: PlanTask, tables: Tables, planner: AnyPlanner = make_plan) -> StepResult:
    """Do one task; a fault of the cluster becomes its status and is never raised."""
    try:
        with collector_paused():
            return _perform(task, tables, planner)
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
        return _failure(task, wrong)


def merge(task: PlanTask, parts: Sequence[StepResult], tables: Tables) -> StepResult:
    """Join the plans of all parts of a cluster; a fault becomes its status and is never raised."""
    try:
        with collector_paused():
            seen = plan_input_of(task, tables)
            table = table_of(seen.cluster)
            return _result(task, seen, table, _merge_parts(task, parts, seen, table))
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
        return _failure(replace(task, pool=""), wrong)


def _perform(task: PlanTask, tables: Tables, planner: AnyPlanner) -> StepResult:
    seen = plan_input_of(task, tables)
    table = table_of(seen.cluster)
    if task.pool:
        return _plan_part(task, seen, table)
    return _result(task, seen, table, plan_cluster(seen, table, planner), planner)


def _result(
    task: PlanTask,
    seen: PlanInput,
    table: PartitionTable,
    made: Plan,
    planner: AnyPlanner = make_plan,
) -> StepResult:
    """The rows of a plan that the audit has found lawful; `made`: what it is to judge first."""
    plan = _as_approved(_lawful(seen, table, made, planner), planner)
    columns = columns_of_moves(plan.moves)
    rows = plan_rows.rows_of_plan(plan, columns, seen.desired, seen.cluster, seen.records, table)
    rows[schemas.STAGES.name] = _stages(plan, columns, seen.desired, rows[schemas.BALANCES.name])
    figures = {"partitions": len(table.lengths), "moves": len(plan.moves), "hash": plan.hash}
    said = {name: str(value) for name, value in figures.items()}
    return StepResult(ClusterOutcome(task.cluster, OK, figures=said), rows)


def _lawful(
    seen: PlanInput, table: PartitionTable, made: Plan, planner: AnyPlanner
) -> tuple[Plan, Circumstances]:
    """The plan without what would break a law, and what it was made from."""

    def make(wanted: Desired) -> Plan:
        if wanted is seen.desired:
            return made
        return plan_cluster(replace(seen, desired=wanted), table, planner)

    def judge(plan: Plan, wanted: Desired) -> tuple[audit.Violation, ...]:
        return audit.check_plan(plan, wanted, seen.cluster, seen.records, seen.gone, fresh=True)

    found = lawful_plan(seen.desired, make, judge)
    return found.plan, Circumstances(found.desired, seen.cluster, seen.records, seen.gone)


def _as_approved(lawful: tuple[Plan, Circumstances], planner: AnyPlanner) -> Plan:
    """The plan as a person is asked to approve it, with the same hash as everywhere else."""
    plan, at = lawful
    manual = at.desired.cluster.approval.policy is ApprovalPolicy.MANUAL
    return platform_first(plan, at, planner) if manual and may_be_mixed(plan, at) else plan


def _failure(task: PlanTask, wrong: Exception) -> StepResult:
    outcome = ClusterOutcome.of_failure(task.cluster, wrong)
    figures = {"partitions": "0", "moves": "0", "hash": ""}
    rows = {} if task.pool else plan_rows.rows_of_failure(outcome.reason)
    return StepResult(replace(outcome, figures=figures), rows, task.pool)


def _stages(plan: Plan, columns: MoveColumns, desired: Desired, balances: pa.Table) -> pa.Table:
    """What the budget needs of the plan."""
    execution = desired.cluster.execution
    brokers = tuple(Holding(**row) for row in rows_of(balances))
    work = work_of(plan, brokers, cut=cut_of(execution), columns=columns)
    return from_rows(schemas.STAGES, ((n, *stage) for n, stage in enumerate(work.stages)))


def plan_cluster(
    plan_input: PlanInput, table: PartitionTable | None = None, planner: AnyPlanner = make_plan
) -> Plan:
    """The plan. `table`: the cluster's columns, if the caller has them."""
    given = (plan_input.desired, plan_input.cluster, plan_input.records, plan_input.gone)
    return planner(*given, PlanOptions(table=table))


def plan_input_of(task: PlanTask, tables: Tables) -> PlanInput:
    """A cluster's rows that count; raises `Refused` if they do not suffice."""
    entry = task.snapshot
    if task.refused:
        raise Refused(task.refused)
    if entry is None:
        raise Refused("it has no snapshot")
    if not entry.is_ok:
        raise Refused(f"it could not be read: {entry.reason}")
    if not task.desired:
        raise Refused("nothing is declared for it")
    desired = codecs.from_text(Desired, task.desired)
    reader = tables.reader()
    head, found = read_cluster(task.cluster, entry, tables)
    pinned = desired.cluster.cluster_id
    if pinned is not None and found.id not in (None, pinned):
        raise Refused(f"it is another cluster: its id is {found.id}, not {pinned}")
    if task.features is not None and task.features.is_ok:
        rows = reader.rows(task.features, schemas.FEATURES, feature_rows.NEEDED)
        found = feature_join.with_features(found, rows)
    text = head["records"]
    records = Records() if text is None else codecs.from_text(Records, text)
    return PlanInput(
        desired,
        found,
        updated_records(records, found, desired, head["read_ms"]),
        frozenset(head["gone"] or ()),
    )


def read_cluster(
    cluster: str, entry: ClusterEntry, tables: Tables
) -> tuple[dict[str, Any], Cluster]:
    """A cluster's row of `clusters`, and what plans are made from; raises as `Reader.row`."""
    reader = tables.reader()
    head = reader.row(entry, schemas.CLUSTERS)
    bodies = {
        table.name: reader.rows(entry, table, NEEDED if table is schemas.PARTITIONS else None)
        for table in cluster_rows.BODIES
    }
    try:
        return head, cluster_rows.cluster_of_rows(cluster, ClusterRows(head, bodies))
    except Refused as wrong:
        # Which of its files it is cannot be told: the snapshot is made again with all of them.
        raise DamagedFile(entry.of_table(schemas.CLUSTERS)[0].path, wrong.line) from wrong


def tasks_of(
    tasks: Sequence[PlanTask], slots: int, split_from: int
) -> tuple[tuple[PlanTask, ...], Mapping[str, PlanTask]]:
    """The tasks, the heaviest first, giants by their pools; and those that join parts.

    A cluster is split if it has at least `split_from` partitions and would keep one of `slots`
    executors busy for longer than all others: if it has more than an even share of all partitions.
    """
    share = sum(task.weight for task in tasks) / max(slots, 1)
    listed, merges = [], {}
    for task in tasks:
        giant = slots > 1 and not task.refused and task.weight >= split_from and task.weight > share
        pools = _pools(task) if giant else ()
        if len(pools) < 2:
            listed.append(task)
            continue
        weight = task.weight // len(pools)
        listed += [replace(task, pool=pool, weight=weight) for pool in pools]
        merges[task.cluster] = task
    listed.sort(key=lambda task: (-task.weight, task.cluster, task.pool))
    return tuple(listed), merges


def units_of(tasks: Sequence[PlanTask], at_most: int) -> list[list[int]]:
    """Places of tasks to be done one after the other: small clusters whose rows share a file.

    No unit is heavier than an even share of `at_most` unless it is one task.
    """
    share = -(-sum(task.weight + 1 for task in tasks) // max(at_most, 1))
    by_file: dict[tuple[str, ...], list[int]] = {}
    for place, task in enumerate(tasks):
        key = files_of(task.snapshot, schemas.PARTITIONS.name)
        by_file.setdefault(key if key and not task.pool else (f"alone/{place}",), []).append(place)
    units: list[list[int]] = []
    for places in by_file.values():
        filled = share
        for place in places:
            weight = tasks[place].weight + 1
            if filled + weight > share:
                units.append([])
                filled = 0
            units[-1].append(place)
            filled += weight
    return units


def _pools(task: PlanTask) -> tuple[str, ...]:
    try:
        desired = codecs.from_text(Desired, task.desired)
    except Refused:
        return ()  # the task reports it
    return tuple(sorted(pool.name for pool in desired.pools))


def _plan_part(task: PlanTask, seen: PlanInput, table: PartitionTable) -> StepResult:
    """Plan the part whose first pool the task names, if there is one."""
    for part in plan_parts.parts(seen.desired, seen.cluster, seen.records, table):
        if part.pools[0] == task.pool:
            plan = plan_parts.plan_of_part(
                part, seen.desired, seen.cluster, seen.records, seen.gone
            )
            columns = columns_of_moves(plan.moves)
            rows = plan_rows.rows_of_plan(
                plan, columns, seen.desired, seen.cluster, seen.records, table
            )
            return StepResult(ClusterOutcome(task.cluster), rows, task.pool)
    return StepResult(ClusterOutcome(task.cluster), {}, task.pool)


def _merge_parts(
    task: PlanTask, results: Sequence[StepResult], seen: PlanInput, table: PartitionTable
) -> Plan:
    """Join the plans of all parts; a missing part is planned here."""
    made = {each.part: each.tables for each in results if each.tables}
    plans = []
    for part in plan_parts.parts(seen.desired, seen.cluster, seen.records, table):
        if part.pools[0] in made:
            plans.append(plan_rows.plan_of_rows(task.cluster, made[part.pools[0]]))
        else:
            plans.append(
                plan_parts.plan_of_part(part, seen.desired, seen.cluster, seen.records, seen.gone)
            )
    columns = MoveColumns.joined([columns_of_moves(plan.moves) for plan in plans])
    together = Plan(
        task.cluster,
        "",
        "",
        tuple(step for plan in plans for step in plan.steps),
        ColumnMoves(columns),
    )
    counts = plan_rows.holdings_of_plan(together, columns, seen.desired, seen.cluster, table)
    held = {broker: found[3] for broker, found in counts.items()}
    return plan_parts.merge_plans(plans, seen.desired, seen.cluster, seen.records, seen.gone, held)
