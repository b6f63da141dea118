"""Streams of live pages over real sockets: what viewers are told, and what they can cost."""

import itertools
import re

import pytest

from conditions import until
from poolkeeper import bounded_http
from poolkeeper.errors import Unavailable
from poolkeeper.ui.registry import LivePages
from poolkeeper.ui.server import LiveServer
from unit.ui.live_servers import (
    Serve,
    Viewer,
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


def test_another_token_ends_what_the_one_before_has_open(
    server: LiveServer, world: World, view
) -> None:
    before = cookie(server)
    viewer = view("/clusters/main/run/events")
    viewer.until("page", "first")
    server.admit("another-token", LivePages((cluster(world, "main"),)))
    lines = iter(viewer.response.readline, b"")
    assert len(list(itertools.islice(lines, 1000))) < 100
    assert ask(server, "/clusters/main/run", headers={"Cookie": before}).status == 403
    assert ask(server, "/clusters/main/run").status == 200


def test_who_has_no_token_of_a_server_for_others_is_told_where_it_goes(world: World) -> None:
    site = LivePages((cluster(world, "main"),))
    with LiveServer.open_to_others("127.0.0.1:0", site, "token") as server:
        refused = ask(server, "/clusters/main/run", headers={})
    assert (refused.status, "?token=" in refused.text) == (403, True)
