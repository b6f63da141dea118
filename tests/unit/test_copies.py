"""Copies between log directories: how many at once, and with whose word."""

import pytest

from poolkeeper import copies
from poolkeeper.errors import Unavailable
from poolkeeper.means import Means
from poolkeeper.model.actions import Action, ActionKind
from poolkeeper.model.outcomes import Result
from poolkeeper.model.plans import MoveLogDir, Plan
from poolkeeper.model.topology import Broker, Cluster, LogDir, Partition, Topic, TopicPartition
from poolkeeper.model.waits import Wait, WaitReason

A, B = "/a", "/b"
CLOSED = Wait(WaitReason.OUTSIDE_WINDOW, until="tomorrow")


class Journal:
    """Counts how often the epoch was checked."""

    def __init__(self):
        self.checks = 0

    def commit(self, *operations):
        assert operations == ()
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


def cluster(arriving=()):
    """Partitions 0 to 3 on broker 1, and 4 and 5 on broker 2; some are on their way to /b."""
    home = {p: 1 if p < 4 else 2 for p in range(6)}
    topic = Topic("t", tuple(Partition(p, (b,), log_dirs={b: A}) for p, b in home.items()))
    dirs = {A: LogDir(), B: LogDir()}
    brokers = {
        b: Broker(
            b,
            log_dirs=dirs,
            arriving={TopicPartition("t", p): B for p in arriving if home[p] == b},
        )
        for b in (1, 2)
    }
    return Cluster("c", brokers, {"t": topic})


STEPS = tuple(MoveLogDir("t", p, 1 if p < 4 else 2, A, B, 1) for p in range(6))


def begun(brokers, seen, *, means=None, holds=(), approved=True, steps=STEPS, at_once=2):
    means = means or Means(Journal(), lambda: 0, brokers)
    plan = Plan("c", "sha256:x", "f", steps=steps)
    return copies.begin(means, plan, seen, at_once, holds, approved=approved)


def moved(count, broker=None):
    return Action(ActionKind.MOVE_LOG_DIRS, broker=broker, count=count)


def unapproved(count):
    return Wait(WaitReason.APPROVAL_REQUIRED, action=moved(count))


@pytest.mark.parametrize(
    ("arriving", "more", "asked", "said"),
    [
        pytest.param(
            (),
            {},
            {1: [0, 1], 2: [4, 5]},
            Result((moved(2, 1), moved(2, 2))),
            id="each-broker-copies-two-at-a-time",
        ),
        pytest.param(
            (0, 4, 5),
            {},
            {1: [1]},
            Result((moved(1, 1),)),
            id="what-is-on-its-way-counts",
        ),
        pytest.param(
            (0, 1, 4, 5),
            {},
            {},
            Result(waits=(Wait(WaitReason.LOG_DIR_MOVES_IN_FLIGHT, count=4, of=2),)),
            id="all-are-busy",
        ),
        pytest.param(
            (),
            {"approved": False},
            {},
            Result(waits=(unapproved(6),)),
            id="nobody-approved",
        ),
        pytest.param(
            (), {"holds": (CLOSED,)}, {}, Result(waits=(CLOSED,)), id="outside-of-its-window"
        ),
        pytest.param((), {"steps": ()}, {}, Result(), id="nothing-to-do"),
    ],
)
def test_what_is_asked_for(arriving, more, asked, said):
    brokers = Brokers()
    assert begun(brokers, cluster(arriving), **more) == said
    assert brokers.asked == asked


def test_what_was_approved_once_is_done_to_its_end_and_what_is_new_is_not():
    brokers = Brokers()
    means = Means(Journal(), lambda: 0, brokers)
    begun(brokers, cluster(), means=means, steps=STEPS[:4])
    brokers.asked.clear()
    rest, new = STEPS[2:4], STEPS[4:]
    found = begun(brokers, cluster(), means=means, approved=False, steps=(*rest, *new))
    assert brokers.asked == {1: [2, 3]}
    assert found == Result((moved(2, 1),), (unapproved(2),))


def test_a_broker_that_is_away_holds_up_no_other_and_refusals_are_said():
    brokers = Brokers(away=(1,), refused=(5,))
    refused = Wait(
        WaitReason.LOG_DIR_MOVE_REFUSED,
        partitions=(TopicPartition("t", 5),),
        brokers=(2,),
        detail="no such directory",
    )
    assert begun(brokers, cluster()) == Result(
        (moved(1, 2),), (Wait(WaitReason.UNAVAILABLE, detail="broker 1 is away"), refused)
    )


def test_the_epoch_is_checked_before_each_request():
    journal = Journal()
    brokers = Brokers()
    begun(brokers, cluster(), means=Means(journal, lambda: 0, brokers))
    assert journal.checks == len(brokers.asked) == 2


def test_without_brokers_to_ask_it_is_said():
    assert begun(None, cluster()) == Result(waits=(Wait(WaitReason.BROKERS_NOT_ASKED),))
