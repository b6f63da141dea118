"""What is left of a stage: what is told of many steps agrees with what is told of each."""

from hypothesis import given
from hypothesis import strategies as st

import builders
from laws import examples
from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.filling.cursor import Cursor
from poolkeeper.planning.staging.limits import DEFAULT_BOUNDS
from poolkeeper.planning.staging.queues import Backlog
from poolkeeper.planning.staging.stage_capacity import StageCapacity

lists = st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True).map(tuple)


@examples(150)
@given(
    st.lists(st.tuples(lists, lists, st.integers(0, 3)), min_size=1, max_size=12),
    st.integers(1, 3),
    st.data(),
)
def test_no_step_fits_that_touches_a_blocked_side(moves, most, data) -> None:
    named = [
        builders.move(f"t{number}", 0, source, target, bytes=size * 6)
        for number, (source, target, size) in enumerate(moves)
        if source != target
    ]
    table = EntryTable(named, builders.cluster({}))
    if data.draw(st.booleans()) and len(table):
        table.append(table.entry(0))
    execution = Execution(max_moves=100, max_moves_per_broker=most, max_bytes=2**60)
    caps = [100] * len(table.topics)
    room = StageCapacity(table, execution, DEFAULT_BOUNDS, caps, 2**60)
    for row in data.draw(st.permutations(range(len(table)))):
        touched = {table.out[row], *table.into[row]} if table.into[row] else set()
        full = {side for side in touched if room.replicas[side] >= most}
        assert bool(table.sides[row] & room.blocked) == bool(full)
        if room.fits(row):
            assert not full
            room.take(row)


def stage_of_two_sizes() -> tuple[EntryTable, StageCapacity, Backlog]:
    """One leader's steps: two of 6 bytes, then three of 3."""
    sizes = [6, 6, 3, 3, 3]
    moves = [
        builders.move(f"t{number}", 0, (1,), (10 + number,), bytes=size)
        for number, size in enumerate(sizes)
    ]
    table = EntryTable(moves, builders.cluster({}))
    execution = Execution(max_moves=100, max_moves_per_broker=9, max_bytes=2**60)
    backlog = Backlog(table)
    room = StageCapacity(table, execution, DEFAULT_BOUNDS, [100] * len(table.topics), 2**60)
    return table, room, backlog


def offered(cursor: Cursor, table: EntryTable, wanted_bytes: int, bytes_max: int) -> int | None:
    """The bytes of the next step, which is taken."""
    row = cursor.next(wanted_bytes, bytes_max)
    if row is None:
        return None
    cursor.taken()
    return table.bytes[row]


def test_steps_that_were_too_large_at_first_are_offered_once_smaller_ones_are_gone() -> None:
    table, room, backlog = stage_of_two_sizes()
    (queue,) = [each for sides in backlog.queues.values() for each in sides.values()]
    cursor = Cursor(queue, backlog, room, 12)
    found = [offered(cursor, table, 4, 9) for _ in range(6)]
    assert found == [3, 3, 3, 6, 6, None]


def test_steps_above_what_the_bottleneck_can_carry_are_not_offered() -> None:
    table, room, backlog = stage_of_two_sizes()
    (queue,) = [each for sides in backlog.queues.values() for each in sides.values()]
    cursor = Cursor(queue, backlog, room, 12)
    assert [offered(cursor, table, 4, 5) for _ in range(4)] == [3, 3, 3, None]
    assert offered(cursor, table, 9, 9) == 6
