"""A thread that writes to the API server for those who must not wait for it; the latest wins."""

import logging
from collections.abc import Callable
from threading import Condition, Thread
from typing import Generic, TypeVar

from poolkeeper.errors import PoolkeeperError
from poolkeeper.kube.client.references import Reference
from poolkeeper.telemetry.logs import about

logger = logging.getLogger(__name__)

V = TypeVar("V")


class BackgroundWriter(Generic[V]):
    """Calls `write` with the latest value of each object, in a thread of its own.

    A write that fails is logged and not repeated: who puts a value puts it again as long as it is
    wanted. `what` names what is written, for the log.
    """

    def __init__(self, what: str, write: Callable[[Reference, V], object]) -> None:
        self._what = what
        self._write = write
        self._values: dict[Reference, V] = {}
        self._ended = False
        self._condition = Condition()
        self._thread = Thread(target=self._work, name=what, daemon=True)
        self._thread.start()

    def put(self, reference: Reference, value: V) -> None:
        """Request that the value is written of the object."""
        with self._condition:
            self._values[reference] = value
            self._condition.notify_all()

    def forget(self) -> None:
        """Drop what is not yet written."""
        with self._condition:
            self._values.clear()

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
            except PoolkeeperError as error:
                extra = about(reference.kind, reference.name, reference.namespace)
                logger.info("%s: not written yet: %s", self._what, error, extra=extra)
            except Exception:  # a bug in one object's value must not end the thread
                logger.exception("%s of %s cannot be written", self._what, reference)

    def _take(self) -> tuple[Reference, V] | None:
        with self._condition:
            self._condition.wait_for(lambda: self._values or self._ended)
            if self._ended:
                return None
            return self._values.popitem()
