"""From what is declared and what was observed to a plan. Pure: no clock, no randomness, no I/O.

    scope       which topics live in which pool, and what may be done to them
    new topics  created straight in their pools
    layouts     one per pool, independent of each other
    moves       what changes, with paths and reasons; then steps that wait for moves
    proof       lower bounds, problems, stages, hash and fingerprint

The same input gives the same plan, in whatever order it comes. A plan made after a plan is carried
out has no moves.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.move_columns import ColumnMoves, MoveColumns
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    Plan,
    PlanProblem,
    PoolCertificate,
    Step,
)
from poolkeeper.model.problems import is_left_undone
from poolkeeper.model.specs import ReplicasAtATime
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.constraints import outages, sources
from poolkeeper.planning.constraints.capacity import EligibleBrokers, eligible_brokers
from poolkeeper.planning.constraints.quotas import QuotaUsage, quota_problems
from poolkeeper.planning.constraints.topic_configs import ConfigRules
from poolkeeper.planning.diagnosis import drained_brokers, failed_log_dirs, unclean_elections
from poolkeeper.planning.diagnosis import problems as diagnosis_problems
from poolkeeper.planning.facts.pools import BrokersNeverSeen
from poolkeeper.planning.facts.topics import TopicLeftOut, Unsettled
from poolkeeper.planning.layout.all_pools import LayoutInput, PoolLayouts, lay_out_all
from poolkeeper.planning.layout.changes import Change
from poolkeeper.planning.layout.pool_layout import LayOut, Layout, lay_out
from poolkeeper.planning.placement.initial import ReplicaCounts
from poolkeeper.planning.problem import awaited_replicas
from poolkeeper.planning.problem.arrays import BrokerIndex, Rows, index_brokers
from poolkeeper.planning.problem.offline_replicas import lost_replicas
from poolkeeper.planning.problem.partitions import (
    Lists,
    PartitionTable,
    lists_of,
    refuse_long_lists,
    table_of,
)
from poolkeeper.planning.problem.pool_membership import (
    PlanScope,
    TopicHome,
    TopicRole,
    managed_home,
    plan_scope,
)
from poolkeeper.planning.problem.pool_rows import repeated_brokers
from poolkeeper.planning.problem.unseen_brokers import keep_strays, unseen_brokers
from poolkeeper.planning.proposals import identity, new_partitions, topic_steps
from poolkeeper.planning.proposals.cool_down import without_goals
from poolkeeper.planning.proposals.log_dirs import moves_between_log_dirs
from poolkeeper.planning.proposals.lower_bounds import certificate, combine
from poolkeeper.planning.proposals.manual_placement import manual_changes
from poolkeeper.planning.proposals.moves import move_of, moves_of

Planner = Callable[[Desired, Cluster, Records, frozenset[int]], Plan]
"""Makes the plan that `make_plan` makes, in this process or in another one."""


@frozen
class PlanOptions:
    """How a plan is made, besides of what.

    `prune`: delete topics whose recorded owner wanted that and no longer declares them.
    `table`: the cluster's columns, if the caller keeps them.
    `lay_out`: what lays a pool out, for instance one that knows the last layouts.
    """

    prune: bool = False
    table: PartitionTable | None = None
    lay_out: LayOut = lay_out


_AS_ALWAYS = PlanOptions()


def make_plan(
    desired: Desired,
    cluster: Cluster,
    records: Records = NOTHING_RECORDED,
    gone: frozenset[int] = frozenset(),
    options: PlanOptions = _AS_ALWAYS,
) -> Plan:
    """The plan that brings the cluster to what is declared, as far as the laws permit.

    `gone`: brokers that count as lost for good, unless they are live.
    """
    found = proposal(desired, cluster, records, gone, options)
    problems = {*found.problems, *diagnosis_problems.of_layouts(found.layouts)}
    return Plan(
        cluster=desired.cluster.name,
        hash=identity.plan_hash(found.moves, found.steps),
        fingerprint=identity.fingerprint(
            desired, cluster.id, gone, identity.lost_log_dirs(cluster)
        ),
        steps=found.steps,
        moves=found.moves,
        certificates=_certificates(found.layouts),
        problems=tuple(sorted(problems, key=lambda p: (p.pool, p.topic, p.law, p.message))),
    )


@frozen
class Proposal:
    """What a plan does, before it is named by its hash and held against its bounds.

    `problems`: all but those of layouts.
    """

    moves: ColumnMoves
    steps: tuple[Step, ...]
    layouts: tuple[Layout, ...]
    problems: frozenset[PlanProblem]


def proposal(
    desired: Desired,
    cluster: Cluster,
    records: Records = NOTHING_RECORDED,
    gone: frozenset[int] = frozenset(),
    options: PlanOptions = _AS_ALWAYS,
) -> Proposal:
    """What brings the cluster to what is declared; arguments as for `make_plan`."""
    given = _placement_input(desired, cluster, records, gone, options)
    placed = _place(desired, cluster, given, options.lay_out)
    scope, moves, layouts = given.scope, placed.moves, placed.layouts
    moving = frozenset(zip(moves.columns.names, moves.columns.partition.tolist(), strict=True))
    copied, not_copied = moves_between_log_dirs(
        scope.pools, cluster, placed.homes, moving, balance=desired.cluster.balancing.enabled
    )
    configured, not_configured = topic_steps.configs(scope, cluster, records, given.configs)
    deleted, not_deleted = topic_steps.deletions(scope, cluster)
    steps: tuple[Step, ...] = (
        *placed.steps,
        *configured,
        *copied,
        *topic_steps.elections(scope, cluster, given.table, moving),
        *deleted,
    )
    problems = {
        *scope.problems,
        *placed.problems,
        *topic_steps.postponed_partitions(
            placed.homes, cluster, layouts.crowded_out, layouts.deferred, layouts.unfinished
        ),
        *not_configured,
        *not_deleted,
        *not_copied,
        *awaited_replicas.postponed_configs(
            {n: home.spec for n, home in scope.homes.items()}, cluster
        ),
        *sources.problems(cluster, placed.homes, gone),
        *_brokers_never_seen(cluster, given.unseen, gone),
        *_problems_of_cluster(desired, cluster, records, moves, steps),
    }
    told = {p.topic for p in problems if is_left_undone(p.reason)}.union(scope.to_delete)
    problems.update(drained_brokers.problems(desired, cluster, scope.homes, told))
    return Proposal(moves, steps, layouts.layouts, frozenset(problems))


@frozen
class _PlacementInput:
    """What is decided before any replica is placed.

    `usable`: by pool, the brokers that may be given replicas. `lists`: the replicas as found.
    `unseen`: by pool, its brokers that the cluster has never had.
    """

    table: PartitionTable
    scope: PlanScope
    usable: Mapping[str, EligibleBrokers]
    lists: Lists
    configs: ConfigRules
    unseen: Mapping[str, tuple[int, ...]]


def _placement_input(
    desired: Desired,
    cluster: Cluster,
    records: Records,
    gone: frozenset[int],
    options: PlanOptions,
) -> _PlacementInput:
    table = options.table or table_of(cluster)
    refuse_long_lists(table)
    scope = plan_scope(desired, cluster, records, prune=options.prune, odd=table.odd)
    brokers = index_brokers(cluster, desired, records, gone, table.replicas.ids)
    usable = _usable_brokers(desired, scope, brokers)
    lists = _lists_as_found(cluster, table, brokers)
    configs = ConfigRules.of(desired, cluster)
    scope = _without_unloadable(scope, cluster, configs)
    unseen = unseen_brokers(desired, cluster, records)
    scope = keep_strays(scope, cluster, desired, unseen)
    return _PlacementInput(table, scope, usable, lists, configs, unseen)


@frozen
class _Placement:
    """Where all replicas shall be.

    `steps`: the topics and partitions that are created. `homes`: of all topics, new ones included.
    """

    steps: tuple[CreateTopic | AddPartitions, ...]
    moves: ColumnMoves
    layouts: PoolLayouts
    homes: Mapping[str, TopicHome]
    problems: tuple[PlanProblem, ...]


def _place(
    desired: Desired, cluster: Cluster, given: _PlacementInput, lay_out: LayOut
) -> _Placement:
    scope, usable = given.scope, given.usable
    manual, unassignable = manual_changes(scope, cluster, usable, given.lists)
    lists = _with_manual(given.lists, manual)
    counts = new_partitions.PlacementCounts(
        usable,
        _replica_counts(scope, lists),
        QuotaUsage.of(desired, scope, cluster, usable),
        given.configs,
    )
    created, not_created = new_partitions.creations(scope, counts)
    added, not_added = new_partitions.additions(scope, cluster, counts)
    refused = (*not_created, *not_added)
    brokers = lists.brokers
    lists = lists.with_changed({s.topic: brokers.row_lists(s.replicas) for s in created})
    new = {s.topic: managed_home(s) for s in scope.to_create if s.topic in lists}
    homes = {**scope.homes, **new}
    evened = without_goals(desired, scope.uncounted) if scope.uncounted else desired
    layouts = lay_out_all(
        LayoutInput(evened, usable, homes, lay_out), lists, added, {c.topic for c in manual}
    )
    changes = (*manual, *layouts.changes)
    moves = _moves(desired, cluster, given.table, changes, layouts.layouts)
    held = _replicas_after(scope, layouts)
    if moves:
        then = counts.after_moves(held)
        refused = tuple(new_partitions.awaiting_room(scope, cluster, then, refused))
    steps = (*_with_lists(created, layouts), *_with_lists(added, layouts))
    problems = (*unassignable, *refused, *quota_problems(counts.quotas, held))
    return _Placement(steps, moves, layouts, homes, problems)


def _brokers_never_seen(
    cluster: Cluster, unseen: Mapping[str, tuple[int, ...]], gone: frozenset[int]
) -> Iterator[PlanProblem]:
    live = tuple(sorted(cluster.brokers))
    for pool, brokers in unseen.items():
        if waited_for := tuple(broker for broker in brokers if broker not in gone):
            yield PlanProblem(pool, "", BrokersNeverSeen(waited_for, live))


def _without_unloadable(scope: PlanScope, cluster: Cluster, configs: ConfigRules) -> PlanScope:
    """The scope in which topics stay whose config no broker can load; that may be set right."""
    found = {
        name: said
        for name, topic in cluster.topics.items()
        if topic.config
        and scope.homes[name].role is not TopicRole.UNTOUCHED
        and (said := configs.unloadable(topic.config))
    }
    if not found:
        return scope
    homes = dict(scope.homes)
    for name in found:
        homes[name] = replace(homes[name], role=TopicRole.UNTOUCHED)
    problems = (
        PlanProblem(homes[name].pool, "", TopicLeftOut(Unsettled.UNLOADABLE, said), name)
        for name, said in sorted(found.items())
    )
    return replace(scope, homes=homes, problems=(*scope.problems, *problems))


def _usable_brokers(
    desired: Desired, scope: PlanScope, brokers: BrokerIndex
) -> dict[str, EligibleBrokers]:
    """By pool, the brokers that may be given replicas."""
    limits = desired.cluster.limits
    return {
        name: eligible_brokers(pool, brokers, limits) for name, pool in sorted(scope.pools.items())
    }


def _lists_as_found(cluster: Cluster, table: PartitionTable, brokers: BrokerIndex) -> Lists:
    """The replica lists in rows, with those that have no source or have lost a replica."""
    found = lists_of(table, brokers, sources.rows_without_source(cluster, table))
    return replace(found, lost=lost_replicas(cluster, table, brokers, found.wide))


def _problems_of_cluster(
    desired: Desired,
    cluster: Cluster,
    records: Records,
    moves: ColumnMoves,
    steps: tuple[Step, ...],
) -> Iterator[PlanProblem]:
    """What the state of the brokers leaves undone, whatever is declared of topics."""
    yield from failed_log_dirs.problems(desired, cluster, records, moves)
    yield from outages.problems(records, desired)
    yield from unclean_elections.problems(steps, cluster)


def _with_lists(
    steps: Iterable[CreateTopic | AddPartitions], layouts: PoolLayouts
) -> Iterator[CreateTopic | AddPartitions]:
    """The steps with the lists that the layouts gave them, without those that layouts left out."""
    for step in steps:
        first = step.first if isinstance(step, AddPartitions) else 0
        lists = layouts.lists[step.topic][first:]
        if lists:
            yield replace(step, replicas=layouts.lists.brokers.id_lists(lists))


def _moves(
    desired: Desired,
    cluster: Cluster,
    table: PartitionTable,
    changes: Iterable[Change],
    layouts: Iterable[Layout],
) -> ColumnMoves:
    """All moves in their order: those of `changes` and of the layouts of placed topics."""
    one = desired.cluster.execution.replicas_at_a_time is ReplicasAtATime.ONE
    latest: dict[tuple[str, int], Change] = {}
    for change in changes:
        key = (change.topic, change.partition)
        earlier = latest[key].causes if key in latest else ()
        causes = tuple(sorted((*earlier, *change.causes), key=lambda cause: cause[0]))
        latest[key] = Change(*key, change.target, causes, change.badness)
    found = (move_of(change, cluster, table, one_at_a_time=one) for change in latest.values())
    parts = [MoveColumns.of(sorted(found, key=attrgetter("urgency", "topic", "partition")))]
    for layout in layouts:
        if layout.problem.role is TopicRole.PLACED:
            parts.append(moves_of(layout, cluster, table, one_at_a_time=one))
    parts = [part for part in parts if len(part)] or parts[:1]
    if len(parts) == 1:
        return ColumnMoves(parts[0])
    return ColumnMoves(MoveColumns.merged(parts))


def _certificates(layouts: Iterable[Layout]) -> tuple[PoolCertificate, ...]:
    by_pool: dict[str, list[PoolCertificate]] = {}
    for layout in layouts:
        by_pool.setdefault(layout.problem.pool.name, []).append(certificate(layout))
    return tuple(combine(proofs) for proofs in by_pool.values())


def _with_manual(lists: Lists, manual: Iterable[Change]) -> Lists:
    changed: dict[str, list[Rows]] = {}
    for change in manual:
        if change.topic not in changed:
            changed[change.topic] = list(lists[change.topic])
        changed[change.topic][change.partition] = tuple(lists.brokers.rows(change.target))
    return lists.with_changed(changed)


def _replicas_after(scope: PlanScope, layouts: PoolLayouts) -> dict[int, int]:
    """Replicas by broker after all moves and steps."""
    held = layouts.replicas_by_broker()
    for broker, _ in repeated_brokers(scope.homes, layouts.lists):
        held[broker] += 1
    return dict(zip(layouts.lists.brokers.ids, held.tolist(), strict=True))


def _replica_counts(scope: PlanScope, lists: Lists) -> ReplicaCounts:
    held, leads = lists.counts()
    for broker, _ in repeated_brokers(scope.homes, lists):
        held[broker] += 1
    by_id = (zip(lists.brokers.ids, counts.tolist(), strict=True) for counts in (held, leads))
    return ReplicaCounts(*(Counter(dict(counts)) for counts in by_id))
