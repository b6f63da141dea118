"""Topics with Manual placement: brought to their declared lists, and never moved otherwise."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

import numpy as np

from poolkeeper.model.plans import PlanProblem, Urgency
from poolkeeper.model.specs import ResourcePoolSpec, TopicSpec
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.constraints import sources
from poolkeeper.planning.constraints.capacity import EligibleBrokers
from poolkeeper.planning.facts.capacity import Quantity
from poolkeeper.planning.facts.conflicts import Member, obstacle_of
from poolkeeper.planning.facts.topics import PinnedBeyondCapacity, PinnedElsewhere
from poolkeeper.planning.layout.changes import Change
from poolkeeper.planning.problem.arrays import MIB, Ints
from poolkeeper.planning.problem.partitions import Lists
from poolkeeper.planning.problem.pool_membership import PlanScope, TopicRole


class _BrokerLoads:
    """What brokers hold, by row: replicas and MiB."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._mib = -(-lists.table.size // MIB)
        self.replicas, _ = lists.counts()
        self.mib = lists.weighted_counts(self._mib)

    def with_changes(self, changes: Iterable[Change]) -> tuple[Ints, Ints]:
        """Return replicas and MiB by row after these changes."""
        replicas, mib, brokers = self.replicas.copy(), self.mib.copy(), self._lists.brokers
        for change in changes:
            row = self._lists.rows(change.topic).start + change.partition
            before, after = self._lists.table.replicas[row], change.target
            for ids, sign in ((after, 1), (before, -1)):
                at = brokers.rows(dict.fromkeys(ids))
                replicas[at] += sign
                mib[at] += sign * self._mib[row]
        return replicas, mib

    def take(self, changes: Iterable[Change]) -> None:
        """Count these changes from now on."""
        self.replicas, self.mib = self.with_changes(changes)


def manual_changes(
    scope: PlanScope, cluster: Cluster, usable: Mapping[str, EligibleBrokers], lists: Lists
) -> tuple[list[Change], list[PlanProblem]]:
    """The changes to the assigned lists, and the topics whose assignment cannot be met.

    `lists`: as found. An assignment that would overfill its pool is not begun at all; who comes
    first by name has the room.
    """
    changes: list[Change] = []
    problems = []
    load: _BrokerLoads | None = None
    for _, home in sorted(scope.homes.items()):
        spec = home.spec
        if home.role is not TopicRole.MANUAL or spec is None:
            continue
        wanted = {broker for replicas in spec.assignment or () for broker in replicas}
        absent = sorted(wanted - set(usable[home.pool].racks))
        if absent:
            problems.append(_unusable(scope, spec, absent))
            continue
        found, no_source = _changes(spec, cluster)
        if found and usable[home.pool].bounds.bounded:
            load = load or _BrokerLoads(lists)
            if beyond := _overfilled(scope.pools[home.pool], usable[home.pool], load, found, lists):
                problems.append(PlanProblem(home.pool, "capacity", beyond, spec.topic))
                continue
        if load is not None:
            load.take(found)
        changes += found
        if no_source:
            problems.append(sources.no_source_problem(home.pool, no_source))
    return changes, problems


def _overfilled(
    pool: ResourcePoolSpec,
    usable: EligibleBrokers,
    load: _BrokerLoads,
    changes: Sequence[Change],
    lists: Lists,
) -> PinnedBeyondCapacity | None:
    """Return where the changes would break the law of capacity more than it is broken now."""
    bounds, brokers = usable.bounds, sorted(pool.brokers)
    rows = lists.brokers.rows(brokers)
    before, after = (load.replicas, load.mib), load.with_changes(changes)
    kinds = (
        (Quantity.REPLICAS, bounds.replicas, bounds.pool_replicas),
        (Quantity.MIB, bounds.mib, bounds.pool_mib),
    )
    for (quantity, most, in_pool), was, becomes in zip(kinds, before, after, strict=True):
        grown = np.maximum(becomes - most, 0)[rows] > np.maximum(was - most, 0)[rows]
        for broker, row in compress(zip(brokers, rows, strict=True), grown):
            would, room = int(becomes[row]), int(most[row])
            return PinnedBeyondCapacity(pool.name, broker, quantity, would, room)
        total = int(becomes[rows].sum())
        if total > max(in_pool, int(was[rows].sum())):
            return PinnedBeyondCapacity(pool.name, None, quantity, total, in_pool)
    return None


def _changes(spec: TopicSpec, cluster: Cluster) -> tuple[list[Change], list[TopicPartition]]:
    """The changes of one topic, and its partitions that should change and have no source."""
    found, no_source = [], []
    partitions = cluster.topics[spec.topic].partitions
    for p, target in zip(partitions, spec.assignment or (), strict=False):
        if p.replicas == target:
            continue
        if not sources.has_source(p, cluster.brokers):
            no_source.append(TopicPartition(spec.topic, p.partition))
            continue
        grown = len(target) != len(p.replicas)
        causes = (
            (Urgency.FACTOR if grown else Urgency.POOL, "its assignment names other replicas"),
        )
        found.append(Change(spec.topic, p.partition, target, causes, lambda brokers: 0))
    return found, no_source


def _unusable(scope: PlanScope, spec: TopicSpec, absent: list[int]) -> PlanProblem:
    pool = scope.pools[spec.pool]
    brokers = tuple(
        Member(broker, obstacle=obstacle_of(pool, broker, ()) if broker in pool.brokers else None)
        for broker in absent
    )
    law = "drained" if pool.drain & set(absent) else "pool"
    return PlanProblem(pool.name, law, PinnedElsewhere(pool.name, brokers), spec.topic)
