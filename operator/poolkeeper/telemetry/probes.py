"""`/healthz`, `/readyz`, `/metrics`: a small HTTP server for the kubelet and Prometheus.

One thread serves all connections without blocking on any of them, so that clients which send
slowly, nothing or rubbish delay nobody. What a client can cost is bounded: `CONNECTIONS_MAX` at a
time (the oldest one gives way), `HEAD_BYTES_MAX` of request, `PATIENCE_S` from its first byte to
the last of the answer. Every answer closes its connection.

Answers are computed in that thread: they must be quick and wait for nothing.
"""

import logging
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Thread
from types import TracebackType
from typing import Self

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.telemetry.health import Health

CONNECTIONS_MAX = 64
HEAD_BYTES_MAX = 8 * 1024
PATIENCE_S = 5.0
TICK_S = 0.5
BREATH_S = 0.01
PLAIN = "text/plain; charset=utf-8"
PHRASES = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Page:
    """One answer: HTTP status, body, content type."""

    status: int
    body: bytes
    content_type: str = PLAIN


Pages = Mapping[str, Callable[[], Page]]


def pages(health: Health, metrics: Callable[[], tuple[bytes, str]]) -> Pages:
    """Return what is served; `metrics` gives the text and its content type."""

    def said(good: bool, text: str) -> Page:
        return Page(200 if good else 503, f"{text}\n".encode())

    def alive() -> Page:
        answer = health.liveness()
        return said(answer.good, answer.text)

    def ready() -> Page:
        answer = health.readiness()
        return said(answer.good, answer.text)

    return {"/healthz": alive, "/readyz": ready, "/metrics": lambda: Page(200, *metrics())}


def answer(head: bytes, served: Pages) -> bytes:
    r"""Return the whole response to a request's head: `GET /healthz HTTP/1.1\r\n…`."""
    words = head.split(b"\n", 1)[0].rstrip(b"\r").split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return _response(Page(400, b"this is no HTTP/1 request\n"))
    method, target = words[0], words[1].split(b"?", 1)[0].decode("ascii", "replace")
    page = served.get(target)
    if page is None:
        there = " ".join(sorted(served))
        return _response(Page(404, f"nothing here; there are {there}\n".encode()))
    if method not in (b"GET", b"HEAD"):
        return _response(Page(405, b"only GET and HEAD\n"), "Allow: GET, HEAD\r\n")
    try:
        return _response(page(), with_body=method == b"GET")
    except Exception:  # a page that fails must not end the server of the others
        logger.exception("the page %s failed", target)
        return _response(Page(500, b"this page failed; the log says why\n"))


def _response(page: Page, headers: str = "", *, with_body: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {page.status} {PHRASES[page.status]}\r\n"
        f"Content-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\n"
        f"{headers}Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (page.body if with_body else b"")


def parse_listen(listen: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`, `[::1]:8080`, `:8080` (all addresses)."""
    host, colon, port = listen.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise Refused(f"{listen!r} is no HOST:PORT to listen on")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)


@dataclass(slots=True, eq=False)
class _Client:
    """One connection: what came so far, what is still to be sent, and until when."""

    socket: socket.socket
    until_s: float
    head: bytes = b""
    rest: memoryview = field(default_factory=lambda: memoryview(b""))


class Server:
    """Serves until closed; `address` is where it listens, with the port that 0 became."""

    def __init__(
        self,
        listener: socket.socket,
        served: Pages,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address: tuple[str, int] = listener.getsockname()[:2]
        self._served = served
        self._patience_s = patience_s
        self._clock = clock
        self._clients: dict[socket.socket, _Client] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = listener
        self._ending, self._end = socket.socketpair()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._ending, selectors.EVENT_READ)
        self._thread = Thread(target=self._serve, name="probes", daemon=True)

    @classmethod
    def listening(
        cls,
        listen: str,
        served: Pages,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """Start to serve on `HOST:PORT`; raises `Refused` or `Unavailable` if that cannot be."""
        host, port = parse_listen(listen)
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            listener = socket.create_server((host, port), family=family, backlog=CONNECTIONS_MAX)
        except OSError as error:
            raise Unavailable(f"cannot listen on {listen}: {error.strerror or error}") from error
        server = cls(listener, served, patience_s, clock)
        server._thread.start()
        return server

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._clients)

    def close(self) -> None:
        """Stop listening and drop all connections; may be called again."""
        if self._thread.is_alive():
            self._end.send(b".")
            self._thread.join(self._patience_s)

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select(TICK_S):
                if key.fileobj is self._ending:
                    self._close_all()
                    return
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    self._go_on(key.data)
            self._drop_late()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # it went again, or this process is out of descriptors: give one up
            if self._clients:
                self._drop(next(iter(self._clients.values())))
            time.sleep(BREATH_S)
            return
        connection.setblocking(False)
        if len(self._clients) >= CONNECTIONS_MAX:
            self._drop(next(iter(self._clients.values())))
        client = _Client(connection, self._clock() + self._patience_s)
        self._clients[connection] = client
        self._selector.register(connection, selectors.EVENT_READ, client)

    def _go_on(self, client: _Client) -> None:
        if client.socket not in self._clients:
            return  # it gave way to a newer one in this very round
        try:
            if not client.rest:
                self._read(client)
            if client.rest:
                client.rest = client.rest[client.socket.send(client.rest) :]
                if not client.rest:
                    client.socket.shutdown(socket.SHUT_WR)
                    self._drop(client)
        except BlockingIOError:
            return
        except OSError:
            self._drop(client)

    def _read(self, client: _Client) -> None:
        came = client.socket.recv(HEAD_BYTES_MAX)
        client.head += came
        if b"\r\n\r\n" in client.head or b"\n\n" in client.head:
            response = answer(client.head, self._served)
        elif len(client.head) > HEAD_BYTES_MAX:
            response = _response(Page(431, b"the request is too long\n"))
        elif not came:
            self._drop(client)
            return
        else:
            return
        client.rest = memoryview(response)
        self._selector.modify(client.socket, selectors.EVENT_WRITE, client)

    def _drop_late(self) -> None:
        now_s = self._clock()
        for client in [c for c in self._clients.values() if c.until_s < now_s]:
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        if self._clients.pop(client.socket, None) is not None:
            self._selector.unregister(client.socket)
            client.socket.close()

    def _close_all(self) -> None:
        for client in list(self._clients.values()):
            self._drop(client)
        self._selector.close()
        for one in (self._listener, self._ending, self._end):
            one.close()
