"""Elections in a simulated world: partitions, freezes, skewed clocks, answers that are lost.

Each instance runs in a thread, one at a time: whoever waits for time to pass hands over to the
world, which goes on with the one whose time comes next. So each course is the same in every run.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Semaphore, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.errors import Forbidden, Refused, Stale, Unavailable
from poolkeeper.kube.leadership.leader_election import LeaderRole
from poolkeeper.kube.leadership.leader_elector import LeaderElector

HELD, UNSURE, STANDBY = LeaderRole.HELD, LeaderRole.UNSURE, LeaderRole.STANDBY
STEP_S = 0.5


@dataclass(frozen=True)
class Fault:
    """What happens to one request: time before and after it is done, and what is answered."""

    before_s: float = 0.01
    after_s: float = 0.01
    answer: str = "good"


GOOD = Fault()
AWAY = Fault(answer="away")


class Ended(BaseException):
    """The world ends; no instance may catch it."""


@dataclass
class World:
    """One Lease, true time, and the instances that want it."""

    now_s: float = 0.0
    stored: dict | None = None
    versions: int = 0
    instances: list["Instance"] = field(default_factory=list)
    delayed: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    overlaps: list[tuple[float, list[str]]] = field(default_factory=list)
    turn: Semaphore = field(default_factory=lambda: Semaphore(0))

    def pass_time(self, seconds):
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            awake = [each for each in self.instances if not each.frozen]
            next_s = min((each.wake_s for each in awake), default=end_s)
            self.now_s = max(self.now_s, min(end_s, self.now_s + STEP_S, next_s))
            for found in [found for found in self.delayed if found[0] <= self.now_s]:
                self.delayed.remove(found)
                found[1]()
            self.check()
            for each in awake:
                if each.wake_s <= self.now_s:
                    each.go_on()
                    self.check()

    def check(self):
        held = [each.name for each in self.instances if each.elector.role is HELD]
        if len(held) > 1:
            self.overlaps.append((self.now_s, held))

    def store(self, body):
        """Keep a body if it is of the version that is there; what is answered otherwise is None."""
        sent = body["metadata"].get("resourceVersion")
        there = None if self.stored is None else self.stored["metadata"]["resourceVersion"]
        if sent != there:
            return None
        self.versions += 1
        meta = body["metadata"] | {"resourceVersion": str(self.versions)}
        self.stored = body | {"metadata": meta}
        return self.stored

    def end(self):
        for each in self.instances:
            each.ended = True
            each.go_on()


@contextmanager
def world() -> Iterator[World]:
    found = World()
    try:
        yield found
    finally:
        found.end()


class Instance:
    """An elector, its way to the API server, and its own clock."""

    def __init__(self, world, name, *, faults=(), offset_s=0.0, rate=1.0, starts_s=0.0):
        self.world, self.name = world, name
        self.faults = list(faults)
        self.wake_s, self.frozen, self.ended = world.now_s + starts_s, False, False
        self.timeless = False
        self.turn = Semaphore(0)
        self.changes = []
        self.elector = LeaderElector(
            self,
            "ops",
            "poolkeeper",
            name,
            clock=lambda: offset_s + rate * world.now_s,
            on_change=lambda role, reason: self.changes.append(role),
        )
        world.instances.append(self)
        Thread(target=self.run, daemon=True).start()

    def go_on(self):
        """Let the instance run until it waits again."""
        self.turn.release()
        assert self.world.turn.acquire(timeout=10)

    def run(self):
        try:
            self.turn.acquire()
            while not self.ended:
                self.sleep(self.elector.round())
        except Ended:
            pass
        finally:
            self.wake_s = float("inf")
            self.world.turn.release()

    def stop(self):
        """Freeze the instance's own thread; the test asks its elector in its stead."""
        self.frozen = self.timeless = True

    def sleep(self, seconds):
        if self.timeless:
            return
        self.wake_s = self.world.now_s + seconds
        self.world.turn.release()
        self.turn.acquire()
        if self.ended:
            raise Ended

    def get(self, path, *, deadline_s=None):
        return self.request(lambda: self.world.stored)

    def create(self, path, body, *, deadline_s=None):
        return self.write(body)

    def update(self, path, body, *, deadline_s=None):
        return self.write(body)

    def write(self, body):
        stored = self.request(lambda: self.world.store(body))
        if stored is None:
            raise Stale("somebody else was faster")
        return stored

    def request(self, do):
        fault = self.faults.pop(0) if self.faults else GOOD
        self.sleep(fault.before_s)
        match fault.answer:
            case "away":
                raise Unavailable("the API server is away")
            case "forbidden":
                raise Forbidden("RBAC was removed")
            case "late":
                self.world.delayed.append((self.world.now_s + fault.after_s, do))
                raise Unavailable("no answer in time; it happens later")
            case "lost":
                do()
                self.sleep(fault.after_s)
                raise Unavailable("it happened, the answer was lost")
        answer = do()
        self.sleep(fault.after_s)
        return answer


