"""The server of live pages over real sockets: who gets what, and what a viewer can cost."""

import contextlib
import http.client
import itertools
import json
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock

import pytest

from conditions import until
from poolkeeper import bounded_http
from poolkeeper.errors import Unavailable
from poolkeeper.report.document import Cell, Report, Section
from poolkeeper.ui import registry
from poolkeeper.ui.registry import File, FleetFiles, LiveCluster, LivePage, LivePages, View
from poolkeeper.ui.server import LiveServer
from poolkeeper.ui.watch import Looking, SharedLook

HOSTILE = "</script><script>alert(1)</script>"
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


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        pytest.param("GET", "/", None, 200, id="home"),
        pytest.param("GET", "/clusters/main/run", None, 200, id="a-page"),
        pytest.param("HEAD", "/clusters/main/run", None, 200, id="its-head"),
        pytest.param("HEAD", "/clusters/main/run/events", None, 200, id="the-head-of-a-stream"),
        pytest.param("GET", "/clusters/main/run?x=1", None, 200, id="with-a-query"),
        pytest.param("GET", "/fleet", None, 200, id="the-fleet"),
        pytest.param("GET", f"/fleet/{REPORT}", None, 200, id="its-report"),
        pytest.param("GET", "/fleet/other.html", None, 404, id="no-file-of-it"),
        pytest.param("GET", "/clusters/other/run", None, 404, id="no-such-cluster"),
        pytest.param("GET", "/clusters/main/nothing", None, 404, id="no-such-page"),
        pytest.param("GET", "/clusters/main/run/", None, 404, id="below-a-page"),
        pytest.param("GET", "/clusters", None, 404, id="no-overview-of-one"),
        pytest.param("GET", "/../etc/passwd", None, 404, id="upwards"),
        pytest.param("GET", "http://evil.example/", None, 403, id="another-host-in-full"),
        pytest.param("GET", "//evil.example/", None, 404, id="another-host-in-the-path"),
        pytest.param("POST", "/clusters/main/run", None, 405, id="post"),
        pytest.param("PUT", "/clusters/main/run", None, 405, id="put"),
        pytest.param("DELETE", "/clusters/main/run", None, 405, id="delete"),
        pytest.param("OPTIONS", "/clusters/main/run", None, 405, id="options"),
        pytest.param("PATCH", "/", {}, 405, id="without-token-either"),
        pytest.param("GET", "/clusters/main/run", {}, 403, id="no-token"),
        pytest.param("GET", "/clusters/main/run/events", {}, 403, id="no-token-no-stream"),
        pytest.param("GET", f"/fleet/{REPORT}", {}, 403, id="no-token-no-fleet"),
        pytest.param("GET", "/nothing", {}, 403, id="no-token-no-knowledge"),
        pytest.param("GET", "/?token=guessed", {}, 403, id="another-token"),
        pytest.param("GET", "/", {"Cookie": "poolkeeper=x"}, 403, id="another-cookie"),
    ],
)
def test_a_request_is_answered(
    server: LiveServer, method: str, path: str, headers: dict[str, str] | None, status: int
) -> None:
    answer = ask(server, path, method, headers)
    assert answer.status == status
    assert bool(answer.text) is (method != "HEAD")
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/clusters/main/run", "/clusters/main/run/events", "/no"])
@pytest.mark.parametrize(
    "hosts",
    [
        pytest.param(("evil.example",), id="another-name"),
        pytest.param(("evil.example:80",), id="with-a-port"),
        pytest.param(("127.0.0.1", "evil.example"), id="two"),
        pytest.param((), id="none"),
    ],
)
def test_another_host_gets_nothing_even_with_the_token(
    server: LiveServer, path: str, hosts: tuple[str, ...]
) -> None:
    said = "".join(f"Host: {host}\r\n" for host in hosts)
    head = f"GET {path}?token={server.access.token} HTTP/1.1\r\n{said}"
    with socket.create_connection(server.address, timeout=30) as connection:
        connection.sendall(f"{head}Cookie: {cookie(server)}\r\n\r\n".encode())
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"Set-Cookie" not in answer
    assert server.access.token.encode() not in answer


def test_the_printed_address_gives_the_cookie_and_leads_on_without_the_token(
    server: LiveServer,
) -> None:
    host, port = server.address
    assert host == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{port}/?token={server.access.token}"
    answer = ask(server, server.url.partition(f":{port}")[2], headers={})
    assert (answer.status, answer.headers["Set-Cookie"]) == (200, server.access.set_cookie)
    assert 'content="0; url=/clusters/main/run"' in answer.text
    assert server.access.token not in answer.text
    given = answer.headers["Set-Cookie"].partition(";")[0]
    page = ask(server, "/clusters/main/run", headers={"Cookie": given})
    assert page.status == 200
    assert "Set-Cookie" not in page.headers


