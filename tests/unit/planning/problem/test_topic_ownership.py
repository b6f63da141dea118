"""Whose word counts for a Kafka topic, and that what is wrong with a resource moves nothing."""

from dataclasses import replace

import pytest

import builders
from builders import pool_spec, topic, topic_spec
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import DeleteTopic, SetConfig
from poolkeeper.model.specs import DeletionPolicy, TopicSpec, UnmanagedTopics
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import PlanOptions, make_plan
from poolkeeper.planning.problem.topic_ownership import TopicOwners, resolve_conflicts, topic_owners
from poolkeeper.planning.proposals import identity
from unit.planning.problem.owned import (
    ASKED,
    FAST,
    ON_FAST,
    OTHERS,
    OURS,
    SLOW,
    asked,
    cluster,
    desired,
    recorded,
)


@pytest.mark.parametrize(
    ("wanted", "records", "expected"),
    [
        pytest.param(
            desired(OURS), recorded(), TopicOwners({"orders": OURS}, frozenset()), id="one-resource"
        ),
        pytest.param(
            desired(OURS, OTHERS),
            recorded(orders="shop/orders"),
            TopicOwners({"orders": OURS}, frozenset()),
            id="the-recorded-owner-of-two",
        ),
        pytest.param(
            desired(OURS, OTHERS),
            recorded(),
            TopicOwners({}, frozenset({"orders"})),
            id="nobody-of-two-without-a-record",
        ),
        pytest.param(
            desired(OURS, OTHERS),
            recorded(orders="gone/away"),
            TopicOwners({}, frozenset({"orders"})),
            id="nobody-of-two-where-a-third-is-recorded",
        ),
        pytest.param(
            desired(OURS, held=(Claim("orders", "bank/mine"),)),
            recorded(),
            TopicOwners({"orders": OURS}, frozenset()),
            id="a-sound-resource-before-one-that-is-not",
        ),
        pytest.param(
            desired(OURS, held=(Claim("orders", "bank/mine"),)),
            recorded(orders="bank/mine"),
            TopicOwners({}, frozenset({"orders"})),
            id="the-recorded-owner-although-it-is-not-sound",
        ),
    ],
)
def test_one_resource_speaks_for_a_topic(
    wanted: Desired, records: Records, expected: TopicOwners
) -> None:
    assert topic_owners(wanted, records) == expected
    assert topic_owners(resolve_conflicts(wanted, records), records) == expected


def test_a_loser_changes_nothing_and_its_rival_is_served() -> None:
    records = recorded(orders="shop/orders")
    alone = make_plan(desired(OURS), ON_FAST, records)
    contested = make_plan(desired(OTHERS, OURS), ON_FAST, records)
    assert {move.topic for move in alone.moves} == {"orders", "audit"}
    assert (contested.moves, contested.steps) == (alone.moves, alone.steps)
    assert check_plan(contested, desired(OTHERS, OURS), ON_FAST, records) == ()
    assert [p.message for p in contested.problems] == [
        "bank/mine declares a topic that shop/orders declares too; delete one of the Topics"
    ]


@pytest.mark.slow
def test_each_of_thousands_that_name_one_topic_is_told_of_a_few_others() -> None:
    mine = [replace(OTHERS, name=f"t{number:04d}") for number in range(3000)]
    plan = make_plan(desired(OURS, *mine), ON_FAST, recorded(orders="shop/orders"))
    messages = {problem.message for problem in plan.problems}
    others = "bank/t0001, bank/t0002, bank/t0003, bank/t0004, bank/t0005 and 2,995 more"
    told = f"bank/t0000 declares a topic that {others} declares too; delete one of the Topics"
    assert (len(messages), told in messages) == (3000, True)


GREEDY = replace(OURS, deletion_policy=DeletionPolicy.DELETE)
STRICT = Adoption(AdoptionPolicy.APPROVE)


@pytest.mark.parametrize(
    ("owner", "adoption", "expected"),
    [
        pytest.param(
            GREEDY,
            STRICT,
            "bank/mine declares a topic that shop/orders declares too; the data goes with"
            " shop/orders: set its spec.deletionPolicy to Retain before it is deleted, or delete"
            " the other Topic",
            id="deleted-with-its-owner",
        ),
        pytest.param(
            OURS,
            STRICT,
            "bank/mine declares a topic that shop/orders declares too; delete one of the Topics",
            id="left-by-its-owner",
        ),
        pytest.param(
            GREEDY,
            Adoption(AdoptionPolicy.OPEN),
            "bank/mine declares a topic that shop/orders declares too; delete one of the Topics",
            id="inherited",
        ),
    ],
)
def test_a_loser_is_told_how_to_keep_the_data(
    owner: TopicSpec, adoption: Adoption, expected: str
) -> None:
    wanted = desired(owner, OTHERS)
    wanted = replace(wanted, cluster=replace(wanted.cluster, adoption=adoption))
    plan = make_plan(wanted, ON_FAST, recorded(orders="shop/orders"))
    assert [problem.message for problem in plan.problems] == [expected]


