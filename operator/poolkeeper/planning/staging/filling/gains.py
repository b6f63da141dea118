"""Steps that carry most for the sides that must carry something in this stage.

A side has a *need*: the bytes that it must carry now, or it has more left after the stage than the
level that all should come down to. A step *gains* what it adds to the needs that are not met yet,
over all sides that it touches. A step into three busy brokers gains three times as much as one of
the same size into a busy and two idle ones. So the needs of all sides are met in few slots, where a
queue looks only at the needs of its own side.

What a step gains never grows while others join. So the steps wait in a heap by what they gained
when that was counted last, at first by what they can gain at most: their bytes, given and taken.
Only the first of them is counted anew.
"""

import heapq
from collections.abc import Callable, Sequence

from poolkeeper.planning.staging.filling.pace import StagePace
from poolkeeper.planning.staging.queues import Backlog, SideQueue
from poolkeeper.planning.staging.stage_capacity import StageCapacity


def take_most(
    backlog: Backlog,
    queues: Sequence[tuple[int, SideQueue]],
    pace: StagePace,
    room: StageCapacity,
    first_bytes: int,
    depth: int,
    join: Callable[[int], bool],
) -> None:
    """Let the steps of at least `first_bytes` join, the largest first, then those that gain most.

    `queues`: with their urgencies.
    `depth`: how many steps of each queue are looked at.
    """
    table, gone, held = backlog.table, backlog.gone, room.held
    into, out, size, carried = table.into, table.out, table.size, table.bytes
    needs = [max(0, left - pace.level_bytes) for left in pace.loads.bytes_of]

    def gain(row: int) -> int:
        giver = out[row]
        found = min(carried[row], max(0, needs[giver] - held[giver]))
        for side in into[row]:
            if (lacks := needs[side] - held[side]) > 0:
                found += min(size[row], lacks)
        return found

    waiting = []
    for urgency, queue in queues:
        for row in queue.rows[:depth]:
            if not gone[row]:
                small = carried[row] < first_bytes
                at_most = 2 * carried[row] if small else carried[row]
                waiting.append((urgency, small, -at_most, row))
    heapq.heapify(waiting)
    while waiting and not room.full:
        urgency, small, counted, row = heapq.heappop(waiting)
        if table.sides[row] & room.blocked or not room.fits(row):
            continue
        now = -gain(row) if small else counted
        if now == counted < 0:
            join(row)
        elif now < 0:
            heapq.heappush(waiting, (urgency, small, now, row))
