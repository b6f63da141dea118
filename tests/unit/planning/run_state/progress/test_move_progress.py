"""The table of move states, row by row, on both families of Kafka versions."""

import pytest

from builders import cluster, partition, topic
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster, Partition, ReassignmentEntry, Topic
from poolkeeper.planning.run_state.progress.move_progress import (
    MoveProgress,
    MoveState,
    classify,
    waits_for_nodes,
)

PATH = ((1, 2), (3, 4))
GROWTH = ((1, 2), (1, 2, 3), (1, 2, 3, 4))
SHRINK = ((1, 2, 3), (1, 2))
REORDER = ((1, 2), (2, 1))


def cluster_with(partition: Partition | None, entry: tuple[int, ...] | None, **other) -> Cluster:
    partitions = () if partition is None else (partition,)
    requested = None if entry is None else (ReassignmentEntry("t", 0, entry),)
    found = {"reassignment": requested, **other}
    return cluster((), topic("t", *partitions, topic_id="id-1"), **found)


def live(*replicas: int, **fields) -> Partition:
    return partition(0, *replicas, **fields)


@pytest.mark.parametrize(
    ("path", "partition", "entry", "expected"),
    [
        pytest.param(PATH, live(1, 2), None, (MoveState.PENDING, 0), id="untouched"),
        pytest.param(PATH, live(3, 4), None, (MoveState.DONE, 1), id="arrived"),
        pytest.param(PATH, live(1, 2), (3, 4), (MoveState.IN_FLIGHT, 0), id="not-picked-up-yet"),
        pytest.param(
            PATH,
            live(3, 4, 1, 2, adding=(3, 4), removing=(1, 2)),
            (3, 4),
            (MoveState.IN_FLIGHT, 0),
            id="under-way-with-adding-and-entry",
        ),
        pytest.param(
            PATH,
            live(3, 4, 1, 2, adding=(3, 4), removing=(1, 2), isr=(1, 2, 3)),
            None,
            (MoveState.IN_FLIGHT, 0),
            id="under-way-though-the-request-was-deleted",
        ),
        pytest.param(
            PATH,
            live(3, 4, 1, 2, adding=(3, 4), removing=(1, 2)),
            None,
            (MoveState.UNENDED, 0),
            id="its-controller-would-have-ended-it",
        ),
        pytest.param(
            PATH,
            live(5, 4, 1, 2, adding=(5, 4), removing=(1, 2)),
            None,
            (MoveState.DIVERGED, -1),
            id="moved-elsewhere-by-somebody-else",
        ),
        pytest.param(
            PATH, live(4, 3, 2, 1), (3, 4), (MoveState.IN_FLIGHT, 0), id="old-union-with-entry"
        ),
        pytest.param(
            PATH,
            live(3, 4, 1, 2, removing=(1, 2)),
            (3, 4),
            (MoveState.IN_FLIGHT, 0),
            id="old-union-that-a-newer-controller-took-over",
        ),
        pytest.param(
            PATH,
            live(3, 4, 5, 1, 2, removing=(5, 1, 2)),
            (3, 4),
            (MoveState.DIVERGED, -1),
            id="somebody-else-s-union-taken-over",
        ),
        pytest.param(
            PATH, live(4, 3, 2, 1), None, (MoveState.ORPHANED, 0), id="old-union-without-entry"
        ),
        pytest.param(PATH, live(3, 4), (3, 4), (MoveState.ZOMBIE, 1), id="entry-for-what-is-live"),
        pytest.param(PATH, live(1, 2), (5, 6), (MoveState.DIVERGED, -1), id="foreign-entry"),
        pytest.param(PATH, live(4, 3), None, (MoveState.DIVERGED, -1), id="target-in-wrong-order"),
        pytest.param(PATH, live(7, 8), None, (MoveState.DIVERGED, -1), id="somewhere-else"),
        pytest.param(
            GROWTH, live(1, 2, 3), None, (MoveState.PENDING, 1), id="first-step-of-a-growth-done"
        ),
        pytest.param(
            GROWTH,
            live(1, 2, 3),
            (1, 2, 3),
            (MoveState.ZOMBIE, 1),
            id="old-growth-union-equals-its-target",
        ),
        pytest.param(
            GROWTH,
            live(1, 2, 3, isr=(2, 1)),
            (1, 2, 3),
            (MoveState.IN_FLIGHT, 0),
            id="old-growth-is-still-copied",
        ),
        pytest.param(
            GROWTH,
            live(1, 2, 3, isr=(2, 3)),
            (1, 2, 3),
            (MoveState.ZOMBIE, 1),
            id="old-growth-has-arrived-and-another-is-behind",
        ),
        pytest.param(
            GROWTH,
            live(1, 2, 3, 4, adding=(4,), isr=(1, 2, 3)),
            None,
            (MoveState.IN_FLIGHT, 1),
            id="second-step-of-a-growth",
        ),
        pytest.param(SHRINK, live(1, 2, 3), None, (MoveState.PENDING, 0), id="shrink-not-begun"),
        pytest.param(
            SHRINK,
            live(1, 2, 3, removing=(3,)),
            (1, 2),
            (MoveState.IN_FLIGHT, 0),
            id="shrink-under-way",
        ),
        pytest.param(REORDER, live(2, 1), None, (MoveState.DONE, 1), id="reordered"),
        pytest.param(REORDER, live(1, 2), (2, 1), (MoveState.IN_FLIGHT, 0), id="reorder-asked"),
    ],
)
def test_a_move_is_classified_by_what_is_live(path, partition, entry, expected):
    move = Move("t", "id-1", 0, path, 0, "")
    assert classify((move,), cluster_with(partition, entry)) == (MoveProgress(*expected),)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param({"topics": {}}, MoveState.GONE, id="topic-deleted"),
        pytest.param({"topics": {"t": Topic("t", (live(1, 2),), "id-2")}}, MoveState.GONE, id="id"),
        pytest.param({"torn": frozenset({"t"})}, MoveState.UNKNOWN, id="torn"),
        pytest.param(
            {"topics": {}, "damaged": {"t": "empty"}}, MoveState.UNREADABLE, id="topic-node-damaged"
        ),
        pytest.param(
            {"topics": {"t": Topic("t", (), "id-1")}}, MoveState.DIVERGED, id="partition-missing"
        ),
    ],
)
def test_a_topic_that_went_away_or_was_torn_ends_or_postpones_its_move(other, expected):
    move = Move("t", "id-1", 0, PATH, 0, "")
    assert classify((move,), cluster_with(live(1, 2), None, **other)) == (MoveProgress(expected),)


@pytest.mark.parametrize(
    ("entry", "at"), [((3, 4), 0), ((1, 2), -1), ((5, 6), -1), (None, -1)], ids=str
)
def test_of_a_topic_that_cannot_be_read_the_request_alone_tells(entry, at):
    move = Move("t", "id-1", 0, PATH, 0, "")
    seen = cluster_with(None, entry, topics={}, damaged={"t": "empty"})
    (found,) = classify((move,), seen)
    assert found == MoveProgress(MoveState.UNREADABLE, at)
    assert found.is_at_work == (at == 0)
    (wait,) = waits_for_nodes((move,), (found,), seen)
    assert (wait.topic, wait.partitions, wait.detail) == ("t", (move.name,), "empty")
