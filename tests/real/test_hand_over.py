"""`apply` beside an active operator: which plan it confirms there, and which it does not."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from poolkeeper.model.plans import Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal, pending_plan
from poolkeeper.zk.journal.journal import Journal
from real.bare import AS_IT_IS, GROWING, POOL, Bare
from real.support import run


@pytest.fixture
def operator(bare: Bare) -> Iterator[Journal]:
    """The journal of an operator that is active."""
    with (
        Session.open(bare.connect) as session,
        journal.hold(session, "run", 0, patience_s=5) as held,
    ):
        yield held


def planned(bare: Bare, *declared: dict, policy: str = "Manual") -> tuple[Plan, Path]:
    bare.declare(*declared, approval={"policy": policy})
    file = bare.folder.parent / "plan.json"
    assert run("plan", "-f", bare.folder, "--out", file).code == 2
    return plan_json.from_json(json.loads(file.read_text()), str(file)), file


def approved(operator: Journal) -> set[str]:
    return set(journal.read_approvals(operator.session))


def test_a_plan_from_a_file_is_refused_while_the_operator_asks_about_another(bare, operator):
    other, _ = planned(bare, AS_IT_IS, POOL | {"drain": [3]})
    plan, file = planned(bare, GROWING)
    pending_plan.remember(operator, other)
    ran = run("apply", "-f", bare.folder, "--plan", file, "--yes")
    assert (ran.code, approved(operator)) == (1, set())
    assert f"the active operator asks about another plan, {other.hash}" in ran.err
    pending_plan.remember(operator, plan)
    ran = run("apply", "-f", bare.folder, "--plan", file, "--yes")
    assert (ran.code, approved(operator)) == (0, {plan.hash})


def test_what_was_asked_before_the_policy_was_auto_refuses_nothing(bare, operator):
    other, _ = planned(bare, AS_IT_IS, POOL | {"drain": [3]})
    plan, file = planned(bare, GROWING, policy="Auto")
    pending_plan.remember(operator, other)
    ran = run("apply", "-f", bare.folder, "--plan", file, "--yes")
    assert (ran.code, approved(operator)) == (0, {plan.hash})
