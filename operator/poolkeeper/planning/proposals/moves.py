"""From a layout's changes to moves: the path of each partition, and the reason.

The reason of a move is its most urgent cause; further causes follow after a semicolon.
"""

from itertools import chain

import numpy as np

from poolkeeper.model.columns.move_columns import MoveColumns
from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists, distinct
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster
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
from poolkeeper.planning.problem.arrays import any_slot
from poolkeeper.planning.problem.partitions import PartitionTable
from poolkeeper.planning.proposals.paths import path


def moves_of(
    layout: Layout, cluster: Cluster, table: PartitionTable, *, one_at_a_time: bool
) -> MoveColumns:
    """The moves of all existing partitions, ordered by urgency, topic and partition.

    Rows that change for the same causes share the text of their reason.
    """
    problem, rows = layout.problem, changed_rows(layout)
    rows = rows[~problem.fresh[rows]]
    kind, causes = causes_by_kind(layout, rows)
    urgency = np.array([found[0][0] for found in causes], dtype=np.int64)[kind]
    order = np.argsort(urgency, kind="stable")
    rows, kind = rows[order], kind[order]
    begin = np.array([table.start[table.rank.get(n, 0)] for n in problem.topics], dtype=np.int64)
    found_at = begin[problem.topic[rows]] + problem.number[rows]
    sources, targets = table.replicas.take(found_at), targets_of(layout, rows)
    added = added_by(layout, rows)
    # All other paths are the two lists: what only goes, or goes at once with what comes, or one
    # replica that comes behind the others.
    several = (targets.lengths > sources.lengths) | problem.duplicate[rows] | one_at_a_time
    longer = np.flatnonzero((added > 0) & several)
    own, wanted = problem.lists[rows[longer]], layout.lists[rows[longer]]
    follows = (targets.lengths == sources.lengths + 1)[longer] & ~problem.duplicate[rows[longer]]
    longer = longer[~follows | any_slot((own >= 0) & (own != wanted))]
    lists = ReplicaLists.concatenated([sources, targets])
    counts = np.full(len(rows), 2, dtype=np.int64)
    if len(longer):
        badness = rack_badness(problem)
        ways = {
            at: path(
                sources[at],
                targets[at],
                badness,
                one_at_a_time=one_at_a_time,
                live=cluster.brokers,
            )
            for at in longer.tolist()
        }
        counts[longer] = list(map(len, ways.values()))
        lists = ReplicaLists.concatenated([lists, ReplicaLists.of(list(chain(*ways.values())))])
    topics = distinct(problem.topic[rows])
    names = [problem.topics[topic] for topic in topics.tolist()]
    known = map(cluster.topics.get, names)
    reasons: dict[str, int] = {}
    told = [reasons.setdefault(_reason(found), len(reasons)) for found in causes]
    return MoveColumns(
        tuple(zip(names, (topic.identity if topic else None for topic in known), strict=True)),
        tuple(reasons),
        np.searchsorted(topics, problem.topic[rows]),
        problem.number[rows],
        problem.size[rows] * added,
        np.array(told, dtype=np.int64)[kind],
        urgency[order],
        counts,
        lists.take(_in_turn(len(rows), longer, counts)),
    )


def _in_turn(moves: int, longer: Ints, counts: Ints) -> Ints:
    """The rows of lists, path after path: all sources, all targets, then the paths of `longer`."""
    lists = np.arange(2 * moves).reshape(2, moves).T
    if not len(longer):
        return lists.reshape(-1)
    begin = np.cumsum(counts) - counts
    found = np.empty(int(counts.sum()), dtype=np.int64)
    short = np.ones(moves, dtype=bool)
    short[longer] = False
    for side in (0, 1):
        found[begin[short] + side] = lists[short, side]
    lengths = counts[longer]
    place = np.arange(int(lengths.sum()))
    shift = np.repeat(begin[longer] - (np.cumsum(lengths) - lengths), lengths)
    found[place + shift] = 2 * moves + place
    return found


def move_of(
    change: Change, cluster: Cluster, table: PartitionTable, *, one_at_a_time: bool
) -> Move:
    """The change as a move of the live partition."""
    topic = cluster.topics[change.topic]
    row = int(table.start[table.rank[change.topic]]) + change.partition
    source = table.replicas[row]
    lists = path(
        source, change.target, change.badness, one_at_a_time=one_at_a_time, live=cluster.brokers
    )
    added = len(set(change.target) - set(source))
    size = int(table.size[row])
    return Move(
        topic=change.topic,
        topic_id=topic.identity,
        partition=change.partition,
        path=lists,
        bytes=size * added,
        reason=_reason(change.causes),
        urgency=int(change.causes[0][0]),
    )


def _reason(causes: Causes) -> str:
    return "; ".join(dict.fromkeys([sentence for _, sentence in causes]))
