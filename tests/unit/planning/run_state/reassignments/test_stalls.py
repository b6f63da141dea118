"""Recognising a request that is stuck."""

from dataclasses import replace

import pytest

import builders
from builders import topic
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    ReassignmentEntry,
    RequestDamage,
    RequestFlaw,
)
from poolkeeper.planning.run_state.progress.move_progress import MoveState, classify
from poolkeeper.planning.run_state.reassignments.requests import Stall
from poolkeeper.planning.run_state.reassignments.stalls import foreign_stall_of, stall_of

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
        pytest.param(cluster((3, 1, 2), isr=(1, 2)), None, id="an-old-union-is-at-work"),
        pytest.param(cluster((3, 1, 2)), Stall.IGNORED, id="an-old-union-would-be-done"),
        pytest.param(
            replace(cluster((3, 1, 2), isr=(1, 2)), kafka_version="2.8.2"),
            Stall.IGNORED,
            id="a-newer-controller-would-record-it",
        ),
        pytest.param(cluster((1, 2), entry=(5, 6)), Stall.IGNORED, id="it-was-replaced"),
        pytest.param(
            cluster((3, 2, 1), adding=(3,), removing=(1,), isr=(1, 2)), None, id="at-work"
        ),
        pytest.param(
            cluster((3, 2, 1), adding=(3,), removing=(1,)),
            Stall.IGNORED,
            id="in-sync-and-not-ended",
        ),
        pytest.param(cluster((1, 2), controller=None), None, id="no-controller-to-blame"),
        pytest.param(cluster((1, 2), entry=None), None, id="no-request"),
    ],
)
def test_a_request_of_ours_is_stuck_or_not(seen, expected):
    seen = replace(seen, brokers={number: Broker(number) for number in range(1, 7)})
    assert stall_of((MOVE,), ((0, 1),), classify((MOVE,), seen), seen) is expected


AT_WORK = topic("u", (1, 2, 3), isr=(1, 2))


@pytest.mark.parametrize(
    ("seen", "added", "expected"),
    [
        pytest.param(cluster((1, 2)), ("no", (1,)), Stall.IGNORED, id="ours-untouched"),
        pytest.param(cluster((3, 2)), ("no", (1,)), Stall.STALE, id="ours-done-theirs-nowhere"),
        pytest.param(
            cluster((3, 2)), ("u", (4, 5)), Stall.IGNORED, id="ours-done-theirs-not-begun"
        ),
        pytest.param(cluster((3, 2)), ("u", (3, 1)), None, id="ours-done-theirs-at-work"),
        pytest.param(cluster((3, 1, 2), isr=(1, 2)), ("no", (1,)), None, id="ours-at-work"),
        pytest.param(cluster((3, 1, 2)), ("no", (1,)), Stall.IGNORED, id="ours-would-be-done"),
        pytest.param(
            cluster((1, 2), entry=None), ("no", (1,)), Stall.STALE, id="ours-is-not-in-it"
        ),
        pytest.param(
            cluster((1, 2), entry=None), ("u", (2, 1)), Stall.IGNORED, id="theirs-would-be-done"
        ),
        pytest.param(cluster((5, 3, 2)), ("no", (1,)), Stall.IGNORED, id="the-topic-is-another"),
        pytest.param(
            cluster((5, 3, 2), isr=(5,)), ("no", (1,)), None, id="which-may-be-on-its-way"
        ),
        pytest.param(cluster((3, 2), entry=(5, 6)), None, Stall.IGNORED, id="ours-was-edited"),
        pytest.param(cluster((3, 2), entry=None), ("no", (1,)), Stall.STALE, id="theirs-alone"),
    ],
)
def test_entries_that_somebody_added_to_ours_end_nothing(seen, added, expected):
    entries = seen.reassignment or ()
    if added is not None:
        entries += (ReassignmentEntry(added[0], 0, added[1]),)
    topics = {**seen.topics, "u": AT_WORK}
    brokers = {number: Broker(number) for number in range(1, 7)}
    mixed = replace(seen, topics=topics, brokers=brokers, reassignment=entries)
    assert stall_of((MOVE,), ((0, 1),), classify((MOVE,), mixed), mixed) is expected


