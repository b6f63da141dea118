"""The API server's error responses as our own errors.

| response | error | because |
|---|---|---|
| 401, 403 | `Forbidden` | a person has to correct RBAC or the token |
| 404 of a write, 409, 410, a failed test of a JSON patch | `Stale` | another write was first |
| 403 of a namespace that is being deleted | `Stale` | likewise: there is nothing to correct |
| 404, 409, 410, 422 of a webhook or policy | `Refused` | a person has to correct what denies it |
| 413, 500 of an object that the store does not take | `Refused` | it is too large, each time |
| 404 that is no Status, 408, 429, 5xx, garbage | `Unavailable` | it may work later |
| 500 of a field that the kind's definition lacks | `UndeclaredField` | the definition is older |
| any other | `Refused` | the request is wrong; the server's message says why |

Three responses are misleading (1.36). A failed test of a JSON patch is 422, as is an object that
breaks its schema, but only the latter names fields. A wrong type or field name in server-side apply
is 500, and so is an object larger than the store takes (1.5 MiB, or what its client sends at once).
Who denies a write by admission chooses the status: 409 looks like a write that was overtaken, 401
like a token that is not known.
"""

import json
from collections.abc import Mapping
from typing import Any

from poolkeeper.errors import (
    Forbidden,
    PoolkeeperError,
    Refused,
    Stale,
    Unavailable,
    UndeclaredField,
)
from poolkeeper.frozen import frozen

MESSAGE_CHARS_MAX = 500
MISTYPED = "failed to create typed patch object"
UNDECLARED = "field not declared in schema"
TOO_LARGE = ("etcdserver: request is too large", "trying to send message larger than max")
DENIED = ("denied the request", "denied request: ")
TERMINATING = "NamespaceTerminating"
ROLES = ": RBAC: ["
_NO_JSON = (ValueError, RecursionError)  # the latter of brackets without an end
_OF_OBJECTS = frozenset(("kind", "metadata"))


@frozen
class ApiResponse:
    """One response: `body` is its text, `retry_after_s` the pause that the server asks for."""

    status: int
    body: bytes
    retry_after_s: float | None = None

    @property
    def good(self) -> bool:
        """Whether the request succeeded."""
        return 200 <= self.status < 300

    @property
    def busy(self) -> bool:
        """Whether the server asks for a retry and did nothing."""
        return self.status in (429, 503) and self.retry_after_s is not None


def content(answer: ApiResponse, doing: str) -> dict[str, Any]:
    """Return the object in a successful response; raises `Unavailable` if there is none.

    What stands before a server, as a proxy or a health page, may answer with JSON of its own.
    """
    try:
        found = json.loads(answer.body)
    except _NO_JSON as broken:
        raise Unavailable(f"the API server's answer is no JSON ({doing})") from broken
    if not isinstance(found, dict) or not _OF_OBJECTS & found.keys():
        raise Unavailable(f"the API server's answer is no object of Kubernetes ({doing})")
    return found


def object_of(answer: ApiResponse, doing: str) -> dict[str, Any]:
    """Return the stored object in a successful response; raises `Unavailable` if there is none."""
    found = content(answer, doing)
    if not _has_metadata(found) or not isinstance(found["metadata"].get("uid"), str):
        raise Unavailable(f"the API server's answer is no stored object ({doing})")
    return found


def is_absence(answer: ApiResponse) -> bool:
    """Whether the server says that there is no such object.

    A 404 that is no Status is of a kind that is not served, or of a proxy that knows no way. A
    webhook may deny a deletion with a 404.
    """
    reported = _status(answer.body) if answer.status == 404 else None
    return reported is not None and not _is_denied(_message(answer, reported))


def items(found: Mapping[str, Any], doing: str) -> list[dict[str, Any]]:
    """Return the objects of a list; raises `Unavailable` if it is none.

    An answer without them is not taken for an empty list: all resources would count as deleted.
    """
    listed = found.get("items", "")
    if listed is None:  # an empty list, in Go
        return []
    if not isinstance(listed, list) or not all(map(_has_metadata, listed)):
        raise Unavailable(f"the API server's answer is no list ({doing})")
    return listed


