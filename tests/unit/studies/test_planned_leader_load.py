"""What is written to leaders, before a plan and after it."""

import pytest

from builders import cluster, move, partition, plan, topic
from poolkeeper.model.plans import AddPartitions, Plan
from poolkeeper.studies.planned_leader_load import planned_leader_loads

RATED = topic("t", (1, 2), (2, 1), in_bytes_per_s=100.0)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(plan(), [(1, 100.0, 100.0), (2, 100.0, 100.0)], id="nothing changes"),
        pytest.param(
            plan(move("t", 0, (1, 2), (3, 2))),
            [(1, 100.0, 0.0), (2, 100.0, 100.0), (3, 0.0, 100.0)],
            id="a leader moves",
        ),
        pytest.param(
            plan(steps=(AddPartitions("t", 2, ((3, 1), (3, 2)), ""),)),
            [(1, 100.0, 50.0), (2, 100.0, 50.0), (3, 0.0, 100.0)],
            id="partitions are added, the load stays",
        ),
    ],
)
def test_the_load_of_leaders(made: Plan, expected: list[tuple[int, float, float]]) -> None:
    seen = cluster((1, 2, 3), RATED, topic("unknown", (1, 2)))
    assert [tuple(each) for each in planned_leader_loads(made, seen)] == expected


def test_preferred_replicas_lead_then() -> None:
    led_by_2 = partition(0, 1, 2, leader=2, in_bytes_per_s=7.0)
    loads = planned_leader_loads(plan(), cluster((1, 2), topic("t", led_by_2)))
    assert [tuple(each) for each in loads] == [(1, 0.0, 7.0), (2, 7.0, 0.0)]


def test_a_topic_with_an_unknown_rate_does_not_count() -> None:
    half = topic("t", partition(0, 1, in_bytes_per_s=7.0), (1,))
    assert planned_leader_loads(plan(), cluster((1, 2), half)) == ()