def pair(world):
    """Return one instance that comes first and one that comes a little later."""
    return Instance(world, "a"), Instance(world, "b", starts_s=0.5)


FAULTS = st.builds(
    Fault,
    before_s=st.sampled_from([0.01, 0.01, 0.5, 3, 12]),
    after_s=st.sampled_from([0.01, 0.01, 0.5, 3, 12]),
    answer=st.sampled_from(["good", "good", "good", "away", "late", "lost", "forbidden"]),
)
CLOCKS = st.fixed_dictionaries(
    {
        "offset_s": st.sampled_from([0.0, -1e6, 1e9, 3600.0]),
        "rate": st.sampled_from([0.95, 1, 1.05]),
    }
)


INSTANCES = st.lists(st.tuples(st.lists(FAULTS, max_size=25), CLOCKS), min_size=2, max_size=3)


@pytest.mark.slow
@examples(20)
@given(INSTANCES)
def test_two_never_believe_to_hold_it_and_in_the_end_one_does(instances):
    with world() as the:
        for number, (faults, clock) in enumerate(instances):
            Instance(the, f"i{number}", faults=faults, **clock)
        the.pass_time(90)
        assert the.overlaps == []
        for each in the.instances:
            each.faults.clear()
        the.pass_time(45)
        assert the.overlaps == []
        assert sorted(each.elector.role for each in the.instances) == sorted(
            [HELD] + [STANDBY] * (len(instances) - 1)
        )


@pytest.fixture
def the():
    """The world."""
    with world() as found:
        yield found


def test_the_first_one_holds_it_and_the_other_says_who_does(the):
    first, second = pair(the)
    the.pass_time(5)
    assert (first.elector.role, second.elector.role) == (HELD, STANDBY)
    assert second.elector.reason == "a holds the lease"
    assert second.elector.holder == "a"
    assert first.changes == [HELD]


def test_a_holder_that_dies_is_followed_within_its_duration_and_a_second(the):
    first, second = pair(the)
    the.pass_time(5)
    first.frozen = True
    the.pass_time(9 + 1 + 2 * STEP_S)
    assert second.elector.role is HELD


def test_a_holder_that_gives_up_is_followed_at_once(the):
    first, second = pair(the)
    the.pass_time(5)
    first.stop()
    assert first.elector.release()
    assert first.elector.role is STANDBY
    the.pass_time(1 + 2 * STEP_S)
    assert second.elector.role is HELD
    assert the.stored["spec"]["leaseTransitions"] == 1


def test_who_was_followed_while_frozen_gives_up_nothing(the):
    first, second = pair(the)
    the.pass_time(5)
    first.frozen = True
    the.pass_time(30)
    first.stop()
    assert first.elector.release()
    assert the.stored["spec"]["holderIdentity"] == "b"
    assert second.elector.role is HELD


def test_a_frozen_holder_wakes_up_unsure_before_it_did_anything(the):
    only = Instance(the, "a")
    the.pass_time(5)
    only.frozen = True
    the.pass_time(30)
    assert only.elector.role is UNSURE


