"""The steps that may go next, in the order in which stages should take them.

Each step waits in the queue of its *bottleneck*. A step touches several sides: in on each broker
that it adds, out on its leader. Its bottleneck is the side with most left to carry, in bytes or in
replicas, whichever is the larger part of the busiest side's. Queues hold their steps in descending
order of size and are read from both ends: large ones go first, small ones fill the rest. Of the
steps that heal those go before all others that heal a partition at risk (`entries.AT_RISK`).
"""

import bisect
import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import sub

import numpy as np

from poolkeeper.model.columns.replica_lists import Ints
from poolkeeper.model.plans import Urgency
from poolkeeper.planning.staging.capped_topics import CappedTopics
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.limits import Entry
from poolkeeper.planning.staging.side_loads import SideLoads
from poolkeeper.planning.staging.stage_capacity import StageCapacity

_HEAL = Urgency.HEAL.value


class SideQueue:
    """Steps of one bottleneck and urgency, those first of which the bottleneck carries most.

    `rows`: of the table; those that the backlog has given away are holes.
    `keys`: ascending, the bytes of each that the bottleneck carries, negative.
    `count`: of those that are no holes.
    `sides`: what any of them has in `EntryTable.sides`; a hole may have been the last that had it.
    """

    __slots__ = ("count", "keys", "rows", "sides")

    def __init__(self, keys: list[int], rows: list[int], sides: set[int], count: int) -> None:
        self.keys = keys
        self.rows = rows
        self.sides = sides
        self.count = count

    def without(self, count: int, gone: bytearray, sides: Sequence[int]) -> "SideQueue":
        """A queue without so many steps that are gone now; `sides`: by row."""
        left = SideQueue(self.keys.copy(), self.rows.copy(), self.sides, self.count - count)
        if left.count:
            left.compact(gone, sides)
        return left

    def insert(
        self, key: int, row: int, sides: int, rank: Callable[[int], tuple[int, int]]
    ) -> None:
        """Insert a step in order; `rank`: the order of steps with equal keys."""
        self.sides.add(sides)
        place = bisect.bisect_left(self.keys, key)
        while (
            place < len(self.keys)
            and self.keys[place] == key
            and rank(self.rows[place]) < rank(row)
        ):
            place += 1
        self.keys.insert(place, key)
        self.rows.insert(place, row)
        self.count += 1

    def compact(self, gone: bytearray, sides: Sequence[int]) -> None:
        """Close the holes at both ends; those in between only once they are many."""
        rows = self.rows
        if self.count * 4 <= len(rows) * 3:
            kept = [place for place, row in enumerate(rows) if not gone[row]]
            self.keys = [self.keys[place] for place in kept]
            self.rows = [rows[place] for place in kept]
            self.sides = {sides[row] for row in self.rows}
            return
        first = 0
        while gone[rows[first]]:
            first += 1
        del self.keys[:first], rows[:first]
        while gone[rows[-1]]:
            del self.keys[-1], rows[-1]


