"""What a session promises, whatever it is a session with.

The tests use nothing but a `World`: a ZooKeeper with an empty Kafka cluster, and somebody else who
writes to it. Time is the world's own: it may be virtual, and then nobody but a waiting session lets
it pass.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from threading import Event, Thread
from typing import Any, Protocol

import pytest

from poolkeeper.errors import Refused, Stale, Unavailable
from poolkeeper.model.credentials import ZooKeeperCredentials
from poolkeeper.zk.client.operations import Check, Create, Delete, Operation, SetData
from poolkeeper.zk.client.session import Session

DEADLINE_S = 20.0
SECRET = "s3cret"
ALICE = ZooKeeperCredentials("alice", SECRET)
CLUSTER = (
    "/admin",
    "/brokers",
    "/brokers/ids",
    "/brokers/topics",
    "/config",
    "/config/brokers",
    "/config/topics",
)
"""The nodes of an empty Kafka cluster, as a world begins."""


class World(Protocol):
    """A ZooKeeper in which `CLUSTER` exists."""

    def open(self, credentials: ZooKeeperCredentials | None = None) -> Session:
        """Open a session."""
        ...

    def put(self, path: str, data: bytes = b"") -> None:
        """Create or set a node, as somebody else."""
        ...

    def delete(self, path: str) -> None:
        """Delete a node, as somebody else."""
        ...

    def log_in(self, user: str, password: str) -> None:
        """Give somebody else an identity."""
        ...

    def set_acl(self, path: str, acl: Sequence[Any]) -> None:
        """Replace a node's ACL, as somebody else."""
        ...

    def acl(self, path: str) -> set[Any]:
        """Return a node's ACL, as somebody else sees it."""
        ...

    def clear(self) -> None:
        """Delete everything, as somebody else."""
        ...

    def expire(self, session: Session) -> None:
        """Make ZooKeeper end the session."""
        ...

    def soon(self, change: Callable[[], None]) -> AbstractContextManager[None]:
        """Do this a tenth of a second from now; it is done when the block ends."""
        ...

    def event(self) -> Event:
        """Return an event that can be waited for in this world's time."""
        ...

    def now_s(self) -> float:
        """Return the world's time."""
        ...


LOST: list[tuple[str, tuple[Operation, ...], str, str]] = [
    (
        "a-changed-node-set",
        (Check("/admin", 0), SetData("/t", b"x", 1)),
        "setting /t: it changed meanwhile",
        "/t",
    ),
    ("a-changed-node-checked", (Check("/t", 3),), "checking /t: it changed meanwhile", "/t"),
    ("a-changed-node-deleted", (Delete("/t", 3),), "deleting /t: it changed meanwhile", "/t"),
    (
        "a-node-that-is-gone",
        (SetData("/gone", b"", 0), Check("/admin", 0)),
        "setting /gone: it does not exist any more, or its parent does not",
        "/gone",
    ),
    (
        "a-check-of-a-node-that-is-gone",
        (Check("/admin", 0), Check("/gone", 0), Check("/t", 9)),
        "checking /gone: it does not exist any more, or its parent does not",
        "/gone",
    ),
    ("a-node-that-is-there", (Create("/t", b""),), "creating /t: it exists already", "/t"),
    (
        "a-node-with-children",
        (Delete("/brokers", 0),),
        "deleting /brokers: it has children",
        "/brokers",
    ),
    ("no-parent", (Create("/no/x", b""),), "/no does not exist (to create a node)", "/no"),
    (
        "no-parent-and-a-changed-node",
        (Check("/t", 3), Create("/no/x", b"")),
        "checking /t: it changed meanwhile",
        "/t",
    ),
]


