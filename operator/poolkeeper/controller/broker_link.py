"""The brokers of a cluster for one pass after the other: connected, or why not.

Brokers may be away when a loop begins, and a password may be changed while it goes on. A connection
that failed is opened anew between passes, with the credentials of then. Until it is there, passes
do without, or go on with the one that answers in part; either way the reason is told.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from poolkeeper.errors import BrokersUnreachable
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait

if TYPE_CHECKING:  # the clients of brokers take long to import, and not every cluster has them
    from poolkeeper.brokers.requests import BrokerClient

RETRY_S = 30.0
RETRY_SHARE = 10
"""Attempts that last take at most one part in so many of the time."""


class BrokerLink:
    """See the module. `open_`: None where no brokers are declared, and `BrokersUnreachable`."""

    def __init__(
        self,
        open_: "Callable[[], BrokerClient | None]",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client: BrokerClient | None = None
        self._open = open_
        self._clock = clock
        self._problem = ""
        self._next_s = float("-inf")

    def renew(self) -> "BrokerClient | None":
        """Connect where no connection works, from time to time; return what there is."""
        if self.client is not None and not self.client.is_refused:
            self._problem = ""
        elif self._clock() >= self._next_s:
            self._connect()
        return self.client

    def waits(self) -> tuple[Wait, ...]:
        """Say why the brokers cannot be asked; empty if they can be."""
        if not self._problem:
            return ()
        return (Wait(WaitReason.BROKERS_UNREACHABLE, detail=self._problem),)

    def close(self) -> None:
        """Close the connection."""
        if self.client is not None:
            self.client.close()
            self.client = None

    def _connect(self) -> None:
        began = self._clock()
        try:
            found = self._open()
        except BrokersUnreachable as error:
            self._problem = str(error)
        else:
            self.close()
            self.client, self._problem = found, ""
        took = self._clock() - began
        self._next_s = self._clock() + max(RETRY_S, RETRY_SHARE * took)
