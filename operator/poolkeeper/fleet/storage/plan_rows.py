"""A plan as tables, and back; and what brokers hold before it and after it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from poolkeeper.fleet.storage import schemas
from poolkeeper.fleet.storage.cluster_rows import int_lists
from poolkeeper.fleet.storage.parquet import from_rows, rows_of, table_of
from poolkeeper.fleet.storage.schemas import FAILED, OK
from poolkeeper.jsontext import canonical
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import AddPartitions, CreateTopic, Move, Plan
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.problem.arrays import Ints, rack_name
from poolkeeper.planning.problem.partitions import PartitionTable, flat_ids
from poolkeeper.planning.proposals import plan_json, plan_reading

BODIES = (
    schemas.MOVES,
    schemas.STEPS,
    schemas.CERTIFICATES,
    schemas.PROBLEMS,
    schemas.BALANCES,
)
"""The tables of a plan beside its row of `plans`."""


def rows_of_plan(
    plan: Plan, desired: Desired, cluster: Cluster, records: Records, table: PartitionTable
) -> dict[str, pa.Table]:
    """All tables of the plan by name; `table`: the cluster's columns."""
    counts = holdings_of_plan(plan, desired, cluster, table)
    return {
        schemas.MOVES.name: _moves(plan, desired),
        schemas.STEPS.name: _steps(plan),
        schemas.CERTIFICATES.name: from_rows(schemas.CERTIFICATES, map(_fields, plan.certificates)),
        schemas.PROBLEMS.name: from_rows(
            schemas.PROBLEMS, ((p.pool, p.law, p.topic, p.message) for p in plan.problems)
        ),
        schemas.BALANCES.name: _balances(counts, desired, cluster, records),
        schemas.PLANS.name: table_of(
            schemas.PLANS,
            {
                "status": [OK],
                "hash": [plan.hash],
                "fingerprint": [plan.fingerprint],
                "partitions": [len(table.replicas)],
                "moves": [len(plan.moves)],
                "steps": [len(plan.steps)],
                "problems": [len(plan.problems)],
                "bytes": [sum(move.bytes for move in plan.moves)],
            },
        ),
    }


def rows_of_failure(reason: str) -> dict[str, pa.Table]:
    """The tables of a cluster that has no plan; all but the head are empty."""
    empty = {table.name: from_rows(table, ()) for table in BODIES}
    return empty | {
        schemas.PLANS.name: table_of(schemas.PLANS, {"status": [FAILED], "reason": [reason]})
    }


def plan_of_rows(cluster: str, rows: Mapping[str, pa.Table]) -> Plan:
    """The plan; raises `InvalidInput` if what it says of itself (its hash) is not so."""
    (head,) = rows_of(rows[schemas.PLANS.name])
    moves = sorted(rows_of(rows[schemas.MOVES.name]), key=lambda row: row["index"])
    steps = sorted(rows_of(rows[schemas.STEPS.name]), key=lambda row: row["index"])
    names = {"topic_id": "topicId"}
    return plan_json.from_json(
        {
            "version": plan_reading.VERSION,
            "cluster": cluster,
            "hash": head["hash"],
            "fingerprint": head["fingerprint"],
            "steps": [json.loads(row["body"]) for row in steps],
            "moves": [
                {names.get(key, key): value for key, value in row.items() if key != "index"}
                for row in moves
            ],
            "certificate": {
                "pools": [_camel(row) for row in rows_of(rows[schemas.CERTIFICATES.name])]
            },
            "problems": list(rows_of(rows[schemas.PROBLEMS.name])),
        }
    )


def _camel(row: Mapping[str, Any]) -> dict[str, Any]:
    words = (name.split("_") for name in row)
    names = (first + "".join(map(str.capitalize, rest)) for first, *rest in words)
    return dict(zip(names, row.values(), strict=True))


def _fields(value: Any) -> tuple[Any, ...]:
    return tuple(getattr(value, column.name) for column in schemas.CERTIFICATES.columns)


def _moves(plan: Plan, desired: Desired) -> pa.Table:
    moves = plan.moves
    pool_of = {broker: pool.name for pool in desired.pools for broker in pool.brokers}
    return table_of(
        schemas.MOVES,
        {
            "index": range(len(moves)),
            "pool": [pool_of.get(move.path[-1][0]) or _pool(move, pool_of) for move in moves],
            "topic": [move.topic for move in moves],
            "topic_id": [move.topic_id for move in moves],
            "partition": [move.partition for move in moves],
            "path": _paths([move.path for move in moves]),
            "bytes": [move.bytes for move in moves],
            "reason": [move.reason for move in moves],
            "urgency": [move.urgency for move in moves],
        },
    )


