"""Why no server takes a session is told of each server, in words that say what to do."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator

import pytest
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.connection import ConnectionDropped

from poolkeeper.errors import Forbidden, Unavailable
from poolkeeper.model.credentials import Scheme, ZooKeeperCredentials
from poolkeeper.zk.client.connections import Address, Connector
from poolkeeper.zk.client.refusals import (
    HUNG_UP,
    HUNG_UP_WITHOUT_TLS,
    NO_ANSWER,
    OTHER_PROTOCOL,
    SILENT,
    Refusals,
    reason,
)
from poolkeeper.zk.client.session import Session
from switched_off import switched_off

DEADLINE_S = 2.0


def dropped(by: OSError | None) -> ConnectionDropped:
    """What kazoo makes of an error of a socket."""
    failed = ConnectionDropped("as kazoo says it")
    failed.__context__ = by
    return failed


def untrusted(words: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "as OpenSSL says it")
    error.verify_message = words
    return error


def alert(name: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "as OpenSSL says it")
    error.reason = name
    return error


@pytest.mark.parametrize(
    ("error", "tls", "expected"),
    [
        (dropped(ConnectionRefusedError(111, "Connection refused")), False, "Connection refused"),
        (
            dropped(untrusted("certificate has expired")),
            True,
            "its certificate is not trusted: certificate has expired",
        ),
        (
            dropped(untrusted("certificate is not valid for 'zk'.")),
            True,
            "its certificate is not trusted: certificate is not valid for 'zk'",
        ),
        (
            dropped(alert("TLSV13_ALERT_CERTIFICATE_REQUIRED")),
            True,
            "it demands a client certificate that it trusts (TLSV13_ALERT_CERTIFICATE_REQUIRED)",
        ),
        (dropped(alert("WRONG_VERSION_NUMBER")), True, "no TLS with it (WRONG_VERSION_NUMBER)"),
        (dropped(None), True, HUNG_UP),
        (dropped(alert("UNEXPECTED_EOF_WHILE_READING")), True, HUNG_UP),
        (dropped(None), False, HUNG_UP_WITHOUT_TLS),
        (dropped(ConnectionResetError(104, "reset")), False, HUNG_UP_WITHOUT_TLS),
        (dropped(BrokenPipeError(32, "broken")), True, HUNG_UP),
        (KazooTimeoutError(), False, SILENT),
        (dropped(TimeoutError()), False, "no answer in time"),
        (struct.error("unpack_from requires a buffer of 16 bytes"), False, OTHER_PROTOCOL),
    ],
)
def test_reasons_in_words(error: Exception, tls: bool, expected: str) -> None:
    assert reason(error, tls) == expected


@pytest.mark.parametrize(
    ("found", "servers", "told"),
    [
        pytest.param({}, ["a:1"], "", id="the-first-attempt-had-not-ended"),
        pytest.param({"a:1": NO_ANSWER}, ["a:1"], "", id="it-had"),
        pytest.param({"b:1": NO_ANSWER}, ["a:1", "b:1"], "", id="one-had"),
        pytest.param({"a:1": HUNG_UP}, ["a:1"], HUNG_UP, id="a-reason"),
        pytest.param(
            {"b:1": "Connection refused"},
            ["a:1", "b:1"],
            "a:1: no answer in time; b:1: Connection refused",
            id="a-reason-of-one",
        ),
        pytest.param(
            {"b:1": "Connection refused", "a:1": NO_ANSWER},
            ["a:1", "b:1"],
            "a:1: no answer in time; b:1: Connection refused",
            id="a-reason-of-one-and-the-other-had-ended",
        ),
    ],
)
def test_the_same_trouble_is_told_in_the_same_words(
    found: dict[str, str], servers: list[str], told: str
) -> None:
    """Whether the deadline ended an attempt, or the attempt itself, is chance."""
    refusals = Refusals()
    refusals._by_server.update(found)
    assert refusals.told(servers) == told


@contextlib.contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that does this with every connection, one after another; its port."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, contextlib.suppress(OSError):
                    answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(listening.getsockname()[1])
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(DEADLINE_S)


@pytest.mark.slow
def test_every_server_s_own_reason_is_told() -> None:
    with serving(lambda connection: None) as port:
        connect = f"127.0.0.1:1,no-such-host.invalid:2181,127.0.0.1:{port}/kafka"
        with pytest.raises(Unavailable) as raised:
            Session.open(connect, deadline_s=DEADLINE_S, timeout_s=4)
    told = str(raised.value).partition(f" within {DEADLINE_S:g} s ")[2]
    assert sorted(told.strip("()").split("; ")) == [
        "127.0.0.1:1: Connection refused",
        f"127.0.0.1:{port}: {HUNG_UP_WITHOUT_TLS}",
        "no-such-host.invalid:2181: its name cannot be resolved",
    ]


@pytest.mark.slow
def test_a_server_that_is_switched_off_takes_no_session_from_the_others() -> None:
    def serve(connection: socket.socket) -> None:
        take_session(connection)
        while received(connection):
            pass

    with switched_off() as off, serving(serve) as port:
        address = Address.parse(f"127.0.0.1:{off},127.0.0.1:{port}")
        connector = Connector({"randomize_hosts": False}, timeout_s=4, deadline_s=DEADLINE_S)
        connection = connector.connect(address)
        connection.close()


def take_session(connection: socket.socket) -> None:
    """Take a session, as ZooKeeper does."""
    session = struct.pack(">iiqi", 0, 4000, 1, 16) + bytes(16)
    received(connection)
    connection.sendall(struct.pack(">i", len(session)) + session)


def without_sasl(connection: socket.socket) -> None:
    """Take a session, and answer every question for a challenge with none."""
    take_session(connection)
    while request := received(connection):
        answer = request[:4] + struct.pack(">qii", 0, 0, -1)
        connection.sendall(struct.pack(">i", len(answer)) + answer)


def received(connection: socket.socket) -> bytes:
    """One request."""
    size = connection.recv(4, socket.MSG_WAITALL)
    return connection.recv(struct.unpack(">i", size)[0], socket.MSG_WAITALL) if size else b""


def test_a_server_without_sasl_is_told_and_asked_once() -> None:
    credentials = ZooKeeperCredentials("alice", "wonder-7", Scheme.SASL)
    asked = []

    def counted(connection: socket.socket) -> None:
        asked.append(connection)
        without_sasl(connection)

    with serving(counted) as port, pytest.raises(Forbidden) as raised:
        Session.open(f"127.0.0.1:{port}", credentials=credentials, deadline_s=5, timeout_s=4)
    assert str(raised.value) == (
        f"ZooKeeper at 127.0.0.1:{port} offers no SASL: its credentials cannot have the scheme sasl"
    )
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("hangs_up", "message", "logins"),
    [
        (99, "ZooKeeper rejected the credentials (looking for a Kafka cluster at", 3),
        (2, "offers no SASL", 3),
    ],
    ids=["always", "twice"],
)
def test_who_hangs_up_at_a_login_is_asked_again_before_credentials_are_called_wrong(
    hangs_up: int, message: str, logins: int
) -> None:
    credentials = ZooKeeperCredentials("alice", "wonder-7", Scheme.SASL)
    asked = []

    def answer(connection: socket.socket) -> None:
        asked.append(connection)
        if len(asked) > hangs_up:
            return without_sasl(connection)
        take_session(connection)
        received(connection)
        return None

    with serving(answer) as port, pytest.raises(Forbidden) as raised:
        Session.open(f"127.0.0.1:{port}", credentials=credentials, deadline_s=5, timeout_s=4)
    assert message in str(raised.value)
    assert len(asked) == logins
