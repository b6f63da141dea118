"""Small random clusters with everything that can be wrong with them, for laws of the planner."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from builders import cluster_spec, pool_spec, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Plan
from poolkeeper.model.problems import Recorded
from poolkeeper.model.specs import (
    Balancing,
    Capacity,
    Execution,
    Goal,
    GoalKind,
    ReplicasAtATime,
    ResourcePoolSpec,
    Strategy,
    TopicDefaults,
    TopicSpec,
    UnmanagedTopics,
)
from poolkeeper.model.topology import Broker, Cluster, Partition, Replicas, Topic

MIB = 1024**2
_SIZES = (0, 1, 5, 100)
GOALS = (
    (Goal(GoalKind.REPLICAS, percent=5.0), Goal(GoalKind.LEADERS, percent=5.0)),
    (Goal(GoalKind.REPLICAS, count=1), Goal(GoalKind.LEADERS, count=1)),
    (Goal(GoalKind.REPLICAS, percent=40.0), Goal(GoalKind.LEADERS, count=3)),
    (Goal(GoalKind.LEADERS, count=1),),
    (Goal(GoalKind.REPLICAS, percent=20.0), Goal(GoalKind.BYTES, percent=30.0)),
    (
        Goal(GoalKind.REPLICAS, count=1),
        Goal(GoalKind.TOPIC_REPLICAS, count=1),
        Goal(GoalKind.BYTES_IN, percent=20.0),
        Goal(GoalKind.LEADERS, percent=5.0),
    ),
    (Goal(GoalKind.BYTES, percent=40.0), Goal(GoalKind.REPLICAS, count=2)),
    (Goal(GoalKind.TOPIC_REPLICAS, count=2), Goal(GoalKind.BYTES, percent=10.0)),
    (),
)


STRATEGIES = (Strategy.BALANCED,) * 4 + (Strategy.KAFKA, Strategy.MANUAL)


@st.composite
def instances(
    draw: st.DrawFn, *, sick: bool = True, strategies: tuple[Strategy, ...] = STRATEGIES
) -> tuple[Desired, Cluster, frozenset[int]]:
    """What is declared, what is observed, and which brokers are gone."""
    known = list(range(1, draw(st.integers(2, 9)) + 1))
    live = [b for b in known if not sick or draw(st.integers(0, 6)) > 0] or known[:1]
    with_racks = draw(st.sampled_from(["all", "none", "some"] if sick else ["all", "none"]))
    racks = draw(st.integers(1, 4))
    brokers = {}
    for broker in live:
        has = with_racks == "all" or (with_racks == "some" and draw(st.booleans()))
        brokers[broker] = Broker(broker, rack="abcd"[broker % racks] if has else None)
    pools = draw(_pools(known))
    gone = frozenset(b for b in known if b not in live and draw(st.booleans()))
    topics = {}
    sizes = draw(st.sampled_from([_SIZES, _SIZES, (*_SIZES, None), (None,)]))
    for number in range(draw(st.integers(1, 5))):
        topic = draw(_topic(f"t{number}", known, sick, sizes))
        topics[topic.name] = topic
    specs = tuple(
        draw(_spec(name, pools, strategies))
        for name in [*topics, "new.1", "new.2"]
        if draw(st.booleans())
    )
    cluster = cluster_spec(
        balancing=Balancing(
            enabled=draw(st.integers(0, 5)) > 0,
            min_gain_percent=draw(st.sampled_from([0.0, 0.0, 0.0, 30.0])),
        ),
        execution=Execution(replicas_at_a_time=draw(st.sampled_from(ReplicasAtATime))),
        unmanaged_topics=draw(st.sampled_from(UnmanagedTopics)),
        default_pool=pools[0].name,
    )
    return Desired(cluster, pools, specs), Cluster("main", brokers, topics, id="c1"), gone


@st.composite
def _pools(draw: st.DrawFn, known: list[int]) -> tuple[ResourcePoolSpec, ...]:
    count = draw(st.integers(1, min(2, len(known))))
    cut = draw(st.integers(1, len(known) - 1)) if count == 2 else len(known)
    pools = []
    for name, ids in zip(("fast", "slow"), (known[:cut], known[cut:]), strict=True):
        if not ids:
            continue
        weights = {b: draw(st.sampled_from([1.0, 1.0, 1.0, 2.0])) for b in ids}
        cap = draw(st.sampled_from([None, None, None, 6, 12]))
        disk = draw(st.sampled_from([None, None, 200, 600]))
        pools.append(
            pool_spec(
                name,
                *ids,
                drain=frozenset(draw(st.sets(st.sampled_from(ids), max_size=1))),
                demote=frozenset(draw(st.sets(st.sampled_from(ids), max_size=1))),
                capacity_of={
                    b: Capacity(w, disk * MIB if disk else None, cap) for b, w in weights.items()
                },
                goals=draw(st.sampled_from(GOALS)),
                defaults=TopicDefaults(3, 2),
            )
        )
    return tuple(pools)


@st.composite
def _topic(
    draw: st.DrawFn, name: str, known: list[int], sick: bool, sizes: tuple[int | None, ...]
) -> Topic:
    usual = draw(st.integers(1, min(4, len(known))))
    partitions = []
    for number in range(draw(st.integers(1, 8))):
        size = usual
        if sick and draw(st.integers(0, 9)) == 0:
            size = draw(st.integers(1, min(4, len(known))))
        replicas = tuple(draw(st.permutations(known))[:size])
        if sick and size > 1 and draw(st.integers(0, 30)) == 0:
            replicas = (replicas[0], *replicas[:-1])
        mib = draw(st.sampled_from(sizes))
        partitions.append(
            Partition(
                number,
                replicas,
                leader=replicas[0],
                isr=replicas,
                size_bytes=None if mib is None else mib * MIB,
                in_bytes_per_s=draw(st.sampled_from([None, 0.0, 5e3, 1e6])),
            )
        )
    return Topic(name, tuple(partitions), config={})


@st.composite
def _spec(
    draw: st.DrawFn,
    name: str,
    pools: tuple[ResourcePoolSpec, ...],
    strategies: tuple[Strategy, ...],
) -> TopicSpec:
    pool = draw(st.sampled_from(pools))
    strategy = draw(st.sampled_from(strategies))
    paused = draw(st.integers(0, 9)) == 0
    if strategy is Strategy.MANUAL:
        lists = draw(_assignments(pool.brokers))
        return topic_spec(name, pool.name, strategy=strategy, assignment=lists, paused=paused)
    return topic_spec(
        name,
        pool.name,
        partitions=draw(st.sampled_from([None, None, 4, 9])),
        replication_factor=draw(st.sampled_from([None, None, 1, 2, 3, 4])),
        strategy=strategy,
        paused=paused,
    )


@st.composite
def _assignments(draw: st.DrawFn, brokers: Sequence[int]) -> tuple[Replicas, ...]:
    """Lists of distinct brokers of the pool, often the same ones over and over."""
    lists = st.lists(st.sampled_from(brokers), min_size=1, max_size=4, unique=True).map(tuple)
    some = draw(st.lists(lists, min_size=1, max_size=3))
    return tuple(draw(st.lists(st.sampled_from(some), min_size=1, max_size=9)))


def as_told(plan: Plan) -> Plan:
    """The plan as a document tells of it: of problems the sentences and the reasons."""
    problems = (replace(p, facts=Recorded(p.message, p.reason)) for p in plan.problems)
    return replace(plan, problems=tuple(problems))


def after(plan: Plan, cluster: Cluster) -> Cluster:
    """The cluster once the whole plan is executed: preferred leaders lead, all is in sync.

    New partitions are empty, and known to be if that is known of those beside them.
    """
    everything = (p for topic in cluster.topics.values() for p in topic.partitions)
    sized = any(p.size_bytes is not None for p in everything)
    targets = {(move.topic, move.partition): move.target for move in plan.moves}
    topics = {}
    for name, topic in cluster.topics.items():
        partitions = [
            p._replace(replicas=targets.get((name, p.partition), p.replicas))
            for p in topic.partitions
        ]
        topics[name] = replace(topic, partitions=tuple(map(_led, partitions)))
    for step in plan.steps:
        if isinstance(step, CreateTopic):
            made = enumerate(step.replicas)
            fresh = [_new(n, replicas, sized=sized, rated=True) for n, replicas in made]
            topics[step.topic] = Topic(
                step.topic, tuple(map(_led, fresh)), config=dict(step.config)
            )
        elif isinstance(step, AddPartitions):
            old = topics[step.topic]
            made = enumerate(step.replicas, step.first)
            known = all(p.size_bytes is not None for p in old.partitions)
            rated = all(p.in_bytes_per_s is not None for p in old.partitions)
            fresh = [_new(n, replicas, sized=known, rated=rated) for n, replicas in made]
            grown = (*old.partitions, *map(_led, fresh))
            topics[step.topic] = replace(old, partitions=grown)
        elif isinstance(step, DeleteTopic):
            del topics[step.topic]
    return replace(cluster, topics=topics)


def _new(number: int, replicas: tuple[int, ...], *, sized: bool, rated: bool) -> Partition:
    size, rate = 0 if sized else None, 0.0 if rated else None
    return Partition(number, replicas, size_bytes=size, in_bytes_per_s=rate)


def _led(partition: Partition) -> Partition:
    return partition._replace(leader=partition.replicas[0], isr=partition.replicas)
