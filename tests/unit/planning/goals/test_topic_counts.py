"""Bands of many topics are those of each by itself, and take no more memory than they must."""

import tracemalloc

import numpy as np
import pytest

from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.planning.constraints.bands import band
from poolkeeper.planning.goals import topic_counts
from poolkeeper.planning.goals.topic_counts import TopicCounts, topic_bands
from unit.planning.goals.test_topic_targets import problem_of

BROKERS = 20
KINDS = [[((1, 2), 1)], [((1,), 1)] * 3, [((3, 4, 5), 1)] * 50, [((1, 2), 1)]]


@pytest.mark.parametrize(
    "goal",
    [
        Goal(GoalKind.TOPIC_REPLICAS, count=1),
        Goal(GoalKind.TOPIC_REPLICAS, count=3),
        Goal(GoalKind.TOPIC_REPLICAS, percent=40.0),
    ],
    ids=["one", "three", "percent"],
)
def test_topics_have_the_bands_that_each_would_have_by_itself(goal: Goal) -> None:
    problem = problem_of(BROKERS, KINDS)
    share = np.linspace(1, 3, BROKERS)
    found = topic_bands(problem, problem.lists, share, goal)
    for number, lists in enumerate(KINDS):
        total = sum(len(replicas) for replicas, _ in lists)
        own = np.minimum(total * share / share.sum(), len(lists))
        for counts, half in zip(found, (False, True), strict=True):
            alone = band(own, goal, half=half)
            assert (counts.low[number] == np.minimum(alone.low, len(lists))).all()
            assert (counts.high[number] == alone.high).all()


def test_bands_of_thousands_of_topics_take_little_more_than_their_tables() -> None:
    """The counts twice, as one of them changes, and the two ends of bands: four tables."""
    problem = problem_of(BROKERS, [[((1 + n % BROKERS,), 1)] for n in range(2000)])
    table_bytes = 8 * 2000 * BROKERS
    goal = Goal(GoalKind.TOPIC_REPLICAS, count=1)
    tracemalloc.start()
    try:
        wide, narrow = topic_bands(problem, problem.lists, np.ones(BROKERS), goal)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert wide.low.shape == narrow.high.shape == (2000, BROKERS)
    assert most_bytes < 5 * table_bytes


def test_what_is_outside_is_counted_over_all_parts_of_a_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(topic_counts, "_CELLS", 4)
    replicas = np.array([[0, 5, 2], [1, 1, 9], [3, 0, 0], [2, 2, 2]])
    counts = TopicCounts(replicas, np.full((4, 3), 1), np.full((4, 3), 3))
    assert counts.sides_outside() == (2 + 6, 1 + 2)
    assert counts.outside() == 11


@pytest.mark.parametrize(
    ("topics", "count", "binds"),
    [
        pytest.param([[((1,), 1)], [((2, 3), 1)]], 1, False, id="one-partition-is-anywhere"),
        pytest.param([[((1,), 1)] * 2, [((2, 3), 1)]], 1, True, id="of-two-one-is-the-most"),
        pytest.param([[((1,), 1)] * 2, [((2, 3), 1)]], 5, False, id="a-band-as-wide-as-any-count"),
        pytest.param([[((1, 2), 1)] * 20], 3, True, id="each-broker-lacks-some"),
    ],
)
def test_whether_a_broker_could_leave_a_band(topics, count, binds) -> None:
    problem = problem_of(3, topics)
    goal = Goal(GoalKind.TOPIC_REPLICAS, count=count)
    wide, _ = topic_bands(problem, problem.lists, np.ones(3), goal)
    assert wide.binds(problem) is binds
