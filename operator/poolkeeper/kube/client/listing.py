"""Lists resources and namespaces on the API server, in the namespaces that are followed.

A namespace that is followed may be deleted, and the rights to it go with it: to list its resources
is forbidden then, and already while it is being deleted. Such a namespace is not followed: it would
keep everybody from the resources of all others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from poolkeeper.errors import Forbidden
from poolkeeper.kube.client.references import NAMESPACED, collection

NAMESPACES = "/api/v1/namespaces"

Body = Mapping[str, Any]


class ListingApi(Protocol):
    """The method of `client.Api` that this module needs."""

    def list(self, path: str, chunk: int = 500) -> Iterator[dict[str, Any]]:
        """Yield all objects of a collection, so many for a request."""


def bodies(api: ListingApi, kind: str, watched: Sequence[str]) -> Iterator[Body]:
    """Yield the resources of a kind; those with a namespace in `watched`, or (empty) in all."""
    for path in paths(api, kind, watched):
        yield from api.list(path)


def paths(api: ListingApi, kind: str, watched: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of the collections of a kind, as `bodies` lists them."""
    if kind not in NAMESPACED or not watched:
        return (collection(kind),)
    return tuple(collection(kind, namespace) for namespace in followed(api, watched))


def followed(api: ListingApi, watched: Sequence[str]) -> tuple[str, ...]:
    """Return those of the namespaces `watched` that are there, with the rights to them.

    That rights are lacking to one which is not being deleted shows when it is listed.
    """
    if not watched:
        return ()
    found = {body["metadata"]["name"]: body for body in namespaces(api)}
    return tuple(
        namespace
        for namespace in watched
        if namespace in found and not _is_lost(api, found[namespace])
    )


def _is_lost(api: ListingApi, namespace: Body) -> bool:
    """Whether a namespace is being deleted, and the rights to our resources there are gone."""
    if "deletionTimestamp" not in namespace["metadata"]:
        return False
    try:
        for kind in NAMESPACED:
            next(iter(api.list(collection(kind, namespace["metadata"]["name"]), 1)), None)
    except Forbidden:
        return True
    return False


def namespaces(api: ListingApi) -> Iterable[Body]:
    """Return the namespaces."""
    return api.list(NAMESPACES)
