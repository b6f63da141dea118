"""The API server as this kubelet uses it: JSON over HTTPS, a deadline on everything.

404 is an answer (None). 409 raises errors.Stale, other refusals errors.Refused, and what may be
better in a moment (no connection, no answer in time, 429, 5xx) errors.Unavailable.
"""

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3
from ruamel.yaml import YAML

from poolkeeper import errors

Json = dict[str, Any]
TIMEOUT_S = 10.0
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"


class Api:
    """One API server, as whoever the current context of a kubeconfig is. Safe for threads."""

    def __init__(self, kubeconfig: Path) -> None:
        config = YAML(typ="safe", pure=True).load(kubeconfig)
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        self.server = str(cluster["server"])
        self._headers = {"User-Agent": "process-kubelet"}
        if token := user.get("token"):
            self._headers["Authorization"] = f"Bearer {token}"
        self._pool = urllib3.PoolManager(
            maxsize=32,
            ca_certs=_file(cluster, "certificate-authority"),
            cert_file=_file(user, "client-certificate"),
            key_file=_file(user, "client-key"),
            retries=False,
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


def _named(entries: list[Json], name: str) -> Json:
    (entry,) = (each for each in entries if each["name"] == name)
    return entry


def _file(entry: Mapping[str, Any], key: str) -> str | None:
    """Return the path of what a kubeconfig gives as a file or as base64 data."""
    if data := entry.get(f"{key}-data"):
        with NamedTemporaryFile("wb", suffix=".pem", delete=False) as file:
            file.write(b64decode(data))
            return file.name
    return entry.get(key)
