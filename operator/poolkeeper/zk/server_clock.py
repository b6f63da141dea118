"""The clock of ZooKeeper's leader: the one clock of all executors of a cluster.

Times in our nodes are written by one executor and compared by the next, perhaps on another machine:
since when a broker is missing, when a request was made, when balance began. Were each to use its
own clock, one that is hours ahead would take a broker that just restarted for gone.

ZooKeeper stamps each write with the clock of its leader. So the executor takes the time at which
its `holder` node was created, and counts from there by what no correction of its machine's clock
changes. Where the servers' own clocks differ, it is as good as that of the leader of the moment.
"""

import logging
import time
from collections.abc import Callable

from poolkeeper import text
from poolkeeper.zk import znodes
from poolkeeper.zk.client.session import Session

AHEAD_MS = 60_000
"""By so much a machine's clock may differ from ZooKeeper's without a word."""

logger = logging.getLogger(__name__)


def of_holder(session: Session) -> Callable[[], int]:
    """Return the clock of who just took the journal: milliseconds since 1970."""
    began_ms, own_ms = session.modified_ms(znodes.HOLDER), time.time_ns() // 1_000_000
    began_ns = time.monotonic_ns()
    if began_ms is None:  # somebody deleted it: nothing is written any more
        return lambda: time.time_ns() // 1_000_000
    if abs(own_ms - began_ms) > AHEAD_MS:
        logger.warning(
            "the clock of this machine is %s %s that of ZooKeeper's leader: ages are counted by"
            " ZooKeeper's",
            text.duration(abs(own_ms - began_ms) / 1000),
            "ahead of" if own_ms > began_ms else "behind",
        )
    return lambda: began_ms + (time.monotonic_ns() - began_ns) // 1_000_000
