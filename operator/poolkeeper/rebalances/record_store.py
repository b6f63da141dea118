"""Where the plans of Rebalances are kept: ConfigMaps in the operator's own namespace, or a store.

They are named after the Rebalance and the digest of their contents. The Rebalance owns them.
"""

from typing import Any

from poolkeeper.errors import OtherFormat, Refused
from poolkeeper.frozen import frozen
from poolkeeper.kube.jobs import configmap_blob
from poolkeeper.kube.jobs.configmap_blob import Text
from poolkeeper.model.names import API_VERSION, GROUP
from poolkeeper.rebalances.planning import text_chunks
from poolkeeper.rebalances.records import Record
from poolkeeper.rebalances.text_store import TextStore
from poolkeeper.resources.kinds.custom_resource import CustomResource

LABELS = {"app.kubernetes.io/managed-by": "poolkeeper", f"{GROUP}/holds": "plans"}
NAME_CHARS_MAX = 180
"""Of a Rebalance's name: the digest and the number of the piece follow."""


@frozen
class RecordStore:
    """See `records.RebalanceRecords`."""

    api: configmap_blob.ConfigMapApi
    namespace: str
    texts: TextStore

    def write(self, resource: CustomResource, record: Record) -> str:
        """Keep the record, which the Rebalance owns; return its digest."""
        whole = record.to_json()
        text = Text(text_chunks.chunks_of(whole), text_chunks.digest_of(whole))
        name = name_of(resource, text.digest)
        self.texts.write(name, owner_of(resource), text, LABELS)
        return text.digest

    def read(self, resource: CustomResource, digest: str) -> Record | None:
        """Return the record; `None` if it no longer exists, or differs from what was written.

        Raises `OtherFormat` for one that another release wrote.
        """
        try:
            text = self.texts.read(name_of(resource, digest))
            if text is None:
                return None
            return Record.from_json(text_chunks.join_chunks(text.chunks, digest))
        except OtherFormat:
            raise
        except Refused:
            return None

    def remove(self, resource: CustomResource, digest: str) -> None:
        """Remove a record that is not needed; the first piece last, as it names the others."""
        name = name_of(resource, digest)
        text = configmap_blob.read(self.api, self.namespace, name)
        stored = self.texts.stored(name)
        pieces = max(1, len(text.chunks)) if text else 0
        for one in reversed(configmap_blob.names(name, pieces)):
            self.api.delete(f"/api/v1/namespaces/{self.namespace}/configmaps/{one}")
        self.texts.delete_stored(name, stored)


def name_of(resource: CustomResource, digest: str) -> str:
    """The name of the ConfigMaps, without their number."""
    short = digest.removeprefix("sha256:")[:16]
    return f"rebalance-{resource.name[:NAME_CHARS_MAX].rstrip('.-')}-{short}"


def owner_of(resource: CustomResource) -> dict[str, Any]:
    """The ownerReference for objects that belong to that resource."""
    return {
        "apiVersion": API_VERSION,
        "kind": resource.kind,
        "name": resource.name,
        "uid": resource.uid,
    }
