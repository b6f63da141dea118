"""Events (events.k8s.io/v1): what happened to an object, shown by `kubectl describe`.

Events are for people. They report transitions only, are dropped rather than retried for long, and
never make anything else fail. Where too many wait, warnings are dropped last. Events of
cluster-scoped objects are in the namespace `default`, where `kubectl describe` looks for them.

Events of a namespace in which the last one could not be written come after all others, and have one
of two threads: a webhook of it that is away may take ten seconds for each. Of one namespace one is
written at a time, in their order.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Condition, Thread
from typing import Any, Protocol

from poolkeeper.errors import Forbidden, PoolkeeperError, Refused, Stale
from poolkeeper.frozen import frozen
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.leadership.leader_election import microtime
from poolkeeper.kube.objects.rate_limit import EventRateLimit, LogRateLimit
from poolkeeper.model.names import API_VERSION
from poolkeeper.text import shorten

NOTE_BYTES_MAX = 1024
FIELD_CHARS_MAX = 128
NAME_CHARS_MAX = 253
QUEUE_MAX = 256
AGE_S_MAX = 300.0
PAUSE_S = 2.0
THREADS = 2
CLUSTER_NAMESPACE = "default"

logger = logging.getLogger(__name__)


class EventApi(Protocol):
    """The methods of `client.Api` that a recorder needs."""

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create an object."""


@frozen
class Note:
    """The content of an event, in the fields of events.k8s.io."""

    reason: str
    text: str
    action: str
    warning: bool


@frozen
class EventSource:
    """The sender of an event: the controller's name and its process."""

    controller: str
    instance: str


@frozen
class _PendingEvent:
    reference: Reference
    body: dict[str, Any]
    at_s: float
    warning: bool

    @property
    def namespace(self) -> str:
        """The namespace of the event, not of its object."""
        return str(self.body["metadata"]["namespace"])


