"""Writes statuses to the API server: the latest one of each object, until it is accepted.

`put` only queues a status. A few threads write it by server-side apply, so that fields that are no
longer set disappear. One that tells of work under way is held for a second, and for five if a Topic
is being created or configured: what has passed by then is not written at all. A status that is
already live is not written:

| compared with | when |
|---|---|
| what we wrote last | the caller gives no live status; or the one that our last write |
|                    | returned; or one that may precede that write, as a watch lags behind |
| what the caller saw | otherwise: we wrote nothing before, or somebody else wrote since |

A status is ours as a whole. Applying keeps what others have written beside it: a condition, a plan
that nobody made. So where the server's answer shows any, the status is replaced.

The definitions of the kinds may be of an earlier release, and lack a field. Server-side apply
refuses the whole status then. So it is replaced: the server leaves out what it does not know. Parts
of what was replaced do not belong to who applies. A condition that is applied no more then stays
without its message, or whatever else the replacement had changed, and each later status would be
refused for that. So what is refused is replaced as well. When definitions have what they lacked,
`lacking_definitions` finds that out.

While the server is away all threads pause together, so that it is not flooded when it returns. An
object that alone cannot be written (RBAC of its namespace) does not delay others. Writes to one
name never overtake each other. The server does not compare the uid in a status with the object's,
so only the latest status of a name may reach it. A status is dropped when its object is gone, or
when the server rejects its content, because a retry would be rejected as well; `on_refused` is told
of that. An object may be so large that no status has room in it.
"""

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from threading import Lock, Thread
from typing import Any, Protocol

from poolkeeper.errors import Forbidden, PoolkeeperError, Refused, Stale, UndeclaredField
from poolkeeper.frozen import frozen
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.conditions import Status, status_bytes, with_transitions
from poolkeeper.kube.objects.lacking_definitions import LackingDefinitions
from poolkeeper.kube.objects.rate_limit import LogRateLimit
from poolkeeper.kube.objects.work_queue import OWN_PAUSE_S, WorkQueue
from poolkeeper.model.names import API_VERSION

MANAGER = "poolkeeper"
WRITERS = 4
VIEW_LAG_S = 10.0
"""A watch shows our own write well within this time; until then our own copy is newer."""
PASSING_S = 1.0
"""A status that is likely to pass is held for so long."""
SHORT_WORK_S = 5.0
"""The same of a Topic whose work takes seconds; thousands that come together are Ready in it."""
SHORT_WORK = frozenset({"Creating", "Configuring", "Waiting"})
FOR_PEOPLE = frozenset({"WaitingForApproval", "AdoptionRequired"})
"""What does not pass by itself, as a person is asked."""
REMEMBERED_MAX = 20_000

logger = logging.getLogger(__name__)


class StatusApi(Protocol):
    """The methods of `client.Api` that a status writer needs."""

    def get(self, path: str, *, deadline_s: float | None = None) -> dict[str, Any] | None:
        """Return an object, or None."""

    def apply(self, path: str, body: dict[str, Any], manager: str) -> dict[str, Any]:
        """Apply an object by server-side apply."""

    def patch_json(self, path: str, operations: list[dict[str, Any]]) -> dict[str, Any]:
        """Apply all operations of a JSON patch or none."""


@frozen
class _PendingStatus:
    reference: Reference
    status: bytes
    live: Status | None
    at: datetime
    at_s: float


@frozen
class _WrittenStatus:
    """The status sent, and the digest of the status that the server returned.

    `lacks`: fields of it were left out, as the definition of its kind has none of them.
    """

    sent: bytes
    live: bytes
    at_s: float
    lacks: bool