def test_a_topic_that_goes_with_its_owner_is_told_of_whoever_declares_it() -> None:
    wanted = desired(OTHERS, doomed=(Claim("orders", "shop/orders"),))
    wanted = replace(wanted, cluster=replace(wanted.cluster, adoption=STRICT))
    plan = make_plan(wanted, ON_FAST, recorded(orders="shop/orders"))
    assert [step.topic for step in plan.steps if isinstance(step, DeleteTopic)] == ["orders"]
    assert [problem.message for problem in plan.problems] == [
        "bank/mine declares a topic that is being deleted with shop/orders: it would be created"
        " again, without its data; set spec.deletionPolicy of shop/orders to Retain to keep it"
    ]


def test_a_loser_does_not_even_count_in_the_fingerprint() -> None:
    records = recorded(orders="shop/orders")
    calm = resolve_conflicts(desired(OTHERS, OURS), records)
    assert calm == desired(OURS)
    assert identity.fingerprint(calm, "c1", ()) == identity.fingerprint(desired(OURS), "c1", ())


def test_a_loser_under_a_name_that_metrics_cannot_tell_apart_is_not_created() -> None:
    dotted = replace(OURS, topic="shop.orders")
    scored = replace(OTHERS, topic="shop_orders", partitions=1, replication_factor=1)
    seen = cluster(topic("shop.orders", (1, 2)))
    wanted = desired(scored, dotted)
    records = recorded(shop__orders="shop/orders")
    plan = make_plan(wanted, seen, records)
    assert {move.topic for move in plan.moves} == {"shop.orders"}
    assert plan.steps == ()
    assert check_plan(plan, wanted, seen, records) == ()


@pytest.mark.parametrize("unmanaged", UnmanagedTopics)
@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(desired(held=(Claim("orders", "shop/orders"),)), id="it-cannot-be-acted-on"),
        pytest.param(desired(OURS, OTHERS), id="two-declare-it"),
    ],
)
def test_what_is_wrong_with_a_resource_moves_nothing(
    wanted: Desired, unmanaged: UnmanagedTopics
) -> None:
    drained = replace(FAST, drain=frozenset({1}))
    spec = replace(wanted.cluster, unmanaged_topics=unmanaged)
    wanted = replace(wanted, cluster=spec, pools=(drained, SLOW))
    plan = make_plan(wanted, ON_FAST)
    assert not any(move.topic == "orders" for move in plan.moves)
    assert not any(isinstance(step, SetConfig) for step in plan.steps)
    assert check_plan(plan, wanted, ON_FAST, Records()) == ()


NOWHERE = topic_spec("orders", "nowhere", namespace="evil")
ASTRAY = (Claim("orders", "evil/orders"),)
DRAINED = pool_spec("fast", 1, 2, 5, drain=frozenset({1}), claims=("orders",))


@pytest.mark.parametrize("unmanaged", UnmanagedTopics)
@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(desired(NOWHERE), id="its-pool-is-not-there"),
        pytest.param(desired(astray=ASTRAY), id="its-pool-is-in-no-cluster"),
    ],
)
def test_a_topic_without_a_pool_holds_nothing_of_others(
    wanted: Desired, unmanaged: UnmanagedTopics
) -> None:
    spec = replace(wanted.cluster, unmanaged_topics=unmanaged)
    wanted = replace(wanted, cluster=spec, pools=(DRAINED, SLOW))
    seen = builders.cluster(range(1, 6), *ON_FAST.topics.values())
    plan = make_plan(wanted, seen)
    left = {move.target for move in plan.moves if move.topic == "orders"}
    assert len([move for move in plan.moves if move.topic == "orders"]) == 2
    assert all(set(target) <= {2, 5} for target in left)
    assert check_plan(plan, wanted, seen, Records()) == ()
    assert resolve_conflicts(wanted, Records()) == wanted


@pytest.mark.parametrize("unmanaged", UnmanagedTopics)
@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(desired(NOWHERE), id="its-pool-is-not-there"),
        pytest.param(desired(astray=ASTRAY), id="its-pool-is-in-no-cluster"),
        pytest.param(desired(OTHERS, NOWHERE), id="and-another-declares-it"),
        pytest.param(desired(OTHERS, astray=ASTRAY), id="nowhere-and-another-declares-it"),
    ],
)
def test_the_topic_of_an_owner_without_a_pool_only_leaves_drained_brokers(
    wanted: Desired, unmanaged: UnmanagedTopics
) -> None:
    records = recorded(orders="evil/orders")
    spec = replace(wanted.cluster, unmanaged_topics=unmanaged)
    claimed = replace(SLOW, claims=("orders",))
    for drain, expected in ((frozenset({1}), {(5, 2), (2, 5)}), (frozenset[int](), set())):
        fast = replace(DRAINED, drain=drain, claims=())
        asked = replace(wanted, cluster=spec, pools=(fast, claimed))
        seen = builders.cluster(range(1, 6), *ON_FAST.topics.values())
        plan = make_plan(asked, seen, records)
        assert {m.target for m in plan.moves if m.topic == "orders"} == expected
        assert not any(isinstance(step, SetConfig) for step in plan.steps)
        assert check_plan(plan, asked, seen, records) == ()
        assert "evil/orders" in "".join(p.message for p in plan.problems if p.topic == "orders")


