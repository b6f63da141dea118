"""A cluster's plan in parts: pools that do not affect each other, planned separately.

`make_plan` makes the plan of a cluster at once, in a second for 200,000 partitions. A cluster is
split only if it would keep one executor busy while all others are done. A *part* is a set of pools
with all topics that concern them. The plans of all parts, joined by `merge_plans`, are exactly the
plan that `make_plan` makes of the whole.

Two pools are in one part if any of these holds:

- They share a broker.
- A topic that lives in one of them, or should, has a replica in the other.
- Unmanaged topics that evacuate brokers, or topics that both claim, have replicas in both.

Unmanaged topics that do not move are load in every part.

`parts` gives one part for all pools if anything else counts across pools: topics to create (their
names must not collide with any other, and they take capacity in turn), a limit of the whole cluster
that is enforced or that added partitions exceed, topics that several resources declare, topics
declared in a pool that does not exist, and topics that cannot be read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.move_columns import ColumnMoves, MoveColumns, columns_of_moves
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import AddPartitions, ElectLeaders, Plan, PlanProblem, SetConfig
from poolkeeper.model.specs import LimitPolicy, ResourcePoolSpec, TopicSpec, UnmanagedTopics
from poolkeeper.model.topic_patterns import matches
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.constraints import sources
from poolkeeper.planning.constraints.quotas import QuotaUsage, quota_problems
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.problem.partitions import PartitionTable
from poolkeeper.planning.problem.pool_membership import PlanScope, plan_scope
from poolkeeper.planning.proposals import identity

_KINDS = (AddPartitions, SetConfig, ElectLeaders)
"""Steps that the plan of a part may have, in their order."""


_REST = "~others"
"""No name that a ResourcePool can have."""


@frozen
class PlanPart:
    """Pools and the topics that concern them, by name, sorted."""

    pools: tuple[str, ...]
    topics: tuple[str, ...]


def parts(
    desired: Desired, cluster: Cluster, records: Records, table: PartitionTable
) -> tuple[PlanPart, ...]:
    """The cluster's parts, by the first of their pools; one if it cannot be taken apart."""
    whole = (PlanPart(tuple(sorted(p.name for p in desired.pools)), tuple(sorted(cluster.topics))),)
    if len(desired.pools) < 2 or not _separable(desired, cluster):
        return whole
    scope = plan_scope(desired, cluster, records, prune=False)
    names = {pool.name for pool in desired.pools}
    if any(home.pool and home.pool not in names for home in scope.homes.values()):
        return whole
    touched = _topics_touched(desired, table)
    groups = _Groups(names)
    for holders in _holders(desired).values():
        groups.join(holders)
    concerned = {name: _binding(desired, scope, name, touched) for name in scope.homes}
    for pools in concerned.values():
        groups.join(pools)
    return tuple(_parts_of_groups(groups, concerned, touched))


def plan_of_part(
    part: PlanPart, desired: Desired, cluster: Cluster, records: Records, gone: frozenset[int]
) -> Plan:
    """The part's plan; its hash and fingerprint are its own.

    Which of several equally good plans is made may depend on how many brokers there are. So the
    part is planned with all of the cluster's: those that nothing of it names are in a pool of no
    topics, `_REST`, and nothing is said of that.
    """
    some = replace(cluster, topics={name: cluster.topics[name] for name in part.topics})
    plan = make_plan(_desired_of(part, desired, cluster, some), some, records, gone)
    return replace(
        plan,
        certificates=tuple(each for each in plan.certificates if each.pool != _REST),
        problems=tuple(each for each in plan.problems if each.pool != _REST),
    )


def _desired_of(part: PlanPart, desired: Desired, whole: Cluster, some: Cluster) -> Desired:
    """What is declared for the part's pools and topics, and a pool of all brokers left over."""
    pools, topics = set(part.pools), set(part.topics)
    own = tuple(pool for pool in desired.pools if pool.name in pools)
    rest = _brokers(desired.pools, whole) - _brokers(own, some)
    racks = {b: rack for pool in desired.pools for b, rack in pool.racks.items() if b in rest}
    others = ResourcePoolSpec(_REST, desired.cluster.name, tuple(sorted(rest)), racks, goals=())
    specs = tuple(spec for spec in desired.topics if spec.topic in topics)
    return replace(desired, pools=(*own, others) if rest else own, topics=specs)


def _brokers(pools: Iterable[ResourcePoolSpec], cluster: Cluster) -> set[int]:
    """Every broker that is live, in one of the pools or in a replica list."""
    found = set(cluster.brokers)
    for pool in pools:
        found.update(pool.brokers)
    for topic in cluster.topics.values():
        found.update(*(p.replicas for p in topic.partitions))
    return found


