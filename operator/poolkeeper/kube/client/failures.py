"""What the API server answers when it does not do as asked, in our words.

| answer | error | because |
|---|---|---|
| 401, 403 | `Forbidden` | RBAC or the token are not as they should be; a person mends it |
| 404 of a write, 409, 410, a failed test of a JSON patch | `Stale` | somebody else was faster |
| 404 that is no Status, 408, 429, 5xx, garbage | `Unavailable` | not there now; later it is |
| any other | `Refused` | the server says what is wrong with the request |

Two answers are not what they look like (1.36): a test that fails in a JSON patch is 422, as is an
object that breaks its schema, but only the latter names fields; and what server-side apply finds
wrong with types or names of fields is 500.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from poolkeeper.errors import Forbidden, PoolkeeperError, Refused, Stale, Unavailable

SHOWN_CHARS_MAX = 500
MISTYPED = "failed to create typed patch object"


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """One answer: `body` is its text, `retry_after_s` what the server asks to wait, if it does."""

    status: int
    body: bytes
    retry_after_s: float | None = None

    @property
    def good(self) -> bool:
        """Whether the server did as asked."""
        return 200 <= self.status < 300

    @property
    def busy(self) -> bool:
        """Whether the server asks to come back: nothing was done."""
        return self.status in (429, 503) and self.retry_after_s is not None


def content(answer: ApiResponse, doing: str) -> dict[str, Any]:
    """Return the object in a good answer; raise `Unavailable` if there is none in it."""
    try:
        found = json.loads(answer.body)
    except ValueError as broken:
        raise Unavailable(f"the API server's answer is no JSON ({doing})") from broken
    if not isinstance(found, dict):
        raise Unavailable(f"the API server's answer is no object ({doing})")
    return found


def failure(answer: ApiResponse, doing: str, path: str, *, tests: bool = False) -> PoolkeeperError:
    """Return what to raise; `doing` is a clause such as "writing X", `tests` for JSON patches."""
    reported = _status(answer.body)
    said = _said(answer, reported)
    mistyped = said.startswith(MISTYPED)  # their words: the status says an internal error
    match answer.status:
        case 401:
            return Forbidden(f"the API server does not know this identity ({doing}): {said}")
        case 403:
            return Forbidden(f"{doing} is not allowed: {said}")
        case 404 if reported is None:
            return Unavailable(f"the API server does not serve this kind ({doing})")
        case 404 | 409 | 410:
            return Stale(f"{doing}: {said}", path)
        case 422 if tests and _is_failed_test(reported):
            return Stale(f"{doing}: {said}", path)
        case 408 | 429:
            return Unavailable(f"the API server is busy ({doing}): {said}")
        case status if 400 <= status < 500 or mistyped:
            return Refused(f"{doing}: {said}")
        case status:
            return Unavailable(f"the API server answered {status} ({doing}): {said}")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the pause that the server asks for; dates, which it never sends, are passed over."""
    try:
        return max(0.0, float(headers["Retry-After"]))
    except (KeyError, ValueError):
        return None


def _status(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("kind") == "Status" else None


def _said(answer: ApiResponse, reported: dict[str, Any] | None) -> str:
    if reported is not None and reported.get("message"):
        return str(reported["message"])[:SHOWN_CHARS_MAX]
    text = " ".join(answer.body.decode(errors="replace").split())
    return text[:SHOWN_CHARS_MAX] or f"status {answer.status} without a word"


def _is_failed_test(reported: dict[str, Any] | None) -> bool:
    details = (reported or {}).get("details") or {}
    causes = details.get("causes") or []
    return not any(cause.get("field") for cause in causes)
