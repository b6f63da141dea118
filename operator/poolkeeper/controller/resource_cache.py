"""The declared state as last seen on the API server: resources by key, namespace labels.

Watch handlers update the cache and wake threads. Loops take a copy and work from it. A watch can
miss events: a deletion while the API server was away is never delivered. So `compare` aligns the
cache with a fresh list.
"""

import logging
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from poolkeeper.kube.objects.rate_limit import LogRateLimit
from poolkeeper.resources.kinds.custom_resource import (
    CustomResource,
    ObjectKey,
    key_of,
    read_object,
)

UNKNOWN_MAX = 10
"""How many fields of a later release are told of one resource."""

Labels = Mapping[str, str]

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ResourceCache:
    """The cache. All methods are thread-safe; every change sets `changed`."""

    changed: Event = field(default_factory=Event)
    _objects: dict[ObjectKey, CustomResource] = field(default_factory=dict)
    _namespaces: dict[str, Labels] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _revision: int = 0
    _unknown_log: LogRateLimit = field(default_factory=LogRateLimit)

    @property
    def revision(self) -> int:
        """The latest revision of the API server's store that a resource was put with."""
        return self._revision

    def forget_revision(self) -> None:
        """Forget the revision, because the store has gone back to an earlier one."""
        with self._lock:
            self._revision = 0

    def put(self, body: Mapping[str, Any]) -> None:
        """Add or replace a resource.

        A change of its status alone does not set `changed`: we wrote it ourselves.
        """
        key = key_of(body)
        with self._lock:
            before = self._objects.get(key)
        new = read_object(body, before)
        with self._lock:
            old = self._objects.get(key)
            self._objects[key] = new
            self._revision = max(self._revision, _revision_of(body))
            is_due = bool(new.unknown) and self._unknown_log.is_due(time.monotonic())
        if is_due:
            logger.warning(
                "%s has fields that this release does not know (%s), and which are left out: the"
                " definitions (CRDs) are of a later release than this operator",
                key,
                ", ".join(new.unknown[:UNKNOWN_MAX]),
            )
        if old is None or _declared_fields(old) != _declared_fields(new):
            self.changed.set()

    def drop(self, key: ObjectKey, uid: str) -> None:
        """Remove a deleted resource; a newer one of the same name, with another uid, stays."""
        with self._lock:
            known = self._objects.get(key)
            if known is None or known.uid != uid:
                return
            del self._objects[key]
        self.changed.set()

    def put_namespace(self, name: str, labels: Labels) -> None:
        """Add or replace a namespace's labels."""
        with self._lock:
            same = self._namespaces.get(name) == labels
            self._namespaces[name] = dict(labels)
        if not same:
            self.changed.set()

    def drop_namespace(self, name: str) -> None:
        """Remove a deleted namespace."""
        with self._lock:
            gone = self._namespaces.pop(name, None)
        if gone is not None:
            self.changed.set()

    def compare_namespaces(self, listed: Mapping[str, Labels], known: Mapping[str, Labels]) -> None:
        """Align the namespaces with a fresh list of their labels.

        `known` are those that were cached before the list was requested. One that was put or
        dropped since then stays as it is.
        """
        changed = False
        with self._lock:
            for name in listed.keys() | known.keys():
                before, now = known.get(name), listed.get(name)
                if now == before or self._namespaces.get(name) is not before:
                    continue
                changed = True
                if now is None:
                    del self._namespaces[name]
                else:
                    self._namespaces[name] = dict(now)
        if changed:
            self.changed.set()

    def compare(
        self, kind: str, bodies: Iterable[Mapping[str, Any]], known: Mapping[str, int]
    ) -> int:
        """Align one kind with a fresh list: add what is missing, drop what is gone; count both.

        `known` are the generations by uid that were cached before the list was requested. Resources
        cached since then are not dropped, and those dropped since then are not added. A resource
        cached since then in a later generation than the list's stays as it is. One that had a later
        generation before was restored.
        """
        with self._lock:
            before = dict(self._objects)
        read = (read_object(body, before.get(key_of(body))) for body in bodies)
        listed = {each.key: each for each in read}
        with self._lock:
            gone = self._drop_unlisted(kind, listed.values(), known)
            missed = [each for key, each in listed.items() if self._is_newer(key, each, known)]
            self._objects.update((each.key, each) for each in missed)
        if gone or missed:
            self.changed.set()
        return gone + len(missed)

    def _drop_unlisted(
        self, kind: str, listed: Collection[CustomResource], known: Mapping[str, int]
    ) -> int:
        shown = {each.uid for each in listed}
        gone = [
            key
            for key, each in self._objects.items()
            if key.kind == kind and each.uid in known and each.uid not in shown
        ]
        for key in gone:
            del self._objects[key]
        return len(gone)

    def _is_newer(self, key: ObjectKey, listed: CustomResource, known: Mapping[str, int]) -> bool:
        old = self._objects.get(key)
        if old is None:
            return listed.uid not in known
        was_restored = listed.generation < old.generation == known.get(old.uid)
        return old.uid == listed.uid and (old.generation < listed.generation or was_restored)

    def generations(self, kind: str) -> Mapping[str, int]:
        """Return the generations of the cached resources of a kind, by uid."""
        with self._lock:
            return {
                each.uid: each.generation for key, each in self._objects.items() if key.kind == kind
            }

    def contents(self) -> tuple[tuple[CustomResource, ...], Mapping[str, Labels]]:
        """Return a copy of the cache: the resources, and the labels by namespace."""
        with self._lock:
            return tuple(self._objects.values()), dict(self._namespaces)


def _revision_of(body: Mapping[str, Any]) -> int:
    """Return the revision at which a resource was written; 0 if it is no number."""
    version = str(body["metadata"].get("resourceVersion", ""))
    return int(version) if version.isascii() and version.isdecimal() else 0


def _declared_fields(resource: CustomResource) -> tuple[object, ...]:
    """Return the parts of a resource that users write: all but our status."""
    same = (
        resource.uid,
        resource.generation,
        resource.deleting,
        resource.finalizers,
        resource.spec,
        resource.problems,
    )
    return (*same, resource.labels, resource.request, resource.given_up)
