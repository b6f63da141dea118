"""Whether the API server serves our kinds now: their CRDs come and go at any time."""

from typing import Any, Protocol

from poolkeeper.kube.references import GROUP_PATH, PLURALS

NEEDED = ("KafkaCluster", "ResourcePool", "Topic")


class Objects(Protocol):
    """The part of `clients.Api` that is needed here."""

    def get(self, path: str) -> dict[str, Any] | None:
        """Return an object."""


def missing(api: Objects, kinds: tuple[str, ...] = NEEDED) -> tuple[str, ...]:
    """Return those of our kinds that the API server does not serve, with their status."""
    found = api.get(GROUP_PATH)
    served = {resource["name"] for resource in (found or {}).get("resources") or ()}
    return tuple(kind for kind in kinds if not {PLURALS[kind], f"{PLURALS[kind]}/status"} <= served)


def served(api: Objects) -> bool:
    """Return whether all kinds that we need are there."""
    return not missing(api)
