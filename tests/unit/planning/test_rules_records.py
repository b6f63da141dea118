"""Whoever asks in which pool a topic lives says what is recorded of its owner.

Without records a Topic has nothing that exists, or any of several that name it has: the laws of
another pool would hold for the topic, or none. `NOTHING_RECORDED` is for tests.
"""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import builders
from builders import pool_spec, topic, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.planning.diagnosis.remaining_capacity import remaining_capacities
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.staging import next_stage
from poolkeeper.report.plan_report import plan_markdown

CODE = Path(__file__).parents[3] / "operator" / "poolkeeper"
ASKS = {
    "Rules": 4,
    "next_stage": 0,
    "predict": 0,
    "with_stages": 0,
    "excesses": 5,
    "assert_lawful": 6,
    "assert_lawful_stage": 6,
    "remaining_capacities": 5,
    "plan_page": 0,
    "page_document": 6,
    "render": 0,
}
"""Who takes records, and how many arguments there are with them if they are given by position."""

POOLS = (pool_spec("fast", 1, 2), pool_spec("slow", 3, 4))
OWNER = topic_spec("orders", "slow")
LOSER = TopicSpec("mine", "bank", "orders", "fast")
ON_FAST = builders.cluster((1, 2, 3, 4), topic("orders", (1, 2), (2, 1)))
OWNED = Records("c1", {"orders": TopicRecord("shop/orders")})


def calls() -> list[tuple[str, ast.Call]]:
    """All calls of those who take records, with where they are."""
    found = []
    for file in sorted(CODE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if not any(f"{name}(" in text for name in ASKS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called == "render" or called.endswith(".render"):
                    called = "render" if called == "plan_text.render" else ""
                name = called.rpartition(".")[2]
                if name in ASKS:
                    found.append((f"{file.relative_to(CODE)}:{node.lineno}: {name}", node))
    return found


@pytest.mark.slow
def test_all_of_our_own_code_gives_records() -> None:
    found = calls()
    assert {where.rpartition(" ")[2] for where, _ in found} == set(ASKS)
    lacking = []
    for where, call in found:
        by_position = ASKS[where.rpartition(" ")[2]]
        given = by_position and len(call.args) >= by_position
        if not given and "records" not in [keyword.arg for keyword in call.keywords]:
            lacking.append(where)
    assert lacking == []


def declared(policy: AdoptionPolicy, *specs: TopicSpec) -> Desired:
    wanted = builders.desired(POOLS, *specs)
    return replace(wanted, cluster=replace(wanted.cluster, adoption=Adoption(policy)))


@pytest.mark.parametrize("policy", [AdoptionPolicy.OPEN, AdoptionPolicy.APPROVE])
def test_who_loses_a_topic_does_not_keep_it_from_moving(policy: AdoptionPolicy) -> None:
    wanted = declared(policy, LOSER, OWNER)
    plan = make_plan(wanted, ON_FAST, OWNED)
    assert len(plan.moves) == 2
    stage = next_stage.next_stage(plan.moves, [0, 0], ON_FAST, wanted, records=OWNED)
    assert isinstance(stage, next_stage.Stage)
    assert stage.entries == ((0, 1), (1, 1))
    next_stage.assert_lawful_stage(stage, plan.moves, wanted, ON_FAST, (), OWNED)


@pytest.mark.parametrize("policy", [AdoptionPolicy.OPEN, AdoptionPolicy.APPROVE])
def test_the_laws_of_its_pool_hold_for_the_stages_of_an_owned_topic(policy: AdoptionPolicy) -> None:
    """Under `Approve` a topic without a record would be nobody's, and go anywhere."""
    wanted = declared(policy, OWNER)
    in_slow = builders.cluster((1, 2, 3, 4), topic("orders", (3, 4), (4, 3)))
    plan = make_plan(wanted, ON_FAST, OWNED)
    moves = [move._replace(path=((3, 4), (1, 2))) for move in plan.moves]
    stage = next_stage.next_stage(moves, [0, 0], in_slow, wanted, records=OWNED)
    assert isinstance(stage, next_stage.NothingFits)
    assert stage.wait.law == "pool"


@pytest.mark.parametrize("policy", [AdoptionPolicy.OPEN, AdoptionPolicy.APPROVE])
def test_a_plan_is_told_under_the_pool_of_the_owner(policy: AdoptionPolicy) -> None:
    wanted = declared(policy, LOSER, OWNER)
    plan = make_plan(wanted, ON_FAST, OWNED)
    held = {
        left.pool: left.topics.held
        for left in remaining_capacities(plan, wanted, ON_FAST, frozenset(), OWNED)
    }
    assert held == {"fast": 0, "slow": 1}
    written = plan_markdown(plan, wanted, ON_FAST, records=OWNED)
    assert "| `slow` | `orders` |" in written
