"""The steps of a plan that move no data: creations, partitions, configs, elections, deletions.

Every function is pure and answers (steps, problems). What may not be done now is a problem that
says why; nothing is done by halves. New partitions never queue behind moves of other topics, but
partitions are added to no topic that moves, and no such topic is deleted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from poolkeeper.algorithms.names import is_internal, ownership_problem, topic_name_problem
from poolkeeper.errors import Refused
from poolkeeper.model import configkeys, versions
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    PlanProblem,
    SetConfig,
)
from poolkeeper.model.records import Records
from poolkeeper.model.specs import ResourcePoolSpec, Strategy, TopicSpec
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.quotas import Tally
from poolkeeper.planning.scopes import Home, Role, Scope
from poolkeeper.planning.spreading import Loads, Usable, added_as_kafka, as_kafka, balanced
from poolkeeper.planning.tables import UNKNOWN, Table


@dataclass(frozen=True, slots=True)
class Ground:
    """What new partitions are placed on: usable brokers by pool, and counts that are kept up."""

    usable: Mapping[str, Usable]
    loads: Loads
    tally: Tally


class _Not(Refused):
    """Why a step is not taken; becomes a problem of the plan and never leaves this module."""

    def __init__(self, message: str, law: str = "") -> None:
        self.message, self.law = message, law
        super().__init__(message)


def creations(
    scope: Scope, ground: Ground
) -> tuple[tuple[CreateTopic, ...], tuple[PlanProblem, ...]]:
    """Create what is declared and does not exist, straight in its pool."""
    steps, problems = [], []
    for spec in scope.absent:
        try:
            lists = _new_lists(spec, scope.pools[spec.pool], ground)
        except _Not as why:
            message = f"not created: {why.message}"
            problems.append(PlanProblem(spec.pool, why.law, message, spec.topic))
            continue
        reason = f"declared by {spec.owner}"
        steps.append(CreateTopic(spec.topic, spec.pool, lists, dict(spec.config), reason))
    return tuple(steps), tuple(problems)


def additions(
    scope: Scope, cluster: Cluster, ground: Ground
) -> tuple[tuple[AddPartitions, ...], tuple[PlanProblem, ...]]:
    """Add the partitions that are declared and missing."""
    steps, problems = [], []
    for name, home in scope.homes.items():
        spec, found = home.spec, len(cluster.topics[name].partitions)
        wanted = _declared_partitions(spec) if spec else None
        if spec is None or wanted is None or wanted == found:
            continue
        try:
            if home.role is Role.FIXED:
                raise _Not("the topic is left out of this plan")
            lists = _added_lists(spec, cluster, wanted, ground)
        except _Not as why:
            message = f"stays at {found} partitions instead of {wanted}: {why.message}"
            problems.append(PlanProblem(spec.pool, why.law, message, name))
            continue
        steps.append(AddPartitions(name, found, lists, f"partitions {found} → {wanted}"))
    return tuple(steps), tuple(problems)


def postponed(
    homes: Mapping[str, Home],
    cluster: Cluster,
    crowded_out: Iterable[str],
    deferred: Iterable[str],
    unfinished: Iterable[str],
) -> Iterator[PlanProblem]:
    """Say of new partitions that could be placed why they are not part of the plan.

    And of pools (`unfinished`) that they are evened out further once the new partitions exist.
    """
    for pool in unfinished:
        message = "is evened out further once new partitions exist, as their topics cannot move now"
        yield PlanProblem(pool, "", message)
    for name in crowded_out:
        message = "gets no new partitions: the pool has no room for them and for its other replicas"
        yield PlanProblem(homes[name].pool, "capacity", message, name)
    for name in deferred:
        found = len(cluster.topics[name].partitions)
        message = f"stays at {found} partitions until its replicas have moved"
        yield PlanProblem(homes[name].pool, "", message, name)


def configs(scope: Scope, cluster: Cluster, records: Records) -> tuple[SetConfig, ...]:
    """Enforce declared keys; unset those that were declared before and no longer are."""
    steps = []
    version = versions.SUPPORTED
    for name, home in scope.homes.items():
        live = cluster.topics[name].config
        if home.spec is None or live is None or name in _unreadable(cluster):
            continue
        declared = home.spec.config
        changed = {key: value for key, value in sorted(declared.items()) if live.get(key) != value}
        record = records.topics.get(name)
        before = record.declared_keys if record and record.owner == home.spec.owner else ()
        dropped = tuple(
            key
            for key in sorted(set(before))
            if key in live and key not in declared and not configkeys.is_owned_by_executor(key)
        )
        if changed or dropped:
            after = {k: v for k, v in live.items() if k not in dropped} | changed
            losses = tuple(configkeys.is_destructive(live, after, version))
            reason = _config_reason(changed, dropped)
            steps.append(SetConfig(name, changed, dropped, losses, reason))
    return tuple(steps)


def elections(
    scope: Scope, cluster: Cluster, table: Table, moving: Collection[tuple[str, int]]
) -> tuple[ElectLeaders, ...]:
    """Let preferred replicas lead that could and do not; moved partitions are elected after."""
    demoted = {broker for pool in scope.pools.values() for broker in pool.demote}
    found = []
    for name, number in _led_by_others(table):
        if scope.homes[name].role in (Role.FIXED, Role.EVACUATED):
            continue
        p = cluster.topics[name].partitions[number]
        first = p.replicas[0]
        if (
            first in (p.isr or ())
            and first in cluster.brokers
            and first not in demoted
            and (name, p.partition) not in moving
        ):
            found.append((name, p.partition))
    if not found:
        return ()
    return (ElectLeaders(tuple(found), "their preferred replica is in sync and does not lead"),)


def _led_by_others(table: Table) -> Iterator[tuple[str, int]]:
    """Topics and positions of partitions whose leader is known not to be the first replica."""
    begin = np.cumsum(table.held) - table.held
    first = np.append(table.ids, UNKNOWN)[np.where(table.held > 0, begin, -1)]
    rows = np.flatnonzero((table.leader != first) & (table.leader != UNKNOWN))
    topics = np.searchsorted(table.start, rows, side="right") - 1
    for row, topic in zip(rows.tolist(), topics.tolist(), strict=True):
        yield table.names[topic], row - int(table.start[topic])


def deletions(
    scope: Scope, cluster: Cluster
) -> tuple[tuple[DeleteTopic, ...], tuple[PlanProblem, ...]]:
    """Delete what its recorded owner wanted deleted with its Topic."""
    steps, problems = [], []
    for name in scope.doomed:
        if said := ownership_problem(name):
            problems.append(PlanProblem("", "", f"not deleted: it {said}", name))
        else:
            reason = "its Topic is gone and said deletionPolicy: Delete"
            steps.append(DeleteTopic(name, cluster.topics[name].topic_id, reason))
    return tuple(steps), tuple(problems)


def _declared_partitions(spec: TopicSpec) -> int | None:
    if spec.strategy is Strategy.MANUAL and spec.assignment is not None:
        return len(spec.assignment)
    return spec.partitions


def _new_lists(spec: TopicSpec, pool: ResourcePoolSpec, ground: Ground) -> tuple[Replicas, ...]:
    if said := topic_name_problem(spec.topic) or ownership_problem(spec.topic):
        raise _Not(f"the name {said}")
    partitions = _declared_partitions(spec) or pool.defaults.partitions
    if partitions is None:
        raise _Not(f"neither the Topic nor pool {pool.name} says how many partitions")
    if said := ground.tally.refusal(spec, topics=1, partitions=partitions):
        raise _Not(said, "quotas")
    usable = ground.usable[pool.name]
    if spec.strategy is Strategy.MANUAL:
        lists = _manual(spec, usable, 0, ground.loads)
    else:
        factor = spec.replication_factor or pool.defaults.replication_factor
        if factor is None:
            raise _Not(f"neither the Topic nor pool {pool.name} says how many replicas")
        _check_brokers(usable, pool.name, factor)
        lists = _spread(spec, usable, partitions, factor, (), ground.loads)
    _check_room(ground, spec.pool, lists)
    ground.tally.add(spec, topics=1, partitions=partitions)
    ground.loads.add(lists)
    return lists


def _added_lists(
    spec: TopicSpec, cluster: Cluster, wanted: int, ground: Ground
) -> tuple[Replicas, ...]:
    existing = [p.replicas for p in cluster.topics[spec.topic].partitions]
    added = wanted - len(existing)
    if added < 0:
        raise _Not("partitions never shrink")
    if is_internal(spec.topic):
        raise _Not("it is an internal topic of Kafka")
    if spec.keyed and spec.accept_key_remap_to != wanted:
        raise _Not(f"its keys would go to other partitions; acceptKeyRemapTo: {wanted} allows it")
    if said := ground.tally.refusal(spec, topics=0, partitions=added):
        raise _Not(said, "quotas")
    usable = ground.usable[spec.pool]
    if spec.strategy is Strategy.MANUAL:
        lists = _manual(spec, usable, len(existing), ground.loads)
    else:
        factor = spec.replication_factor or len(existing[0])
        _check_brokers(usable, spec.pool, factor)
        lists = _spread(spec, usable, added, factor, existing, ground.loads)
    _check_room(ground, spec.pool, lists)
    ground.tally.add(spec, topics=0, partitions=added)
    ground.loads.add(lists)
    return lists


def _spread(
    spec: TopicSpec,
    usable: Usable,
    partitions: int,
    factor: int,
    existing: Collection[Replicas],
    loads: Loads,
) -> tuple[Replicas, ...]:
    if spec.strategy is Strategy.KAFKA:
        old = list(existing)
        # Kafka takes the replication factor of partition 0; a declared one that differs comes
        # about by moves, and the new partitions join in with the rest.
        if old and len(old[0]) == factor:
            return added_as_kafka(usable, old, len(old) + partitions)
        if not old:
            return as_kafka(usable, spec.topic, partitions, factor)
    topic = Loads()
    topic.add(existing)
    lists = balanced(usable, partitions, factor, loads.copy(), topic)
    if lists is None:
        raise _Not(
            "the brokers' caps of replicas leave no room. What helps: add a broker, or raise"
            " capacity.replicas",
            "capacity",
        )
    return lists


def _manual(spec: TopicSpec, usable: Usable, first: int, loads: Loads) -> tuple[Replicas, ...]:
    lists = (spec.assignment or ())[first:]
    absent = sorted({broker for replicas in lists for broker in replicas} - set(usable.racks))
    if absent:
        named = ", ".join(map(str, absent))
        raise _Not(
            f"its assignment names brokers that pool {spec.pool} cannot use: {named}", "pool"
        )
    if any(len(set(replicas)) < len(replicas) or not replicas for replicas in lists):
        raise _Not("its assignment has an empty list or names a broker twice", "distinct")
    return lists


def _check_brokers(usable: Usable, pool: str, factor: int) -> None:
    if factor > len(usable.racks):
        named = ", ".join(map(str, sorted(usable.racks))) or "none"
        raise _Not(
            f"{factor} replicas need {factor} brokers; usable in pool {pool}: {named}. What helps:"
            f" {factor - len(usable.racks)} more, undrained or new",
            "distinct",
        )


def _check_room(ground: Ground, pool: str, lists: Collection[Replicas]) -> None:
    """Refuse what would put a broker above its cap of replicas, or the pool beyond its headroom."""
    after = ground.loads.copy()
    after.add(lists)
    caps = ground.usable[pool].caps
    full = sorted(b for b, cap in caps.items() if after.replicas[b] > max(cap, 0))
    grown = [b for b in full if after.replicas[b] > ground.loads.replicas[b]]
    if grown:
        broker = grown[0]
        raise _Not(
            f"broker {broker} would hold {after.replicas[broker]} replicas, it may hold"
            f" {caps[broker]}. What helps: add a broker, or raise capacity.replicas",
            "capacity",
        )
    if said := ground.tally.headroom_refusal(pool, after.replicas):
        raise _Not(said, "capacity")


def _config_reason(changed: Mapping[str, str], dropped: Collection[str]) -> str:
    parts = []
    if changed:
        parts.append(f"declared: {', '.join(changed)}")
    if dropped:
        parts.append(f"no longer declared: {', '.join(dropped)}")
    return "; ".join(parts)


def _unreadable(cluster: Cluster) -> set[str]:
    return {*cluster.torn, *cluster.damaged, *cluster.deleting}
