"""The surroundings that simulated brokers share: clock, release, randomness, network.

The network delivers in order and with a short delay; a broker that is dead when a message arrives
never gets it. All randomness is in one place (`Randomness`). It is seeded, so that a run can be
repeated, and replaceable, so that a test can make it choose what a real controller chose.
"""

import base64
import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from poolkeeper.sandbox.clock import Clock
from poolkeeper.sandbox.simulation.codecs import Ids, PartitionState, Tp
from poolkeeper.sandbox.simulation.profiles import Profile
from poolkeeper.sandbox.simulation.zookeeper.session import Watch

if TYPE_CHECKING:
    from poolkeeper.sandbox.simulation.controller.controller import ActiveController

Item = TypeVar("Item")
News: TypeAlias = tuple[Tp, PartitionState, Ids, str | None]
"""The arguments of `Listener.hear_leader`."""
NETWORK_MS = 2.0
NOTES_MAX = 1000


class Randomness:
    """What is random in a real cluster: orders and short delays, drawn from a seed."""

    def __init__(self, seed: int = 0) -> None:
        self._dice = random.Random(seed)

    def order(self, what: str, items: Iterable[Item]) -> list[Item]:
        """Return the items in the order in which a broker handles them."""
        shuffled = list(items)
        self._dice.shuffle(shuffled)
        return shuffled

    def pause_ms(self) -> float:
        """Return how long a broker takes between two of its writes."""
        return self._dice.uniform(1, 8)

    def notice_ms(self, broker: int) -> float:
        """Return how long a broker takes to notice that there is no controller."""
        return self._dice.uniform(1, 30)

    def topic_id(self) -> str:
        """Return a new topic's id: 128 bits in url-safe base64 without padding."""
        bits = self._dice.getrandbits(127).to_bytes(16, "big")
        return base64.urlsafe_b64encode(bits).decode().rstrip("=")

    def join_ms(self, tp: Tp, broker: int) -> float:
        """Return how long after its last byte a replica counts as in sync."""
        return self._dice.uniform(20, 120)


class Listener(Protocol):
    """A broker, as its peers see it."""

    @property
    def serves(self) -> bool:
        """Whether it runs and answers requests."""
        ...

    def hear_leader(
        self, tp: Tp, state: PartitionState, replicas: Ids, topic_id: str | None
    ) -> None:
        """Take in who leads a partition that it hosts, and who is in sync."""
        ...

    def hear_stop(self, tp: Tp) -> None:
        """Delete a replica."""
        ...


class World:
    """One simulated cluster's surroundings."""

    def __init__(self, clock: Clock, profile: Profile, choices: Randomness) -> None:
        self.clock = clock
        self.profile = profile
        self.deletes_topics = True
        self.choices = choices
        self.notes: list[str] = []
        self.listeners: dict[int, Listener] = {}
        self.gathering: set[int] = set()
        self.in_office: dict[int, ActiveController] = {}
        self.on_deleted: Callable[[int, Tp], None] = lambda broker, tp: None
        self.on_flow: Callable[[], None] = lambda: None
        self.office: Callable[[], ActiveController | None] = lambda: None
        self._watches: dict[Hashable, Watch] = {}

    def note(self, sentence: str) -> None:
        """Keep a sentence that a real broker would have logged as a warning or an error."""
        self.notes.append(sentence)
        del self.notes[:-NOTES_MAX]

    def serves(self, broker: int) -> bool:
        """Whether a broker runs and answers requests."""
        listener = self.listeners.get(broker)
        return listener is not None and listener.serves

    def once(self, key: Hashable, watch: Watch) -> Watch:
        """Return the watch first given for this key: set again while pending, it stays one."""
        return self._watches.setdefault(key, watch)

    def tell_leader(
        self, broker: int, tp: Tp, state: PartitionState, replicas: Ids, topic_id: str | None
    ) -> None:
        """Send a broker the leader and ISR of a partition."""
        self._send(broker, lambda to: to.hear_leader(tp, state, replicas, topic_id))

    def tell_leaders(self, broker: int, news: Sequence[News]) -> None:
        """Send a broker the same for many partitions, in one message."""

        def deliver(to: Listener) -> None:
            for one in news:
                to.hear_leader(*one)

        self._send(broker, deliver)

    def tell_stop(self, broker: int, tp: Tp) -> None:
        """Send a broker the order to delete a replica; `on_deleted` is called when it did."""

        def deliver(to: Listener) -> None:
            to.hear_stop(tp)
            self.clock.after(NETWORK_MS, lambda: self.on_deleted(broker, tp))

        self._send(broker, deliver)

    def _send(self, broker: int, deliver: Callable[[Listener], None]) -> None:
        def arrive() -> None:
            if self.serves(broker):
                deliver(self.listeners[broker])

        self.clock.after(NETWORK_MS, arrive)
