"""Moves by column say what the moves say."""

from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.columns.move_columns import NOBODY, MoveColumns, ReplicaLists
from poolkeeper.model.plans import Move

LISTS = st.lists(st.integers(0, 5), max_size=4).map(tuple)
PATHS = st.lists(LISTS, min_size=1, max_size=4).map(tuple)


def move(number: int, path: tuple) -> Move:
    return Move(f"t{number}", None, number, path, 10 * number, "why", number % 5)


def lists_of(found: ReplicaLists) -> list[tuple[int, ...]]:
    rows = zip(found.wide().tolist(), found.lengths.tolist(), strict=True)
    return [tuple(row[:held]) for row, held in rows]


@examples(60)
@given(st.lists(PATHS, max_size=5))
def test_columns_say_what_moves_say(paths):
    moves = [move(number, path) for number, path in enumerate(paths)]
    columns = MoveColumns.of(moves)
    assert len(columns) == len(moves)
    assert lists_of(columns.lists) == [replicas for path in paths for replicas in path]
    assert lists_of(columns.sources) == [m.source for m in moves]
    assert lists_of(columns.targets) == [m.target for m in moves]
    assert columns.bytes.tolist() == [m.bytes for m in moves]


@examples(60)
@given(st.lists(PATHS, max_size=5))
def test_steps_add_and_remove_each_broker_once(paths):
    steps = MoveColumns.of([move(number, path) for number, path in enumerate(paths)]).steps()
    found = [
        (at, number, leader, *([b for b in row if b != NOBODY] for row in changed))
        for at, number, leader, *changed in zip(
            steps.move.tolist(),
            steps.number.tolist(),
            steps.leader.tolist(),
            steps.removed.tolist(),
            steps.added.tolist(),
            strict=True,
        )
    ]
    assert found == [
        (
            at,
            number,
            (*path[number - 1], NOBODY)[0],
            sorted({*path[number - 1]} - {*path[number]}),
            sorted({*path[number]} - {*path[number - 1]}),
        )
        for at, path in enumerate(paths)
        for number in range(1, len(path))
    ]