class SessionContract:
    """Tests of `Session`; a subclass's module has the fixture `world`."""

    @pytest.fixture
    def session(self, world: World) -> Iterator[Session]:
        with world.open() as opened:
            yield opened

    def test_a_node_is_read_with_the_parts_of_its_stat(
        self, world: World, session: Session
    ) -> None:
        assert session.commit((Create("/a", b"1"), Create("/a/b", b""))) == ("/a", "/a/b")
        first = session.read("/a")
        assert first is not None
        assert (first.data, first.version, first.ephemeral_owner, first.children) == (b"1", 0, 0, 1)
        assert first.czxid == first.mzxid
        session.commit((SetData("/a", b"2", 0),))
        second = session.read("/a")
        assert second is not None
        assert (second.data, second.version, second.czxid) == (b"2", 1, first.czxid)
        assert second.mzxid > first.mzxid

    def test_a_node_tells_when_it_was_written_by_the_servers_clock(
        self, world: World, session: Session
    ) -> None:
        assert session.modified_ms("/a") is None
        session.commit((Create("/a", b"1"),))
        first = session.modified_ms("/a")
        session.commit((SetData("/a", b"2", 0), Create("/b", b"")))
        second = session.modified_ms("/a")
        assert first is not None
        assert second is not None
        assert first <= second == session.modified_ms("/b")

    def test_what_is_absent_reads_as_none(self, session: Session) -> None:
        assert session.read("/absent") is None
        assert session.children("/absent") is None
        assert session.read_many(["/absent", "/admin"])[0] is None
        assert not session.exists("/absent")
        assert session.exists("/admin")

    def test_children_are_sorted_names(self, session: Session) -> None:
        session.commit([Create(f"/admin/{name}", b"") for name in "bca"])
        assert session.children("/admin") == ("a", "b", "c")
        assert session.children("/admin/a") == ()

    def test_many_nodes_are_read_in_the_order_asked(self, session: Session) -> None:
        paths = [f"/admin/n{i}" for i in range(1700)]
        for i in range(0, 1700, 100):
            session.commit([Create(path, path.encode()) for path in paths[i : i + 100]])
        asked = [path for path in reversed(paths) for path in (path, f"{path}-not")]
        found = session.read_many(asked)
        assert found[1::2] == [None] * 1700
        assert [node and node.data for node in found[::2]] == [p.encode() for p in reversed(paths)]
        assert found[0] == session.read(asked[0])
        assert session.read_many([]) == []

    def test_an_ephemeral_node_belongs_to_the_session_and_ends_with_it(self, world: World) -> None:
        with world.open() as holder:
            holder.commit((Create("/holder", b"", ephemeral=True),))
            node = holder.read("/holder")
            assert node is not None
            assert node.ephemeral_owner == holder.session_id
        with world.open() as other:
            assert other.read("/holder") is None
            assert other.session_id != holder.session_id

    def test_a_sequence_gives_the_path_it_made(self, session: Session) -> None:
        made = session.commit([Create("/admin/s_", b"", sequence=True)] * 2 + [Check("/admin", 0)])
        assert made == ("/admin/s_0000000000", "/admin/s_0000000001", "")

    @pytest.mark.parametrize(
        ("operations", "message", "path"), [c[1:] for c in LOST], ids=[c[0] for c in LOST]
    )
    def test_a_write_that_lost_names_the_operation_and_writes_nothing(
        self,
        world: World,
        session: Session,
        operations: tuple[Operation, ...],
        message: str,
        path: str,
    ) -> None:
        world.put("/t", b"before")
        with pytest.raises(Stale) as raised:
            session.commit((Create("/first", b""), *operations, Create("/last", b"")))
        assert (str(raised.value), raised.value.path) == (message, path)
        assert session.read_many(["/first", "/last"]) == [None, None]
        node = session.read("/t")
        assert node is not None
        assert node.data == b"before"

    def test_a_write_without_a_version_is_a_mistake_of_ours(self, session: Session) -> None:
        with pytest.raises(AssertionError, match="any version"):
            session.commit((SetData("/admin", b"", -1),))

    def test_too_much_for_a_transaction_is_refused(self, session: Session) -> None:
        with pytest.raises(Refused, match="too large"):
            session.commit((Create("/big", bytes(256 * 1024)),))
        assert session.read("/big") is None

    def test_waiting_ends_with_a_change_of_data_of_children_or_with_creation(
        self, world: World, session: Session
    ) -> None:
        paths = ("/admin", "/later")
        for change in (
            lambda: world.put("/admin", b"new"),
            lambda: world.put("/admin/child"),
            lambda: world.put("/later"),
            lambda: world.put("/later/child"),
            lambda: world.delete("/later/child"),
            lambda: world.delete("/later"),
            lambda: world.put("/later"),
        ):
            assert not session.wait(paths, 0.05)
            with world.soon(change):
                began_s = world.now_s()
                assert session.wait(paths, DEADLINE_S)
                assert world.now_s() - began_s < DEADLINE_S / 2
            while session.wait(paths, 0.2):
                continue  # the change of a child is one of the parent, and may be told apart

    def test_a_change_between_two_waits_ends_the_second(
        self, world: World, session: Session
    ) -> None:
        assert not session.wait(("/admin",), 0)
        world.put("/admin", b"1")
        session.sync()
        assert session.wait(("/admin",), DEADLINE_S)
        world.put("/admin", b"2")
        assert session.wait(("/admin",), DEADLINE_S)

    def test_a_sync_names_one_moment_until_somebody_writes(
        self, world: World, session: Session
    ) -> None:
        deadline_s = world.now_s() + DEADLINE_S
        # Sessions of others may still end.
        while (moment := session.sync()) != session.sync():
            assert world.now_s() < deadline_s
        session.read("/admin")
        session.children("/brokers")
        session.read_many(["/admin", "/absent"])
        assert session.moment == moment
        world.put("/admin", b"1")
        connection, zxid = session.sync()
        assert connection == moment[0]
        assert zxid > moment[1]
        session.commit((Create("/mine", b"", ephemeral=True),))
        assert session.moment[1] > zxid

    def test_waiting_ends_when_the_owner_wants(self, world: World, session: Session) -> None:
        wake = world.event()
        with world.soon(wake.set):
            began_s = world.now_s()
            assert not session.wait(("/admin",), DEADLINE_S, wake)
            assert world.now_s() - began_s < DEADLINE_S / 2

    def test_a_change_sets_the_owners_event(self, world: World, session: Session) -> None:
        wake = world.event()
        assert not session.wait(("/admin",), 0, wake)
        with world.soon(lambda: world.put("/admin", b"1")):
            assert session.wait(("/admin",), DEADLINE_S, wake)
            assert wake.is_set()

    def test_an_expired_session_stays_so(self, world: World, session: Session) -> None:
        session.commit((Create("/holder", b"", ephemeral=True),))
        assert session.alive
        with world.soon(lambda: world.expire(session)), pytest.raises(Unavailable) as raised:
            session.wait(("/admin",), DEADLINE_S)
        assert "session expired" in str(raised.value)
        assert not session.alive
        calls: tuple[Callable[[], object], ...] = (
            lambda: session.read("/admin"),
            lambda: session.read_many(["/admin"]),
            lambda: session.children("/admin"),
            lambda: session.exists("/admin"),
            lambda: session.commit((Create("/x", b""),)),
            lambda: session.wait(("/admin",), 0),
            session.sync,
        )
        for call in calls:
            with pytest.raises(Unavailable, match="session expired; a new one must be opened"):
                call()
        session.close()
        with world.open() as another:
            assert another.read_many(["/holder", "/x"]) == [None, None]

    def test_closing_twice_is_fine_and_nothing_works_afterwards(self, world: World) -> None:
        opened = world.open()
        opened.close()
        opened.close()
        assert not opened.alive
        with pytest.raises(Unavailable):
            opened.read("/admin")

    def test_several_threads_share_a_session(self, session: Session) -> None:
        failed: list[Exception] = []

        def work(number: int) -> None:
            try:
                for i in range(20):
                    path = f"/admin/{number}-{i}"
                    session.commit((Create(path, path.encode()),))
                    node = session.read(path)
                    assert node is not None
                    assert node.data == path.encode()
                    assert session.read_many([path, "/absent"]) == [node, None]
            except Exception as error:  # noqa: BLE001 - told by the test's own thread
                failed.append(error)

        threads = [Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert len(session.children("/admin") or ()) == 120
