"""Which entries go first where the bytes of a stage do not suffice for all."""

from dataclasses import replace

import pytest

import builders
from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.filling.filler import USUAL, Style
from poolkeeper.planning.staging.filling.large_entries import near_bytes
from poolkeeper.planning.staging.limits import DEFAULT_BOUNDS
from poolkeeper.planning.staging.queues import Backlog
from poolkeeper.planning.staging.stage_capacity import StageCapacity
from unit.planning.staging.first_stages import first_stage

EXECUTION = Execution(max_moves=100, max_moves_per_broker=10, max_bytes=100)


def table(copies: list[tuple[int, int, int]]) -> EntryTable:
    """Steps by leader, target and size, each of a topic of its own."""
    moves = [
        builders.move(f"t{number:02}", 0, (leader,), (target,), bytes=size)
        for number, (leader, target, size) in enumerate(copies)
    ]
    return EntryTable(moves, builders.cluster({}))


def stage(
    copies: list[tuple[int, int, int]], execution: Execution, style: Style = USUAL
) -> list[int]:
    """The sizes of the steps of the first stage."""
    entries = table(copies)
    rows = first_stage(entries, execution, style, cap=100)
    return sorted((entries.size[row] for row in rows), reverse=True)


def settle(backlog: Backlog, row: int) -> None:
    """Take a step in a stage of its own."""
    caps = [100] * len(backlog.table)
    room = StageCapacity(backlog.table, EXECUTION, DEFAULT_BOUNDS, caps, 100)
    backlog.take(row)
    room.take(row)
    backlog.settle(room)


# Broker 9 is the busiest by far; brokers 5 and 6 have one large entry each and nothing else.
BUSY = [(leader, 9, 20) for leader in range(11, 17)]
IDLE = [(21, 5, 60), (22, 6, 30)]


@pytest.mark.parametrize(
    ("bytes_max", "sizes"),
    [
        pytest.param(1000, [60, 30, 20, 20, 20, 20, 20, 20], id="bytes-enough-for-all"),
        pytest.param(
            120, [60, 20, 20, 20], id="the-busiest-comes-before-what-can-go-along-with-it-later"
        ),
    ],
)
def test_what_a_stage_brings_together(bytes_max, sizes) -> None:
    assert stage(BUSY + IDLE, replace(EXECUTION, max_bytes=bytes_max)) == sizes


def test_where_bytes_are_scarce_a_side_with_much_left_goes_before_a_larger_entry() -> None:
    """Broker 9 must carry something; of what is left, 5 has most to do in all, 6 at once."""
    many = [(leader, 5, 10) for leader in range(22, 28)]
    copies = [(11, 9, 40), (12, 9, 40), (21, 6, 12), *many]
    assert stage(copies, replace(EXECUTION, max_bytes=60)) == [40, 10, 10]


def test_an_entry_of_more_than_half_the_length_of_a_stage_is_near_it() -> None:
    assert [near_bytes(length) for length in (100, 101)] == [51, 51]


def test_a_style_says_which_entries_go_first() -> None:
    scarce = replace(EXECUTION, max_bytes=120)
    assert stage([*IDLE, *BUSY], scarce) == [60, 20, 20, 20]
    assert stage([*IDLE, *BUSY], scarce, Style(1, by_gain=True)) == [60, 30, 20]


def test_a_clone_of_a_backlog_leaves_the_first_as_it_is() -> None:
    backlog = Backlog(table([*IDLE, *BUSY]))
    was = list(backlog.everything())
    clone = backlog.clone()
    assert list(clone.everything()) == was
    settle(clone, was[0])
    assert list(clone.everything()) == was[1:]
    assert list(backlog.everything()) == was
    assert (backlog.all.bytes, clone.all.bytes) == (210, 190)


def test_holes_are_closed_and_empty_queues_dropped() -> None:
    backlog = Backlog(table([*IDLE, *BUSY]))
    rows = list(backlog.everything())
    for count, row in enumerate(rows, 1):
        settle(backlog, row)
        backlog.compact([row])
        assert list(backlog.everything()) == rows[count:]
    assert not backlog.queues
    assert (backlog.all.bytes, backlog.all.replicas) == (0, 0)
