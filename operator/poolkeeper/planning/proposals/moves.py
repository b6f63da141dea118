"""From a layout's changes to moves: the path of each partition, and the reason.

The reason of a move is its most urgent cause; further causes follow after a semicolon.
"""

from functools import partial

import numpy as np

from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.layout.changes import (
    Causes,
    Change,
    added_by,
    causes_by_kind,
    changed_rows,
    rack_badness,
    targets_of,
)
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.problem.arrays import count_slots
from poolkeeper.planning.problem.partitions import PartitionTable
from poolkeeper.planning.proposals.paths import path


def moves_of(
    layout: Layout, cluster: Cluster, table: PartitionTable, *, one_at_a_time: bool
) -> list[Move]:
    """The moves of all existing partitions, ordered by urgency, topic and partition.

    Rows that change for the same causes share the text of their reason.
    """
    problem, rows = layout.problem, changed_rows(layout)
    rows = rows[~problem.fresh[rows]]
    kind, causes = causes_by_kind(layout, rows)
    urgency = np.array([found[0][0] for found in causes], dtype=np.int64)[kind]
    order = np.argsort(urgency, kind="stable")
    rows, kind = rows[order], kind[order]
    reasons = [_reason(found) for found in causes]
    known = (cluster.topics.get(name) for name in problem.topics)
    ids = [topic.topic_id if topic else None for topic in known]
    badness = rack_badness(problem)
    begin = np.array([table.start[table.rank.get(n, 0)] for n in problem.topics], dtype=np.int64)
    found_at = begin[problem.topic[rows]] + problem.number[rows]
    sources = table.replicas.take(found_at).tuples()
    targets = targets_of(layout, rows)
    ways: list[tuple[Replicas, ...]] = list(zip(sources, targets, strict=True))
    resized = count_slots(layout.lists[rows] >= 0) != table.lengths[found_at]
    for at in np.flatnonzero(resized | one_at_a_time).tolist():
        ways[at] = path(sources[at], targets[at], badness, one_at_a_time=one_at_a_time)
    topics = problem.topic[rows].tolist()
    columns = zip(
        [problem.topics[topic] for topic in topics],
        [ids[topic] for topic in topics],
        problem.number[rows].tolist(),
        ways,
        (problem.size[rows] * added_by(layout, rows)).tolist(),
        [reasons[of] for of in kind.tolist()],
        urgency[order].tolist(),
        strict=True,
    )
    # The constructor of a named tuple is slow Python, and there may be 100,000 of them.
    return list(map(partial(tuple.__new__, Move), columns))


def move_of(
    change: Change, cluster: Cluster, table: PartitionTable, *, one_at_a_time: bool
) -> Move:
    """The change as a move of the live partition."""
    topic = cluster.topics[change.topic]
    row = int(table.start[table.rank[change.topic]]) + change.partition
    source = table.replicas[row]
    lists = path(source, change.target, change.badness, one_at_a_time=one_at_a_time)
    added = len(set(change.target) - set(source))
    size = int(table.size[row])
    return Move(
        topic=change.topic,
        topic_id=topic.topic_id,
        partition=change.partition,
        path=lists,
        bytes=size * added,
        reason=_reason(change.causes),
        urgency=int(change.causes[0][0]),
    )


def _reason(causes: Causes) -> str:
    return "; ".join(dict.fromkeys(sentence for _, sentence in causes))
