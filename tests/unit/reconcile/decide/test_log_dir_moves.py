"""What a pass decides about moves between log directories, and how brokers are asked."""

from dataclasses import replace

import pytest

import builders
from builders import partition, plan, topic
from poolkeeper.brokers.sizes import BrokerLogs, Sizes
from poolkeeper.errors import Unavailable
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.runs import (
    Ending,
    Health,
    Phase,
    RateReason,
    RunDocument,
    Saved,
    StopRequest,
    ThrottleConflicts,
    UnreadableConfig,
)
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import MoveLogDir
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.specs import Execution, Mode, Throttle, ThrottleMode
from poolkeeper.model.topology import Broker, Controller, LogDir, TopicPartition
from poolkeeper.planning.run_state.progress.held_copies import ASKS_MAX, Asks
from poolkeeper.planning.run_state.progress.log_dir_copies import (
    CopyLimits,
    CopyProgress,
    CopyState,
    classify_copies,
    due_copies,
)
from poolkeeper.planning.run_state.throttling.adaptive_rate import RateSignals
from poolkeeper.planning.run_state.throttling.throttles import FROZEN_BYTES_PER_S, ThrottleWatch
from poolkeeper.reconcile.act import log_dir_requests
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import log_dir_moves
from poolkeeper.reconcile.decide.decisions import (
    ChangeThrottle,
    CheckThrottles,
    EnterPhase,
    MissingInput,
    MoveLogDirs,
    RunSituation,
)
from poolkeeper.reconcile.decide.log_dir_moves import SILENCE_MS
from poolkeeper.reconcile.observe.run_view import RunView
from poolkeeper.reconcile.pass_memory import CopyMemory
from unit.reconcile.situations import NOW_MS, RUN, desired

A, B = "/a", "/b"
STEPS = tuple(MoveLogDir("t", p, 1 if p < 4 else 2, A, B, 10) for p in range(6))
HOME = {p: 1 if p < 4 else 2 for p in range(6)}
P, F, D = CopyState.PENDING, CopyState.IN_FLIGHT, CopyState.DONE
LEFT, AWAY, UNKNOWN = CopyState.LEFT, CopyState.AWAY, CopyState.UNKNOWN
UNREADABLE = CopyState.UNREADABLE
LIMITS = CopyLimits(2, 100)
KEY = "replica.alter.log.dirs.io.max.bytes.per.second"


def cluster(arriving=(), *, at=None, brokers=(1, 2), more=None):
    """Partitions 0 to 3 on broker 1, and 4 and 5 on broker 2; some are on their way to /b."""
    at = at or {}
    partitions = (
        partition(p, b, leader=b, isr=(b,), log_dirs=None if at.get(p) == "" else {b: at.get(p, A)})
        for p, b in HOME.items()
    )
    live = (
        Broker(
            b,
            log_dirs={A: LogDir(), B: LogDir()},
            arriving={TopicPartition("t", p): B for p in arriving if HOME[p] == b},
        )
        for b in brokers
    )
    live = (replace(each, **(more or {}).get(each.id, {})) for each in live)
    return builders.cluster(live, topic("t", *partitions), name="c", controller=Controller(1, 5, 5))


def states(*found):
    return tuple(CopyProgress(state) for state in found)


# How far each is


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(cluster(), CopyProgress(P), id="where-it-was"),
        pytest.param(cluster(at={0: B}), CopyProgress(D, 10), id="there"),
        pytest.param(cluster((0,)), CopyProgress(F, 4), id="on-its-way"),
        pytest.param(cluster(at={0: "/c"}), CopyProgress(LEFT), id="somewhere-else"),
        pytest.param(cluster(at={0: ""}), CopyProgress(UNKNOWN), id="its-broker-says-nothing"),
        pytest.param(cluster(brokers=(2,)), CopyProgress(AWAY), id="its-broker-is-not-live"),
        pytest.param(
            cluster(more={1: {"arriving": {TopicPartition("t", 0): "/c"}}}),
            CopyProgress(LEFT),
            id="somebody-sends-it-elsewhere",
        ),
        pytest.param(
            cluster(more={1: {"failed_log_dirs": {B: "storage error"}}}),
            CopyProgress(LEFT),
            id="the-target-failed",
        ),
        pytest.param(
            cluster(at={0: ""}, more={1: {"failed_log_dirs": {A: "storage error"}}}),
            CopyProgress(LEFT),
            id="the-source-failed",
        ),
        pytest.param(
            replace(cluster(), topics={}, damaged={"t": "/x: hidden"}),
            CopyProgress(UNREADABLE, unreadable="/x: hidden"),
            id="its-topic-cannot-be-read",
        ),
        pytest.param(
            replace(cluster((0,)), topics={}, damaged={"t": "/x: hidden"}),
            CopyProgress(F, 4),
            id="nor-can-it-be-while-it-is-on-its-way",
        ),
    ],
)
def test_how_far_a_move_is(seen, expected):
    assert classify_copies(STEPS[:1], seen, {(TopicPartition("t", 0), 1): 4}) == (expected,)


