"""Who a session is to ZooKeeper, beside who a new one would be: a Secret may be rotated meanwhile.

Most of what ZooKeeper does not allow ends the session, and the next one has the credentials of
then. A step of one topic that is not allowed keeps no other from being written, so that the session
goes on. Then the Secret is looked at, from time to time.
"""

import time
from collections.abc import Callable

from poolkeeper.errors import PoolkeeperError
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has

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

    def is_outdated(self, outcome: Outcome) -> bool:
        """Whether something was not allowed, and a new session would be somebody else.

        A Secret that cannot be read now changes nothing: the session goes on.
        """
        if not has(outcome.waits, WaitReason.UNAVAILABLE) or self._clock() < self._next_s:
            return False
        self._next_s = self._clock() + LOOK_EVERY_S
        try:
            return self._read() != self._own
        except PoolkeeperError:
            return False
