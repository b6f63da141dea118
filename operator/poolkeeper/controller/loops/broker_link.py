"""The brokers of a cluster for one pass after the other: connected, or why not.

Brokers may be away when a loop begins, and a password may be changed while it goes on. A connection
that failed is opened anew between passes, with the credentials of then. Until it is there, passes
do without, or go on with the one that answers in part; either way the reason is told.

What brokers told is kept (`EnrichmentCache`) for passes before which nothing was written to
ZooKeeper.
Sizes change all the time, and ZooKeeper does not tell. To ask for those of 200,000 partitions, and
to plan with them, takes seconds of processor time, here and at the brokers. So a loop that waits
looks at them from time to time. Once anything is written, and for each pass over a run, they are
asked for anew.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from poolkeeper.errors import BrokersUnreachable
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import Cluster
from poolkeeper.reconcile.access import Enrich

if TYPE_CHECKING:  # the clients of brokers take long to import, and not every cluster has them
    from poolkeeper.brokers.requests import BrokerClient

RETRY_S = 30.0
RETRY_SHARE = 10
"""Attempts that last take at most one part in so many of the time."""
KEPT_S = 10.0
KEPT_MAX_S = 120.0
ASKING_SHARE = 20
"""Asking takes at most one part in so many of the time, up to `KEPT_MAX_S`."""


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

    @property
    def is_away(self) -> bool:
        """Whether brokers are declared, and no connection works."""
        return self.client is None and bool(self._problem)

    def retry(self) -> None:
        """Let the next `renew` connect, where no connection works: somebody has just started."""
        if self.client is None:
            self._next_s = self._clock()

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


class EnrichmentCache:
    """`enrich`, with what it returned last for the very same observation; for one thread."""

    def __init__(
        self, enrich: Enrich, link: BrokerLink, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._enrich = enrich
        self._link = link
        self._clock = clock
        self._known: tuple[Cluster, object, Cluster] | None = None
        self._until_s = 0.0

    def __call__(self, cluster: Cluster) -> Cluster:
        """Complete the cluster, or return it as it was completed a short time ago."""
        client, began_s = self._link.client, self._clock()
        if self._known is not None and began_s < self._until_s:
            before, asked, completed = self._known
            if before is cluster and asked is client:
                return completed
        completed = self._enrich(cluster)
        ended_s = self._clock()
        took_s = ended_s - began_s
        is_whole = not any(broker.silent for broker in completed.brokers.values())
        most_s = KEPT_MAX_S if is_whole else KEPT_S
        self._until_s = ended_s + min(most_s, max(KEPT_S, ASKING_SHARE * took_s))
        self._known = cluster, client, completed
        return completed
