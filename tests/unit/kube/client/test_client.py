"""The client against a server that misbehaves in all the ways a server can."""

import json
import socket
import time
from threading import Thread

import pytest
from kubernetes.client.configuration import Configuration

from poolkeeper.errors import Forbidden, Refused, Stale, Unavailable, UndeclaredField
from poolkeeper.kube.client.client import Api
from unit.kube.client.apis import THING, api_of, read
from unit.kube.http_servers import (
    answers,
    hangs,
    says,
    says_and_closes,
    trickles,
)

DEEP = "[" * 200_000
THINGS = {"kind": "ThingList", "metadata": {}, "items": [THING]}


def status(code, message="because", **details):
    body = {"kind": "Status", "status": "Failure", "message": message, "code": code}
    return answers(code, body | ({"details": details} if details else {}))


def make(api):
    return api.create("/things", THING)


def write(api):
    return api.update("/things/a", THING)


def apply(api):
    return api.apply("/things/a/status", THING, "poolkeeper")


def patch(api):
    return api.patch_json("/things/a", [{"op": "test", "path": "/x", "value": 1}])


def patch_untested(api):
    return api.patch_json("/things/a", [{"op": "add", "path": "/x", "value": 1}])


def remove(api):
    return api.delete("/things/a", "u1")


def kinds(api):
    return api.resources("/apis/x/v1")


def try_watch(api):
    return api.try_watch("/things")


def enumerate_all(api):
    return list(api.list("/things"))


@pytest.mark.parametrize(
    ("call", "method", "target", "kind", "sent"),
    [
        pytest.param(read, "GET", "/things/a", None, None, id="get"),
        pytest.param(enumerate_all, "GET", "/things?limit=500", None, None, id="list"),
        pytest.param(
            try_watch,
            "GET",
            "/things?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D-",
            None,
            None,
            id="watch",
        ),
        pytest.param(make, "POST", "/things", "application/json", THING, id="create"),
        pytest.param(write, "PUT", "/things/a", "application/json", THING, id="update"),
        pytest.param(
            apply,
            "PATCH",
            "/things/a/status?fieldManager=poolkeeper&force=true",
            "application/apply-patch+yaml",
            THING,
            id="apply",
        ),
        pytest.param(
            patch_untested,
            "PATCH",
            "/things/a",
            "application/json-patch+json",
            [{"op": "add", "path": "/x", "value": 1}],
            id="patch",
        ),
        pytest.param(
            remove,
            "DELETE",
            "/things/a",
            "application/json",
            {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "u1"}},
            id="delete",
        ),
    ],
)
def test_requests(call, method, target, kind, sent):
    with api_of(answers(200, THINGS if call is enumerate_all else THING)) as (api, server):
        call(api)
        (request,) = server.requests
        assert (request.method, request.target) == (method, target)
        assert request.headers.get("content-type") == kind
        assert (json.loads(request.body) if request.body else None) == sent
        assert request.headers["user-agent"].startswith("poolkeeper/")


