"""Who writes the status of a KafkaCluster, and when several releases are found out."""

from dataclasses import replace

import pytest

from poolkeeper.controller.reporting.operator_names import (
    ANSWER_S,
    FORGET_S,
    LAG_S,
    OTHERS_MAX,
    OperatorName,
    Writers,
    two_operators,
)
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Mode
from unit.resources.bodies import kafka
from unit.resources.stages import seen

FIRST, SECOND, BOTH = "a/pk", "b/pk", "a/pk, b/pk"
ALONE, TOGETHER = Writers([FIRST], FIRST), Writers([FIRST, SECOND], BOTH)
ASKING = Writers([FIRST, SECOND], FIRST)
FOUND_OUT = replace(TOGETHER, is_news=True)


def read(name: OperatorName, *shown: tuple[str, float]) -> list[Writers]:
    return [name.writers("main", live, now_s) for live, now_s in shown]


def test_one_release_is_alone_whatever_an_earlier_one_was_called():
    shown = (("old/pk", 0), ("old/pk", LAG_S / 2), (FIRST, 100), (FIRST, 10_000))
    assert read(OperatorName(FIRST), *shown) == [ALONE] * 4


def test_both_say_the_same_of_each_other():
    first, second = OperatorName(FIRST), OperatorName(SECOND)
    read(first, ("", 0))
    read(second, (FIRST, 0))
    assert read(first, (SECOND, 20), (BOTH, 22)) == [FOUND_OUT, TOGETHER]
    assert read(second, (BOTH, 21), (BOTH, 22)) == [FOUND_OUT, TOGETHER]


def test_who_is_silent_is_asked_for_and_forgotten_when_nobody_answers():
    first = OperatorName(FIRST)
    read(first, ("", 0), (SECOND, 20))
    asked_s = 20 + FORGET_S
    shown = (BOTH, asked_s - 1), (BOTH, asked_s), (BOTH, asked_s + LAG_S / 2)
    assert read(first, *shown) == [TOGETHER, ASKING, ASKING]
    shown = (FIRST, asked_s + LAG_S), (FIRST, asked_s + ANSWER_S), (FIRST, asked_s + 10_000)
    assert read(first, *shown) == [ASKING, ALONE, ALONE]


def test_who_answers_stays_and_is_asked_for_again_later():
    first, second = OperatorName(FIRST), OperatorName(SECOND)
    read(first, ("", 0), (SECOND, 20))
    read(second, ("", 0), (FIRST, 30))
    asked_s = 20 + FORGET_S
    assert read(first, (BOTH, asked_s)) == [ASKING]
    assert read(second, (FIRST, asked_s + 1)) == [TOGETHER]
    shown = (BOTH, asked_s + LAG_S), (BOTH, asked_s + FORGET_S)
    assert read(first, *shown, (BOTH, asked_s + LAG_S + FORGET_S)) == [TOGETHER, TOGETHER, ASKING]


def test_a_cluster_that_is_made_again_is_another_one():
    first = OperatorName(FIRST)
    read(first, ("", 0), (SECOND, 20))
    first.retain(["other"])
    assert read(first, (BOTH, 40)) == [ALONE]


def test_whatever_others_write_it_fits_into_the_status():
    first = OperatorName(FIRST)
    read(first, ("", 0))
    (writers,) = read(first, (", ".join("x" * 400 + str(n) for n in range(99)), 20))
    assert len(writers.names) <= 1 + OTHERS_MAX
    assert len(writers.said) <= 1024


HELD = Outcome(State.CONVERGED, last_observation=seen(kafka()))
ELSEWHERE = Outcome(State.WAITING, waits=(Wait(WaitReason.EXECUTOR_ACTIVE, detail="another"),))
BLIND = Outcome(State.WAITING)


@pytest.mark.parametrize(
    ("outcome", "mode", "who"),
    [
        pytest.param(HELD, Mode.APPLY, {FIRST, SECOND}, id="whoever-holds-the-cluster"),
        pytest.param(ELSEWHERE, Mode.APPLY, set(), id="not-where-another-one-holds-it"),
        pytest.param(HELD, Mode.PLAN_ONLY, {FIRST}, id="the-first-where-nobody-holds-it"),
        pytest.param(BLIND, Mode.APPLY, {FIRST}, id="the-first-where-nobody-reaches-it"),
        pytest.param(BLIND, None, {FIRST}, id="the-first-of-what-is-invalid"),
    ],
)
def test_one_writes_what_is_said_of_other_resources(outcome, mode, who):
    may = {n for n in (FIRST, SECOND) if OperatorName(n).may_write(TOGETHER, outcome, mode)}
    assert may == who


def test_who_is_alone_writes_everything():
    for outcome in (HELD, ELSEWHERE, BLIND):
        assert OperatorName(SECOND).may_write(Writers([SECOND], SECOND), outcome, Mode.APPLY)


def test_the_condition_says_what_to_do():
    assert "uninstall all but one" in two_operators([FIRST, SECOND]).message
