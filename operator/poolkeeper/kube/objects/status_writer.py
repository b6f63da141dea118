"""Statuses on their way to the API server: the latest of each object, until it is there.

`put` only leaves a status behind; a few threads write them by server-side apply, so that fields
which are not said any more disappear. Nothing is written that is live already:

| compared with | when |
|---|---|
| what we wrote last | the caller knows of nothing, or of just what the server answered to that |
|                    | write, or may not have seen it yet: views lag behind writes |
| what the caller saw | else: we wrote nothing before, or somebody else did since |

While the server is away all threads pause together, so that it is not greeted by a crowd; an object
that alone cannot be written (RBAC of its namespace) does not hold up others. Writes of one name
never overtake each other: the server does not compare the uid of a status with the object's, so
only the last word about a name may reach it. A status is dropped when its object is gone, or when
the server refuses it for what it says, which no repetition would mend.
"""

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from threading import Thread
from typing import Any, Protocol

from poolkeeper.errors import Forbidden, PoolkeeperError, Refused, Stale
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.conditions import Status, canonical, with_transitions
from poolkeeper.kube.objects.work_queue import OWN_PAUSE_S, WorkQueue
from poolkeeper.model.names import API_VERSION

MANAGER = "poolkeeper"
WRITERS = 4
VIEW_LAG_S = 10.0
"""A watch shows our own write well within this; until then we know better than the caller."""
REMEMBERED_MAX = 20_000
COMPLAIN_EVERY_S = 60.0

logger = logging.getLogger(__name__)


class StatusApi(Protocol):
    """The part of `client.Api` that a status writer needs."""

    def get(self, path: str, *, deadline_s: float | None = None) -> dict[str, Any] | None:
        """Return an object."""

    def apply(self, path: str, body: dict[str, Any], manager: str) -> dict[str, Any]:
        """Apply a part of an object."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    reference: Reference
    status: bytes
    known: Status | None
    at: datetime


@dataclass(frozen=True, slots=True)
class _Written:
    """What was sent and (as a digest) what the server made of it."""

    sent: bytes
    live: bytes
    at_s: float


class StatusWriter:
    """Threads that write statuses; see `put`. `close` it in the end.

    `pause_s` is the first pause of an object that could not be written; later ones double.
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
    ) -> None:
        self._on_written = on_written
        self.writes = 0
        self.failures = 0
        self.refused = 0
        self._api = api
        self._clock = clock
        self._now = now
        self._queue: WorkQueue[Reference, _Wanted] = WorkQueue(clock, pause_s=pause_s)
        self._written: OrderedDict[Reference, _Written] = OrderedDict()
        self._reason = ""
        self._complained_s = float("-inf")
        self._threads = [
            Thread(target=self._work, name=f"status-{number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def put(self, reference: Reference, status: Status, known: Status | None = None) -> None:
        """Have the object say `status`; conditions need no `lastTransitionTime`.

        `known` is the object's status as the caller last saw it, `{}` if it had none, `None` if
        the caller does not know. Never waits for the server; a later call wins. Raises `TypeError`
        or `KeyError`, here and not in a thread, for what no status can be.
        """
        at = self._now()
        said = canonical(with_transitions(status, known, at))
        if not self._queue.put(replace(reference, uid=""), _Wanted(reference, said, known, at)):
            logger.warning("too many statuses wait: that of %s is left out", reference)

    def forget(self, reference: Reference) -> None:
        """Drop what is to be written and what is remembered of an object that is gone."""
        self._queue.drop(replace(reference, uid=""))
        self._written.pop(reference, None)

    @property
    def pending(self) -> int:
        """How many objects do not say yet what they should."""
        return len(self._queue)

    @property
    def lag_s(self) -> float:
        """Age of the oldest status that is not written; 0 if all are."""
        return self._queue.oldest_s()

    @property
    def reason(self) -> str:
        """Why the last write failed, in one line; empty if it did not."""
        return self._reason

    def flush(self, deadline_s: float) -> bool:
        """Wait until everything is written; return whether it is."""
        return self._queue.wait_empty(deadline_s)

    def close(self, deadline_s: float = 0.0) -> bool:
        """Write what is left for at most that long, then stop; return whether all is written."""
        done = self.flush(deadline_s)
        self._queue.close()
        for thread in self._threads:
            thread.join(1)
        return done

    def _work(self) -> None:
        while (taken := self._queue.take()) is not None:
            name, wanted = taken
            failed = self._attempt(wanted)
            if failed is None:
                self._queue.done(name)
            else:
                self.failures += 1
                self._reason = str(failed)
                self._complain(wanted.reference)
                self._queue.again(name, shared=not isinstance(failed, Forbidden | Stale))

    def _complain(self, reference: Reference) -> None:
        """Log why a write failed, of whichever object, now and then."""
        now_s = self._clock()
        due = now_s - self._complained_s >= COMPLAIN_EVERY_S
        if due:
            self._complained_s = now_s
        logger.log(
            logging.WARNING if due else logging.DEBUG,
            "%s does not say yet what it should: %s (%d wait)",
            reference,
            self._reason,
            self.pending,
        )

    def _attempt(self, wanted: _Wanted) -> PoolkeeperError | None:
        """Write a status if it says anything new; return why it is to be tried again, if it is."""
        try:
            self._write(wanted)
            self._reason = ""
        except Refused as refused:
            self.refused += 1
            logger.warning("the status of %s was refused: %s", wanted.reference, refused)
        except Stale as stale:
            return self._unless_gone(wanted.reference, stale)
        except PoolkeeperError as failed:
            return failed
        return None

    def _write(self, wanted: _Wanted) -> None:
        reference = wanted.reference
        before = self._before(reference, wanted.known)
        status = with_transitions(json.loads(wanted.status), before, wanted.at)
        sent = canonical(status)
        if before is not None and sent == canonical(before):
            return
        answer = self._api.apply(reference.status_path, _body(reference, sent), MANAGER)
        self.writes += 1
        self._on_written((self._now() - wanted.at).total_seconds())
        if reference.uid not in ("", answer["metadata"]["uid"]):
            return
        live = _digest(answer.get("status") or {})
        self._written[reference] = _Written(sent, live, self._clock())
        self._written.move_to_end(reference)
        while len(self._written) > REMEMBERED_MAX:
            self._written.popitem(last=False)

    def _unless_gone(self, reference: Reference, stale: Stale) -> PoolkeeperError | None:
        """Return why to try again; `None` if the object is gone, or is another one."""
        try:
            found = self._api.get(reference.path)
        except PoolkeeperError as failed:
            return failed
        if found is not None and reference.uid in ("", found["metadata"]["uid"]):
            return stale
        self._written.pop(reference, None)
        return None

    def _before(self, reference: Reference, known: Status | None) -> Status | None:
        """Return the status that is live, as far as anybody here knows."""
        written = self._written.get(reference)
        if written is None:
            return known
        fresh = self._clock() - written.at_s < VIEW_LAG_S
        if known is None or fresh or _digest(known) == written.live:
            last: Status = json.loads(written.sent)
            return last
        return known


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


def _digest(status: Status) -> bytes:
    return blake2b(canonical(status), digest_size=16).digest()
