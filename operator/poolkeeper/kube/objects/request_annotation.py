"""Takes a person's request off a KafkaCluster, once it is carried out: that one, and no later.

It is read by `model.execution.person_requests` and carried out by
`controller.loops.person_requests`.
"""

from typing import Any, Protocol

from poolkeeper.errors import Stale
from poolkeeper.kube.client.references import Reference
from poolkeeper.model.names import REQUEST

Operations = list[dict[str, Any]]


class AnnotationApi(Protocol):
    """The method of `client.Api` that this module needs."""

    def patch_json(self, path: str, operations: Operations) -> dict[str, Any]:
        """Apply all operations of a JSON patch or none."""


def remove(api: AnnotationApi, reference: Reference, text: str) -> bool:
    """Remove the annotation if it still has that text; false if it has another one, or is gone."""
    path = "/metadata/annotations/" + REQUEST.replace("~", "~0").replace("/", "~1")
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": reference.uid},
        {"op": "test", "path": path, "value": text},
        {"op": "remove", "path": path},
    ]
    try:
        api.patch_json(reference.path, operations)
    except Stale:
        return False
    return True
