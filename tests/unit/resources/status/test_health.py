"""Ready tells the truth: what is as declared and serves nobody is not Ready, and says why."""

from dataclasses import replace
from typing import Any

import pytest

from builders import without_brokers
from poolkeeper.model.desired import Culprit
from poolkeeper.model.topology import Cluster, Controller, Topic
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import ObjectKey
from unit.resources.bodies import kafka, kafka_topic, topic
from unit.resources.situations import AUTO, FAST, IN_FAST, MAIN, ORDERS, POOLS, SLOW, WANTED
from unit.resources.stages import at_rest, seen, told

OBJECTS = (AUTO, *POOLS, WANTED)
WELL = replace(kafka([IN_FAST]), controller=Controller(1, 1))


def without(*dead: int, **fields: Any) -> Cluster:
    return replace(without_brokers(WELL, *dead), **fields)


def led_by_the_dead(topic: Topic) -> Topic:
    """The topic between the death of its leaders and the election of others."""
    return replace(topic, partitions=tuple(each._replace(leader=9) for each in topic.partitions))


def ready(cluster: Cluster, key: ObjectKey, objects: Any = OBJECTS) -> tuple[str, str, str, str]:
    """Ready and its reason, whatever else is true, and the first words of the message."""
    what = seen(cluster)
    found = told(objects, what, at_rest(assemble(objects)["main"], what))[key]["conditions"]
    other = next((each["type"] for each in found if each["type"] != "Ready"), "")
    return found[0]["status"], found[0]["reason"], other, found[0]["message"].split(":")[0]


@pytest.mark.parametrize(
    ("cluster", "key", "expected"),
    [
        pytest.param(WELL, MAIN, ("True", "InPlace", "", "in place"), id="a-cluster"),
        pytest.param(
            without(4, 5, 6),
            MAIN,
            (
                *("False", "BrokersMissing", "Reconciling"),
                "3 of 6 declared brokers are not live (brokers 4, 5, 6)",
            ),
            id="a-cluster-with-half-of-its-brokers",
        ),
        pytest.param(
            without(4, 5, 6),
            SLOW,
            (
                *("False", "NoLiveBroker", "Stalled"),
                "no broker of the pool is live (brokers 4, 5, 6)",
            ),
            id="a-pool-without-brokers",
        ),
        pytest.param(
            without(4, 5, 6), FAST, ("True", "InPlace", "", "in place"), id="the-other-pool"
        ),
        pytest.param(
            without(4),
            SLOW,
            (
                *("False", "BrokersMissing", "Reconciling"),
                "1 of 3 declared brokers is not live (broker 4)",
            ),
            id="a-pool-in-a-restart",
        ),
        pytest.param(
            without(1, 2),
            ORDERS,
            (
                *("False", "PartitionsOffline", "Stalled"),
                "2 partitions have no leader and are offline",
            ),
            id="a-topic-without-leaders",
        ),
        pytest.param(
            replace(WELL, topics={"orders": led_by_the_dead(WELL.topics["orders"])}),
            ORDERS,
            (*("False", "ElectionPending", "Reconciling"), "4 partitions have no leader yet"),
            id="a-topic-whose-leader-died-a-moment-ago",
        ),
        pytest.param(
            without(1, 2),
            MAIN,
            (
                *("False", "PartitionsOffline", "Stalled"),
                "2 partitions have no leader and are offline",
            ),
            id="and-its-cluster",
        ),
        pytest.param(
            without(3),
            ORDERS,
            (
                *("True", "InPlace", ""),
                "in place in pool fast",
            ),
            id="a-topic-that-can-be-written",
        ),
        pytest.param(
            replace(WELL, damaged={"x": "empty"}),
            MAIN,
            (*("False", "TopicsDamaged", "Stalled"), "the znode of 1 topic cannot be read"),
            id="a-damaged-topic",
        ),
    ],
)
def test_ready_is_the_truth(
    cluster: Cluster, key: ObjectKey, expected: tuple[str, str, str, str]
) -> None:
    assert ready(cluster, key) == expected


def test_a_topic_that_nobody_can_write_safely_is_told() -> None:
    asked = topic(
        "orders", "fast", partitions=4, replicationFactor=2, config={"min.insync.replicas": "3"}
    )
    lists = ((1, 2), (2, 3), (3, 1), (2, 1))
    cluster = kafka([kafka_topic("orders", *lists, config={"min.insync.replicas": "3"})])
    assert ready(cluster, ORDERS, (AUTO, *POOLS, asked)) == (
        "False",
        "MinIsrUnreachable",
        "Stalled",
        "2 replicas are fewer than min.insync.replicas (3), so that producers with acks=all always"
        " fail",
    )


def test_a_topic_whose_declaration_is_unlawful_names_the_law() -> None:
    asked = topic("orders", "fast", partitions=4, replicationFactor=3)
    objects, what = (AUTO, *POOLS, asked), seen(WELL)
    assembled = assemble(objects)["main"]
    assert assembled.desired is not None
    kept = replace(assembled.desired, kept=(Culprit("racks", "it is worse", "orders"),))
    outcome = at_rest(replace(assembled, desired=kept), what)
    found = told(objects, what, outcome)[ORDERS]["conditions"][0]
    assert (found["reason"], found["message"]) == (
        "Unlawful",
        "stays as it is: what is declared would break the law racks: it is worse",
    )
