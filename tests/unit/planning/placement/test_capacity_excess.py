"""Where a pool can keep neither its caps nor the cluster's enforced limit, caps rank higher."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, desired, pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import Capacity, ClusterLimits, Goal, GoalKind, LimitPolicy
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import make_plan
from unit.planning.instances import after

REPLICAS = Goal(GoalKind.REPLICAS, count=1)
TOPICS = Goal(GoalKind.TOPIC_REPLICAS, count=1)
BYTES = Goal(GoalKind.BYTES, percent=5.0)
GOALS = ((), (REPLICAS,), (TOPICS,), (TOPICS, REPLICAS), (BYTES, REPLICAS))


def crowded(
    held: list[list[int]], caps: dict[int, int], limit: int, goals: tuple[Goal, ...]
) -> tuple[Desired, Cluster]:
    """What is declared for topics of one replica a partition, and where these are.

    `held`: by topic, the broker of each partition. `limit`: enforced, of each broker.
    """
    brokers = sorted({1, 2, 3, *caps})
    capacity = {broker: Capacity(replicas=cap) for broker, cap in caps.items()}
    names = [f"t{number}" for number in range(len(held))]
    wanted = desired(
        pool_spec("p", *brokers, capacity_of=capacity, goals=goals),
        *map(topic_spec, names),
        limits=ClusterLimits(replicas_per_broker=limit, policy=LimitPolicy.ENFORCE),
    )
    lists = [[(broker,) for broker in row] for row in held]
    topics = [topic(name, *row) for name, row in zip(names, lists, strict=True)]
    return wanted, cluster(brokers, *topics)


def replicas_after(wanted: Desired, seen: Cluster) -> Counter[int]:
    plan = make_plan(wanted, seen)
    assert check_plan(plan, wanted, seen, Records(), frozenset()) == ()
    reached = after(plan, seen)
    assert make_plan(wanted, reached).moves == ()
    lists = (part.replicas for each in reached.topics.values() for part in each.partitions)
    return Counter(broker for replicas in lists for broker in replicas)


@pytest.mark.parametrize("goals", GOALS)
def test_nothing_goes_beyond_a_cap_for_the_limit(goals: tuple[Goal, ...]) -> None:
    held = [[1] * 6, [2] * 6, [3] * 5]
    assert replicas_after(*crowded(held, {3: 5}, 4, goals))[3] == 5


def test_what_is_beyond_a_cap_goes_where_only_the_limit_is_exceeded() -> None:
    held = [[1] * 5, [2] * 5, [3] * 7]
    assert replicas_after(*crowded(held, {3: 5}, 4, (REPLICAS,)))[3] == 5


def test_the_limit_counts_between_brokers_beyond_their_caps() -> None:
    held = [[1] * 6, [2] * 3, [3] * 3]
    found = replicas_after(*crowded(held, {1: 1, 2: 1, 3: 1}, 4, (REPLICAS,)))
    assert found == {1: 4, 2: 4, 3: 4}


@examples(9)
@given(
    st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=8), min_size=1, max_size=3),
    st.dictionaries(st.integers(1, 3), st.integers(0, 6)),
    st.integers(1, 6),
    st.sampled_from(GOALS),
)
def test_plans_of_pools_beyond_caps_and_limits_are_lawful(
    held: list[list[int]], caps: dict[int, int], limit: int, goals: tuple[Goal, ...]
) -> None:
    replicas_after(*crowded(held, caps, limit, goals))
