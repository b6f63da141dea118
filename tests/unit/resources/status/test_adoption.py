"""What Topics and the KafkaCluster say of topics that exist and that nobody has handed over."""

from typing import Any

import pytest

from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.all_resources import statuses
from poolkeeper.resources.status.finalizers import finalizers_needed
from poolkeeper.resources.status.status_inputs import status_inputs_of
from unit.resources.bodies import kafka, kafka_cluster, kafka_topic, topic
from unit.resources.situations import IN_FAST, MAIN, ORDERS, POOLS, of
from unit.resources.stages import NOW_MS, at_rest, seen

STRICT: dict[str, Any] = {"adoption": {}, "systemTopics": {}}
APPROVE = kafka_cluster(mode="Apply", approval={"policy": "Auto"}, **STRICT)
GRASPING = topic("orders", "slow", config={"retention.ms": "1"}, deletionPolicy="Delete")
SCHEMAS = kafka_topic("_schemas", (1, 2))
SYSTEM = topic("schemas", "fast", topicName="_schemas")


def told(*objects: CustomResource, key: ObjectKey = ORDERS, **owners: str) -> tuple[str, ...]:
    """Status, reason and message of Ready."""
    ready = of(key, (*objects, *POOLS), IN_FAST, SCHEMAS, **owners)["conditions"][0]
    return ready["status"], ready["reason"], ready["message"]


def asked(*objects: CustomResource) -> list[dict[str, Any]]:
    found = of(MAIN, (APPROVE, *POOLS, *objects), IN_FAST, SCHEMAS).get("adoptions", [])
    assert isinstance(found, list)
    return found


def test_nothing_that_exists_is_taken_over_without_approval_on_kubernetes() -> None:
    (request,) = asked(GRASPING)
    assert request == {
        "namespace": "shop",
        "hash": request["hash"],
        "topics": 1,
        "names": ["orders"],
    }
    assert told(APPROVE, GRASPING) == (
        "False",
        "AdoptionRequired",
        f"Kafka topic orders exists, and nobody declared it: approve {request['hash']} in"
        " KafkaCluster main to let this Topic have it; until then nothing is done to it",
    )
    status, reason, message = told(APPROVE, GRASPING, key=MAIN)
    assert (status, reason, message) == ("True", "InPlace", "in place")


def test_what_a_namespace_asks_for_is_one_question() -> None:
    more = topic("schemas", "fast", namespace="ops", topicName="_schemas")
    spec = {**STRICT, "systemTopics": {"namespaces": ["ops"]}}
    cluster = kafka_cluster(mode="Apply", **spec)
    found = of(MAIN, (cluster, *POOLS, GRASPING, more), IN_FAST, SCHEMAS)["adoptions"]
    assert [(each["namespace"], each["names"]) for each in found] == [
        ("ops", ["_schemas"]),
        ("shop", ["orders"]),
    ]


def test_topics_of_a_namespace_that_is_not_watched_are_told_and_asked_about() -> None:
    what = seen(kafka((IN_FAST, SCHEMAS)), orders="bank/orders", _schemas="bank/schemas")
    for policy in ("Approve", "Open"):
        cluster = kafka_cluster(
            mode="Apply",
            approval={"policy": "Auto"},
            unmanagedTopics="Manage",
            defaultPool="slow",
            **{**STRICT, "adoption": {"policy": policy}},
        )
        objects = (cluster, *POOLS, GRASPING)
        assembly = assemble(objects, watched=("shop",))["main"]
        found = statuses(assembly, what, at_rest(assembly, what), NOW_MS)
        ready = found[ORDERS]["conditions"][0]
        (request,) = found[MAIN]["adoptions"]
        assert (ready["reason"], ready["message"]) == (
            "AdoptionRequired",
            "Kafka topic orders exists, and it is Topic bank/orders's, whose namespace is not"
            f" watched: approve {request['hash']} in KafkaCluster main to let this Topic have it;"
            " until then nothing is done to it",
        )
        ready = found[MAIN]["conditions"][0]
        assert (ready["status"], ready["reason"], ready["message"]) == (
            "True",
            "InPlace",
            "in place; 2 topics of namespace bank (_schemas, orders) are left where they are, as"
            " the namespace is not watched, or may not be read: watch it again (--watch-namespace,"
            " in the chart watchNamespaces), give the operator its Role there, or declare what it"
            " had in another one and approve that",
        )


