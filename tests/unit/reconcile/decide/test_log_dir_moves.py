"""Moves between log directories: how many at once, and with whose word."""

import pytest

import builders
from builders import partition, plan, topic
from poolkeeper.errors import Unavailable
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Result
from poolkeeper.model.execution.waits import Wait, WaitReason
from poolkeeper.model.plans import MoveLogDir
from poolkeeper.model.topology import Broker, LogDir, TopicPartition
from poolkeeper.reconcile import act
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import log_dir_moves
from poolkeeper.reconcile.decide.log_dir_moves import MoveLogDirs

A, B = "/a", "/b"
CLOSED = Wait(WaitReason.OUTSIDE_WINDOW, until="tomorrow")
STEPS = tuple(MoveLogDir("t", p, 1 if p < 4 else 2, A, B, 1) for p in range(6))


def cluster(arriving=()):
    """Partitions 0 to 3 on broker 1, and 4 and 5 on broker 2; some are on their way to /b."""
    home = {p: 1 if p < 4 else 2 for p in range(6)}
    partitions = (partition(p, b, log_dirs={b: A}) for p, b in home.items())
    dirs = {A: LogDir(), B: LogDir()}
    brokers = (
        Broker(
            b,
            log_dirs=dirs,
            arriving={TopicPartition("t", p): B for p in arriving if home[p] == b},
        )
        for b in (1, 2)
    )
    return builders.cluster(brokers, topic("t", *partitions))


def decided(seen, *, holds=(), approved=STEPS, steps=STEPS):
    return log_dir_moves.decide(plan(steps=steps), seen, 2, holds, frozenset(approved))


def partitions(decision):
    return {b: [name.partition for name in targets] for b, targets in decision.batches.items()}


def moved(count, broker=None):
    return Action(ActionKind.MOVE_LOG_DIRS, broker=broker, count=count)


def unapproved(count):
    return Wait(WaitReason.APPROVAL_REQUIRED, action=moved(count))


def on_their_way(count, due):
    return Wait(WaitReason.LOG_DIR_MOVES_IN_FLIGHT, count=count, of=due)


@pytest.mark.parametrize(
    ("arriving", "more", "asked", "waits", "idle"),
    [
        pytest.param((), {}, {1: [0, 1], 2: [4, 5]}, (), (), id="each-broker-two-at-a-time"),
        pytest.param(
            (0, 4, 5), {}, {1: [1]}, (), (on_their_way(3, 3),), id="what-is-on-its-way-counts"
        ),
        pytest.param((0, 1, 4, 5), {}, {}, (), (on_their_way(4, 2),), id="all-are-busy"),
        pytest.param((), {"approved": ()}, {}, (unapproved(6),), (), id="nobody-approved"),
        pytest.param((), {"holds": (CLOSED,)}, {}, (CLOSED,), (), id="outside-of-its-window"),
        pytest.param(
            (),
            {"holds": (CLOSED,), "approved": ()},
            {},
            (unapproved(6),),
            (),
            id="what-is-not-approved-waits-for-no-window",
        ),
        pytest.param((), {"steps": ()}, {}, (), (), id="nothing-to-do"),
        pytest.param(
            (), {"approved": STEPS[2:4]}, {1: [2, 3]}, (unapproved(4),), (), id="some-are-approved"
        ),
    ],
)
def test_what_is_asked_for(arriving, more, asked, waits, idle):
    found = decided(cluster(arriving), **more)
    assert (partitions(found), found.waits, found.idle) == (asked, waits, idle)


@pytest.mark.parametrize(
    ("before", "steps", "approved", "expected"),
    [
        pytest.param((), STEPS[:4], True, STEPS[:4], id="approved-now"),
        pytest.param(STEPS[:4], STEPS[2:], False, STEPS[2:4], id="the-rest-of-what-was-approved"),
        pytest.param(STEPS[:2], STEPS[2:4], True, STEPS[:4], id="more-is-approved"),
        pytest.param(STEPS, (), False, (), id="nothing-is-planned-any-more"),
    ],
)
def test_what_was_approved_once_is_done_to_its_end(before, steps, approved, expected):
    found = log_dir_moves.approved_moves(plan(steps=steps), before, approved=approved)
    assert found == frozenset(expected)


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
        self.asked[broker] = [name.partition for name in targets]
        return {name: "no such directory" for name in targets if name.partition in self.refused}


def test_brokers_are_asked_each_after_a_look_at_the_epoch():
    access, brokers = Access(), Brokers()
    context = PassContext(access, lambda: 0, brokers)
    found = act.move_log_dirs(context, decided(cluster()))
    assert found == Result((moved(2, 1), moved(2, 2)))
    assert brokers.asked == {1: [0, 1], 2: [4, 5]}
    assert access.checks == len(brokers.asked)
    assert context.memory.log_dir_moves == frozenset(STEPS)


def test_a_broker_that_is_away_holds_up_no_other_and_refusals_are_said():
    context = PassContext(Access(), lambda: 0, Brokers(away=(1,), refused=(5,)))
    refused = Wait(
        WaitReason.LOG_DIR_MOVE_REFUSED,
        partitions=(TopicPartition("t", 5),),
        brokers=(2,),
        detail="no such directory",
    )
    assert act.move_log_dirs(context, decided(cluster())) == Result(
        (moved(1, 2),), (Wait(WaitReason.UNAVAILABLE, detail="broker 1 is away"), refused)
    )


def test_without_brokers_to_ask_it_is_said():
    context = PassContext(Access(), lambda: 0)
    told = Result(waits=(Wait(WaitReason.BROKERS_NOT_ASKED),))
    assert act.move_log_dirs(context, decided(cluster())) == told
    assert act.move_log_dirs(context, MoveLogDirs()) == Result()
