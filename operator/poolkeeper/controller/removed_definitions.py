"""What goes with its definition (CRD), and may be declared again once that is back.

Removing a CRD deletes all resources of its kind. Who replaces one (`kubectl replace --force`, a
sync that replaces) does that too, and the new one is there within seconds. The resources come back
with the next sync, minutes later. Until then Kafka topics look as if nobody had declared them, and
`unmanagedTopics: Manage` would move them all.

So what was there before counts as abandoned until all of it is declared again, and for `RETURN_S`
at most. Rebalances are made once, and not awaited. Only the memory of the leader knows of it.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from poolkeeper.resources.kinds import rebalance
from poolkeeper.resources.kinds.custom_resource import ObjectKey

RETURN_S = 900.0
SEEN_S = 15.0
"""So long before its definition is seen to go, a resource may have gone with it."""
AWAITED = (
    "definitions were removed, and resources with them: nothing is begun, and no Kafka topic is"
    " deleted, before these are declared again, 15 minutes have passed or the operator is restarted"
)


@dataclass(slots=True)
class RemovedDefinitions:
    """See the module; for one thread."""

    now_s: Callable[[], float] = time.monotonic
    _seen_s: dict[ObjectKey, float] = field(default_factory=dict)
    _awaited: frozenset[ObjectKey] = frozenset()
    _until_s: float | None = None

    def look(self, keys: Collection[ObjectKey], removed: str) -> str:
        """Return why resources may be missing that nobody deleted; empty if none is.

        `keys`: the resources that are there. `removed`: which definitions are being removed or are
        gone, as a sentence; empty if none is.
        """
        now_s = self.now_s()
        self._seen_s.update((key, now_s) for key in keys if key.kind != rebalance.KIND)
        self._seen_s = {key: at_s for key, at_s in self._seen_s.items() if now_s - at_s < SEEN_S}
        if removed:
            self._awaited |= self._seen_s.keys()
            self._until_s = None
            return removed
        if self._awaited.issubset(keys):
            self.forget()
            return ""
        if self._until_s is None:
            self._until_s = now_s + RETURN_S
        if now_s >= self._until_s:
            self.forget()
            return ""
        return AWAITED

    def forget(self) -> None:
        """Await nothing any more."""
        self._awaited, self._until_s = frozenset(), None