def test_of_many_topics_none_says_what_changes_with_each_of_them() -> None:
    def said(count: int) -> tuple[str, ...]:
        names = [f"t{number}" for number in range(count)]
        objects = (APPROVE, *POOLS, *(topic(name, "slow") for name in names))
        found = of(ORDERS, (*objects, GRASPING), IN_FAST, *(kafka_topic(n, (1,)) for n in names))
        (request,) = of(MAIN, objects, IN_FAST, *(kafka_topic(n, (1,)) for n in names))["adoptions"]
        assert request["topics"] == count
        ready = found["conditions"][0]
        return ready["status"], ready["reason"], ready["message"]

    assert said(9)[2].endswith(
        "to let this Topic have it and 9 other topics of this namespace; until then nothing is done"
        " to it"
    )
    assert said(12) == (
        "False",
        "AdoptionRequired",
        "Kafka topic orders exists, and nobody declared it: in KafkaCluster main a person may let"
        " this Topic have it, and whatever else its namespace asks for (`kubectl poolkeeper"
        " approve adoption/shop -c main`); until then nothing is done to it",
    )
    assert said(13) == said(12)


@pytest.mark.parametrize(
    ("spec", "wanted", "owners", "says"),
    [
        pytest.param(
            {"adoption": {"policy": "None"}},
            GRASPING,
            {},
            (
                "AdoptionRefused",
                "Kafka topic orders exists, and nobody declared it: KafkaCluster main lets nobody"
                " take it over (spec.adoption)",
            ),
            id="closed",
        ),
        pytest.param(
            {"adoption": {"policy": "None"}},
            GRASPING,
            {"orders": "bank/gone"},
            (
                "AdoptionRefused",
                "Kafka topic orders exists, and it was bank/gone's: KafkaCluster main lets nobody"
                " take it over (spec.adoption)",
            ),
            id="closed-of-somebody-who-is-gone",
        ),
        pytest.param(
            {"topicNames": {"prefix": "{namespace}."}},
            topic("orders", "slow", partitions=1, replicationFactor=1, topicName="shop-eu.orders"),
            {},
            (
                "NameNotAllowed",
                "shop-eu.orders does not begin with shop., as spec.topicNames of KafkaCluster main"
                " asks for namespace shop: choose another spec.topicName",
            ),
            id="the-name-of-another-namespace",
        ),
        pytest.param(
            {"systemTopics": {"namespaces": ["ops"]}},
            topic("orders", "fast", topicName="_schemas"),
            {},
            (
                "NameNotAllowed",
                "_schemas begins with _, and spec.systemTopics of KafkaCluster main does not name"
                " namespace shop: choose another spec.topicName",
            ),
            id="a-system-topic",
        ),
        pytest.param(
            {"topicNames": {"prefix": "{namespace}."}},
            topic("orders", "fast"),
            {"orders": "shop/orders"},
            (
                "InPlace",
                "in place in pool fast: 4 partitions of 2 replicas; 1 partition could move for"
                " balance",
            ),
            id="an-owner-keeps-its-name",
        ),
        pytest.param(
            {"adoption": {"namespaces": ["shop"]}},
            topic("orders", "fast"),
            {},
            (
                "InPlace",
                "in place in pool fast: 4 partitions of 2 replicas; 1 partition could move for"
                " balance",
            ),
            id="a-namespace-that-is-let",
        ),
    ],
)
def test_a_topic_says_what_it_lacks(
    spec: dict[str, Any], wanted: CustomResource, owners: dict[str, str], says: tuple[str, str]
) -> None:
    cluster = kafka_cluster(mode="Apply", **{**STRICT, **spec})
    assert told(cluster, wanted, **owners)[1:] == says


