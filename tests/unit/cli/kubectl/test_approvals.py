"""Which hashes a person's words approve, and what is written for them."""

import pytest

from poolkeeper.cli.kubectl import approvals
from poolkeeper.cli.kubectl.approvals import Approval
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
        pytest.param((), (), [Approval(PLAN, "plan")], id="nothing is the whole plan"),
        pytest.param(("plan",), (), [Approval(PLAN, "plan")], id="the whole by its name"),
        pytest.param(("heal",), (), [Approval(HEAL, "heal")], id="a part by its name"),
        pytest.param((HEAL,), (), [Approval(HEAL, "heal")], id="a part by its hash"),
        pytest.param(("1" * 8,), (), [Approval(HEAL, "heal")], id="by eight digits"),
        pytest.param(
            ("drain", "heal"),
            (),
            [Approval(DRAIN, "drain"), Approval(HEAL, "heal")],
            id="with what comes before it",
        ),
        pytest.param(("drain",), (HEAL,), [Approval(DRAIN, "drain")], id="which is approved"),
        pytest.param(("drain",), (PLAN,), [Approval(DRAIN, "drain")], id="with all that there is"),
        pytest.param(("heal", "heal"), (), [Approval(HEAL, "heal")], id="twice is once"),
    ],
)
def test_what_is_approved(named, approved, found):
    assert list(approvals.chosen(PLAN, PARTS, named, approved)) == found


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
        approvals.chosen(PLAN, PARTS, named, ())


def test_what_is_of_no_plan_at_hand_is_dropped_and_the_rest_stays():
    old, kept = hash_of("9"), HEAL
    spec = {"approval": {"policy": "Manual", "plans": [old, kept], "by": {old: "eve", kept: "ann"}}}
    found = approvals.with_approvals(spec, [Approval(DRAIN, "drain")], [PLAN, HEAL, DRAIN], "bob")
    by = {kept: "ann", DRAIN: "bob"}
    assert found == {"policy": "Manual", "plans": [kept, DRAIN], "by": by}


def test_who_approved_before_is_not_changed():
    spec = {"approval": {"plans": [PLAN], "by": {PLAN: "ann"}}}
    found = approvals.with_approvals(spec, [Approval(PLAN, "plan")], [PLAN], "bob")
    assert found == {"plans": [PLAN], "by": {PLAN: "ann"}}


def test_the_lines_to_commit_are_yaml_with_comments():
    approval = approvals.with_approvals({}, [Approval(PLAN, "plan")], [PLAN], "ann")
    assert approvals.lines_to_commit(approval, {PLAN: "plan"}) == [
        "spec:",
        "  approval:",
        "    plans:",
        f"      - {PLAN}  # plan",
    ]
