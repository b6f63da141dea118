"""The fake session keeps the contract of sessions; beyond it, what faults make of its calls."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest
from kazoo.exceptions import NodeExistsError

from contracts import session_acls, sessions
from poolkeeper.errors import TooLarge, Unavailable
from poolkeeper.model.credentials import ZooKeeperCredentials
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession, VirtualEvent
from poolkeeper.sandbox.clock import VirtualClock
from poolkeeper.sandbox.fake_zookeeper import (
    FakeClient,
    FakeZooKeeper,
    Fault,
    FaultKind,
    Faults,
    faults,
)
from poolkeeper.sandbox.simulation.zookeeper import session as zookeeper_session
from poolkeeper.zk.client.operations import Check, Create, Operation, SetData
from poolkeeper.zk.client.session import Session

CHROOT = "/kafka"


class FakeWorld:
    """A fake ZooKeeper; see `contracts.sessions.World`."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeZooKeeper(self.clock)
        FakeClient(self.server).commit([zookeeper_session.CreateNode(CHROOT)])
        self.other = FakeClient(self.server, chroot=CHROOT)
        for path in sessions.CLUSTER:
            self.other.commit([zookeeper_session.CreateNode(path)])

    def open(
        self, credentials: ZooKeeperCredentials | None = None, plan: Faults = faults.none
    ) -> FakeSession:
        login = None if credentials is None else (credentials.username, credentials.password)
        return FakeSession(self.server, self.clock, chroot=CHROOT, plan=plan, login=login)

    def put(self, path: str, data: bytes = b"") -> None:
        try:
            self.other.commit([zookeeper_session.CreateNode(path, data)])
        except NodeExistsError:
            self.other.commit([zookeeper_session.WriteNode(path, data)])

    def delete(self, path: str) -> None:
        self.other.commit([zookeeper_session.DeleteNode(path)])

    def log_in(self, user: str, password: str) -> None:
        self.other.log_in(user, password)

    def set_acl(self, path: str, acl: Sequence[Any]) -> None:
        self.other.set_acl(path, acl)

    def acl(self, path: str) -> set[Any]:
        return set(self.other.get_acl(path))

    def clear(self) -> None:
        """Nothing outlives a test here."""

    def expire(self, session: Session) -> None:
        self.server.expire(session.session_id)

    @contextmanager
    def soon(self, change: Callable[[], None]) -> Iterator[None]:
        timer = self.clock.after(100, change)
        yield
        assert timer.action is None, "it was done"

    def event(self) -> Event:
        return VirtualEvent(self.clock)

    def now_s(self) -> float:
        return self.clock.now_ms() / 1000


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()


class TestContract(sessions.SessionContract):
    pass


class TestAcls(session_acls.AclContract):
    pass


LOST = Fault(FaultKind.LOST)
LOST_DONE = Fault(FaultKind.LOST, done=True)
LATE = Fault(FaultKind.DELAYED, delay_ms=20_000)


@pytest.mark.parametrize(
    ("fault", "message", "done", "alive"),
    [
        pytest.param(LOST, "connection to ZooKeeper was lost", False, True, id="lost-before"),
        pytest.param(LOST_DONE, "connection to ZooKeeper was lost", True, True, id="lost-after"),
        pytest.param(Fault(FaultKind.EXPIRED), "expired", False, False, id="expired-before"),
        pytest.param(
            Fault(FaultKind.EXPIRED, done=True), "was lost", True, False, id="expired-after"
        ),
        pytest.param(LATE, "no answer in 15 s", True, False, id="too-late"),
    ],
)
def test_a_write_that_fails_has_an_unknown_outcome(
    world: FakeWorld, fault: Fault, message: str, done: bool, alive: bool
) -> None:
    session = world.open(plan=faults.at_writes({2: fault}))
    session.commit((SetData("/admin", b"1", 0),))
    with pytest.raises(Unavailable, match=f"outcome unknown: .*{message}"):
        session.commit((SetData("/admin", b"2", 1),))
    assert session.alive is alive
    with world.open() as another:
        node = another.read("/admin")
        assert node is not None
        assert node.data == (b"2" if done else b"1")


@pytest.mark.parametrize(
    ("transaction", "told"),
    [
        ((Check("/holder-1", 0), SetData("/admin", b"", 0)), "/admin"),
        ((Check("/holder-1", 0),), "/holder-1"),
    ],
    ids=["of a write", "of a check alone"],
)
def test_a_write_that_fails_in_each_session_is_told_in_the_same_words(
    world: FakeWorld, transaction: Sequence[Operation], told: str
) -> None:
    session = world.open(plan=faults.at_writes({1: LOST}))
    with pytest.raises(Unavailable) as raised:
        session.commit(transaction)
    lost = "the connection to ZooKeeper was lost"
    assert str(raised.value) == f"outcome unknown: {lost} (writing {told})"


