"""Moves that lost their request, told from lists alone."""

from dataclasses import replace

import pytest

import builders
from builders import partition, topic
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import Cluster, Partition, ReassignmentEntry, TopicPartition
from poolkeeper.planning.run_state.reassignments.orphans import (
    FINISHED_AT_ONCE_MAX,
    Orphan,
    Orphans,
    find,
)

RACKS = {1: "a", 2: "b", 3: "a", 4: "b", 5: "c", 6: "c"}
T0 = TopicPartition("t", 0)
PAIR = (partition(1, 1, 2), partition(2, 2, 1))


def cluster(*partitions: Partition, kafka: str | None = "2.0.1", **more) -> Cluster:
    made = builders.cluster(RACKS, topic("t", *partitions), **more)
    return replace(made, kafka_version=kafka)


@pytest.mark.parametrize(
    ("seen", "declared", "expected"),
    [
        pytest.param(cluster(partition(0, 1, 2), *PAIR), None, [], id="all-alike"),
        pytest.param(
            cluster(partition(0, 3, 4, 1, 2), *PAIR),
            None,
            [Orphan(T0, (3, 4, 1, 2), (3, 4))],
            id="a-union",
        ),
        pytest.param(
            cluster(partition(0, 3, 2, 1), *PAIR), None, [Orphan(T0, (3, 2, 1), (3, 2))], id="three"
        ),
        pytest.param(
            cluster(partition(0, 3, 4, 1, 2, isr=(1, 2, 4)), *PAIR),
            None,
            [Orphan(T0, (3, 4, 1, 2), (3, 4), (3,))],
            id="not-in-sync-yet",
        ),
        pytest.param(
            cluster(partition(0, 99, 4, 1, 2, isr=(1, 2, 4)), *PAIR),
            None,
            [Orphan(T0, (99, 4, 1, 2), (4, 1))],
            id="its-target-is-dead",
        ),
        pytest.param(
            cluster(partition(0, 99, 4, 1, 2, isr=(1,)), *PAIR),
            None,
            [Orphan(T0, (99, 4, 1, 2), (99, 4), (99, 4))],
            id="too-few-are-in-sync",
        ),
        pytest.param(
            cluster(partition(0, 1, 3, 5, 2, 4, 6), partition(1, 1, 2, 5)),
            None,
            [Orphan(T0, (1, 3, 5, 2, 4, 6), (1, 5, 2))],
            id="a-long-union-is-in-no-order",
        ),
        pytest.param(cluster(partition(0, 3, 4, 1, 2)), None, [], id="nothing-to-compare-it-with"),
        pytest.param(cluster(partition(0, 3, 4, 1, 2)), 2, [], id="declared-anew"),
        pytest.param(
            cluster(partition(0, 3, 4, 1, 2), *PAIR),
            1,
            [Orphan(T0, (3, 4, 1, 2), (3, 4))],
            id="not-to-what-is-declared-anew",
        ),
        pytest.param(
            cluster(partition(0, 3, 4, 1, 2), *PAIR),
            3,
            [Orphan(T0, (3, 4, 1, 2), (3, 4, 1))],
            id="more-than-declared",
        ),
        pytest.param(cluster(partition(0, 3, 4, 1, 2), *PAIR), 4, [], id="as-declared"),
        pytest.param(
            cluster(partition(0, 3, 2, 1), partition(1, 1, 2)),
            None,
            [Orphan(T0, (3, 2, 1), (3, 2))],
            id="on-a-tie-the-fewer",
        ),
        pytest.param(
            cluster(partition(0, 1, 2), partition(1, 1, 2, 3), partition(2, 2, 3, 1)),
            None,
            [],
            id="most-have-more",
        ),
        pytest.param(
            cluster(
                partition(0, 3, 4, 1, 2), *PAIR, reassignment=(ReassignmentEntry("t", 0, (3, 4)),)
            ),
            None,
            [],
            id="its-request-is-there",
        ),
        pytest.param(
            cluster(partition(0, 3, 4, 1, 2), *PAIR, deleting=frozenset({"t"})),
            None,
            [],
            id="being-deleted",
        ),
        pytest.param(
            cluster(partition(0, 3, 4, 1, 2), *PAIR, kafka="2.8.2"), None, [], id="recorded"
        ),
        pytest.param(
            cluster(partition(0, 3, 4, 1, 2), *PAIR, kafka=None), None, [], id="who-knows"
        ),
    ],
)
def test_what_lost_its_request(seen, declared, expected):
    assert list(find(seen, None if declared is None else {"t": declared}).found) == expected


def test_what_a_run_moves_is_its_own():
    seen = cluster(partition(0, 3, 4, 1, 2), *PAIR)
    assert find(seen, None, {T0}) == Orphans(certain=True)


IN_SYNC, BEHIND = Orphan(T0, (3, 4, 1, 2), (3, 4)), Orphan(T0, (3, 4, 1, 2), (3, 4), (3,))


@pytest.mark.parametrize(
    ("orphans", "due", "wait"),
    [
        (Orphans((IN_SYNC,), True), (), Wait(WaitReason.ORPHANED_MOVES, partitions=(T0,))),
        (
            Orphans((IN_SYNC,), False, True),
            (),
            Wait(WaitReason.ORPHANED_MOVES, partitions=(T0,), path="spec.kafkaVersion"),
        ),
        (
            Orphans((IN_SYNC,), True, True),
            (IN_SYNC,),
            Wait(WaitReason.ORPHANED_MOVES_AWAITED, partitions=(T0,)),
        ),
        (
            Orphans((BEHIND,), True, True),
            (),
            Wait(WaitReason.ORPHANED_MOVES_AWAITED, partitions=(T0,), brokers=(3,)),
        ),
    ],
    ids=["not-allowed", "the-release-is-not-known", "due", "not-in-sync"],
)
def test_what_is_done_and_told(orphans, due, wait):
    assert (orphans.due(), orphans.waits()) == (due, (wait,))


def test_a_request_is_bounded():
    many = tuple(
        Orphan(TopicPartition("t", n), (3, 4, 1, 2), (3, 4))
        for n in range(FINISHED_AT_ONCE_MAX + 1)
    )
    assert Orphans(many, True, True).due() == many[:-1]
    assert Orphans().waits() == ()
