"""Sessions with real ZooKeepers: the contract of sessions, and what only real servers do.

That is wrong addresses, lost connections, servers that are old, and TLS.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.retry import KazooRetry

from contracts import session_acls, sessions
from contracts.sessions import DEADLINE_S, SECRET
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.model.credentials import Scheme, ZooKeeperCredentials
from poolkeeper.sandbox import Sandbox, SandboxSpec
from poolkeeper.zk.client.operations import Create, Delete
from poolkeeper.zk.client.session import Session


def patient_client(connect: str) -> KazooClient:
    """Return a client for a server that may be starting and then leaves a connection unanswered."""
    return KazooClient(connect, timeout=2, connection_retry={"max_tries": -1, "max_delay": 0.5})


class World:
    """A real ZooKeeper; see `contracts.sessions.World`."""

    def __init__(self, connect: str) -> None:
        self.connect = connect
        self.other = patient_client(connect)
        self.other.start(timeout=DEADLINE_S)
        for path in sessions.CLUSTER:
            self.other.ensure_path(path)

    def open(self, **options: object) -> Session:
        """Open a session."""
        return Session.open(self.connect, deadline_s=DEADLINE_S, **options)  # type: ignore[arg-type]

    def put(self, path: str, data: bytes = b"") -> None:
        """Create or set a node, even where the server's restart outlasts the client's session."""
        KazooRetry(max_tries=-1, max_delay=0.5, deadline=DEADLINE_S)(self._put, path, data)

    def _put(self, path: str, data: bytes) -> None:
        if self.other.exists(path):
            self.other.set(path, data)
        else:
            self.other.create(path, data)

    def delete(self, path: str) -> None:
        """Delete a node."""
        self.other.delete(path)

    def log_in(self, user: str, password: str) -> None:
        """Give the other writer an identity."""
        self.other.add_auth("digest", f"{user}:{password}")

    def set_acl(self, path: str, acl: Sequence[Any]) -> None:
        """Replace a node's ACL."""
        self.other.set_acls(path, list(acl))

    def acl(self, path: str) -> set[Any]:
        """Return a node's ACL."""
        return set(self.other.get_acls(path)[0])

    def clear(self) -> None:
        """Delete everything, which a fixture without this identity cannot."""
        for child in self.other.get_children("/"):
            self.other.delete(f"/{child}", recursive=True)

    def expire(self, session: Session) -> None:
        """Make ZooKeeper end the session."""
        twin = KazooClient(self.connect, client_id=session._client.client_id)
        twin.start(timeout=DEADLINE_S)
        twin.stop()
        twin.close()

    @contextmanager
    def soon(self, change: Callable[[], None]) -> Iterator[None]:
        """Do this from another thread, a tenth of a second from now."""
        timer = threading.Timer(0.1, change)
        timer.start()
        yield
        timer.join()

    def event(self) -> threading.Event:
        """Return an event."""
        return threading.Event()

    def now_s(self) -> float:
        """Return the time."""
        return time.monotonic()

    def close(self) -> None:
        """End the other writer."""
        self.other.stop()
        self.other.close()


@pytest.fixture
def world(chroot: str) -> Iterator[World]:
    found = World(chroot)
    yield found
    found.close()


class TestContract(sessions.SessionContract):
    pass


class TestAcls(session_acls.AclContract):
    pass


# Addresses


def test_a_wrong_chroot_is_told_and_not_created(zookeeper: Sandbox, world: World) -> None:
    server, _, chroot = world.connect.partition("/")
    for wrong, problem in (("/absent-chroot", "it does not exist"), ("/zookeeper", "it has no /")):
        with pytest.raises(Unavailable) as raised:
            Session.open(server + wrong, deadline_s=DEADLINE_S)
        message = str(raised.value)
        assert message.startswith(f"{wrong} at {server} is no Kafka cluster: {problem}")
        assert f"/{chroot}" in message.partition("did you mean the chroot ")[2]
        assert "\n" not in message
    root = KazooClient(server)
    root.start()
    assert root.exists("/absent-chroot") is None
    root.stop()
    root.close()


def test_a_cluster_at_the_root_is_suggested_and_found() -> None:
    with Sandbox.start(SandboxSpec()) as sandbox:
        client = KazooClient(sandbox.zookeeper)
        client.start()
        client.ensure_path("/emptied/brokers/ids")
        with pytest.raises(Unavailable, match=r"it has no /brokers/topics$"):
            Session.open(f"{sandbox.zookeeper}/emptied", deadline_s=DEADLINE_S)
        client.delete("/emptied", recursive=True)
        client.ensure_path("/brokers/ids")
        client.ensure_path("/brokers/topics")
        client.stop()
        client.close()
        with pytest.raises(Unavailable, match=r"did you mean the chroot /\?"):
            Session.open(f"{sandbox.zookeeper}/kafka", deadline_s=DEADLINE_S)
        with Session.open(sandbox.zookeeper, deadline_s=DEADLINE_S) as session:
            session.commit((Create("/poolkeeper", b""),))
            assert session.children("/") == ("brokers", "poolkeeper", "zookeeper")