DAMAGE = RequestDamage(RequestFlaw.NOT_JSON, "the node is empty")


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(cluster((3, 2)), Stall.STALE, id="done"),
        pytest.param(cluster((3, 2), isr=(2,)), None, id="a-replica-is-still-being-copied"),
        pytest.param(cluster((3, 2), topics=False), Stall.STALE, id="topic-gone"),
        pytest.param(cluster((1, 2)), Stall.IGNORED, id="not-begun"),
        pytest.param(cluster((3, 2, 1), adding=(3,), removing=(1,)), None, id="moving"),
        pytest.param(cluster((3, 2), entry=None), None, id="no-request"),
        pytest.param(cluster((1, 2), entry=()), Stall.STALE, id="no-replicas"),
        pytest.param(cluster((1, 2), entry=(3, 3)), Stall.STALE, id="ids-twice"),
        pytest.param(cluster((1, 2), entry=(9, 2)), Stall.STALE, id="unknown-broker-not-begun"),
        pytest.param(
            cluster((9, 2, 1), (9, 2), adding=(9,), removing=(1,), isr=(1, 2)),
            Stall.UNREACHABLE,
            id="unknown-broker",
        ),
        pytest.param(
            cluster((4, 2, 1), (4, 2), adding=(4,), removing=(1,), isr=(1, 2)),
            None,
            id="a-broker-that-may-come-back",
        ),
        pytest.param(
            replace(cluster((1, 2), entry=None), reassignment=(), request_damage=(DAMAGE,)),
            Stall.STALE,
            id="unreadable",
        ),
        pytest.param(
            replace(cluster((1, 2), entry=None), reassignment=()), Stall.STALE, id="no-entry"
        ),
        pytest.param(
            cluster((4, 2), (4, 2), isr=(2,)), None, id="a-list-that-may-be-growing-up-to-2-3"
        ),
        pytest.param(
            replace(cluster((4, 2), (4, 2), isr=(2,)), kafka_version="2.8.2"),
            Stall.IGNORED,
            id="which-later-releases-would-say",
        ),
        pytest.param(
            replace(cluster((9, 2), (2, 9), isr=(2,)), kafka_version="2.8.2"),
            Stall.IGNORED,
            id="another-order-waits-for-no-broker",
        ),
        pytest.param(cluster((1, 2), controller=None), None, id="no-controller-to-blame"),
    ],
)
def test_a_foreign_request_is_stuck_when_nothing_of_it_is_at_work(seen, expected):
    seen = replace(seen, brokers={number: Broker(number) for number in (1, 2, 3)})
    assert foreign_stall_of(seen, frozenset({1, 2, 3, 4})) is expected


@pytest.mark.parametrize(
    ("isr", "version", "expected"),
    [
        pytest.param((1, 2), "2.8.2", Stall.STALE, id="a-newer-controller-would-record-it"),
        pytest.param((1, 2, 3), "2.0.1", Stall.STALE, id="an-old-one-would-have-ended-it"),
        pytest.param((1, 2), "2.0.1", None, id="an-old-one-may-still-copy"),
        pytest.param((1, 2), None, None, id="of-an-unknown-release"),
    ],
)
def test_a_request_is_stuck_though_another_move_of_the_stage_lost_its_entry(isr, version, expected):
    moves = MOVE, Move("u", None, 0, ((1, 2), (3, 2)), 1, "")
    done = cluster((3, 2))
    orphan = topic("u", (3, 1, 2), isr=isr)
    seen = replace(done, topics={**done.topics, "u": orphan}, kafka_version=version)
    seen = replace(seen, brokers={number: Broker(number) for number in range(1, 4)})
    progress = classify(moves, seen)
    assert progress[1].state is MoveState.ORPHANED
    assert stall_of(moves, ((0, 1), (1, 1)), progress, seen) is expected