@pytest.mark.parametrize(
    ("arriving", "progress", "limits", "due"),
    [
        pytest.param((), [P] * 6, LIMITS, (0, 1, 4, 5), id="each-broker-two-at-a-time"),
        pytest.param((0,), [F, *[P] * 5], LIMITS, (1, 4, 5), id="what-is-in-flight-counts"),
        pytest.param((3,), [P] * 3 + [LEFT] + [P] * 2, LIMITS, (0, 4, 5), id="and-what-others-do"),
        pytest.param((), [P] * 6, CopyLimits(2, 3), (0, 1, 4), id="three-of-the-cluster"),
        pytest.param((), [P] * 6, CopyLimits(9, 9, 25), (0, 1), id="so-many-bytes"),
        pytest.param((), [P] * 6, CopyLimits(9, 9, 5), (0,), id="one-however-large-it-is"),
        pytest.param((0, 1, 4, 5), [F, F, P, P, F, F], LIMITS, (), id="all-are-busy"),
        pytest.param((), [D, D, P, P, AWAY, AWAY], LIMITS, (2, 3), id="a-broker-away"),
    ],
)
def test_which_may_begin(arriving, progress, limits, due):
    assert due_copies(STEPS, states(*progress), cluster(arriving), limits) == (due, ())


def test_a_directory_without_room_is_named_and_holds_up_no_other():
    room = {1: {"log_dirs": {A: LogDir(), B: LogDir(100, 15)}}}
    due, waits = due_copies(STEPS, states(*[P] * 6), cluster(more=room), CopyLimits(9, 9))
    assert due == (0, 4, 5)
    full = WaitReason.LOG_DIRS_FULL
    assert waits == tuple(
        Wait(full, brokers=(1,), partitions=(TopicPartition("t", p),), count=15, of=20)
        for p in (1, 2, 3)
    )


# What is decided

HIDDEN_1 = UnreadableConfig(1, "/c", "hidden")


def situation(*found, run=RUN, seen=None, spec=None, rates=(), memory=None, **view):
    saved = Saved({}, {1: {KEY: None}, 2: {KEY: None}} if rates else {})
    document = RunDocument(plan(steps=STEPS[: len(found)]), saved, Health())
    seen = seen or cluster([p for p, state in enumerate(found) if state is F])
    return RunSituation(
        replace(run, phase=Phase.COPYING, rates=rates),
        document,
        RunView(ClusterReading(seen), copies=states(*found), **view),
        spec or desired(max_moves_per_broker=2),
        NOW_MS,
        asks_brokers=True,
        copies=memory or CopyMemory(),
        throttles=ThrottleWatch(checked_ms=NOW_MS),
    )


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


# How brokers are asked


class Access:
    """Counts how often it was made sure that nobody else took over."""

    def __init__(self):
        self.checks = 0

    def confirm_holder(self):
        self.checks += 1


class Brokers:
    """Takes every request, but from brokers that are away or refuse."""

    def __init__(self, away=(), refused=()):
        self.asked, self.away, self.refused = {}, away, refused

    def move_log_dirs(self, broker, targets):
        if broker in self.away:
            raise Unavailable(f"broker {broker} is away")
        self.asked[broker] = {name.partition: path for name, path in targets.items()}
        return {name: "no such directory" for name in targets if name.partition in self.refused}


def moved(broker, *partitions, kind=ActionKind.MOVE_LOG_DIRS):
    names = tuple(TopicPartition("t", p) for p in partitions)
    return Action(kind, broker=broker, count=len(names), partitions=names)


def carried_out(decision, brokers):
    access = Access()
    context = PassContext(access, lambda: 0, brokers)
    context.memory.copies.sizes = Sizes({1: BrokerLogs({}, {})})
    context.memory.copies.asked_ms = 5
    found = log_dir_requests.carry_out(context, situation(*[P] * 6), decision)
    return found, access, context


def test_brokers_are_asked_each_after_a_look_at_the_epoch_and_looked_at_soon():
    brokers = Brokers()
    found, access, context = carried_out(MoveLogDirs((0, 1, 4)), brokers)
    assert found.did == (moved(1, 0, 1), moved(2, 4))
    assert brokers.asked == {1: {0: B, 1: B}, 2: {4: B}}
    assert access.checks == len(brokers.asked)
    assert context.memory.copies.asked_ms == 0


def test_a_cancelled_move_stays_in_its_directory():
    brokers = Brokers()
    found, _, _ = carried_out(MoveLogDirs(cancelled=(0, 4)), brokers)
    assert brokers.asked == {1: {0: A}, 2: {4: A}}
    cancelled = ActionKind.LOG_DIR_MOVES_CANCELLED
    assert found.did == (moved(1, 0, kind=cancelled), moved(2, 4, kind=cancelled))


def test_a_broker_that_is_away_holds_up_no_other_and_refusals_are_counted():
    found, _, context = carried_out(MoveLogDirs((0, 5)), Brokers(away=(1,), refused=(5,)))
    refused = Wait(
        WaitReason.LOG_DIR_MOVE_REFUSED,
        partitions=(TopicPartition("t", 5),),
        brokers=(2,),
        detail="no such directory",
    )
    assert found.waits == (Wait(WaitReason.UNAVAILABLE, detail="broker 1 is away"), refused)
    assert found.did == ()
    assert context.memory.copies.asks == {5: Asks(1, "no such directory")}
