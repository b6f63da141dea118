"""Counts of topics by the short network against those by the network that knows every tier."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.planning.constraints.bands import band
from poolkeeper.planning.goals.topic_counts import TopicCounts, replicas_by_topic, topic_bands
from poolkeeper.planning.goals.topic_targets import target_counts
from poolkeeper.planning.problem.arrays import index_brokers
from poolkeeper.planning.problem.partitions import lists_of, table_of
from poolkeeper.planning.problem.pool_membership import TopicHome, TopicRole
from poolkeeper.planning.problem.pool_problem import PoolProblem, pool_problem
from unit.planning.test_goals import cluster, desired

GOALS = (Goal(GoalKind.TOPIC_REPLICAS, count=1),)
Lists = list[tuple[tuple[int, ...], int]]


def problem_of(brokers: int, topics: list[Lists]) -> PoolProblem:
    seen = cluster(brokers, *topics)
    wanted = desired(seen, GOALS)
    table = table_of(seen)
    index = index_brokers(seen, wanted, Records(), frozenset(), table.replicas.ids)
    homes = {name: TopicHome(TopicRole.PLACED, "p") for name in seen.topics}
    (pool,) = wanted.pools
    return pool_problem(pool, homes, lists_of(table, index))


@st.composite
def problems(draw: st.DrawFn) -> PoolProblem:
    brokers = draw(st.integers(2, 6))
    replicas = st.lists(st.integers(1, brokers), unique=True, min_size=1, max_size=2)
    row = st.tuples(replicas.map(tuple), st.sampled_from([1, 2, 5, 50]))
    return problem_of(brokers, draw(st.lists(st.lists(row, min_size=1, max_size=7), max_size=5)))


def targets(problem: PoolProblem, *, all_sizes: bool) -> tuple[np.ndarray, TopicCounts, np.ndarray]:
    lists = problem.lists
    share = np.full(len(problem.brokers), (lists >= 0).sum() / len(problem.brokers))
    _, topics = topic_bands(problem, lists, share, GOALS[0])
    counts = band(share, Goal(GoalKind.REPLICAS, count=1))
    found = target_counts(problem, lists, lists >= 0, topics, counts, all_sizes=all_sizes)
    return found, topics, counts.outside(found.sum(axis=0))


@pytest.mark.slow
@given(problems().filter(len))
@examples(100)
def test_the_short_network_leaves_no_more_outside_and_moves_no_more(problem: PoolProblem) -> None:
    before = replicas_by_topic(problem, problem.lists)
    told = []
    for all_sizes in (False, True):
        found, topics, outside = targets(problem, all_sizes=all_sizes)
        assert (found.sum(axis=1) == before.sum(axis=1)).all()
        bands = TopicCounts(found, topics.low, topics.high).outside()
        told.append((np.abs(outside).sum(), bands, np.maximum(found - before, 0).sum()))
    assert told[0] == told[1]


@pytest.mark.parametrize("large", [0, 1], ids=["first", "second"])
def test_of_two_topics_the_one_with_the_smaller_replica_gives(large: int) -> None:
    # Broker 1 has one replica too many, of one topic or of the other.
    sizes = [50, 1] if large == 0 else [1, 50]
    topics = [[((1,), size)] for size in sizes] + [[((2,), 1)]]
    found, _, outside = targets(problem_of(3, topics), all_sizes=False)
    assert not outside.any()
    assert found[large].tolist() == [1, 0, 0]
    assert found[1 - large].tolist() == [0, 0, 1]
