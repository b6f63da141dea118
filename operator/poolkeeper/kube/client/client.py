"""The only client of the API server: JSON in, JSON out, each call done or failed by its deadline.

The `kubernetes` package finds the server, keeps TLS and renews tokens. A pod's token file is read
again every minute, a kubeconfig's plugin is run again when its token expires. Objects are plain
dictionaries: the package's generated models cost memory and drop fields that they do not know.

A call without a response may still have been carried out. Calls that are safe to repeat (reads,
server-side apply) are repeated once if their connection broke: a server that restarts leaves dead
connections behind. Other calls raise `Unavailable`, and the caller reads the object again.

All methods are thread-safe.
"""

import os
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event, Lock
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes.client.rest import RESTClientObject
from kubernetes.config.config_exception import ConfigException

import poolkeeper
from poolkeeper.errors import PoolkeeperError, Unavailable
from poolkeeper.jsontext import compact
from poolkeeper.kube.client import config, failures
from poolkeeper.kube.client.failures import ApiResponse
from poolkeeper.text import size

Body = dict[str, Any]

ANSWER_BYTES_MAX = 64 << 20
FEWER = 8
"""A list whose answer is too long is requested with so many times fewer objects."""
CONNECTIONS = 16
BUSY_ANSWERS_MAX = 5
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
PLAIN = "application/json"
NO_NAME = "-"


OnRequest = Callable[[str, int | None, float | None], None]
"""Called after every request with its verb, its HTTP status or None, and its seconds.

A watch has no seconds: it takes as long as was asked for.
"""


def _ignore_request(verb: str, status: int | None, seconds: float | None) -> None:
    """Ignore the request."""


