"""The server of live pages over real sockets: who gets what."""

import re
import socket
from dataclasses import replace

import pytest

from conditions import until
from poolkeeper.errors import Unavailable
from poolkeeper.report.document import Report
from poolkeeper.ui import registry
from poolkeeper.ui.registry import LivePage, LivePages, View
from poolkeeper.ui.server import LiveServer
from poolkeeper.ui.watch import Looking, SharedLook
from unit.ui.live_servers import (
    REPORT,
    Serve,
    World,
    ask,
    cluster,
    cookie,
    serve,
    server,
    view,
    world,
)

__all__ = ["serve", "server", "view", "world"]

HOSTILE = "</script><script>alert(1)</script>"


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


def test_a_cluster_that_was_never_seen_says_why(server: LiveServer, world: World) -> None:
    world.error = Unavailable("zk-1:2181 does not answer")
    page = ask(server, "/clusters/main/run").text
    assert "Nothing could be read yet." in page
    assert "zk-1:2181 does not answer" in page


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
