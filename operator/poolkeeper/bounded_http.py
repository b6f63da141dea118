"""A small HTTP server whose clients can cost it only so much: for probes and for live pages.

It is the standard library's, with a thread for each connection: clients which send slowly, nothing
or rubbish delay nobody. What a client can cost is bounded: `CONNECTIONS_MAX` connections at a time
(the oldest one gives way), `HEAD_BYTES_MAX` of request, `PATIENCE_S` from the connection to the
last byte of the answer. Every answer closes its connection. A few connections may be held for
longer (`hold`), for answers that go on.

Answers are computed in the connection's thread.
"""

import contextlib
import io
import logging
import socket
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import MappingProxyType
from typing import Any, Self

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.frozen import frozen

CONNECTIONS_MAX = 64
HELD_MAX = 16
HEAD_BYTES_MAX = 8 * 1024
PATIENCE_S = 5.0
TICK_S = 0.25
BREATH_S = 0.01
PLAIN = "text/plain; charset=utf-8"

logger = logging.getLogger(__name__)


@frozen
class Page:
    """One answer: HTTP status, body, content type."""

    status: int
    body: bytes
    content_type: str = PLAIN


NO_REQUEST = Page(400, b"this is no HTTP/1 request\n")
OTHER_METHOD = Page(405, b"only GET and HEAD\n")
TOO_LONG = Page(431, b"the request is too long\n")
FAILED = Page(500, b"this page failed; the log says why\n")
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def parse_listen(listen: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`, `[::1]:8080`, `:8080` (all addresses)."""
    host, colon, port = listen.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise Refused(f"{listen!r} is no HOST:PORT to listen on")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)


def listener_on(listen: str) -> socket.socket:
    """Listen on `HOST:PORT`; raises `Refused` or `Unavailable` if that cannot be."""
    host, port = parse_listen(listen)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=CONNECTIONS_MAX)
    except OSError as error:
        raise Unavailable(f"cannot listen on {listen}: {error.strerror or error}") from error


class _Head(io.BufferedReader):
    """The head of a request; reads at most `HEAD_BYTES_MAX`."""

    _left = HEAD_BYTES_MAX

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(self._left + 1)
        self._left -= len(line)
        if self._left < 0:
            raise LineTooLong("head")
        return line


class BoundedHandler(BaseHTTPRequestHandler):
    """Answers the one request of a connection; `answer` says how."""

    protocol_version = "HTTP/1.1"
    default_request_version = request_version = "HTTP/1.0"
    raw_requestline = b""
    command = ""
    server: "BoundedServer"

    def setup(self) -> None:
        """Bound what is read of the head."""
        super().setup()
        self.rfile = _Head(self.connection.makefile("rb", buffering=0))

    def handle(self) -> None:
        """Handle the one request."""
        try:
            super().handle()
        except LineTooLong:
            self.respond(TOO_LONG)

    def parse_request(self) -> bool:
        """Refuse what is no HTTP/1 before the base class reads on."""
        words = self.raw_requestline.split()
        if len(words) == 3 and words[2].startswith(b"HTTP/1."):
            return super().parse_request()
        self.respond(NO_REQUEST)
        return False

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Respond to what the base class refuses; a method without a handler gets the GET page."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self.do_GET()
        else:
            too_long = code == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            self.respond(TOO_LONG if too_long else NO_REQUEST)

    def do_GET(self) -> None:
        """Answer a GET, or what has no method of its own here."""
        if self.command not in ("GET", "HEAD"):
            self.respond(OTHER_METHOD, {"Allow": "GET, HEAD"})
            return
        try:
            self.answer()
        except OSError:
            raise  # the client disconnected, or was dropped
        except Exception:  # the log has the reason; the client does not get it
            logger.exception("the page %s failed", self.path.split("?", 1)[0])
            self.respond(FAILED)

    def answer(self) -> None:
        """Respond to a GET or a HEAD, once."""
        raise NotImplementedError

    def respond(self, page: Page, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Write the answer; `headers` are beside those that every answer has."""
        said = {"Content-Type": page.content_type, "Content-Length": str(len(page.body))}
        self.begin(page.status, said | dict(headers))
        if self.command != "HEAD":
            self.wfile.write(page.body)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Write the head of an answer."""
        self.send_response_only(status)
        ends = {"Cache-Control": "no-store", "Connection": "close"}
        for name, value in (dict(headers) | ends).items():
            self.send_header(name, value)
        self.end_headers()


class BoundedServer(ThreadingHTTPServer):
    """Serves until closed; `address` is where it listens, with the actual port for port 0."""

    daemon_threads = True

    def __init__(
        self,
        listener: socket.socket,
        handler: type[BoundedHandler],
        name: str,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address: tuple[str, int] = listener.getsockname()[:2]
        # The base class would look up this host's name in the DNS when it binds.
        super().__init__(self.address, handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self._name = name
        self._patience_s = patience_s
        self._clock = clock
        self._lock = Lock()
        self._until_s: dict[socket.socket, float] = {}
        self._held: dict[socket.socket, float] = {}
        self._thread = Thread(target=self.serve_forever, args=(TICK_S,), name=name, daemon=True)

    def begin(self) -> Self:
        """Begin to answer, in a thread of its own."""
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def connections(self) -> int:
        """The number of connected clients."""
        return len(self._until_s)

    @property
    def held(self) -> int:
        """The number of connections that are held."""
        return len(self._held)

    def hold(self, request: socket.socket, for_s: float) -> bool:
        """Keep a connection for longer than a request; false if `HELD_MAX` are held already."""
        with self._lock:
            if len(self._held) >= HELD_MAX or self._until_s.pop(request, None) is None:
                return False
            self._held[request] = self._clock() + for_s
            return True

    def close(self) -> None:
        """Stop listening and drop all connections; may be called again."""
        if self._thread.is_alive():
            self.shutdown()
        self.server_close()
        self._keep(0)
        self._end_held(float("inf"))

    def service_actions(self) -> None:
        """Drop late clients; called every `TICK_S` and when a client connects."""
        self._keep(CONNECTIONS_MAX)
        self._end_held(self._clock())

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a client."""
        try:
            return super().get_request()
        except OSError:  # it went again, or this process is out of descriptors: give one up
            self._keep(self.connections - 1)
            time.sleep(BREATH_S)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin to serve a client; drop the oldest if there are too many."""
        self._keep(CONNECTIONS_MAX - 1)
        with self._lock:
            self._until_s[request] = self._clock() + self._patience_s
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection; called by its thread."""
        with self._lock:
            self._until_s.pop(request, None)
            self._held.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error, unless the client disconnected or was dropped."""
        if not isinstance(sys.exception(), OSError):
            logger.exception("a connection to the %s failed", self._name)

    def _keep(self, most: int) -> None:
        """Drop the clients that are late, and the oldest of more than `most`.

        The thread of a dropped client then reads the end of its connection.
        """
        now_s = self._clock()
        with self._lock:  # who is known is open: a descriptor cannot be another's by now
            for client, until_s in list(self._until_s.items()):
                if until_s >= now_s and len(self._until_s) <= most:
                    return  # the first is the oldest
                del self._until_s[client]
                _drop(client)

    def _end_held(self, now_s: float) -> None:
        with self._lock:
            for client in [each for each, until_s in self._held.items() if until_s < now_s]:
                del self._held[client]
                _drop(client)


def _drop(client: socket.socket) -> None:
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)
