"""Recognising a request that is stuck."""

import pytest

import builders
from builders import topic
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster, Controller, ReassignmentEntry
from poolkeeper.planning.run_state.move_progress import classify
from poolkeeper.reconcile.decide.stalls import Stall, foreign_stall_of, stall_of

MOVE = Move("t", None, 0, ((1, 2), (3, 2)), 1, "")


def cluster(
    live, entry=(3, 2), adding=(), removing=(), controller=1, topics=True, isr=None
) -> Cluster:
    fields = {"adding": adding, "removing": removing, "isr": live if isr is None else isr}
    requested = None if entry is None else (ReassignmentEntry("t", 0, entry),)
    return builders.cluster(
        (),
        *([topic("t", live, **fields)] if topics else []),
        controller=Controller(controller, 1, 1),
        reassignment=requested,
    )


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(cluster((1, 2)), Stall.IGNORED, id="nothing-was-begun"),
        pytest.param(cluster((3, 2)), Stall.STALE, id="all-is-done"),
        pytest.param(cluster((3, 2), isr=(2,)), None, id="a-replica-is-still-being-copied"),
        pytest.param(cluster((1, 2), topics=False), Stall.STALE, id="the-topic-is-gone"),
        pytest.param(cluster((3, 1, 2)), None, id="an-old-union-is-at-work"),
        pytest.param(cluster((3, 2, 1), adding=(3,), removing=(1,)), None, id="at-work"),
        pytest.param(cluster((1, 2), controller=None), None, id="no-controller-to-blame"),
        pytest.param(cluster((1, 2), entry=None), None, id="no-request"),
    ],
)
def test_a_request_of_ours_is_stuck_or_not(seen, expected):
    assert stall_of((MOVE,), ((0, 1),), classify((MOVE,), seen), seen) is expected


def test_a_request_with_entries_of_somebody_else_is_not_ours_to_judge():
    seen = cluster((1, 2))
    foreign = ReassignmentEntry("u", 0, (1,))
    mixed = Cluster(
        "c", {}, seen.topics, controller=seen.controller, reassignment=(*seen.reassignment, foreign)
    )
    assert stall_of((MOVE,), ((0, 1),), classify((MOVE,), mixed), mixed) is None


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(cluster((3, 2)), Stall.STALE, id="done"),
        pytest.param(cluster((3, 2), isr=(2,)), None, id="a-replica-is-still-being-copied"),
        pytest.param(cluster((3, 2), topics=False), Stall.STALE, id="topic-gone"),
        pytest.param(cluster((1, 2)), None, id="still-to-do"),
        pytest.param(cluster((3, 2, 1), adding=(3,)), None, id="moving"),
        pytest.param(cluster((3, 2), entry=None), None, id="no-request"),
    ],
)
def test_a_foreign_request_is_stale_only_when_all_of_it_is_done(seen, expected):
    assert foreign_stall_of(seen) is expected
