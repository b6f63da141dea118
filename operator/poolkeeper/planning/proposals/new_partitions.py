"""Where new partitions go: those of topics to create, and those that existing topics lack.

Every function is pure and returns (steps, problems). A topic is created straight in its pool, or
not at all. What may not be done now is a problem that says why, and what helps. Creations do not
wait for moves. If only moves make room for a topic, the next plan creates it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from poolkeeper.algorithms.names import is_internal, ownership_problem, topic_name_problem
from poolkeeper.errors import PoolkeeperError
from poolkeeper.frozen import frozen
from poolkeeper.model.plans import AddPartitions, CreateTopic, PlanProblem
from poolkeeper.model.problems import Facts
from poolkeeper.model.specs import ResourcePoolSpec, Strategy, TopicSpec
from poolkeeper.model.topology import Cluster, Replicas, Topic
from poolkeeper.planning.constraints import topic_size
from poolkeeper.planning.constraints.capacity import EligibleBrokers
from poolkeeper.planning.constraints.quotas import QuotaUsage
from poolkeeper.planning.constraints.topic_configs import ConfigRules
from poolkeeper.planning.diagnosis.capacity_conflicts import (
    BrokerCapacity,
    CapacityDemand,
    overflow,
)
from poolkeeper.planning.facts.conflicts import Member
from poolkeeper.planning.facts.new_partitions import (
    AssignedElsewhere,
    AwaitsRoom,
    BrokersFull,
    FactorUndeclared,
    FewerBrokers,
    IllegalName,
    InternalTopic,
    InvalidAssignment,
    KeyedTopic,
    NeverShrinks,
    NoRoomBetween,
    NotCreated,
    NotExtended,
    PartitionsUndeclared,
    TopicTooLarge,
    TopicUntouched,
)
from poolkeeper.planning.placement.initial import (
    ReplicaCounts,
    added_kafka_lists,
    balanced_lists,
    kafka_lists,
)
from poolkeeper.planning.problem.pool_membership import PlanScope, TopicRole


@frozen
class PlacementCounts:
    """What new partitions are placed on: usable brokers by pool, and counts that are updated."""

    usable: Mapping[str, EligibleBrokers]
    by_broker: ReplicaCounts
    quotas: QuotaUsage
    configs: ConfigRules

    def after_moves(self, replicas: Mapping[int, int]) -> "PlacementCounts":
        """A copy with that many replicas by broker and no leaders."""
        counts = Counter(self.quotas.topics), Counter(self.quotas.partitions)
        quotas = replace(self.quotas, topics=counts[0], partitions=counts[1])
        return replace(self, by_broker=ReplicaCounts(Counter(replicas)), quotas=quotas)


class _Refusal(PoolkeeperError):
    """Why a step is not taken; becomes a problem of the plan and never leaves this module."""

    def __init__(self, facts: Facts, law: str = "") -> None:
        self.facts, self.law = facts, law
        super().__init__(str(facts))


def creations(
    scope: PlanScope, counts: PlacementCounts
) -> tuple[tuple[CreateTopic, ...], tuple[PlanProblem, ...]]:
    """Create topics that are declared and do not exist, straight in their pools."""
    steps, problems = [], []
    for spec in scope.to_create:
        try:
            lists = _new_lists(spec, scope.pools[spec.pool], counts)
        except _Refusal as why:
            problems.append(PlanProblem(spec.pool, why.law, NotCreated(why.facts), spec.topic))
            continue
        reason = f"declared by {spec.owner}"
        steps.append(CreateTopic(spec.topic, spec.pool, lists, dict(spec.config), reason))
        if doubts := counts.configs.doubts(spec.config):
            problems.append(PlanProblem(spec.pool, "", doubts, spec.topic))
    return tuple(steps), tuple(problems)


def awaiting_room(
    scope: PlanScope, cluster: Cluster, counts: PlacementCounts, refused: Iterable[PlanProblem]
) -> Iterator[PlanProblem]:
    """The refusals, with those that the next plan can do as problems that say so.

    `counts`: after this plan; they are changed.
    """
    specs = {spec.topic: spec for spec in scope.to_create}
    for problem in refused:
        topic = cluster.topics.get(problem.topic)
        spec = specs[problem.topic] if topic is None else scope.homes[problem.topic].spec
        if problem.law == "capacity" and spec and _fits(spec, topic, scope, counts):
            found = None if topic is None else len(topic.partitions)
            yield replace(problem, facts=AwaitsRoom(found))
        else:
            yield problem


def _fits(spec: TopicSpec, topic: Topic | None, scope: PlanScope, counts: PlacementCounts) -> bool:
    pool = scope.pools[spec.pool]
    try:
        if topic is None:
            _new_lists(spec, pool, counts)
        else:
            _added_lists(spec, pool, [p.replicas for p in topic.partitions], counts)
    except _Refusal:
        return False
    return True


def additions(
    scope: PlanScope, cluster: Cluster, counts: PlacementCounts
) -> tuple[tuple[AddPartitions, ...], tuple[PlanProblem, ...]]:
    """Add partitions that are declared and missing."""
    steps, problems = [], []
    for name, home in scope.homes.items():
        spec, found = home.spec, len(cluster.topics[name].partitions)
        wanted = spec.declared_partitions if spec else None
        if spec is None or wanted is None or wanted == found:
            continue
        try:
            if home.role is TopicRole.UNTOUCHED:
                raise _Refusal(TopicUntouched())
            existing = [p.replicas for p in cluster.topics[name].partitions]
            lists = _added_lists(spec, scope.pools[spec.pool], existing, counts)
        except _Refusal as why:
            facts = NotExtended(found, wanted, why.facts)
            problems.append(PlanProblem(spec.pool, why.law, facts, name))
            continue
        steps.append(AddPartitions(name, found, lists, f"partitions {found} → {wanted}"))
    return tuple(steps), tuple(problems)


def _new_lists(
    spec: TopicSpec, pool: ResourcePoolSpec, counts: PlacementCounts
) -> tuple[Replicas, ...]:
    if said := topic_name_problem(spec.topic) or ownership_problem(spec.topic):
        raise _Refusal(IllegalName(said))
    if refused := counts.configs.refusal(spec.topic, spec.config, {}):
        raise _Refusal(refused, "config")
    partitions = spec.declared_partitions or pool.defaults.partitions
    if partitions is None:
        raise _Refusal(PartitionsUndeclared(pool.name))
    if exceeded := counts.quotas.refusal(spec, topics=1, partitions=partitions):
        raise _Refusal(exceeded, "quotas")
    usable = counts.usable[pool.name]
    if spec.strategy is Strategy.MANUAL:
        _check_size(spec.manual or ())
        lists = _manual_lists(spec, usable, 0, counts.by_broker)
    else:
        factor = spec.replication_factor or pool.defaults.replication_factor
        if factor is None:
            raise _Refusal(FactorUndeclared(pool.name))
        _check_size((), partitions, factor, usable.racks)
        _check_brokers(usable, pool.name, factor)
        lists = _automatic_lists(spec, usable, partitions, factor, (), counts.by_broker)
    _check_room(counts, spec.pool, lists)
    counts.quotas.add(spec, topics=1, partitions=partitions)
    counts.by_broker.add(lists)
    return lists


def _added_lists(
    spec: TopicSpec, pool: ResourcePoolSpec, existing: list[Replicas], counts: PlacementCounts
) -> tuple[Replicas, ...]:
    wanted = spec.declared_partitions or 0
    added = wanted - len(existing)
    if added < 0:
        raise _Refusal(NeverShrinks())
    if is_internal(spec.topic):
        raise _Refusal(InternalTopic())
    if spec.keyed and spec.accept_key_remap_to != wanted:
        raise _Refusal(KeyedTopic(len(existing), wanted))
    if exceeded := counts.quotas.refusal(spec, topics=0, partitions=added):
        raise _Refusal(exceeded, "quotas")
    usable = counts.usable[spec.pool]
    if spec.strategy is Strategy.MANUAL:
        _check_size((*existing, *(spec.manual or ())[len(existing) :]))
        lists = _manual_lists(spec, usable, len(existing), counts.by_broker)
    else:
        # A topic without any partition is one that somebody has made by hand.
        of_pool = pool.defaults.replication_factor
        factor = spec.replication_factor or (len(existing[0]) if existing else of_pool)
        if factor is None:
            raise _Refusal(FactorUndeclared(pool.name))
        _check_size(existing, added, factor, usable.racks)
        _check_brokers(usable, spec.pool, factor)
        lists = _automatic_lists(spec, usable, added, factor, existing, counts.by_broker)
    _check_room(counts, spec.pool, lists)
    counts.quotas.add(spec, topics=0, partitions=added)
    counts.by_broker.add(lists)
    return lists


def _automatic_lists(
    spec: TopicSpec,
    usable: EligibleBrokers,
    partitions: int,
    factor: int,
    existing: Collection[Replicas],
    replicas: ReplicaCounts,
) -> tuple[Replicas, ...]:
    if spec.strategy is Strategy.KAFKA:
        old = list(existing)
        # Kafka takes the replication factor of partition 0. If a declared one differs, moves change
        # the factor of all partitions, the new ones included.
        if old and len(old[0]) == factor:
            return added_kafka_lists(usable, old, len(old) + partitions)
        if not old:
            return kafka_lists(usable, spec.topic, partitions, factor)
    topic = ReplicaCounts()
    topic.add(existing)
    lists = balanced_lists(usable, partitions, factor, replicas.copy(), topic)
    if lists is None:
        raise _Refusal(_no_room(usable, partitions, factor, replicas), "capacity")
    return lists


def _no_room(
    usable: EligibleBrokers, partitions: int, factor: int, replicas: ReplicaCounts
) -> Facts:
    """Which brokers have no room for their part of the new replicas."""
    brokers = tuple(
        BrokerCapacity(
            Member(broker, rack or ""), usable.caps.get(broker), replicas.replicas[broker]
        )
        for broker, rack in sorted(usable.racks.items())
    )
    for by_racks in (False, True):
        found = overflow(CapacityDemand({factor: partitions}, brokers, by_racks=by_racks))
        if found is not None:
            fields = usable.fields_bounding(found.brokers)
            return BrokersFull(found.brokers, found.wanted, found.room, fields, even=by_racks)
    return NoRoomBetween(usable.fields_bounding(usable.racks))


def _manual_lists(
    spec: TopicSpec, usable: EligibleBrokers, first: int, replicas: ReplicaCounts
) -> tuple[Replicas, ...]:
    lists = (spec.assignment or ())[first:]
    absent = sorted({broker for replicas in lists for broker in replicas} - set(usable.racks))
    if absent:
        raise _Refusal(AssignedElsewhere(spec.pool, tuple(absent)), "pool")
    if any(len(set(replicas)) < len(replicas) or not replicas for replicas in lists):
        raise _Refusal(InvalidAssignment(), "distinct")
    return lists


def _check_size(
    lists: Collection[Replicas], more: int = 0, factor: int = 0, usable: Collection[int] = ()
) -> None:
    """Refuse a topic that is too large: these lists, and `more` on usable brokers."""
    partitions = len(lists) + more
    longest = max(map(len, lists), default=factor)
    brokers = {broker for replicas in lists for broker in replicas}.union(usable)
    most = topic_size.partitions_max(max(longest, factor), brokers)
    if partitions > most:
        raise _Refusal(TopicTooLarge(partitions, most))


def _check_brokers(usable: EligibleBrokers, pool: str, factor: int) -> None:
    if factor > len(usable.racks):
        raise _Refusal(FewerBrokers(pool, factor, tuple(sorted(usable.racks))), "distinct")


def _check_room(counts: PlacementCounts, pool: str, lists: Collection[Replicas]) -> None:
    """Refuse lists that put a broker above its cap of replicas, or the pool beyond its headroom."""
    after = counts.by_broker.copy()
    after.add(lists)
    usable = counts.usable[pool]
    caps = usable.caps
    full = sorted(b for b, cap in caps.items() if after.replicas[b] > max(cap, 0))
    grown = [b for b in full if after.replicas[b] > counts.by_broker.replicas[b]]
    if grown:
        broker = grown[0]
        fields = usable.fields_bounding([broker])
        held = after.replicas[broker]
        raise _Refusal(BrokersFull((broker,), held, caps[broker], fields), "capacity")
    if beyond := counts.quotas.headroom_refusal(pool, after.replicas):
        raise _Refusal(beyond, "capacity")
