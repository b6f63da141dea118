"""The steps of a plan that neither move nor place data: configs, elections, deletions.

Which topics are to be deleted is decided in `planning.problem.topic_ownership`, and how many at
once in `reconcile.authority`.

Every function is pure. New partitions (see `new_partitions`) do not wait for moves of other topics.
But while a topic moves, no partitions are added to it and it is not deleted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from poolkeeper.algorithms.internal_topics import keeps
from poolkeeper.algorithms.names import ownership_problem
from poolkeeper.model import versions
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import DeleteTopic, ElectLeaders, PlanProblem, SetConfig
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.topic_config.destructive_changes import destructive_changes
from poolkeeper.model.topic_config.validation import is_owned_by_executor
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.planning.constraints.topic_configs import ConfigRules, config_after
from poolkeeper.planning.facts.new_partitions import AwaitsMoves, CrowdedOut
from poolkeeper.planning.facts.pools import AwaitsPartitions
from poolkeeper.planning.facts.topics import ConfigNotSet, NotDeleted
from poolkeeper.planning.problem.arrays import Ints, any_slot
from poolkeeper.planning.problem.awaited_replicas import awaits_replicas
from poolkeeper.planning.problem.partitions import UNKNOWN, PartitionTable
from poolkeeper.planning.problem.pool_membership import PlanScope, TopicHome, TopicRole


def postponed_partitions(
    homes: Mapping[str, TopicHome],
    cluster: Cluster,
    crowded_out: Iterable[str],
    deferred: Iterable[str],
    unfinished: Iterable[str],
) -> Iterator[PlanProblem]:
    """Problems for new partitions that could be placed and wait for a later plan.

    Also for pools (`unfinished`) that are balanced further once their new partitions exist.
    """
    for pool in unfinished:
        yield PlanProblem(pool, "", AwaitsPartitions())
    for name in crowded_out:
        yield PlanProblem(homes[name].pool, "capacity", CrowdedOut(), name)
    for name in deferred:
        found = len(cluster.topics[name].partitions)
        yield PlanProblem(homes[name].pool, "", AwaitsMoves(found), name)


def configs(
    scope: PlanScope, cluster: Cluster, records: Records, rules: ConfigRules
) -> tuple[tuple[SetConfig, ...], tuple[PlanProblem, ...]]:
    """Set declared keys; unset keys that were declared before and no longer are.

    A topic whose config would keep a broker from starting keeps the one that it has.
    """
    steps, problems, unreadable = [], [], _unreadable(cluster)
    for name, home in scope.homes.items():
        live = cluster.topics[name].config
        if home.spec is None or live is None or name in unreadable:
            continue
        record = records.topics.get(name)
        before = record.declared_keys if record and record.owner == home.spec.owner else ()
        step = _config_step(home.spec, cluster.topics[name], live, before)
        if step is None:
            continue
        if refused := rules.refusal(name, config_after(step, cluster), live):
            problems.append(PlanProblem(home.pool, "config", ConfigNotSet(refused), name))
            continue
        steps.append(step)
        if doubts := rules.doubts(step.set):
            problems.append(PlanProblem(home.pool, "", doubts, name))
    return tuple(steps), tuple(problems)


def _config_step(
    spec: TopicSpec, topic: Topic, live: Mapping[str, str], before: Iterable[str]
) -> SetConfig | None:
    """The step that makes a topic's config the declared one; `before`: keys declared before."""
    declared = spec.config
    changed = {
        key: value
        for key, value in sorted(declared.items())
        if live.get(key) != value and not awaits_replicas(spec, topic, key, value)
    }
    dropped = _keys_to_unset(spec, live, before)
    if not changed and not dropped:
        return None
    after = {k: v for k, v in live.items() if k not in dropped} | changed
    losses = tuple(destructive_changes(live, after, versions.SUPPORTED))
    return SetConfig(spec.topic, changed, dropped, losses, _config_reason(changed, dropped))


def _keys_to_unset(
    spec: TopicSpec, live: Mapping[str, str], before: Iterable[str]
) -> tuple[str, ...]:
    """Keys to unset: declared before, not declared now, and neither the executor's nor Kafka's."""
    return tuple(
        key
        for key in sorted(set(before))
        if key in live
        and key not in spec.config
        and not is_owned_by_executor(key)
        and not keeps(spec.topic, key)
    )


def elections(
    scope: PlanScope, cluster: Cluster, table: PartitionTable, moving: Collection[tuple[str, int]]
) -> tuple[ElectLeaders, ...]:
    """Elect preferred replicas that could lead and do not; moved partitions come after moves."""
    demoted = {broker for pool in scope.pools.values() for broker in pool.demote}
    left = (TopicRole.UNTOUCHED, TopicRole.EVACUATED)
    movable = np.array([scope.homes[name].role not in left for name in table.names], dtype=bool)
    rows = _led_by_others(table, sorted(cluster.brokers.keys() - demoted))
    topics = np.searchsorted(table.start, rows, side="right") - 1
    named = zip(topics.tolist(), table.columns.number[rows].tolist(), strict=True)
    places = ((table.names[topic], number) for topic, number in named if movable[topic])
    found = tuple(place for place in places if place not in moving)
    if not found:
        return ()
    return (ElectLeaders(found, "their preferred replica is in sync and does not lead"),)


def _led_by_others(table: PartitionTable, live: Sequence[int]) -> Ints:
    """Rows whose known leader is not the first replica, which is one of `live` and in sync."""
    begin = table.replicas.offsets[:-1]
    first = np.append(table.replicas.ids, UNKNOWN)[np.where(table.lengths > 0, begin, -1)]
    others = (table.leader != first) & (table.leader != UNKNOWN)
    rows = np.flatnonzero(others & np.isin(first, np.array(live, dtype=np.int64)))
    rows = rows[table.columns.isr_known[rows]]
    in_sync = table.columns.isr.take(rows).wide() == first[rows, None]
    return rows[any_slot(in_sync)]


def deletions(
    scope: PlanScope, cluster: Cluster
) -> tuple[tuple[DeleteTopic, ...], tuple[PlanProblem, ...]]:
    """Delete topics whose recorded owner wanted them deleted with their Topic."""
    steps, problems = [], []
    for name in scope.to_delete:
        if said := ownership_problem(name):
            problems.append(PlanProblem("", "", NotDeleted(said), name))
        else:
            reason = "its Topic is gone and declared deletionPolicy: Delete"
            steps.append(DeleteTopic(name, cluster.topics[name].identity, reason))
    return tuple(steps), tuple(problems)


def _config_reason(changed: Mapping[str, str], dropped: Collection[str]) -> str:
    parts = []
    if changed:
        parts.append(f"declared: {', '.join(changed)}")
    if dropped:
        parts.append(f"no longer declared: {', '.join(dropped)}")
    return "; ".join(parts)


def _unreadable(cluster: Cluster) -> set[str]:
    return {*cluster.torn, *cluster.damaged, *cluster.deleting}