class StatusWriter:
    """Threads that write the statuses given to `put`; call `close` at the end.

    `pause_s` is the first pause after a failed write of an object; later ones double.
    """

    def __init__(
        self,
        api: StatusApi,
        workers: int = WRITERS,
        *,
        pause_s: float = OWN_PAUSE_S,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        on_written: Callable[[float], None] = lambda lag_s: None,
        on_refused: Callable[[Reference, str], None] = lambda reference, reason: None,
    ) -> None:
        self._on_written = on_written
        self._on_refused = on_refused
        self.writes = 0
        self.failures = 0
        self.refused = 0
        self._api = api
        self._clock = clock
        self._now = now
        self._queue: WorkQueue[Reference, _PendingStatus] = WorkQueue(
            clock, pause_s=pause_s, group_of=lambda one: (one.kind, one.namespace)
        )
        self._written: OrderedDict[Reference, _WrittenStatus] = OrderedDict()
        self._lock = Lock()  # of `_written`
        self._reason = ""
        self._failures_log = LogRateLimit()
        self._undeclared_log = LogRateLimit()
        self._lacking = LackingDefinitions(clock)
        self._threads = [
            Thread(target=self._work, name=f"status-{number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def put(self, reference: Reference, status: Status, live: Status | None = None) -> None:
        """Set the object's status; conditions need no `lastTransitionTime`.

        `live` is the object's status as the caller last saw it, `{}` if it had none, `None` if the
        caller does not know. The call never waits for the server; a later call wins. Raises
        `TypeError` or `KeyError` here, not in a thread, for a value that cannot be a status.
        """
        at = self._now()
        said = status_bytes(with_transitions(status, live, at))
        pending = _PendingStatus(reference, said, live, at, self._clock())
        held_s = _held_s(reference, status)
        if not self._queue.put(replace(reference, uid=""), pending, delay_s=held_s):
            logger.warning("too many statuses wait to be written: that of %s is dropped", reference)

    def forget(self, reference: Reference) -> None:
        """Drop the queued and the remembered status of an object that is gone.

        That of one that was made anew under its name stays.
        """
        self._queue.drop(replace(reference, uid=""), lambda it: it.reference.uid == reference.uid)
        self._forget_written(reference)

    @property
    def pending(self) -> int:
        """The number of objects whose latest status is not yet written."""
        return len(self._queue)

    @property
    def lag_s(self) -> float:
        """The age of the oldest status not yet written; 0 if all are written."""
        return self._queue.oldest_s()

    @property
    def reason(self) -> str:
        """Why the last write failed, in one line; empty if it succeeded."""
        return self._reason

    def flush(self, deadline_s: float) -> bool:
        """Wait until everything is written; return whether it is."""
        return self._queue.wait_empty(deadline_s)

    def close(self, deadline_s: float = 0.0) -> bool:
        """Write what is queued for at most that long, then stop; return whether all is written."""
        done = self.flush(deadline_s)
        self._queue.close()
        for thread in self._threads:
            thread.join(1)
        return done

    def _work(self) -> None:
        while (taken := self._queue.take()) is not None:
            name, pending = taken
            failed = self._attempt(pending)
            if failed is None:
                self._queue.done(name)
            else:
                self.failures += 1
                self._reason = str(failed)
                self._log_failure(pending.reference)
                self._queue.again(name, shared=not isinstance(failed, Forbidden | Stale))

    def _log_failure(self, reference: Reference) -> None:
        """Log why a write failed; the log is rate-limited over all objects."""
        due = self._failures_log.is_due(self._clock())
        logger.log(
            logging.WARNING if due else logging.DEBUG,
            "the status of %s is not written yet: %s (%d wait)",
            reference,
            self._reason,
            self.pending,
        )

    def _attempt(self, pending: _PendingStatus) -> PoolkeeperError | None:
        """Write a status if it differs from the live one; return the error that a retry follows."""
        try:
            self._write(pending)
            self._reason = ""
        except Refused as refused:
            self.refused += 1
            self._on_refused(pending.reference, str(refused))
        except Stale as stale:
            return self._stale_unless_gone(pending.reference, stale)
        except PoolkeeperError as failed:
            return failed
        except Exception:  # a bug in one status must not end the thread
            self.refused += 1
            logger.exception("the status of %s cannot be written", pending.reference)
        return None

    def _write(self, pending: _PendingStatus) -> None:
        reference = pending.reference
        with self._lock:
            written = self._written.get(reference)
        before = self._live_status(written, pending.live)
        status = with_transitions(json.loads(pending.status), before, pending.at)
        sent = status_bytes(status)
        same = before is not None and sent == status_bytes(before)
        lacked_s = written.at_s if same and written is not None and written.lacks else None
        if same and (lacked_s is None or not self._lacking.is_due(reference.kind, lacked_s)):
            return
        lacks = False
        try:
            answer = self._api.apply(reference.status_path, _body(reference, sent), MANAGER)
        except UndeclaredField as undeclared:
            lacks = True
            self._log_undeclared(reference, undeclared)
            answer = self._replace(reference, status)
        except Refused:
            # Without a test, as a policy's refusal of a patch looks like a test that failed.
            answer = self._api.patch_json(reference.status_path, [_whole(status)])
        self.writes += 1
        self._on_written(self._clock() - pending.at_s)
        if _holds_foreign(answer.get("status") or {}, status):
            answer = self._api.patch_json(reference.status_path, _replacement(answer, status))
        if reference.uid not in ("", answer["metadata"]["uid"]):
            return
        if lacked_s is not None and not lacks:
            self._lacking.take(reference.kind)
        live = _digest(answer.get("status") or {})
        self._remember(reference, _WrittenStatus(sent, live, self._clock(), lacks))

    def _remember(self, reference: Reference, written: _WrittenStatus) -> None:
        with self._lock:
            self._written[reference] = written
            self._written.move_to_end(reference)
            while len(self._written) > REMEMBERED_MAX:
                self._written.popitem(last=False)

    def _forget_written(self, reference: Reference) -> None:
        with self._lock:
            self._written.pop(reference, None)

    def _replace(self, reference: Reference, status: Status) -> dict[str, Any]:
        """Write a status as a whole, without fields that the server does not know."""
        found = self._api.get(reference.path)
        if found is None:
            raise Stale(f"{reference} is gone", reference.path)
        return self._api.patch_json(reference.status_path, _replacement(found, status))

    def _log_undeclared(self, reference: Reference, lacking: UndeclaredField) -> None:
        """Log that definitions are older than this operator; rate-limited over all objects."""
        if not self._undeclared_log.is_due(self._clock()):
            return
        logger.warning(
            "the status of %s is written without fields that its definition lacks: apply the CRDs"
            " of this release (%s)",
            reference,
            lacking,
        )

    def _stale_unless_gone(self, reference: Reference, stale: Stale) -> PoolkeeperError | None:
        """Return the error to retry after; `None` if the object is gone or has another uid."""
        try:
            found = self._api.get(reference.path)
        except PoolkeeperError as failed:
            return failed
        if found is not None and reference.uid in ("", found["metadata"]["uid"]):
            return stale
        self._forget_written(reference)
        return None

    def _live_status(self, written: _WrittenStatus | None, live: Status | None) -> Status | None:
        """Return the live status as far as the writer or the caller knows it."""
        if written is None:
            return live
        fresh = self._clock() - written.at_s < VIEW_LAG_S
        if live is None or fresh or _digest(live) == written.live:
            last: Status = json.loads(written.sent)
            return last
        return live


def _held_s(reference: Reference, status: Status) -> float:
    """Return for how long a status is held, as another one is likely to follow."""
    conditions = {each.get("type"): each for each in status.get("conditions") or ()}
    reason = conditions.get("Ready", {}).get("reason")
    if conditions.get("Reconciling", {}).get("status") != "True" or reason in FOR_PEOPLE:
        return 0.0
    return SHORT_WORK_S if reason in SHORT_WORK and reference.kind == "Topic" else PASSING_S


def _body(reference: Reference, sent: bytes) -> dict[str, Any]:
    meta = {"name": reference.name}
    if reference.namespace:
        meta["namespace"] = reference.namespace
    return {
        "apiVersion": API_VERSION,
        "kind": reference.kind,
        "metadata": meta,
        "status": json.loads(sent),
    }


def _holds_foreign(live: Status, ours: Status) -> bool:
    """Whether a live status holds what we did not write: fields, parts of the plan, conditions."""

    def kinds(status: Status) -> set[str]:
        return {str(each.get("type")) for each in status.get("conditions") or ()}

    return bool(
        live.keys() - ours.keys()
        or (live.get("plan") or {}).keys() - (ours.get("plan") or {}).keys()
        or kinds(live) - kinds(ours)
    )


def _replacement(answer: dict[str, Any], status: Status) -> list[dict[str, Any]]:
    """The patch that leaves nothing but our status: applying keeps what others have written."""
    meta = answer["metadata"]
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": meta["resourceVersion"]},
        _whole(status),
    ]


def _whole(status: Status) -> dict[str, Any]:
    return {"op": "add", "path": "/status", "value": status}


def _digest(status: Status) -> bytes:
    return blake2b(status_bytes(status), digest_size=16).digest()
