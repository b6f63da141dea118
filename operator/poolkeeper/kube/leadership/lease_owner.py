"""The Deployment that a Lease belongs to: with it the Lease goes, when the release is uninstalled.

A Lease that the chart made would be made again by an operator that has not ended yet. One that
belongs to a Deployment which is gone is collected, whoever makes it.
"""

import logging
from typing import Any, Protocol

from poolkeeper.errors import PoolkeeperError

DEADLINE_S = 3.0

logger = logging.getLogger(__name__)


class OwnerApi(Protocol):
    """The method of `client.Api` that this module needs."""

    def get(self, path: str, *, deadline_s: float | None = None) -> dict[str, Any] | None:
        """Return an object."""


class LeaseOwner:
    """The ownerReferences of a Lease; the Deployment is read once, and none is no trouble."""

    def __init__(self, api: OwnerApi, namespace: str, deployment: str) -> None:
        self._api = api
        self._path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}"
        self._known: list[dict[str, Any]] | None = None if deployment else []

    def references(self) -> list[dict[str, Any]]:
        """Return the references; empty without a Deployment, or while it cannot be read."""
        if self._known is None:
            try:
                found = self._api.get(self._path, deadline_s=DEADLINE_S)
            except PoolkeeperError as failed:
                logger.info("the Lease does not belong to the Deployment yet: %s", failed)
                return []
            self._known = [] if found is None else [_reference(found)]
        return self._known


def _reference(deployment: dict[str, Any]) -> dict[str, Any]:
    meta = deployment["metadata"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": meta["name"],
        "uid": meta["uid"],
    }
