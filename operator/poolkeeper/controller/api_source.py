"""What the resource watch asks the API server for, beside kopf."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from poolkeeper.kube.client import listing


class ApiSource(Protocol):
    """Lists resources on the API server; every method raises `PoolkeeperError` if it is away."""

    def missing(self) -> str:
        """Return a sentence naming our kinds that the API server does not serve, or ""."""

    def bodies(
        self, kind: str, followed: listing.FollowedNamespaces
    ) -> Iterable[Mapping[str, Any]]:
        """List the resources of a kind (a key of `watch.KINDS`) in these namespaces."""

    def namespaces(self) -> Iterable[Mapping[str, Any]]:
        """List the namespaces."""

    def followed(self) -> listing.FollowedNamespaces:
        """Return the namespaces to list."""

    def revision(self) -> int | None:
        """Return the revision of the API server's store; None if it is no number."""

    def try_watches(self) -> None:
        """Raise what a watch of resources or namespaces fails with."""
