"""Whether the API server serves our kinds now: their CRDs may come and go at any time.

Deleting a CRD deletes its objects, each as if somebody had deleted it. A CRD that is being deleted
is recognised by the verbs of its kind: objects can no longer be created.
"""

from typing import Any, Protocol

from poolkeeper.kube.client.references import GROUP_PATH, PLURALS

NEEDED = ("KafkaCluster", "ResourcePool", "Topic", "Rebalance")


class DiscoveryApi(Protocol):
    """The method of `client.Api` that this module needs."""

    def resources(self, path: str) -> list[dict[str, Any]]:
        """Return the kinds that are served."""


def missing_kinds(api: DiscoveryApi) -> tuple[str, ...]:
    """Return those of our kinds that the API server does not serve, with their status."""
    served = _verbs(api)
    return tuple(
        kind for kind in NEEDED if not {PLURALS[kind], f"{PLURALS[kind]}/status"} <= served.keys()
    )


def kinds_being_removed(api: DiscoveryApi) -> tuple[str, ...]:
    """Return those of our kinds whose CRDs are being removed or are gone."""
    served = _verbs(api)
    return tuple(kind for kind in NEEDED if "create" not in served.get(PLURALS[kind], ()))


def _verbs(api: DiscoveryApi) -> dict[str, list[str]]:
    return {each["name"]: each.get("verbs", []) for each in api.resources(GROUP_PATH)}
