"""A cache of what a pass concludes, so that one before which nothing changed computes nothing.

Planning, the audit and what is concluded from an observation are functions of values: the same
values give the same answer. They are most of a pass's work. The values are compared, never the time
nor a version. Where nothing was written to ZooKeeper the cluster is the very object of the last
pass (`zk.reading.reading_cache`), and to compare it costs nothing.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class Question(StrEnum):
    """What a pass asks about values that may be those of the last pass."""

    FRESH_PLAN = "fresh plan"
    IS_REST_LAWFUL = "is the rest lawful"
    PLAN_TO_ASK_ABOUT = "plan to ask about"
    FOREIGN_MOVES = "foreign moves"
    DISAGREEMENTS = "disagreements"


class AnswerCache:
    """The last answer to each question, and the values that it was asked about; for one thread."""

    def __init__(self) -> None:
        self._known: dict[Question, tuple[tuple[Any, ...], Any]] = {}

    def find(
        self, question: Question, about: tuple[Any, ...], find: Callable[[], Answer]
    ) -> Answer:
        """Return the last answer if it was about equal values; else find it, and keep it.

        `find` depends on nothing that is not in `about`. What it raises is not kept.
        """
        known = self._known.get(question)
        if known is not None and known[0] == about:
            answer: Answer = known[1]
            return answer
        answer = find()
        self._known[question] = about, answer
        return answer

    def keep(self, question: Question, about: tuple[Any, ...], answer: object) -> None:
        """Keep an answer that was computed elsewhere, as part of another one."""
        self._known[question] = about, answer
