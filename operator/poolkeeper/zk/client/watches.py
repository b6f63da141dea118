"""Waiting for changes of znodes instead of sleeping.

ZooKeeper's watches are one-shot: each reports one change and is gone. Here a path is watched from
the first wait that names it, and watched again before a wait that saw it change returns. So no
change between two waits is missed: a change while the caller is busy ends its next wait at once.
All watches share one callback, so that waiting for ever costs no more memory than waiting once.
"""

from collections.abc import Callable, Sequence
from threading import Event, Lock
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, NoNodeError

from poolkeeper.zk.client import failures

PATHS_MAX = 1000
ATTEMPTS = 3


class Watches:
    """The watched paths of one client. May be waited for by several threads."""

    def __init__(self, client: KazooClient, timeout_s: float) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._lock = Lock()
        self._armed: set[str] = set()
        self._changed: set[str] = set()
        self._wakers: set[Event] = set()
        self._on_event: Callable[[Any], None] = self._note  # one object: kazoo keeps a set of them

    def wait(self, paths: Sequence[str], deadline_s: float, wake: Event) -> bool:
        """Block until a path changed (true) or `wake` is set or time is up (false).

        `wake` is set by a change as well. Raises what kazoo raises while watches are set.
        """
        assert len(paths) <= PATHS_MAX, f"{len(paths)} paths are too many to watch"
        with self._lock:
            self._wakers.add(wake)
        try:
            self._arm(paths)
            if not self._taken(paths):
                wake.wait(deadline_s)
            if not (changed := self._taken(paths)):
                return False
            self._forget(changed)
            self._arm(changed)
            return True
        finally:
            with self._lock:
                self._wakers.discard(wake)

    def wake(self) -> None:
        """End the waits of all threads."""
        with self._lock:
            for waker in self._wakers:
                waker.set()

    def _taken(self, paths: Sequence[str]) -> tuple[str, ...]:
        with self._lock:
            return tuple(path for path in paths if path in self._changed)

    def _forget(self, paths: Sequence[str]) -> None:
        with self._lock:
            self._changed.difference_update(paths)

    def _arm(self, paths: Sequence[str]) -> None:
        with self._lock:
            new = [path for path in paths if path not in self._armed]
            self._armed.update(new)
        try:
            self._set_all(new)
        except BaseException:
            with self._lock:
                self._armed.difference_update(new)
            raise

    def _set_all(self, paths: Sequence[str]) -> None:
        """Set watches, again if the connection is lost meanwhile: the session may go on."""
        for _ in range(ATTEMPTS - 1):
            try:
                return self._set_watches(paths)
            except ConnectionLoss:
                continue
        return self._set_watches(paths)

    def _set_watches(self, paths: Sequence[str]) -> None:
        asked = [
            (
                self._client.exists_async(path, watch=self._on_event),
                self._client.get_children_async(path, watch=self._on_event),
            )
            for path in paths
        ]
        for node, children in asked:
            failures.answer(node, self._timeout_s)
            try:
                failures.answer(children, self._timeout_s)
            except NoNodeError:
                continue  # its creation is watched; it has no children before

    def _note(self, event: Any) -> None:
        """Record a change; without a path it is the connection, and every watch is gone."""
        with self._lock:
            changed = self._armed.copy() if event.path is None else {event.path}
            self._changed |= changed
            self._armed -= changed
        self.wake()
