"""Who a session is to ZooKeeper, beside who a new one would be: a Secret may be rotated meanwhile.

Most of what ZooKeeper does not allow ends the session, and the next one has the credentials of
then. A step of one topic that is not allowed keeps no other from being written, so that the session
goes on. Then the Secret is looked at, from time to time. One that cannot be used is told as well:
who rotates it finds it named beside what is not allowed.
"""

import time
from collections.abc import Callable

from poolkeeper.errors import Forbidden, PoolkeeperError, Refused
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, has

LOOK_EVERY_S = 30.0


class SessionIdentity:
    """See the module. `read` returns who a new session would be; made before the session is."""

    def __init__(
        self, read: Callable[[], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._own = read()
        self._next_s = float("-inf")
        self._problem = ""

    def is_outdated(self, outcome: Outcome) -> bool:
        """Whether something was not allowed, and a new session would be somebody else.

        A Secret that cannot be read now changes nothing: the session goes on.
        """
        if not has(outcome.waits, WaitReason.UNAVAILABLE):
            self._problem = ""
            return False
        if self._clock() < self._next_s:
            return False
        self._next_s = self._clock() + LOOK_EVERY_S
        try:
            found = self._read()
        except PoolkeeperError as error:
            self._problem = f"no other ZooKeeper identity can be had: {error.line}"
            return False
        self._problem = ""
        return bool(found != self._own)

    def waits(self) -> tuple[Wait, ...]:
        """Why no other identity can be had, after something was not allowed."""
        return (Wait(WaitReason.UNAVAILABLE, detail=self._problem),) if self._problem else ()

    def explained(self, error: Refused | Forbidden) -> Refused | Forbidden:
        """The error of what was not allowed, with the reason why no other identity can be had."""
        if self._problem and isinstance(error, Forbidden):
            return Forbidden(f"{error}; {self._problem}")
        return error
