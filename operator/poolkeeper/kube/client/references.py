"""References to objects, and their paths on the API server."""

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
    """One object; `namespace` is empty for cluster-scoped kinds.

    With a `uid` it means exactly that object, not a later one of the same name.
    """

    kind: str
    namespace: str
    name: str
    uid: str = ""

    @classmethod
    def of(cls, body: Any) -> "Reference":
        """Return the reference to the object with this body."""
        meta = body["metadata"]
        namespace, uid = meta.get("namespace", ""), meta.get("uid", "")
        return cls(body["kind"], namespace, meta["name"], uid)

    @property
    def path(self) -> str:
        """The path of the object."""
        return f"{collection(self.kind, self.namespace)}/{segment(self.name)}"

    @property
    def status_path(self) -> str:
        """The path of its status subresource."""
        return f"{self.path}/status"

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}"


def collection(kind: str, namespace: str = "") -> str:
    """Return the path of all objects of a kind, in one namespace or (empty) in all."""
    inside = f"/namespaces/{segment(namespace)}" if namespace and kind in NAMESPACED else ""
    return f"{GROUP_PATH}{inside}/{PLURALS[kind]}"


def segment(name: str) -> str:
    """Return a name as one segment of a path, whatever it holds."""
    return quote(name, safe="")
