"""The server of probes: what it answers, and that no client keeps it from answering others."""

import contextlib
import http.client
import socket
from collections.abc import Iterator

import pytest

from conditions import until
from poolkeeper import bounded_http
from poolkeeper.bounded_http import Page
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.telemetry import probes
from poolkeeper.telemetry.health import ProcessHealth
from poolkeeper.telemetry.probes import ProbeServer

BIG = b"x" * 5_000_000


def broken() -> Page:
    raise KeyError("a defect")


PAGES = {
    "/ok": lambda: Page(200, b"fine\n"),
    "/down": lambda: Page(503, b"stuck\n"),
    "/broken": broken,
    "/big": lambda: Page(200, BIG),
}


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture(autouse=True)
def quick_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """To close a server takes up to a tick."""
    monkeypatch.setattr(bounded_http, "TICK_S", 0.01)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(clock: Clock) -> Iterator[ProbeServer]:
    with ProbeServer.listening("127.0.0.1:0", PAGES, clock=clock) as serving:
        yield serving


def ask(server: ProbeServer, method: str, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(*server.address, timeout=10)
    with contextlib.closing(connection):
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read()


def raw(server: ProbeServer, request: bytes) -> bytes:
    """Send bytes, and return all that comes until the server closes."""
    with socket.create_connection(server.address, timeout=10) as connection:
        connection.sendall(request)
        came = b""
        while piece := connection.recv(65536):
            came += piece
        return came


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        pytest.param("GET", "/ok", (200, b"fine\n"), id="a-page"),
        pytest.param("GET", "/ok?verbose=1", (200, b"fine\n"), id="with-a-query"),
        pytest.param("HEAD", "/ok", (200, b""), id="without-its-body"),
        pytest.param("GET", "/down", (503, b"stuck\n"), id="bad-news"),
        pytest.param("POST", "/ok", (405, b"only GET and HEAD\n"), id="nothing-to-post"),
        pytest.param(
            "GET", "/", (404, b"nothing here; there are /big /broken /down /ok\n"), id="elsewhere"
        ),
        pytest.param(
            "GET", "/broken", (500, b"this page failed; the log says why\n"), id="a-defect"
        ),
        pytest.param("GET", "/big", (200, BIG), id="a-page-larger-than-any-buffer"),
    ],
)
def test_a_request_is_answered(
    server: ProbeServer, method: str, path: str, expected: tuple[int, bytes]
) -> None:
    assert ask(server, method, path) == expected


