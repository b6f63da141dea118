"""Topics whose recorded owner is a Topic in a namespace that the operator does not watch.

Whether that Topic is still there nobody can see, nor what it declares.
"""

from dataclasses import replace

import pytest

import builders
from builders import pool_spec, topic, topic_spec
from poolkeeper.model.desired import Claim, Desired, WatchedNamespaces
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import TopicSpec, UnmanagedTopics
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import PlanOptions, make_plan
from poolkeeper.planning.problem.adoption_requests import adoption_requests
from poolkeeper.planning.problem.topic_ownership import resolve_conflicts, topic_owners
from poolkeeper.planning.proposals import identity
from unit.planning.problem.owned import ON_FAST, OURS, SLOW, desired, recorded

SHOP = WatchedNamespaces(frozenset({"shop"}))
EVERYWHERE = WatchedNamespaces()
BILLS = recorded(orders="bank/bills")
FAST = pool_spec("fast", 1, 2, 5)
SEEN = builders.cluster(range(1, 6), *ON_FAST.topics.values())
ADOPTIONS = [
    pytest.param(Adoption(policy, *lists), id=f"{policy}-{lists}")
    for policy in AdoptionPolicy
    for lists in ((), (("shop",),), (None, ("orders",)))
]


def seen_in(
    watched: WatchedNamespaces | None, *specs: TopicSpec, **claims: tuple[Claim, ...]
) -> Desired:
    """What is declared where Topics of these namespaces are seen, without brokers to be rid of."""
    return replace(desired(*specs, **claims), pools=(FAST, SLOW), watched=watched)


def moves_of_orders(wanted: Desired, records: Records) -> set[tuple[int, ...]]:
    plan = make_plan(wanted, SEEN, records)
    assert check_plan(plan, wanted, SEEN, records) == ()
    return {move.target for move in plan.moves if move.topic == "orders"}


@pytest.mark.parametrize(
    ("watched", "records", "moves"),
    [
        pytest.param(SHOP, BILLS, False, id="its-owner-is-not-watched"),
        pytest.param(EVERYWHERE, BILLS, True, id="all-is-watched-so-its-owner-is-gone"),
        pytest.param(None, BILLS, True, id="a-folder-knows-no-watching"),
        pytest.param(SHOP, recorded(orders="shop/old"), True, id="its-owner-is-gone"),
        pytest.param(SHOP, Records(), True, id="nobody-owned-it"),
        pytest.param(
            SHOP,
            Records("c1", {"orders": TopicRecord("bank/bills", released=True)}),
            True,
            id="its-owner-released-it",
        ),
        pytest.param(
            SHOP,
            Records("c1", {"orders": TopicRecord("bank/bills", topic_id="x", created_zxid=7)}),
            True,
            id="it-is-another-topic-than-its-owner-had",
        ),
    ],
)
def test_a_topic_goes_to_the_default_pool_unless_its_owner_is_not_watched(
    watched: WatchedNamespaces | None, records: Records, moves: bool
) -> None:
    orders = replace(SEEN.topics["orders"], topic_id="y", created_zxid=8)
    seen = replace(SEEN, topics={**SEEN.topics, "orders": orders})
    wanted = seen_in(watched)
    plan = make_plan(wanted, seen, records)
    assert check_plan(plan, wanted, seen, records) == ()
    assert any(move.topic == "orders" for move in plan.moves) is moves
    told = {p.reason for p in plan.problems if p.topic == "orders"}
    assert (ProblemReason.NAMESPACE_NOT_WATCHED in told) is not moves


@pytest.mark.parametrize("unmanaged", UnmanagedTopics)
@pytest.mark.parametrize("claims", [(), ("orders",)])
def test_it_only_leaves_drained_brokers_whoever_claims_it(
    unmanaged: UnmanagedTopics, claims: tuple[str, ...]
) -> None:
    for drain, expected in ((frozenset({1}), {(5, 2), (2, 5)}), (frozenset[int](), set())):
        wanted = seen_in(SHOP)
        spec = replace(wanted.cluster, unmanaged_topics=unmanaged)
        pools = (replace(FAST, drain=drain), replace(SLOW, claims=claims))
        assert moves_of_orders(replace(wanted, cluster=spec, pools=pools), BILLS) == expected


def test_it_is_told_what_to_do() -> None:
    (told,) = (p for p in make_plan(seen_in(SHOP), SEEN, BILLS).problems if p.topic == "orders")
    assert (told.pool, told.message) == (
        "",
        "it only leaves drained and gone brokers: its owner is a Topic of namespace bank, which is"
        " not watched; watch it again (--watch-namespace, in the chart watchNamespaces), or declare"
        " the topic in a namespace that is watched and approve that it is taken over",
    )


@pytest.mark.parametrize("adoption", ADOPTIONS)
def test_others_get_it_only_as_a_person_approves(adoption: Adoption) -> None:
    wanted = seen_in(SHOP, OURS)
    wanted = replace(wanted, cluster=replace(wanted.cluster, adoption=adoption))
    for declared in (wanted, resolve_conflicts(wanted, BILLS, SEEN)):
        owners = topic_owners(declared, BILLS, SEEN)
        assert (dict(owners.specs), owners.unwatched) == ({}, {"orders"})
    assert moves_of_orders(wanted, BILLS) == set()
    requests = adoption_requests(wanted, SEEN, BILLS, topic_owners(wanted, BILLS, SEEN))
    closed = adoption.policy is AdoptionPolicy.NONE and adoption.namespaces is None
    closed = closed and adoption.topics is None
    asked = [named.topic for each in requests for named in each.topics]
    assert asked == ([] if closed else ["orders"])
    taken = recorded(orders="shop/orders")
    assert topic_owners(wanted, taken, SEEN).specs == {"orders": OURS}


def test_no_invalid_topic_frees_it_and_nothing_deletes_it() -> None:
    for claims in (
        {"held": (Claim("orders", "shop/orders"),)},
        {"astray": (Claim("orders", "shop/orders"),)},
        {"doomed": (Claim("orders", "shop/orders"), Claim("orders", "bank/other"))},
    ):
        wanted = seen_in(SHOP, **claims)
        assert moves_of_orders(wanted, BILLS) == set()
        assert make_plan(wanted, SEEN, BILLS, options=PlanOptions(prune=True)).steps == ()


def test_the_name_of_a_topic_that_is_gone_is_free() -> None:
    new = topic_spec("new", "slow", partitions=1, replication_factor=1)
    wanted, records = seen_in(SHOP, new), recorded(new="bank/new")
    plan = make_plan(wanted, SEEN, records)
    assert [step.topic for step in plan.steps] == ["new"]
    assert check_plan(plan, wanted, SEEN, records) == ()


def test_unreadable_topics_are_held_for_it_too() -> None:
    for where in ("torn", "deleting"):
        seen = replace(builders.cluster(range(1, 6), topic("audit", (1,))), **{where: {"orders"}})
        wanted = seen_in(SHOP, OURS)
        assert topic_owners(wanted, BILLS, seen).specs == {}
        plan = make_plan(wanted, seen, BILLS)
        assert check_plan(plan, wanted, seen, BILLS) == ()


def test_watching_is_no_part_of_what_a_plan_is_made_from() -> None:
    made = {
        identity.fingerprint(seen_in(watched, OURS), "c1", ())
        for watched in (None, SHOP, EVERYWHERE)
    }
    assert len(made) == 1
