"""A proxy before the S3 server of tests: some of its requests fail, as stores do now and then.

    with FaultyS3(s3.server.address) as proxy:
        proxy.fail(Fault.SLOW_DOWN, first=17)      # from the 17th request on
        proxy.fail(Fault.FORBIDDEN, first=17, count=1)
        proxy.clear()
        proxy.seen                                 # "GET /bucket/key" of each request since

Requests are signed with the proxy's address, which the server takes as its own name.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from typing import BinaryIO, Self

ADDRESS = "127.0.0.1"
_LARGE = 1 << 16


class Fault(Enum):
    """What a request gets in place of its answer."""

    SLOW_DOWN = (HTTPStatus.SERVICE_UNAVAILABLE, "SlowDown")
    FORBIDDEN = (HTTPStatus.FORBIDDEN, "AccessDenied")
    EXPIRED = (HTTPStatus.BAD_REQUEST, "ExpiredToken")
    CLOSED = (None, "")
    """The connection is closed without one, as by a store that stops."""
    CUT_OFF = (HTTPStatus.OK, "")
    """The server's answer to a GET, of whose body the second half does not come."""

    def answer(self) -> bytes:
        """The answer, none where the connection is closed."""
        status, code = self.value
        if status is None:
            return b""
        body = f"<Error><Code>{code}</Code><Message>{code} of a test</Message></Error>".encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/xml\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


@dataclass(frozen=True, slots=True)
class _Faults:
    fault: Fault
    first: int
    count: int
    concerns: Callable[[str], bool]


@dataclass(slots=True)
class FaultyS3:
    """See above; `upstream`: the address of the server."""

    upstream: str
    seen: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    _faults: _Faults | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _listener: socket.socket = field(
        default_factory=lambda: socket.create_server((ADDRESS, 0), backlog=128)
    )

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"{ADDRESS}:{self._listener.getsockname()[1]}"

    def fail(
        self,
        fault: Fault,
        first: int = 0,
        count: int = 1 << 30,
        concerns: Callable[[str], bool] = lambda request: True,
    ) -> None:
        """Fail so many requests from that one on, of those (method and path) that it concerns."""
        with self._lock:
            self.seen, self.failed = [], []
            self._faults = _Faults(fault, first, count, concerns)

    def clear(self) -> None:
        """Let all requests through."""
        with self._lock:
            self.seen, self.failed, self._faults = [], [], None

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        host, port = self.upstream.split(":")
        try:
            with client, client.makefile("rb") as requests:
                server = None
                while (head := _head(requests)) is not None:
                    words = head.split(b"\r\n", 1)[0].decode().split(" ")
                    if (fault := self._fault(f"{words[0]} {words[1]}")) is Fault.CUT_OFF:
                        _cut_off((host, int(port)), head, client)
                        return
                    if fault is not None:
                        # Who gets its answer before all is sent takes it for a lost connection.
                        if fault is not Fault.CLOSED and b"100-continue" not in head.lower():
                            for _ in _body(head, requests):
                                pass
                        client.sendall(fault.answer())
                        return
                    if server is None:
                        server = socket.create_connection((host, int(port)))
                        threading.Thread(target=_pump, args=(server, client), daemon=True).start()
                    server.sendall(head)
                    for some in _body(head, requests):
                        server.sendall(some)
        except OSError:
            return

    def _fault(self, request: str) -> Fault | None:
        with self._lock:
            faults = self._faults
            if faults is None or not faults.concerns(request):
                self.seen += [request] if faults is None else []
                return None
            number = len(self.seen)
            self.seen.append(request)
            if faults.first <= number < faults.first + faults.count:
                self.failed.append(request)
                return faults.fault
            return None


def _cut_off(upstream: tuple[str, int], head: bytes, client: socket.socket) -> None:
    with socket.create_connection(upstream) as server, server.makefile("rb") as answers:
        server.sendall(head)
        answer = _head(answers) or b""
        body = b"".join(_body(answer, answers))
        client.sendall(answer + body[: len(body) // 2])


def _head(requests: BinaryIO) -> bytes | None:
    lines = []
    while line := requests.readline():
        lines.append(line)
        if line == b"\r\n":
            return b"".join(lines)
    return None


def _body(head: bytes, requests: BinaryIO) -> Iterator[bytes]:
    """The bytes of a request after its head, as they come."""
    fields = dict(line.partition(b":")[::2] for line in head.lower().split(b"\r\n")[1:])
    if b"chunked" in fields.get(b"transfer-encoding", b""):
        while size := requests.readline():
            length = int(size.split(b";")[0], 16)
            yield size + requests.read(length + 2)
            if not length:
                return
        return
    left = int(fields.get(b"content-length", b"0"))
    while left and (some := requests.read(min(left, _LARGE))):
        left -= len(some)
        yield some


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Hand on the answers, until either side closes."""
    with contextlib.suppress(OSError):
        while some := source.recv(_LARGE):
            target.sendall(some)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
