"""Bytes that flow between brokers and directories, as a fluid: rates hold until something changes.

A replica that lacks bytes of its leader fetches them. Each flow uses resources: the leader's and
the follower's network, the follower's disk, and where they apply the leader's and the follower's
throttle. All flows grow alike until one of their resources is used up (max-min fairness): two new
replicas of one leader share its throttle. When a flow ends, its replica is in sync.

Only replicas that are behind flow, and only replicas that are not in sync are behind: so a throttle
slows no healthy replication here, as in Kafka.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from poolkeeper.sandbox.clock import Clock, Timer

Resource: TypeAlias = Hashable
END_BYTES = 1.0
"""What is missing at the end may be less than a byte: times are whole milliseconds."""


@dataclass(frozen=True, slots=True)
class ByteFlow:
    """Bytes on their way: how many are missing, over which resources."""

    missing_bytes: float
    resources: tuple[Resource, ...]


class FlowSource(Protocol):
    """Where flows come from; see `Transfers`."""

    def flows(self) -> Mapping[Hashable, ByteFlow]:
        """Return what is to flow now, by a name."""
        ...

    def capacity(self, resource: Resource) -> float:
        """Return a resource's bytes per second."""
        ...

    def arrived(self, name: Hashable, bytes_: float) -> None:
        """Take in bytes of a flow."""
        ...

    def ended(self, name: Hashable) -> None:
        """Take in that a flow has ended."""
        ...


class Transfers:
    """Moves bytes as time passes. Call `changed` after anything that flows may depend on."""

    def __init__(self, clock: Clock, source: FlowSource) -> None:
        self._clock = clock
        self._source = source
        self._since_ms = clock.now_ms()
        self._rates: dict[Hashable, float] = {}
        self._flows: Mapping[Hashable, ByteFlow] = {}
        self._timer: Timer | None = None
        self._due = False

    @property
    def rates(self) -> Mapping[Hashable, float]:
        """Bytes per second of each flow, for those who want to look."""
        return self._rates

    def changed(self) -> None:
        """Reckon anew, soon: several changes of one moment cost one reckoning."""
        if not self._due:
            self._due = True
            self._clock.after(0, self._share_rates)

    def settle(self) -> None:
        """Deliver what has flowed until now."""
        now_ms = self._clock.now_ms()
        passed_s, self._since_ms = (now_ms - self._since_ms) / 1000, now_ms
        for name, rate in self._rates.items():
            if passed_s > 0 and rate > 0:
                missing = self._flows[name].missing_bytes
                self._source.arrived(name, min(missing, rate * passed_s))

    def _share_rates(self) -> None:
        self._due = False
        self.settle()
        self._rates = {}
        flows = self._source.flows()
        done = [name for name, flow in flows.items() if flow.missing_bytes < END_BYTES]
        self._flows = {name: flow for name, flow in flows.items() if name not in set(done)}
        self._rates = shares(self._flows, self._source.capacity)
        for name in done:
            self._source.ended(name)
        if self._timer is not None:
            self._timer.cancel()
        ends_s = [
            self._flows[name].missing_bytes / rate for name, rate in self._rates.items() if rate > 0
        ]
        self._timer = self._clock.after(min(ends_s) * 1000 + 1, self.changed) if ends_s else None


def shares(
    flows: Mapping[Hashable, ByteFlow], capacity: Callable[[Resource], float]
) -> dict[Hashable, float]:
    """Return each flow's rate, max-min fair. Two flows over one resource of 10 get 5 each."""
    left = {name: set(flow.resources) for name, flow in flows.items()}
    users: dict[Resource, set[Hashable]] = {}
    for name, resources in left.items():
        for resource in resources:
            users.setdefault(resource, set()).add(name)
    free = {resource: capacity(resource) for resource in users}
    rates: dict[Hashable, float] = {}
    while users:
        resource = min(users, key=lambda r: (free[r] / len(users[r]), str(r)))
        share = max(0.0, free[resource] / len(users[resource]))
        for name in sorted(users[resource], key=str):
            rates[name] = share
            _take(name, left.pop(name), share, users, free)
    return rates


def _take(
    name: Hashable,
    resources: Iterable[Resource],
    share: float,
    users: dict[Resource, set[Hashable]],
    free: dict[Resource, float],
) -> None:
    for resource in resources:
        free[resource] -= share
        users[resource].discard(name)
        if not users[resource]:
            del users[resource]
