"""Long texts of Rebalances: in ConfigMaps, or in an object store and named by one ConfigMap.

    NAME-0, NAME-1, …                  ConfigMaps: pieces of a text of `STORED_FROM_BYTES` at most
    NAME-0                             the one ConfigMap of a longer text, where there is a store
    URI/NAMESPACE/UID/NAME/DIGEST.gz   and the text itself
    poolkeeper-storage                 the ConfigMap with that UID

The API server keeps ConfigMaps in its database, which is no place for tens of megabytes. The object
is put before its ConfigMap, so what a ConfigMap names is there. An object whose ConfigMap is gone,
with its Job or its Rebalance, belongs to nobody: `sweep` deletes it when it is a day old.

Several Kubernetes clusters may share a URI and the name of a namespace. So objects lie below a UID
that an API server gave: each cluster sweeps its own. A ConfigMap says where its text is, so that it
is found also where `poolkeeper-storage` was deleted and made anew.
"""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.kube.jobs import configmap_blob, planner_pods
from poolkeeper.kube.jobs.configmap_blob import Text
from poolkeeper.kube.jobs.planner_pods import PlannerPodSettings
from poolkeeper.rebalances.planning import text_chunks

if TYPE_CHECKING:
    from poolkeeper.fleet.lake.objects import Objects

STORED_FROM_BYTES = 4 * 1024**2
"""A compressed text above this goes into the store."""
GRACE_MS = 24 * 3_600_000
_SPARK, _PROBE = "spark.hadoop.", "probe"
_IDENTITY = "poolkeeper-storage"
_OURS = re.compile(r"([^/]+)/([0-9a-f]{64}\.gz|probe)")

logger = logging.getLogger(__name__)

OpenStorage = Callable[[], "Objects"]
"""Opens the store; raises `Refused` for a URI or settings that are wrong."""


@frozen
class TextStore:
    """Texts of one namespace; without `open_storage` all of them are in ConfigMaps."""

    api: configmap_blob.ConfigMapApi
    namespace: str
    open_storage: OpenStorage | None = None
    stored_from_bytes: int = STORED_FROM_BYTES

    def check(self, name: str) -> None:
        """Raise `Unavailable` or `Refused` where the store would not take the text of that name."""
        if self.open_storage is not None:
            storage, path = self.open_storage(), f"{self._folder()}/{name}/{_PROBE}"
            storage.put(path, b"")
            storage.delete(path)

    def write(
        self, name: str, owner: configmap_blob.Body, text: Text, labels: Mapping[str, str]
    ) -> None:
        """Write a text, whose ConfigMaps belong to `owner`; raises `Unavailable`."""
        if self.open_storage and sum(map(len, text.chunks)) > self.stored_from_bytes:
            storage, folder = self.open_storage(), self._folder()
            storage.put(_path(folder, name, text.digest), b"".join(text.chunks))
            text = replace(text, chunks=(), stored_at=f"{storage.root}/{folder}")
        configmap_blob.write(self.api, self.namespace, name, owner, text, labels)

    def read(self, name: str) -> Text | None:
        """The text, or None if it is not all there; its digest is not checked.

        Raises `Unavailable` where the store cannot be read, or is another one than had the text.
        """
        text = configmap_blob.read(self.api, self.namespace, name)
        if text is None or not text.stored_at:
            return text
        storage, folder = self._storage_of(text)
        path = _path(folder, name, text.digest)
        sizes = {each.path: each.bytes for each in storage.children(path.rpartition("/")[0])}
        if sizes.get(path, 0) > text_chunks.TEXT_BYTES_MAX:
            raise Refused(f"{storage.root}/{path} has {sizes[path]} bytes and is no text of ours")
        body = storage.read(path) if path in sizes else None
        return None if body is None else replace(text, chunks=(body,))

    def stored(self, name: str) -> Text | None:
        """What `delete_stored` needs, before the ConfigMap is deleted; None if there is nothing."""
        if self.open_storage is None:
            return None
        text = configmap_blob.read(self.api, self.namespace, name)
        return text if text and text.stored_at else None

    def delete_stored(self, name: str, text: Text | None) -> None:
        """Delete what the store has of a text; what cannot be deleted now is swept in a day."""
        if text is not None:
            try:
                storage, folder = self._storage_of(text)
                storage.delete(_path(folder, name, text.digest))
            except (Unavailable, Refused) as failed:
                logger.info("the plans of %s are left in storage for a day: %s", name, failed)

    def sweep(self, now_ms: int) -> tuple[str, ...]:
        """Delete objects of this cluster that are a day old and whose ConfigMap is gone.

        Returns their paths.
        """
        if self.open_storage is None:
            return ()
        storage, folder, swept = self.open_storage(), self._folder(), []
        for each in storage.files(folder):
            ours = _OURS.fullmatch(each.path.removeprefix(f"{folder}/"))
            is_old = each.modified_ms < now_ms - GRACE_MS
            if ours and is_old and not self._named(ours[1], folder, each.path):
                storage.delete(each.path)
                swept.append(each.path)
        return tuple(swept)

    def _folder(self) -> str:
        """The folder of this cluster's namespace, below the store's URI."""
        path = f"/api/v1/namespaces/{self.namespace}/configmaps/{_IDENTITY}"
        metadata = {"name": _IDENTITY, "namespace": self.namespace}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        made = self.api.apply(path, body, configmap_blob.MANAGER)
        return f"{self.namespace}/{made['metadata']['uid']}"

    def _named(self, name: str, folder: str, path: str) -> bool:
        text = configmap_blob.read(self.api, self.namespace, name)
        return bool(text and text.stored_at and _path(folder, name, text.digest) == path)

    def _storage_of(self, text: Text) -> tuple["Objects", str]:
        """The store that has a text, and the folder below its URI."""
        if self.open_storage is None:
            raise Unavailable(f"plans lie in {text.stored_at}: set planner.storage of the chart")
        storage = self.open_storage()
        if not text.stored_at.startswith(f"{storage.root}/"):
            raise Unavailable(
                f"plans lie in {text.stored_at}, and planner.storage is {storage.root}: set it back"
                " until the Rebalance has ended, or delete the Rebalance"
            )
        return storage, text.stored_at.removeprefix(f"{storage.root}/")


