"""The reassignment algebra, with the vectors of Kafka's tests and of live controllers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.algorithms.reassignments import (
    ReplicaAssignment,
    is_union,
    union,
)

REST = ReplicaAssignment((1, 2, 3))
MOVING = ReplicaAssignment((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3))


@pytest.mark.parametrize(
    ("before", "target", "after"),
    [
        pytest.param(
            ReplicaAssignment((1, 2, 3, 4)),
            (4, 2, 5, 3),
            ReplicaAssignment((4, 2, 5, 3, 1), (5,), (1,)),
            id="one-replica-changes-and-the-order-too",
        ),
        pytest.param(REST, (4, 5, 6), MOVING, id="all-replicas-change"),
        pytest.param(
            MOVING,
            (7, 8, 9),
            ReplicaAssignment((7, 8, 9, 1, 2, 3), (7, 8, 9), (1, 2, 3)),
            id="another-target-drops-the-first-one",
        ),
        pytest.param(
            MOVING,
            (8, 9, 1),
            ReplicaAssignment((8, 9, 1, 2, 3), (8, 9), (2, 3)),
            id="another-target-with-one-of-the-origin",
        ),
        pytest.param(MOVING, (4, 5, 6), MOVING, id="the-same-target-again"),
        pytest.param(MOVING, (1, 2, 3), REST, id="the-origin-cancels"),
        pytest.param(
            REST,
            (3, 4, 2),
            ReplicaAssignment((3, 4, 2, 1), (4,), (1,)),
            id="overlapping-lists",
        ),
        pytest.param(REST, (3, 1, 2), ReplicaAssignment((3, 1, 2)), id="a-reorder-is-no-move"),
        pytest.param(REST, (1, 2), ReplicaAssignment((1, 2, 3), (), (3,)), id="a-replica-less"),
        pytest.param(
            REST, (1, 2, 3, 4), ReplicaAssignment((1, 2, 3, 4), (4,)), id="a-replica-more"
        ),
        pytest.param(
            ReplicaAssignment((1, 2)),
            (2, 99),
            ReplicaAssignment((2, 99, 1), (99,), (1,)),
            id="seen-live-with-a-dead-target",
        ),
        pytest.param(
            REST,
            (1, 1, 2),
            ReplicaAssignment((1, 2, 3), (), (3,)),
            id="a-duplicate-is-forgotten-so-the-request-never-matches",
        ),
        pytest.param(REST, (), ReplicaAssignment((1, 2, 3), (), (1, 2, 3)), id="an-empty-target"),
    ],
)
def test_reassign_to(before, target, after):
    assert before.reassign_to(target) == after


def test_origin_and_target_of_an_overlapping_move():
    """A cancellation cannot restore the order: the origin of [3,4,2,1] reads [3,2,1]."""
    moving = REST.reassign_to((3, 4, 2))
    assert (moving.origin, moving.target) == ((3, 2, 1), (3, 4, 2))
    assert moving.reassign_to(moving.origin) == ReplicaAssignment((3, 2, 1))


@pytest.mark.parametrize(
    ("current", "target", "expected"),
    [
        pytest.param((1, 2), (3, 4), (3, 4, 1, 2), id="all-change"),
        pytest.param((2, 1), (2, 3), (2, 3, 1), id="one-changes"),
        pytest.param((2, 1), (4, 3, 1), (4, 3, 1, 2), id="one-more"),
        pytest.param((1, 2), (2, 1), (2, 1), id="a-reorder"),
        pytest.param((2, 3), (1, 4), (1, 4, 2, 3), id="with-a-dead-target"),
    ],
)
def test_union_as_old_controllers_wrote_it(current, target, expected):
    assert union(current, target) == expected
    assert is_union(expected[::-1], current, target)


@pytest.mark.parametrize(
    ("replicas", "answer"),
    [
        pytest.param((5, 1, 2, 3, 4, 6), True, id="hash-order-of-six"),
        pytest.param((4, 5, 6), False, id="the-target-alone"),
        pytest.param((1, 2, 3, 4, 5, 6, 7), False, id="one-too-many"),
        pytest.param((1, 2, 3, 4, 5, 6, 6), False, id="one-twice"),
    ],
)
def test_a_list_is_the_union_or_not(replicas, answer):
    assert is_union(replicas, (1, 2, 3), (4, 5, 6)) is answer


distinct_lists = st.lists(st.integers(0, 9), unique=True, max_size=6).map(tuple)


@given(distinct_lists, distinct_lists, distinct_lists)
def test_target_is_what_was_asked_and_origin_what_was_there(start, first, second):
    """Target = request; the origin's members never change, however often the target does."""
    state = ReplicaAssignment(start).reassign_to(first)
    again = state.reassign_to(second)
    assert (state.target, again.target) == (first, second)
    assert set(state.origin) == set(again.origin) == set(start)
    assert set(again.replicas) == {*start, *second}


@given(distinct_lists, distinct_lists)
def test_completing_and_cancelling_end_at_rest(start, target):
    """Completion leaves the target, cancellation the origin's set; neither leaves a move."""
    state = ReplicaAssignment(start).reassign_to(target)
    assert state.completed() == ReplicaAssignment(target)
    assert state.reassign_to(start) == ReplicaAssignment(start)


@given(distinct_lists, distinct_lists)
def test_old_union_and_new_algebra_name_the_same_replicas(start, target):
    """The union of 2.3 and R of 2.4 are the same list."""
    assert union(start, target) == ReplicaAssignment(start).reassign_to(target).replicas
