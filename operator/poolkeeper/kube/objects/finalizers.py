"""Adds and removes our finalizer: a deleted object stays until we removed it.

Both calls are idempotent. Other controllers write to the list of finalizers too. So a patch tests
the uid and the list that it was made from. A patch that loses against another write is made again
from a fresh read.
"""

from typing import Any, Protocol

from poolkeeper.errors import Stale
from poolkeeper.kube.client.references import Reference
from poolkeeper.model.names import FINALIZER

ATTEMPTS = 5

Operations = list[dict[str, Any]]


class FinalizerApi(Protocol):
    """The methods of `client.Api` that this module needs."""

    def get(self, path: str) -> dict[str, Any] | None:
        """Return an object, or None."""

    def patch_json(self, path: str, operations: Operations) -> dict[str, Any]:
        """Apply all operations of a JSON patch or none."""


def add(api: FinalizerApi, reference: Reference, body: dict[str, Any] | None = None) -> bool:
    """Add our finalizer to the object; return whether this call added it.

    `body` is the object as last seen. If it already has the finalizer, no request is sent. An
    object that is gone or being deleted is left alone. Raises `Stale` after five lost writes.
    """
    return _patch(api, reference, body, adding=True)


def remove(api: FinalizerApi, reference: Reference, body: dict[str, Any] | None = None) -> bool:
    """Remove our finalizer from the object; return whether this call removed it."""
    return _patch(api, reference, body, adding=False)


def operations(body: dict[str, Any], *, adding: bool) -> Operations:
    """Return the JSON patch that is still needed; empty if the object is already right."""
    meta = body["metadata"]
    found = list(meta.get("finalizers") or ())
    if (FINALIZER in found) == adding or (adding and meta.get("deletionTimestamp")):
        return []
    wanted = [*found, FINALIZER] if adding else [name for name in found if name != FINALIZER]
    # A patch cannot test an absent list; it tests the resourceVersion instead.
    seen = ("finalizers", found) if found else ("resourceVersion", meta["resourceVersion"])
    return [
        {"op": "test", "path": "/metadata/uid", "value": meta["uid"]},
        {"op": "test", "path": f"/metadata/{seen[0]}", "value": seen[1]},
        {"op": "add", "path": "/metadata/finalizers", "value": wanted},
    ]


def _patch(
    api: FinalizerApi, reference: Reference, body: dict[str, Any] | None, *, adding: bool
) -> bool:
    for attempt in range(ATTEMPTS):
        if body is None:
            body = api.get(reference.path)
        if body is None or reference.uid not in ("", body["metadata"]["uid"]):
            return False
        wanted = operations(body, adding=adding)
        if not wanted:
            return False
        try:
            api.patch_json(reference.path, wanted)
        except Stale:
            if attempt == ATTEMPTS - 1:
                raise
            body = None
        else:
            return True
    return False
