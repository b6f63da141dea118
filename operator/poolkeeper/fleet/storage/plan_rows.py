"""A plan as tables, and back; and what brokers hold before it and after it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolkeeper.errors import wrong_field
from poolkeeper.fleet.storage import schemas
from poolkeeper.fleet.storage.cluster_rows import arrow_lists
from poolkeeper.fleet.storage.parquet import from_rows, rows_of, table_of
from poolkeeper.fleet.storage.schemas import FAILED, OK
from poolkeeper.jsontext import canonical
from poolkeeper.model.columns.move_columns import ColumnMoves, MoveColumns
from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists, distinct, places_of
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import AddPartitions, CreateTopic, Plan
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.problem.arrays import rack_name
from poolkeeper.planning.problem.partitions import PartitionTable
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
    plan: Plan,
    columns: MoveColumns,
    desired: Desired,
    cluster: Cluster,
    records: Records,
    table: PartitionTable,
) -> dict[str, pa.Table]:
    """All tables of the plan by name; `columns`: of its moves; `table`: the cluster's."""
    counts = holdings_of_plan(plan, columns, desired, cluster, table)
    return {
        schemas.MOVES.name: _moves(columns, desired),
        schemas.STEPS.name: _steps(plan),
        schemas.CERTIFICATES.name: from_rows(schemas.CERTIFICATES, map(_fields, plan.certificates)),
        schemas.PROBLEMS.name: _problems(plan),
        schemas.BALANCES.name: _balances(counts, desired, cluster, records),
        schemas.PLANS.name: table_of(
            schemas.PLANS,
            {
                "status": [OK],
                "hash": [plan.hash],
                "fingerprint": [plan.fingerprint],
                "partitions": [len(table.lengths)],
                "moves": [len(plan.moves)],
                "steps": [len(plan.steps)],
                "problems": [len(plan.problems)],
                "bytes": [int(columns.bytes.sum())],
            },
        ),
    }


def _problems(plan: Plan) -> pa.Table:
    return from_rows(
        schemas.PROBLEMS,
        (
            (
                each.pool,
                each.law,
                each.topic,
                each.message,
                None if each.reason is ProblemReason.UNTOLD else each.reason.value,
            )
            for each in plan.problems
        ),
    )


def rows_of_failure(reason: str) -> dict[str, pa.Table]:
    """The tables of a cluster that has no plan; all but the head are empty."""
    empty = {table.name: from_rows(table, ()) for table in BODIES}
    return empty | {
        schemas.PLANS.name: table_of(schemas.PLANS, {"status": [FAILED], "reason": [reason]})
    }


def plan_of_rows(cluster: str, rows: Mapping[str, pa.Table]) -> Plan:
    """The plan; raises `InvalidInput` if what it says of itself (its hash) is not so."""
    (head,) = rows_of(rows[schemas.PLANS.name])
    steps = sorted(rows_of(rows[schemas.STEPS.name]), key=lambda row: row["index"])
    certificates = [_camel(row) for row in rows_of(rows[schemas.CERTIFICATES.name])]
    # Moves are tens of thousands, and have the types that their table has.
    rest = plan_reading.read_json(
        {
            "version": plan_reading.VERSION,
            "cluster": cluster,
            "hash": head["hash"],
            "fingerprint": head["fingerprint"],
            "steps": [json.loads(row["body"]) for row in steps],
            "moves": [],
            "certificate": {"pools": certificates},
            "problems": [
                {**row, "reason": row["reason"] or ""}
                for row in rows_of(rows[schemas.PROBLEMS.name])
            ],
        }
    )
    return plan_reading.plan_of(rest, moves=_moves_of_rows(rows[schemas.MOVES.name]))


def _moves_of_rows(rows: pa.Table) -> ColumnMoves:
    """The moves in their order; raises `InvalidInput` for a path that leads nowhere."""
    index = rows.column("index").to_numpy()
    if len(index) and (np.diff(index) <= 0).any():
        rows = rows.take(pa.array(np.argsort(index, kind="stable")))
    outer = rows.column("path").combine_chunks()
    counts = _whole_numbers(pc.list_value_length(outer))
    if (short := np.flatnonzero(counts < 2)).size:
        lists = f"has {counts[short[0]]} replica lists (expected at least two)"
        raise wrong_field(f"moves[{short[0]}].path", lists)
    inner = outer.flatten()
    offsets = np.append(0, np.cumsum(_whole_numbers(pc.list_value_length(inner))))
    names, name = _distinct(rows.column("topic"))
    ids, topic_id = _distinct(rows.column("topic_id"))
    reasons, reason = _distinct(rows.column("reason"))
    pairs, topic = np.unique(name * (len(ids) + 1) + topic_id, return_inverse=True)
    topics = (divmod(pair, len(ids) + 1) for pair in pairs.tolist())
    return ColumnMoves(
        MoveColumns(
            tuple((names[name], ids[topic_id]) for name, topic_id in topics),
            tuple(reasons),
            topic,
            _whole_numbers(rows.column("partition")),
            _whole_numbers(rows.column("bytes")),
            reason,
            _whole_numbers(rows.column("urgency")),
            counts,
            ReplicaLists(offsets, _whole_numbers(inner.flatten())),
        )
    )


