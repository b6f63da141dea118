"""Which object is meant, and under which path the API server keeps it."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from poolkeeper.model.names import API_VERSION

GROUP_PATH = f"/apis/{API_VERSION}"

PLURALS = {
    "KafkaCluster": "kafkaclusters",
    "ResourcePool": "resourcepools",
    "Topic": "topics",
    "Rebalance": "rebalances",
}
NAMESPACED = frozenset({"Topic"})


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """One object of ours; `namespace` is empty for the kinds of the whole cluster.

    With a `uid` it means that very object, and not a later one of the same name.
    """

    kind: str
    namespace: str
    name: str
    uid: str = ""

    @classmethod
    def of(cls, body: Any) -> "Reference":
        """Return what the body of an object, as the API server gives it, is called."""
        meta = body["metadata"]
        namespace, uid = meta.get("namespace", ""), meta.get("uid", "")
        return cls(body["kind"], namespace, meta["name"], uid)

    @property
    def path(self) -> str:
        """Where the API server keeps the object."""
        return f"{collection(self.kind, self.namespace)}/{_segment(self.name)}"

    @property
    def status_path(self) -> str:
        """Where its status is written."""
        return f"{self.path}/status"

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}"


def collection(kind: str, namespace: str = "") -> str:
    """Return the path of all objects of a kind: of one namespace, or (empty) of all."""
    inside = f"/namespaces/{_segment(namespace)}" if namespace and kind in NAMESPACED else ""
    return f"{GROUP_PATH}{inside}/{PLURALS[kind]}"


def _segment(name: str) -> str:
    return quote(name, safe="")
