"""A topic that gets more replicas and more `min.insync.replicas` gets the replicas first."""

import pytest

from builders import cluster, desired, partition, pool_spec, topic, topic_spec
from poolkeeper.model.plans import SetConfig
from poolkeeper.model.specs import Strategy
from unit.planning.byhand import lawful, messages, paths

KEY = "min.insync.replicas"
ONE = {KEY: "1"}


def planned(seen, needed, **fields):
    spec = topic_spec("t", "p", config={KEY: needed, "retention.ms": "5"}, **fields)
    return lawful(desired([pool_spec("p", 1, 2, 3)], spec), cluster((1, 2, 3), seen))


def waits(needed, now):
    return [
        f"t: {KEY} is set to {needed} once as many replicas of every partition are in sync,"
        f" now {now}"
    ]


def keys_set(plan):
    (step,) = plan.steps
    assert isinstance(step, SetConfig)
    return set(step.set)


def test_more_replicas_come_before_more_in_sync():
    plan = planned(topic("t", (1,), config=ONE), "2", replication_factor=3)
    assert paths(plan) == {"t-0": ((1,), (1, 2), (1, 2, 3))}
    assert keys_set(plan) == {"retention.ms"}
    assert messages(plan) == waits(2, 1)


def test_once_they_are_in_sync_the_config_follows():
    plan = planned(topic("t", (1, 2, 3), config=ONE), "3", replication_factor=3)
    assert (plan.moves, keys_set(plan), messages(plan)) == ((), {KEY, "retention.ms"}, [])


@pytest.mark.parametrize(
    ("seen", "fields"),
    [
        pytest.param((partition(0, 1, 2, 3, isr=(1,)),), {}, id="a-replica-is-behind"),
        pytest.param(((1, 2), (3,)), {"replication_factor": 2}, id="one-partition-has-fewer"),
        pytest.param(
            ((1,),),
            {"strategy": Strategy.MANUAL, "assignment": ((1, 2),)},
            id="replicas-that-a-person-lists",
        ),
    ],
)
def test_every_partition_counts(seen, fields):
    plan = planned(topic("t", *seen, config=ONE), "2", **fields)
    assert keys_set(plan) == {"retention.ms"}
    assert waits(2, 1)[0] in messages(plan)


@pytest.mark.parametrize("fields", [{}, {"replication_factor": 1}])
def test_what_never_comes_is_not_waited_for(fields):
    """That contradiction is told as the topic's health."""
    plan = planned(topic("t", (1,), config=ONE), "2", **fields)
    assert (keys_set(plan), messages(plan)) == ({KEY, "retention.ms"}, [])


def test_fewer_in_sync_wait_for_nothing():
    plan = planned(topic("t", (1,), config={KEY: "3"}), "2", replication_factor=3)
    assert (keys_set(plan), messages(plan)) == ({KEY, "retention.ms"}, [])
