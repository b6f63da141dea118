"""What is decided when a stage is about to be requested: the throttles, and which moves stay."""

from dataclasses import replace

import pytest

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.runs import (
    Ending,
    Phase,
    Saved,
    ThrottleConflicts,
    UnreadableConfig,
)
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.planning.run_state.throttling.throttles import PUT_BACK_MAX, ThrottleWatch
from poolkeeper.reconcile.decide.decisions import (
    CheckThrottles,
    ComputeStage,
    EnterPhase,
    RequestStage,
)
from poolkeeper.reconcile.decide.held_moves import held_moves
from poolkeeper.reconcile.decide.run import decide
from unit.reconcile.situations import (
    HIDDEN_T,
    RUN,
    SOUGHT,
    STAGE,
    T0,
    T1,
    THROTTLED,
    between,
    cluster,
)


def about_to_request(throttles=None, watch=None, seen=None):
    """A throttled run that would request a stage, of whose live throttles this is known."""
    at = between(seen or cluster(), replace(RUN, rates=(100,)), **SOUGHT, throttles=throttles)
    known = ThrottleWatch() if watch is None else watch
    unlimited = () if throttles is None else throttles.unlimited
    return replace(
        at,
        document=replace(at.document, saved=THROTTLED),
        throttles=known,
        unwritable={each.entity: each for each in unlimited},
    )


def of(broker):
    return UnreadableConfig(broker, f"/config/brokers/{broker}", "hidden")


@pytest.mark.parametrize(
    ("at", "decision"),
    [
        pytest.param(
            about_to_request(), CheckThrottles(frozenset({"t"})), id="are-they-still-there"
        ),
        pytest.param(about_to_request(ThrottleConflicts()), RequestStage(STAGE, 1), id="they-are"),
        pytest.param(
            about_to_request(ThrottleConflicts(unset=1)),
            EnterPhase(Phase.THROTTLING),
            id="somebody-removed-them",
        ),
        pytest.param(
            about_to_request(ThrottleConflicts(("t",), (2,))),
            RequestStage(STAGE, 1),
            id="somebody-changed-them",
        ),
        pytest.param(
            about_to_request(ThrottleConflicts(unreadable=(HIDDEN_T,), unset=1)),
            ComputeStage((0, 0)),
            id="those-of-the-topic-cannot-be-read",
        ),
        pytest.param(
            about_to_request(ThrottleConflicts(unwritable=(of(3),), unset=1)),
            ComputeStage((0, 0)),
            id="those-of-a-broker-cannot-be-written",
        ),
        pytest.param(
            about_to_request(ThrottleConflicts(unreadable=(of(4),))),
            RequestStage(STAGE, 1),
            id="those-of-a-broker-of-no-move",
        ),
        pytest.param(
            about_to_request(watch=ThrottleWatch(put_back=PUT_BACK_MAX)),
            RequestStage(STAGE, 1),
            id="somebody-removed-them-too-often",
        ),
    ],
)
def test_throttles_before_a_stage(at, decision):
    assert decide(at) == decision


def test_what_no_throttle_can_limit_is_left_where_it_is_and_the_run_ends_without_it():
    at = about_to_request(ThrottleConflicts(unreadable=(of(3),)))
    nothing = replace(at, view=replace(at.view, stage=None))
    told = Action(ActionKind.MOVES_UNLIMITED, broker=3, partitions=(T0, T1))
    assert decide(nothing) == EnterPhase(Phase.ELECTING, Ending.FINISHED, (told,))
    saved = replace(THROTTLED, brokers={1: {}, 2: {}})
    later = replace(
        about_to_request(), document=replace(at.document, saved=saved), view=nothing.view
    )
    assert decide(later) == decide(nothing)  # a process that comes later knows by the record
    first = replace(later, document=replace(at.document, saved=Saved()))
    assert decide(first).phase is Phase.ELECTING  # where nothing could be saved, too


UNLOADABLE = cluster()
UNLOADABLE = replace(
    UNLOADABLE,
    topics={"t": replace(UNLOADABLE.topics["t"], config={"retention.ms": "a week"})},
)


@pytest.mark.parametrize("rates", [(), (100,)], ids=["without-a-throttle", "throttled"])
def test_what_no_broker_can_load_is_left_where_it_is_and_the_run_ends_without_it(rates):
    at = between(UNLOADABLE, replace(RUN, rates=rates), **(SOUGHT | {"stage": None}))
    held = held_moves(at, (0, 0), UNLOADABLE)
    assert {wait.reason for waits in held.values() for wait in waits} == {
        WaitReason.CONFIG_UNLOADABLE
    }
    assert held.keys() == {0, 1}
    assert not held_moves(between(cluster()), (0, 0), cluster())
    told = Action(ActionKind.CONFIG_UNLOADABLE, topic="t", partitions=(T0, T1))
    assert decide(at) == EnterPhase(Phase.ELECTING, Ending.FINISHED, (told,))
