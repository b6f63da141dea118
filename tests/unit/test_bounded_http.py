"""Connections that are held for longer than a request: few, and not for ever.

What clients can cost otherwise is in `telemetry/test_probes.py`.
"""

import contextlib
import socket
from collections.abc import Iterator
from threading import Event

import pytest

from conditions import until
from poolkeeper import bounded_http
from poolkeeper.bounded_http import BoundedHandler, BoundedServer, Page, listener_on

GOES_ON = b"GET /on HTTP/1.1\r\n\r\n"


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Holding(BoundedHandler):
    """Holds `/on` until the connection is dropped; says if it could."""

    end = Event()

    def answer(self) -> None:
        held = self.server.hold(self.connection, 60)
        self.respond(Page(200 if held else 503, b"held" if held else b"full"))
        if held:
            self.connection.recv(1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(bounded_http, "TICK_S", 0.01)
    monkeypatch.setattr(bounded_http, "HELD_MAX", 3)
    return Clock()


@pytest.fixture
def server(clock: Clock) -> Iterator[BoundedServer]:
    listener = listener_on("127.0.0.1:0")
    with BoundedServer(listener, Holding, "test", clock=clock).begin() as serving:
        yield serving


def ask(server: BoundedServer) -> tuple[socket.socket, bytes]:
    connection = socket.create_connection(server.address, timeout=10)
    connection.sendall(GOES_ON)
    answer = b""
    while not answer.endswith((b"held", b"full")):
        answer += connection.recv(4096)
    return connection, answer[-4:]


def test_only_so_many_are_held_and_there_is_room_again_when_one_goes(
    server: BoundedServer,
) -> None:
    with contextlib.ExitStack() as stack:
        asked = [ask(server) for _ in range(4)]
        for connection, _ in asked:
            stack.enter_context(connection)
        assert [said for _, said in asked] == [b"held", b"held", b"held", b"full"]
        assert server.held == 3
        asked[0][0].close()
        until(lambda: server.held == 2, "the one that went is forgotten")
        connection, said = ask(server)
        stack.enter_context(connection)
        assert said == b"held"


def test_what_is_held_outlives_the_patience_of_a_request_and_not_its_own_time(
    server: BoundedServer, clock: Clock
) -> None:
    connection, _ = ask(server)
    with connection:
        clock.now_s += bounded_http.PATIENCE_S + 1
        other, _ = ask(server)
        other.close()
        until(lambda: server.held == 1, "only the first is held")
        clock.now_s += 60
        assert connection.recv(1) == b""
        until(lambda: server.held == 0, "none is held")


def test_a_server_that_closes_drops_what_is_held(server: BoundedServer) -> None:
    connection, _ = ask(server)
    with connection:
        server.close()
        assert connection.recv(1) == b""