def _path(folder: str, name: str, digest: str) -> str:
    return f"{folder}/{name}/{digest.removeprefix('sha256:')}.gz"


def of_pods(
    api: configmap_blob.ConfigMapApi,
    namespace: str,
    pods: PlannerPodSettings | None,
    settings: Path = Path(planner_pods.STORAGE),
) -> TextStore:
    """The store that planning pods use as well; raises `Refused` for a URI that is wrong.

    `settings`: the folder with what the store's Secret holds, if it has one.
    """
    if pods is None or not pods.storage:
        return TextStore(api, namespace)
    secret = settings if pods.storage_secret else None
    open_storage = opener(pods.storage, pods.conf, secret)
    return TextStore(api, namespace, open_storage, pods.storage_from_bytes or STORED_FROM_BYTES)


def opener(uri: str, conf: Mapping[str, str], secret: Path | None = None) -> OpenStorage:
    """What opens the store at a URI, with Spark's settings of it and those that a Secret holds.

    The names of the Secret's files are those of Hadoop's settings; they are read at each call. The
    URI is looked at now: raises `Refused` for one that cannot be opened.
    """
    try:
        from poolkeeper.fleet.lake.filesystems import Storage, open_filesystem, root_of
        from poolkeeper.fleet.lake.objects import ArrowObjects
    except ImportError as missing:
        raise Refused(
            f"planner.storage needs {missing.name} (expected pip install 'poolkeeper[storage]')"
        ) from missing

    given = {
        name.removeprefix(_SPARK): value for name, value in conf.items() if name.startswith(_SPARK)
    }
    root = root_of(uri)
    open_filesystem(root, Storage.of(given))

    def opened() -> "Objects":
        kept = {} if secret is None else _files(secret)
        return ArrowObjects(root, Storage.of({**given, **kept}))

    return opened


def _files(folder: Path) -> dict[str, str]:
    """Settings that a Secret holds; raises `Unavailable` where it holds none."""
    try:
        files = [file for file in folder.iterdir() if file.is_file()]
        found = {file.name: file.read_text(encoding="utf-8").strip() for file in files}
    except FileNotFoundError:
        found = {}
    except (OSError, UnicodeDecodeError) as failed:
        raise Unavailable(f"{folder}: settings of storage cannot be read: {failed}") from failed
    if not found:
        raise Unavailable("there is no Secret of the name in planner.storageSecret, or it is empty")
    return found
