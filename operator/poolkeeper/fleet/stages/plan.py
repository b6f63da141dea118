"""The plan of one cluster, or of a part of a giant one, from tables to tables. No Spark in it.

`plan_cluster` is what the local engine does too (`poolkeeper plan --snapshot`): what the live
cluster shows to be wrong, then `make_plan`. As there, a plan is kept only if the independent audit
finds nothing; one of many parts is audited as a whole. Who executes it audits it again, on the live
cluster.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from poolkeeper.errors import InvalidInput, PoolkeeperError, Refused
from poolkeeper.fleet.stages import features, plan_parts
from poolkeeper.fleet.storage import cluster_rows, codecs, plan_rows, schemas
from poolkeeper.fleet.storage.cluster_rows import ClusterRows
from poolkeeper.fleet.storage.store import FAILED, OK, Store, input_digest
from poolkeeper.load import apply
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit import audit
from poolkeeper.planning.diagnosis import impossible_requests
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.problem.partitions import PartitionTable, table_of
from poolkeeper.reconcile.gone_brokers import updated_records
from poolkeeper.zk.client.gc_pause import collector_paused

Planner = Callable[..., Plan]
"""Makes the plan that `make_plan` makes."""

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


@dataclass(frozen=True, slots=True)
class PlanInput:
    """The input of a plan."""

    desired: Desired
    cluster: Cluster
    records: Records
    gone: frozenset[int]


@dataclass(frozen=True, slots=True)
class PlanTask:
    """A cluster to plan; or, with `pool`, its part of which that is the first pool.

    `merge`: all parts are planned, and the task joins them.
    `weight`: the number of partitions.
    """

    root: str
    day: str
    cluster: str
    weight: int = 0
    pool: str = ""
    merge: bool = False


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The result of a task; seconds are CPU time of the process."""

    cluster: str
    pool: str
    status: str
    reason: str
    partitions: int
    moves: int
    hash: str
    seconds: float


def perform(task: PlanTask, planner: Planner = make_plan) -> PlanResult:
    """Do one task; a fault of the cluster becomes its status and is never raised."""
    begin = time.process_time()
    store = Store(Path(task.root))
    try:
        with collector_paused():
            plan, partitions = _perform(store, task, planner)
    except PoolkeeperError as wrong:
        reason = wrong.line
        if not task.pool:
            _write(store, task, plan_rows.rows_of_failure(reason))
        spent = time.process_time() - begin
        return PlanResult(task.cluster, task.pool, FAILED, reason, 0, 0, "", spent)
    spent = time.process_time() - begin
    moves, hash_ = len(plan.moves), plan.hash
    return PlanResult(task.cluster, task.pool, OK, "", partitions, moves, hash_, spent)


def _perform(store: Store, task: PlanTask, planner: Planner) -> tuple[Plan, int]:
    seen = plan_input_of(store, task.day, task.cluster)
    table = table_of(seen.cluster)
    if task.pool:
        return _plan_part(store, task, seen), 0
    plan = _merge_parts(store, task, seen) if task.merge else plan_cluster(seen, table, planner)
    audit.enforce(plan, seen.desired, seen.cluster, seen.records, seen.gone, fresh=True)
    rows = plan_rows.rows_of_plan(plan, seen.desired, seen.cluster, seen.records, table)
    _write(store, task, rows)
    return plan, len(table.replicas)


def plan_cluster(
    plan_input: PlanInput, table: PartitionTable | None = None, planner: Planner = make_plan
) -> Plan:
    """The plan; raises `InvalidInput` for what no plan can ever meet.

    `table`: the cluster's columns, if the caller has them.
    """
    _require_possible(plan_input)
    return planner(
        plan_input.desired, plan_input.cluster, plan_input.records, plan_input.gone, table=table
    )


def plan_input_of(store: Store, day: str, cluster: str) -> PlanInput:
    """A cluster's latest tables of a day; raises `Refused` if they do not suffice."""
    head = store.head(schemas.CLUSTERS, day, cluster)
    if head is None:
        raise Refused("it has no snapshot")
    if head["status"] != OK:
        raise Refused(f"it could not be read: {head['reason']}")
    desired = desired_of(store, cluster)
    bodies = {
        table.name: store.read(table, day, cluster, NEEDED if table is schemas.PARTITIONS else None)
        for table in cluster_rows.BODIES
    }
    found = cluster_rows.cluster_of_rows(cluster, ClusterRows(head, bodies))
    pinned = desired.cluster.cluster_id
    if pinned is not None and found.id not in (None, pinned):
        raise Refused(f"it is another cluster: its id is {found.id}, not {pinned}")
    if store.file(schemas.FEATURES, day, cluster).exists():
        rows = store.read(schemas.FEATURES, day, cluster)
        found = apply.with_loads(found, features.loads_of(rows))
    text = head["records"]
    records = Records() if text is None else codecs.from_text(Records, text)
    return PlanInput(
        desired,
        found,
        updated_records(records, found, desired, head["read_ms"]),
        frozenset(head["gone"] or ()),
    )


