"""The rate limits of events and of log lines: pure.

A `TokenBucket` holds up to `burst` tokens and gains one every `refill_s` seconds; an event costs
one. `EventRateLimit` admits an event on two conditions. The same event was not sent for the object
recently. And the buckets of the object, of its namespace and of all each have a token left. That of
a namespace is smaller than that of all: whoever edits thousands of Topics leaves room for others,
and for KafkaClusters. Warnings have such buckets of their own: thousands of Topics that are created
at once keep none of them from being told.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TypeVar

from poolkeeper.frozen import frozen

REPEAT_S = 600.0
OBJECT_BURST, OBJECT_REFILL_S = 25, 300.0
NAMESPACE_BURST, NAMESPACE_REFILL_S = 150, 2 / 3
TOTAL_BURST, TOTAL_REFILL_S = 200, 0.5
OBJECTS_MAX = 4096
REPEATS_MAX = 8192
LOG_EVERY_S = 60.0

Value = TypeVar("Value")


@frozen
class TokenBucket:
    """The number of tokens at a moment."""

    burst: int
    refill_s: float
    tokens: float
    at_s: float

    @classmethod
    def full(cls, burst: int, refill_s: float, now_s: float) -> "TokenBucket":
        """Return a full bucket."""
        return cls(burst, refill_s, burst, now_s)

    def refill(self, now_s: float) -> "TokenBucket":
        """Return the bucket at that time; a clock that goes back adds no tokens."""
        gained = max(0.0, now_s - self.at_s) / self.refill_s
        tokens = min(float(self.burst), self.tokens + gained)
        return replace(self, tokens=tokens, at_s=max(now_s, self.at_s))

    def take(self) -> "TokenBucket | None":
        """Return the bucket with one token less, `None` if it is empty."""
        return replace(self, tokens=self.tokens - 1) if self.tokens >= 1 else None


class EventRateLimit:
    """The events sent of late; bounded: it drops the objects without events for longest."""

    def __init__(self, now_s: float) -> None:
        full = TokenBucket.full(TOTAL_BURST, TOTAL_REFILL_S, now_s)
        self._totals = {warning: full for warning in (False, True)}
        self._namespaces: OrderedDict[Hashable, TokenBucket] = OrderedDict()
        self._objects: OrderedDict[Hashable, TokenBucket] = OrderedDict()
        self._repeats: OrderedDict[Hashable, float] = OrderedDict()

    def admits(
        self,
        about: Hashable,
        what: Hashable,
        now_s: float,
        *,
        namespace: str = "",
        warning: bool = False,
    ) -> bool:
        """Return whether the event `what` of an object may be sent now; if so, count it as sent.

        `namespace` is the object's.
        """
        said = (about, what)
        if said in self._repeats and now_s - self._repeats[said] < REPEAT_S:
            return False
        own = self._objects.get(about) or TokenBucket.full(OBJECT_BURST, OBJECT_REFILL_S, now_s)
        shared = self._namespaces.get((namespace, warning)) or TokenBucket.full(
            NAMESPACE_BURST, NAMESPACE_REFILL_S, now_s
        )
        own_left, shared_left = own.refill(now_s).take(), shared.refill(now_s).take()
        total_left = self._totals[warning].refill(now_s).take()
        if own_left is None or shared_left is None or total_left is None:
            return False
        self._totals[warning] = total_left
        _remember(self._namespaces, (namespace, warning), shared_left, OBJECTS_MAX)
        _remember(self._objects, about, own_left, OBJECTS_MAX)
        _remember(self._repeats, said, now_s, REPEATS_MAX)
        return True


def _remember(memory: OrderedDict[Hashable, Value], key: Hashable, value: Value, most: int) -> None:
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > most:
        memory.popitem(last=False)


@dataclass(slots=True)
class LogRateLimit:
    """Whether a log line that may repeat is due: the first is, and one a minute after that."""

    _logged_s: float = float("-inf")

    def is_due(self, now_s: float) -> bool:
        """Return whether to log now; a line that is due counts as logged."""
        if now_s - self._logged_s < LOG_EVERY_S:
            return False
        self._logged_s = now_s
        return True
