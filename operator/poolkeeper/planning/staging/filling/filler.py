"""Fills one stage so that all stages together last hardly longer than they must.

Stages of the ZooKeeper path are barriers: each lasts as long as its slowest broker. The sum of the
stages' lengths comes close to the busiest broker's bytes if that broker never waits for others. So:

1. *Span*: the most bytes that a broker takes in or gives out in the stage. It is the busiest
   broker's bytes left, divided by the fewest stages that the limits of counts allow, plus one
   replica of usual size; or the largest single entry if that is more. Limits of counts are those of
   brokers, of the cluster and of each topic: if one topic needs many stages, the rest of the plan
   is kept for them, or brokers have nothing to do beside its last ones.
2. *Large entries together*: sizes have a long tail, and an entry above the usual span sets the
   length of its stage alone. Meanwhile all other brokers may carry as much, so the queues give
   their largest entries first. Entries of similar size (within a factor of about four, or all far
   below the span) go by urgency. Then come the sides that must carry something now, because
   otherwise they would have more left after the stage than the busiest side (or, where the bytes of
   a stage are limited, than the level that all sides can be brought down to).
   These look further for steps that fit than the others, as what they do not carry now prolongs
   the plan. If the bytes of a stage do not suffice for all, other rules hold. Only the entries that
   `large_entries` names go first. Then go the sides that must carry something, those with most left
   first, and then the sides with much left and large entries.
3. *Counts keep pace*: every side carries its part of its replicas in every stage. So it reserves
   what its smallest entries need of its span to fill that part. Slots of the cluster's limit are
   reserved for the sides that must use all of theirs in each remaining stage.
4. *Slow topics*: the largest entries of a topic whose cap makes it last nearly as long as the
   busiest side go before all others (`capped_topics`).

While few entries set the lengths of stages, no single *style* of weighing these suits all plans.
Then `packer` tries several. Where a side falls short of what it must carry, `packer` fills the
stage again with that side first.
"""

import heapq
from collections.abc import Callable, Iterable
from typing import NamedTuple

from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.filling.cursor import Cursor
from poolkeeper.planning.staging.filling.gains import take_most
from poolkeeper.planning.staging.filling.large_entries import large_bytes, near_bytes
from poolkeeper.planning.staging.filling.pace import Queues, StagePace
from poolkeeper.planning.staging.queues import Backlog, SideQueue
from poolkeeper.planning.staging.stage_capacity import StageCapacity

_LOOK_AHEAD = 12
"""Steps tried without success at either end of a queue per stage."""

_LOOK_FAR = 200
"""The same for sides that must carry something now, once no large step sets the stage's length."""

_SMALL = 4
"""Steps below the span by 4 to this power count as alike."""

_DEPTH = 5
"""Steps of a queue among which those are looked for that gain most, by the limit per broker."""

_Key = tuple[int, int, int, int, int]


class Style(NamedTuple):
    """Which entries go first: those of a part of the span, or those that `large_entries` names.

    `large_percent`: that part, in percent.
    `by_gain`: then those go that `gains` names, before each queue has its turn.
    `span_percent`: the span, in percent of the usual one. A longer span lets two large entries of
    one side share a stage.
    `first_sides`: they go before all others until they carry what they must.
    """

    large_percent: int | None = None
    by_gain: bool = False
    span_percent: int = 100
    first_sides: frozenset[int] = frozenset()


USUAL = Style()


