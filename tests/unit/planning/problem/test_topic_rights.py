"""Which Topics have a right to the Kafka topic that they name."""

from dataclasses import replace

import pytest

import builders
from builders import cluster_spec, topic
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.model.topology import Topic
from poolkeeper.planning.problem.topic_rights import Right, TopicsFound, right_of

APPROVE, OPEN, NONE = AdoptionPolicy.APPROVE, AdoptionPolicy.OPEN, AdoptionPolicy.NONE


def live(name: str, topic_id: str | None = None, zxid: int | None = None) -> Topic:
    return replace(topic(name, (1,), topic_id=topic_id), created_zxid=zxid)


def right(
    name: str = "orders",
    owner: str = "shop/orders",
    *,
    there: Topic | None = None,
    record: TopicRecord | None = None,
    **spec: object,
) -> Right:
    """The right to a topic that is there, unless `there` is another one."""
    found = builders.cluster((1,), live(name) if there is None else there)
    records = Records("c", {} if record is None else {name: record})
    declared = cluster_spec(**{"adoption": Adoption(APPROVE), **spec})
    return right_of(declared, TopicsFound(found, records), name, owner)


@pytest.mark.parametrize(
    ("record", "there", "expected"),
    [
        pytest.param("shop/orders", live("orders"), Right.OWNER, id="its-own"),
        pytest.param("shop/orders", live("other"), Right.OWNER, id="its-own-that-is-gone"),
        pytest.param("shop/old", live("orders"), Right.NAMESPACE, id="another-of-its-namespace"),
        pytest.param("shop/old", live("other"), Right.NEW, id="gone-and-free"),
        pytest.param("shop-eu/orders", live("orders"), Right.UNAPPROVED, id="another-namespace"),
        pytest.param(None, live("orders"), Right.UNAPPROVED, id="nobody-s"),
        pytest.param(None, live("other"), Right.NEW, id="not-there"),
    ],
)
def test_records_give_rights(record: str | None, there: Topic, expected: Right) -> None:
    known = None if record is None else TopicRecord(record)
    assert right(there=there, record=known) is expected


@pytest.mark.parametrize(
    ("record", "there", "expected"),
    [
        pytest.param((None, None), ("id", 5), Right.OWNER, id="recorded-by-an-earlier-release"),
        pytest.param(("id", 5), ("id", 5), Right.OWNER, id="the-same"),
        pytest.param(("id", 5), ("id", 9), Right.OWNER, id="the-ensemble-was-copied"),
        pytest.param((None, 5), ("id", 5), Right.OWNER, id="got-an-id-since"),
        pytest.param(("id", 5), (None, None), Right.OWNER, id="a-snapshot-does-not-tell"),
        pytest.param(("id", 5), ("new", 9), Right.UNAPPROVED, id="created-again"),
        pytest.param((None, 5), (None, 9), Right.UNAPPROVED, id="created-again-without-ids"),
        pytest.param((None, 5), ("new", 9), Right.UNAPPROVED, id="created-again-and-got-an-id"),
    ],
)
def test_a_record_is_about_one_topic(
    record: tuple[str | None, int | None], there: tuple[str | None, int | None], expected: Right
) -> None:
    known = TopicRecord("shop/orders", (), topic_id=record[0], created_zxid=record[1])
    assert right(there=live("orders", *there), record=known) is expected
    if expected is not Right.OWNER:
        assert right(owner="shop/new", there=live("orders", *there), record=known) is expected


@pytest.mark.parametrize(
    ("adoption", "expected"),
    [
        pytest.param(Adoption(), Right.ALLOWED, id="nothing-declared-as-in-folders"),
        pytest.param(Adoption(OPEN), Right.ALLOWED, id="open"),
        pytest.param(Adoption(APPROVE), Right.UNAPPROVED, id="approve"),
        pytest.param(Adoption(NONE), Right.CLOSED, id="none"),
        pytest.param(Adoption(APPROVE, ("shop",)), Right.ALLOWED, id="a-namespace"),
        pytest.param(Adoption(NONE, ("shop",)), Right.ALLOWED, id="none-but-a-namespace"),
        pytest.param(Adoption(APPROVE, ("shop-eu",)), Right.UNAPPROVED, id="another-namespace"),
        pytest.param(Adoption(OPEN, ("bank",)), Right.UNAPPROVED, id="open-for-others"),
        pytest.param(Adoption(OPEN, ()), Right.UNAPPROVED, id="open-for-nobody"),
        pytest.param(Adoption(NONE, ("bank",)), Right.CLOSED, id="none-but-another"),
        pytest.param(Adoption(APPROVE, None, ("ord.*",)), Right.ALLOWED, id="a-topic"),
        pytest.param(Adoption(APPROVE, None, ("ord",)), Right.UNAPPROVED, id="not-the-whole-name"),
        pytest.param(Adoption(APPROVE, ("shop",), ("a",)), Right.UNAPPROVED, id="both-must-match"),
    ],
)
def test_the_cluster_says_who_takes_over_what_exists(adoption: Adoption, expected: Right) -> None:
    assert right(adoption=adoption) is expected


@pytest.mark.parametrize(
    ("name", "namespace", "expected"),
    [
        pytest.param("shop.orders", "shop", Right.NEW, id="its-prefix"),
        pytest.param("shop-eu.orders", "shop", Right.FOREIGN_NAME, id="a-longer-namespace"),
        pytest.param("shop.orders", "shop-eu", Right.FOREIGN_NAME, id="a-shorter-namespace"),
        pytest.param("shoporders", "shop", Right.FOREIGN_NAME, id="no-dot"),
        pytest.param("shop", "shop", Right.FOREIGN_NAME, id="only-the-namespace"),
        pytest.param("Shop.orders", "shop", Right.FOREIGN_NAME, id="another-case"),
        pytest.param("_schemas", "shop", Right.SYSTEM_NAME, id="a-system-topic"),
        pytest.param("_shop.orders", "shop", Right.SYSTEM_NAME, id="a-prefix-after-the-mark"),
        pytest.param("_schemas", "ops", Right.NEW, id="a-system-topic-of-the-platform"),
        pytest.param("orders", "ops", Right.FOREIGN_NAME, id="the-platform-has-a-prefix-too"),
    ],
)
@pytest.mark.parametrize("exists", [False, True], ids=["new", "existing"])
def test_names_are_of_namespaces(name: str, namespace: str, expected: Right, exists: bool) -> None:
    rules = {"topic_prefix": "{namespace}.", "system_topics": ("ops",)}
    there = live(name if exists else "other")
    found = right(name, f"{namespace}/t", there=there, adoption=Adoption(OPEN), **rules)
    assert found is (Right.ALLOWED if exists and expected is Right.NEW else expected)
    owned = TopicRecord(f"{namespace}/t")
    assert right(name, f"{namespace}/t", record=owned, **rules) is Right.OWNER


@pytest.mark.parametrize("how", ["torn", "deleting", "damaged"])
def test_a_topic_that_cannot_be_read_exists(how: str) -> None:
    named = {"t": "why"} if how == "damaged" else frozenset({"t"})
    found = TopicsFound(builders.cluster((1,), **{how: named}), Records())
    declared = cluster_spec(adoption=Adoption(APPROVE))
    assert right_of(declared, found, "t", "shop/t") is Right.UNAPPROVED
