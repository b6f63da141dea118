"""kopf ends as a whole when one watch fails for good; it is then started anew, however it ended."""

import gc
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from threading import enumerate as enumerate_threads

import kopf
import pytest

from conditions import until
from manifests import topic
from poolkeeper.controller.resource_cache import ResourceCache
from poolkeeper.controller.retry_pauses import requests_max
from poolkeeper.controller.watch import KINDS, ResourceWatch
from poolkeeper.kube.client.listing import FollowedNamespaces
from poolkeeper.model.names import GROUP, VERSION
from poolkeeper.resources.kinds.custom_resource import key_of

pytestmark = pytest.mark.long

OURS = f"/apis/{GROUP}/{VERSION}"
VERBS = ["get", "list", "watch", "patch", "create"]
HOLD_S = 60.0


class Nothing:
    """An API server that is asked for lists and has nothing to list."""

    def __init__(self) -> None:
        self.now = 100
        self.topics: tuple[dict[str, object], ...] = ()

    def revision(self) -> int:
        self.now += 1
        return self.now

    def missing(self) -> str:
        return ""

    def bodies(self, kind: str, followed: FollowedNamespaces) -> tuple[dict[str, object], ...]:
        return self.topics if kind == "Topic" else ()

    def namespaces(self) -> tuple[()]:
        return ()

    def followed(self) -> FollowedNamespaces:
        return FollowedNamespaces()

    def try_watches(self) -> None:
        pass


@dataclass
class Served:
    """What a server serves: `topics` when they are listed; watches are open until `cut`.

    While it is `brief`, watches end as soon as they have begun; `watches` were asked for.
    While it is `busy`, whoever lists Topics shall come back in an hour. After the cut, and until
    `healed`, a watch of Topics is refused as by a server that does not know
    the token, and all others wait for an answer.
    """

    topics: list[dict[str, object]] = field(default_factory=list)
    cut: Event = field(default_factory=Event)
    healed: Event = field(default_factory=Event)
    busy: Event = field(default_factory=Event)
    brief: bool = False
    watches: int = 0
    watched: set[str] = field(default_factory=set)

    def listed(self, plural: str, query: str) -> tuple[int, dict[str, object]]:
        if "watch=true" in query:
            self.watches += 1
            return 200, {"type": "BOOKMARK", "object": {}}
        if plural != "topics":
            return 200, {"metadata": {"resourceVersion": "1"}, "items": []}
        if self.busy.is_set():
            return 429, {"kind": "Status", "details": {"retryAfterSeconds": 3600}}
        return 200, {"metadata": {"resourceVersion": "1"}, "items": self.topics}

    def discovered(self, path: str) -> dict[str, object] | None:
        if path == "/api":
            return {"versions": ["v1"]}
        if path == "/apis":
            version = {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}
            group = {"name": GROUP, "versions": [version], "preferredVersion": version}
            return {"groups": [group]}
        kinds = {"/api/v1": {"Namespace": "namespaces"}, OURS: KINDS}.get(path)
        if kinds is None:
            return None
        return {
            "resources": [
                {
                    "name": plural,
                    "singularName": kind.lower(),
                    "kind": kind,
                    "namespaced": kind == "Topic",
                    "verbs": VERBS,
                }
                for kind, plural in kinds.items()
            ]
        }


