"""What the audit finds unlawful is left out with its culprits, or refused as a whole."""

from dataclasses import replace

import pytest

from builders import cluster, desired, move, plan, pool_spec, topic, topic_spec
from poolkeeper.errors import Refused
from poolkeeper.model.desired import Culprit, Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.problems import ProblemReason
from poolkeeper.planning.audit.audit import Violation
from poolkeeper.planning.lawful_plan import ROUNDS_MAX, culprits, lawful_plan
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.proposals import identity

WANTED = desired(
    (pool_spec("p", 1, 2), pool_spec("q", 3, 4)), topic_spec("t"), topic_spec("u", "q")
)
SEEN = cluster((1, 2, 3, 4), topic("t", (3, 4)), topic("u", (1, 2)))
OF_T = Violation("racks", "it is worse", "t", 0)
OF_P = Violation("capacity", "pool p is worse off", pool="p")
OF_ALL = Violation("hash", "the plan is not what its hash names")


@pytest.mark.parametrize(
    ("violations", "expected"),
    [
        pytest.param([OF_T, replace(OF_T, partition=1)], [("t", "")], id="a-topic-once"),
        pytest.param([OF_P, OF_T], [("", "p"), ("t", "")], id="a-pool-and-a-topic"),
        pytest.param([OF_T, OF_ALL], [], id="nobody-where-the-whole-is-unlawful"),
    ],
)
def test_culprits_are_those_that_violations_name(
    violations: list[Violation], expected: list[tuple[str, str]]
) -> None:
    assert [(each.topic, each.pool) for each in culprits(violations, WANTED)] == expected


def test_who_is_kept_already_is_no_culprit_again() -> None:
    kept = replace(WANTED, kept=(Culprit("racks", "it is worse", "t"),))
    assert culprits([OF_T], kept) == ()


def judged(wrong: Violation) -> Plan:
    """The plan after an audit that finds this as long as the topic or pool moves."""

    def judge(made: Plan, wanted: Desired) -> list[Violation]:
        moving = {each.topic for each in made.moves}
        return [wrong] if moving & ({wrong.topic} if wrong.topic else {"t"}) else []

    return lawful_plan(WANTED, lambda wanted: make_plan(wanted, SEEN, Records()), judge).plan


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        pytest.param(OF_T, ("p", "t"), id="a-topic"),
        pytest.param(OF_P, ("p", ""), id="a-pool"),
    ],
)
def test_a_culprit_is_kept_and_the_others_go_on(wrong: Violation, told: tuple[str, str]) -> None:
    made = judged(wrong)
    assert {each.topic for each in made.moves} == {"u"}
    found = [p for p in made.problems if p.reason is ProblemReason.UNLAWFUL]
    assert [(p.pool, p.topic, p.law) for p in found] == [(*told, wrong.law)]
    assert made.fingerprint == identity.fingerprint(WANTED, SEEN.id, ())


def test_what_stays_unlawful_is_refused() -> None:
    rounds = []

    def make(wanted: Desired) -> Plan:
        rounds.append(wanted)
        return plan(move("t", 0, (3, 4), (1, 2)))

    def another(made: Plan, wanted: Desired) -> list[Violation]:
        return [replace(OF_T, topic=f"t{len(wanted.kept)}")]

    with pytest.raises(Refused, match="racks: t3-0: it is worse"):
        lawful_plan(WANTED, make, another)
    assert len(rounds) == ROUNDS_MAX
    with pytest.raises(Refused, match="not what its hash names"):
        lawful_plan(WANTED, make, lambda made, wanted: [OF_ALL])