def listed(found: Mapping[str, Any], what: str, doing: str) -> list[Any]:
    """Return a list of the API's discovery; raises `Unavailable` if the answer has none."""
    if not isinstance(found.get(what), list):
        raise Unavailable(f"the API server's answer is no list of {what} ({doing})")
    return list(found[what])


def failure(answer: ApiResponse, doing: str, path: str, *, tests: bool = False) -> PoolkeeperError:
    """Return the error to raise; `doing` is a clause such as "writing X".

    `tests`: the request was a JSON patch with tests.
    """
    reported = _status(answer.body)
    said = _message(answer, reported)
    mistyped = said.startswith(MISTYPED)  # their words: the status says an internal error
    undeclared = mistyped and UNDECLARED in said  # their words: it has no other sign
    denied = _is_denied(said)
    match answer.status:
        case 401 if not denied:
            return Forbidden(f"the API server does not know this identity ({doing}): {said}")
        case 403 if _is_namespace_terminating(reported):
            return Stale(f"{doing}: {said}", path)
        case 401 | 403:
            return Forbidden(f"{doing} is not allowed: {said}")
        case 404 | 409 | 410 | 422 if denied:
            return Refused(f"{doing}: {said}")
        case 404 if reported is None:
            return Unavailable(
                "the API server does not serve this kind, or a proxy before it knows no way to it"
                f" ({doing}): {said}"
            )
        case 404 | 409 | 410:
            return Stale(f"{doing}: {said}", path)
        case 422 if tests and _is_failed_test(reported):
            return Stale(f"{doing}: {said}", path)
        case 408 | 429:
            return Unavailable(f"the API server is busy ({doing}): {said}")
        case _ if undeclared:
            return UndeclaredField(f"{doing}: {said}")
        case 500 if any(words in said for words in TOO_LARGE):  # their words: it has no other sign
            return Refused(f"{doing}: the object is larger than the API server stores ({said})")
        case status if 400 <= status < 500 or mistyped:
            return Refused(f"{doing}: {said}")
        case status:
            return Unavailable(f"the API server answered {status} ({doing}): {said}")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the pause that the server asks for; the server never sends dates, they are ignored."""
    try:
        return max(0.0, float(headers["Retry-After"]))
    except (KeyError, ValueError):
        return None


def _has_metadata(found: Any) -> bool:
    return isinstance(found, dict) and isinstance(found.get("metadata"), dict)


def _status(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except _NO_JSON:
        return None
    return found if isinstance(found, dict) and found.get("kind") == "Status" else None


def _message(answer: ApiResponse, reported: dict[str, Any] | None) -> str:
    if reported is not None and reported.get("message"):
        return _ordered(str(reported["message"]))[:MESSAGE_CHARS_MAX]
    text = " ".join(answer.body.decode(errors="replace").split())
    return text[:MESSAGE_CHARS_MAX] or f"status {answer.status} without a message"


def _ordered(said: str) -> str:
    """The message with its list of missing roles sorted.

    The server lists them in another order each time: statuses, events and the log would take that
    for news.
    """
    head, listed, roles = said.partition(ROLES)
    if not roles.endswith("]"):
        return said
    return f"{head}{listed}{', '.join(sorted(roles[:-1].split(', ')))}]"


def _is_denied(said: str) -> bool:
    """Whether a webhook or a policy of admission denied the request."""
    return any(words in said for words in DENIED)  # their words: it has no other sign


def _is_namespace_terminating(reported: dict[str, Any] | None) -> bool:
    return any(cause.get("reason") == TERMINATING for cause in _causes(reported))


def _is_failed_test(reported: dict[str, Any] | None) -> bool:
    return not any(cause.get("field") for cause in _causes(reported))


def _causes(reported: dict[str, Any] | None) -> list[dict[str, Any]]:
    details = (reported or {}).get("details") or {}
    return details.get("causes") or []