class _QueueTurn:
    """One queue while a stage is filled, and what its side should carry.

    `part`: replicas that the side should give or take; `left`: bytes that it had when the stage
    began; `needs`: bytes, or the side ends above the level; `least`: the size of the largest of the
    small steps that fill the part.
    """

    __slots__ = ("cursor", "least", "left", "most", "needs", "part", "queue", "side", "urgency")

    def __init__(
        self, urgency: int, side: int, queue: SideQueue, pace: StagePace, held_bytes: int
    ) -> None:
        self.urgency = urgency
        self.side = side
        self.queue = queue
        left = pace.loads.bytes_of[side]
        self.part = -(-pace.loads.replicas_of[side] // pace.stages)
        self.left = left + held_bytes
        self.needs = left - pace.level_bytes
        keys = queue.keys
        self.most = -keys[0]
        self.least = -keys[max(0, len(keys) - max(1, self.part - 1))]
        self.cursor: Cursor


class StageFiller:
    """One pass over some queues; `join` takes a step out of its queue if it may go."""

    def __init__(
        self,
        backlog: Backlog,
        queues: Queues,
        room: StageCapacity,
        pace: StagePace,
        execution: Execution,
        join: Callable[[int], bool],
        style: Style = USUAL,
    ) -> None:
        self._backlog = backlog
        self._room = room
        self._join = join
        self._limit = execution.max_moves_per_broker
        self._slots = execution.max_moves
        self._turns = [
            _QueueTurn(urgency, side, queue, pace, room.held[side])
            for urgency in queues
            for side, queue in queues[urgency].items()
        ]
        far = _LOOK_AHEAD if pace.is_scarce else _LOOK_FAR
        for turn in self._turns:
            look_ahead = far if turn.needs > 0 else _LOOK_AHEAD
            turn.cursor = Cursor(turn.queue, backlog, room, look_ahead)
        self._pace = pace
        self._style = style
        by_side = [(turn.side, turn.queue) for turn in self._turns]
        large = large_bytes(
            backlog, by_side, pace.loads, pace.level_bytes, room.span_bytes, execution
        )
        self._first_bytes = _first_bytes(style, large, room.span_bytes, pace.largest_bytes)
        self._enough = large is None
        self._owed = _owed_by_side(pace, self._limit)
        self._owed_most = sum(self._owed.values())

    def run(self) -> None:
        """Take what fits, large ones first; then what the kept slots were not needed for."""
        for row in self._pace.first:
            if not self._backlog.gone[row] and self._room.fits(row):
                self._join(row)
        if self._style.by_gain:
            queues = [(turn.urgency, turn.queue) for turn in self._turns]
            first, depth = self._first_bytes, _DEPTH * self._limit
            take_most(self._backlog, queues, self._pace, self._room, first, depth, self._join)
        postponed = self._sweep(self._turns, keeps_slots=bool(self._owed))
        if postponed:
            self._sweep(postponed, keeps_slots=False)

    def _sweep(self, turns: Iterable[_QueueTurn], *, keeps_slots: bool) -> list[_QueueTurn]:
        room, join, limit = self._room, self._join, self._limit
        held, replicas, span = room.held, room.replicas, room.span_bytes
        postponed = []
        waiting = [(self._key(turn), turn) for turn in turns]  # no two keys are equal
        heapq.heapify(waiting)
        while waiting and not room.full:
            turn = waiting[0][1]
            side, cursor = turn.side, turn.cursor
            used = replicas[side]
            if used >= limit:
                heapq.heappop(waiting)
                continue
            if keeps_slots and self._is_kept_out(side):
                heapq.heappop(waiting)
                postponed.append(turn)
                continue
            wanted = left = span - held[side]
            if not used:
                # The first of a side may be larger than the span.
                left = span if room.is_span_firm else turn.most
            elif turn.part > used + 1:
                wanted -= turn.least * (turn.part - used - 1)
            while (row := cursor.next(wanted, left)) is not None:
                if join(row):
                    cursor.taken()
                    heapq.heapreplace(waiting, (self._key(turn), turn))
                    break
            else:
                heapq.heappop(waiting)
        return postponed

    def _key(self, turn: _QueueTurn) -> _Key:
        """The order of turns: of a queue that goes next, the least."""
        size = turn.cursor.head
        held = self._room.held[turn.side]
        needed = held < turn.needs
        if needed and turn.side in self._style.first_sides:
            return -1, 0, turn.urgency, -size, turn.side
        if size >= self._first_bytes:
            return 0, 0, turn.urgency, -size, turn.side
        if self._enough:
            ratio = self._room.span_bytes // (size or 1)
            alike = min(_SMALL, (ratio.bit_length() - 1) // 2) if ratio else 0
            return 2 - needed, alike, turn.urgency, -size, turn.side
        left = max(0, turn.left - 2 * held)  # a side that has begun lets others begin
        return 2 - needed, 0, turn.urgency, -left if needed else -left * size, turn.side

    def _is_kept_out(self, side: int) -> bool:
        """Whether all slots left are reserved for other sides that owe replicas."""
        room, owed = self._room, self._owed
        if room.in_flight + self._owed_most < self._slots:
            return False
        taken = room.replicas
        if taken[side] < owed.get(side, 0):
            return False
        kept = sum([count - taken[s] for s, count in owed.items() if count > taken[s]])
        return bool(kept) and room.in_flight + kept >= self._slots


def _first_bytes(style: Style, large: int | None, span_bytes: int, largest_bytes: int) -> int:
    """The size from which on steps go first; `large`: what `large_entries` names, if anything."""
    if style.large_percent is not None:
        return max(1, span_bytes * style.large_percent // 100)
    return near_bytes(min(span_bytes, largest_bytes)) if large is None else large


def _owed_by_side(pace: StagePace, limit: int) -> dict[int, int]:
    """Replicas that sides must take in, or more stages are needed; only sides that must."""
    later = limit * (pace.stages - 1)
    left = pace.loads.replicas_of
    return {2 * place: n - later for place, n in enumerate(left[::2]) if n > later}
