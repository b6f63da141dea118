"""Fills one stage so that all stages together last hardly longer than they must.

Stages of the ZooKeeper path are barriers: each lasts as long as its slowest broker. The sum of the
stages' lengths comes close to the busiest broker's bytes if that broker never waits for others. So:

1. *Span*: the most bytes that a broker takes in or gives out in the stage. It is the busiest
   broker's bytes left, divided by the fewest stages that the limits of counts allow, plus one
   replica of usual size; or the largest single entry if that is more.
2. *Large entries together*: sizes have a long tail, and an entry above the usual span sets the
   length of its stage alone. Meanwhile all other brokers may carry as much, so the queues give
   their largest entries first. Entries of similar size (within a factor of about four, or all far
   below the span) go by urgency. Then come the sides that must carry something now, because
   otherwise they would have more left after the stage than the busiest side (or, where the bytes of
   a stage are limited, than the level that all sides can be brought down to).
   If the bytes of a stage do not suffice for all, other rules hold. Only the entries that
   `large_entries` names go first. Then go the sides that must carry something, those with most left
   first, and then the sides with much left and large entries.
3. *Counts keep pace*: every side carries its part of its replicas in every stage. So it reserves
   what its smallest entries need of its span to fill that part. Slots of the cluster's limit are
   reserved for the sides that must use all of theirs in each remaining stage.

While few entries set the lengths of stages, no single *style* of weighing these suits all plans.
Then `packer` tries several.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.large_entries import large_bytes, near_bytes
from poolkeeper.planning.staging.limits import StageCapacity
from poolkeeper.planning.staging.makespan_bound import level_bytes
from poolkeeper.planning.staging.queues import Cursor, Side, SideLoads, SideQueue

_LOOK_AHEAD = 12
"""Entries tried without success at either end of a queue per stage."""

_HEADS = 8
"""Entries at the large end of a queue among which the largest in all its replicas is looked for."""

_SMALL = 4
"""Entries below the span by 4 to this power count as alike."""

_GATHERED = 4
"""Entries of a queue that are gathered at most, by the limit per broker."""

Queues = Mapping[int, Mapping[Side, SideQueue]]
"""By urgency and bottleneck."""

_Key = tuple[int, int, int, int, Side]


class StagePace(NamedTuple):
    """What one stage should carry of these loads; `stages`: the fewest stages that are left."""

    loads: SideLoads
    stages: int
    span_bytes: int
    level_bytes: int
    largest_bytes: int

    def part(self, side: Side) -> int:
        """Replicas that the side should give or take in one stage."""
        return -(-self.loads.replicas_of(side) // self.stages)


def pace_of(
    loads: SideLoads, queues: Queues, execution: Execution, *, span_percent: int = 100
) -> StagePace:
    """The pace for the loads that are left; `span_percent`: the span in percent of the usual."""
    replicas, size = loads.busiest_replicas, loads.busiest_bytes
    stages = max(
        -(-replicas // execution.max_moves_per_broker),
        -(-loads.replicas // execution.max_moves),
        -(-loads.bytes // execution.max_bytes),
        1,
    )
    heads = (queue.entries[:_HEADS] for sides in queues.values() for queue in sides.values())
    largest = max((entry.bytes for head in heads for entry in head if entry is not None), default=0)
    usual = max(largest, -(-size // stages) + size // max(1, replicas))
    span = usual * span_percent // 100
    level = max(
        level_bytes(loaded.values(), execution.max_bytes)
        for loaded in (loads.bytes_in, loads.bytes_out)
    )
    return StagePace(loads, stages, span, max(0, size - span, level), largest)


class Style(NamedTuple):
    """Which entries go first: those of a part of the span, or those that `large_entries` names.

    `large_percent`: that part, in percent.
    `gathers`: they go in order of their bytes, whatever the pace; else in the order of their
    queues.
    `span_percent`: the span, in percent of the usual one. A longer span lets two large entries of
    one side share a stage.
    """

    large_percent: int | None = None
    gathers: bool = False
    span_percent: int = 100


USUAL = Style()


class _Turn:
    """One queue while a stage is filled, and what its side should carry.

    `part`: replicas; `left`: bytes that it had when the stage began; `needs`: bytes, or the side
    ends above the level; `least`: the size of the largest of the small entries that fill the part.
    """

    __slots__ = (
        "broker",
        "cursor",
        "least",
        "left",
        "needs",
        "out",
        "part",
        "queue",
        "side",
        "urgency",
    )

    def __init__(
        self, urgency: int, side: Side, queue: SideQueue, pace: StagePace, held_bytes: int
    ) -> None:
        self.urgency = urgency
        self.side = side
        self.broker, self.out = side
        self.queue = queue
        self.cursor = Cursor(queue, _LOOK_AHEAD)
        self.part = pace.part(side)
        self.left = pace.loads.bytes_of(side) + held_bytes
        self.needs = self.left - held_bytes - pace.level_bytes
        self.least = _least_bytes(queue, self.part - 1)


class StageFiller:
    """One pass over some queues; `join` takes an entry out of its queue if it may go."""

    def __init__(
        self,
        queues: Queues,
        room: StageCapacity,
        pace: StagePace,
        execution: Execution,
        join: Callable[[SideQueue, int], bool],
        style: Style = USUAL,
    ) -> None:
        self._room = room
        self._join = join
        self._limit = execution.max_moves_per_broker
        self._slots = execution.max_moves
        self._turns = {
            (urgency, side): _Turn(
                urgency, side, queue, pace, room.held_bytes(side.broker, out=side.out)
            )
            for urgency in queues
            for side, queue in queues[urgency].items()
        }
        self._gathers = style.gathers
        by_side = [(turn.side, turn.queue) for turn in self._turns.values()]
        large = large_bytes(by_side, pace.loads, pace.level_bytes, room.span_bytes, execution)
        self._first_bytes = _first_bytes(style, large, room.span_bytes, pace.largest_bytes)
        self._enough = large is None
        self._owed = _owed_by_broker(pace, self._limit)

    def run(self) -> None:
        """Take what fits, large ones first; then what the kept slots were not needed for."""
        if self._gathers:
            self._gather()
        postponed = self._sweep(self._turns.values(), keeps_slots=bool(self._owed))
        if postponed:
            self._sweep(postponed, keeps_slots=False)

    def _gather(self) -> None:
        """Take the entries that go first, those of most bytes in all their replicas first."""
        first = [
            (turn.urgency, -entry.bytes, turn.side, place)
            for turn in self._turns.values()
            for place, entry in enumerate(turn.queue.entries[: _GATHERED * self._limit])
            if entry is not None and entry.bytes >= self._first_bytes
        ]
        for urgency, _, side, place in sorted(first):
            queue = self._turns[urgency, side].queue
            entry = queue.entries[place]
            if entry is not None and self._room.fits(entry):
                self._join(queue, place)

    def _sweep(self, turns: Iterable[_Turn], *, keeps_slots: bool) -> list[_Turn]:
        room, join = self._room, self._join
        postponed = []
        waiting = [self._key(turn) for turn in turns]
        heapq.heapify(waiting)
        while waiting and not room.full:
            _, _, urgency, _, side = waiting[0]
            turn = self._turns[urgency, side]
            if room.replicas(turn.broker, out=turn.out) >= self._limit:
                heapq.heappop(waiting)
                continue
            if keeps_slots and self._is_kept_out(turn):
                heapq.heappop(waiting)
                postponed.append(turn)
                continue
            cursor, queue, wanted_bytes = turn.cursor, turn.queue, self._wanted_bytes(turn)
            while (place := cursor.next(wanted_bytes, room.fits)) is not None:
                if join(queue, place):
                    cursor.taken(place)
                    heapq.heapreplace(waiting, self._key(turn))
                    break
            else:
                heapq.heappop(waiting)
        return postponed

    def _key(self, turn: _Turn) -> _Key:
        size = turn.cursor.head
        if size >= self._first_bytes:
            return 0, 0, turn.urgency, -size, turn.side
        held = self._room.held_bytes(turn.broker, out=turn.out)
        needed = held < turn.needs
        if self._enough:
            ratio = self._room.span_bytes // max(1, size)
            alike = min(_SMALL, max(0, ratio.bit_length() - 1) // 2)
            return 2 - needed, alike, turn.urgency, -size, turn.side
        left = max(0, turn.left - 2 * held)  # a side that has begun lets others begin
        return 2 - needed, 0, turn.urgency, -left if needed else -left * size, turn.side

    def _is_kept_out(self, turn: _Turn) -> bool:
        """Whether all slots left are reserved for other sides that owe replicas."""
        room, owed = self._room, self._owed
        own = 0 if turn.out else owed.get(turn.broker, 0)
        if room.replicas(turn.broker, out=turn.out) < own:
            return False
        taken = room.replicas_in
        kept = sum([count - taken[b] for b, count in owed.items() if count > taken[b]])
        return bool(kept) and room.in_flight + kept >= self._slots

    def _wanted_bytes(self, turn: _Turn) -> int:
        """How many bytes the side may carry of the next entry."""
        room = self._room
        left = room.span_bytes - room.held_bytes(turn.broker, out=turn.out)
        used = room.replicas(turn.broker, out=turn.out)
        if not used:
            return left
        return left - turn.least * max(0, turn.part - used - 1)


def _first_bytes(style: Style, large: int | None, span_bytes: int, largest_bytes: int) -> int:
    """The size from which on entries go first; `large`: what `large_entries` names, if anything."""
    if style.large_percent is not None:
        return max(1, span_bytes * style.large_percent // 100)
    return near_bytes(min(span_bytes, largest_bytes)) if large is None else large


def _owed_by_broker(pace: StagePace, limit: int) -> dict[int, int]:
    """Replicas that brokers must take in, or more stages are needed; only brokers that must."""
    later = limit * (pace.stages - 1)
    left = pace.loads.replicas_in
    return {broker: count - later for broker, count in left.items() if count > later}


def _least_bytes(queue: SideQueue, count: int) -> int:
    """The size of the largest among the `count` smallest entries."""
    return -queue.keys[max(0, len(queue.keys) - max(1, count))][0]
