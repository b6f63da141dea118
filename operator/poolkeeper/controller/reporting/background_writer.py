"""A thread that writes to the API server for those who must not wait for it; the latest wins."""

import logging
import time
from collections.abc import Callable, Container, Iterator
from threading import Condition, Thread
from typing import Generic, TypeVar

from poolkeeper.errors import Forbidden, PoolkeeperError
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.rate_limit import LogRateLimit
from poolkeeper.telemetry.logs import log_extra

logger = logging.getLogger(__name__)

V = TypeVar("V")


class BackgroundWriter(Generic[V]):
    """Calls `write` with the latest value of each object, in a thread of its own.

    A write that fails is logged and not repeated: who puts a value puts it again as long as it is
    wanted. `what` names what is written, for the log. A write that is not allowed is a warning, as
    a person has to allow it; `is_forbidden` tells of an object. An object is written at once, and
    again `every_s` later at the earliest. Objects of a namespace where the last write failed come
    after all others: a webhook of it may take ten seconds for each.
    """

    def __init__(
        self, what: str, write: Callable[[Reference, V], object], every_s: float = 0.0
    ) -> None:
        self._what = what
        self._write = write
        self._every_s = every_s
        self._values: dict[Reference, V] = {}
        self._not_before_s: dict[Reference, float] = {}
        self._forbidden: set[Reference] = set()
        self._failing: set[tuple[str, str]] = set()
        self._ended = False
        self._forbidden_log = LogRateLimit()
        self._condition = Condition()
        self._thread = Thread(target=self._work, name=what, daemon=True)
        self._thread.start()

    def put(self, reference: Reference, value: V) -> None:
        """Request that the value is written of the object."""
        with self._condition:
            self._values[reference] = value
            self._condition.notify_all()

    def is_forbidden(self, reference: Reference) -> bool:
        """Whether the last write of the object was not allowed."""
        with self._condition:
            return reference in self._forbidden

    def forget(self) -> None:
        """Drop what is not yet written, and what is known of writes."""
        with self._condition:
            self._values.clear()
            self._not_before_s.clear()
            self._forbidden.clear()
            self._failing.clear()

    def forget_object(self, reference: Reference) -> None:
        """Drop what is known of an object that is gone."""
        with self._condition:
            self._forbidden.discard(reference)

    def close(self) -> None:
        """Stop the thread; the next leader requests again what is left."""
        with self._condition:
            self._ended = True
            self._condition.notify_all()
        self._thread.join(1)

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            reference, value = taken
            try:
                self._write(reference, value)
                self._note(reference, None)
            except PoolkeeperError as error:
                self._note(reference, error)
                self._log_failure(reference, error)
            except Exception:  # a bug in one object's value must not end the thread
                logger.exception("%s of %s cannot be written", self._what, reference)

    def _note(self, reference: Reference, error: PoolkeeperError | None) -> None:
        with self._condition:
            if isinstance(error, Forbidden):
                self._forbidden.add(reference)
            else:
                self._forbidden.discard(reference)
            if error is None:
                self._failing.discard(_group_of(reference))
            else:
                self._failing.add(_group_of(reference))

    def _log_failure(self, reference: Reference, error: PoolkeeperError) -> None:
        forbidden = isinstance(error, Forbidden) and self._forbidden_log.is_due(time.monotonic())
        level = logging.WARNING if forbidden else logging.INFO
        extra = log_extra(reference.kind, reference.name, reference.namespace)
        logger.log(level, "%s: not written yet: %s", self._what, error, extra=extra)

    def _due(self, early: Container[Reference], *, failing: bool) -> Iterator[Reference]:
        """The objects that may be written now, of namespaces that fail or of all others."""
        for each in self._values:
            if each not in early and (_group_of(each) in self._failing) == failing:
                yield each

    def _take(self) -> tuple[Reference, V] | None:
        with self._condition:
            while not self._ended:
                now_s = time.monotonic()
                early = {r: at for r, at in self._not_before_s.items() if at > now_s}
                self._not_before_s = early
                due = next(self._due(early, failing=False), None)
                due = due or next(self._due(early, failing=True), None)
                if due is not None:
                    if self._every_s:
                        early[due] = now_s + self._every_s
                    return due, self._values.pop(due)
                next_s = min((early[each] for each in self._values), default=None)
                self._condition.wait(None if next_s is None else next_s - now_s)
            return None


def _group_of(reference: Reference) -> tuple[str, str]:
    return reference.kind, reference.namespace
