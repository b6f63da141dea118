"""Requests of people as texts."""

import pytest

from poolkeeper.model.execution.person_requests import (
    PersonRequest,
    RequestKind,
    read_request,
)

PLAN = "sha256:" + "a" * 64
STOP, ROLLBACK, RESUME = RequestKind


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("stop", PersonRequest(STOP)),
        (f"stop {PLAN}", PersonRequest(STOP, PLAN)),
        (f" rollback   {PLAN} allow-controller-failover ", PersonRequest(ROLLBACK, PLAN, True)),
        ("resume", PersonRequest(RESUME)),
        ("", None),
        ("Stop", None),
        ("true", None),
        (f"{PLAN} stop", None),
        (f"stop {PLAN} {PLAN}", None),
        ("stop sha256:abc", None),
        ("stop now", None),
        ("stop " + " " * 300, None),
    ],
)
def test_what_is_read(text, request_):
    assert read_request(text) == request_


@pytest.mark.parametrize(
    "request_", [PersonRequest(STOP), PersonRequest(ROLLBACK, PLAN, True), PersonRequest(RESUME)]
)
def test_what_is_written_is_read_again(request_):
    assert read_request(str(request_)) == request_
