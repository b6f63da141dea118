"""What Topics say that go, have no right to their Kafka topic, or share its name with others."""

from dataclasses import replace
from typing import Any

import pytest

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from unit.resources.bodies import kafka, kafka_cluster, kafka_topic, pool, topic
from unit.resources.situations import (
    AUTO,
    IN_FAST,
    MANUAL,
    ORDERS,
    POOLS,
    WANTED,
    of,
    topic_status,
)
from unit.resources.stages import (
    at_rest,
    conditions,
    planned,
    seen,
    told,
)


def test_the_loser_of_a_conflict_is_stalled_and_the_owner_is_not() -> None:
    loser = topic("orders", "slow", namespace="bank")
    objects = (AUTO, *POOLS, WANTED, loser)
    assert of(loser.key, objects, IN_FAST, orders="shop/orders") == topic_status(
        "Stalled",
        "TopicConflict",
        "Kafka topic orders belongs to shop/orders, which declared it first; delete one of the"
        " Topics",
        topicName="orders",
    )
    ready = of(ORDERS, objects, IN_FAST, orders="shop/orders")["conditions"][0]
    assert (ready["status"], ready["reason"]) == ("True", "InPlace")


def test_nobody_wins_without_a_record() -> None:
    rival = topic("orders", "slow", namespace="bank")
    objects = (AUTO, *POOLS, WANTED, rival)
    reasons = {of(key, objects, IN_FAST)["conditions"][0]["reason"] for key in (ORDERS, rival.key)}
    assert reasons == {"TopicConflict"}


def test_a_name_that_metrics_cannot_tell_from_another_is_a_conflict() -> None:
    dotted = topic("dotted", "fast", topicName="a.b", partitions=1, replicationFactor=1)
    found = of(dotted.key, (AUTO, *POOLS, dotted), kafka_topic("a_b", (1,)))
    assert found["conditions"] == conditions(
        "Stalled",
        "TopicConflict",
        "Kafka cannot tell a.b from topic a_b in its metrics: choose another name",
    )


GOING = topic("orders", "fast", deleting=True, guarded=True, deletionPolicy="Delete")
KEEP = "set spec.deletionPolicy to Retain to delete this Topic and keep the data"


@pytest.mark.parametrize(
    ("cluster", "owner", "message"),
    [
        pytest.param(AUTO, "shop/orders", "Kafka topic orders is being deleted", id="auto"),
        pytest.param(
            MANUAL,
            "shop/orders",
            f"approve plan HASH in KafkaCluster main to delete Kafka topic orders; {KEEP}",
            id="manual",
        ),
        pytest.param(
            kafka_cluster(),
            "shop/orders",
            f"KafkaCluster main is in mode PlanOnly: nothing is deleted; {KEEP}",
            id="plan-only",
        ),
        pytest.param(AUTO, "bank/orders", "its Kafka topic is kept", id="not-its-own"),
    ],
)
def test_a_topic_that_is_being_deleted(cluster: CustomResource, owner: str, message: str) -> None:
    objects = (cluster, *POOLS, GOING)
    what = seen(kafka([IN_FAST]), orders=owner)
    place = assemble(objects)["main"]
    found = told(objects, what, at_rest(place, what))[ORDERS]["conditions"]
    expected = message.replace("HASH", planned(place, what).hash)
    assert found == conditions("Busy", "Deleting", expected)


@pytest.mark.parametrize(
    ("wait", "said", "tail"),
    [
        pytest.param(
            Wait(WaitReason.DELETION_TAKEN_BACK, topic="orders"),
            "topic orders was to be deleted, the request is gone and the topic is not",
            KEEP,
            id="taken-back",
        ),
        pytest.param(
            Wait(WaitReason.DELETION_AWAITS_BROKERS, topic="orders", brokers=(3,)),
            "topic orders is being deleted, and broker 3 is not live",
            "an empty broker of the same id does as well",
            id="held-up",
        ),
        pytest.param(
            Wait(WaitReason.DELETION_TAKEN_BACK, topic="other"),
            "Kafka topic orders is being deleted",
            "Kafka topic orders is being deleted",
            id="of-another",
        ),
    ],
)
def test_what_holds_the_deletion_up_is_said(wait: Wait, said: str, tail: str) -> None:
    objects = (AUTO, *POOLS, GOING)
    what = seen(kafka([IN_FAST]), orders="shop/orders")
    outcome = at_rest(assemble(objects)["main"], what, wait)
    message = told(objects, what, outcome)[ORDERS]["conditions"][0]["message"]
    assert message.startswith(said)
    assert message.endswith(tail)


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        pytest.param((), "its Kafka topic does not exist", id="deleted"),
        pytest.param((IN_FAST,), "its Kafka topic is kept", id="made-again"),
    ],
)
def test_a_topic_that_others_keep_says_what_became_of_its_kafka_topic(
    topics: tuple[Any, ...], expected: str
) -> None:
    held = replace(GOING, finalizers=("example.com/audit",))
    found = of(ORDERS, (AUTO, *POOLS, held), *topics)["conditions"]
    told = f"{expected}; finalizer example.com/audit of somebody else still keeps it"
    assert found == conditions("Busy", "Deleting", told)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(
            {"config": {"no.such.key": "1"}, "poolRef": {"name": "slow"}},
            "its Kafka topic is kept, as it is also named by bank/mine",
            id="a-topic-that-is-invalid",
        ),
        pytest.param(
            {"poolRef": {"name": "absent"}},
            "Kafka topic orders is being deleted",
            id="a-topic-without-a-pool-holds-nothing",
        ),
    ],
)
def test_a_topic_that_is_being_deleted_says_who_else_names_its_kafka_topic(
    other: dict[str, Any], expected: str
) -> None:
    rival = topic("mine", "slow", namespace="bank", topicName="orders", **other)
    objects = (AUTO, *POOLS, GOING, rival)
    what = seen(kafka([IN_FAST]), orders="shop/orders")
    place = assemble(objects)["main"]
    found = told(objects, what, at_rest(place, what))[ORDERS]["conditions"]
    assert found == conditions("Busy", "Deleting", expected)


def test_a_kafka_topic_that_does_not_exist_is_not_kept_for_others() -> None:
    rival = topic("mine", "fast", namespace="bank", topicName="orders", partitions=1)
    found = of(ORDERS, (AUTO, *POOLS, GOING, rival))["conditions"]
    assert found == conditions("Busy", "Deleting", "its Kafka topic does not exist")


@pytest.mark.parametrize(
    ("policy", "status", "told"),
    [
        ("Delete", {"pool": "fast"}, "; if it is deleted as it is, its Kafka topic is kept"),
        ("Delete", {"cluster": "main"}, "; if it is deleted as it is, its Kafka topic is kept"),
        ("Delete", {}, ""),
        ("Retain", {"pool": "fast"}, ""),
    ],
    ids=["told-before", "between-two-pools", "never-had-a-topic", "kept-in-any-case"],
)
def test_a_topic_that_its_pool_no_longer_admits_says_what_its_deletion_would_do(
    policy: str, status: dict[str, Any], told: str
) -> None:
    fast = pool("fast", 1, 2, 3, allowedNamespaces={"names": ["bank"]})
    rejected = replace(topic("orders", "fast", deletionPolicy=policy), status=status)
    (ready, *_) = of(rejected.key, (AUTO, fast, rejected), IN_FAST)["conditions"]
    message = "ResourcePool fast takes no Topics of namespace shop (spec.allowedNamespaces)"
    assert (ready["reason"], ready["message"]) == ("NamespaceNotAllowed", f"{message}{told}")