class Backlog:
    """All steps that wait, by urgency and bottleneck, and what every side has left.

    The rows of the table are put into the order of the queues.
    `gone`: by row, whether the step was taken.
    `aside`: steps that no stage can have; queues and loads are without them.
    """

    def __init__(self, table: EntryTable) -> None:
        self.table = table
        self.gone = bytearray(len(table))
        self.aside: list[int] = []
        self.all = SideLoads.of_all(table)
        self.healing = SideLoads(table)
        self.healing.count((row for row, each in enumerate(table.urgency) if each <= _HEAL), 1)
        self._stages_of_topics = len(table)
        self._bytes_unit = self.all.busiest_bytes or 1
        self._replicas_unit = self.all.busiest_replicas or 1
        self.queues: dict[int, dict[int, SideQueue]] = defaultdict(dict)
        self._queue_of: list[SideQueue] = []
        if len(table):
            self._queue()
        self.topics = CappedTopics(table)

    def _queue(self) -> None:
        """Put all steps in the queues of their bottlenecks."""
        table = self.table
        sides = 2 * len(table.brokers)
        parts = np.array([self._part(side) for side in range(sides)])
        side = np.array(table.out, dtype=np.int64)
        rows, taker = table.replicas()
        most, first = parts[side], np.searchsorted(rows, np.arange(len(table)))
        count = np.bincount(rows, minlength=len(table))
        for slot in range(int(count.max())):
            some = np.flatnonzero(count > slot)
            other = taker[first[some] + slot]
            more = parts[other] > most[some]
            side[some[more]], most[some[more]] = other[more], parts[other[more]]
        carried = np.where(side % 2 == 1, np.array(table.bytes), np.array(table.size))
        group = np.array(table.urgency, dtype=np.int64) * sides + side
        order = np.lexsort((-carried, group))
        table.sort(order)
        ordered, keys = group[order], (-carried[order]).tolist()
        begins = [0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist(), len(table)]
        for begin, end in pairwise(begins):
            urgency, place = divmod(int(ordered[begin]), sides)
            kinds = set(table.sides[begin:end])
            queue = SideQueue(keys[begin:end], list(range(begin, end)), kinds, end - begin)
            self.queues[urgency][place] = queue
            self._queue_of += [queue] * (end - begin)

    @property
    def heals(self) -> bool:
        """Whether any step that waits heals."""
        return any(urgency <= _HEAL for urgency in self.queues)

    def clone(self) -> "Backlog":
        """A copy to try stages with, to which nothing can be added."""
        other = copy.copy(self)
        other.gone = self.gone.copy()
        other.topics = self.topics.clone()
        other.all, other.healing = self.all.clone(), self.healing.clone()
        return other

    def without(self, taken: Iterable[int]) -> "Backlog":
        """A clone without these steps, whose queues have no holes where they were."""
        other = self.clone()
        count = Counter(id(self._queue_of[row]) for row in taken)
        other.queues = defaultdict(dict)
        for urgency, queues in self.queues.items():
            for side, queue in queues.items():
                if found := count[id(queue)]:
                    queue = queue.without(found, self.gone, self.table.sides)
                if queue.count:
                    other.queues[urgency][side] = queue
        return other

    def adopt(self, clone: "Backlog") -> None:
        """Become like a clone, with which a stage was tried."""
        self.gone, self.topics = clone.gone, clone.topics
        self.all, self.healing = clone.all, clone.healing
        self._stages_of_topics = clone._stages_of_topics

    def lasting_bytes(self, most_of_topic: Ints) -> int:
        """How long the steps that are left last at least: the busiest side, or the slowest topic.

        `most_of_topic`: the caps by topic of the table.
        """
        return self.topics.longest_bytes(most_of_topic, self.gone, self.all.busiest_bytes)

    def first_of_topics(self, most_of_topic: Ints) -> list[int]:
        """The largest steps of the topics that last nearly as long as the busiest side."""
        return self.topics.first(most_of_topic, self.gone, self.all.busiest_bytes)

    def add(self, entry: Entry) -> None:
        """Add a further step of a move, once the one before it is done."""
        row = self.table.append(entry)
        self.gone.append(0)
        self.all.count([row], 1)
        self.topics.add(row)
        self._stages_of_topics += 1
        if entry.urgency <= _HEAL:
            self.healing.count([row], 1)
        side = self._bottleneck(row)
        queue = self.queues[entry.urgency].setdefault(side, SideQueue([], [], set(), 0))
        self._queue_of.append(queue)
        queue.insert(
            -(entry.bytes if side & 1 else entry.size), row, self.table.sides[row], self._rank
        )

    def _rank(self, row: int) -> tuple[int, int]:
        """The order of steps of equal size."""
        return self.table.move[row], self.table.step[row]

    def set_aside(self, rows: Sequence[int]) -> None:
        """Take steps out that no stage can have: before the first stage.

        Among the first of a queue they would be all that is looked at for a stage.
        """
        if not rows:
            return
        for row in rows:
            self.gone[row] = 1
        self.all.count(rows, -1)
        self.healing.count((row for row in rows if self.table.urgency[row] <= _HEAL), -1)
        self.topics.take(rows)
        self.compact(rows)
        self.aside += rows

    def take(self, row: int) -> None:
        """Remove a step from its queue; `settle` counts it out of the loads."""
        self.gone[row] = 1

    def settle(self, room: StageCapacity) -> None:
        """Count what joined the stage since this was done last out of what is left to carry."""
        if not room.uncounted:
            return
        rows, bytes_of, replicas_of = room.take_joined()
        carried, into, urgency = self.table.bytes, self.table.into, self.table.urgency
        self.topics.take(rows)
        self.all.bytes_of = list(map(sub, self.all.bytes_of, bytes_of))
        self.all.replicas_of = list(map(sub, self.all.replicas_of, replicas_of))
        self.all.bytes -= sum([carried[row] for row in rows])
        self.all.replicas -= sum([len(into[row]) or 1 for row in rows])
        if self.heals:
            self.healing.count((row for row in rows if urgency[row] <= _HEAL), -1)

    def stages_of_topics(self, most_of_topic: Ints, enough: int) -> int:
        """The fewest stages that the caps of topics allow, or no more than `enough` if that is.

        `most_of_topic`: the caps by topic of the table. The number is looked at anew only where it
        may be above `enough`, as it never grows.
        """
        if self._stages_of_topics > enough:
            stages = -(-self.topics.left // most_of_topic)
            self._stages_of_topics = int(stages.max(initial=0))
        return self._stages_of_topics

    def everything(self) -> Iterator[int]:
        """All steps that wait, the most urgent first."""
        for _, queues in sorted(self.queues.items()):
            for _, queue in sorted(queues.items()):
                yield from [row for row in queue.rows if not self.gone[row]]

    def compact(self, taken: Iterable[int]) -> None:
        """Close the holes that these steps left, and drop empty queues; between stages only."""
        changed: dict[int, SideQueue] = {}
        for row in taken:
            queue = self._queue_of[row]
            queue.count -= 1
            changed[id(queue)] = queue
        for queue in changed.values():
            if queue.count:
                queue.compact(self.gone, self.table.sides)
        self.topics.compact(self.gone)
        if all(queue.count for queue in changed.values()):
            return
        for urgency, queues in list(self.queues.items()):
            left = {side: queue for side, queue in queues.items() if queue.count}
            if left:
                self.queues[urgency] = left
            else:
                del self.queues[urgency]

    def _bottleneck(self, row: int) -> int:
        found = self.table.out[row]
        most = self._part(found)
        for side in self.table.into[row]:
            part = self._part(side)
            if part > most:
                found, most = side, part
        return found

    def _part(self, side: int) -> float:
        """What the side has left, relative to what the busiest side had at first."""
        return max(
            self.all.bytes_of[side] / self._bytes_unit,
            self.all.replicas_of[side] / self._replicas_unit,
        )
