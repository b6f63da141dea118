"""The replica lists of all partitions after a plan, in columns: what `after_plan` says, for sums.

Of the partitions that stay as they are the columns are used; only lists that the plan writes are
looked at one by one.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_columns import UNKNOWN, columns_of, numbers_of
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
    moved, targets = moved_rows(plan, cluster, place, start)
    stays = np.ones(len(found), dtype=bool)
    stays[moved] = False
    rows = np.append(np.flatnonzero(stays), np.array(moved, dtype=np.int64))
    created, lists = _new(plan, place)
    names += created
    size = np.append(found.bytes[rows], np.zeros(len(lists), dtype=np.int64))
    topic = np.repeat(np.arange(len(parts)), np.diff(start))[rows]
    return LoadAfter(
        tuple(names),
        np.append(topic, np.array([place[name] for name, _ in lists], dtype=np.int64)),
        _joined(found.replicas.take(np.flatnonzero(stays)), [*targets, *(r for _, r in lists)]),
        np.where(size == UNKNOWN, 0, size),
        size == UNKNOWN,
    )


def moved_rows(
    plan: Plan, cluster: Cluster, place: Mapping[str, int], start: Ints
) -> tuple[list[int], list[Replicas]]:
    """The rows of partitions that move, and their new lists.

    `place`: the number of each topic that counts; `start`: the row of its first partition.
    """
    found: dict[int, Replicas] = {}
    row_of: dict[str, dict[int, int]] = {}
    for name, _, number, path, *_ in plan.moves:
        known = row_of.get(name)
        if known is None:
            numbers = numbers_of(cluster.topics[name].partitions) if name in place else []
            first = int(start[place[name]]) if name in place else 0
            known = row_of[name] = {each: row for row, each in enumerate(numbers, first)}
        if number in known:
            found[known[number]] = path[-1]
    return list(found), list(found.values())


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


def _joined(lists: ReplicaLists, more: Sequence[Replicas]) -> ReplicaLists:
    behind = ReplicaLists.of(more) if more else ReplicaLists.empty(0)
    offsets = np.append(lists.offsets, behind.offsets[1:] + lists.offsets[-1])
    return ReplicaLists(offsets, np.append(lists.ids, behind.ids))
