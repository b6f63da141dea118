"""Whether the servers of a control plane serve: questions that are answered at once."""

import socket
from http.client import HTTPException

from control_plane.access import Access, ApiError
from control_plane.sites import ADDRESS

ASK_S = 5.0
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def listens(port: int) -> bool:
    """Say whether anybody accepts connections there."""
    try:
        socket.create_connection((ADDRESS, port), timeout=ASK_S).close()
    except OSError:
        return False
    return True


def is_healthy(access: Access, path: str = "/healthz") -> bool:
    """Say whether a server says of itself that it is."""
    try:
        return bool(access.request("GET", path, timeout_s=ASK_S) == "ok")
    except (OSError, HTTPException, ApiError):
        return False


def serves_everything(access: Access) -> bool:
    """Say whether the API server is ready, and all established custom resources can be listed.

    It calls itself ready before they are: for a moment after its start, or after a change of their
    definitions, it answers 404, or 429 "storage is (re)initializing".
    """
    if not is_healthy(access, "/readyz"):
        return False
    try:
        for definition in access.request("GET", CRDS, timeout_s=ASK_S)["items"]:
            if not _is_established(definition):
                continue
            spec = definition["spec"]
            served = next(version["name"] for version in spec["versions"] if version["served"])
            resource = f"/apis/{spec['group']}/{served}/{spec['names']['plural']}"
            access.request("GET", f"{resource}?limit=1", timeout_s=ASK_S)
    except (OSError, HTTPException, ApiError):
        return False
    return True


def _is_established(definition: dict[str, object]) -> bool:
    status = definition.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions or [])
