"""Whole statuses of Topics in every situation."""

from dataclasses import replace
from typing import Any

import pytest

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import TopicPartition
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.all_resources import statuses
from unit.resources.bodies import GIB, kafka, kafka_cluster, kafka_topic, topic
from unit.resources.situations import (
    AUTO,
    FACTS,
    FAST,
    IN_FAST,
    IN_SLOW,
    MAIN,
    MANUAL,
    ORDERS,
    POOLS,
    WANTED,
    hash_of,
    of,
    topic_status,
)
from unit.resources.stages import (
    NOW_MS,
    at_rest,
    conditions,
    planned,
    running,
    seen,
    told,
)


def test_a_topic_in_place_is_ready_and_tells_what_others_set() -> None:
    assert of(ORDERS, (AUTO, *POOLS, WANTED), IN_FAST) == topic_status(
        "True",
        "InPlace",
        "in place in pool fast: 4 partitions of 2 replicas",
        **FACTS,
        pool="fast",
        foreignConfig=["cleanup.policy"],
    )


MOVE = "move 4 partitions into pool fast"


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        pytest.param(
            kafka_cluster(),
            (
                "Busy",
                "PlanOnly",
                (
                    f"KafkaCluster main is in mode PlanOnly; would {MOVE}; set spec.mode to Apply"
                    " to go on"
                ),
            ),
            id="plan-only",
        ),
        pytest.param(
            MANUAL,
            (
                "Busy",
                "WaitingForApproval",
                f"approve plan {{hash}} in KafkaCluster main to {MOVE}",
            ),
            id="manual",
        ),
        pytest.param(
            kafka_cluster(mode="Paused"),
            (
                "Busy",
                "Paused",
                f"KafkaCluster main is in mode Paused; left to do: {MOVE}; set spec.mode to Apply"
                " to go on",
            ),
            id="paused",
        ),
        pytest.param(AUTO, ("Busy", "Queued", f"about to {MOVE}"), id="auto"),
    ],
)
def test_a_topic_elsewhere_tells_what_lies_between(
    cluster: CustomResource, says: tuple[str, str, str]
) -> None:
    objects = (cluster, *POOLS, WANTED)
    expected = (*says[:2], says[2].format(hash=hash_of(objects, IN_SLOW)))
    assert of(ORDERS, objects, IN_SLOW) == topic_status(*expected, **FACTS, pool="slow")


@pytest.mark.parametrize(
    ("cluster", "wanted", "found", "says"),
    [
        pytest.param(
            AUTO,
            topic("orders", "fast", partitions=4, replicationFactor=2),
            None,
            ("Busy", "Creating", "creating 4 partitions in pool fast"),
            id="created",
        ),
        pytest.param(
            kafka_cluster(),
            topic("orders", "fast", partitions=4, replicationFactor=2),
            None,
            (
                "Busy",
                "PlanOnly",
                "KafkaCluster main is in mode PlanOnly; would create topic orders in pool fast"
                " with 4 partitions; set spec.mode to Apply to go on",
            ),
            id="would-be-created",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", partitions=4),
            None,
            (
                "Stalled",
                "Impossible",
                "not created: neither the Topic nor pool fast says how many replicas (set"
                " spec.replicationFactor)",
            ),
            id="cannot-be-created",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", partitions=6),
            IN_FAST,
            ("Busy", "Creating", "adding 2 partitions"),
            id="grows",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", partitions=3),
            IN_FAST,
            (
                "Stalled",
                "Impossible",
                "stays at 4 partitions instead of 3: partitions never shrink",
            ),
            id="never-shrinks",
        ),
        pytest.param(
            MANUAL,
            topic("orders", "fast", config={"segment.ms": "60000"}),
            IN_FAST,
            ("Busy", "Configuring", "setting segment.ms"),
            id="configured",
        ),
        pytest.param(
            MANUAL,
            topic("orders", "fast", config={"retention.ms": "5"}),
            kafka_topic("orders", (1, 2), config={"retention.ms": "6"}),
            (
                "Busy",
                "WaitingForApproval",
                "approve plan {hash} in KafkaCluster main to set config retention.ms",
            ),
            id="configured-with-loss",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", paused=True),
            IN_SLOW,
            (
                "Busy",
                "Paused",
                "paused, and not as declared: move 4 partitions into pool fast; set spec.paused to"
                " false to go on",
            ),
            id="paused-elsewhere",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", paused=True),
            IN_FAST,
            ("True", "InPlace", "in place in pool fast: 4 partitions of 2 replicas; paused"),
            id="paused-in-place",
        ),
        pytest.param(
            AUTO,
            topic("orders", "nowhere"),
            None,
            ("Stalled", "NoSuchPool", "spec.poolRef: ResourcePool nowhere does not exist"),
            id="no-pool",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", topicName="__consumer_offsets", partitions=50),
            None,
            (
                "Stalled",
                "Invalid",
                "spec.partitions: __consumer_offsets keeps the partitions that Kafka gave it"
                " (expected no number)",
            ),
            id="internal-with-partitions",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", topicName="__consumer_offsets", replicationFactor=2),
            None,
            (
                "Busy",
                "Waiting",
                "waits to create topic __consumer_offsets in pool fast: not created: Kafka creates"
                " this topic itself, at its first use",
            ),
            id="internal-and-not-there-yet",
        ),
        pytest.param(
            AUTO,
            topic("orders", "fast", topicName="__consumer_offsets", replicationFactor=1),
            kafka_topic("__consumer_offsets", (1, 2)),
            (
                "Stalled",
                "Impossible",
                "nothing is done: an internal topic of Kafka loses no replicas, partition 0 has 2",
            ),
            id="internal-with-fewer-replicas",
        ),
    ],
)
def test_a_topic_says(
    cluster: CustomResource, wanted: CustomResource, found: Any, says: tuple[str, str, str]
) -> None:
    objects = (cluster, *POOLS, wanted)
    what = seen(kafka(() if found is None else (found,)))
    every = assemble(objects)
    place = next(each for each in every.values() if ORDERS in each.objects)
    main = every["main"]
    status = statuses(place, what, at_rest(main, what), NOW_MS)[ORDERS]
    expected = (*says[:2], says[2].format(hash=planned(main, what).hash))
    assert status["conditions"] == conditions(*expected)


