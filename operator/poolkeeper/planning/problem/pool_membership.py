"""Which pool every topic lives in, and what may be done to it.

A topic lives in the pool of its Topic resource, else in the pool whose claims match its name, else,
under `Manage`, in the default pool. Its role says how much may happen there:

  PLACED     the planner places and moves its replicas
  MANUAL     Manual placement: brought to the declared lists, never moved otherwise
  EVACUATED  unmanaged under `EvacuateOnly`: only leaves drained and gone brokers, each replica
             within the pool of the broker it leaves
  UNTOUCHED  counts as load and is not touched: unmanaged under `Ignore`, paused, about to be
             deleted, held, or left out because its state cannot be trusted now

If two pools have a broker in common, no topic of either pool moves, and both pools have a problem
that says so.

A topic is held if no resource may be followed for it (see `topic_ownership`): nothing moves for it.
A stranded topic, whose owner names no pool that is there or is not watched, is evacuated whatever
the policy is.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from enum import StrEnum

from poolkeeper.algorithms.internal_topics import is_declarable
from poolkeeper.algorithms.names import metric_name
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_queries import surely_settled
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.specs import (
    GoalKind,
    ResourcePoolSpec,
    Strategy,
    TopicSpec,
    UnmanagedTopics,
)
from poolkeeper.model.topic_patterns import matches
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.planning.facts.balance import BalanceHeld
from poolkeeper.planning.facts.new_partitions import MetricNameTaken, NotCreated
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.facts.pools import SharedBrokers
from poolkeeper.planning.facts.records import RecordUnreadable
from poolkeeper.planning.facts.topic_owners import AdoptionRequired
from poolkeeper.planning.facts.topics import (
    ClaimedTwice,
    KeptAsItIs,
    NoDefaultPool,
    NotAdmitted,
    PoolUnavailable,
    TopicLeftOut,
    Unsettled,
)
from poolkeeper.planning.problem import internal_topics, topic_ownership
from poolkeeper.planning.problem.adoption_requests import AdoptionRequest, adoption_requests
from poolkeeper.planning.problem.topic_ownership import TopicOwners
from poolkeeper.planning.problem.topic_rights import TopicsFound


class TopicRole(StrEnum):
    """How much the planner may do with a topic's replicas."""

    PLACED = "placed"
    MANUAL = "manual"
    EVACUATED = "evacuated"
    UNTOUCHED = "untouched"


@frozen
class TopicHome:
    """A topic's role and, where it has one, its pool and its resource."""

    role: TopicRole
    pool: str = ""
    spec: TopicSpec | None = None


_NOWHERE = TopicHome(TopicRole.UNTOUCHED)


@frozen
class PlanScope:
    """What a plan may work on.

    `pools`: the pools that it may change, by name.
    `homes`: the role and pool of every observed topic.
    `to_create`: the specs of topics to create.
    `to_delete`: the topics to delete.
    `uncounted`: by pool, the topics that may have replicas there, and that nobody can tell.
    """

    pools: Mapping[str, ResourcePoolSpec]
    homes: Mapping[str, TopicHome]
    to_create: tuple[TopicSpec, ...]
    to_delete: tuple[str, ...]
    problems: tuple[PlanProblem, ...]
    uncounted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def plan_scope(
    desired: Desired,
    cluster: Cluster,
    records: Records,
    *,
    prune: bool,
    odd: Iterable[str] | None = None,
    owners: TopicOwners | None = None,
) -> PlanScope:
    """Find every topic's pool and role; `problems` has those without a pool and those left out.

    `odd`: the topics whose partitions are not in a normal state, if the caller knows them.
    `owners`: whose resources are followed, if the caller knows that.
    """
    pools, problems = _working_pools(desired)
    kept = {each.topic for each in desired.kept if each.topic}
    if owners is None:
        owners = topic_ownership.topic_owners(desired, records, cluster)
    specs = owners.specs
    problems += topic_ownership.conflicts(desired, TopicsFound(cluster, records), owners)
    problems += topic_ownership.problems_of_kept_topics(desired, cluster, records, owners)
    problems += _awaiting_adoption(adoption_requests(desired, cluster, records, owners))
    problems += _without_pool(desired)
    problems += _unreadable_records(records)
    left_out = _left_out(cluster, cluster.topics if odd is None else odd)
    to_delete = topic_ownership.topics_to_delete(desired, cluster, records, owners, prune=prune)
    unfollowed = internal_topics.refusals(specs, cluster, left_out)
    untouched = owners.held.union(to_delete, unfollowed)
    homes, said = _homes(desired, pools, sorted(cluster.topics), specs, untouched)
    for name in kept.intersection(homes):
        homes[name] = TopicHome(TopicRole.UNTOUCHED, homes[name].pool, None)
    for name in owners.stranded.intersection(homes).difference(untouched, kept):
        homes[name] = TopicHome(TopicRole.EVACUATED)
    problems += [*unfollowed.values(), *said]
    for name, why in sorted(left_out.items()):
        home = homes.get(name, _NOWHERE)
        if home.role is not TopicRole.UNTOUCHED:
            homes[name] = TopicHome(TopicRole.UNTOUCHED, home.pool, home.spec)
        if name in specs or home.pool:
            problems.append(PlanProblem(home.pool, "", why, name))
    to_create, refused = _to_create(pools, specs, cluster, {*left_out, *kept})
    to_delete = tuple(name for name in to_delete if name not in left_out and name not in kept)
    problems += _unlawful(desired, specs)
    uncounted = _uncounted(desired, pools, cluster, specs)
    problems += _balance_held(pools, uncounted, cluster.torn)
    return PlanScope(pools, homes, to_create, to_delete, tuple(problems + refused), uncounted)


