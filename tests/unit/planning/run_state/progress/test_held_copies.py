"""For how long moves between log directories are left alone that came to nothing."""

from dataclasses import replace

import pytest

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import MoveLogDir
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.progress.held_copies import (
    ASKS_MAX,
    PAUSE_MAX_MS,
    PAUSE_MS,
    Asks,
    abandoned_copies,
    after_run,
    waits_of_held,
)
from poolkeeper.planning.run_state.progress.log_dir_copies import CopyProgress, CopyState

STEPS = tuple(MoveLogDir("t", p, 1, "/a", "/b", 10) for p in range(2))
UNDONE = Wait(
    WaitReason.LOG_DIR_MOVE_UNDONE,
    partitions=(TopicPartition("t", 0),),
    brokers=(1,),
    count=ASKS_MAX,
)
REFUSED = Wait(
    WaitReason.LOG_DIR_MOVE_REFUSED,
    partitions=(TopicPartition("t", 0),),
    brokers=(1,),
    detail="no",
)
STALLED = replace(UNDONE, reason=WaitReason.LOG_DIR_MOVE_STALLED)
NOW_MS = 1000


@pytest.mark.parametrize(
    ("state", "asks", "expected"),
    [
        pytest.param(CopyState.PENDING, ASKS_MAX, {0}, id="asked-for-in-vain"),
        pytest.param(CopyState.PENDING, ASKS_MAX - 1, set(), id="once-more"),
        pytest.param(CopyState.IN_FLIGHT, ASKS_MAX, set(), id="on-its-way"),
        pytest.param(CopyState.DONE, ASKS_MAX, set(), id="there"),
        pytest.param(CopyState.AWAY, ASKS_MAX, set(), id="its-broker-is-away"),
    ],
)
def test_what_is_given_up(state, asks, expected):
    progress = (CopyProgress(state), CopyProgress(CopyState.PENDING))
    assert abandoned_copies(progress, {0: Asks(asks)}) == expected


@pytest.mark.parametrize(
    ("asks", "wait"),
    [
        pytest.param(Asks(ASKS_MAX), UNDONE, id="taken-back"),
        pytest.param(Asks(ASKS_MAX, "no"), REFUSED, id="refused"),
        pytest.param(Asks(ASKS_MAX, stalled=True), STALLED, id="stalled"),
    ],
)
def test_a_move_is_held_with_the_reason_and_no_other(asks, wait):
    holds = after_run({}, STEPS, {0: asks}, frozenset({0}), NOW_MS)
    assert waits_of_held(holds, STEPS, NOW_MS + PAUSE_MS - 1) == {0: wait}
    assert waits_of_held(holds, STEPS, NOW_MS + PAUSE_MS) == {}
    assert waits_of_held(holds, STEPS[1:], NOW_MS) == {}
    grown = replace(STEPS[0], bytes=99)
    assert waits_of_held(holds, (STEPS[1], grown), NOW_MS) == {1: wait}


def test_pauses_double_up_to_a_limit_and_begin_anew_after_a_long_peace():
    holds, now_ms, pauses = {}, NOW_MS, []
    for _ in range(8):
        holds = after_run(holds, STEPS, {0: Asks(ASKS_MAX)}, frozenset({0}), now_ms)
        [hold] = holds.values()
        pauses.append(hold.until_ms - now_ms)
        now_ms = hold.until_ms
    assert pauses[:3] == [PAUSE_MS, 2 * PAUSE_MS, 4 * PAUSE_MS]
    assert pauses[-2:] == [PAUSE_MAX_MS, PAUSE_MAX_MS]
    assert after_run(holds, STEPS, {}, frozenset(), now_ms + PAUSE_MAX_MS) == {}
    again_ms = now_ms + PAUSE_MAX_MS
    holds = after_run(holds, STEPS, {0: Asks(ASKS_MAX)}, frozenset({0}), again_ms)
    assert [hold.pause_ms for hold in holds.values()] == [PAUSE_MS]
