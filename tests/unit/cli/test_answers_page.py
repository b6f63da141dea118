"""`docs/formats.md` has every key that `status`, `why` and `history` write, and no others."""

import re
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from pathlib import Path

import pytest

from poolkeeper.cli.output.plans import topic_text
from poolkeeper.cli.output.plans.plan_page import PlanState
from poolkeeper.cli.output.plans.topic_text import PlacementState
from poolkeeper.cli.output.runs import history_table, status_text
from poolkeeper.cli.output.runs.status_values import status_of
from poolkeeper.errors import NodeDamage
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.punctuality import Punctuality
from poolkeeper.model.execution.runs import Ending, Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import PlanProblem
from poolkeeper.planning.facts.topics import TopicLeftOut, Unsettled
from poolkeeper.planning.run_state.progress.log_dir_copies import CopyState
from poolkeeper.planning.run_state.progress.move_progress import MoveState
from unit.cli.output.plans.test_topic_text import MOVES, PLAN, SEEN
from unit.cli.output.runs.status_situations import HALFWAY, journal

PAGE = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
COUNTED = {"moves", "logDirMoves"}
"""Values of a run whose keys are states."""
OF_A_PLAN = {"steps"}
"""Values whose keys are told of plans."""
BLOCKED = Wait(WaitReason.RUN_WITHOUT_EXECUTOR, topic="orders")
PROBLEM = PlanProblem("fast", "", TopicLeftOut(Unsettled.MOVING), topic="orders")


def a_status() -> dict[str, object]:
    found = status_of(HALFWAY, journal())
    assert found.run is not None
    return status_text.as_data(
        replace(
            found,
            run=replace(found.run, punctuality=Punctuality(1.0, 1.0, 0.0, 1)),
            waits=(BLOCKED,),
            throttles_left=(Wait(WaitReason.THROTTLES_LEFT),),
            damage=(NodeDamage("/poolkeeper/run", "said"),),
            troubles=(PROBLEM,),
        )
    )


def an_answer() -> dict[str, object]:
    seen = replace(SEEN, plan=replace(PLAN, problems=(PROBLEM,)))
    return topic_text.as_data(topic_text.answer("orders", seen, (BLOCKED,), MOVES[:1]))


def a_history() -> dict[str, object]:
    run = FinishedRun("sha256:ab", 0, 1, Ending.FINISHED, 1, 2, 2, 3)
    return {"runs": [history_table.as_data(run)]}


WRITTEN = {"Status": a_status(), "Why": an_answer(), "History": a_history()}


def section(title: str) -> str:
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def words(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", text))


def keys(value: object) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from keys(each)
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            if key not in OF_A_PLAN and not (key in COUNTED and isinstance(each, dict)):
                yield from keys(each)


@pytest.mark.parametrize("title", WRITTEN)
def test_every_key_is_told(title: str) -> None:
    assert set(keys(WRITTEN[title])) - words(section(title)) == set()


@pytest.mark.parametrize("title", WRITTEN)
def test_no_other_key_is_told(title: str) -> None:
    rows = re.findall(r"^\| (`[^|]*) \|", section(title), re.MULTILINE)
    told = {word for row in rows for word in words(row)}
    assert len(told) > 8
    assert told - set(keys(WRITTEN[title])) == set()


@pytest.mark.parametrize(
    ("title", "values"),
    [
        ("Status", Phase),
        ("Status", MoveState),
        ("Status", CopyState),
        ("Why", PlanState),
        ("Why", PlacementState),
        ("History", Ending),
    ],
)
def test_every_value_is_told(title: str, values: type[Enum]) -> None:
    assert {each.value for each in values} - words(section(title)) == set()
