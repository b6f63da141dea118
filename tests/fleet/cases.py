"""Clusters to plan: seeded ones that look real, each with what is declared for it."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench import clusters
from builders import pool_spec, topic_spec
from fleet.in_process import InProcess
from poolkeeper.fleet.engines.results import ClusterOutcome, Job, StepResult
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.lake import Lake, StepRun
from poolkeeper.fleet.lake.reading import Reader
from poolkeeper.fleet.stages import plan
from poolkeeper.fleet.stages.plan import PlanInput, PlanTask
from poolkeeper.fleet.stages.publishing import (
    FEATURES,
    PLAN,
    SNAPSHOT,
    TABLES_OF,
    Step,
    make_and_publish,
)
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.storage import cluster_rows, parquet, plan_rows, schemas, table_schema
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import Goal, GoalKind, UnmanagedTopics
from poolkeeper.model.topology import Broker, Cluster, Partition, ReassignmentEntry, Topic
from poolkeeper.planning.planner import make_plan

DAY = "2026-03-01"
NOW_MS = 1_772_366_400_000
"""Noon of that day."""
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)

Case = tuple[Desired, Cluster]


def golden() -> Mapping[str, Case]:
    """By name; `tests/golden/fleet/hashes.json` holds the hashes of their plans."""
    settled = clusters.cluster(3000)
    pools = clusters.settled_in_pools(settled)
    odd = oddities(clusters.cluster(600, brokers=24))
    return {
        "balanced": (clusters.desired(60, goals=()), settled),
        "disks": (clusters.desired(60, clusters.DISKS, capacity=clusters.disks(settled)), settled),
        "drained": (
            clusters.desired(60, drain=frozenset({clusters.fullest(settled)})),
            settled,
        ),
        "expanded": (clusters.desired(64), clusters.cluster(3000, joined=4)),
        "oddities": (clusters.desired(24), odd),
        "pools": (clusters.two_pools(pools), pools),
        "rates": (clusters.desired(60, (Goal(GoalKind.BYTES_IN, percent=10.0),)), settled),
        "weights": (clusters.desired(60, capacity_of=clusters.weights(60)), settled),
        "created": _created(),
        "separate": separate(40, 3),
    }


def _created() -> Case:
    """Topics to be created, grown and configured."""
    desired, cluster = clusters.desired(24, goals=()), clusters.cluster(300, brokers=24)
    names = sorted(cluster.topics)[:3]
    topics = {
        name: replace(topic, config={"retention.ms": "1"}) for name, topic in cluster.topics.items()
    }
    grown = [
        topic_spec(
            name,
            "all",
            partitions=len(cluster.topics[name].partitions) + 2,
            config={"retention.ms": "1000"},
        )
        for name in names
    ]
    new = topic_spec("new", "all", partitions=6, replication_factor=3)
    return replace(desired, topics=(*grown, new)), replace(cluster, topics=topics)


def separate(topics: int, pools: int, brokers: int = 5) -> Case:
    """Pools that share nothing but one unmanaged topic; every topic is claimed by its pool."""
    ids = range(1, pools * brokers + 1)
    live = {b: Broker(b, rack="abc"[b % 3]) for b in ids}
    specs, found = [], {}
    for pool in range(pools):
        own = tuple(ids)[pool * brokers : (pool + 1) * brokers]
        name = f"pool-{pool}"
        specs.append(pool_spec(name, *own, cluster="bench", claims=(rf"{name}\..*",)))
        for number in range(topics):
            replicas = (own[0], own[1 + number % 2], own[3])
            partition = Partition(
                0, replicas, (), (), replicas[number % 2], replicas, None, 1 << 20
            )
            found[f"{name}.{number:03d}"] = Topic(f"{name}.{number:03d}", (partition,))
    across = Partition(0, (1, brokers + 1), leader=1, isr=(1,), size_bytes=1 << 30)
    found["across"] = Topic("across", (across,))
    base = clusters.desired(1)
    spec = replace(base.cluster, unmanaged_topics=UnmanagedTopics.IGNORE, default_pool=None)
    return Desired(spec, tuple(specs)), Cluster("bench", live, dict(sorted(found.items())), "bench")


def oddities(cluster: Cluster) -> Cluster:
    """Everything that a snapshot can say, and everything that it can leave open."""
    first, second, third, *_ = sorted(cluster.topics)
    topics = dict(cluster.topics)
    moving = (
        topics[first]
        .partitions[0]
        ._replace(
            replicas=(1, 2, 3, 4), adding=(4,), removing=(1,), isr=(), log_dirs={1: "/a", 2: "/b"}
        )
    )
    topics[first] = replace(
        topics[first],
        partitions=(moving, *topics[first].partitions[1:]),
        topic_id="AAAAAAAAAAAAAAAAAAAAAA",
        config={"b": "2", "a": "1"},
    )
    unknown = tuple(
        p._replace(leader=None, isr=None, size_bytes=None, in_bytes_per_s=None)
        for p in topics[second].partitions
    )
    topics[second] = replace(topics[second], partitions=unknown, config={})
    leaderless = tuple(p._replace(leader=-1, isr=()) for p in topics[third].partitions)
    topics[third] = replace(topics[third], partitions=leaderless)
    return replace(
        cluster,
        topics=topics,
        reassignment=(ReassignmentEntry(first, 0, (2, 3, 4)),),
        electing=True,
        deleting=frozenset({"gone"}),
        torn=frozenset({"torn"}),
        damaged={"broken": "is not JSON"},
        kafka_version="3.9",
    )


def named(case: Case, name: str) -> Case:
    """The same cluster under another name."""
    desired, cluster = case
    spec = replace(desired.cluster, name=name)
    pools = tuple(replace(pool, cluster=name) for pool in desired.pools)
    return replace(desired, cluster=spec, pools=pools), replace(cluster, name=name)


def put(lake: Lake, case: Case, day: str = DAY, read_ms: int = NOW_MS) -> None:
    """Put a snapshot and what is declared for it into the lake."""
    desired, cluster = case
    rows = cluster_rows.rows_of_cluster(cluster)
    head = {**rows.head, "status": "ok", "read_ms": read_ms}
    head["damaged"] = list(head["damaged"].items())
    row = parquet.table_of(schemas.CLUSTERS, {key: [value] for key, value in head.items()})
    figures = {"partitions": str(rows.head["partitions"]), "read_ms": str(read_ms)}
    put_rows(
        lake,
        SNAPSHOT,
        StepResult(
            ClusterOutcome(cluster.name, figures=figures),
            {**rows.bodies, schemas.CLUSTERS.name: row},
        ),
        day,
    )
    manifests.write(lake, [desired])


def put_rows(lake: Lake, name: str, result: StepResult, day: str = DAY) -> None:
    """Put the rows of a cluster that a step would make."""
    cluster = result.outcome.cluster
    engine = InProcess()
    step = Step(engine, lake, name, day, {cluster: "put by a test"}, again=True)

    def put(run: StepRun, names: Sequence[str]) -> Sequence[ClusterOutcome]:
        return engine.make(Job("put", [result], [0], _same, step.destination(run)))

    make_and_publish(step, put)


def _same(result: StepResult) -> StepResult:
    return result


def planned(case: Case) -> plan.Plan:
    """The plan of the local engine, from the objects themselves."""
    desired, cluster = case
    return make_plan(desired, cluster, Records())


def rows(
    lake: Lake, table: table_schema.TableSchema, cluster: str = "main", day: str = DAY
) -> parquet.pa.Table:
    """The rows of a cluster that count."""
    step = next(name for name, tables in TABLES_OF.items() if table in tables)
    return Reader(lake.root, InProcess.storage).rows(lake.current(step, day)[cluster], table)


def kept(lake: Lake, cluster: str, day: str = DAY) -> plan.Plan:
    """The plan that is in the lake."""
    found = {t.name: rows(lake, t, cluster, day) for t in (schemas.PLANS, *plan_rows.BODIES)}
    return plan_rows.plan_of_rows(cluster, found)


def entry(lake: Lake, step: str, cluster: str = "main", day: str = DAY) -> ClusterEntry:
    """What counts of a cluster."""
    return lake.current(step, day)[cluster]


def plan_input(lake: Lake, cluster: str = "main") -> PlanInput:
    """What a plan would be made from."""
    declared = manifests.read(lake)
    task = PlanTask(
        cluster,
        declared[cluster].text,
        lake.current(SNAPSHOT, DAY).get(cluster),
        lake.current(FEATURES, DAY).get(cluster),
    )
    return plan.plan_input_of(task, Tables(lake.root, InProcess.storage, secrets.token_hex(4)))


def rows_of_all(lake: Lake, day: str = DAY) -> dict[tuple[str, str], list[dict]]:
    """All rows that count, by table and cluster."""
    reader = Reader(lake.root, InProcess.storage)
    return {
        (table.name, name): reader.rows(found, table).to_pylist()
        for step in (SNAPSHOT, FEATURES, PLAN)
        for name, found in lake.current(step, day).items()
        for table in TABLES_OF[step]
    }


def seen(case: Case) -> PlanInput:
    desired, cluster = case
    return PlanInput(desired, cluster, Records(), frozenset())


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path there."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
