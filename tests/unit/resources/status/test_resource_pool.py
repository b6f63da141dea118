"""Whole statuses of ResourcePools in every situation."""

from dataclasses import replace
from typing import Any

import pytest

from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import Topic
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from unit.resources.bodies import kafka, kafka_topic, pool, topic
from unit.resources.situations import (
    AUTO,
    FAST,
    IN_FAST,
    IN_SLOW,
    MANUAL,
    ORDERS,
    POOLS,
    WANTED,
    hash_of,
    of,
    topic_status,
)
from unit.resources.stages import (
    at_rest,
    conditions,
    running,
    seen,
    told,
    with_statuses,
)


def test_a_pool_in_place_tells_what_lives_in_it() -> None:
    fast = pool("fast", 1, 2, 3, quotas={"topics": 5, "perNamespace": {"shop": {"topics": 2}}})
    found = of(FAST, (AUTO, fast, POOLS[1], WANTED), IN_FAST)
    assert found == topic_status(
        "True",
        "InPlace",
        "in place",
        brokers=3,
        brokersUp="3/3",
        topics=1,
        partitions=4,
        replicas=8,
        quota={"topics": 1, "partitions": 4, "topicsMax": 5},
    )


def test_a_pool_that_is_drained_tells_what_is_left() -> None:
    fast = pool("fast", 1, 2, 3, drain=[1])
    objects = (MANUAL, fast, POOLS[1], topic("orders", "fast"))
    found = of(FAST, objects, IN_FAST)
    assert found == topic_status(
        "Busy",
        "WaitingForApproval",
        f"approve plan {hash_of(objects, IN_FAST)} in KafkaCluster main; broker 1 holds 3 replicas",
        brokers=3,
        brokersUp="3/3",
        topics=1,
        partitions=4,
        replicas=8,
        drains="1",
        draining=[{"broker": 1, "replicas": 3}],
    )


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        pytest.param(
            topic("orders", "fast"),
            "broker 1 keeps 3 replicas (orders): orders: 3 replicas cannot leave broker 1: 3"
            " replicas need 3 brokers; usable: 2, 3; 1 is drained. Take broker 1 out of"
            " spec.drain, or add a broker",
            id="too-few-brokers-are-left",
        ),
        pytest.param(
            topic("orders", "fast", config={"no.such.key": "1"}),
            "broker 1 keeps 3 replicas (orders): orders: nothing is done: Topic shop/orders"
            " cannot be acted on; see its status, and mend or delete it",
            id="the-topic-is-invalid",
        ),
        pytest.param(
            None,
            "broker 1 is drained and keeps 3 replicas: topic orders is not managed (declare what"
            " shall leave, or set spec.unmanagedTopics of the KafkaCluster)",
            id="nobody-declares-the-topic",
        ),
        pytest.param(
            topic("orders", "fast", paused=True),
            "broker 1 is drained and keeps 3 replicas: topic orders is paused",
            id="the-topic-is-paused",
        ),
    ],
)
def test_what_cannot_leave_a_drained_broker_is_named(
    wanted: CustomResource | None, why: str
) -> None:
    fast = pool("fast", 1, 2, 3, drain=[1])
    full = kafka_topic("orders", (2, 1, 3), (2, 3, 1), (3, 2, 1))
    objects = (AUTO, fast, *([wanted] if wanted else []))
    assert of(FAST, objects, full)["conditions"] == conditions("Stalled", "Impossible", why)


def test_a_topic_of_a_pool_that_is_not_there_stops_no_drain() -> None:
    fast = pool("fast", 1, 2, 3, drain=[1], claims=["orders"])
    objects = (AUTO, fast, POOLS[1], topic("orders", "nowhere", namespace="evil"))
    what = of(FAST, objects, kafka_topic("orders", (2, 1), (2, 3), (3, 2)))
    assert what["conditions"] == conditions("Busy", "Waiting", "broker 1 holds 1 replica")


def test_a_drained_broker_is_listed_once_it_is_empty() -> None:
    fast = pool("fast", 1, 2, 3, drain=[1])
    found = of(FAST, (AUTO, fast, topic("orders", "fast")), kafka_topic("orders", (2, 3), (3, 2)))
    assert (found["drained"], found.get("draining")) == ([1], None)
    assert found["conditions"][0]["status"] == "True"


def main(objects: tuple[CustomResource, ...]) -> Assembly:
    return assemble(objects)["main"]


MOVING_IN = topic("orders", "fast", partitions=4, replicationFactor=2)


def _told_again(
    objects: tuple[CustomResource, ...], *topics: Topic, **fields: Any
) -> dict[str, Any]:
    """What is told of `fast` after a pass in mid-run, and after one that saw and knew only this."""
    before = seen(kafka([IN_SLOW]))
    run = running(assemble(objects)["main"], before, 1)
    written = with_statuses(objects, told(objects, before, run))
    assert written[1].status["conditions"][0]["reason"] == "Moving"
    now = seen(replace(kafka(topics), torn=fields.pop("torn", frozenset())))
    return told(written, now, replace(run, last_observation=now, **fields))[FAST]


def test_a_pool_is_not_in_place_while_the_topic_that_moves_there_changes_under_the_reader() -> None:
    found = _told_again((AUTO, *POOLS, MOVING_IN), torn=frozenset({"orders"}))
    assert found["conditions"] == conditions("Busy", "Moving", "moving: 1 of 4 partitions")