class Api:
    """A client of the API server, made by `connect`.

    `deadline_s` of a call defaults to that of the connection. `on_request` may be set to count
    requests. Every call raises `Unavailable` if the server gives no proper response, `Forbidden` if
    it denies access, and what its own docstring says.
    """

    def __init__(self, configuration: Any, namespace: str, *, deadline_s: float = 10) -> None:
        configuration.connection_pool_maxsize = CONNECTIONS
        rest: Any = RESTClientObject
        self.namespace = namespace
        self.requests: Counter[str] = Counter()
        self.on_request: OnRequest = _ignore_request
        self._configuration = configuration
        self._server = str(configuration.host).rstrip("/")
        self._pool: urllib3.PoolManager = rest(configuration).pool_manager
        self._deadline_s = deadline_s
        self._credentials = Lock()

    @classmethod
    def connect(
        cls,
        *,
        deadline_s: float = 10,
        environ: Mapping[str, str] = os.environ,
        account: Path = config.ACCOUNT,
    ) -> "Api":
        """Return a client of the cluster that this process belongs to; no request is sent yet.

        `namespace` is the pod's own, or that of the kubeconfig's context. Raises `Refused` with one
        line if no cluster is configured.
        """
        found = config.find(environ, account)
        return cls(found.configuration, found.namespace, deadline_s=deadline_s)

    @classmethod
    def of_user(
        cls, kubeconfig: str | None, context: str | None, *, deadline_s: float = 10
    ) -> "Api":
        """Return a client by a person's kubeconfig; raises `Refused` if there is none."""
        found = config.of_user(os.environ, kubeconfig, context)
        return cls(found.configuration, found.namespace, deadline_s=deadline_s)

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self._server

    def close(self) -> None:
        """Close all connections; those in use close once their response has arrived."""
        for key in list(self._pool.pools.keys()):
            self._pool.pools[key].close()

    def get(self, path: str, *, deadline_s: float | None = None) -> Body | None:
        """Return the object, or `None` if there is none."""
        answer = self._request("get", "GET", path, deadline_s=deadline_s)
        return (
            None if failures.is_absence(answer) else self._stored(answer, f"reading {path}", path)
        )

    def resources(self, path: str) -> list[Body]:
        """Return the kinds that are served below `path`, a group and its version; may be none.

        The server's 404 of a group that it does not serve is plain text, as a proxy's is that knows
        no way to the server. So none are served only where the server lists its groups.
        """
        answer = self._request("get", "GET", path)
        if answer.status == 404:
            groups = self._content(self._request("get", "GET", "/apis"), "reading /apis", "/apis")
            failures.listed(groups, "groups", "reading /apis")
            return []
        found = self._content(answer, f"reading {path}", path)
        return failures.listed(found, "resources", f"reading {path}")

    def list(
        self, path: str, chunk: int = 500, *, labels: str = "", deadline_s: float | None = None
    ) -> Iterator[Body]:
        """Yield all objects of a collection, `chunk` per request, each with its own deadline.

        So many may be too long an answer: whoever may create objects may make them big. Fewer are
        requested then, down to one.

        `labels` is a label selector, such as `app=planner`. Raises `Stale` if the list's
        resourceVersion expires before its end is reached: start again.
        """
        token = ""
        chosen = {"labelSelector": labels} if labels else {}
        while True:
            query = urlencode({"limit": chunk} | chosen | ({"continue": token} if token else {}))
            try:
                answer = self._request("list", "GET", f"{path}?{query}", deadline_s=deadline_s)
            except _AnswerTooLong:
                if chunk == 1:
                    raise
                chunk = max(1, chunk // FEWER)
                continue
            found = self._content(answer, f"listing {path}", path)
            yield from failures.items(found, f"listing {path}")
            token = (found.get("metadata") or {}).get("continue") or ""
            if not token:
                return

    def revision(self, path: str) -> int | None:
        """Return the revision of the API server's store, by a list of a collection.

        It only grows, unless the store was restored from a backup. None if it is no number.
        """
        answer = self._request("list", "GET", f"{path}?{urlencode({'limit': 1})}")
        found = self._content(answer, f"listing {path}", path)
        version = str((found.get("metadata") or {}).get("resourceVersion", ""))
        return int(version) if version.isascii() and version.isdecimal() else None

    def try_watch(self, path: str) -> None:
        """Watch a collection for a second; raises what a watch of it fails with.

        It watches an object of a name that none can have, so that nothing is sent.
        """
        selected = {"fieldSelector": f"metadata.name={NO_NAME}"}
        query = urlencode({"watch": "true", "timeoutSeconds": 1} | selected)
        answer = self._request("watch", "GET", f"{path}?{query}")
        if not answer.good:
            raise failures.failure(answer, f"watching {path}", path)

    def create(self, path: str, body: Body, *, deadline_s: float | None = None) -> Body:
        """Create an object in the collection `path`; raises `Stale` if it exists."""
        answer = self._request("create", "POST", path, body, PLAIN, deadline_s=deadline_s)
        return self._content(answer, f"creating in {path}", path)

    def update(self, path: str, body: Body, *, deadline_s: float | None = None) -> Body:
        """Replace an object; raises `Stale` if the body's resourceVersion is outdated."""
        answer = self._request("update", "PUT", path, body, PLAIN, deadline_s=deadline_s)
        return self._stored(answer, f"writing {path}", path)

    def apply(
        self,
        path: str,
        body: Body,
        manager: str,
        force: bool = True,
        *,
        deadline_s: float | None = None,
    ) -> Body:
        """Apply `manager`'s fields of an object; fields that it no longer names are removed.

        Raises `Stale` if the object, or the one with the body's uid, is gone. Without `force` it
        also raises `Stale` if another manager owns one of the fields. Raises `Refused` if the body
        breaks the schema.
        """
        query = urlencode({"fieldManager": manager, "force": "true" if force else "false"})
        answer = self._request("apply", "PATCH", f"{path}?{query}", body, APPLY, deadline_s)
        return self._stored(answer, f"applying {path}", path)

    def patch_json(
        self, path: str, operations: Sequence[Body], *, deadline_s: float | None = None
    ) -> Body:
        """Apply all operations of a JSON patch or none; raises `Stale` if a test in it fails."""
        answer = self._request("patch", "PATCH", path, list(operations), JSON_PATCH, deadline_s)
        tests = any(operation["op"] == "test" for operation in operations)
        return self._stored(answer, f"patching {path}", path, tests=tests)

    def delete(
        self,
        path: str,
        uid: str | None = None,
        *,
        propagation: str = "",
        deadline_s: float | None = None,
    ) -> bool:
        """Delete an object; false if it is gone. `Stale` if it is not the one with that uid.

        `propagation`: the deletion policy for its dependents; empty for the default of its kind.
        """
        options: Body = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if propagation:
            options["propagationPolicy"] = propagation
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        answer = self._request("delete", "DELETE", path, options, PLAIN, deadline_s)
        if failures.is_absence(answer):
            return False
        self._content(answer, f"deleting {path}", path)
        return True

    def _content(self, answer: ApiResponse, doing: str, path: str) -> Body:
        if not answer.good:
            raise failures.failure(answer, doing, path)
        return failures.content(answer, doing)

    def _stored(self, answer: ApiResponse, doing: str, path: str, *, tests: bool = False) -> Body:
        if not answer.good:
            raise failures.failure(answer, doing, path, tests=tests)
        return failures.object_of(answer, doing)

    def _request(
        self,
        verb: str,
        method: str,
        target: str,
        body: object = None,
        content_type: str = "",
        deadline_s: float | None = None,
    ) -> ApiResponse:
        """Send until the response is more than "come back later", or the deadline is over."""
        end_s = time.monotonic() + (self._deadline_s if deadline_s is None else deadline_s)
        data = None if body is None else compact(body).encode()
        repeatable = verb in ("get", "list", "watch", "apply")
        for _ in range(BUSY_ANSWERS_MAX):
            self.requests[verb] += 1
            try:
                answer = self._timed_request(
                    verb, lambda: self._send(method, target, data, content_type, end_s)
                )
            except _ConnectionBroken as broken:
                if not repeatable or time.monotonic() >= end_s:
                    raise Unavailable(str(broken)) from broken
                repeatable = False
                continue
            if not answer.busy or time.monotonic() + (answer.retry_after_s or 0) >= end_s:
                return answer
            Event().wait(answer.retry_after_s)
        return answer

    def _timed_request(self, verb: str, send: Callable[[], ApiResponse]) -> ApiResponse:
        """Send a request and report it to `on_request`, also if no response came."""
        began_s = time.monotonic()
        status: int | None = None
        try:
            answer = send()
            status = answer.status
            return answer
        finally:
            self.on_request(verb, status, None if verb == "watch" else time.monotonic() - began_s)

    def _send(
        self, method: str, target: str, data: bytes | None, content_type: str, end_s: float
    ) -> ApiResponse:
        headers = {"Accept": PLAIN, "User-Agent": f"poolkeeper/{poolkeeper.__version__}"}
        if content_type:
            headers["Content-Type"] = content_type
        headers |= self._authorization(end_s)
        left_s = max(0.001, end_s - time.monotonic())
        try:
            response = self._pool.request(
                method,
                self._server + target,
                body=data,
                headers=headers,
                timeout=urllib3.Timeout(connect=left_s, read=left_s),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            return ApiResponse(
                response.status,
                _read_body(response, end_s),
                failures.retry_after_s(response.headers),
            )
        except (urllib3.exceptions.HTTPError, OSError) as failed:
            raise _unavailable(failed, self._server) from failed

    def _authorization(self, end_s: float) -> dict[str, str]:
        """Return the Authorization header, with a renewed token if it is due."""
        if not self._credentials.acquire(timeout=max(0.0, end_s - time.monotonic())):
            raise Unavailable("no credentials for the API server in time: their plugin hangs")
        try:
            settings = self._configuration.auth_settings()
        except (ConfigException, OSError) as failed:
            raise Unavailable(f"no credentials for the API server: {failed}") from failed
        finally:
            self._credentials.release()
        # A file that somebody wrote may end in a line feed, which no header may have.
        token = (settings.get("BearerToken") or {"value": ""})["value"].strip()
        if not (token.isascii() and token.isprintable()):
            raise Unavailable("no credentials for the API server: the token is not in one line")
        return {"Authorization": token} if token else {}


class _ConnectionBroken(Unavailable):
    """The connection broke before the response had arrived."""


class _AnswerTooLong(Unavailable):
    """The response is longer than `ANSWER_BYTES_MAX`."""


def _unavailable(failed: Exception, server: str) -> PoolkeeperError:
    while isinstance(failed, urllib3.exceptions.MaxRetryError) and failed.reason is not None:
        failed = failed.reason
    # urllib3 raises a timeout for a refused connection, too.
    refused = isinstance(failed, urllib3.exceptions.NewConnectionError)
    if isinstance(failed, urllib3.exceptions.TimeoutError | TimeoutError) and not refused:
        return Unavailable(f"the API server {server} did not answer in time")
    # Around "connection refused" urllib3's message has only addresses of its objects.
    cause: BaseException = failed
    while (inner := cause.__cause__ or cause.__context__) is not None:
        cause = inner
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Unavailable(f"the API server {server} is not trusted: {cause.verify_message}")
    text = cause.strerror if isinstance(cause, OSError) else str(cause)
    said = " ".join(str(text or "").split()) or type(cause).__name__
    return _ConnectionBroken(f"the API server {server} cannot be reached: {said}")


def _read_body(response: urllib3.BaseHTTPResponse, end_s: float) -> bytes:
    """Read a response in pieces: one that trickles in must not outlast the deadline."""
    pieces, received = [], 0
    try:
        while piece := response.read1(1 << 16):
            pieces.append(piece)
            received += len(piece)
            if time.monotonic() > end_s:
                raise TimeoutError
            if received > ANSWER_BYTES_MAX:
                raise _AnswerTooLong(f"the API server's answer is over {size(ANSWER_BYTES_MAX)}")
    except BaseException:
        response.close()
        raise
    response.release_conn()
    return b"".join(pieces)