@pytest.mark.parametrize(
    ("call", "behaviour", "error", "says_so"),
    [
        pytest.param(make, status(401), Forbidden, "does not know this", id="401"),
        pytest.param(make, status(403), Forbidden, "not allowed: because", id="403"),
        pytest.param(
            make,
            status(403, causes=[{"reason": "NamespaceTerminating"}]),
            Stale,
            "because",
            id="403-of-a-namespace-that-goes",
        ),
        pytest.param(
            try_watch,
            status(403),
            Forbidden,
            "watching /things is not allowed",
            id="403-of-a-watch",
        ),
        pytest.param(write, status(404), Stale, "because", id="404-of-a-write"),
        pytest.param(
            apply, answers(404, "404 page not found"), Unavailable, "not serve", id="404-of-a-kind"
        ),
        pytest.param(
            enumerate_all,
            answers(404, "404 page not found"),
            Unavailable,
            "not serve",
            id="404-of-a-list",
        ),
        pytest.param(write, status(409), Stale, "because", id="409"),
        pytest.param(enumerate_all, status(410), Stale, "because", id="410"),
        pytest.param(make, status(400), Refused, "because", id="400"),
        pytest.param(patch, status(422), Stale, "because", id="422-of-a-failed-test"),
        pytest.param(patch_untested, status(422), Refused, "because", id="422-without-a-test"),
        pytest.param(
            patch,
            status(422, causes=[{"field": "spec.x"}]),
            Refused,
            "because",
            id="422-of-the-schema",
        ),
        pytest.param(make, status(429), Unavailable, "busy", id="429"),
        pytest.param(make, status(500), Unavailable, "500", id="500"),
        pytest.param(
            apply,
            status(500, "failed to create typed patch object (x): .y"),
            Refused,
            "typed",
            id="500-that-is-our-fault",
        ),
        pytest.param(
            apply,
            status(500, "failed to create typed patch object: .y: field not declared in schema"),
            UndeclaredField,
            "not declared",
            id="500-of-an-earlier-definition",
        ),
        pytest.param(
            make,
            answers(502, "<html>bad\n gateway"),
            Unavailable,
            "<html>bad gateway",
            id="502-of-a-proxy",
        ),
        pytest.param(make, answers(503, ""), Unavailable, "without a message", id="503"),
        pytest.param(
            make,
            answers(302, "", Location="http://127.0.0.1:1/"),
            Unavailable,
            "302",
            id="redirects-are-not-followed",
        ),
        pytest.param(read, answers(200, "no json"), Unavailable, "no JSON", id="garbage"),
        pytest.param(read, answers(200, DEEP), Unavailable, "no JSON", id="brackets"),
        pytest.param(
            read, answers(500, DEEP), Unavailable, "answered 500", id="brackets-of-an-error"
        ),
        pytest.param(read, answers(200, {"ok": 1}), Unavailable, "no object of", id="other-json"),
        pytest.param(
            enumerate_all,
            answers(200, {"kind": "Status", "status": "Success"}),
            Unavailable,
            "no list",
            id="no-list",
        ),
        pytest.param(
            enumerate_all,
            answers(200, {"kind": "ThingList", "items": {}}),
            Unavailable,
            "no list",
            id="a-list-that-is-none",
        ),
        *(
            pytest.param(
                enumerate_all,
                answers(200, {"kind": "ThingList", "metadata": {}, "items": [THING, one]}),
                Unavailable,
                "no list",
                id=f"a-list-of-{one}",
            )
            for one in (None, {}, {"metadata": None}, "x")
        ),
        pytest.param(read, answers(200, []), Unavailable, "no object", id="a-list"),
        *(
            pytest.param(
                call, answers(200, body), Unavailable, "no stored object", id=f"{name}-{id}"
            )
            for name, call in (("read", read), ("write", write), ("apply", apply), ("patch", patch))
            for id, body in (
                ("a-success", {"kind": "Status", "metadata": {}, "status": "Success"}),
                ("nothing", {"kind": "Thing", "metadata": None}),
                ("no-uid", {"kind": "Thing", "metadata": {"name": "a", "uid": 7}}),
            )
        ),
        pytest.param(
            read, answers(404, "<html>no backend"), Unavailable, "no backend", id="404-of-a-proxy"
        ),
        pytest.param(
            remove,
            answers(404, "<html>no backend"),
            Unavailable,
            "not serve",
            id="404-of-a-proxy-for-a-deletion",
        ),
        pytest.param(
            kinds,
            answers(200, {"kind": "Status", "metadata": {}}),
            Unavailable,
            "no list of resources",
            id="no-list-of-kinds",
        ),
        pytest.param(
            kinds,
            answers(404, "<html>no backend"),
            Unavailable,
            "not serve",
            id="404-of-a-proxy-for-kinds",
        ),
        pytest.param(make, says("What?\r\n\r\n"), Unavailable, "cannot be reached", id="no-http"),
        pytest.param(make, says_and_closes(""), Unavailable, "cannot be reached", id="closed"),
        pytest.param(
            make,
            says_and_closes("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"),
            Unavailable,
            "cannot be reached",
            id="cut-short",
        ),
    ],
)
def test_failures(call, behaviour, error, says_so):
    with api_of(behaviour) as (api, _), pytest.raises(error, match=says_so) as raised:
        call(api)
    assert type(raised.value) is error or error is Unavailable
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "behaviour", [pytest.param(hangs, id="hangs"), pytest.param(trickles, id="trickles")]
)
@pytest.mark.parametrize("call", [read, make])
def test_a_call_ends_at_its_deadline(call, behaviour):
    with api_of(behaviour, deadline_s=0.15) as (api, _):
        begin_s = time.monotonic()
        with pytest.raises(Unavailable, match="did not answer in time"):
            call(api)
        assert 0.1 < time.monotonic() - begin_s < 30