class EventRecorder:
    """Threads that write events; `component` names the controller, `identity` this process.

    `pause_s` is the pause before a retry while the server is away.
    """

    def __init__(
        self,
        api: EventApi,
        component: str,
        identity: str,
        *,
        pause_s: float = PAUSE_S,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.written = 0
        self.dropped = 0
        self._api = api
        self._source = EventSource(component, identity)
        self._pause_s, self._clock, self._now = pause_s, clock, now
        self._filter = EventRateLimit(clock())
        self._forbidden_log = LogRateLimit()
        self._queue: deque[_PendingEvent] = deque()
        self._failing: set[str] = set()
        self._retry_at_s = 0.0
        self._writing: dict[str, bool] = {}
        """The namespaces of events being written; false where that is not to be repeated."""
        self._ended = False
        self._condition = Condition()
        self._threads = [
            Thread(target=self._run, name=f"events-{number}", daemon=True)
            for number in range(THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def record(
        self,
        reference: Reference,
        reason: str,
        note: str,
        *,
        action: str = "Reconcile",
        warning: bool = False,
    ) -> bool:
        """Queue an event about an object; return whether it will be sent.

        It will not if the same event was sent within ten minutes, or too many were of late. Never
        blocks.
        """
        with self._condition:
            now_s = self._clock()
            said = (reason, note)
            if self._ended or not self._filter.admits(
                reference, said, now_s, namespace=reference.namespace, warning=warning
            ):
                return False
            body = event(reference, Note(reason, note, action, warning), self._source, self._now())
            self._queue.append(_PendingEvent(reference, body, now_s, warning))
            if len(self._queue) > QUEUE_MAX:
                self._drop_least()
            self._condition.notify_all()
            return True

    def _drop_least(self) -> None:
        """Drop the oldest queued event that is no warning, or the oldest of all."""
        least = next((at for at, each in enumerate(self._queue) if not each.warning), 0)
        del self._queue[least]
        self.dropped += 1

    def forget(self) -> None:
        """Drop queued events, because another instance leads now."""
        with self._condition:
            self._queue.clear()
            self._writing = dict.fromkeys(self._writing, False)
            self._condition.notify_all()

    def flush(self, deadline_s: float) -> bool:
        """Wait until all events are written or dropped; return whether they are."""
        with self._condition:
            return self._condition.wait_for(
                lambda: not self._queue and not self._writing, deadline_s
            )

    def close(self, deadline_s: float = 0.0) -> None:
        """Write queued events for at most that long, then stop."""
        self.flush(deadline_s)
        with self._condition:
            self._ended = True
            self._condition.notify_all()
        for thread in self._threads:
            thread.join(1)

    def _run(self) -> None:
        while (pending := self._take()) is not None:
            failed = self._write(pending)
            with self._condition:
                wanted = self._writing.pop(pending.namespace)
                self._note(pending.namespace, failed=failed)
                if failed and wanted and len(self._queue) < QUEUE_MAX:
                    self._queue.appendleft(pending)
                self._condition.notify_all()

    def _note(self, namespace: str, *, failed: bool) -> None:
        """Note whether events of a namespace fail; of one without events nothing is known."""
        self._failing &= {*self._writing, *(each.namespace for each in self._queue)} - {namespace}
        if failed:
            self._failing.add(namespace)
            self._retry_at_s = time.monotonic() + self._pause_s

    def _take(self) -> _PendingEvent | None:
        """Wait for an event that may be written now; `None` in the end."""
        with self._condition:
            while not self._ended:
                now_s = time.monotonic()
                place = self._place(now_s)
                if place is not None:
                    pending = self._queue[place]
                    del self._queue[place]
                    self._writing[pending.namespace] = True
                    return pending
                pause_s = self._retry_at_s - now_s
                self._condition.wait(pause_s if pause_s > 0 else None)
            return None

    def _place(self, now_s: float) -> int | None:
        """The place of the oldest event of a namespace that does not fail, or else of the oldest.

        Of namespaces that fail one is written at a time, after a pause.
        """
        free = [at for at, e in enumerate(self._queue) if e.namespace not in self._writing]
        sound = (at for at in free if self._queue[at].namespace not in self._failing)
        place = next(sound, None)
        if place is None and now_s >= self._retry_at_s and not self._failing & self._writing.keys():
            place = next(iter(free), None)
        return place

    def _write(self, pending: _PendingEvent) -> bool:
        """Write one event; return whether to retry it later."""
        path = f"/apis/events.k8s.io/v1/namespaces/{pending.namespace}/events"
        try:
            self._api.create(path, pending.body)
        except (Refused, Stale, Forbidden) as failed:
            self.dropped += 1
            forbidden = isinstance(failed, Forbidden) and self._forbidden_log.is_due(self._clock())
            level = logging.WARNING if forbidden else logging.INFO
            logger.log(level, "an event of %s was not accepted: %s", pending.reference, failed)
            return False
        except PoolkeeperError:
            if self._clock() - pending.at_s < AGE_S_MAX:
                return True
            self.dropped += 1
            return False
        except Exception:  # a bug in one event must not end the thread
            self.dropped += 1
            logger.exception("an event of %s cannot be written", pending.reference)
            return False
        self.written += 1
        return False


def event(reference: Reference, note: Note, source: EventSource, now: datetime) -> dict[str, Any]:
    """Return the Event to create; texts are cut to the API server's limits."""
    namespace = reference.namespace or CLUSTER_NAMESPACE
    suffix = f".{int(now.timestamp() * 1e6):x}{hash((note.reason, note.text)) & 0xFFFF:04x}"
    regarding = {
        "apiVersion": API_VERSION,
        "kind": reference.kind,
        "namespace": reference.namespace,
        "name": reference.name,
        "uid": reference.uid,
    }
    name = reference.name[: NAME_CHARS_MAX - len(suffix)].rstrip(".-") + suffix
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "eventTime": microtime(now),
        "reportingController": source.controller[:FIELD_CHARS_MAX],
        "reportingInstance": source.instance[:FIELD_CHARS_MAX],
        "action": note.action[:FIELD_CHARS_MAX],
        "reason": note.reason[:FIELD_CHARS_MAX],
        "type": "Warning" if note.warning else "Normal",
        "note": shorten(note.text, NOTE_BYTES_MAX),
        "regarding": {key: value for key, value in regarding.items() if value},
    }
