"""What producers write to each broker as a leader, before a plan and after it.

Consumers read from leaders too, so this is what a group that reads everything takes from a broker,
once for each such group. After the plan preferred replicas lead. A topic that gets partitions keeps
its load, spread evenly over all of them. Only topics count of which all rates are known.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poolkeeper.model.columns.partition_columns import UNKNOWN, columns_of
from poolkeeper.model.columns.replica_lists import NOBODY, Ints, distinct, places_of
from poolkeeper.model.plans import AddPartitions, DeleteTopic, Plan
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.run_state.progress.load_after import moved_rows

NO_LEADER = -1
Floats = npt.NDArray[np.float64]


class PlannedLeaderLoad(NamedTuple):
    """Bytes per second that producers write to what a broker leads."""

    broker: int
    before: float
    after: float


def planned_leader_loads(plan: Plan, cluster: Cluster) -> tuple[PlannedLeaderLoad, ...]:
    """The load of each broker that leads before or after; empty if no topic's rates are known."""
    parts = [topic.partitions for topic in cluster.topics.values()]
    columns = columns_of(parts)
    counts = np.array([len(each) for each in parts], dtype=np.int64)
    start = np.append(0, np.cumsum(counts))
    topic = np.repeat(np.arange(len(parts)), counts)
    rate = columns.bytes_in_per_s
    known = np.bincount(topic[~np.isnan(rate)], minlength=len(parts)) == counts
    rows = np.flatnonzero(known[topic])
    led_then = columns.replicas.preferred()
    leader = np.where(columns.leader == UNKNOWN, led_then, columns.leader)
    before = _sums(leader[rows], rate[rows])

    deleted = {step.topic for step in plan.steps if isinstance(step, DeleteTopic)}
    place = {name: number for number, name in enumerate(cluster.topics) if name not in deleted}
    moved, lists = moved_rows(plan, place, start, columns.number)
    led_then[moved] = lists.preferred()
    added = {step.topic: step.replicas for step in plan.steps if isinstance(step, AddPartitions)}
    then: list[tuple[Ints, Floats]] = []
    begin = 0
    for number, name in enumerate(cluster.topics):
        if known[number] and name not in added and name not in deleted:
            continue  # its partitions stay side by side with those of its neighbours
        first, last = start[number], start[number + 1]
        then.append((led_then[start[begin] : first], rate[start[begin] : first]))
        begin = number + 1
        if known[number] and name not in deleted and first < last:
            leaders = np.append(led_then[first:last], [_first(each) for each in added[name]])
            share = sum(rate[first:last].tolist()) / len(leaders)
            then.append((leaders, np.full(len(leaders), share)))
    then.append((led_then[start[begin] :], rate[start[begin] :]))
    after = _sums(*map(np.concatenate, zip(*then, strict=True)))
    brokers = sorted((before.keys() | after.keys()) - {NO_LEADER, NOBODY})
    return tuple(
        PlannedLeaderLoad(id_, before.get(id_, 0.0), after.get(id_, 0.0)) for id_ in brokers
    )


def _first(replicas: Replicas) -> int:
    return replicas[0] if replicas else NO_LEADER


def _sums(brokers: Ints, rates: Floats) -> Mapping[int, float]:
    """The sum of the rates by broker, added in their order."""
    shifted = brokers - NO_LEADER  # numbers from 0 are counted, others sorted
    ids = distinct(shifted)
    sums = np.bincount(places_of(shifted, ids), weights=rates, minlength=len(ids))
    return dict(zip((ids + NO_LEADER).tolist(), sums.tolist(), strict=True))
