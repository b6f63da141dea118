"""A plan of a file against a cluster that is no longer as it was when the plan was made."""

import pytest

from builders import cluster, desired, move, plan, pool_spec, topic, topic_spec
from poolkeeper.cli.commands.plans import reviewed_plan
from poolkeeper.errors import Refused, StalePlan
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import CreateTopic, Plan
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import Cluster, Replicas, Topic
from poolkeeper.reconcile.observe.observation import Observation

NEW = topic("new", (3, 4))
DECLARED = desired(
    (pool_spec("old", 1, 2), pool_spec("p", 3, 4, 5)),
    topic_spec("new", partitions=1, replication_factor=2),
    topic_spec("t", partitions=2, replication_factor=2),
)
PLAN = plan(
    move("t", 0, (1, 2), (3, 4)),
    move("t", 1, (2, 1), (4, 5)),
    steps=(CreateTopic("new", "p", ((3, 4),)),),
)
UNLAWFUL = plan(move("t", 0, (1, 2), (3, 4)), move("t", 1, (2, 1), (4,)))


def live(*topics: Topic) -> Cluster:
    return cluster(dict.fromkeys((1, 2, 3, 4, 5)), *topics)


def lists(*found: Replicas) -> Topic:
    return topic("t", *found)


def require_fit(made: Plan, seen: Cluster) -> None:
    observed = Observation(ClusterReading(seen), seen, Records(), frozenset())
    reviewed_plan.require_fit(made, "plan.json", DECLARED, observed, made.fingerprint)


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(live(lists((1, 2), (2, 1))), id="nothing-is-done"),
        pytest.param(live(lists((1, 2), (2, 1)), NEW), id="a-topic-is-created"),
        pytest.param(live(lists((3, 4), (2, 1)), NEW), id="a-move-is-done"),
        pytest.param(live(lists((3, 4), (4, 5)), NEW), id="all-is-done"),
    ],
)
def test_a_plan_fits_however_much_of_it_is_done(seen: Cluster) -> None:
    require_fit(PLAN, seen)


def test_what_is_left_of_a_plan_has_to_be_lawful() -> None:
    with pytest.raises(Refused, match=r"the plan is unlawful(?s:.)*t-1"):
        require_fit(UNLAWFUL, live(lists((3, 4), (2, 1))))


def test_what_somebody_else_moved_is_named() -> None:
    with pytest.raises(StalePlan) as refused:
        require_fit(PLAN, live(lists((3, 4), (5, 1)), NEW))
    (drift,) = refused.value.facts
    assert (drift.partition, drift.live) == (("t", 1), (5, 1))
