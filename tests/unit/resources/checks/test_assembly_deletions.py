"""What counts of resources that are being deleted, and who gets what they had."""

import pytest

from poolkeeper.model.desired import Claim
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.checks.verdicts import Verdict
from unit.resources.bodies import assembly, kafka_cluster, pool, topic, verdicts

MAIN = kafka_cluster()
FAST = pool("fast", 1, 2, 3)
ORDERS = topic("orders", "fast")


@pytest.mark.parametrize(
    ("policy", "doomed"),
    [
        pytest.param("Delete", {Claim("orders", "shop/orders")}, id="it-says-delete"),
        pytest.param("Retain", set(), id="it-says-retain"),
    ],
)
def test_a_topic_that_is_being_deleted_is_no_longer_declared(
    policy: str, doomed: set[Claim]
) -> None:
    going = topic("orders", "fast", deleting=True, deletionPolicy=policy)
    found = assembly(MAIN, FAST, going)
    assert found.desired is not None
    assert (found.desired.topics, found.desired.held) == ((), frozenset())
    assert found.desired.doomed == doomed


def test_nothing_is_doomed_by_the_removal_of_our_definitions() -> None:
    going = topic("orders", "fast", deleting=True, deletionPolicy="Delete")
    found = assemble((MAIN, FAST, ORDERS, going), abandoned="definitions are being removed")["main"]
    assert found.abandoned
    assert found.desired is not None
    assert found.desired.doomed == frozenset()


def test_a_wrong_topic_that_is_being_deleted_dooms_nothing() -> None:
    going = topic(
        "orders", "fast", deleting=True, deletionPolicy="Delete", config={"no.such.key": "1"}
    )
    found = assembly(MAIN, FAST, going)
    assert found.desired is not None
    assert (found.desired.held, found.desired.doomed) == (frozenset(), frozenset())


def test_a_pool_that_is_being_deleted_counts_until_it_is_gone() -> None:
    found = assembly(MAIN, pool("fast", 1, 2, 3, deleting=True), ORDERS)
    assert found.desired is not None
    assert [p.name for p in found.desired.pools] == ["fast"]
    assert [t.topic for t in found.desired.topics] == ["orders"]


def test_a_pool_that_is_being_deleted_gives_its_brokers_to_the_pool_that_names_them() -> None:
    """As where a pool is renamed: who still names the old one keeps nobody in the new waiting."""
    old = pool("fast", 1, 2, 3, deleting=True)
    late, moved = topic("late", "fast"), topic("moved", "quick")
    going = topic("going", "fast", deleting=True, deletionPolicy="Delete")
    found = assembly(MAIN, old, pool("quick", 1, 2, 3), late, moved, going)
    assert found.desired is not None
    assert [p.name for p in found.desired.pools] == ["quick"]
    assert [t.topic for t in found.desired.topics] == ["moved"]
    assert (found.desired.held, found.desired.astray) == (set(), {Claim("late", "shop/late")})
    assert found.desired.doomed == {Claim("going", "shop/going")}
    assert verdicts(found) == {
        "Topic shop/late": Verdict(
            "NoSuchPool",
            "spec.poolRef: ResourcePool fast is being deleted, its brokers are those of quick now;"
            " name another pool",
        )
    }


@pytest.mark.parametrize(
    ("brokers", "whose"),
    [
        pytest.param((3, 4), "broker 3 of it belongs to quick now", id="one"),
        pytest.param((2, 3, 4), "brokers 2, 3 of it belong to quick now", id="two"),
        pytest.param((1, 2, 3, 4), "its brokers are those of quick now", id="all"),
    ],
)
def test_a_topic_of_a_pool_that_is_being_deleted_is_told_which_brokers_others_have(
    brokers: tuple[int, ...], whose: str
) -> None:
    late = topic("late", "fast")
    old, new = pool("fast", 1, 2, 3, deleting=True), pool("quick", *brokers)
    assert verdicts(assembly(MAIN, old, new, late))["Topic shop/late"].message == (
        f"spec.poolRef: ResourcePool fast is being deleted, {whose}; name another pool"
    )