def test_a_topic_whose_owner_is_being_deleted_with_it_is_not_asked_for() -> None:
    going = topic("going", "fast", topicName="orders", deletionPolicy="Delete", deleting=True)
    other = topic("mine", "fast", namespace="evil", topicName="orders")
    objects = (APPROVE, *POOLS, going, other)
    ready = of(ObjectKey("Topic", "evil", "mine"), objects, IN_FAST, orders="shop/going")[
        "conditions"
    ][0]
    assert (ready["reason"], ready["message"]) == (
        "TopicConflict",
        "Kafka topic orders belongs to shop/going, with which it is being deleted; to keep its"
        " data, set spec.deletionPolicy of shop/going to Retain",
    )
    ready = of(going.key, objects, IN_FAST, orders="shop/going")["conditions"][0]
    assert (ready["reason"], ready["message"]) == (
        "Deleting",
        "Kafka topic orders is being deleted",
    )
    what = seen(kafka((IN_FAST,)), orders="shop/going")
    needed = finalizers_needed(status_inputs_of(assemble(objects)["main"], what), False)
    assert needed[ObjectKey("Topic", "shop", "going")], "nobody keeps it from being deleted"


def test_who_approves_a_deletion_is_told_who_else_names_the_topic() -> None:
    going = topic("going", "fast", topicName="orders", deletionPolicy="Delete", deleting=True)
    other = topic("mine", "fast", namespace="evil", topicName="orders")
    objects = (kafka_cluster(mode="Apply", **STRICT), *POOLS, going, other)
    ready = of(going.key, objects, IN_FAST, orders="shop/going")["conditions"][0]
    assert ready["message"].endswith(
        "to delete Kafka topic orders; set spec.deletionPolicy to Retain to delete this Topic and"
        " keep the data; evil/mine names the topic too, and would begin with an empty one"
    )


def test_who_would_lose_the_data_of_a_conflict_is_told_how_to_keep_it() -> None:
    owner = topic("orders", "fast", deletionPolicy="Delete")
    other = topic("mine", "fast", namespace="evil", topicName="orders")
    mine = ObjectKey("Topic", "evil", "mine")
    assert told(APPROVE, owner, other, key=mine, orders="shop/orders")[1:] == (
        "TopicConflict",
        "Kafka topic orders belongs to shop/orders, which declared it first; delete this Topic, or"
        " set spec.deletionPolicy of shop/orders to Retain and then delete that: as it is, the"
        " topic would be deleted with it, and this one would begin empty",
    )


def test_a_topic_that_asked_in_vain_goes_and_leaves_everything() -> None:
    gone = topic("orders", "slow", deletionPolicy="Delete", deleting=True, guarded=True)
    objects = (APPROVE, *POOLS, gone)
    needed = finalizers_needed(
        status_inputs_of(assemble(objects)["main"], seen(kafka((IN_FAST,)))), False
    )
    assert not needed[ORDERS]
    assert told(APPROVE, gone)[1:] == ("Deleting", "its Kafka topic is kept")


def test_the_operator_s_own_namespace_has_the_system_topics() -> None:
    found = assemble((APPROVE, *POOLS, SYSTEM), own_namespace="poolkeeper-system")["main"]
    assert found.desired is not None
    assert found.desired.cluster.system_topics == ("poolkeeper-system",)
    declared = kafka_cluster(**{**STRICT, "systemTopics": {"namespaces": []}})
    found = assemble((declared, *POOLS), own_namespace="poolkeeper-system")["main"]
    assert found.desired is not None
    assert found.desired.cluster.system_topics == ()