@pytest.mark.parametrize(
    "connect", ["127.0.0.1:1/kafka", "127.0.0.1:1,localhost:1/kafka", "no-such-host.invalid:1/k"]
)
def test_an_absent_server_is_told_in_time(connect: str) -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable) as raised:
        Session.open(connect, deadline_s=1)
    assert time.monotonic() - began < 60
    message = str(raised.value)
    assert message.startswith(f"no ZooKeeper answers at {connect.partition('/')[0]} within 1 s")
    assert "\n" not in message


def test_a_server_that_says_nothing_is_told_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(Unavailable, match="no ZooKeeper answers"):
            Session.open(f"127.0.0.1:{port}/kafka", deadline_s=1, timeout_s=2)


@pytest.mark.parametrize(
    "connect",
    ["", "/kafka", "a b:1", "h:1/kafka,h2:1/kafka", "h:x", "h:1//kafka", "h:1/ka fka", "h:1,/k"],
)
def test_what_is_no_address_is_refused(connect: str) -> None:
    with pytest.raises(Refused, match="is no ZooKeeper address"):
        Session.open(connect)


# Lost connections


@pytest.fixture
def own_zookeeper() -> Iterator[Sandbox]:
    with Sandbox.start(SandboxSpec()) as sandbox:
        yield sandbox


@pytest.fixture
def own_world(own_zookeeper: Sandbox) -> Iterator[World]:
    found = World(own_zookeeper.zookeeper)
    yield found
    found.close()


def test_a_lost_connection_is_no_lost_session(own_zookeeper: Sandbox, own_world: World) -> None:
    with own_world.open(timeout_s=30) as session:
        session.commit((Create("/holder", b"", ephemeral=True),))
        before = session.read("/holder")
        own_zookeeper.kill_zookeeper()
        own_zookeeper.start_zookeeper()
        assert session.read("/holder") == before
        assert session.read_many(["/holder", "/absent"]) == [before, None]
        assert session.alive
        session.commit((Delete("/holder", 0),))


def test_waiting_outlives_a_lost_connection(own_zookeeper: Sandbox, own_world: World) -> None:
    with own_world.open(timeout_s=30) as session:
        assert not session.wait(("/admin",), 0)
        own_zookeeper.kill_zookeeper()
        own_zookeeper.start_zookeeper()
        own_world.put("/admin", b"while nobody watched")
        assert session.wait(("/admin",), DEADLINE_S)
        while session.wait(("/admin",), 0.3):
            continue
        own_world.put("/admin", b"watched again")
        assert session.wait(("/admin",), DEADLINE_S)


def test_a_write_without_an_answer_ends_the_session(
    own_zookeeper: Sandbox, own_world: World
) -> None:
    with Session.open(own_world.connect, timeout_s=30, deadline_s=2) as session:
        session.commit((Create("/admin/first", b""),))
        own_zookeeper.kill_zookeeper()
        told = []
        for _ in range(3):  # the first may be told of the lost connection at once, the next cannot
            try:
                session.commit((Create("/admin/late", b""),))
            except Unavailable as unavailable:
                told.append(str(unavailable))
        assert told[0].startswith("outcome unknown: ")
        assert told[-1] == "the ZooKeeper session expired; a new one must be opened"
        assert not session.alive
        own_zookeeper.start_zookeeper()
        with own_world.open() as another:
            assert another.read("/admin/late") is None


def test_a_read_without_an_answer_is_told_in_time(own_zookeeper: Sandbox, own_world: World) -> None:
    with Session.open(own_world.connect, timeout_s=30, deadline_s=1) as session:
        own_zookeeper.kill_zookeeper()
        began = time.monotonic()
        with pytest.raises(Unavailable, match=r"reading /admin"):
            session.read("/admin")
        with pytest.raises(Unavailable, match=r"reading 1 node such as /admin"):
            session.read_many(["/admin"])
        assert time.monotonic() - began < 60


# Credentials


def test_sasl_without_its_library_is_told_before_anything_is_asked() -> None:
    credentials = ZooKeeperCredentials("alice", SECRET, Scheme.SASL)
    assert SECRET not in repr(credentials)
    with pytest.raises(Unavailable, match=r"SASL needs the package pure-sasl|no ZooKeeper"):
        Session.open("127.0.0.1:1/kafka", credentials=credentials, deadline_s=1)
