"""What is decided about a run that would end, while replicas that it added are still copied."""

from dataclasses import replace

import pytest

import builders
from builders import pool_spec
from poolkeeper.model.execution.runs import Ending, Phase, Saved
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Throttle, ThrottleMode
from poolkeeper.reconcile.decide.decisions import DoNothing, EnterPhase, MissingInput
from poolkeeper.reconcile.decide.run import decide
from unit.reconcile.situations import (
    AFTER,
    NOW_MS,
    RUN,
    SOUGHT,
    T0,
    T1,
    between,
    cluster,
    desired,
)

R = WaitReason
ASKED = {"ending_read": True}
THROTTLED = Saved({"t": {}}, {1: {}, 2: {}, 3: {}})
BEGUN = replace(RUN, stage=1)
ONE_BEHIND = cluster(AFTER, isr={0: (2,)})


def ending_early(ending, run=BEGUN, seen=ONE_BEHIND, ending_read=True):
    """A throttled run that ends while a replica on broker 3 is behind."""
    run = replace(run, rates=(100,), requested_ms=NOW_MS - 60_000)
    at = between(seen, run, ending_read=ending_read, ending=ending)
    at = replace(at, document=replace(at.document, saved=THROTTLED))
    return replace(at, desired=desired(throttle=Throttle(ThrottleMode.FIXED, 100)))


def unloadable(*lists, **more):
    """A cluster whose brokers cannot load the config of t."""
    seen = cluster(*lists, **more)
    spoiled = replace(seen.topics["t"], config={"retention.ms": "a week"})
    return replace(seen, topics={"t": spoiled})


WITHOUT_3 = builders.desired(pool_spec("p", 1, 2, cluster="c"), name="c")


@pytest.mark.parametrize(
    ("at", "decision"),
    [
        pytest.param(
            between(cluster(AFTER, isr={0: (2,), 1: (2,)}), **ASKED),
            DoNothing((Wait(R.REPLICA_NOT_IN_SYNC, partitions=(T0, T1), brokers=(3,)),)),
            id="it-is-where-it-shall-be-and-still-copied",
        ),
        pytest.param(
            replace(
                between(cluster(AFTER, isr={0: (2,)}), replace(RUN, rates=(100,)), **ASKED),
                desired=desired(throttle=Throttle(ThrottleMode.FIXED, 500)),
            ),
            EnterPhase(Phase.THROTTLING, rates=(500, 100)),
            id="at-another-rate-if-one-is-declared",
        ),
        pytest.param(
            between(cluster(AFTER, isr={0: (2,)}, live=(1, 2)), **ASKED),
            EnterPhase(Phase.ELECTING, Ending.FINISHED),
            id="a-broker-that-died-after-it-had-arrived-is-not-waited-for",
        ),
        pytest.param(
            between(cluster(AFTER, isr={0: (3,)}), **ASKED),
            EnterPhase(Phase.ELECTING, Ending.FINISHED),
            id="nor-is-one-that-was-behind-before",
        ),
        pytest.param(
            between(unloadable(((3, 2), (2, 1)), isr={0: (2,)}), **SOUGHT | {"stage": None}),
            DoNothing((Wait(R.REPLICA_NOT_IN_SYNC, partitions=(T0,), brokers=(3,)),)),
            id="so-it-is-where-all-else-stays",
        ),
        pytest.param(
            ending_early(Ending.STOPPED),
            DoNothing((Wait(R.REPLICA_NOT_IN_SYNC, partitions=(T0,), brokers=(3,)),)),
            id="a-person-s-stop-keeps-the-throttles-of-what-is-copied",
        ),
        pytest.param(
            ending_early(Ending.REPLACED),
            DoNothing((Wait(R.REPLICA_NOT_IN_SYNC, partitions=(T0,), brokers=(3,)),)),
            id="so-does-a-run-that-is-replaced",
        ),
        pytest.param(
            ending_early(None, replace(RUN, stage=1, ending=Ending.STOPPED), ending_read=False),
            MissingInput.ENDING,
            id="a-run-that-others-stopped-may-be-rolled-back-meanwhile",
        ),
        pytest.param(
            ending_early(Ending.ROLLED_BACK, replace(RUN, stage=1, ending=Ending.STOPPED)),
            EnterPhase(Phase.RESTORING, Ending.STOPPED),
            id="and-then-it-ends",
        ),
        pytest.param(
            ending_early(Ending.ROLLED_BACK),
            EnterPhase(Phase.RESTORING, Ending.ROLLED_BACK),
            id="a-rollback-does-not-wait-for-copies",
        ),
        pytest.param(
            replace(ending_early(Ending.STOPPED), desired=desired(stage_deadline_s=1)),
            EnterPhase(Phase.RESTORING, Ending.STOPPED),
            id="nor-does-a-stop-after-the-deadline",
        ),
        pytest.param(
            replace(ending_early(Ending.STOPPED), desired=WITHOUT_3),
            EnterPhase(Phase.RESTORING, Ending.STOPPED),
            id="nor-for-a-broker-that-nobody-wants-any-more",
        ),
        pytest.param(
            between(cluster(AFTER, isr={0: (2,)}), ending_read=True, ending=Ending.STOPPED),
            EnterPhase(Phase.RESTORING, Ending.STOPPED),
            id="nor-without-throttles",
        ),
        pytest.param(
            ending_early(Ending.STOPPED, seen=cluster(((1, 2, 3), (2, 1)), isr={0: (1, 2)})),
            DoNothing((Wait(R.REPLICA_NOT_IN_SYNC, partitions=(T0,), brokers=(3,)),)),
            id="a-move-that-lost-its-request-is-copied-all-the-same",
        ),
        pytest.param(
            ending_early(
                Ending.STOPPED, seen=cluster(AFTER, live=(1, 3), isr={0: (2,)}, leaders={0: 2})
            ),
            EnterPhase(Phase.RESTORING, Ending.STOPPED),
            id="without-a-live-leader-nothing-is",
        ),
    ],
)
def test_a_run_keeps_its_throttles_while_anything_is_copied(at, decision):
    assert decide(at) == decision
