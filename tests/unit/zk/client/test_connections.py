"""What is said of a session that ends before anything was read."""

import errno
import gc
import os
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    ConnectionLoss,
    SessionExpiredError,
)
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.states import KeeperState

from poolkeeper.errors import Forbidden, Refused, Unavailable
from poolkeeper.zk.client.connections import Address, Connection, Connector
from poolkeeper.zk.client.session import Session


class Client:
    """A client of kazoo's whose session ends at once, in this state."""

    def __init__(self, state: str, failed: Exception) -> None:
        self.client_state = state
        self._failed = failed
        self._stopped = SimpleNamespace(set=lambda: None, clear=lambda: None)

    def add_listener(self, listener: Any) -> None:
        self.listener = listener

    def start_async(self) -> None:
        self.listener("LOST")
        self.client_state = KeeperState.CLOSED  # which is the last that is heard

    def exists_async(self, path: str) -> Any:
        raise self._failed

    def stop(self) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("state", "failed", "expected", "words"),
    [
        (KeeperState.AUTH_FAILED, AuthFailedError(), Forbidden, "rejected the credentials"),
        (KeeperState.AUTH_FAILED, ConnectionClosedError(), Forbidden, "rejected the credentials"),
        (KeeperState.EXPIRED_SESSION, SessionExpiredError(), Unavailable, "session expired"),
    ],
    ids=["asked-in-time", "asked-too-late", "expired"],
)
def test_rejected_credentials_are_told_whenever_somebody_asks(
    monkeypatch: pytest.MonkeyPatch,
    state: str,
    failed: Exception,
    expected: type[Exception],
    words: str,
) -> None:
    def connected(self: Connector, address: Address) -> Connection:
        connection = Connection(Client(state, failed))
        assert connection.start(1)
        return connection

    monkeypatch.setattr(Connector, "connect", connected)
    with pytest.raises(expected, match=words):
        Connector({}, 5, 5).connect_to_kafka(Address.parse("zk:2181"))


class Answering(Client):
    """A client of kazoo's at a server that is behind its leader until it is told to catch up."""

    def __init__(self, failed: Exception | None = None) -> None:
        super().__init__(KeeperState.CONNECTED, ConnectionClosedError())
        self.client_id = 7, b""
        self.last_zxid = 1
        self.stopped = False
        self._fails_once = failed

    def start_async(self) -> None:
        self.listener("CONNECTED")

    def sync_async(self, path: str) -> Any:
        def get(block: bool, timeout_s: float) -> None:
            if self._fails_once is not None:
                failed, self._fails_once = self._fails_once, None
                raise failed
            self.last_zxid = 2

        return SimpleNamespace(get=get)

    def exists_async(self, path: str) -> Any:
        return SimpleNamespace(get=lambda block, timeout_s: path)

    def stop(self) -> None:
        self.stopped = True


def opened_with(client: Answering, monkeypatch: pytest.MonkeyPatch) -> Session:
    def connected(self: Connector, address: Address) -> Connection:
        connection = Connection(client)
        assert connection.start(1)
        return connection

    monkeypatch.setattr(Connector, "connect", connected)
    return Session.open("zk:2181")


@pytest.mark.parametrize("failed", [None, ConnectionLoss()], ids=["at-once", "next-connection"])
def test_a_session_begins_with_what_was_committed_before_wherever_it_is_opened(
    failed: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Answering(failed)
    assert opened_with(client, monkeypatch).moment == (1, 2)
    assert not client.stopped


def test_a_session_that_cannot_catch_up_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Answering(SessionExpiredError())
    with pytest.raises(Unavailable, match=r"session expired \(waiting for sync\)"):
        opened_with(client, monkeypatch)
    assert client.stopped


@pytest.mark.parametrize(
    ("connect", "words"),
    [
        ("zk:99999/kafka", "'99999' is no port (expected 1 to 65535)"),
        ("zk:0/kafka", "'0' is no port (expected 1 to 65535)"),
        ("zk..example:2181/kafka", "'zk..example' is no host (expected host:port)"),
        ("z" * 64 + ":2181", f"'{'z' * 64}' is no host (expected host:port)"),
        ("zk-1:2181,[::g]:1/kafka", "'[::g]' is no host (expected host:port)"),
    ],
    ids=["port-too-high", "port-0", "empty-label", "long-label", "half-an-address"],
)
def test_the_part_of_an_address_that_is_wrong_is_named(connect: str, words: str) -> None:
    with pytest.raises(Refused) as refused:
        Address.parse(connect)
    assert str(refused.value) == f"{connect!r} is no ZooKeeper address: {words}"


@pytest.mark.parametrize(
    "connect", ["zk/kafka", "zk-1,[::1]:2181", "[::1]/kafka/", "10.0.0.1:2181"]
)
def test_ports_and_the_last_slash_may_be_left_out(connect: str) -> None:
    assert str(Address.parse(connect)) == connect.rstrip("/")


NO_DESCRIPTOR = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
NO_THREAD = RuntimeError("can't start new thread")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name", "lack"),
    [
        (SequentialThreadingHandler, "create_socket_pair", NO_DESCRIPTOR),
        (ConnectionHandler, "start", NO_THREAD),
        (SequentialThreadingHandler, "start", NO_THREAD),
    ],
)
def test_a_process_that_lacks_descriptors_or_threads_loses_no_more_of_them(
    monkeypatch: pytest.MonkeyPatch, where: type, name: str, lack: Exception
) -> None:
    def lacking(*_: object) -> None:
        raise lack

    monkeypatch.setattr(where, name, lacking)
    gc.collect()
    threads, open_before = set(threading.enumerate()), os.listdir("/proc/self/fd")
    connector = Connector({}, timeout_s=10, deadline_s=1)
    with pytest.raises(Unavailable, match=f"at 127.0.0.1:1: {lack.args[-1]}"):
        connector.connect(Address.parse("127.0.0.1:1"))
    assert set(threading.enumerate()) - threads == set()
    assert len(os.listdir("/proc/self/fd")) <= len(open_before)