def _distinct(column: pa.ChunkedArray) -> tuple[list[Any], Ints]:
    """The values, each once, and by row which it is."""
    found = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return found.dictionary.to_pylist(), _whole_numbers(found.indices)


def _whole_numbers(column: pa.Array | pa.ChunkedArray) -> Ints:
    found: Ints = column.to_numpy().astype(np.int64)
    return found


def _camel(row: Mapping[str, Any]) -> dict[str, Any]:
    words = (name.split("_") for name in row)
    names = (first + "".join(map(str.capitalize, rest)) for first, *rest in words)
    return dict(zip(names, row.values(), strict=True))


def _fields(value: Any) -> tuple[Any, ...]:
    return tuple(getattr(value, column.name) for column in schemas.CERTIFICATES.columns)


def _moves(columns: MoveColumns, desired: Desired) -> pa.Table:
    return table_of(
        schemas.MOVES,
        {
            "index": np.arange(len(columns), dtype=np.int32),
            "pool": _pools(columns, desired),
            "topic": _texts([name for name, _ in columns.topics], columns.topic),
            "topic_id": _texts([topic_id for _, topic_id in columns.topics], columns.topic),
            "partition": pa.array(columns.partition),
            "path": _paths(columns),
            "bytes": columns.bytes,
            "reason": _texts(columns.reasons, columns.reason),
            "urgency": pa.array(columns.urgency),
        },
    )


def _texts(values: Sequence[str | None], number: Ints) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(number))


def _paths(columns: MoveColumns) -> pa.ListArray:
    outer = pa.array(np.append(0, np.cumsum(columns.counts))).cast(pa.int32())
    return pa.ListArray.from_arrays(outer, arrow_lists(columns.lists))


def _pools(columns: MoveColumns, desired: Desired) -> pa.Array:
    """By move, the pool of the first broker of its last list that is in a pool; else none."""
    pool_of = {broker: pool.name for pool in desired.pools for broker in pool.brokers}
    names = ["", *sorted(set(pool_of.values()))]
    order = np.array(sorted(pool_of), dtype=np.int64)
    number = np.array([0, *(names.index(pool_of[broker]) for broker in order.tolist())])
    last = columns.targets
    found = number[places_of(last.ids, order) + 1]
    rows = np.repeat(np.arange(len(columns)), last.lengths)[found > 0]
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    pool = np.zeros(len(columns), dtype=np.int64)
    pool[rows[first]] = found[found > 0][first]
    return pa.array(names, pa.string()).take(pa.array(pool))


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
    plan: Plan,
    columns: MoveColumns,
    desired: Desired,
    cluster: Cluster,
    table: PartitionTable,
) -> dict[int, list[int]]:
    """By broker: replicas, leaders and bytes before the plan, then the same after it.

    Every broker that is live, in a pool, or in a replica list has them. `columns`: of the moves.
    """
    rank = np.array([table.rank[name] for name, _ in columns.topics], dtype=np.int64)
    moved = table.start[rank[columns.topic]] + columns.partition
    found = table.replicas
    sources, targets = columns.sources, columns.targets
    new = ReplicaLists.of(
        [
            replicas
            for step in plan.steps
            if isinstance(step, CreateTopic | AddPartitions)
            for replicas in step.replicas
        ]
    )
    known = np.array(sorted({b for pool in desired.pools for b in pool.brokers}), dtype=np.int64)
    live = np.array(sorted(cluster.brokers), dtype=np.int64)
    named = (distinct(lists.ids) for lists in (found, targets, new))
    ids = distinct(np.concatenate([known, live, *named]))
    sizes = table.size[moved]
    before = _count_replicas(ids, found, table.size)
    after = (
        before
        - _count_replicas(ids, sources, sizes)
        + _count_replicas(ids, targets, sizes)
        + _count_replicas(ids, new, np.zeros(len(new), dtype=np.int64))
    )
    counts = np.concatenate([before, after]).T
    return dict(zip(ids.tolist(), counts.tolist(), strict=True))


def _count_replicas(ids: Ints, lists: ReplicaLists, sizes: Ints) -> Ints:
    """Replicas, leaders and bytes by broker: three rows."""
    place = places_of(lists.ids, ids)
    first = place[lists.offsets[:-1][lists.lengths > 0]]
    size = len(ids)
    # Sums of whole numbers below 2^53 are exact.
    amounts = np.bincount(place, weights=np.repeat(sizes, lists.lengths), minlength=size)
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
