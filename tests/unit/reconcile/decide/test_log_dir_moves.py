"""What a pass decides about moves between log directories."""

from dataclasses import replace

import pytest

from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.runs import (
    Ending,
    Phase,
    RateReason,
    Saved,
    StopRequest,
    ThrottleConflicts,
    UnreadableConfig,
)
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Execution, Mode, Throttle, ThrottleMode
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.progress.held_copies import ASKS_MAX, Asks
from poolkeeper.planning.run_state.progress.stalled_copies import STALLED_MS, CopyLook
from poolkeeper.planning.run_state.throttling.adaptive_rate import RateSignals
from poolkeeper.planning.run_state.throttling.throttles import FROZEN_BYTES_PER_S
from poolkeeper.reconcile.decide import log_dir_moves
from poolkeeper.reconcile.decide.decisions import (
    ChangeThrottle,
    CheckThrottles,
    EnterPhase,
    MissingInput,
    MoveLogDirs,
)
from poolkeeper.reconcile.decide.log_dir_moves import SILENCE_MS
from poolkeeper.reconcile.pass_memory import CopyMemory
from unit.reconcile.log_dir_situations import (
    AWAY,
    LEFT,
    UNKNOWN,
    UNREADABLE,
    D,
    F,
    P,
    situation,
)
from unit.reconcile.situations import NOW_MS, RUN, desired

HIDDEN_1 = UnreadableConfig(1, "/c", "hidden")


def moving(count, of):
    return Wait(WaitReason.LOG_DIR_MOVES_IN_FLIGHT, count=count, of=of)


def away(*partitions):
    names = tuple(TopicPartition("t", p) for p in partitions)
    return Wait(WaitReason.LOG_DIRS_BROKER_NOT_LIVE, brokers=(1,), partitions=names)


def hidden(*partitions):
    names = tuple(TopicPartition("t", p) for p in partitions)
    return Wait(WaitReason.TOPIC_UNREADABLE, topic="t", partitions=names)


def rolling_back():
    spec = desired()
    return replace(spec, cluster=replace(spec.cluster, mode=Mode.ROLL_BACK))


def unlimited(at):
    return replace(at, unwritable={1: HIDDEN_1})


def unsaved(at):
    return replace(at, document=replace(at.document, saved=Saved()))


