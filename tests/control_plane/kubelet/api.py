"""The API server as this kubelet uses it: JSON over HTTPS, a deadline on everything.

404 is an answer (None). 409 raises errors.Stale, other refusals errors.Refused, and what may be
better in a moment (no connection, no answer in time, 429, 5xx) errors.Unavailable.
"""

import json
import ssl
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3

from poolkeeper import errors

Json = dict[str, Any]
TIMEOUT_S = 10.0
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"


class Api:
    """One API server, as the user of a kubeconfig of `access`. Safe for threads."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text("utf-8"))
        (cluster,), (user,) = config["clusters"], config["users"]
        trusted = b64decode(cluster["cluster"]["certificate-authority-data"]).decode()
        self.server = str(cluster["cluster"]["server"])
        self._headers = {
            "User-Agent": "process-kubelet",
            "Authorization": f"Bearer {user['user']['token']}",
        }
        self._pool = urllib3.PoolManager(
            maxsize=32, ssl_context=ssl.create_default_context(cadata=trusted), retries=False
        )

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the server."""
        parts = urlsplit(self.server)
        return str(parts.hostname), int(parts.port or 443)

    def get(self, path: str, **query: str) -> Json | None:
        """Read an object or a list; None if it is not there."""
        return self._request("GET", path, query)

    def post(self, path: str, body: Mapping[str, Any]) -> Json | None:
        """Create an object."""
        return self._request("POST", path, {}, body)

    def patch(self, path: str, body: Mapping[str, Any], kind: str = STRATEGIC) -> Json | None:
        """Change an object; None if it is not there."""
        return self._request("PATCH", path, {}, body, kind)

    def delete(self, path: str, body: Mapping[str, Any] | None = None) -> Json | None:
        """Delete an object; None if it is not there."""
        return self._request("DELETE", path, {}, body)

    def watch(self, path: str, idle_s: int, **query: str) -> Iterator[tuple[str, Json]]:
        """Yield type and object of what changes, for `idle_s` seconds at the most.

        Raises Unavailable also when the server says that the watch cannot go on.
        """
        query = {**query, "watch": "1", "timeoutSeconds": str(idle_s)}
        answer = self._send("GET", path, query, None, "", idle_s + TIMEOUT_S)
        try:
            rest = b""
            for chunk in answer.stream(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                for event in map(json.loads, lines):
                    if event["type"] == "ERROR":
                        raise errors.Unavailable(f"watch ended: {event['object']}")
                    yield event["type"], event["object"]
        except urllib3.exceptions.HTTPError as failure:
            raise errors.Unavailable(f"watch broke: {failure}") from failure
        finally:
            answer.close()

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        kind: str = "application/json",
    ) -> Json | None:
        answer = self._send(method, path, query, body, kind, TIMEOUT_S)
        try:
            found: Json = json.loads(answer.data) if answer.status != 404 else {}
        except (urllib3.exceptions.HTTPError, ValueError) as failure:
            raise errors.Unavailable(f"{method} {path}: {failure}") from failure
        return found if answer.status != 404 else None

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None,
        kind: str,
        timeout_s: float,
    ) -> urllib3.BaseHTTPResponse:
        try:
            answer = self._pool.request(
                method,
                f"{self.server}{path}{'?' if query else ''}{urlencode(query)}",
                body=json.dumps(body).encode() if body is not None else None,
                headers={**self._headers, "Content-Type": kind} if body else self._headers,
                timeout=urllib3.Timeout(connect=TIMEOUT_S, read=timeout_s),
                preload_content=False,
            )
            if answer.status < 400 or answer.status == 404:
                return answer
            text = answer.data.decode(errors="replace")[:500]
        except urllib3.exceptions.HTTPError as failure:
            raise errors.Unavailable(f"{method} {path}: {failure}") from failure
        message = f"{method} {path}: {answer.status} {text}"
        if answer.status == 409:
            raise errors.Stale(message)
        if answer.status == 429 or answer.status >= 500:
            raise errors.Unavailable(message)
        raise errors.Refused(message)
