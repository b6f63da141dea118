"""Brokers that are registered and have not told their logs yet: for a while they are waited for.

Right after ZooKeeper was restored from a backup, the brokers of then are registered until their
sessions end, whether they live or not. Then brokers start, and are registered before anybody has
asked them. What they hold may be all that is left of the records (`gates.stray_logs`). So who has
not answered is marked, from the first time on that it was missed, for `SILENT_S`. After that the
work goes on without its answer, as it does where the brokers cannot be reached at all.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from poolkeeper.model.topology import Cluster

SILENT_S = 60.0
"""Longer than sessions of brokers last, and than it takes to connect to brokers that start."""


class SilentBrokers:
    """Since when each registered broker does not answer; for one cluster and one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since_s: Mapping[int, float] = {}
        self._registered: frozenset[int] = frozenset()

    def has_new(self, cluster: Cluster) -> bool:
        """Whether a broker is registered that was not when this was asked last."""
        before, self._registered = self._registered, frozenset(cluster.brokers)
        return not self._registered <= before

    def mark(self, cluster: Cluster, silent: Collection[int]) -> Cluster:
        """Return the cluster, brokers marked that do not answer, unless for too long already."""
        now_s = self._clock()
        before, missed = self._since_s, set(silent) & cluster.brokers.keys()
        self._since_s = {id_: before.get(id_, now_s) for id_ in missed}
        awaited = {id_ for id_, since_s in self._since_s.items() if now_s - since_s < SILENT_S}
        if not awaited:
            return cluster
        brokers = {
            id_: replace(broker, silent=True) if id_ in awaited else broker
            for id_, broker in cluster.brokers.items()
        }
        return replace(cluster, brokers=brokers)