def test_a_drained_broker_is_not_empty_because_a_topic_changes_under_the_reader() -> None:
    fast = pool("fast", 1, 2, 3, drain=[1])
    objects = (AUTO, fast, topic("orders", "fast"))
    before = seen(kafka([IN_FAST]))
    plan = at_rest(assemble(objects)["main"], before)
    written = with_statuses(objects, told(objects, before, plan))
    torn = seen(replace(kafka(), torn=frozenset({"orders"})))
    found = told(written, torn, replace(plan, last_observation=torn))[FAST]
    assert found == written[1].status
    fresh = told(objects, torn, replace(plan, last_observation=torn))[FAST]
    assert fresh["conditions"] == conditions(
        "Busy", "Waiting", "topics change while they are being read"
    )


@pytest.mark.parametrize("name", ["orders", "of-nobody"])
def test_what_changed_under_the_reader_is_no_news_of_a_pool(name: str) -> None:
    others = [each for each in (IN_FAST, kafka_topic("of-nobody", (1, 2))) if each.name != name]
    objects = (AUTO, *POOLS, WANTED)
    before = seen(kafka([IN_FAST, kafka_topic("of-nobody", (1, 2))]))
    written = with_statuses(objects, told(objects, before, at_rest(main(objects), before)))
    torn = replace(kafka(others), torn=frozenset({name}))
    outcome = at_rest(main(objects), seen(torn))
    assert [p.reason for p in outcome.problems if p.pool == "fast" and not p.topic]
    # What a pass tells of has the topic as it was before.
    found = told(written, before, replace(outcome, last_observation=before))[FAST]
    assert found == written[1].status
    fresh = told(objects, before, replace(outcome, last_observation=before))[FAST]
    assert fresh["conditions"] == conditions(
        "Busy", "Waiting", "topics change while they are being read"
    )


def test_what_changed_under_the_reader_is_not_told_beside_what_is_wrong() -> None:
    objects = (AUTO, *POOLS, WANTED)
    whole = kafka([IN_FAST])
    whole = replace(whole, brokers={b: each for b, each in whole.brokers.items() if b != 3})
    outcome = at_rest(main(objects), seen(replace(whole, topics={}, torn=frozenset({"orders"}))))
    found = told(objects, seen(whole), replace(outcome, last_observation=seen(whole)))[FAST]
    (ready, _) = found["conditions"]
    assert (ready["reason"], "evened" in ready["message"]) == ("BrokersMissing", False)


def test_a_pool_is_not_in_place_while_no_plan_of_it_is_known() -> None:
    objects = (AUTO, *POOLS, MOVING_IN)
    what = seen(kafka([IN_SLOW]))
    blind = Outcome(State.WAITING, waits=(Wait(WaitReason.NO_CONTROLLER),), last_observation=what)
    found = told(objects, what, blind)[FAST]
    assert found["conditions"][0]["reason"] == "Waiting"
    assert found["conditions"][0]["message"].startswith("4 partitions to move: ")
    in_run = replace(
        running(assemble((AUTO, *POOLS))["main"], what, 0), fresh=None, last_observation=what
    )
    found = told(objects, what, in_run)[FAST]
    assert found["conditions"] == conditions(
        "Busy", "Queued", "4 partitions to move; a run is under way"
    )


def test_a_pool_moves_until_what_arrived_is_seen_there() -> None:
    found = _told_again((AUTO, *POOLS, MOVING_IN), IN_SLOW)
    assert found["conditions"][0]["reason"] == "Moving"
    objects = (AUTO, *POOLS, MOVING_IN)
    what = seen(kafka([IN_SLOW]))
    arrived = running(assemble(objects)["main"], what, 4)
    statuses = told(objects, what, arrived)
    assert [statuses[key]["conditions"][0]["reason"] for key in (FAST, ORDERS)] == ["Moving"] * 2


def test_who_else_keeps_a_pool_is_told() -> None:
    fast = pool("fast", 1, 2, 3, deleting=True)
    for finalizers, by_whom in (
        ((), ""),
        (("foregroundDeletion",), "; finalizer foregroundDeletion of somebody else still keeps it"),
        (("a/b", "c/d"), "; finalizers a/b, c/d of somebody else still keep it"),
    ):
        held = replace(fast, finalizers=finalizers)
        message = of(FAST, (AUTO, held))["conditions"][0]["message"]
        assert message == f"no Topic needs it any more{by_whom}"


def test_a_pool_is_kept_while_topics_name_it() -> None:
    fast = pool("fast", 1, 2, 3, deleting=True, guarded=True)
    assert of(FAST, (AUTO, fast, WANTED), IN_FAST)["conditions"] == conditions(
        "Busy", "Deleting", "kept while Topics name it: shop/orders"
    )


def test_a_pool_whose_cluster_is_gone_tells_nothing_of_its_brokers() -> None:
    drained = (AUTO, pool("fast", 1, 2, 3, drain=[1]))
    before = seen(kafka([kafka_topic("orders", (2, 3))]))
    written = with_statuses(drained, told(drained, before, at_rest(main(drained), before)))
    (fast,) = (each for each in written if each.key == FAST)
    assert (fast.status or {})["drained"] == [1]
    assert told((fast,), None, Outcome(State.WAITING))[FAST] == topic_status(
        "Stalled", "NoSuchCluster", "spec.clusterRef: KafkaCluster main does not exist"
    )
