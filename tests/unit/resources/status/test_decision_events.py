"""Events of decisions: one for each, none for a pass, few for the stages of a long run."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from builders import move, plan
from poolkeeper.errors import RefusalReason, Refused
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Progress, State
from poolkeeper.model.execution.runs import Ending, Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, after_error
from poolkeeper.model.topology import TopicPartition
from poolkeeper.resources.status.decision_events import (
    STAGES_EVERY_S,
    TOLD_ACTIONS,
    TOLD_WAITS,
    ToldDecisions,
    decision_events,
)

A, R = ActionKind, WaitReason
DOCUMENT = Path(__file__).parents[4] / "docs" / "events.md"
PLAN = plan(move("t", 0, (1, 2), (3, 2), bytes=2**30), hash="sha256:p")
PROGRESS = Progress("sha256:p", Phase.MOVING, 3, 5, 0, 8, 1, 2)
NOTHING = ToldDecisions()
RUNNING = Outcome(State.PROGRESSED, plan=PLAN, progress=PROGRESS)


def did(*actions: Action, **fields: object) -> Outcome:
    return replace(RUNNING, did=actions, **fields)


def told(outcome: Outcome, before: ToldDecisions = NOTHING, now_s: float = 0.0):
    events, after = decision_events(outcome, before, now_s)
    return [(each.type, each.reason, each.note) for each in events], after


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (
            Action(A.RUN_BEGUN, hash="sha256:p", by="approved by its hash"),
            ("Normal", "RunBegun", "run begun: sha256:p; 1 move, 1 GiB; approved by its hash"),
        ),
        (
            Action(A.PLAN_APPROVED, hash="sha256:p", by="part topic/old approved by jane"),
            (
                "Normal",
                "PlanApproved",
                "sha256:p is carried out: part topic/old approved by jane",
            ),
        ),
        (
            Action(A.RUN_ENDED, ending=Ending.FINISHED),
            (
                "Normal",
                "RunEnded",
                "run ended: finished; 5 of 8 moves done in 3 stages; plan sha256:p",
            ),
        ),
        (
            Action(A.RUN_ENDED, ending=Ending.ROLLED_BACK),
            (
                "Warning",
                "RunEnded",
                "run ended: rolled back; 5 of 8 moves done in 3 stages; plan sha256:p",
            ),
        ),
        (
            Action(A.MOVES_CANCELLED, stage=2, count=3),
            ("Warning", "MovesCancelled", "stage 2: cancelled 3 moves"),
        ),
        (
            Action(A.THROTTLES_TAKEN_OFF, count=2),
            (
                "Warning",
                "ThrottlesTakenOff",
                "took off the throttles that a run had left on 2 topics and brokers",
            ),
        ),
        (
            Action(A.CONTROLLER_FAILOVER),
            ("Warning", "ControllerFailover", "elected another controller"),
        ),
    ],
    ids=lambda each: each.kind.value if isinstance(each, Action) else "",
)
def test_a_decision_is_told(action: Action, expected: tuple[str, str, str]) -> None:
    assert told(did(action))[0] == [expected]


@pytest.mark.parametrize("kind", sorted(set(A) - TOLD_ACTIONS))
def test_steps_and_ends_of_stages_are_not_told(kind: ActionKind) -> None:
    action = Action(kind, partitions=(TopicPartition("t", 0),), topic="t", count=1, of=1)
    assert told(did(action))[0] == []


def test_a_thousand_stages_have_few_events() -> None:
    known, notes = ToldDecisions(), []
    for stage in range(1, 1001):
        outcome = did(Action(A.STAGE_REQUESTED, stage=stage, count=9))
        events, known = told(outcome, known, now_s=stage * 10.0)
        notes += [note for *_, note in events]
    assert len(notes) == 1 + 1000 * 10 // STAGES_EVERY_S
    assert notes[:2] == [
        "stage 1 requested: 9 partitions",
        "stage 61 requested: 9 partitions; 59 stages since the last event",
    ]


def test_every_run_tells_its_first_stage() -> None:
    stage = Action(A.STAGE_REQUESTED, stage=1, count=9)
    _, known = told(did(stage))
    other = replace(PROGRESS, plan="sha256:q")
    assert [reason for _, reason, _ in told(did(stage, progress=other), known, 1.0)[0]] == [
        "StageRequested"
    ]


def test_what_is_left_to_somebody_else_is_told_once_as_long_as_it_lasts() -> None:
    yielded = Wait(R.THROTTLES_YIELDED, brokers=(3,))
    sentence = "somebody else set throttles on broker 3 during the run: they stay as they are"
    known = ToldDecisions()
    seen = []
    away = Outcome(State.WAITING)
    for outcome in (
        did(waits=(yielded,)),
        away,
        did(waits=(yielded,)),
        did(),
        did(waits=(yielded,)),
    ):
        events, known = told(outcome, known)
        seen.append(events)
    event = ("Warning", "ThrottlesYielded", sentence)
    assert seen == [[event], [], [], [], [event]]


def test_moves_that_are_not_made_are_told_of_once_it_is_known() -> None:
    unloadable = Wait(R.CONFIG_UNLOADABLE, topic="t", detail="retention.ms is no number")
    low = Refused("the throttle is too low", reason=RefusalReason.THROTTLE_TOO_LOW)
    waiting = did(waits=(unloadable, after_error(low), after_error(Refused("something else"))))
    events, known = told(waiting)
    assert [each[:2] for each in events] == [
        ("Warning", "ConfigUnloadable"),
        ("Warning", "MovesUnlimited"),
    ]
    assert told(waiting, known)[0] == []


def test_the_end_of_a_run_is_remembered_until_another_is_seen() -> None:
    ended = did(Action(A.RUN_ENDED, ending=Ending.FINISHED))
    _, known = told(ended)
    assert known.has_ended
    _, known = told(Outcome(State.CONVERGED), known)
    assert known.has_ended
    _, known = told(did(), known)
    assert not known.has_ended


def test_the_document_lists_what_is_told() -> None:
    listed = set(re.findall(r"^\| `([A-Za-z]+)`", DOCUMENT.read_text(), re.MULTILINE))
    assert listed >= {kind.value for kind in TOLD_ACTIONS} | set(TOLD_WAITS.values())
