"""Refuses every write to the API server unless this instance holds the Lease at that moment.

A leader that was frozen or cut off wakes up with outdated writes, while another instance may lead
and have written newer values. So a write through `LeaderFence` raises `Unavailable` while the
instance is not sure to lead. The writer retries later, and by then knows its role. Reads are never
refused.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from poolkeeper.errors import Unavailable

Body = dict[str, Any]


class LeaderApi(Protocol):
    """The methods of `client.Api` that are fenced."""

    def get(self, path: str, *, deadline_s: float | None = None) -> Body | None:
        """Return an object."""

    def apply(self, path: str, body: Body, manager: str) -> Body:
        """Apply a part of an object."""

    def create(self, path: str, body: Body) -> Body:
        """Create an object."""

    def patch_json(self, path: str, operations: list[Body]) -> Body:
        """Do all operations or none."""

    def delete(self, path: str, uid: str | None = None, *, propagation: str = "") -> bool:
        """Delete an object; false if it is gone."""

    def list(self, path: str, chunk: int = 500, *, labels: str = "") -> Iterator[Body]:
        """Yield some objects of a collection."""


class LeaderFence:
    """The API server; writes are refused unless `is_leader` returns true."""

    def __init__(self, api: LeaderApi, is_leader: Callable[[], bool]) -> None:
        self._api = api
        self._is_leader = is_leader

    def get(self, path: str, *, deadline_s: float | None = None) -> Body | None:
        """Return an object."""
        return self._api.get(path, deadline_s=deadline_s)

    def apply(self, path: str, body: Body, manager: str) -> Body:
        """Apply a part of an object."""
        self._require_leadership()
        return self._api.apply(path, body, manager)

    def create(self, path: str, body: Body) -> Body:
        """Create an object."""
        self._require_leadership()
        return self._api.create(path, body)

    def patch_json(self, path: str, operations: list[Body]) -> Body:
        """Do all operations or none."""
        self._require_leadership()
        return self._api.patch_json(path, operations)

    def delete(self, path: str, uid: str | None = None, *, propagation: str = "") -> bool:
        """Delete an object; false if it is gone."""
        self._require_leadership()
        return self._api.delete(path, uid, propagation=propagation)

    def list(self, path: str, chunk: int = 500, *, labels: str = "") -> Iterator[Body]:
        """Yield some objects of a collection."""
        return self._api.list(path, chunk, labels=labels)

    def _require_leadership(self) -> None:
        if not self._is_leader():
            raise Unavailable("the lease is not held at the moment")