def test_a_large_transaction_that_costs_the_connection_is_told_as_too_large(
    world: FakeWorld,
) -> None:
    """Once: what was learned is known as long as the connection lasts."""
    world.server.request_bytes_max = 10_000
    lost = iter([LOST])
    session = world.open(plan=lambda call: next(lost, None) if "/lost" in call.paths else None)
    with pytest.raises(TooLarge, match="take no transaction of 40") as told:
        session.commit((SetData("/admin", bytes(40_000), 0),))
    assert told.value.bytes > 40_000
    connection, _ = session.moment
    with pytest.raises(TooLarge):
        session.commit((SetData("/admin", bytes(50_000), 0),))
    assert session.moment[0] == connection
    session.commit((SetData("/admin", bytes(9_000), 0),))
    world.server.request_bytes_max = 100_000
    with pytest.raises(TooLarge):
        session.commit((SetData("/admin", bytes(50_000), 1),))
    session.exists("/lost")
    assert session.moment[0] > connection
    session.commit((SetData("/admin", bytes(50_000), 1),))


@pytest.mark.parametrize("size", [40_000, 3_000])
def test_a_connection_that_is_lost_for_another_reason_is_no_matter_of_size(
    world: FakeWorld, size: int
) -> None:
    session = world.open(plan=faults.at_writes({1: LOST}))
    with pytest.raises(Unavailable, match="outcome unknown: the connection to ZooKeeper was lost"):
        session.commit((SetData("/admin", bytes(size), 0),))
    session.commit((SetData("/admin", bytes(size), 0),))


def test_of_a_transaction_of_many_nodes_that_fails_a_few_are_named(world: FakeWorld) -> None:
    world.server.request_bytes_max = 2_000
    with pytest.raises(TooLarge) as told:
        world.open().commit([Create(f"/admin/{n:03}", b"") for n in range(200)])
    assert "/admin/004 and 195 nodes more" in str(told.value)
    assert "/admin/005" not in str(told.value)


def test_a_late_answer_in_time_is_one_and_time_has_passed(world: FakeWorld) -> None:
    session = world.open(plan=faults.at_writes({1: Fault(FaultKind.DELAYED, delay_ms=700)}))
    began_s = world.now_s()
    session.commit((SetData("/admin", b"1", 0),))
    assert world.now_s() - began_s >= 0.7


def test_reads_outlive_lost_connections(world: FakeWorld) -> None:
    def lose_every_other(call: faults.Call) -> Fault | None:
        return LOST if not call.write and call.number % 2 else None

    session = world.open(plan=lose_every_other)
    assert session.children("/admin") == ()
    assert not session.exists("/absent")


def test_a_lost_connection_ends_a_wait_as_if_all_had_changed(world: FakeWorld) -> None:
    session = world.open()
    assert not session.wait(("/admin",), 0)
    with world.soon(lambda: world.server.lose_connection(session.session_id)):
        assert session.wait(("/admin",), 5)
    assert not session.wait(("/admin",), 5)


def test_a_lagging_follower_shows_the_past_until_sync_but_never_unshows(world: FakeWorld) -> None:
    stale: list[Fault | None] = [None]
    session = world.open(plan=lambda call: stale[0])
    first = session.read("/admin")
    world.put("/admin", b"new")
    world.put("/admin/child")
    stale[0] = Fault(FaultKind.STALE, lag=10)
    assert session.read("/admin") == first
    assert session.children("/admin") == ()
    stale[0] = Fault(FaultKind.STALE, lag=1)
    node = session.read("/admin")
    assert node is not None
    assert (node.data, node.children) == (b"new", 0)
    stale[0] = None
    session.sync()
    stale[0] = Fault(FaultKind.STALE, lag=10)
    assert session.children("/admin") == ("child",)


def test_a_session_that_dies_is_ended_by_its_timeout(world: FakeWorld) -> None:
    session = world.open()
    session.commit((Create("/holder", b"", ephemeral=True),))
    session.die()
    with pytest.raises(Unavailable):
        session.read("/admin")
    with world.open() as another:
        assert another.exists("/holder")
        assert another.wait(("/holder",), 30)
        assert not another.exists("/holder")