def desired_of(store: Store, cluster: str) -> Desired:
    """What is declared for a cluster; raises `Refused` if nothing is."""
    if cluster not in store.clusters(schemas.MANIFESTS):
        raise Refused("nothing is declared for it")
    (text,) = store.read(schemas.MANIFESTS, "", cluster, ["desired"]).column(0).to_pylist()
    return codecs.from_text(Desired, text)


def input_of(store: Store, day: str, cluster: str) -> str:
    """The digest of all that the plan of a cluster is made from."""
    tables = (schemas.CLUSTERS, *cluster_rows.BODIES, schemas.FEATURES, schemas.MANIFESTS)
    return input_digest("plan", files=(store.file(table, day, cluster) for table in tables))


def tasks_of(
    store: Store, day: str, clusters: Sequence[str], slots: int, split_from: int
) -> tuple[tuple[PlanTask, ...], tuple[PlanTask, ...]]:
    """The tasks, the heaviest first; then those that join parts.

    A cluster is split if it has at least `split_from` partitions and would keep one of `slots`
    executors busy for longer than all others: if it has more than an even share of all partitions.
    """
    sizes = {name: size_of(store, day, name) for name in clusters}
    share = sum(sizes.values()) / max(slots, 1)
    tasks, merges = [], []
    for name, size in sizes.items():
        task = PlanTask(str(store.root), day, name, size)
        pools = _pools(store, name) if slots > 1 and size >= split_from and size > share else ()
        if len(pools) < 2:
            tasks.append(task)
            continue
        tasks += [replace(task, pool=pool, weight=size // len(pools)) for pool in pools]
        merges.append(replace(task, merge=True))
    tasks.sort(key=lambda task: (-task.weight, task.cluster, task.pool))
    return tuple(tasks), tuple(merges)


def size_of(store: Store, day: str, cluster: str) -> int:
    """The number of partitions of its snapshot; 0 without one."""
    head = store.head(schemas.CLUSTERS, day, cluster)
    return 0 if head is None else int(head["partitions"] or 0)


def _pools(store: Store, cluster: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(pool.name for pool in desired_of(store, cluster).pools))
    except Refused:
        return ()  # the task reports it


def _require_possible(plan_input: PlanInput) -> None:
    if wrong := impossible_requests.problems(
        plan_input.desired, plan_input.cluster, plan_input.records, plan_input.gone
    ):
        raise InvalidInput(wrong)


def _parts_store(store: Store, pool: str) -> Store:
    return Store(store.root / "parts" / pool)


def _plan_part(store: Store, task: PlanTask, plan_input: PlanInput) -> Plan:
    """Plan the part whose first pool the task names, if there is one; keep it aside."""
    _require_possible(plan_input)
    table = table_of(plan_input.cluster)
    aside = _parts_store(store, task.pool)
    aside.begin(schemas.PLANS, task.day, task.cluster)
    for part in plan_parts.parts(plan_input.desired, plan_input.cluster, plan_input.records, table):
        if part.pools[0] == task.pool:
            plan = plan_parts.plan_of_part(
                part, plan_input.desired, plan_input.cluster, plan_input.records, plan_input.gone
            )
            rows = plan_rows.rows_of_plan(
                plan, plan_input.desired, plan_input.cluster, plan_input.records, table
            )
            aside.step(schemas.PLANS, task.day, task.cluster, rows, input_of_task(store, task))
            return plan
    return Plan(task.cluster, "", "")


def _merge_parts(store: Store, task: PlanTask, plan_input: PlanInput) -> Plan:
    """Join the plans of all parts; a missing part is planned here."""
    table = table_of(plan_input.cluster)
    plans = []
    digest = input_of_task(store, task)
    for part in plan_parts.parts(plan_input.desired, plan_input.cluster, plan_input.records, table):
        aside = _parts_store(store, part.pools[0])
        if aside.is_made(schemas.PLANS, task.day, task.cluster, digest):
            names = (schemas.PLANS, *plan_rows.BODIES)
            rows = {t.name: aside.read(t, task.day, task.cluster) for t in names}
            plans.append(plan_rows.plan_of_rows(task.cluster, rows))
        else:
            plans.append(
                plan_parts.plan_of_part(
                    part,
                    plan_input.desired,
                    plan_input.cluster,
                    plan_input.records,
                    plan_input.gone,
                )
            )
    together = Plan(
        task.cluster,
        "",
        "",
        tuple(step for plan in plans for step in plan.steps),
        tuple(move for plan in plans for move in plan.moves),
    )
    counts = plan_rows.holdings_of_plan(together, plan_input.desired, plan_input.cluster, table)
    held = {broker: found[3] for broker, found in counts.items()}
    return plan_parts.merge_plans(
        plans, plan_input.desired, plan_input.cluster, plan_input.records, plan_input.gone, held
    )


def input_of_task(store: Store, task: PlanTask) -> str:
    """The digest of all that the task's plan is made from."""
    return input_of(store, task.day, task.cluster)


def _write(store: Store, task: PlanTask, rows: dict[str, pa.Table]) -> None:
    store.step(schemas.PLANS, task.day, task.cluster, rows, input_of_task(store, task))
