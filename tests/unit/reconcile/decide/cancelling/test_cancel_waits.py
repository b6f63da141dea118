"""What is told of moves that are cancelled or on their way back: a table of values."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.planning.run_state.gates.disks import TargetDisks
from poolkeeper.reconcile.decide.cancelling.cancel import waits
from unit.reconcile.cancelled import (
    AT_WORK,
    BEHIND,
    DEAD,
    ENTRIES,
    LOST,
    NEWER,
    NOW,
    THAWED,
    UNIONS,
    alone,
    at,
)
from unit.reconcile.situations import T0, T1, cluster

R = WaitReason


def held(situation, copied, failed=MappingProxyType({})):
    """What brokers say that they hold, and which of their directories failed."""
    view = replace(situation.view, disks=TargetDisks(copied=copied, failed=failed))
    return replace(situation, view=view)


@pytest.mark.parametrize(
    ("situation", "told"),
    [
        pytest.param(at(AT_WORK), (), id="nobody-asks"),
        pytest.param(
            alone(AT_WORK, **THAWED),
            (
                Wait(R.MOVES_RETURNING, stage=1, count=1),
                Wait(R.ARRIVALS_FIRST, count=1),
                Wait(R.FAILOVER_UNSAFE, cause=Wait(R.MOVES_WITHOUT_REQUEST, count=1)),
            ),
            id="others-go-on-without-a-request",
        ),
        pytest.param(
            at(AT_WORK, stop=NOW, execution={}),
            (Wait(R.CANCEL_NEEDS_FAILOVER, partitions=(T0, T1)),),
            id="a-failover-is-not-allowed",
        ),
        pytest.param(
            at(DEAD, gone=(3,), execution={}),
            (Wait(R.CANCEL_NEEDS_FAILOVER, partitions=(T0, T1), brokers=(3,)),),
            id="nor-for-a-target-that-is-gone",
        ),
        pytest.param(
            at(cluster(UNIONS, isr=LOST, reassignment=ENTRIES), stop=NOW),
            (Wait(R.ORIGIN_NOT_IN_SYNC, partitions=(T0,), replicas=(1, 2), brokers=(1, 2)),),
            id="an-origin-without-replicas-in-sync",
        ),
        pytest.param(
            at(NEWER, returning=(0, 1)),
            (Wait(R.MOVES_RETURNING, stage=1, count=2),),
            id="on-its-way",
        ),
        pytest.param(
            at(BEHIND, returning=(0, 1)),
            (
                Wait(R.MOVES_RETURNING, stage=1, count=2),
                Wait(R.RETURN_BEHIND, partitions=(T0,), brokers=(2,)),
            ),
            id="a-replica-is-behind",
        ),
        pytest.param(
            held(at(BEHIND, returning=(0, 1)), {(T0, 2): 3, (T0, 3): 8, (T1, 2): 9}),
            (
                Wait(R.MOVES_RETURNING, stage=1, count=2),
                Wait(R.RETURN_BEHIND, partitions=(T0,), brokers=(2,), count=3, of=8),
            ),
            id="how-far-it-is-behind",
        ),
        pytest.param(
            held(at(BEHIND, returning=(0, 1)), {(T0, 3): 8, (T1, 2): 9}, {2: {"/d1": "full"}}),
            (
                Wait(R.MOVES_RETURNING, stage=1, count=2),
                Wait(R.LOG_DIR_FAILED, partitions=(T0,), brokers=(2,), path="/d1", detail="full"),
            ),
            id="its-directory-has-failed",
        ),
        pytest.param(
            held(at(BEHIND, returning=(0, 1)), {(T0, 2): 3, (T0, 3): 8}, {2: {"/d1": "full"}}),
            (
                Wait(R.MOVES_RETURNING, stage=1, count=2),
                Wait(R.RETURN_BEHIND, partitions=(T0,), brokers=(2,), count=3, of=8),
            ),
            id="another-directory-has-failed",
        ),
        pytest.param(
            at(replace(BEHIND, brokers=cluster(live=(1, 3)).brokers), returning=(0, 1)),
            (
                Wait(R.MOVES_RETURNING, stage=1, count=2),
                Wait(R.RETURN_NOT_LIVE, partitions=(T0,), brokers=(2,)),
            ),
            id="a-replica-is-not-live",
        ),
        pytest.param(
            at(AT_WORK, returning=(0, 1)),
            (
                Wait(R.MOVES_RETURNING, stage=1, count=2),
                Wait(R.ARRIVALS_FIRST, count=2),
            ),
            id="old-and-unthrottled-arrives-first",
        ),
        pytest.param(
            at(AT_WORK, returning=(0, 1), rates=(100,)),
            (Wait(R.MOVES_RETURNING, stage=1, count=2),),
            id="old-and-throttled-is-frozen",
        ),
    ],
)
def test_what_is_told(situation, told):
    assert waits(situation) == told
