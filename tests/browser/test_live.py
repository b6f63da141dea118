"""The live pages of a simulated cluster in a real browser: before, during and after a run."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from browser import looks
from browser.chromium import Tab
from poolkeeper.cli.commands.ui import live_pages
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from poolkeeper.ui.registry import LivePages
from poolkeeper.ui.server import LiveServer
from real.support import command, declare, run

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

POOLS = {"old": {"brokers": {"ids": [1, 2]}}, "new": {"brokers": {"ids": [3, 4]}}}
PAGES = ("run", "pools", "plan", "rehearsal", "history")
TEXTS_MIN = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Manifests of a cluster of four brokers: a topic is in one pool, and declared in the other."""
    here = tmp_path_factory.mktemp("live")
    spec = SandboxSpec(brokers=spread(4), simulated=True, root=here / "sandboxes")
    with Sandbox.start(spec) as sandbox:
        manifests = here / "manifests"
        for pool in ("old", "new"):
            topic = {"pool": pool, "partitions": 40, "replicationFactor": 2}
            declare(manifests, sandbox.connect, POOLS, {"orders": topic})
            if pool == "old":
                applied = run("apply", "-f", manifests, "--yes")
                assert applied.code == 0, applied.err
        yield manifests


@pytest.fixture
def server(folder: Path) -> Iterator[LiveServer]:
    pages = LivePages(live_pages.all_pages(ClusterSelection((folder,))))
    with LiveServer.listening(0, pages) as serving:
        yield serving


def go(tab: Tab, server: LiveServer, page: str) -> None:
    """Open a page by the address that the command prints, as a person does at first."""
    token = urlsplit(server.url).query
    host, port = server.address
    tab.open(f"http://{host}:{port}/clusters/main/{page}?{token}")
    tab.until(lambda: tab.run("location.search") == "", "the page without the token")
    await_text(tab, "seen at")


def await_text(tab: Tab, said: str) -> None:
    tab.until(lambda: said in tab.run("document.body.innerText"), f"the page tells {said!r}")


def check_is_alone(tab: Tab, server: LiveServer) -> None:
    """The page has asked its own server only, and complains of nothing."""
    host, port = server.address
    assert {urlsplit(each).netloc for each in tab.requests} == {f"{host}:{port}"}
    assert tab.complaints == []


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_live_page_is_for_everybody(browser, audited, server, page, scheme):
    with browser.tab(scheme=scheme) as tab:
        go(tab, server, page)
        audited(tab)
        looks.check_contrast(tab, TEXTS_MIN)
        for width in (360, 1280):
            looks.check_layout(tab, width)
        reached = looks.walk_focus(tab)
        places = ["a Run", "a Pools", "a Plan", "a Rehearsal", "a History"]
        assert reached[: 1 + len(places)] == ["a Skip to the page", *places]
        check_is_alone(tab, server)


def test_the_places_are_reached_by_keyboard(browser, server):
    with browser.tab() as tab:
        go(tab, server, "run")
        for _ in range(4):
            tab.press("Tab")
        before = tab.loads
        tab.press("Enter")
        tab.until(lambda: tab.loads > before, "the plan")
        await_text(tab, "Plan for cluster main")
        assert tab.run("location.pathname") == "/clusters/main/plan"
        tab.press("Tab")
        tab.press("Enter")
        assert tab.run("location.hash") == "#page", "who skips the places is on the page"
        check_is_alone(tab, server)


def test_a_run_is_shown_as_it_goes(browser, audited, server, folder):
    with browser.tab(360) as tab, browser.tab(scheme="dark") as other:
        for each in (tab, other):
            go(each, server, "run")
            await_text(each, "No run is under way.")
        tab.press("Tab")
        words = command("apply", "-f", folder, "--yes")
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as applying:
            try:
                for each in (tab, other):
                    await_text(each, "moves done")
                    audited(each)
                    looks.check_contrast(each, TEXTS_MIN)
                    looks.check_layout(each, 360)
                said = applying.communicate(timeout=300)[0]
                assert applying.returncode == 0, said
            finally:
                applying.kill()
        for each in (tab, other):
            await_text(each, "No run is under way.")
            check_is_alone(each, server)
        assert tab.run("document.activeElement.className") == "skip", "the focus stays where it was"
