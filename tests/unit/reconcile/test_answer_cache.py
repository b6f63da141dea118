"""Answers that are found again: only about equal values, and never an error."""

import pytest

from poolkeeper.reconcile.answer_cache import AnswerCache, Question


def test_a_question_about_equal_values_is_asked_once() -> None:
    known, asked = AnswerCache(), []

    def half(of: list[int]) -> list[int]:
        asked.append(list(of))
        return [each // 2 for each in of]

    first = known.find(Question.FRESH_PLAN, ([4],), lambda: half([4]))
    assert known.find(Question.FRESH_PLAN, ([4],), lambda: half([4])) is first
    assert known.find(Question.FRESH_PLAN, ([6],), lambda: half([6])) == [3]
    assert known.find(Question.FRESH_PLAN, ([4],), lambda: half([4])) == [2]
    assert known.find(Question.DISAGREEMENTS, ([4],), lambda: half([2])) == [1]
    assert asked == [[4], [6], [4], [2]]


def test_an_error_is_no_answer() -> None:
    known, asked = AnswerCache(), []

    def fail() -> int:
        asked.append(1)
        raise ValueError("unknown")

    for _ in range(2):
        with pytest.raises(ValueError, match="unknown"):
            known.find(Question.FRESH_PLAN, (1,), fail)
    assert len(asked) == 2


def test_an_answer_that_was_found_on_the_way_is_kept() -> None:
    known = AnswerCache()
    known.keep(Question.FRESH_PLAN, (1,), "kept")
    assert known.find(Question.FRESH_PLAN, (1,), lambda: "found") == "kept"
    assert known.find(Question.FRESH_PLAN, (2,), lambda: "found") == "found"