def _paths(paths: Sequence[Sequence[Replicas]]) -> pa.ListArray:
    ends = np.zeros(len(paths) + 1, dtype=np.int32)
    np.cumsum([len(path) for path in paths], out=ends[1:])
    inner = int_lists([replicas for path in paths for replicas in path])
    return pa.ListArray.from_arrays(pa.array(ends), inner)


def _pool(move: Move, pool_of: Mapping[int, str]) -> str:
    return next((pool_of[broker] for broker in move.target if broker in pool_of), "")


def _steps(plan: Plan) -> pa.Table:
    bodies = plan_json.to_json(replace(plan, moves=()))["steps"]
    return from_rows(
        schemas.STEPS,
        (
            (
                index,
                body["kind"],
                getattr(step, "topic", ""),
                plan_json.is_destructive(step),
                canonical(body, ascii_only=False),
            )
            for index, (step, body) in enumerate(zip(plan.steps, bodies, strict=True))
        ),
    )


def holdings_of_plan(
    plan: Plan, desired: Desired, cluster: Cluster, table: PartitionTable
) -> dict[int, list[int]]:
    """By broker: replicas, leaders and bytes before the plan, then the same after it.

    Every broker that is live, in a pool, or in a replica list has them.
    """
    sizes = table.size
    rows = [int(table.start[table.rank[m.topic]]) + m.partition for m in plan.moves]
    sources, targets = [m.source for m in plan.moves], [m.target for m in plan.moves]
    new = [
        replicas
        for step in plan.steps
        if isinstance(step, CreateTopic | AddPartitions)
        for replicas in step.replicas
    ]
    known = {b for pool in desired.pools for b in pool.brokers} | set(cluster.brokers)
    ids = np.unique(np.array([*known, *_ids((*table.replicas, *targets, *new))], dtype=np.int64))
    moved = sizes[rows]
    before = _count_replicas(ids, table.replicas, sizes)
    after = (
        before
        - _count_replicas(ids, sources, moved)
        + _count_replicas(ids, targets, moved)
        + _count_replicas(ids, new, np.zeros(len(new), dtype=np.int64))
    )
    columns = np.concatenate([before, after]).T
    return dict(zip(ids.tolist(), columns.tolist(), strict=True))


def _ids(replicas: Iterable[Replicas]) -> set[int]:
    return set(flat_ids(list(replicas)))


def _count_replicas(ids: Ints, replicas: Any, sizes: Ints) -> Ints:
    """Replicas, leaders and bytes by broker: three rows."""
    counts = np.fromiter(map(len, replicas), dtype=np.int64, count=len(replicas))
    flat = np.fromiter(flat_ids(replicas), dtype=np.int64, count=int(counts.sum()))
    place = np.searchsorted(ids, flat)
    first = place[(np.cumsum(counts) - counts)[counts > 0]]
    size = len(ids)
    # Sums of whole numbers below 2^53 are exact.
    amounts = np.bincount(place, weights=np.repeat(sizes, counts), minlength=size)
    return np.stack(
        [
            np.bincount(place, minlength=size),
            np.bincount(first, minlength=size),
            amounts.astype(np.int64),
        ]
    )


def _balances(
    counts: Mapping[int, list[int]], desired: Desired, cluster: Cluster, records: Records
) -> pa.Table:
    pool_of = {broker: pool for pool in desired.pools for broker in pool.brokers}
    rows = []
    for broker, (replicas, leaders, size, replicas_after, leaders_after, size_after) in sorted(
        counts.items()
    ):
        pool, live = pool_of.get(broker), broker in cluster.brokers
        usable = pool is not None and live and broker not in pool.drain
        rows.append(
            (
                pool.name if pool else "",
                broker,
                rack_name(broker, desired, cluster, records),
                live,
                float(pool.capacity_for(broker).weight) if pool and usable else 0.0,
                replicas,
                replicas_after,
                leaders,
                leaders_after,
                size,
                size_after,
            )
        )
    return from_rows(schemas.BALANCES, rows)