def _uncounted(
    desired: Desired,
    pools: Mapping[str, ResourcePoolSpec],
    cluster: Cluster,
    specs: Mapping[str, TopicSpec],
) -> dict[str, tuple[str, ...]]:
    """By pool, the topics that cannot be read and belong there; in all pools, those of no pool.

    A broker that has many of their replicas looks as if it had room.
    """
    found: dict[str, list[str]] = {}
    for name in sorted({*cluster.torn, *cluster.damaged}):
        home, _ = _home(desired, pools, specs.get(name), name)
        for pool in (home.pool,) if home.pool else pools:
            found.setdefault(pool, []).append(name)
    return {pool: tuple(names) for pool, names in found.items() if pool in pools}


def _balance_held(
    pools: Mapping[str, ResourcePoolSpec],
    uncounted: Mapping[str, tuple[str, ...]],
    torn: Collection[str],
) -> list[PlanProblem]:
    return [
        PlanProblem(name, "balance", BalanceHeld(Names.of(topics), {*topics} <= {*torn}))
        for name, topics in uncounted.items()
        if any(goal.kind is not GoalKind.LOG_DIRS for goal in pools[name].goals)
    ]


def _without_pool(desired: Desired) -> list[PlanProblem]:
    """One problem for each Topic whose pool is not declared; it holds nothing."""
    known = {pool.name for pool in desired.pools}
    return [
        PlanProblem(spec.pool, "pool", PoolUnavailable(spec.pool), spec.topic)
        for spec in desired.topics
        if spec.pool not in known
    ]


def _unlawful(desired: Desired, specs: Mapping[str, TopicSpec]) -> list[PlanProblem]:
    """One problem for each topic and pool that is kept, as following it was unlawful."""
    problems = []
    for law, message, topic, pool in desired.kept:
        home = specs[topic].pool if topic in specs else pool
        problems.append(PlanProblem(home, law, KeptAsItIs(law, message), topic))
    return problems


def _awaiting_adoption(requests: Iterable[AdoptionRequest]) -> list[PlanProblem]:
    """One problem for each namespace that asks to take over existing topics."""
    return [
        PlanProblem(
            "",
            "",
            AdoptionRequired(
                each.namespace, Names.of([named.topic for named in each.topics]), each.hash
            ),
        )
        for each in requests
    ]


def _unreadable_records(records: Records) -> list[PlanProblem]:
    """One problem for each record that cannot be read."""
    of_topics = (
        PlanProblem("", "", RecordUnreadable(None, damage), topic)
        for topic, damage in records.damaged_topics.items()
    )
    of_cluster = (
        PlanProblem("", "", RecordUnreadable(kind, damage))
        for kind, damage in records.damage.items()
    )
    return [*of_topics, *of_cluster]


def _working_pools(desired: Desired) -> tuple[dict[str, ResourcePoolSpec], list[PlanProblem]]:
    holders: dict[int, list[str]] = {}
    for pool in desired.pools:
        for broker in pool.brokers:
            holders.setdefault(broker, []).append(pool.name)
    shared = {broker: names for broker, names in sorted(holders.items()) if len(names) > 1}
    unmoved: dict[str, list[int]] = {}
    for broker, names in shared.items():
        for name in names:
            unmoved.setdefault(name, []).append(broker)
    problems = [
        PlanProblem(
            name,
            "pool",
            SharedBrokers(
                tuple(sorted(ids)),
                tuple(sorted({other for b in ids for other in shared[b]} - {name})),
            ),
        )
        for name, ids in sorted(unmoved.items())
    ]
    kept = {each.pool for each in desired.kept if not each.topic}
    unusable = unmoved.keys() | kept
    pools = {pool.name: pool for pool in desired.pools if pool.name not in unusable}
    return pools, problems


def _left_out(cluster: Cluster, odd: Iterable[str]) -> dict[str, TopicLeftOut]:
    """Topics whose state cannot be trusted now, and why."""
    why: dict[str, TopicLeftOut] = {}
    for request in cluster.reassignment or ():
        why.setdefault(request.topic, TopicLeftOut(Unsettled.REQUESTED))
    for name in odd:
        if (unsound := _unsound(cluster.topics[name])) is not None:
            why[name] = unsound
    why |= {name: TopicLeftOut(Unsettled.CHANGING) for name in cluster.torn}
    why |= {name: TopicLeftOut(Unsettled.DAMAGED, what) for name, what in cluster.damaged.items()}
    why |= {name: TopicLeftOut(Unsettled.DELETING) for name in cluster.deleting}
    return why


