"""A plan as work for the budget: its stages with bytes, least time, urgency and gain.

The stages are those that the plan predicts. Plans of a fleet predict none, because that takes
longer than planning. Then the plan's moves are cut in their order: neighbours of one urgency share
a stage within `Cut`, and each step of a longer move has a stage of its own. This is for scheduling
only: the executor makes its own stages by the state that it finds.

Gain is imbalance removed, in replicas: how much nearer all brokers come to their shares. A share is
a broker's part of its pool's replicas, by weight. Drained and dead brokers have a share of 0, so
replicas that leave them are gain. Brokers of no pool are not counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from poolkeeper.fleet.schedule.budget import ClusterWork, ScheduledStage
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.specs import Execution, ThrottleMode, Window
from poolkeeper.report.values import Holding

Entries = Sequence[tuple[int, int]]
"""(index of the move, index of its path's list to request) pairs of a stage."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How moves are cut into stages: the most bytes and moves of each, and a broker's rate."""

    bytes_max: int = 1024**4
    moves_max: int = 200
    bytes_per_s_per_broker: int = 100 * 1024**2


DEFAULT_CUT = Cut()


def cut_of(execution: Execution) -> Cut:
    """The cut by a cluster's own limits and throttle."""
    throttled = execution.throttle.mode is not ThrottleMode.NONE
    rate = execution.throttle.rate_bytes_per_s if throttled else DEFAULT_CUT.bytes_per_s_per_broker
    return Cut(execution.max_bytes, execution.max_moves, rate)


def work_of(
    plan: Plan,
    brokers: Iterable[Holding],
    site: str = "",
    windows: tuple[Window, ...] = (),
    cut: Cut = DEFAULT_CUT,
) -> ClusterWork:
    """The cluster's work; `brokers`: what they hold before the plan, and after it."""
    listed = tuple(brokers)
    gains = _Gains(listed)
    copies = list(map(_copies_of, plan.moves))
    predicted = [(stage.moves, round(stage.seconds * 1000)) for stage in plan.stages]
    stages = []
    for entries, least_ms in predicted or _cut(plan.moves, copies, cut):
        urgency = min(plan.moves[index].urgency for index, _ in entries)
        size = sum(copies[index].bytes(step) for index, step in entries)
        gain = sum(gains.take(plan.moves[index], step) for index, step in entries)
        stages.append(ScheduledStage(size, least_ms, urgency, gain))
    return ClusterWork(plan.cluster, tuple(stages), site, windows)


def shares_of(brokers: Sequence[Holding]) -> Mapping[int, float]:
    """Replicas by broker if its pool's were spread by weight alone; of pools' brokers only."""
    weight: defaultdict[str, float] = defaultdict(float)
    replicas: Counter[str] = Counter()
    for each in brokers:
        weight[each.pool] += each.weight
        replicas[each.pool] += each.replicas_after
    return {
        each.broker: replicas[each.pool] * each.weight / weight[each.pool]
        for each in brokers
        if each.pool and weight[each.pool]
    }


class _Copies(NamedTuple):
    """What a move copies: the bytes of one replica, and by step the brokers that get one."""

    size: int
    added: tuple[frozenset[int], ...]

    def bytes(self, step: int) -> int:
        return self.size * len(self.added[step - 1])


def _copies_of(move: Move) -> _Copies:
    added = tuple(frozenset(after).difference(before) for before, after in pairwise(move.path))
    replicas = sum(map(len, added))
    return _Copies(move.bytes // replicas if replicas else 0, added)


class _Gains:
    """The gain of one step of a move after the other, updated as brokers fill and empty."""

    def __init__(self, brokers: Sequence[Holding]) -> None:
        self._share = shares_of(brokers)
        self._held = {each.broker: each.replicas_before for each in brokers}

    def take(self, move: Move, step: int) -> float:
        before, after = frozenset(move.path[step - 1]), frozenset(move.path[step])
        gain = 0.0
        for change, brokers in ((-1, before - after), (1, after - before)):
            for broker in sorted(brokers & self._share.keys()):
                held, share = self._held[broker], self._share[broker]
                gain += abs(held - share) - abs(held + change - share)
                self._held[broker] = held + change
        return gain


def _cut(
    moves: Sequence[Move], copies: Sequence[_Copies], cut: Cut
) -> Iterator[tuple[Entries, int]]:
    """Stages of the moves in their order, each with the time that its busiest broker needs."""
    for first, last in _runs(moves, cut):
        steps_max = max(len(move.path) for move in moves[first:last])
        for step in range(1, steps_max):
            entries = [(i, step) for i in range(first, last) if step < len(moves[i].path)]
            busiest = _busiest_bytes(moves, copies, entries)
            yield entries, -(-busiest * 1000 // max(1, cut.bytes_per_s_per_broker))


def _runs(moves: Sequence[Move], cut: Cut) -> Iterator[tuple[int, int]]:
    first, size = 0, 0
    for place, move in enumerate(moves):
        alike = move.urgency == moves[first].urgency and place - first < cut.moves_max
        if place > first and not (alike and size + move.bytes <= cut.bytes_max):
            yield first, place
            first, size = place, 0
        size += move.bytes
    if moves:
        yield first, len(moves)


def _busiest_bytes(moves: Sequence[Move], copies: Sequence[_Copies], entries: Entries) -> int:
    """The bytes into or out of the busiest broker; copies come from the first replica."""
    load_in: Counter[int] = Counter()
    load_out: Counter[int] = Counter()
    for index, step in entries:
        size, added = copies[index]
        for broker in added[step - 1]:
            load_in[broker] += size
        load_out[moves[index].path[step - 1][0]] += copies[index].bytes(step)
    return max((0, *load_in.values(), *load_out.values()))
