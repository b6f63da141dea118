"""What is left of a stage: what is told of many steps agrees with what is told of each."""

from hypothesis import given
from hypothesis import strategies as st

import builders
from laws import examples
from poolkeeper.model.specs import Execution
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.limits import DEFAULT_BOUNDS
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
