"""`apply` beside an active operator: which plan it confirms there, and what becomes of that."""

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conditions import until
from poolkeeper.cli.commands.plans import operator_approval
from poolkeeper.model.plans import Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal, pending_plan
from poolkeeper.zk.journal.journal import Journal
from real.bare import AS_IT_IS, GROWING, POOL, Bare
from real.support import assignment, command, create, declare, run


@pytest.fixture
def operator(bare: Bare, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    """The journal of an operator that is active, and not waited for."""
    monkeypatch.setattr(operator_approval, "BEGIN_WITHIN_S", 0)
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
    assert f"`poolkeeper show {other.hash} -f {bare.folder}`" in ran.err
    pending_plan.remember(operator, plan)
    ran = run("apply", "-f", bare.folder, "--plan", file, "--yes")
    assert (ran.code, approved(operator)) == (0, {plan.hash})


def test_what_was_asked_before_the_policy_was_auto_refuses_nothing(bare, operator):
    other, _ = planned(bare, AS_IT_IS, POOL | {"drain": [3]})
    plan, file = planned(bare, GROWING, policy="Auto")
    pending_plan.remember(operator, other)
    ran = run("apply", "-f", bare.folder, "--plan", file, "--yes")
    assert (ran.code, approved(operator)) == (0, {plan.hash})


@pytest.mark.parametrize("from_file", [False, True])
@pytest.mark.parametrize("policy", ["Manual", "Auto"])
def test_deletions_for_prune_are_refused_beside_an_operator(bare, monkeypatch, policy, from_file):
    """It never deletes what no manifest declares, and would be said to have done it."""
    monkeypatch.setattr(operator_approval, "BEGIN_WITHIN_S", 0)
    approval, file = {"policy": policy}, bare.folder.parent / "plan.json"
    bare.declare(AS_IT_IS | {"deletionPolicy": "Delete"}, approval=approval)
    assert run("apply", "-f", bare.folder, "--yes").code == 0
    declare(bare.folder, bare.connect, {"p": POOL}, {}, approval=approval)
    assert run("plan", "-f", bare.folder, "--prune", "--out", file).code == 2
    words = ("--plan", file) if from_file else ("--prune",)
    with (
        Session.open(bare.connect) as session,
        journal.hold(session, "run", 0, patience_s=5) as held,
    ):
        ran = run("apply", "-f", bare.folder, *words, "--yes")
        assert (ran.code, approved(held)) == (1, set())
        assert "deletes no topic whose manifest is gone (t)" in ran.err


def test_an_operator_that_does_not_begin_the_plan_is_told_of(bare, operator):
    plan, file = planned(bare, GROWING)
    ran = run("apply", "-f", bare.folder, "--plan", file, "--yes")
    assert f"approved {plan.hash}; poolkeeper run on" in ran.out
    assert "has not begun it yet" in ran.out
    assert f"`poolkeeper status -f {bare.folder}` tells what it waits for" in ran.err
    told = run("status", "-f", bare.folder)
    assert f"approved    {plan.hash}, which is not begun yet" in told.out
    ran = run("apply", "-f", bare.folder, "--plan", file, "--yes", "--output", "json")
    assert (json.loads(ran.out)["state"], json.loads(ran.out)["begun"]) == ("handed over", False)


def test_an_operator_that_does_what_was_approved_is_named(bare, operator, monkeypatch):
    monkeypatch.setattr(operator_approval, "BEGIN_WITHIN_S", 60)
    _, file = planned(bare, GROWING)

    def execute() -> None:
        until(lambda: approved(operator), "the approval is there", 60)
        operator.forget_approvals()

    with ThreadPoolExecutor() as threads:
        executed = threads.submit(execute)
        ran = run("apply", "-f", bare.folder, "--plan", file, "--yes", "--output", "json")
        executed.result(60)
    assert (ran.code, json.loads(ran.out)["begun"]) == (0, True)


def test_an_approval_for_an_operator_that_was_killed_is_carried_out(kafka, topic_name, tmp_path):
    sandbox = kafka()
    create(sandbox, topic_name, (1, 2))
    pools = {"p": {"brokers": {"ids": [2, 3]}}}
    topics = {topic_name: {"pool": "p", "partitions": 1, "replicationFactor": 2}}
    manual = {"mode": "Apply", "approval": {"policy": "Manual"}}
    declare(tmp_path, sandbox, pools, topics, **manual)
    operator = subprocess.Popen(
        command("run", "-f", tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        with Session.open(sandbox.connect) as session:
            until(lambda: pending_plan.read_if_whole(session), "it asks for approval", 60)
    finally:
        operator.kill()
        print(operator.communicate(timeout=60)[0])
    ran = run("apply", "-f", tmp_path, "--yes")
    assert ran.code == 0, ran.out + ran.err
    assert "is gone: the plan is carried out here" in ran.err
    assert set(assignment(sandbox, topic_name)[0]) == {2, 3}