@pytest.mark.parametrize(
    ("path", "onward"),
    [
        pytest.param("/clusters/main/plan", "/clusters/main/plan", id="a-page"),
        pytest.param("/clusters/main/plan/events", "/clusters/main/run", id="no-page"),
        pytest.param("//evil.example/", "/clusters/main/run", id="another-host"),
        pytest.param("/\\evil.example/", "/clusters/main/run", id="as-browsers-read-it"),
        pytest.param("http://evil.example/", "/clusters/main/run", id="in-full"),
    ],
)
def test_the_token_leads_to_pages_of_ours_only(server: LiveServer, path: str, onward: str) -> None:
    said = {"Host": "127.0.0.1"}
    answer = ask(server, f"{path}?token={server.access.token}", headers=said)
    assert re.findall(r"(?:url=|href=\")([^\"]*)", answer.text) == [onward, onward]


def test_a_page_loads_nothing_from_elsewhere(server: LiveServer) -> None:
    answer = ask(server, "/clusters/main/run")
    policy = answer.headers["Content-Security-Policy"]
    hashes = r"'sha256-[\w+/=]+'"
    assert re.fullmatch(
        rf"default-src 'none'; style-src {hashes}; script-src {hashes}; connect-src 'self';"
        r" base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        policy,
    )
    assert not re.search(r"(src|href)=\"(?!/|#)", answer.text)
    assert "http:" not in answer.text
    assert "https:" not in answer.text
    expected = {
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    assert {name: answer.headers[name] for name in expected} == expected


def test_names_that_are_markup_stay_text(server: LiveServer, world: World, view) -> None:
    world.text = HOSTILE
    assert HOSTILE not in ask(server, "/clusters/main/run").text
    news = view("/clusters/main/run/events").until("page", "alert")
    assert HOSTILE not in news["content"]
    assert "&lt;script&gt;alert(1)" in news["content"]


def test_a_page_is_loaded_again_where_no_script_runs(server: LiveServer) -> None:
    page = ask(server, "/clusters/main/run").text
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in page
    assert re.search(r"<output>seen at \d\d:\d\d:\d\d UTC</output>", page)


def test_a_page_that_shows_nothing_yet_is_loaded_again_soon() -> None:
    seldom = SharedLook(Looking(lambda: "seen"), 120, "what takes long")
    live = LivePage(
        "rehearsal", "Rehearsal", seldom, lambda said: Report("Rehearsal", said), refresh_s=120
    )
    view = View(live, "/rehearsal", (), "main")
    seldom.newer(0, 30)
    assert 'http-equiv="refresh" content="120"' in view.whole()[0]
    unseen = SharedLook(Looking(lambda: "seen"), 120, "what was not looked at")
    unseen.close()
    view = View(replace(live, watch=unseen), "/rehearsal", (), "main")
    page = view.whole()[0]
    assert "The first look is under way." in page
    assert 'http-equiv="refresh" content="5"' in page
    seldom.close(30)


def test_events_tell_what_changed(server: LiveServer, world: World, view) -> None:
    viewer = view("/clusters/main/run/events")
    assert viewer.response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    first = viewer.until("page", "<p>first")
    assert first["title"] == "main"
    assert "<p>first</p>" in first["content"]
    world.text = "second"
    assert viewer.until("page")["content"] == first["content"].replace("first", "second")
    assert viewer.until("seen")["told"].startswith("seen at ")


def test_a_page_with_pictures_is_not_replaced_under_the_reader(
    server: LiveServer, world: World, view
) -> None:
    until(lambda: "<p>first" in ask(server, "/clusters/main/plan").text, "it was seen")
    page = ask(server, "/clusters/main/plan").text
    viewer = view(re.search(r'data-events="([^"]+)"', page)[1])
    assert viewer.first("seen", "newer", "page") == "seen"
    world.text = "second"
    assert viewer.first("newer", "page") == "newer"


def test_a_page_that_showed_nothing_yet_is_replaced(server: LiveServer, view) -> None:
    assert (
        "<p>first" in view("/clusters/main/plan/events?shown=").until("page", "<p>first")["content"]
    )


def test_a_cluster_that_cannot_be_seen_is_shown_as_such_and_comes_back(
    server: LiveServer, world: World, view
) -> None:
    viewer = view("/clusters/main/run/events")
    viewer.until("page", "<p>first")
    world.error = Unavailable("zk-1:2181 does not answer")
    lost = viewer.until("page")["content"]
    assert "zk-1:2181 does not answer" in lost
    assert "Not readable now." in lost
    assert "<p>first</p>" not in lost, "what was seen is said to be of before"
    assert "first" in lost
    world.text, world.error = "back", None
    assert "<p>back</p>" in viewer.until("page")["content"]


def test_a_cluster_that_was_never_seen_says_why(server: LiveServer, world: World) -> None:
    world.error = Unavailable("zk-1:2181 does not answer")
    page = ask(server, "/clusters/main/run").text
    assert "Nothing could be read yet." in page
    assert "zk-1:2181 does not answer" in page


def test_viewers_share_the_looks(serve: Serve, world: World) -> None:
    server = serve(cluster(world, "main", every_s=60))
    viewers = [Viewer(server, "/clusters/main/run/events") for _ in range(8)]
    for viewer in viewers:
        viewer.until("page", "<p>first")
        viewer.close()
    for page in ("run", "plan", "run"):
        assert "first" in ask(server, f"/clusters/main/{page}").text
    assert world.looks == 1


def test_streams_are_few_and_there_is_room_again_when_one_ends(
    server: LiveServer, view, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_http, "HELD_MAX", 3)
    viewers = [view("/clusters/main/run/events") for _ in range(3)]
    for viewer in viewers:
        viewer.until("page")
    refused = ask(server, "/clusters/main/run/events")
    assert (refused.status, refused.headers["Retry-After"]) == (503, "10")
    assert ask(server, "/clusters/main/run").status == 200, "pages are served all the same"
    viewers[0].close()
    until(lambda: server.held == 2, "the one that went is noticed")
    view("/clusters/main/run/events").until("page")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_opens_no_streams(server: LiveServer, site: str) -> None:
    said = {"Cookie": cookie(server), "Sec-Fetch-Site": site}
    assert ask(server, "/clusters/main/run/events", headers=said).status == 403


def test_a_server_that_closes_ends_its_streams_and_looks(server: LiveServer, world: World) -> None:
    viewer = Viewer(server, "/clusters/main/run/events")
    viewer.until("page")
    server.close()
    while viewer.response.readline():
        pass
    looks = world.looks
    assert not any(each.live.watch.looking for each in server.site.views.values())
    assert world.looks == looks
    viewer.close()


def test_streams_of_pages_that_are_no_longer_shown_end(
    server: LiveServer, world: World, view
) -> None:
    viewer = view("/clusters/main/run/events")
    viewer.until("page", "first")
    server.show(LivePages((cluster(world, "main"), cluster(world, "other"))))
    lines = iter(viewer.response.readline, b"")
    assert len(list(itertools.islice(lines, 1000))) < 100
    assert view("/clusters/main/run/events").until("page", "first")


def test_several_clusters_have_a_page_in_common(serve: Serve, world: World) -> None:
    other = World(error=Unavailable("zk-2:2181 does not answer"))
    server = serve(cluster(world, "main"), cluster(other, "spare"))
    assert 'url=/clusters"' in ask(server, "/").text

    def page() -> str | None:
        found = ask(server, "/clusters").text
        return found if "it is first" in found and "zk-2:2181" in found else None

    found = until(page, "both were looked at", 30)
    assert re.findall(r'<td><a href="([^"]+)">', found) == [
        "/clusters/main/run",
        "/clusters/spare/run",
    ]


def test_clusters_that_the_common_page_has_no_line_for_are_counted(
    serve: Serve, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "CLUSTERS_MAX", 2)
    server = serve(*(cluster(world, name) for name in ("first", "second", "third")))
    found = ask(server, "/clusters").text
    assert "/clusters/second/run" in found
    assert "/clusters/third/run" not in found
    assert "1 more cluster" in found


def test_the_fleet_s_reports_run_nothing_but_their_own_script(
    server: LiveServer, world: World
) -> None:
    assert f'url=/fleet/{REPORT}"' in ask(server, "/fleet").text
    answer = ask(server, f"/fleet/{REPORT}")
    assert answer.text == "<p>fleet</p>"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/=]+'$", policy)
    assert "connect-src" not in policy
    world.files = {}
    assert "there is no report yet" in ask(server, "/fleet").text
    world.error = Unavailable("s3a://bucket/fleet: no answer")
    failed = ask(server, f"/fleet/{REPORT}")
    assert (failed.status, failed.text) == (502, "s3a://bucket/fleet: no answer\n")


def test_a_port_in_use_is_unavailable(server: LiveServer) -> None:
    port = server.address[1]
    with pytest.raises(Unavailable, match=rf"^cannot listen on 127.0.0.1:{port}: "):
        LiveServer.listening(port, LivePages(()))
