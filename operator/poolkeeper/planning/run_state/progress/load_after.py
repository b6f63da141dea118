"""The replica lists of all partitions after a plan, in columns: what `after_plan` says, for sums.

Of the partitions that stay as they are the columns are used; only lists that the plan writes are
looked at one by one.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.move_columns import columns_of_moves
from poolkeeper.model.columns.partition_columns import UNKNOWN, columns_of
from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Plan
from poolkeeper.model.topology import Cluster, Replicas


@frozen
class LoadAfter:
    """A row for each partition after the plan.

    `topics`: the names; `topic`: by row, the index of its topic in them.
    `size`: bytes of one replica, 0 where it is unknown or the partition is new.
    `unknown`: whether the size is unknown.
    """

    topics: tuple[str, ...]
    topic: Ints
    replicas: ReplicaLists
    size: Ints
    unknown: npt.NDArray[np.bool_]


def load_after(plan: Plan, cluster: Cluster) -> LoadAfter:
    """Every partition's list and size after the plan, without deleted topics."""
    deleted = {step.topic for step in plan.steps if isinstance(step, DeleteTopic)}
    names = [name for name in cluster.topics if name not in deleted]
    parts = [cluster.topics[name].partitions for name in names]
    found = columns_of(parts)
    start = np.append(0, np.cumsum([len(each) for each in parts], dtype=np.int64))
    place = {name: number for number, name in enumerate(names)}
    moved, targets = moved_rows(plan, place, start, found.number)
    stays = np.ones(len(found), dtype=bool)
    stays[moved] = False
    rows = np.append(np.flatnonzero(stays), moved)
    created, lists = _new(plan, place)
    names += created
    size = np.append(found.bytes[rows], np.zeros(len(lists), dtype=np.int64))
    topic = np.repeat(np.arange(len(parts)), np.diff(start))[rows]
    return LoadAfter(
        tuple(names),
        np.append(topic, np.array([place[name] for name, _ in lists], dtype=np.int64)),
        ReplicaLists.concatenated(
            [
                found.replicas.take(np.flatnonzero(stays)),
                targets,
                ReplicaLists.of([replicas for _, replicas in lists]),
            ]
        ),
        np.where(size == UNKNOWN, 0, size),
        size == UNKNOWN,
    )


def moved_rows(
    plan: Plan, place: Mapping[str, int], start: Ints, number: Ints
) -> tuple[Ints, ReplicaLists]:
    """The rows of partitions that move, each once, and their new lists.

    `place`: the number of each topic that counts. `start`: by topic, the row of its first
    partition. `number`: by row, the partition's number.
    """
    columns = columns_of_moves(plan.moves)
    place_of = np.array([place.get(name, -1) for name, _ in columns.topics], dtype=np.int64)
    topic = place_of[columns.topic] if len(columns) else columns.topic
    known = np.flatnonzero((topic >= 0) & (columns.partition >= 0))
    begin, end = start[topic[known]], start[topic[known] + 1]
    rows = begin + columns.partition[known]
    rows[rows >= end] = -1
    if len(number):
        rows[number[rows] != columns.partition[known]] = -1
    for at in np.flatnonzero(rows < 0).tolist():  # its topic's numbers have a gap
        found = np.flatnonzero(number[begin[at] : end[at]] == columns.partition[known[at]])
        rows[at] = begin[at] + found[0] if len(found) else -1
    row_of = dict(zip(rows.tolist(), known.tolist(), strict=True))  # the last move counts
    row_of.pop(-1, None)
    moves = np.array(list(row_of.values()), dtype=np.int64)
    return np.array(list(row_of), dtype=np.int64), columns.targets.take(moves)


def _new(plan: Plan, place: dict[str, int]) -> tuple[list[str], list[tuple[str, Replicas]]]:
    """Topics that are created, which get places, and (topic, list) of each new partition."""
    created, lists = [], []
    for step in plan.steps:
        if isinstance(step, CreateTopic):
            created.append(step.topic)
            place[step.topic] = len(place)
        elif not isinstance(step, AddPartitions) or step.topic not in place:
            continue
        lists += [(step.topic, replicas) for replicas in step.replicas]
    return created, lists