def _unsound(topic: Topic) -> TopicLeftOut | None:
    if surely_settled(topic.partitions):
        return None
    moving = [p.partition for p in topic.partitions if p.moving]
    if moving:
        noun = "partition" if len(moving) == 1 else "partitions"
        return TopicLeftOut(Unsettled.MOVING, f"{noun} {Names.of(moving)}")
    if any(p.partition != position for position, p in enumerate(topic.partitions)):
        return TopicLeftOut(Unsettled.GAPS)
    if any(not p.replicas for p in topic.partitions):
        return TopicLeftOut(Unsettled.NO_REPLICAS)
    return None


def _homes(
    desired: Desired,
    pools: Mapping[str, ResourcePoolSpec],
    names: Iterable[str],
    specs: Mapping[str, TopicSpec],
    untouched: Collection[str],
) -> tuple[dict[str, TopicHome], list[PlanProblem]]:
    """The role and pool of every topic; topics in `untouched` need none."""
    homes: dict[str, TopicHome] = {}
    problems: list[PlanProblem] = []
    for name in names:
        if name in untouched:
            homes[name] = _NOWHERE
        else:
            homes[name], said = _home(desired, pools, specs.get(name), name)
            problems += said
    return homes, problems


def _home(
    desired: Desired, pools: Mapping[str, ResourcePoolSpec], spec: TopicSpec | None, name: str
) -> tuple[TopicHome, list[PlanProblem]]:
    if spec is not None:
        return _declared_home(pools, spec)
    claiming = [p.name for p in desired.pools if matches(p.claims, name)]
    if len(claiming) > 1:
        claimed = ClaimedTwice(tuple(claiming))
        return _NOWHERE, [PlanProblem(p, "pool", claimed, name) for p in claiming]
    if claiming:
        return TopicHome(
            TopicRole.PLACED if claiming[0] in pools else TopicRole.UNTOUCHED, claiming[0]
        ), []
    return _unmanaged_home(desired, pools, name)


def _unmanaged_home(
    desired: Desired, pools: Mapping[str, ResourcePoolSpec], name: str
) -> tuple[TopicHome, list[PlanProblem]]:
    policy = desired.cluster.unmanaged_topics
    if policy is UnmanagedTopics.MANAGE:
        default = desired.cluster.default_pool or ""
        if default in pools:
            return TopicHome(TopicRole.PLACED, default), []
        return _NOWHERE, [PlanProblem(default, "pool", NoDefaultPool(), name)]
    if policy is UnmanagedTopics.EVACUATE_ONLY:
        return TopicHome(TopicRole.EVACUATED), []
    return _NOWHERE, []


def _declared_home(
    pools: Mapping[str, ResourcePoolSpec], spec: TopicSpec
) -> tuple[TopicHome, list[PlanProblem]]:
    if said := _not_admitted(pools, spec):
        return TopicHome(TopicRole.UNTOUCHED, spec.pool, None), [said]
    if spec.paused:
        return TopicHome(TopicRole.UNTOUCHED, spec.pool, None), []
    return managed_home(spec), []


def managed_home(spec: TopicSpec) -> TopicHome:
    """Return where a Topic belongs that is placed as it declares, created or yet to be created."""
    role = TopicRole.MANUAL if spec.strategy is Strategy.MANUAL else TopicRole.PLACED
    return TopicHome(role, spec.pool, spec)


def _not_admitted(pools: Mapping[str, ResourcePoolSpec], spec: TopicSpec) -> PlanProblem | None:
    pool = pools.get(spec.pool)
    if pool is None:
        return PlanProblem(spec.pool, "pool", PoolUnavailable(spec.pool), spec.topic)
    allowed = pool.allowed_namespaces
    if allowed is None or allowed.selector is not None or allowed.names is None:
        return None  # only the API server knows the labels of namespaces
    if spec.namespace not in allowed.names:
        refusal = NotAdmitted(spec.pool, spec.namespace)
        return PlanProblem(spec.pool, "pool", refusal, spec.topic)
    return None


def _to_create(
    pools: Mapping[str, ResourcePoolSpec],
    specs: Mapping[str, TopicSpec],
    cluster: Cluster,
    left_out: Collection[str],
) -> tuple[tuple[TopicSpec, ...], list[PlanProblem]]:
    """Specs of topics to create, without names that collide with another in Kafka's metrics."""
    metric_names = {metric_name(name): name for name in sorted(cluster.topics)}
    to_create, problems = [], []
    for name, spec in sorted(specs.items()):
        if name in cluster.topics or name in left_out or spec.paused:
            continue
        twin = metric_names.setdefault(metric_name(name), name)
        if twin != name:
            problems.append(PlanProblem(spec.pool, "", NotCreated(MetricNameTaken(twin)), name))
        elif said := _not_admitted(pools, spec):
            problems.append(said)
        elif is_declarable(name):
            problems.append(internal_topics.absent_topic(spec))
        else:
            to_create.append(spec)
    return tuple(to_create), problems
