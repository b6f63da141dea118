"""Moves by column say what the moves say."""

import pickle
from operator import attrgetter

from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.columns.move_columns import (
    NOBODY,
    ColumnMoves,
    MoveColumns,
    ReplicaLists,
    columns_of_moves,
)
from poolkeeper.model.plans import Move

LISTS = st.lists(st.integers(0, 5), max_size=4).map(tuple)
PATHS = st.lists(LISTS, min_size=1, max_size=4).map(tuple)
MOVES = st.lists(
    st.builds(
        Move,
        st.sampled_from(["b", "a", "a-b"]),
        st.sampled_from([None, "id-1", "id-2"]),
        st.integers(0, 3),
        PATHS,
        st.integers(0, 2**50),
        st.sampled_from(["", "why", "why else"]),
        st.integers(0, 4),
    ),
    max_size=6,
)


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


@examples(60)
@given(MOVES)
def test_moves_in_columns_are_those_moves(moves):
    found = ColumnMoves(MoveColumns.of(moves))
    assert (len(found), bool(found)) == (len(moves), bool(moves))
    assert found[1:3] == tuple(moves[1:3])
    assert tuple(found) == tuple(moves)
    assert found == tuple(moves)
    assert tuple(moves) == found
    assert all(found[at] == each for at, each in enumerate(moves))
    assert hash(found) == hash(tuple(moves))
    assert found != (*moves, Move("c", None, 0, ((1,), (2,)), 0, ""))
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again, ColumnMoves)
    assert again == found
    assert columns_of_moves(found) is found.columns


@examples(60)
@given(st.lists(MOVES, min_size=1, max_size=3))
def test_parts_are_joined_in_their_order_and_merged_in_that_of_plans(parts):
    columns = [MoveColumns.of(moves) for moves in parts]
    every = [move for moves in parts for move in moves]
    assert MoveColumns.joined(columns).moves() == tuple(every)
    wanted = sorted(every, key=attrgetter("urgency", "topic", "partition"))
    assert MoveColumns.merged(columns).moves() == tuple(wanted)


@examples(60)
@given(MOVES)
def test_a_partition_that_moves_twice_is_found(moves):
    places = {(move.topic, move.partition) for move in moves}
    found = MoveColumns.of(moves).are_of_different_partitions()
    assert found == (len(places) == len(moves))