def test_a_topic_that_moves_tells_how_far() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    found = told(objects, what, running(assemble(objects)["main"], what, 1))
    assert found[ORDERS] == topic_status(
        "Busy",
        "Moving",
        "moving into pool fast: 1 of 4 partitions, 6 GiB left, about 15 min",
        **FACTS,
        pool="slow",
        moving={"partitions": 4, "done": 1, "bytes": 8 * GIB, "bytesDone": 2 * GIB},
    )
    assert found[FAST]["conditions"] == conditions("Busy", "Moving", "moving: 1 of 4 partitions")


def test_a_topic_and_its_pool_tell_what_their_own_moves_wait_for() -> None:
    logs = topic("logs", "slow", partitions=1, replicationFactor=2)
    objects = (MANUAL, *POOLS, WANTED, logs)
    what = seen(kafka([IN_SLOW, kafka_topic("logs", (4, 5))]))
    outcome = running(assemble(objects)["main"], what, 1)
    waiting = tuple(TopicPartition(name, 0) for name in ("orders", "logs", "other"))
    away = Wait(WaitReason.BROKER_NOT_LIVE, brokers=(3,), partitions=waiting)
    found = told(objects, what, replace(outcome, waits=(*outcome.waits, away)))
    why = (
        "; waits: broker 3 is not live; orders-0 waits for it: start it again, or drain it if it is"
        " gone for good, which cancels what waits for it"
    )
    assert found[ORDERS]["conditions"][0]["message"] == (
        f"moving into pool fast: 1 of 4 partitions, 6 GiB left, about 15 min{why}"
    )
    assert found[FAST]["conditions"][0]["message"] == f"moving: 1 of 4 partitions{why}"


@pytest.mark.parametrize(
    ("live", "reason", "expected"),
    [
        pytest.param(
            kafka_topic("orders", *[(1, 2, 4, 5)] * 4),
            "Moving",
            "moving to brokers 4, 5, 6, as declared before: 0 of 4 partitions, 8 GiB left, about 15"
            " min; then into pool fast",
            id="its-data-is-on-the-way",
        ),
        pytest.param(
            IN_FAST,
            "InPlace",
            "in place in pool fast: 4 partitions of 2 replicas; 4 partitions are moved to brokers"
            " 4, 5, 6, as declared before",
            id="nothing-has-moved",
        ),
    ],
)
def test_a_topic_that_is_declared_elsewhere_in_mid_run_says_where_it_goes_now(
    live: Any, reason: str, expected: str
) -> None:
    before = (MANUAL, *POOLS, topic("orders", "slow", partitions=4, replicationFactor=2))
    outcome = running(assemble(before)["main"], seen(kafka([IN_FAST])), 0)
    objects = (MANUAL, *POOLS, WANTED)
    ready = told(objects, seen(kafka([live])), outcome)[ORDERS]["conditions"][0]
    assert ready["reason"] == reason
    assert ready["message"].startswith(expected)


def test_balance_alone_makes_no_topic_unready() -> None:
    crowded = kafka_topic("orders", *[(1, 2)] * 12)
    objects = (MANUAL, *POOLS, topic("orders", "fast"))
    found = of(ORDERS, objects, crowded)["conditions"]
    assert found == conditions(
        "True",
        "InPlace",
        "in place in pool fast: 12 partitions of 2 replicas; 12 partitions could move for balance",
    )
    ready = of(MAIN, objects, crowded)["conditions"][0]
    assert (ready["status"], ready["reason"]) == ("True", "InPlace")
    assert "kubectl patch kafkacluster main" in ready["message"]


def test_nobody_is_asked_to_approve_that_a_topic_shrinks() -> None:
    fewer = topic("orders", "fast", partitions=2, replicationFactor=2, config={"retention.ms": "1"})
    ready = of(ORDERS, (MANUAL, *POOLS, fewer), IN_FAST, orders="shop/orders")["conditions"][0]
    assert ready["reason"] == "WaitingForApproval"
    assert ready["message"].endswith(
        "to set config retention.ms; its 4 partitions stay, as partitions never shrink"
    )


def test_balance_alone_hides_nothing_that_a_person_must_mend() -> None:
    crowded = kafka_topic("orders", *[(1, 2)] * 12)
    fewer = topic("orders", "fast", partitions=2, replicationFactor=2)
    ready = of(ORDERS, (AUTO, *POOLS, fewer), crowded, orders="shop/orders")["conditions"][0]
    assert ready["reason"] == "Impossible"
    assert ready["message"] == "stays at 12 partitions instead of 2: partitions never shrink"
