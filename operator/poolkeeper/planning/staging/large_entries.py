"""Which large entries share a stage, at the cost of bytes that the busiest sides could use.

If the bytes of a stage suffice for all, entries near the largest go first: they should run at the
same time, and no side loses by that. If they do not suffice, a large entry of a side with little
left takes bytes from the sides that the plan waits for. If it is postponed, it makes a later stage
last longer, and counts may then keep these sides from using that stage in full. The bound of
`barrier_cost` for the steps that are left weighs the two: entries go first from its size on.
"""

from collections.abc import Iterator, Sequence

from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.barrier_cost import Barrier, LargeEntry, barrier
from poolkeeper.planning.staging.limits import Entry
from poolkeeper.planning.staging.queues import Side, SideLoads, SideQueue

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
    queues: Sequence[tuple[Side, SideQueue]],
    loads: SideLoads,
    level_bytes: int,
    span_bytes: int,
    execution: Execution,
) -> int | None:
    """The size from which on entries go first, or `None` if the bytes of a stage suffice for all.

    `queues`: by bottleneck.
    `level_bytes`: what a side may have left after this stage; the busiest have more now.
    """
    count = execution.max_moves_per_broker
    wanted = sum(
        min(span_bytes, sum(-size for size, _, _ in queue.keys[:count])) for _, queue in queues
    )
    if wanted <= execution.max_bytes:
        return None
    found = [
        _barrier_of(queues, loads, busy, execution)
        for out in (False, True)
        if (busy := _busy(loads, level_bytes, out=out))
    ]
    strongest = max(found, default=Barrier(0, 0))
    return max(strongest.large_bytes, near_bytes(span_bytes))


def _busy(loads: SideLoads, level_bytes: int, *, out: bool) -> frozenset[Side]:
    """The sides of a direction that must carry something now."""
    left = loads.bytes_by(out=out)
    return frozenset(Side(broker, out) for broker, size in left.items() if size > level_bytes)


def _barrier_of(
    queues: Sequence[tuple[Side, SideQueue]],
    loads: SideLoads,
    busy: frozenset[Side],
    execution: Execution,
) -> Barrier:
    """The bound for the steps that are left, for these sides of one direction."""
    count = execution.max_moves_per_broker
    large: list[Entry] = []
    sizes: dict[Side, list[int]] = {side: [] for side in busy}
    for _, queue in queues:
        first = [entry for entry in queue.entries[: _STAGES_MAX * count] if entry is not None]
        large += first[: 2 * count]
        for entry in first:
            for side in _sides(entry, busy):
                sizes[side].append(entry.bytes if side.out else entry.size)
    most = [sorted(found, reverse=True) for found in sizes.values()]
    carried = [
        sum(sum(found[: stages * count]) for found in most) for stages in range(_STAGES_MAX + 1)
    ]
    large.sort(key=lambda entry: -entry.bytes)
    return barrier(
        _large_entries(large, busy, execution.max_bytes),
        sum(loads.bytes_of(side) for side in busy),
        len(busy),
        execution.max_bytes,
        lambda stages: carried[min(stages, _STAGES_MAX)],
    )


def _sides(entry: Entry, busy: frozenset[Side]) -> Iterator[Side]:
    """Those of the sides that carry the entry."""
    if (side := Side(entry.leader, True)) in busy:
        yield side
    for broker in entry.added:
        if (side := Side(broker, False)) in busy:
            yield side


def _large_entries(
    large: Sequence[Entry], busy: frozenset[Side], bytes_max: int
) -> Iterator[LargeEntry]:
    for entry in large:
        if entry.bytes <= bytes_max:  # a larger entry goes alone
            inside = sum(entry.bytes if side.out else entry.size for side in _sides(entry, busy))
            yield LargeEntry(entry.bytes, entry.bytes - inside)
