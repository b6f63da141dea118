"""Which topics a plan deletes: those of owners that go or are gone, and nobody else's."""

from dataclasses import replace

import pytest

from builders import topic
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.plans import DeleteTopic
from poolkeeper.model.specs import DeletionPolicy
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import make_plan
from unit.planning.problem.owned import ON_FAST, OTHERS, OURS, asked, cluster, desired, recorded


@pytest.mark.parametrize(
    ("wanted", "records", "deleted"),
    [
        pytest.param(
            desired(doomed=(Claim("orders", "shop/orders"),)),
            recorded(orders="shop/orders"),
            ["orders"],
            id="its-recorded-owner-goes-and-says-so",
        ),
        pytest.param(
            desired(doomed=(Claim("orders", "bank/mine"),)),
            recorded(orders="shop/orders"),
            [],
            id="not-for-the-loser-of-a-conflict",
        ),
        pytest.param(
            desired(doomed=(Claim("orders", "shop/orders"),)),
            recorded(),
            [],
            id="not-without-a-record",
        ),
        pytest.param(
            desired(OTHERS, doomed=(Claim("orders", "shop/orders"),)),
            recorded(orders="shop/orders"),
            [],
            id="not-while-another-declares-it",
        ),
        pytest.param(
            desired(held=(Claim("orders", "bank/mine"),), doomed=(Claim("orders", "shop/orders"),)),
            recorded(orders="shop/orders"),
            [],
            id="not-while-another-names-it-wrongly",
        ),
        pytest.param(
            desired(
                astray=(Claim("orders", "bank/mine"),), doomed=(Claim("orders", "shop/orders"),)
            ),
            recorded(orders="shop/orders"),
            ["orders"],
            id="also-while-another-names-it-that-has-no-pool",
        ),
        pytest.param(
            desired(),
            Records("c1", {"orders": TopicRecord("shop/orders", (), DeletionPolicy.DELETE)}),
            [],
            id="not-because-its-resource-is-absent",
        ),
    ],
)
def test_only_a_topic_that_is_being_deleted_now_is_deleted(
    wanted: Desired, records: Records, deleted: list[str]
) -> None:
    plan = make_plan(wanted, ON_FAST, records)
    assert [s.topic for s in plan.steps if isinstance(s, DeleteTopic)] == deleted
    assert check_plan(plan, wanted, ON_FAST, records) == ()
    if deleted:
        assert not any(move.topic in deleted for move in plan.moves)


@pytest.mark.parametrize(
    ("wanted", "records", "deleted"),
    [
        pytest.param(
            asked(OURS, doomed=(Claim("orders", "bank/mine"),)),
            recorded(orders="bank/mine"),
            ["orders"],
            id="whoever-else-names-it",
        ),
        pytest.param(
            asked(held=(Claim("orders", "shop/x"),), doomed=(Claim("orders", "bank/mine"),)),
            recorded(orders="bank/mine"),
            ["orders"],
            id="whoever-else-names-it-wrongly",
        ),
        pytest.param(
            asked(OURS, doomed=(Claim("orders", "shop/old"),)),
            recorded(orders="shop/old"),
            [],
            id="not-while-another-of-the-namespace-declares-it",
        ),
        pytest.param(
            desired(doomed=(Claim("orders", "shop/orders"),)),
            Records("c1", {"orders": TopicRecord("shop/orders", (), topic_id="another")}),
            [],
            id="not-one-that-was-created-again",
        ),
    ],
)
def test_an_owner_deletes_its_topic(wanted: Desired, records: Records, deleted: list[str]) -> None:
    seen = cluster(topic("orders", (1, 2), topic_id="one"))
    plan = make_plan(wanted, seen, records)
    assert [s.topic for s in plan.steps if isinstance(s, DeleteTopic)] == deleted
    assert check_plan(plan, wanted, seen, records) == ()


def test_a_topic_that_was_created_again_is_deleted_by_no_plan() -> None:
    doomed = desired(doomed=(Claim("orders", "shop/orders"),))
    records = recorded(orders="shop/orders")
    plan = make_plan(doomed, ON_FAST, records)
    of_another = {"orders": TopicRecord("shop/orders", (), created_zxid=5)}
    orders = replace(ON_FAST.topics["orders"], created_zxid=6)
    seen = replace(ON_FAST, topics={**ON_FAST.topics, "orders": orders})
    told = check_plan(plan, doomed, seen, replace(records, topics=of_another))
    assert "its ownership record does not say Delete" in {v.message for v in told}


def test_no_plan_deletes_what_is_held() -> None:
    doomed = desired(doomed=(Claim("orders", "shop/orders"),))
    records = recorded(orders="shop/orders")
    plan = make_plan(doomed, ON_FAST, records)
    held = replace(doomed, held=frozenset({Claim("orders", "bank/mine")}))
    assert "a Topic declares it" in {v.message for v in check_plan(plan, held, ON_FAST, records)}
