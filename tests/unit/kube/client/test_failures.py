"""Texts of the API server's refusals, as statuses, events and the log tell them."""

import json

import pytest

from poolkeeper.errors import Forbidden, Refused, Unavailable
from poolkeeper.kube.client import failures
from poolkeeper.kube.client.failures import ApiResponse

HEAD = 'topics.poolkeeper.dev is forbidden: User "x" cannot list resource "topics": RBAC: '


def told(message: str) -> str:
    body = json.dumps({"kind": "Status", "status": "Failure", "message": message}).encode()
    refused = failures.failure(ApiResponse(403, body), "listing", "/x")
    assert isinstance(refused, Forbidden)
    return str(refused)


def test_roles_that_are_missing_are_told_in_one_order_as_the_server_has_none():
    roles = [f'clusterrole.rbac.authorization.k8s.io "{name}" not found' for name in "ab"]
    first, second = (told(f"{HEAD}[{', '.join(each)}]") for each in (roles, roles[::-1]))
    assert first == second == f"listing is not allowed: {HEAD}[{roles[0]}, {roles[1]}]"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("etcdserver: request is too large", Refused),
        (
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max"
            " (2150458 vs. 2097152)",
            Refused,
        ),
        ("etcdserver: mvcc: database space exceeded", Unavailable),
        ("etcdserver: request timed out", Unavailable),
    ],
)
def test_what_the_store_does_not_take_is_not_tried_again(message: str, kind: type) -> None:
    body = json.dumps({"kind": "Status", "status": "Failure", "message": message, "code": 500})
    failed = failures.failure(ApiResponse(500, body.encode()), "writing", "/x")
    assert type(failed) is kind
    assert message in str(failed)


WEBHOOK = 'admission webhook "x.example.test" denied the request: not here'
POLICY = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: not here"


@pytest.mark.parametrize(
    "said", [WEBHOOK, f'topics.poolkeeper.dev "orders" is forbidden: {POLICY}']
)
@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, Refused), (401, Forbidden), (403, Forbidden)]
    + [(status, Refused) for status in (404, 409, 410, 422)]
    + [(429, Unavailable), (500, Unavailable)],
)
def test_who_denies_a_write_chooses_the_status(said: str, status: int, kind: type) -> None:
    """It is no write that was overtaken, no object that is gone, and no token that is wrong."""
    reported = {"kind": "Status", "message": said, "details": {"causes": [{"message": "not here"}]}}
    answer = ApiResponse(status, json.dumps(reported).encode())
    failed = failures.failure(answer, "patching /x", "/x", tests=True)
    assert type(failed) is kind
    assert said in str(failed)
    assert "identity" not in str(failed)
    assert not failures.is_absence(answer)


@pytest.mark.parametrize("rest", ['role "b" not found', "[b, a] and more", "[]"])
def test_what_is_no_list_of_roles_stays_as_it_is(rest):
    assert told(f"{HEAD}{rest}") == f"listing is not allowed: {HEAD}{rest}"