FIXED = desired(throttle=Throttle(ThrottleMode.FIXED, 5))
UNLIMITED_0 = Action(ActionKind.MOVES_UNLIMITED, broker=1, partitions=(TopicPartition("t", 0),))
CHECKED = ThrottleConflicts()
STOPPING = replace(RUN, ending=Ending.STOPPED)
ROLLING_BACK = replace(RUN, ending=Ending.ROLLED_BACK)
T0 = TopicPartition("t", 0)
LASTING = CopyMemory(looks={1: CopyLook({T0: 5}, NOW_MS - STALLED_MS, NOW_MS)})
CANCELLING = Wait(WaitReason.LOG_DIR_MOVES_RETURNING, count=1)
OTHER_LOOK = {"ending_read": True}


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        pytest.param(
            situation(D, LEFT), EnterPhase(Phase.ELECTING, Ending.FINISHED), id="all-are-done"
        ),
        pytest.param(situation(P, P), MissingInput.ENDING, id="first-whether-the-run-goes-on"),
        pytest.param(
            situation(D, UNREADABLE, **OTHER_LOOK),
            MoveLogDirs(waits=(hidden(1),)),
            id="one-whose-topic-cannot-be-read-is-awaited",
        ),
        pytest.param(
            situation(D, UNREADABLE, run=STOPPING),
            EnterPhase(Phase.RESTORING, Ending.STOPPED),
            id="but-holds-up-no-run-that-is-stopped",
        ),
        pytest.param(
            situation(P, P, P, **OTHER_LOOK), MoveLogDirs((0, 1)), id="two-of-three-begin"
        ),
        pytest.param(
            situation(F, F, P), MoveLogDirs(waits=(moving(2, 1),)), id="the-others-while-busy-wait"
        ),
        pytest.param(
            situation(P, ending_read=True, ending=Ending.REPLACED),
            EnterPhase(Phase.COPYING, Ending.REPLACED),
            id="replaced",
        ),
        pytest.param(
            situation(P, F, run=STOPPING),
            MoveLogDirs(waits=(moving(1, 1),)),
            id="stopped-what-is-in-flight-arrives",
        ),
        pytest.param(
            situation(P, AWAY, run=STOPPING),
            EnterPhase(Phase.RESTORING, Ending.STOPPED),
            id="stopped-and-nobody-waits-for-a-broker-away",
        ),
        pytest.param(
            situation(AWAY, **OTHER_LOOK), MoveLogDirs(waits=(away(0),)), id="a-broker-away"
        ),
        pytest.param(
            situation(P, F, stop=StopRequest(at_once=True)),
            EnterPhase(Phase.COPYING, Ending.ROLLED_BACK),
            id="a-rollback-is-recorded-first",
        ),
        pytest.param(
            situation(P, F, run=ROLLING_BACK),
            MoveLogDirs(cancelled=(1,), waits=(CANCELLING,)),
            id="then-what-is-in-flight-is-cancelled",
        ),
        pytest.param(
            situation(P, D, run=ROLLING_BACK),
            EnterPhase(Phase.RESTORING, Ending.ROLLED_BACK),
            id="then-the-run-ends",
        ),
        pytest.param(
            situation(F, spec=rolling_back()),
            MoveLogDirs(cancelled=(0,), waits=(CANCELLING,)),
            id="mode-roll-back",
        ),
        pytest.param(
            situation(F, P, memory=LASTING), MoveLogDirs(stalled=(0,)), id="nothing-is-copied"
        ),
        pytest.param(
            situation(F, P, run=STOPPING, memory=LASTING),
            MoveLogDirs(stalled=(0,)),
            id="nothing-is-copied-and-the-run-is-to-end",
        ),
        pytest.param(
            situation(F, run=ROLLING_BACK, memory=LASTING),
            MoveLogDirs(cancelled=(0,), waits=(CANCELLING,)),
            id="nothing-is-copied-and-all-is-taken-back",
        ),
        pytest.param(
            situation(P, rates=(5,), **OTHER_LOOK),
            CheckThrottles(frozenset()),
            id="throttles-are-looked-at-first",
        ),
        pytest.param(
            unlimited(situation(P, D, D, D, P, rates=(5,), throttles=CHECKED, **OTHER_LOOK)),
            MoveLogDirs((4,)),
            id="those-that-no-throttle-can-limit-hold-up-no-other",
        ),
        pytest.param(
            unlimited(situation(P, D, rates=(5,), **OTHER_LOOK)),
            EnterPhase(Phase.ELECTING, Ending.FINISHED, (UNLIMITED_0,)),
            id="and-the-run-ends-without-them",
        ),
        pytest.param(
            unlimited(situation(F, P, rates=(5,), spec=FIXED)),
            MoveLogDirs(waits=(moving(1, 1),)),
            id="what-has-begun-of-them-ends",
        ),
        pytest.param(
            unsaved(situation(P, D, rates=(5,))),
            EnterPhase(Phase.ELECTING, Ending.FINISHED, (UNLIMITED_0,)),
            id="whose-throttles-could-not-be-saved",
        ),
        pytest.param(
            situation(P, rates=(FROZEN_BYTES_PER_S,), **OTHER_LOOK),
            EnterPhase(Phase.THROTTLING, rates=(Execution().throttle.rate_bytes_per_s, 1)),
            id="a-frozen-rate-is-thawed",
        ),
        pytest.param(
            replace(situation(P, **OTHER_LOOK), paused=True),
            MoveLogDirs(waits=(Wait(WaitReason.PAUSED),)),
            id="paused",
        ),
        pytest.param(
            replace(situation(P, **OTHER_LOOK), asks_brokers=False),
            MoveLogDirs(waits=(Wait(WaitReason.BROKERS_NOT_ASKED),)),
            id="no-brokers-to-ask",
        ),
        pytest.param(
            situation(P, D, memory=CopyMemory(asks={0: Asks(ASKS_MAX, "no")})),
            EnterPhase(Phase.ELECTING, Ending.FINISHED),
            id="refused-again-and-again",
        ),
        pytest.param(
            situation(P, D, memory=CopyMemory(asks={0: Asks(ASKS_MAX)})),
            EnterPhase(Phase.ELECTING, Ending.FINISHED),
            id="taken-back-again-and-again",
        ),
        pytest.param(
            situation(D, F, memory=CopyMemory(asks={1: Asks(ASKS_MAX)})),
            MoveLogDirs(waits=(moving(1, 0),)),
            id="one-in-flight-is-not-given-up",
        ),
        pytest.param(
            replace(situation(P, P, **OTHER_LOOK), held={0}),
            MoveLogDirs((1,)),
            id="what-an-earlier-run-gave-up-is-left-alone",
        ),
        pytest.param(
            situation(
                UNKNOWN, run=STOPPING, memory=CopyMemory(silent_since_ms=NOW_MS - SILENCE_MS)
            ),
            EnterPhase(Phase.RESTORING, Ending.STOPPED),
            id="a-broker-silent-for-long",
        ),
    ],
)
def test_what_is_decided(at, expected):
    assert log_dir_moves.decide(at) == expected


def test_a_stopped_run_waits_a_while_for_a_silent_broker():
    at = situation(UNKNOWN, run=STOPPING, memory=CopyMemory(silent_since_ms=NOW_MS - 1))
    silent = Wait(WaitReason.LOG_DIRS_UNKNOWN, brokers=(1,), partitions=(TopicPartition("t", 0),))
    assert log_dir_moves.decide(at) == MoveLogDirs(waits=(silent,))


def test_throttles_of_copies_in_flight_are_looked_at_now_and_then():
    at = situation(F, rates=(5,), spec=FIXED)
    assert not log_dir_moves.decide(at).check
    later = replace(at, now_ms=NOW_MS + log_dir_moves.CHECK_EVERY_MS)
    assert log_dir_moves.decide(later).check


def test_an_adaptive_rate_is_looked_at_while_copies_are_in_flight():
    adaptive = desired(throttle=Throttle(ThrottleMode.ADAPTIVE, 4))
    at = situation(F, rates=(4,), spec=adaptive)
    assert log_dir_moves.decide(at) is MissingInput.RATE_SIGNALS
    seen = situation(F, rates=(4,), spec=adaptive, signals=RateSignals())
    rises = ChangeThrottle((5, 4), reason=RateReason.KEEPING_UP)
    assert log_dir_moves.decide(seen).throttle == rises
    interrupted = situation(F, P, rates=(5, 4), spec=adaptive)
    written = ChangeThrottle((5,), written=True)
    assert log_dir_moves.decide(interrupted).throttle == written
