"""Lists resources and namespaces on the API server, in the namespaces that are followed.

The rights to a namespace may be Roles in it. So they go when it is deleted, before its last
resource, and whoever administers it may take them away. Its resources are not listed then, and all
others are: one namespace keeps nobody from the rest.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from poolkeeper.errors import Forbidden
from poolkeeper.frozen import frozen
from poolkeeper.kube.client.references import NAMESPACED, collection

NAMESPACES = "/api/v1/namespaces"
NO_NAMESPACE = "-"

Body = Mapping[str, Any]


class ListingApi(Protocol):
    """The method of `client.Api` that this module needs."""

    def list(self, path: str, chunk: int = 500) -> Iterator[dict[str, Any]]:
        """Yield all objects of a collection, so many for a request."""


@frozen
class FollowedNamespaces:
    """The namespaces to list: `readable` ones, None for all that there are.

    `lost`: those that are there, and whose resources may not be listed.
    """

    readable: tuple[str, ...] | None = None
    lost: frozenset[str] = frozenset()


def followed_namespaces(api: ListingApi, watched: Sequence[str]) -> FollowedNamespaces:
    """Return the namespaces to list; `watched`: those the operator is told to watch, empty for all.

    Raises `Forbidden` if none of them may be read.
    """
    if not watched:
        return FollowedNamespaces()
    there = {body["metadata"]["name"] for body in namespaces(api)}
    readable, lost = [], {}
    for namespace in watched:
        if namespace not in there:
            continue
        try:
            for kind in NAMESPACED:
                next(iter(api.list(collection(kind, namespace), 1)), None)
            readable.append(namespace)
        except Forbidden as error:
            lost[namespace] = error
    if lost and not readable:
        raise next(iter(lost.values()))
    return FollowedNamespaces(tuple(readable), frozenset(lost))


def known_namespaces(watched: Sequence[str], lost: Collection[str]) -> tuple[str, ...]:
    """Return the namespaces whose resources are known, or which are not there; empty means all.

    If none is left, a name that no namespace has.
    """
    left = tuple(namespace for namespace in watched if namespace not in lost)
    return left if left or not watched else (NO_NAMESPACE,)


def bodies(api: ListingApi, kind: str, readable: Sequence[str] | None) -> Iterator[Body]:
    """Yield the resources of a kind; those with a namespace in these, or (None) in all."""
    for path in paths(kind, readable):
        yield from api.list(path)


def paths(kind: str, readable: Sequence[str] | None) -> tuple[str, ...]:
    """Return the paths of the collections of a kind, as `bodies` lists them."""
    if kind not in NAMESPACED or readable is None:
        return (collection(kind),)
    return tuple(collection(kind, namespace) for namespace in readable)


def namespaces(api: ListingApi) -> Iterable[Body]:
    """Return the namespaces."""
    return api.list(NAMESPACES)
