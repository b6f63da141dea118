"""The declared state as last seen on the API server: resources by key, namespace labels.

Watch handlers update the cache and wake threads. Loops take a copy and work from it. A watch can
miss events: a deletion while the API server was away is never delivered. So `compare` aligns the
cache with a fresh list.

A list may be ahead of a watch, and a server, or what stands before it, may repeat events or confuse
their order. So what an event tells counts only if it is later than what is known: else a topic
would move back to where it was declared to be before, and what was deleted would be made again.
"""

import logging
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Event, Lock
from typing import Any

from poolkeeper.frozen import frozen
from poolkeeper.kube.objects.rate_limit import LogRateLimit
from poolkeeper.resources.kinds.custom_resource import (
    CustomResource,
    ObjectKey,
    key_of,
    read_object,
)

UNKNOWN_MAX = 10
"""How many fields of a later release are told of one resource."""
GONE_MAX = 10_000
"""Of so many resources that are gone it is known that they are."""

Labels = Mapping[str, str]

logger = logging.getLogger(__name__)


@frozen
class KnownVersions:
    """What is known of a kind before a list is requested: versions by uid, and uids of the gone."""

    versions: Mapping[str, tuple[int, int]]
    gone: frozenset[str] = frozenset()


@dataclass(slots=True)
class ResourceCache:
    """The cache. All methods are thread-safe; every change sets `changed`."""

    changed: Event = field(default_factory=Event)
    _objects: dict[ObjectKey, CustomResource] = field(default_factory=dict)
    _namespaces: dict[str, Labels] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _revision: int = 0
    _gone: dict[str, None] = field(default_factory=dict)
    _unknown_log: LogRateLimit = field(default_factory=LogRateLimit)

    @property
    def revision(self) -> int:
        """The latest revision of the API server's store that a resource was put with."""
        return self._revision

    def forget_revision(self) -> None:
        """Forget all revisions, because the store has gone back to an earlier one."""
        with self._lock:
            self._revision = 0
            self._gone.clear()
            for key, each in self._objects.items():
                self._objects[key] = replace(each, revision=0)

    def put(self, body: Mapping[str, Any]) -> None:
        """Add or replace a resource, unless more is known of it already.

        A change of its status alone does not set `changed`: we wrote it ourselves.
        """
        key = key_of(body)
        with self._lock:
            before = self._objects.get(key)
        new = read_object(body, before)
        with self._lock:
            old = self._objects.get(key)
            if new.uid in self._gone or _is_later(old, new):
                return
            self._objects[key] = new
            self._revision = max(self._revision, new.revision)
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
            self._note_gone(uid)
            known = self._objects.get(key)
            if known is None or known.uid != uid:
                return
            del self._objects[key]
        self.changed.set()

    def _note_gone(self, uid: str) -> None:
        self._gone[uid] = None
        while len(self._gone) > GONE_MAX:
            del self._gone[next(iter(self._gone))]

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

    def compare(self, kind: str, bodies: Iterable[Mapping[str, Any]], known: KnownVersions) -> int:
        """Align one kind with a fresh list; count what was missing, gone or declared otherwise.

        `known` is what was cached before the list was requested. Resources cached since then are
        not dropped, and those dropped since then are not added. A resource cached since then in a
        later version than the list's stays as it is. One that had a later version before was
        restored, and so was one that was gone.
        """
        with self._lock:
            before = dict(self._objects)
        read = (read_object(body, before.get(key_of(body))) for body in bodies)
        listed = {each.key: each for each in read}
        with self._lock:
            missed = self._drop_unlisted(kind, listed.values(), known)
            for key, each in listed.items():
                old = self._objects.get(key)
                if self._is_newer(old, each, known):
                    self._gone.pop(each.uid, None)
                    self._objects[key] = each
                    missed += old is None or _declared_fields(old) != _declared_fields(each)
        if missed:
            self.changed.set()
        return missed

    def _drop_unlisted(
        self, kind: str, listed: Collection[CustomResource], known: KnownVersions
    ) -> int:
        shown = {each.uid for each in listed}
        gone = [
            (key, each.uid)
            for key, each in self._objects.items()
            if key.kind == kind and each.uid in known.versions and each.uid not in shown
        ]
        for key, uid in gone:
            del self._objects[key]
            self._note_gone(uid)
        return len(gone)

    def _is_newer(
        self, old: CustomResource | None, listed: CustomResource, known: KnownVersions
    ) -> bool:
        if old is None:
            went_since = listed.uid in self._gone and listed.uid not in known.gone
            return listed.uid not in known.versions and not went_since
        was_restored = listed.version < old.version == known.versions.get(old.uid)
        return old.uid == listed.uid and (old.version < listed.version or was_restored)

    def known(self, kind: str) -> KnownVersions:
        """Return what is known of a kind, to be asked for before a list is requested."""
        with self._lock:
            versions = {
                each.uid: each.version for key, each in self._objects.items() if key.kind == kind
            }
            return KnownVersions(versions, frozenset(self._gone))

    def contents(self) -> tuple[tuple[CustomResource, ...], Mapping[str, Labels]]:
        """Return a copy of the cache: the resources, and the labels by namespace."""
        with self._lock:
            return tuple(self._objects.values()), dict(self._namespaces)


def _is_later(old: CustomResource | None, new: CustomResource) -> bool:
    """Whether what is known of a resource is later than what an event tells of it."""
    return old is not None and old.uid == new.uid and old.version > new.version


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