def test_a_frozen_holder_that_was_followed_becomes_standby_in_its_first_round(the):
    first, second = pair(the)
    the.pass_time(5)
    first.frozen = True
    the.pass_time(30)
    assert (first.elector.role, second.elector.role) == (UNSURE, HELD)
    first.frozen = False
    the.pass_time(STEP_S)
    assert first.elector.role is STANDBY
    assert first.elector.reason == "b took the lease"
    assert first.changes == [HELD, UNSURE, STANDBY]


def test_an_answer_that_comes_after_a_freeze_does_not_count_from_then(the):
    only = Instance(the, "a", faults=[GOOD, Fault(after_s=20)])
    the.pass_time(20.5)
    assert only.changes == [UNSURE]


def test_a_holder_without_api_server_is_unsure_and_holds_again_when_it_is_back(the):
    first = Instance(the, "a")
    the.pass_time(5)
    first.faults = [AWAY] * 30
    the.pass_time(20)
    assert first.elector.role is UNSURE
    assert first.elector.reason == "the API server is away"
    the.pass_time(20)
    assert first.elector.role is HELD
    assert first.changes == [HELD, UNSURE, HELD]


def test_forbidden_is_a_reason_and_no_end(the, caplog):
    first = Instance(the, "a", faults=[Fault(answer="forbidden")] * 3)
    the.pass_time(1)
    assert first.elector.role is STANDBY
    assert first.elector.reason == "access to the lease is forbidden: RBAC was removed"
    the.pass_time(5)
    assert first.elector.role is HELD
    told = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert told == ["a cannot lead: access to the lease is forbidden: RBAC was removed"]


def test_a_lease_that_somebody_deletes_is_made_again_by_its_holder(the):
    first, second = pair(the)
    the.pass_time(5)
    the.stored = None
    the.pass_time(20)
    assert (first.elector.role, second.elector.role) == (HELD, STANDBY)
    assert the.overlaps == []
    assert first.changes == [HELD]


def test_a_lease_deleted_under_a_dead_holder_is_waited_out(the):
    first, second = pair(the)
    the.pass_time(5)
    first.frozen, the.stored = True, None
    the.pass_time(20)
    assert second.elector.role is HELD
    assert the.overlaps == []


def test_giving_up_without_api_server_says_so(the):
    only = Instance(the, "a")
    the.pass_time(5)
    only.stop()
    only.faults = [AWAY]
    assert not only.elector.release()
    assert only.elector.role is STANDBY


def test_a_standby_gives_up_without_writing(the):
    _, second = pair(the)
    the.pass_time(5)
    version = the.stored["metadata"]["resourceVersion"]
    second.stop()
    assert second.elector.release()
    assert the.stored["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize("refusal", [Refused("bad name"), Unavailable("away"), Stale("lost")])
def test_no_failure_ends_the_election(the, refusal):
    only = Instance(the, "a")
    only.stop()
    only.get = _raising(refusal)
    assert only.elector.round() <= 1
    assert str(refusal) in only.elector.reason


def test_a_namespace_that_is_gone_is_told_as_that(the):
    """The API server has a 404 for it, as for a lease that somebody else deleted."""
    gone = 'namespaces "poolkeeper" not found'
    only = Instance(the, "a")
    only.stop()
    only.get = lambda path, *, deadline_s=None: None
    only.create = _failing(Stale(gone))
    only.elector.round()
    assert only.elector.reason == f"the lease was not written: {gone}"


def _failing(error):
    def create(path, body, *, deadline_s=None):
        raise error

    return create


def _raising(error):
    def get(path, *, deadline_s=None):
        raise error

    return get


def test_a_thread_runs_the_rounds_and_ends(the):
    only = Instance(the, "a")
    only.stop()
    only.elector.start()
    assert only.elector.changed.wait(5)
    assert only.elector.release()
    assert the.stored["spec"]["holderIdentity"] == ""
    assert only.elector.quiet_s < 60
