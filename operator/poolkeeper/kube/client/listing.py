"""Lists resources and namespaces on the API server, in the namespaces that are followed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from poolkeeper.kube.client.references import NAMESPACED, collection

NAMESPACES = "/api/v1/namespaces"

Body = Mapping[str, Any]


class ListingApi(Protocol):
    """The method of `client.Api` that this module needs."""

    def list(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield all objects of a collection."""


def bodies(api: ListingApi, kind: str, watched: Sequence[str]) -> Iterator[Body]:
    """Yield the resources of a kind; those with a namespace in `watched`, or (empty) in all."""
    for path in paths(kind, watched):
        yield from api.list(path)


def paths(kind: str, watched: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of the collections of a kind, as `bodies` lists them."""
    if kind not in NAMESPACED or not watched:
        return (collection(kind),)
    return tuple(collection(kind, namespace) for namespace in watched)


def namespaces(api: ListingApi) -> Iterable[Body]:
    """Return the namespaces."""
    return api.list(NAMESPACES)