def merge_plans(
    plans: Iterable[Plan],
    desired: Desired,
    cluster: Cluster,
    records: Records,
    gone: frozenset[int],
    replicas_of_broker: Mapping[int, int],
) -> Plan:
    """One plan of the plans of all parts; `replicas_of_broker`: by broker, after all of them."""
    made = list(plans)
    moves = ColumnMoves(MoveColumns.merged([columns_of_moves(plan.moves) for plan in made]))
    steps = _steps(made)
    added = sum(len(step.replicas) for step in steps if isinstance(step, AddPartitions))
    size = sum(len(topic.partitions) for topic in cluster.topics.values())
    usage = QuotaUsage(replace(desired, pools=()), {}, in_cluster=size + added)
    problems = {p for plan in made for p in plan.problems if not _of_whole_cluster(p)}
    problems.update(quota_problems(usage, replicas_of_broker))
    if gone:
        homes = plan_scope(desired, cluster, records, prune=False).homes
        problems.update(filter(_of_whole_cluster, sources.problems(cluster, homes, gone)))
    return Plan(
        cluster=desired.cluster.name,
        hash=identity.plan_hash(moves, steps),
        fingerprint=identity.fingerprint(
            desired, cluster.id, gone, identity.lost_log_dirs(cluster)
        ),
        steps=steps,
        moves=moves,
        certificates=tuple(
            sorted((c for plan in made for c in plan.certificates), key=attrgetter("pool"))
        ),
        problems=tuple(sorted(problems, key=lambda p: (p.pool, p.topic, p.law, p.message))),
    )


def _separable(desired: Desired, cluster: Cluster) -> bool:
    declared = [spec.topic for spec in desired.topics]
    pools = {pool.name for pool in desired.pools}
    return (
        desired.cluster.limits.policy is not LimitPolicy.ENFORCE
        and not desired.held
        and not desired.doomed
        and not desired.astray
        and not (desired.watched and desired.watched.names)
        and not cluster.torn
        and not cluster.damaged
        and len(set(declared)) == len(declared)
        and all(name in cluster.topics for name in declared)
        and all(spec.pool in pools for spec in desired.topics)
        and not _beyond_limit_by_additions(desired, cluster)
    )


def _beyond_limit_by_additions(desired: Desired, cluster: Cluster) -> bool:
    """Whether partitions are to be added, and the cluster's limit is in sight with them.

    What exceeds the limit is told with a number, which only a plan of the whole can count.
    """
    topics = cluster.topics
    size = sum(len(topic.partitions) for topic in topics.values())
    added = sum(
        max(0, _added_replicas(spec) - len(topics[spec.topic].partitions))
        for spec in desired.topics
    )
    return bool(added) and size + added > desired.cluster.limits.partitions


def _added_replicas(spec: TopicSpec) -> int:
    return max(spec.partitions or 0, len(spec.assignment or ()))


class _Groups:
    """Names grouped by what connects them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._first = {name: name for name in names}

    def of(self, name: str) -> str:
        """The first name of its group."""
        while self._first[name] != name:
            name = self._first[name]
        return name

    def join(self, names: Iterable[str]) -> None:
        firsts = sorted(map(self.of, names))
        for first in firsts[1:]:
            self._first[first] = firsts[0]

    def members(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in sorted(self._first):
            found.setdefault(self.of(name), []).append(name)
        return found


def _holders(desired: Desired) -> dict[int, list[str]]:
    """Pools by broker."""
    holders: dict[int, list[str]] = {}
    for pool in desired.pools:
        for broker in pool.brokers:
            holders.setdefault(broker, []).append(pool.name)
    return holders


def _topics_touched(desired: Desired, table: PartitionTable) -> dict[str, set[str]]:
    """By topic, the pools that it has a replica in."""
    holders = _holders(desired)
    ids = table.replicas.ids
    topic = np.repeat(np.repeat(np.arange(len(table.names)), np.diff(table.start)), table.lengths)
    pairs = np.unique(np.stack([topic, ids]), axis=1) if len(ids) else np.empty((2, 0), np.int64)
    found: dict[str, set[str]] = {name: set() for name in table.names}
    for at, broker in zip(*pairs.tolist(), strict=True):
        found[table.names[at]].update(holders.get(broker, ()))
    return found


def _binding(
    desired: Desired, scope: PlanScope, name: str, touched: Mapping[str, set[str]]
) -> set[str]:
    """The pools that this topic ties together; none where it is merely load."""
    home = scope.homes[name]
    if home.pool:
        return {home.pool} | touched[name]
    claiming = {p.name for p in desired.pools if matches(p.claims, name)}
    if claiming or desired.cluster.unmanaged_topics is UnmanagedTopics.EVACUATE_ONLY:
        return claiming | touched[name]
    return set()


def _parts_of_groups(
    groups: _Groups, concerned: Mapping[str, set[str]], touched: Mapping[str, set[str]]
) -> Iterable[PlanPart]:
    members = groups.members()
    topics: dict[str, set[str]] = {first: set() for first in members}
    rest = next(iter(members))
    for name, pools in concerned.items():
        for pool in pools or touched[name] or {rest}:
            topics[groups.of(pool)].add(name)
    for first, pools_of in members.items():
        yield PlanPart(tuple(pools_of), tuple(sorted(topics[first])))


def _steps(plans: Sequence[Plan]) -> tuple[AddPartitions | SetConfig | ElectLeaders, ...]:
    found: list[AddPartitions | SetConfig | ElectLeaders] = []
    for plan in plans:
        for step in plan.steps:
            assert isinstance(step, _KINDS), f"a part has a step {step}"
            found.append(step)
    elections = [step for step in found if isinstance(step, ElectLeaders)]
    others = [step for step in found if not isinstance(step, ElectLeaders)]
    others.sort(key=lambda step: (_KINDS.index(type(step)), step.topic))
    if not elections:
        return tuple(others)
    pairs = sorted(pair for step in elections for pair in step.partitions)
    return (*others, ElectLeaders(tuple(pairs), elections[0].reason))


def _of_whole_cluster(problem: PlanProblem) -> bool:
    """Whether it is a count over all pools, or over topics of none, which are in several parts."""
    return not problem.pool and not problem.topic
