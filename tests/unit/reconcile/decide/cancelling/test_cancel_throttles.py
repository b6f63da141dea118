"""What the throttle of a run is while moves are cancelled by a failover: tables of values."""

from dataclasses import replace

import pytest

from poolkeeper.planning.run_state.reassignments.stalls import STALL_MS
from poolkeeper.reconcile.decide.cancelling.cancel import FAILOVER_PAUSE_MS, FREEZE_MS, decide
from poolkeeper.reconcile.decide.decisions import (
    CancelMoves,
    ChangeThrottle,
    RecordThrottled,
    Watch,
)
from unit.reconcile.cancelled import (
    AT_WORK,
    BACK,
    BEHIND,
    BOTH,
    DEAD,
    ENTRIES,
    IN_SYNC,
    THAWED,
    UNIONS,
    alone,
    at,
    cancel,
)
from unit.reconcile.situations import NOW_MS, cluster

IGNORED = cluster(isr=IN_SYNC, reassignment=ENTRIES)
HALF_IGNORED = cluster((UNIONS[0], (2, 1)), isr=IN_SYNC, reassignment=ENTRIES)

JUST_NOW, A_WHILE_AGO = NOW_MS - FREEZE_MS + 1, NOW_MS - FREEZE_MS


@pytest.mark.parametrize(
    ("situation", "decision"),
    [
        pytest.param(at(AT_WORK, **BOTH), None, id="unthrottled-arrives-first"),
        pytest.param(
            at(AT_WORK, **BOTH, rates=(100,)), ChangeThrottle((1, 100)), id="its-rate-is-recorded"
        ),
        pytest.param(
            at(AT_WORK, **BOTH, rates=(1, 100)),
            ChangeThrottle((1,), written=True),
            id="and-written",
        ),
        pytest.param(
            at(AT_WORK, **BOTH, rates=(200, 100)),
            ChangeThrottle((200,), written=True),
            id="another-change-is-finished-first",
        ),
        pytest.param(at(AT_WORK, **BOTH, rates=(1,)), RecordThrottled(), id="its-time-is-recorded"),
        pytest.param(at(AT_WORK, **BOTH, rates=(1,), throttled_ms=JUST_NOW), None, id="it-settles"),
        pytest.param(
            at(AT_WORK, **BOTH, rates=(1,), throttled_ms=A_WHILE_AGO),
            cancel(0, 1),
            id="nothing-arrives-any-more",
        ),
        pytest.param(
            at(AT_WORK, returning=(1,), rates=(100,)), None, id="what-goes-on-arrives-first"
        ),
        pytest.param(
            at(DEAD, returning=(0, 1), gone=(3,), rates=(100,)),
            cancel(0, 1),
            id="what-hangs-cannot-arrive",
        ),
        pytest.param(
            at(IGNORED, returning=(0, 1), age_ms=STALL_MS), None, id="the-controller-may-begin"
        ),
        pytest.param(
            at(IGNORED, **BOTH),
            cancel(0, 1),
            id="what-it-never-began-cannot",
        ),
        pytest.param(
            at(HALF_IGNORED, **BOTH),
            None,
            id="what-it-began-arrives-first",
        ),
        pytest.param(
            at(DEAD, returning=(0, 1), gone=(3,), attempts=1, age_ms=FAILOVER_PAUSE_MS - 1),
            None,
            id="the-next-controller-has-time",
        ),
        pytest.param(
            at(DEAD, returning=(0, 1), gone=(3,), attempts=1, age_ms=FAILOVER_PAUSE_MS),
            cancel(0, 1),
            id="and-no-more-than-that",
        ),
    ],
)
def test_before_2_4_nothing_arrives_during_a_failover(situation, decision):
    decided = decide(situation)
    assert (decided.throttle if isinstance(decided, Watch) else decided) == decision


_ARRIVED = cluster(UNIONS, isr={0: (3, 1), 1: (3, 1)}, reassignment=ENTRIES)
DEMANDING = replace(
    _ARRIVED, topics={"t": replace(_ARRIVED.topics["t"], config={"min.insync.replicas": "2"})}
)
"""Both have arrived at broker 3 while 2 is behind: without 3 too few would be in sync."""
FROZEN = {"returning": (0, 1), "rates": (1,), "declared_rate": 100}


@pytest.mark.parametrize(
    ("situation", "change"),
    [
        pytest.param(
            at(BEHIND, **FROZEN, age_ms=FAILOVER_PAUSE_MS),
            ChangeThrottle((100, 1)),
            id="a-broker-of-the-origin-is-behind",
        ),
        pytest.param(
            at(BEHIND, **FROZEN, age_ms=FAILOVER_PAUSE_MS - 1),
            None,
            id="the-controller-before-may-still-write",
        ),
        pytest.param(
            at(replace(BEHIND, brokers=DEAD.brokers), **FROZEN, age_ms=FAILOVER_PAUSE_MS),
            ChangeThrottle((100, 1)),
            id="whatever-became-of-the-target",
        ),
        pytest.param(
            at(
                replace(BEHIND, brokers=cluster(live=(1, 3)).brokers),
                **FROZEN,
                age_ms=FAILOVER_PAUSE_MS,
            ),
            None,
            id="who-is-not-live-does-not-catch-up",
        ),
        pytest.param(
            at(DEMANDING, **FROZEN, age_ms=FAILOVER_PAUSE_MS),
            ChangeThrottle((100, 1)),
            id="nor-can-be-cancelled-until-it-is-in-sync",
        ),
        pytest.param(
            at(
                replace(DEMANDING, brokers=cluster(live=(1, 3)).brokers),
                **FROZEN,
                gone=(),
                age_ms=FAILOVER_PAUSE_MS,
            ),
            None,
            id="nor-returns-before-it-is-live",
        ),
        pytest.param(
            at(cluster(UNIONS, isr=IN_SYNC, reassignment=BACK), **FROZEN, age_ms=FAILOVER_PAUSE_MS),
            None,
            id="nobody-is-behind",
        ),
        pytest.param(
            at(BEHIND, **{**FROZEN, "rates": (50,)}, age_ms=FAILOVER_PAUSE_MS),
            None,
            id="its-throttle-was-not-lowered",
        ),
    ],
)
def test_a_throttle_that_was_lowered_keeps_no_origin_behind(situation, change):
    decided = decide(situation)
    assert (decided.throttle if isinstance(decided, Watch) else decided) == change


COPIED_OUT = cluster(UNIONS, isr={0: (1, 2), 1: (2, 3, 1)})
STILL = {"rates": (1,), "throttled_ms": A_WHILE_AGO, "declared_rate": 100}


@pytest.mark.parametrize(
    ("situation", "decision"),
    [
        pytest.param(
            alone(AT_WORK, **STILL, age_ms=STALL_MS),
            ChangeThrottle((100, 1)),
            id="it-is-raised-for-them",
        ),
        pytest.param(alone(AT_WORK, **THAWED), None, id="and-not-lowered-again"),
        pytest.param(
            alone(COPIED_OUT, **THAWED),
            ChangeThrottle((1, 100)),
            id="until-nothing-is-copied-there",
        ),
        pytest.param(
            alone(COPIED_OUT, **STILL, age_ms=STALL_MS),
            CancelMoves((0,), ((0, 1),), (0,), by_brokers=False, may_fail_over=True),
            id="and-then-it-fails-over",
        ),
    ],
)
def test_a_throttle_that_was_lowered_keeps_no_others_from_arriving(situation, decision):
    decided = decide(situation)
    assert (decided.throttle if isinstance(decided, Watch) else decided) == decision
