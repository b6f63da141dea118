"""Admission webhooks of a test, which the API server calls by TLS: they deny, change or are silent.

    with Webhook(control_plane, namespace, deny, resource("", "configmaps")) as webhook:
        ...                       # once it is entered, the API server calls it
        webhook.calls             # ("UPDATE", "configmaps", "name") of each request

`admit` takes a request of admission.k8s.io. It returns None to let it pass, a list of operations of
a JSON patch, or a `Denial`. Requests in one namespace, or of kinds without one, are asked about.
"""

import base64
import json
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

from conditions import until
from control_plane.planes import ControlPlane

Body = dict[str, Any]
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
PROBE = "webhook-probe"
HANGS_S = 5
"""The API server waits for a webhook for so long."""
PROBED = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}


@dataclass(frozen=True)
class Denial:
    """The status and the words of who denies a request."""

    status: int
    message: str


Admit = Callable[[Body], list[Body] | Denial | None]


def resource(group: str, *plurals: str) -> Body:
    """The rule for all writes of these."""
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE", "DELETE"],
        "resources": list(plurals),
    }


class Webhook:
    """A webhook for requests of one namespace and of kinds without one; a context."""

    def __init__(self, plane: ControlPlane, namespace: str, admit: Admit, *rules: Body) -> None:
        self.calls: list[tuple[str, str, str]] = []
        self._plane, self._namespace, self._admit, self._rules = plane, namespace, admit, rules
        self._name = f"webhook-{namespace}.example.test"
        self._seen: list[str] = []

    def __enter__(self) -> Self:
        certificates = self._plane.ca.parent
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
        self._server = ThreadingHTTPServer((self._plane.address, 0), self._handler())
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        Thread(target=self._server.serve_forever, daemon=True).start()
        self._plane.request("POST", WEBHOOKS, self._configuration())
        until(self._is_called, "the API server calls the webhook")
        return self

    def __exit__(self, *_: object) -> None:
        self._plane.request("DELETE", f"{WEBHOOKS}/{self._name}")
        until(lambda: not self._is_called(), "the API server calls the webhook no more")
        self._server.shutdown()
        self._server.server_close()

    def _configuration(self) -> Body:
        ca = base64.b64encode(self._plane.ca.read_bytes()).decode()
        host, port = self._server.server_address[:2]
        webhook = {
            "name": self._name,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "timeoutSeconds": HANGS_S,
            "clientConfig": {"url": f"https://{host!s}:{port}/", "caBundle": ca},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace}},
            "rules": [*self._rules, {**PROBED, "resources": ["serviceaccounts"]}],
        }
        return {"metadata": {"name": self._name}, "webhooks": [webhook]}

    def _is_called(self) -> bool:
        """Whether a request of ours, which changes nothing, reaches it."""
        before = len(self._seen)
        path = f"/api/v1/namespaces/{self._namespace}/serviceaccounts?dryRun=All"
        self._plane.request("POST", path, {"metadata": {"name": PROBE}})
        return len(self._seen) > before

    def _response(self, request: Body) -> Body:
        plural, name = request["resource"]["resource"], request.get("name") or ""
        if name == PROBE:
            self._seen.append(name)
            return {"allowed": True}
        self.calls.append((request["operation"], plural, name))
        match self._admit(request):
            case Denial(status, message):
                return {"allowed": False, "status": {"code": status, "message": message}}
            case list(operations) if operations:
                patch = base64.b64encode(json.dumps(operations).encode()).decode()
                return {"allowed": True, "patchType": "JSONPatch", "patch": patch}
        return {"allowed": True}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = json.loads(body)["request"]
                response = {"uid": request["uid"], **webhook._response(request)}
                review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
                data = json.dumps({**review, "response": response}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                with suppress(OSError):  # the API server may have waited long enough
                    self.end_headers()
                    self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                """Nobody reads it."""

        return Handler


def without_annotations(request: Body) -> list[Body] | None:
    """Take our annotations off, as who knows none of them does."""
    metadata = (request.get("object") or {}).get("metadata") or {}
    ours = [key for key in metadata.get("annotations") or () if key.startswith("poolkeeper.dev/")]
    return [
        {"op": "remove", "path": "/metadata/annotations/" + key.replace("/", "~1")} for key in ours
    ]
