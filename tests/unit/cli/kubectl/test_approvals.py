"""Which hashes a person's words approve, and what is written for them."""

import pytest

from poolkeeper.cli.kubectl import approvals
from poolkeeper.cli.kubectl.approvals import NamedHash
from poolkeeper.errors import Refused


def hash_of(digit: str) -> str:
    return f"sha256:{digit * 64}"


PLAN, HEAL, DRAIN, POOL = map(hash_of, "0123")
PARTS = (
    {"name": "heal", "hash": HEAL, "after": []},
    {"name": "drain", "hash": DRAIN, "after": ["heal"]},
    {"name": "pool/fast", "hash": POOL, "after": ["heal", "drain"]},
)


@pytest.mark.parametrize(
    ("named", "approved", "found"),
    [
        pytest.param((), (), [NamedHash(PLAN, "plan")], id="nothing is the whole plan"),
        pytest.param(("plan",), (), [NamedHash(PLAN, "plan")], id="the whole by its name"),
        pytest.param(("heal",), (), [NamedHash(HEAL, "heal")], id="a part by its name"),
        pytest.param((HEAL,), (), [NamedHash(HEAL, "heal")], id="a part by its hash"),
        pytest.param(("1" * 8,), (), [NamedHash(HEAL, "heal")], id="by eight digits"),
        pytest.param(
            ("drain", "heal"),
            (),
            [NamedHash(DRAIN, "drain"), NamedHash(HEAL, "heal")],
            id="with what comes before it",
        ),
        pytest.param(("drain",), (HEAL,), [NamedHash(DRAIN, "drain")], id="which is approved"),
        pytest.param(("drain",), (PLAN,), [NamedHash(DRAIN, "drain")], id="with all that there is"),
        pytest.param(("heal", "heal"), (), [NamedHash(HEAL, "heal")], id="twice is once"),
    ],
)
def test_what_is_approved(named, approved, found):
    assert list(approvals.approvals_of(PLAN, PARTS, named, approved)) == found


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (("drain",), "drain comes after heal: approve that as well"),
        (("pool/fast",), "pool/fast comes after heal, drain: approve those as well"),
        (("1" * 7,), "no part of the plan that waits"),
        (("balance",), "waiting: plan, heal, drain, pool/fast"),
    ],
)
def test_what_is_refused(named, words):
    with pytest.raises(Refused, match=words):
        approvals.approvals_of(PLAN, PARTS, named, ())


def test_what_is_of_no_plan_at_hand_is_dropped_and_the_rest_stays():
    old, kept = hash_of("9"), HEAL
    spec = {"approval": {"policy": "Manual", "plans": [old, kept], "by": {old: "eve", kept: "ann"}}}
    found = approvals.with_approvals(spec, [NamedHash(DRAIN, "drain")], [PLAN, HEAL, DRAIN], "bob")
    by = {kept: "ann", DRAIN: "bob"}
    assert found == {"policy": "Manual", "plans": [kept, DRAIN], "by": by}


ASKS = hash_of("4")
ADOPTIONS = approvals.adoptions(
    {
        "adoptions": [
            {"namespace": "shop", "hash": ASKS, "topics": 3000},
            {"namespace": "x", "hash": PLAN, "topics": 1},
        ]
    }
)


@pytest.mark.parametrize("plan", [PLAN, ""], ids=["beside a plan", "where no plan waits"])
@pytest.mark.parametrize("name", ["adoption/shop", ASKS, "4" * 8])
def test_what_a_namespace_asks_for_is_approved(plan, name):
    parts = (*PARTS, *ADOPTIONS) if plan else ADOPTIONS
    found = approvals.approvals_of(plan, parts, (name,), ())
    assert found == (NamedHash(ASKS, "adoption/shop"),)


def test_a_namespace_that_asks_for_nothing_is_refused_by_name():
    words = "'adoption/web' is no part .*waiting: adoption/shop, adoption/x"
    with pytest.raises(Refused, match=words):
        approvals.approvals_of("", ADOPTIONS, ("adoption/web",), ())


def test_nobody_asks():
    assert approvals.adoptions({}) == ()


def test_earlier_approvals_stay_where_they_may_still_count():
    spec = {"approval": {"plans": [PLAN], "by": {PLAN: "ann"}}}
    found = approvals.with_approvals(spec, [NamedHash(ASKS, "adoption/shop")], None, "bob")
    assert found == {"plans": [PLAN, ASKS], "by": {PLAN: "ann", ASKS: "bob"}}


def test_who_approved_before_is_not_changed():
    spec = {"approval": {"plans": [PLAN], "by": {PLAN: "ann"}}}
    found = approvals.with_approvals(spec, [NamedHash(PLAN, "plan")], [PLAN], "bob")
    assert found == {"plans": [PLAN], "by": {PLAN: "ann"}}


def test_the_lines_to_commit_are_yaml_with_comments():
    approval = approvals.with_approvals({}, [NamedHash(PLAN, "plan")], [PLAN], "ann")
    assert approvals.lines_to_commit(approval, {PLAN: "plan"}) == [
        "spec:",
        "  approval:",
        "    plans:",
        f"      - {PLAN}  # plan",
    ]
