"""Servers of live pages over real sockets, what they show, and who looks at it."""

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock

import pytest

from poolkeeper import bounded_http
from poolkeeper.report.document import Cell, Report, Section
from poolkeeper.ui import registry
from poolkeeper.ui.registry import File, FleetFiles, LiveCluster, LivePage, LivePages
from poolkeeper.ui.server import LiveServer
from poolkeeper.ui.watch import Looking, SharedLook

REPORT = "report-2026-03-01.html"


@dataclass
class World:
    """What there is to be seen, and how often it was looked at."""

    text: str = "first"
    error: Exception | None = None
    looks: int = 0
    files: dict[str, bytes] = field(default_factory=lambda: {REPORT: b"<p>fleet</p>"})
    lock: Lock = field(default_factory=Lock)

    def look(self) -> str:
        with self.lock:
            self.looks += 1
        if self.error is not None:
            raise self.error
        return self.text

    def read(self, name: str) -> File | None:
        if self.error is not None:
            raise self.error
        body = self.files.get(name)
        return File(body, "text/html; charset=utf-8") if body is not None else None


def cluster(world: World, name: str, every_s: float = 0.02) -> LiveCluster:
    seen = SharedLook(Looking(world.look), every_s, name)

    def report(text: str) -> Report:
        return Report(name, text, sections=(Section("Said", items=((Cell(text),),)),))

    pages = (
        LivePage("run", "Run", seen, report),
        LivePage("plan", "Plan", seen, report, in_place=False),
    )
    return LiveCluster(name, pages, lambda text: f"it is {text}")


Serve = Callable[..., LiveServer]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    monkeypatch.setattr(bounded_http, "TICK_S", 0.01)
    monkeypatch.setattr(registry, "OVERVIEW_EVERY_S", 0.02)
    monkeypatch.setattr(registry, "PATIENCE_S", 20)
    with contextlib.ExitStack() as stack:

        def serving(*clusters: LiveCluster, fleet: FleetFiles | None = None) -> LiveServer:
            return stack.enter_context(LiveServer.listening(0, LivePages(clusters, fleet)))

        yield serving


@pytest.fixture
def server(serve: Serve, world: World) -> LiveServer:
    fleet = FleetFiles(lambda: max(world.files, default=None), world.read)
    return serve(cluster(world, "main"), fleet=fleet)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str


def cookie(server: LiveServer) -> str:
    return f"{server.access.cookie}={server.access.token}"


def ask(
    server: LiveServer, path: str, method: str = "GET", headers: Mapping[str, str] | None = None
) -> Answer:
    """Ask with the cookie, unless `headers` say otherwise."""
    connection = http.client.HTTPConnection(*server.address, timeout=30)
    with contextlib.closing(connection):
        said = {"Cookie": cookie(server)} if headers is None else headers
        connection.request(method, path, headers=dict(said))
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read().decode())


class Viewer:
    """An open stream of events."""

    def __init__(self, server: LiveServer, path: str) -> None:
        self.connection = http.client.HTTPConnection(*server.address, timeout=30)
        self.connection.request("GET", path, headers={"Cookie": cookie(server)})
        self.response = self.connection.getresponse()

    def until(self, kind: str, part: str = "") -> dict[str, str]:
        """The data of the next event of a kind that holds a text."""
        last = ""
        while True:
            line = self.response.readline()
            assert line, "the stream has ended"
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                last = value
            elif name == "data" and last == kind and part in value:
                return json.loads(value)

    def first(self, *kinds: str) -> str:
        """The kind of the next event of some kinds."""
        while True:
            line = self.response.readline()
            assert line, "the stream has ended"
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event" and value in kinds:
                return value

    def close(self) -> None:
        self.response.close()
        self.connection.close()


@pytest.fixture
def view(server: LiveServer) -> Iterator[Callable[[str], Viewer]]:
    with contextlib.ExitStack() as stack:

        def opened(path: str) -> Viewer:
            viewer = Viewer(server, path)
            stack.callback(viewer.close)
            return viewer

        yield opened