def test_the_whole_response_is_this(server: ProbeServer) -> None:
    assert raw(server, b"GET /ok HTTP/1.1\r\nHost: x\r\n\r\n") == (
        b"HTTP/1.1 200 OK\r\n"
        b"Content-Type: text/plain; charset=utf-8\r\n"
        b"Content-Length: 5\r\n"
        b"Cache-Control: no-store\r\n"
        b"Connection: close\r\n"
        b"\r\n"
        b"fine\n"
    )


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\xfc\x03\x03\n\n", b"400 Bad Request", id="tls"),
        pytest.param(b"\r\n\r\n", b"400 Bad Request", id="nothing"),
        pytest.param(b"GET /ok\n\n", b"400 Bad Request", id="http-0.9"),
        pytest.param(b"GET /\xff\xfe HTTP/1.1\r\n\r\n", b"404 Not Found", id="no-ascii"),
        pytest.param(b"GET /ok HTTP/1.0\n\n", b"200 OK", id="bare-line-feeds"),
        pytest.param(
            b"GET /ok HTTP/1.1\r\n" + b"X: y\r\n" * 2000,
            b"431 Request Header Fields Too Large",
            id="endless-headers",
        ),
    ],
)
def test_rubbish_is_answered_shortly(server: ProbeServer, request_: bytes, status: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # the rest of what we sent is refused
        assert raw(server, request_).splitlines()[0] == b"HTTP/1.1 " + status
    assert ask(server, "GET", "/ok") == (200, b"fine\n")


def say_nothing_or_drip(server: ProbeServer) -> list[socket.socket]:
    slow = [socket.create_connection(server.address, timeout=60) for _ in range(20)]
    for connection in slow[:10]:
        connection.sendall(b"GET /ok HT")
    return slow


def test_clients_that_say_nothing_or_drip_delay_nobody(server: ProbeServer) -> None:
    slow = say_nothing_or_drip(server)
    assert ask(server, "GET", "/ok") == (200, b"fine\n")
    assert server.connections >= len(slow), "it was made to wait for the slow ones"
    for connection in slow:
        connection.close()


def test_clients_that_say_nothing_or_drip_are_dropped(server: ProbeServer, clock: Clock) -> None:
    slow = say_nothing_or_drip(server)
    until(lambda: server.connections == len(slow), "all are connected")
    clock.now_s += bounded_http.PATIENCE_S + 1
    assert ask(server, "GET", "/ok") == (200, b"fine\n")
    for connection in slow:
        # Closed before it had read what dripped, the server's end answers with a reset.
        with contextlib.closing(connection), contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_a_client_that_does_not_read_is_dropped(server: ProbeServer, clock: Clock) -> None:
    with socket.create_connection(server.address, timeout=10) as connection:
        connection.sendall(b"GET /big HTTP/1.1\r\n\r\n")
        until(lambda: server.connections, "it is connected")
        assert ask(server, "GET", "/ok") == (200, b"fine\n"), "others are answered"
        until(lambda: server.connections == 1, "it is waited for")
        clock.now_s += bounded_http.PATIENCE_S + 1
        assert ask(server, "GET", "/ok") == (200, b"fine\n"), "others are answered"
        until(lambda: not server.connections, "the one that does not read is dropped")


@pytest.mark.slow
def test_of_too_many_clients_the_oldest_gives_way(server: ProbeServer) -> None:
    many = [
        socket.create_connection(server.address, timeout=10)
        for _ in range(bounded_http.CONNECTIONS_MAX + 5)
    ]
    assert ask(server, "GET", "/ok") == (200, b"fine\n")
    assert many[0].recv(1) == b""
    assert server.connections <= bounded_http.CONNECTIONS_MAX
    many[-1].sendall(b"GET /ok HTTP/1.1\r\n\r\n")
    assert many[-1].recv(15) == b"HTTP/1.1 200 OK"
    for connection in many:
        connection.close()


def test_a_closed_server_listens_no_longer() -> None:
    serving = ProbeServer.listening("127.0.0.1:0", PAGES)
    idle = socket.create_connection(serving.address, timeout=10)
    serving.close()
    serving.close()
    with contextlib.closing(idle), contextlib.suppress(ConnectionResetError):
        assert idle.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(serving.address, timeout=10)


def test_an_address_in_use_is_unavailable(server: ProbeServer) -> None:
    host, port = server.address
    with pytest.raises(Unavailable, match=rf"^cannot listen on {host}:{port}: "):
        ProbeServer.listening(f"{host}:{port}", PAGES)


@pytest.mark.parametrize(
    ("listen", "expected"),
    [
        pytest.param("0.0.0.0:8080", ("0.0.0.0", 8080), id="host-and-port"),
        pytest.param(":8080", ("0.0.0.0", 8080), id="every-address"),
        pytest.param("[::1]:0", ("::1", 0), id="ipv6"),
        pytest.param("localhost:65535", ("localhost", 65535), id="by-name"),
    ],
)
def test_where_to_listen(listen: str, expected: tuple[str, int]) -> None:
    assert bounded_http.parse_listen(listen) == expected


@pytest.mark.parametrize("listen", ["", "8080", "host:", "host:http", "host:65536", "host:-1"])
def test_where_nobody_can_listen(listen: str) -> None:
    with pytest.raises(Refused, match="is no HOST:PORT to listen on"):
        bounded_http.parse_listen(listen)


def test_the_pages_are_health_readiness_and_metrics() -> None:
    health = ProcessHealth(lambda: 0.0)
    served = probes.pages(health, lambda: (b"up 1\n", "text/plain; version=0.0.4"))
    health.ready("leader")
    assert {path: page() for path, page in served.items()} == {
        "/healthz": Page(200, b"alive: 0 watched, none silent for too long\n"),
        "/readyz": Page(200, b"ready: leader\n"),
        "/metrics": Page(200, b"up 1\n", "text/plain; version=0.0.4"),
    }
    health.unready("the CRDs are missing")
    assert served["/readyz"]() == Page(503, b"not ready: the CRDs are missing\n")


def test_a_stuck_loop_is_503() -> None:
    now_s = [0.0]
    health = ProcessHealth(lambda: now_s[0])
    health.beat("loop of main", 5)
    now_s[0] = 9.0
    served = probes.pages(health, lambda: (b"", ""))
    assert served["/healthz"]() == Page(
        503, b"stuck\nloop of main: silent for 9 s, at most 5 s are expected\n"
    )
