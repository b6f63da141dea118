"""Copies between log directories: how many at once, and with whose word."""

import pytest

from poolkeeper import copies
from poolkeeper.errors import Unavailable
from poolkeeper.means import Means
from poolkeeper.model.plans import MoveLogDir, Plan
from poolkeeper.model.topology import Broker, Cluster, LogDir, Partition, Topic, TopicPartition

A, B = "/a", "/b"


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
    did, waits = [], []
    plan = Plan("c", "sha256:x", "f", steps=steps)
    copies.begin(means, plan, seen, at_once, holds, approved=approved, did=did, waits=waits)
    return did, waits


@pytest.mark.parametrize(
    ("arriving", "more", "asked", "said"),
    [
        pytest.param(
            (),
            {},
            {1: [0, 1], 2: [4, 5]},
            (
                [
                    "move 2 replicas between log directories of broker 1",
                    "move 2 replicas between log directories of broker 2",
                ],
                [],
            ),
            id="each-broker-copies-two-at-a-time",
        ),
        pytest.param(
            (0, 4, 5),
            {},
            {1: [1]},
            (["move 1 replica between log directories of broker 1"], []),
            id="what-is-on-its-way-counts",
        ),
        pytest.param(
            (0, 1, 4, 5),
            {},
            {},
            ([], ["4 replicas between log directories on their way, 2 to go"]),
            id="all-are-busy",
        ),
        pytest.param(
            (),
            {"approved": False},
            {},
            ([], ["waits for approval: move 6 replicas between log directories"]),
            id="nobody-approved",
        ),
        pytest.param(
            (), {"holds": ("not now",)}, {}, ([], ["not now"]), id="outside-of-its-window"
        ),
        pytest.param((), {"steps": ()}, {}, ([], []), id="nothing-to-do"),
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
    did, waits = begun(brokers, cluster(), means=means, approved=False, steps=(*rest, *new))
    assert brokers.asked == {1: [2, 3]}
    assert did == ["move 2 replicas between log directories of broker 1"]
    assert waits == ["waits for approval: move 2 replicas between log directories"]


def test_a_broker_that_is_away_holds_up_no_other_and_refusals_are_said():
    brokers = Brokers(away=(1,), refused=(5,))
    did, waits = begun(brokers, cluster())
    assert did == ["move 1 replica between log directories of broker 2"]
    assert waits == ["broker 1 is away", "broker 2 does not move t-5: no such directory"]


def test_the_epoch_is_checked_before_each_request():
    journal = Journal()
    brokers = Brokers()
    begun(brokers, cluster(), means=Means(journal, lambda: 0, brokers))
    assert journal.checks == len(brokers.asked) == 2


def test_without_brokers_to_ask_it_is_said():
    assert begun(None, cluster()) == (
        [],
        ["the brokers cannot be asked to move replicas between log directories"],
    )
