"""Requests to an API server in tests: as any user, in any format, with an answer at any status."""

import http.client
import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from conditions import until

JSON = "application/json"
YAML = "application/yaml"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
GROUP = "/apis/poolkeeper.dev/v1alpha1"
PLURALS = {
    "KafkaCluster": "kafkaclusters",
    "ResourcePool": "resourcepools",
    "Topic": "topics",
    "Rebalance": "rebalances",
}
TIMEOUT_S = 30


@dataclass(frozen=True)
class Answer:
    """What the server said; `body` is decoded JSON."""

    status: int
    body: Any

    @property
    def message(self) -> str:
        """The server's own words, "" if all is well."""
        return "" if self.status < 400 else str(self.body.get("message", self.body))

    def refusals(self) -> list[str]:
        """Every cause as `field: message`, without the value that the server repeats in between."""
        if self.status < 400:
            return []
        causes = (self.body.get("details") or {}).get("causes")
        if not causes:
            return [self.message]
        told = {(cause.get("field"), _bare(cause["message"])) for cause in causes}
        return sorted(
            f"{field}: {message}"
            for field, message in told
            if not message.startswith("some validation rules were not checked")
        )


class Api:
    """One user's way to the API server, on a connection that is kept. The default is `access`'s."""

    def __init__(self, access: Any, user: str = "", groups: Sequence[str] = ()) -> None:
        self._access = access
        self._headers = [("Authorization", f"Bearer {access.token}"), ("Accept", JSON)]
        if user:
            self._headers += [("Impersonate-User", user)]
            self._headers += [("Impersonate-Group", group) for group in groups]
        context = ssl.create_default_context(cafile=access.ca)
        self._connection = http.client.HTTPSConnection(
            access.address, access.port, timeout=TIMEOUT_S, context=context
        )

    def as_user(self, user: str, *groups: str) -> "Api":
        """The same server's answers to somebody else, who is logged in; to be closed."""
        return Api(self._access, user, ("system:authenticated", *groups))

    def close(self) -> None:
        """Close the connection; another request opens it again."""
        self._connection.close()

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | str | None = None,
        content: str = JSON,
        **query: str | bool,
    ) -> Answer:
        """Return the answer, whatever it is. `force=True` and the like become the query."""
        words = {
            key: str(value).lower() if value is True else value for key, value in query.items()
        }
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        target = f"{path}?{urlencode(words)}" if words else path
        self._connection.putrequest(method, target)
        for name, value in [*self._headers, ("Content-Type", content)]:
            self._connection.putheader(name, value)
        sent = (text or "").encode()
        self._connection.putheader("Content-Length", str(len(sent)))
        self._connection.endheaders(sent)
        answer = self._connection.getresponse()
        return Answer(answer.status, json.loads(answer.read()))

    def dry_create(self, body: Mapping[str, Any]) -> Answer:
        """Ask for a creation that happens nowhere; unknown fields are refused."""
        return self.send("POST", folder(body), body, dryRun="All", fieldValidation="Strict")

    def ensure_namespace(self, name: str) -> None:
        """Create the namespace unless it is there; wait until what needs it can be created."""
        body = {"metadata": {"name": name}}
        probe = {"metadata": {"name": "probe"}}

        def usable() -> bool:
            self.send("POST", "/api/v1/namespaces", body)
            path = f"/api/v1/namespaces/{name}/configmaps"
            return self.send("POST", path, probe, dryRun="All").status == 201

        until(usable, f"namespace {name} is there")

    def create(self, body: Mapping[str, Any]) -> Any:
        """Create it and return what the server made of it."""
        answer = self.send("POST", folder(body), body, fieldValidation="Strict")
        assert answer.status == 201, answer.message
        return answer.body

    def patch(self, body: Mapping[str, Any], change: Mapping[str, Any], **query: str) -> Answer:
        """Merge the change into what the server holds under the body's name."""
        return self.send("PATCH", address(body), change, MERGE, **query)

    def set_status(self, body: Mapping[str, Any], status: Mapping[str, Any]) -> Answer:
        """Merge into the status."""
        return self.send("PATCH", f"{address(body)}/status", {"status": status}, MERGE)

    def get(self, body: Mapping[str, Any]) -> Any:
        """Return what the server holds under the body's name."""
        return self.send("GET", address(body)).body

    def delete(self, body: Mapping[str, Any], **query: str) -> Answer:
        """Ask for the deletion."""
        return self.send("DELETE", address(body), **query)


def folder(body: Mapping[str, Any]) -> str:
    """The path that resources like that body are created under."""
    plural = PLURALS[body["kind"]]
    if body["kind"] != "Topic":
        return f"{GROUP}/{plural}"
    return f"{GROUP}/namespaces/{body['metadata'].get('namespace', 'default')}/{plural}"


def address(body: Mapping[str, Any]) -> str:
    """The path of the resource itself."""
    return f"{folder(body)}/{body['metadata']['name']}"


def merged(base: Any, change: Any) -> Any:
    """The base with the change as a merge patch has it: None takes a field out."""
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    fields = {**base, **{key: merged(base.get(key, {}), inner) for key, inner in change.items()}}
    return {key: value for key, value in fields.items() if value is not None}


def _bare(message: str) -> str:
    """Of `Invalid value: 3: too few` the last part; a value may hold anything but our messages."""
    head, _, rest = message.partition(": ")
    if head not in {"Invalid value", "Forbidden", "Unsupported value", "Duplicate value"}:
        return message
    try:
        _, end = json.JSONDecoder().raw_decode(rest)
    except ValueError:
        return rest
    return rest[end:].removeprefix(": ") or message
