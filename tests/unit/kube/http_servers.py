"""A server that answers as a test tells it to, badly if need be: bytes on a socket."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Behaviour = Callable[[socket.socket, Event], None]


@dataclass
class Scripted:
    """`script`: what is done with each request; the last one is repeated."""

    script: list[Behaviour]
    listener: socket.socket
    requests: list[Request] = field(default_factory=list)
    ended: Event = field(default_factory=Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self) -> None:
        while not self.ended.is_set():
            with suppress(OSError):
                connection, _ = self.listener.accept()
                Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, Closed):
            while True:
                self.requests.append(_read(connection))
                number = min(len(self.requests), len(self.script)) - 1
                self.script[number](connection, self.ended)


class Closed(Exception):
    """The connection is to be closed."""


@contextmanager
def serving(*script: Behaviour) -> Iterator[Scripted]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Scripted(list(script), listener)
        Thread(target=server.accept, daemon=True).start()
        try:
            yield server
        finally:
            server.ended.set()
            with suppress(OSError):
                socket.create_connection(listener.getsockname(), 1).close()


def answers(status: int, body: object, **headers: str) -> Behaviour:
    """Answer properly; a body that is no text is JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(text.encode())}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return says("\r\n".join([*lines, "", text]))


def says(text: str) -> Behaviour:
    """Send this and nothing else, on a connection that stays open."""

    def behave(connection: socket.socket, ended: Event) -> None:
        connection.sendall(text.encode())

    return behave


def says_and_closes(text: str) -> Behaviour:
    def behave(connection: socket.socket, ended: Event) -> None:
        connection.sendall(text.encode())
        raise Closed

    return behave


def hangs(connection: socket.socket, ended: Event) -> None:
    """Never answer."""
    ended.wait(30)
    raise Closed


def trickles(connection: socket.socket, ended: Event) -> None:
    """Begin a long answer and go on a byte at a time, each well before any patience ends."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while not ended.wait(0.05):
        connection.sendall(b" ")
    raise Closed


def _read(connection: socket.socket) -> Request:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += _more(connection)
    method, target, _ = first.split()
    return Request(method, target, headers, body)


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise Closed
    return data
