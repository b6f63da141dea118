"""How far moves between log directories are, and which may begin now."""

from dataclasses import replace

import pytest

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import LogDir, TopicPartition
from poolkeeper.planning.run_state.progress.log_dir_copies import (
    CopyLimits,
    CopyProgress,
    classify_copies,
    due_copies,
)
from unit.reconcile.log_dir_situations import (
    AWAY,
    LEFT,
    LIMITS,
    STEPS,
    UNKNOWN,
    UNREADABLE,
    A,
    B,
    D,
    F,
    P,
    cluster,
    states,
)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(cluster(), CopyProgress(P), id="where-it-was"),
        pytest.param(cluster(at={0: B}), CopyProgress(D, 10), id="there"),
        pytest.param(cluster((0,)), CopyProgress(F, 4), id="on-its-way"),
        pytest.param(cluster(at={0: "/c"}), CopyProgress(LEFT), id="somewhere-else"),
        pytest.param(cluster(at={0: ""}), CopyProgress(UNKNOWN), id="its-broker-says-nothing"),
        pytest.param(cluster(brokers=(2,)), CopyProgress(AWAY), id="its-broker-is-not-live"),
        pytest.param(
            cluster(more={1: {"arriving": {TopicPartition("t", 0): "/c"}}}),
            CopyProgress(LEFT),
            id="somebody-sends-it-elsewhere",
        ),
        pytest.param(
            cluster(more={1: {"failed_log_dirs": {B: "storage error"}}}),
            CopyProgress(LEFT),
            id="the-target-failed",
        ),
        pytest.param(
            cluster(at={0: ""}, more={1: {"failed_log_dirs": {A: "storage error"}}}),
            CopyProgress(LEFT),
            id="the-source-failed",
        ),
        pytest.param(
            replace(cluster(), topics={}, damaged={"t": "/x: hidden"}),
            CopyProgress(UNREADABLE, unreadable="/x: hidden"),
            id="its-topic-cannot-be-read",
        ),
        pytest.param(
            replace(cluster((0,)), topics={}, damaged={"t": "/x: hidden"}),
            CopyProgress(F, 4),
            id="nor-can-it-be-while-it-is-on-its-way",
        ),
    ],
)
def test_how_far_a_move_is(seen, expected):
    assert classify_copies(STEPS[:1], seen, {(TopicPartition("t", 0), 1): 4}) == (expected,)


@pytest.mark.parametrize(
    ("arriving", "progress", "limits", "due"),
    [
        pytest.param((), [P] * 6, LIMITS, (0, 1, 4, 5), id="each-broker-two-at-a-time"),
        pytest.param((0,), [F, *[P] * 5], LIMITS, (1, 4, 5), id="what-is-in-flight-counts"),
        pytest.param((3,), [P] * 3 + [LEFT] + [P] * 2, LIMITS, (0, 4, 5), id="and-what-others-do"),
        pytest.param((), [P] * 6, CopyLimits(2, 3), (0, 1, 4), id="three-of-the-cluster"),
        pytest.param((), [P] * 6, CopyLimits(9, 9, 25), (0, 1), id="so-many-bytes"),
        pytest.param((), [P] * 6, CopyLimits(9, 9, 5), (0,), id="one-however-large-it-is"),
        pytest.param((0, 1, 4, 5), [F, F, P, P, F, F], LIMITS, (), id="all-are-busy"),
        pytest.param((), [D, D, P, P, AWAY, AWAY], LIMITS, (2, 3), id="a-broker-away"),
    ],
)
def test_which_may_begin(arriving, progress, limits, due):
    assert due_copies(STEPS, states(*progress), cluster(arriving), limits) == (due, ())


def test_a_directory_without_room_is_named_and_holds_up_no_other():
    room = {1: {"log_dirs": {A: LogDir(), B: LogDir(100, 15)}}}
    due, waits = due_copies(STEPS, states(*[P] * 6), cluster(more=room), CopyLimits(9, 9))
    assert due == (0, 4, 5)
    full = WaitReason.LOG_DIRS_FULL
    assert waits == tuple(
        Wait(full, brokers=(1,), partitions=(TopicPartition("t", p),), count=15, of=20)
        for p in (1, 2, 3)
    )
