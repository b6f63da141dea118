"""Threads that write to the API server for those who must not wait for it; the latest wins."""

import logging
import time
from collections.abc import Callable, Container, Iterator
from threading import Condition, Thread
from typing import Generic, TypeVar

from poolkeeper.errors import Forbidden, PoolkeeperError, Refused
from poolkeeper.frozen import frozen
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.rate_limit import LogRateLimit
from poolkeeper.telemetry.logs import log_extra

logger = logging.getLogger(__name__)

V = TypeVar("V")

PAUSE_S = 0.5
PAUSE_S_MAX = 15.0
LASTING_S = 30.0
"""What fails for so long does not pass by itself: a webhook may be gone that has to be asked."""


@frozen
class _Failing:
    """Writes of an object that fail: how often, since when, and the first error of its kind.

    Later errors may name other ports or times, which would be news each time.
    """

    error: PoolkeeperError
    since_s: float
    times: int = 1

    def after(self, error: PoolkeeperError) -> "_Failing":
        """The same after one more failure."""
        first = self.error if type(self.error) is type(error) else error
        return _Failing(first, self.since_s, self.times + 1)

    @property
    def pause_s(self) -> float:
        """How long the object is left alone: failures of one each second would be a load."""
        return float(min(PAUSE_S * 2 ** min(self.times - 1, 10), PAUSE_S_MAX))

    def is_lasting(self, now_s: float) -> bool:
        """Whether a person has to see to it."""
        lasts = now_s - self.since_s >= LASTING_S
        return lasts or isinstance(self.error, Forbidden | Refused)


class BackgroundWriter(Generic[V]):
    """Calls `write` with the latest value of each object, in threads of its own.

    A write that fails is logged and not repeated: who puts a value puts it again as long as it is
    wanted, and it is written after a pause that doubles. `what` names what is written, for the log.
    A write that is refused is a warning, as a person has to allow it; `hindrance` tells of an
    object. An object is written at once, and again `every_s` later at the earliest. Namespaces take
    turns: one with thousands of objects keeps no other waiting. Objects of a namespace where the
    last write failed come after all others, and have one of several threads: a webhook of it may
    take ten seconds for each.
    """

    def __init__(
        self,
        what: str,
        write: Callable[[Reference, V], object],
        every_s: float = 0.0,
        threads: int = 1,
    ) -> None:
        self._what = what
        self._write = write
        self._every_s = every_s
        self._values: dict[Reference, V] = {}
        self._groups: dict[tuple[str, str], dict[Reference, None]] = {}
        """The objects of `_values` by group, the group whose turn is next first."""
        self._writing: set[Reference] = set()
        self._not_before_s: dict[Reference, float] = {}
        self._failing: dict[Reference, _Failing] = {}
        self._failing_groups: set[tuple[str, str]] = set()
        self._ended = False
        self._refused_log = LogRateLimit()
        self._condition = Condition()
        self._threads = [
            Thread(target=self._work, name=f"{what}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def put(self, reference: Reference, value: V) -> None:
        """Request that the value is written of the object."""
        with self._condition:
            self._values[reference] = value
            self._groups.setdefault(_group_of(reference), {})[reference] = None
            self._condition.notify_all()

    def hindrance(self, reference: Reference) -> str:
        """Why the object is not written until a person sees to it; empty if that may pass."""
        with self._condition:
            failing = self._failing.get(reference)
        if failing is None or not failing.is_lasting(time.monotonic()):
            return ""
        return str(failing.error)

    def forget(self) -> None:
        """Drop what is not yet written, and what is known of writes."""
        with self._condition:
            self._values.clear()
            self._groups.clear()
            self._not_before_s.clear()
            self._failing.clear()
            self._failing_groups.clear()

    def forget_object(self, reference: Reference) -> None:
        """Drop what is known of an object that is gone."""
        with self._condition:
            self._failing.pop(reference, None)
            self._not_before_s.pop(reference, None)

    def close(self) -> None:
        """Stop all threads; the next leader requests again what is left."""
        with self._condition:
            self._ended = True
            self._condition.notify_all()
        for thread in self._threads:
            thread.join(1)

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
            with self._condition:
                self._writing.discard(reference)
                self._condition.notify_all()

    def _note(self, reference: Reference, error: PoolkeeperError | None) -> None:
        with self._condition:
            if error is None:
                self._failing.pop(reference, None)
                self._failing_groups.discard(_group_of(reference))
                return
            now_s, known = time.monotonic(), self._failing.get(reference)
            failing = known.after(error) if known else _Failing(error, now_s)
            self._failing[reference] = failing
            self._failing_groups.add(_group_of(reference))
            free_s = max(self._not_before_s.get(reference, 0.0), now_s + failing.pause_s)
            self._not_before_s[reference] = free_s

    def _log_failure(self, reference: Reference, error: PoolkeeperError) -> None:
        refused = isinstance(error, Forbidden | Refused)
        due = refused and self._refused_log.is_due(time.monotonic())
        level = logging.WARNING if due else logging.INFO
        extra = log_extra(reference.kind, reference.name, reference.namespace)
        logger.log(level, "%s: not written yet: %s", self._what, error, extra=extra)

    def _due(self, early: Container[Reference], *, failing: bool) -> Iterator[Reference]:
        """The objects that may be written now, of namespaces that fail or of all others."""
        for group, members in self._groups.items():
            if (group in self._failing_groups) == failing:
                yield from (one for one in members if one not in early and one not in self._writing)

    def _take(self) -> tuple[Reference, V] | None:
        with self._condition:
            while not self._ended:
                now_s = time.monotonic()
                early = {r: at for r, at in self._not_before_s.items() if at > now_s}
                self._not_before_s = early
                due = next(self._due(early, failing=False), None)
                if due is None and not self._is_failing_written():
                    due = next(self._due(early, failing=True), None)
                if due is not None:
                    if self._every_s:
                        early[due] = now_s + self._every_s
                    self._writing.add(due)
                    self._end_turn(due)
                    return due, self._values.pop(due)
                next_s = min((early[each] for each in self._values if each in early), default=None)
                self._condition.wait(None if next_s is None else next_s - now_s)
            return None

    def _end_turn(self, reference: Reference) -> None:
        """Take an object out of its group, which comes after all others then."""
        group = _group_of(reference)
        members = self._groups.pop(group)
        del members[reference]
        if members:
            self._groups[group] = members

    def _is_failing_written(self) -> bool:
        return any(_group_of(each) in self._failing_groups for each in self._writing)


def _group_of(reference: Reference) -> tuple[str, str]:
    return reference.kind, reference.namespace
