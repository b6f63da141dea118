"""The plans of a cluster's parts, put together, are the plan of the whole: to the byte."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, cluster_spec, desired, pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.fleet.stages import plan_parts
from poolkeeper.model.desired import Desired, WatchedNamespaces
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import (
    Capacity,
    ClusterLimits,
    LimitPolicy,
    Quotas,
    Strategy,
    TopicSpec,
    UnmanagedTopics,
)
from poolkeeper.model.topology import Broker, Cluster, Partition, ReassignmentEntry, Topic
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.problem.partitions import table_of
from poolkeeper.planning.proposals import plan_json
from unit.planning.instances import GOALS

NAMES = ("a", "b", "c", "d")
OF_POOL = 4
RECORDS = Records()


def assert_parts_give_the_whole(
    desired: Desired, cluster: Cluster, gone: frozenset[int] = frozenset()
) -> tuple[plan_parts.PlanPart, ...]:
    found = plan_parts.parts(desired, cluster, RECORDS, table_of(cluster))
    if len(found) > 1:
        plans = [plan_parts.plan_of_part(part, desired, cluster, RECORDS, gone) for part in found]
        whole = make_plan(desired, cluster, RECORDS, gone)
        together = plan_parts.merge_plans(
            plans, desired, cluster, RECORDS, gone, held_after(whole, cluster)
        )
        assert plan_json.to_json(together) == plan_json.to_json(whole)
    return found


def held_after(plan: Plan, cluster: Cluster) -> dict[int, int]:
    targets = {(move.topic, move.partition): move.target for move in plan.moves}
    lists = [
        targets.get((t.name, p.partition), p.replicas)
        for t in cluster.topics.values()
        for p in t.partitions
    ]
    lists += [r for step in plan.steps for r in getattr(step, "replicas", ())]
    held: dict[int, int] = {}
    for replicas in lists:
        for broker in set(replicas):
            held[broker] = held.get(broker, 0) + 1
    return held


@st.composite
def separable(draw: st.DrawFn) -> tuple[Desired, Cluster, frozenset[int]]:
    """Several pools, most of whose topics stay inside; some stray, some belong to nobody."""
    count = draw(st.integers(2, 4))
    known = list(range(1, count * OF_POOL + 1))
    own = {name: known[i * OF_POOL : (i + 1) * OF_POOL] for i, name in enumerate(NAMES[:count])}
    dead = draw(st.sets(st.sampled_from(known), max_size=1))
    live = {b: Broker(b, rack="xyz"[b % 3]) for b in known if b not in dead}
    policy = draw(st.sampled_from(UnmanagedTopics))
    pools = tuple(
        pool_spec(
            name,
            *ids,
            drain=frozenset(draw(st.sets(st.sampled_from(ids), max_size=1))),
            capacity=Capacity(replicas=draw(st.sampled_from([None, None, 8]))),
            quotas=draw(st.sampled_from([None, Quotas(topics=1)])),
            claims=(rf"{name}\..*", *(["both.*"] if draw(st.integers(0, 4)) == 0 else [])),
            goals=draw(st.sampled_from(GOALS)),
        )
        for name, ids in own.items()
    )
    topics, specs = {}, []
    for number in range(draw(st.integers(2, 8))):
        pool = draw(st.sampled_from(NAMES[:count]))
        kind = draw(st.sampled_from(["claimed", "declared", "declared", "nobody", "both"]))
        name = {"claimed": f"{pool}.{number}", "both": f"both{number}"}.get(kind, f"t{number}")
        anywhere = draw(st.integers(0, 5)) == 0
        topic = draw(_topic(name, known if anywhere else own[pool]))
        topics[name] = topic
        if kind == "declared":
            more = draw(st.sampled_from([None, None, len(topic.partitions) + 2]))
            specs.append(
                topic_spec(
                    name,
                    pool,
                    partitions=more,
                    replication_factor=draw(st.sampled_from([None, None, 2, 3])),
                    config=draw(st.sampled_from([{}, {"retention.ms": "1"}])),
                    strategy=draw(st.sampled_from([Strategy.BALANCED, Strategy.KAFKA])),
                    paused=draw(st.integers(0, 9)) == 0,
                )
            )
    spec = cluster_spec(
        unmanaged_topics=policy,
        default_pool="a",
        limits=ClusterLimits(partitions=draw(st.sampled_from([10, 1000])), replicas_per_broker=6),
    )
    busy = tuple(
        ReassignmentEntry(name, 0, (1, 2)) for name in topics if draw(st.integers(0, 9)) == 0
    )
    cluster = Cluster("main", live, topics, id="c", reassignment=busy)
    return Desired(spec, pools, tuple(specs)), cluster, frozenset(dead)


@st.composite
def _topic(draw: st.DrawFn, name: str, brokers: list[int]) -> Topic:
    factor = draw(st.integers(1, 3))
    partitions = []
    for number in range(draw(st.integers(1, 5))):
        replicas = tuple(draw(st.permutations(brokers))[:factor])
        partitions.append(
            Partition(
                number,
                replicas,
                leader=draw(st.sampled_from(replicas)),
                isr=replicas,
                size_bytes=draw(st.sampled_from([0, 1, 50])) << 20,
            )
        )
    return Topic(name, tuple(partitions), config={})


@examples(12)
@given(separable())
def test_parts_give_the_whole(instance) -> None:
    assert_parts_give_the_whole(*instance)


def two(*topics: Topic, **said: object) -> tuple[Desired, Cluster]:
    """Pools `a` (brokers 1, 2) and `b` (3, 4)."""
    pools = (
        pool_spec("a", 1, 2, claims=(r"a\..*",)),
        pool_spec("b", 3, 4, claims=(r"b\..*",)),
    )
    return desired(pools, **said), cluster((1, 2, 3, 4), *topics)


IN_A, IN_B, ACROSS = topic("a.1", (1, 2)), topic("b.1", (3, 4)), topic("u", (2, 3))
ENFORCED = ClusterLimits(policy=LimitPolicy.ENFORCE)
DECLARED = TopicSpec("n", "shop", "a.1", "a")


@pytest.mark.parametrize(
    ("case", "pools"),
    [
        pytest.param(two(IN_A, IN_B), [("a",), ("b",)], id="nothing-in-common"),
        pytest.param(two(IN_A, IN_B, ACROSS), [("a",), ("b",)], id="load-in-both-that-stays"),
        pytest.param(two(IN_A, topic("b.1", (1, 3))), [("a", "b")], id="a-stray-replica"),
        pytest.param(
            two(ACROSS, unmanaged_topics=UnmanagedTopics.EVACUATE_ONLY),
            [("a", "b")],
            id="an-unmanaged-topic-that-may-evacuate-both",
        ),
        pytest.param(two(IN_A, IN_B, limits=ENFORCED), [("a", "b")], id="an-enforced-limit"),
    ],
)
def test_what_ties_pools_together(case, pools) -> None:
    found = assert_parts_give_the_whole(*case)
    assert [part.pools for part in found] == pools


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param([replace(DECLARED, topic="new", partitions=1)], id="to-be-created"),
        pytest.param([DECLARED, replace(DECLARED, name="m")], id="declared-twice"),
        pytest.param([replace(DECLARED, pool="ghost")], id="in-no-pool"),
    ],
)
def test_topics_that_count_across_pools_keep_a_cluster_whole(specs) -> None:
    desired, cluster = two(IN_A, IN_B)
    found = assert_parts_give_the_whole(replace(desired, topics=tuple(specs)), cluster)
    assert [part.pools for part in found] == [("a", "b")]


@pytest.mark.parametrize("names", [(), ("shop",)])
def test_owners_that_are_not_seen_keep_a_cluster_whole(names) -> None:
    desired, cluster = two(IN_A, IN_B)
    desired = replace(desired, watched=WatchedNamespaces(frozenset(names)))
    found = assert_parts_give_the_whole(desired, cluster)
    assert [part.pools for part in found] == ([("a", "b")] if names else [("a",), ("b",)])


def test_what_belongs_to_no_pool_is_load_in_every_part_that_it_touches() -> None:
    found = assert_parts_give_the_whole(*two(IN_A, IN_B, ACROSS, topic("nowhere", (9,))))
    assert [part.topics for part in found] == [("a.1", "nowhere", "u"), ("b.1", "u")]


def test_what_is_lost_of_topics_of_no_pool_is_counted_once_for_all_parts() -> None:
    in_both = Topic("u", (Partition(0, (1,)), Partition(1, (3,))))
    desired, cluster = two(IN_A, IN_B, in_both, topic("v", (1,)))
    live = {id_: broker for id_, broker in cluster.brokers.items() if id_ != 1}
    found = assert_parts_give_the_whole(desired, replace(cluster, brokers=live), frozenset({1}))
    assert [part.topics for part in found] == [("a.1", "u", "v"), ("b.1", "u")]