@contextmanager
def serving(served: Served) -> Iterator[str]:
    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            plural = path.rpartition("/")[2]
            if "watch=true" in query and not served.brief:
                self.answer_watch(plural)
            elif (found := served.discovered(path)) is not None:
                self.say(200, found)
            else:
                self.say(*served.listed(plural, query))

        def answer_watch(self, plural: str) -> None:
            if served.healed.is_set():
                self.hold(served.healed, plural)
            elif not served.cut.is_set():
                self.hold(served.cut, plural)
            elif plural == "topics":
                self.say(401, {"kind": "Status", "status": "Failure", "code": 401})
            else:
                served.healed.wait(HOLD_S)
            self.close_connection = True

        def hold(self, until_set: Event, plural: str) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            served.watched.add(plural)
            if until_set is served.cut:
                until_set.wait(HOLD_S)

        def say(self, status: int, body: dict[str, object]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        served.cut.set()
        served.healed.set()
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_watches_that_go_on_while_kopf_ends_keep_nobody_waiting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Those in the middle of a request may take their cancellation for a pause, and go on."""
    served = Served()
    with serving(served) as url:
        login = lambda **_: kopf.ConnectionInfo(server=url, token="t")  # noqa: E731
        watch = ResourceWatch(ResourceCache(), Nothing(), login=login)
        watch.start()
        try:
            every = {"namespaces", *KINDS.values()}
            until(lambda: served.watched == every, "all kinds are watched", 30)
            served.cut.set()
            until(lambda: "credentials" in watch.failure, "kopf has ended, and why is said", 40)
            body = topic("new", "p", "shop")
            served.topics.append({**body, "metadata": {**body["metadata"], "uid": "u1"}})
            served.healed.set()

            def known() -> bool:
                objects, _ = watch.cache.contents()
                return [each.name for each in objects] == ["new"]

            until(known, "kopf was started anew", 30)
        finally:
            served.healed.set()
            watch.stop()
    assert [each.getMessage() for each in caplog.records if each.name == "asyncio"] == []


@pytest.mark.slow
@pytest.mark.parametrize("told_later", [False, True], ids=["listed", "told-by-the-watch"])
def test_a_store_that_was_restored_is_read_again(told_later: bool) -> None:
    """A watch of a later revision than the store's is open, and tells nothing."""
    served, source = Served(), Nothing()
    with serving(served) as url:
        login = lambda **_: kopf.ConnectionInfo(server=url, token="t")  # noqa: E731
        watch = ResourceWatch(ResourceCache(), source, login=login)

        def known() -> list[str]:
            return [each.name for each in watch.cache.contents()[0]]

        watch.start()
        try:
            until(lambda: served.watched == {"namespaces", *KINDS.values()}, "all is watched", 30)
            body = topic("restored", "p", "shop")
            served.topics.append({**body, "metadata": {**body["metadata"], "uid": "u1"}})
            watch._relisted.set()
            until(lambda: source.now > 101, "it has compared", 30)
            assert known() == []
            if told_later:
                seen = topic("seen", "p", "shop")
                seen["metadata"] |= {"uid": "u0", "resourceVersion": "500"}
                watch.cache.put(seen)
                watch.cache.drop(key_of(seen), "u0")
            else:
                source.now = 50
            watch._relisted.set()
            until(lambda: known() == ["restored"], "everything was listed again", 30)
        finally:
            served.healed.set()
            watch.stop()


@pytest.mark.slow
def test_a_watch_that_tells_of_no_changes_is_started_anew() -> None:
    """Where a server told kopf to come back in an hour, it sleeps for an hour."""
    served, source = Served(), Nothing()
    with serving(served) as url:
        login = lambda **_: kopf.ConnectionInfo(server=url, token="t")  # noqa: E731
        watch = ResourceWatch(ResourceCache(), source, login=login, compare_every_s=2)
        served.busy.set()
        watch.start()
        try:
            every = {"namespaces", *KINDS.values()}
            until(lambda: served.watched == every - {"topics"}, "all others are watched", 30)
            served.busy.clear()
            new = topic("new", "p", "shop")
            new["metadata"] |= {"uid": "u1", "generation": 1}
            source.topics = (new,)
            until(lambda: served.watched == every, "kopf was started anew", 30)
        finally:
            served.healed.set()
            watch.stop()


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Objects in cycles stay, as in a process with many others they do for long."""
    gc.disable()
    yield
    gc.enable()


def threads_of_pools() -> set[Thread]:
    return {each for each in enumerate_threads() if each.name.startswith("ThreadPoolExecutor")}


@pytest.mark.slow
@pytest.mark.usefixtures("no_collection")
def test_watches_that_end_as_soon_as_they_begin_are_begun_with_pauses() -> None:
    served, before = Served(brief=True), threads_of_pools()
    with serving(served) as url:
        login = lambda **_: kopf.ConnectionInfo(server=url, token="t")  # noqa: E731
        watch = ResourceWatch(ResourceCache(), Nothing(), login=login)
        watch.start()
        try:
            began_s = time.monotonic()
            until(lambda: "as soon as they have begun" in watch.failure, "it is said", 30)
            until(lambda: not watch.failure, "kopf is started anew", 30)
            until(lambda: watch.failure, "it is said again", 30)
            # It is stopped once they are too many, and has what was begun until then.
            starts = 2 + (time.monotonic() - began_s) / 2
            assert served.watches < starts * 4 * requests_max(0)
            body = topic("new", "p", "shop")
            served.topics.append({**body, "metadata": {**body["metadata"], "uid": "u1"}})
            until(lambda: watch.cache.contents()[0], "what is declared is seen", 30)
            served.brief = False
            until(lambda: served.watched == {"namespaces", *KINDS.values()}, "all is watched", 40)
            until(lambda: not watch.failure, "it works again", 30)
        finally:
            served.healed.set()
            watch.stop()
    until(lambda: threads_of_pools() <= before, "no run of kopf leaves a thread", 30)
