"""Ways to the API server: kubeconfig files for programs, plain requests for the harness itself."""

import base64
import http.client
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Sent = tuple[str, str, str | None, dict[str, str]]
Answered = tuple[http.client.HTTPResponse, str]


class ApiError(Exception):
    """The API server answered with an error: `status` is its code, the message its explanation."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Kept(threading.local):
    """The connection over which this thread asked last, and the way that it is of."""

    access: "Access | None" = None
    connection: http.client.HTTPSConnection | None = None


KEPT = Kept()


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API server is, whom to trust, and who asks. No proxy is ever used."""

    address: str
    port: int
    ca: Path
    token: str = field(repr=False)

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return f"https://{self.address}:{self.port}"

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        timeout_s: float = 60,
    ) -> Any:
        """Return the answer: JSON decoded, or as text if it is none. A PATCH is a merge patch.

        Raises ApiError for an answer of 400 and above, OSError or HTTPException for none.
        """
        sent = self._sent(method, path, body)
        if method == "GET":
            answered = self._ask(sent, timeout_s)
        else:
            with closing(self.connection(timeout_s)) as connection:
                answered = _answer(connection, sent)
        return _content(answered)

    def request_over(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """Do the same over a connection that is kept: for many writes to a server that stays up."""
        return _content(_answer(connection, self._sent(method, path, body)))

    def watch(self, collection: str, version: str, timeout_s: float) -> Iterator[Any]:
        """Yield the events of a collection after a resource version, until the server ends it.

        Raises TimeoutError if nothing happens for `timeout_s`, ApiError if it is refused.
        """
        path = f"{collection}?watch=true&resourceVersion={version}"
        with closing(self.connection(timeout_s)) as connection:
            connection.request(*self._sent("GET", path, None))
            answer = connection.getresponse()
            if answer.status >= 400:
                raise ApiError(answer.status, answer.read().decode())
            while line := answer.readline():
                yield json.loads(line)

    def connection(self, timeout_s: float) -> http.client.HTTPSConnection:
        """Return a connection that trusts the API server; it connects with its first request."""
        context = ssl.create_default_context(cafile=self.ca)
        return http.client.HTTPSConnection(
            self.address, self.port, timeout=timeout_s, context=context
        )

    def _sent(self, method: str, path: str, body: Mapping[str, Any] | None) -> Sent:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        return method, path, json.dumps(body) if body else None, headers

    def _ask(self, sent: Sent, timeout_s: float) -> Answered:
        """Ask over this thread's last connection, if it still holds, and keep it for the next.

        Tests ask over and over: the handshake is most of what a question costs.
        """
        connection, KEPT.connection = KEPT.connection, None
        if connection is not None and KEPT.access == self and connection.sock is not None:
            connection.sock.settimeout(timeout_s)
            try:
                return self._kept(connection, sent)
            except TimeoutError:
                raise
            except (OSError, http.client.HTTPException):
                pass  # the server has ended since, or has closed what was idle
        elif connection is not None:
            connection.close()
        return self._kept(self.connection(timeout_s), sent)

    def _kept(self, connection: http.client.HTTPSConnection, sent: Sent) -> Answered:
        try:
            found = _answer(connection, sent)
        except BaseException:
            connection.close()
            raise
        KEPT.access, KEPT.connection = self, connection
        return found


def _answer(connection: http.client.HTTPSConnection, sent: Sent) -> Answered:
    connection.request(*sent)
    answer = connection.getresponse()
    return answer, answer.read().decode()


def _content(answered: Answered) -> Any:
    answer, text = answered
    if answer.status >= 400:
        raise ApiError(answer.status, text)
    is_json = answer.headers.get_content_type() == "application/json"
    return json.loads(text) if is_json else text


def write_kubeconfig(file: Path, access: Access, namespace: str = "default") -> Path:
    """Write a kubeconfig that needs no other file and only we can read; return its path.

    It is JSON, which is YAML as well.
    """
    trusted = base64.b64encode(access.ca.read_bytes()).decode()
    cluster = {"server": access.server, "certificate-authority-data": trusted}
    context = {"cluster": "test", "user": "test", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": access.token}}],
        "contexts": [{"name": "test", "context": context}],
        "current-context": "test",
    }
    file.touch(mode=0o600)
    file.write_text(json.dumps(config, indent=1), encoding="utf-8")
    return file
