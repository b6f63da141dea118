"""Which large entries share a stage, at the cost of bytes that the busiest sides could use.

If the bytes of a stage suffice for all, entries near the largest go first: they should run at the
same time, and no side loses by that. If they do not suffice, a large entry of a side with little
left takes bytes from the sides that the plan waits for. If it is postponed, it makes a later stage
last longer, and counts may then keep these sides from using that stage in full. The bound of
`barrier_cost` for the steps that are left weighs the two: entries go first from its size on.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate

from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.barrier_cost import Barrier, LargeEntry, barrier
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.queues import Backlog, SideQueue
from poolkeeper.planning.staging.side_loads import SideLoads

_STAGES_MAX = 15
"""How far ahead is looked."""

_NEAR = 2
"""An entry of more than the length of a stage over this is near it."""


def near_bytes(length_bytes: int) -> int:
    """The size from which on an entry is near the length of a stage.

    Smaller entries fit in later stages, while slots of this stage are scarce.
    """
    return length_bytes // _NEAR + 1


def large_bytes(
    backlog: Backlog,
    queues: Sequence[tuple[int, SideQueue]],
    loads: SideLoads,
    level_bytes: int,
    span_bytes: int,
    execution: Execution,
) -> int | None:
    """The size from which on steps go first, or `None` if the bytes of a stage suffice for all.

    `queues`: by bottleneck.
    `level_bytes`: what a side may have left after this stage; the busiest have more now.
    """
    count = execution.max_moves_per_broker
    wanted = sum([min(span_bytes, -sum(queue.keys[:count])) for _, queue in queues])
    if wanted <= execution.max_bytes:
        return None
    found = [
        _barrier_of(backlog, queues, loads, busy, execution)
        for out in (0, 1)
        if (busy := _busy(loads, level_bytes, out))
    ]
    strongest = max(found, default=Barrier(0, 0))
    return max(strongest.large_bytes, near_bytes(span_bytes))


def _busy(loads: SideLoads, level_bytes: int, out: int) -> list[int]:
    """The sides of a direction that must carry something now; `out`: 0 for in, 1 for out."""
    left = loads.bytes_of
    return [side for side in range(out, len(left), 2) if left[side] > level_bytes]


def _barrier_of(
    backlog: Backlog,
    queues: Sequence[tuple[int, SideQueue]],
    loads: SideLoads,
    busy: Sequence[int],
    execution: Execution,
) -> Barrier:
    """The bound for the steps that are left, for these sides of one direction."""
    count, gone, table = execution.max_moves_per_broker, backlog.gone, backlog.table
    large: list[int] = []
    sizes: dict[int, list[int]] = {side: [] for side in busy}
    for _, queue in queues:
        first = [row for row in queue.rows[: _STAGES_MAX * count] if not gone[row]]
        large += first[: 2 * count]
        for row in first:
            if (found := sizes.get(table.out[row])) is not None:
                found.append(table.bytes[row])
            for side in table.into[row]:
                if (found := sizes.get(side)) is not None:
                    found.append(table.size[row])
    most = [[0, *accumulate(sorted(found, reverse=True))] for found in sizes.values()]
    carried = [
        sum([found[min(stages * count, len(found) - 1)] for found in most])
        for stages in range(_STAGES_MAX + 1)
    ]
    large.sort(key=lambda row: -table.bytes[row])
    return barrier(
        _large_entries(table, large, sizes.keys(), execution.max_bytes),
        sum(loads.bytes_of[side] for side in busy),
        len(busy),
        execution.max_bytes,
        lambda stages: carried[min(stages, _STAGES_MAX)],
    )


def _large_entries(
    table: EntryTable, large: Sequence[int], busy: Collection[int], bytes_max: int
) -> Iterator[LargeEntry]:
    for row in large:
        carried = table.bytes[row]
        if carried <= bytes_max:  # a larger one goes alone
            inside = sum(table.size[row] for side in table.into[row] if side in busy)
            yield LargeEntry(carried, carried - inside - (carried if table.out[row] in busy else 0))
