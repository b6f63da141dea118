"""What service accounts asked of the API server: its audit log, from which RBAC can be derived.

The log has the requests of all service accounts but those of kube-system, which are the controllers
of Kubernetes itself; admin's requests are not in it. The server writes an event when the request is
over, a watch's when it begins; a test that has just seen an answer may have to wait for its event.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
        {"level": "None"},
    ],
}

PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One request. `account` is "namespace/name"; what does not apply is empty.

    A list of pods: verb "list", resource "pods", group "". A write of a Topic's status: "patch",
    "topics", "poolkeeper.dev", subresource "status". A request such as `GET /version` has none.
    """

    at: datetime
    account: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    status: int


def parse_events(lines: Iterable[str]) -> tuple[AuditEvent, ...]:
    """Return the requests in the order of the log, each once; a last line without end is left."""
    events: dict[str, AuditEvent] = {}
    for line in lines:
        if line.endswith("\n"):
            body = json.loads(line)
            events.setdefault(body["auditID"], _event(body))
    return tuple(events.values())


def _event(body: dict[str, Any]) -> AuditEvent:
    target = body.get("objectRef", {})
    return AuditEvent(
        at=datetime.fromisoformat(body["requestReceivedTimestamp"]),
        account=body["user"]["username"].removeprefix(PREFIX).replace(":", "/"),
        verb=body["verb"],
        group=target.get("apiGroup", ""),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        status=body.get("responseStatus", {}).get("code", 0),
    )
