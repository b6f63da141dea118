"""Bytes that flow between brokers and directories, as a fluid: rates hold until something changes.

A replica that lacks bytes of its leader fetches them. Each flow uses resources: the leader's and
the follower's network, the follower's disk, and where they apply the leader's and the follower's
throttle. All flows grow alike until one of their resources is used up (max-min fairness): two new
replicas of one leader share its throttle. When a flow ends, its replica is in sync.

What the leader receives meanwhile must be fetched too: a flow *grows*, and one that is slower than
its growth never ends. Replicas in sync receive it beside the flows; whoever gives the capacities
has taken that off.

Rates are shared anew when something changed, but at most once in `quantum_ms`: the thousands of
flows of a large cluster then cost what the length of the run costs, not what its changes cost.

Only replicas that are behind flow, and only replicas that are not in sync are behind: so a throttle
slows no healthy replication here, as in Kafka.
"""

from collections.abc import Callable, Hashable, Mapping
from math import inf
from typing import Protocol, TypeAlias

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.sandbox.clock import Clock, Timer

Resource: TypeAlias = Hashable
Copied: TypeAlias = tuple[float, float]
END_BYTES = 1.0
"""What is missing at the end may be less than a byte: times are whole milliseconds."""


@frozen
class ByteFlow:
    """Bytes on their way: how many are missing, over which resources.

    `growth_bytes_per_s`: how fast more becomes missing, but never more than `whole_bytes`: what is
    older than that is gone from the source as well.
    """

    missing_bytes: float
    resources: tuple[Resource, ...]
    growth_bytes_per_s: float = 0.0
    whole_bytes: float = inf


class FlowSource(Protocol):
    """Where flows come from; see `Transfers`."""

    def flows(self) -> Mapping[Hashable, ByteFlow]:
        """Return what is to flow now, by a name."""
        ...

    def capacity(self, resource: Resource) -> float:
        """Return a resource's bytes per second."""
        ...

    def arrived(self, name: Hashable, bytes_: float) -> None:
        """Take in bytes of a flow; fewer than none where it fell behind further."""
        ...

    def ended(self, name: Hashable) -> None:
        """Take in that a flow has ended."""
        ...


class Transfers:
    """Moves bytes as time passes. Call `changed` after anything that flows may depend on.

    `watch` is told how many bytes of each flow were copied in how many seconds: of those that were
    missing (fewer than none where it fell behind), and of those that came meanwhile.
    """

    def __init__(self, clock: Clock, source: FlowSource) -> None:
        self.quantum_ms = 0.0
        self.watch: Callable[[Mapping[Hashable, Copied], float], None] = lambda copied, seconds: (
            None
        )
        self._clock = clock
        self._source = source
        self._since_ms = clock.now_ms()
        self._shared_ms = 0.0
        self._rates: dict[Hashable, float] = {}
        self._flows: Mapping[Hashable, ByteFlow] = {}
        self._missing: dict[Hashable, float] = {}
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
            rests_ms = self._shared_ms + self.quantum_ms - self._clock.now_ms()
            self._clock.after(max(0.0, rests_ms), self._share_rates)

    def settle(self) -> None:
        """Deliver what has flowed until now."""
        now_ms = self._clock.now_ms()
        passed_s, self._since_ms = (now_ms - self._since_ms) / 1000, now_ms
        if passed_s <= 0:
            return
        copied: dict[Hashable, Copied] = {}
        for name, rate in self._rates.items():
            flow, missing = self._flows[name], self._missing[name]
            grown = flow.growth_bytes_per_s * passed_s
            net = min(max(rate * passed_s - grown, missing - flow.whole_bytes), missing)
            copied[name] = (net, grown)
            if net:
                self._missing[name] -= net
                self._source.arrived(name, net)
        self.watch(copied, passed_s)

    def _share_rates(self) -> None:
        self._due = False
        self._shared_ms = self._clock.now_ms()
        self.settle()
        self._rates = {}
        flows = self._source.flows()
        done = [name for name, flow in flows.items() if flow.missing_bytes < END_BYTES]
        ended = set(done)
        self._flows = {name: flow for name, flow in flows.items() if name not in ended}
        self._missing = {name: flow.missing_bytes for name, flow in self._flows.items()}
        self._rates = shares(self._flows, self._source.capacity)
        for name in done:
            self._source.ended(name)
        if self._timer is not None:
            self._timer.cancel()
        ends_s = [
            self._flows[name].missing_bytes / (rate - self._flows[name].growth_bytes_per_s)
            for name, rate in self._rates.items()
            if rate > self._flows[name].growth_bytes_per_s
        ]
        self._timer = self._clock.after(min(ends_s) * 1000 + 1, self.changed) if ends_s else None


def shares(
    flows: Mapping[Hashable, ByteFlow], capacity: Callable[[Resource], float]
) -> dict[Hashable, float]:
    """Return each flow's rate, max-min fair. Two flows over one resource of 10 get 5 each.

    All flows grow alike; those over the resource that is used up first keep what they have, and
    the others grow on.
    """
    if not flows:
        return {}
    numbers: dict[Resource, int] = {}
    pairs: list[tuple[int, int]] = []
    for row, flow in enumerate(flows.values()):
        for resource in set(flow.resources):
            pairs.append((row, numbers.setdefault(resource, len(numbers))))
    rows, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    free = np.array([max(0.0, capacity(resource)) for resource in numbers])
    rates, growing = np.zeros(len(flows)), np.zeros(len(flows), dtype=bool)
    growing[rows] = True
    while growing.any():
        live = growing[rows]
        users = np.bincount(columns[live], minlength=len(free))
        share = np.divide(free, users, out=np.full(len(free), np.inf), where=users > 0)
        lowest = share.min()
        tight = share <= lowest * (1 + 1e-12)
        full = np.unique(rows[live & tight[columns]])
        rates[full], growing[full] = lowest, False
        used = np.bincount(columns[live & ~growing[rows]], minlength=len(free)) * lowest
        free = np.maximum(0.0, free - used)
    return dict(zip(flows, rates.tolist(), strict=True))