def test_a_call_may_have_its_own_deadline():
    with api_of(hangs, deadline_s=60) as (api, _), pytest.raises(Unavailable, match="in time"):
        api.get("/things/a", deadline_s=0.1)


def test_nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    api = Api(Configuration(host=f"http://127.0.0.1:{port}"), "ops")
    with pytest.raises(Unavailable, match="cannot be reached: Connection refused"):
        read(api)


def test_what_is_absent_is_none():
    with api_of(status(404)) as (api, _):
        assert read(api) is None
        assert remove(api) is False


def test_kinds_that_are_served():
    served = {"kind": "APIResourceList", "resources": [{"name": "things"}]}
    groups = {"kind": "APIGroupList", "groups": [{"name": "apps"}]}
    absent = answers(404, "404 page not found")
    with api_of(answers(200, served), absent, answers(200, groups)) as (api, _):
        assert kinds(api) == [{"name": "things"}]
        assert kinds(api) == []


def test_a_404_of_what_stands_before_the_server_is_no_absence_of_kinds():
    page = answers(200, {"kind": "Page", "status": "healthy"})
    with (
        api_of(answers(404, "no backend"), page) as (api, _),
        pytest.raises(Unavailable, match="no list of groups"),
    ):
        kinds(api)


def test_a_read_survives_one_broken_connection_and_a_creation_does_not():
    with api_of(says_and_closes(""), answers(200, THING)) as (api, server):
        assert read(api) == THING
        assert len(server.requests) == 2
    with api_of(says_and_closes(""), answers(200, THING)) as (api, server):
        with pytest.raises(Unavailable):
            make(api)
        assert len(server.requests) == 1


def test_a_busy_server_is_asked_again_when_it_says():
    busy = answers(429, "wait", Retry_After="0.05")
    with api_of(busy, busy, answers(201, THING)) as (api, _):
        begin_s = time.monotonic()
        assert make(api) == THING
        assert time.monotonic() - begin_s >= 2 * 0.05
        assert api.requests == {"create": 3}


@pytest.mark.parametrize(
    ("pause", "asked"),
    [
        pytest.param("60", 1, id="beyond-the-deadline"),
        pytest.param("0", 5, id="too-often"),
        pytest.param("Wed, 21 Oct 2026 07:28:00 GMT", 1, id="a-date"),
        pytest.param("-1", 5, id="negative"),
    ],
)
def test_patience_with_a_busy_server_ends(pause, asked):
    with api_of(answers(429, "wait", Retry_After=pause), deadline_s=30) as (api, server):
        begin_s = time.monotonic()
        with pytest.raises(Unavailable, match="busy"):
            make(api)
        assert len(server.requests) == asked
        assert time.monotonic() - begin_s < 30


def test_many_threads_may_ask_at_once():
    with api_of(answers(200, THING)) as (api, server):
        threads = [Thread(target=lambda: [read(api) for _ in range(20)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert len(server.requests) == 160
        assert api.requests["get"] == 160