def test_a_topic_that_is_held_is_told_with_who_holds_it() -> None:
    wanted = desired(held=(Claim("orders", "evil/x"),), unmanaged=UnmanagedTopics.IGNORE)
    plan = make_plan(wanted, ON_FAST)
    assert [(p.topic, p.message) for p in plan.problems] == [
        (
            "orders",
            "nothing is done: Topic evil/x cannot be acted on; see its status, and mend or"
            " delete it",
        )
    ]


def test_a_held_topic_that_does_not_exist_is_not_created() -> None:
    wanted = desired(replace(OURS, topic="new", partitions=1, replication_factor=1))
    held = replace(wanted, held=frozenset({Claim("new", "shop/other")}))
    assert make_plan(held, ON_FAST, recorded(new="shop/other")).steps == ()


@pytest.mark.parametrize(
    ("wanted", "records", "expected"),
    [
        pytest.param(asked(OURS), recorded(), (None, False), id="nobody-s-topic"),
        pytest.param(
            asked(OURS), recorded(orders="bank/gone"), (None, False), id="somebody-s-who-is-gone"
        ),
        pytest.param(asked(OURS), recorded(orders="shop/orders"), (OURS, False), id="its-own"),
        pytest.param(asked(OURS), recorded(orders="shop/old"), (OURS, False), id="its-namespace-s"),
        pytest.param(asked(OURS, OTHERS), recorded(), (None, False), id="two-ask"),
        pytest.param(
            asked(OURS, OTHERS), recorded(orders="bank/old"), (OTHERS, False), id="the-nearer"
        ),
        pytest.param(
            asked(OURS, held=(Claim("orders", "bank/mine"),)),
            recorded(orders="bank/mine"),
            (None, True),
            id="its-owner-cannot-be-acted-on",
        ),
        pytest.param(
            asked(held=(Claim("orders", "bank/mine"),)),
            recorded(),
            (None, False),
            id="who-cannot-be-acted-on-holds-nothing-of-others",
        ),
        pytest.param(
            asked(OURS, held=(Claim("orders", "bank/mine"),)),
            recorded(orders="bank/old"),
            (None, True),
            id="nor-does-another-get-what-its-namespace-owned",
        ),
    ],
)
def test_a_name_alone_gives_nothing_that_exists(
    wanted: Desired, records: Records, expected: tuple[TopicSpec | None, bool]
) -> None:
    for declared in (wanted, resolve_conflicts(wanted, records, ON_FAST)):
        owners = topic_owners(declared, records, ON_FAST)
        assert (owners.specs.get("orders"), "orders" in owners.held) == expected


@pytest.mark.parametrize("unmanaged", UnmanagedTopics)
@pytest.mark.parametrize("records", [recorded(), recorded(orders="bank/gone")])
@pytest.mark.parametrize("claims", [(), (Claim("orders", "shop/orders"),)])
def test_who_has_no_right_to_a_topic_changes_nothing(
    unmanaged: UnmanagedTopics, records: Records, claims: tuple[Claim, ...]
) -> None:
    grasping = replace(OURS, config={"retention.ms": "1"}, deletion_policy=DeletionPolicy.DELETE)
    cluster_spec = replace(ASKED, unmanaged_topics=unmanaged)
    drained = (replace(FAST, drain=frozenset({1})), SLOW)
    without = replace(asked(), cluster=cluster_spec, pools=drained)
    grasped = replace(asked(grasping, doomed=claims), cluster=cluster_spec, pools=drained)
    for prune in (False, True):
        calm = make_plan(without, ON_FAST, records, options=PlanOptions(prune))
        plan = make_plan(grasped, ON_FAST, records, options=PlanOptions(prune))
        assert (plan.moves, plan.steps) == (calm.moves, calm.steps)
        assert check_plan(plan, grasped, ON_FAST, records) == ()


def test_the_audit_refuses_what_is_done_for_somebody_without_a_right() -> None:
    trusting = desired(replace(OURS, config={"retention.ms": "1"}))
    plan = make_plan(trusting, ON_FAST)
    assert {step.topic for step in plan.steps if isinstance(step, SetConfig)} == {"orders"}
    wanted = replace(trusting, cluster=ASKED)
    told = {v.message for v in check_plan(plan, wanted, ON_FAST, Records()) if v.topic == "orders"}
    assert "retention.ms=1 is not declared" in told
