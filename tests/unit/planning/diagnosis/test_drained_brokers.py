"""Who drains a broker is told what stays on it, whoever may not move it."""

import pytest

from builders import cluster, desired, pool_spec, topic, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.topology import Topic
from poolkeeper.planning.planner import make_plan

BROKERS = {id_: "" for id_ in (1, 2, 3)}
DRAINED = pool_spec("p", 1, 2, 3, drain=frozenset({2, 3}))
ON_3, ON_1 = topic("a", (3,), (1,)), topic("b", (1,))


def told(wanted: Desired, *topics: Topic) -> list[tuple[str, str]]:
    """By pool, what a plan says of brokers that are not emptied."""
    plan = make_plan(wanted, cluster(BROKERS, *topics))
    found = [each for each in plan.problems if each.reason == "BrokerNotEmptied"]
    return [(each.pool, each.message) for each in found]


PAUSED = topic_spec("a", paused=True)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (desired(DRAINED, PAUSED), "broker 3 is drained and keeps 1 replica: topic a is paused"),
        (
            desired(DRAINED),
            "broker 3 is drained and keeps 1 replica: topic a is not managed (declare what shall"
            " leave, or set spec.unmanagedTopics of the KafkaCluster)",
        ),
    ],
    ids=["paused", "nobody's"],
)
def test_what_stays_is_told(wanted: Desired, said: str) -> None:
    assert told(wanted, ON_3, ON_1) == [("p", said)]


def test_several_brokers_and_reasons_are_one_problem() -> None:
    on_2 = topic("u", (2,), (2,))
    assert told(desired(DRAINED, PAUSED), ON_3, on_2) == [
        (
            "p",
            "brokers 2, 3 are drained and keep 3 replicas: topic a is paused; topic u is not"
            " managed (declare what shall leave, or set spec.unmanagedTopics of the KafkaCluster)",
        )
    ]


def test_nothing_is_told_of_what_leaves_or_of_brokers_that_are_not_drained() -> None:
    assert told(desired(DRAINED, topic_spec("a")), ON_3) == []
    assert told(desired(DRAINED, PAUSED), ON_1) == []
    assert told(desired(pool_spec("p", 1, 2, 3), PAUSED), ON_3) == []
