"""Our finalizer on an object: whoever deletes the object waits until we took it off.

Both calls are idempotent. The list of finalizers is others' too, so a patch names what it was made
for (uid and list): one that lost against another write is made again from a fresh look.
"""

from typing import Any, Protocol

from poolkeeper.errors import Stale
from poolkeeper.kube.client.references import Reference
from poolkeeper.model.names import FINALIZER

ATTEMPTS = 5

Operations = list[dict[str, Any]]


class FinalizerApi(Protocol):
    """The part of `client.Api` that is needed here."""

    def get(self, path: str) -> dict[str, Any] | None:
        """Return an object."""

    def patch_json(self, path: str, operations: Operations) -> dict[str, Any]:
        """Do all operations or none."""


def add(api: FinalizerApi, reference: Reference, body: dict[str, Any] | None = None) -> bool:
    """Put our finalizer on the object; return whether it was not there and is now.

    `body` is the object as last seen, if it was: nothing is asked if that has the finalizer. An
    object that is gone or being deleted is left alone. Raises `Stale` after five lost writes.
    """
    return _patch(api, reference, body, adding=True)


def remove(api: FinalizerApi, reference: Reference, body: dict[str, Any] | None = None) -> bool:
    """Take our finalizer off the object; return whether it was there and is not now."""
    return _patch(api, reference, body, adding=False)


def operations(body: dict[str, Any], *, adding: bool) -> Operations:
    """Return the JSON patch that is still to be done; empty if there is nothing to do."""
    meta = body["metadata"]
    found = list(meta.get("finalizers") or ())
    if (FINALIZER in found) == adding or (adding and meta.get("deletionTimestamp")):
        return []
    wanted = [*found, FINALIZER] if adding else [name for name in found if name != FINALIZER]
    # A list that is absent cannot be tested; the version can.
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
