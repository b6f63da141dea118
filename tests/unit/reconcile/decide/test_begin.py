"""Whether a run begins: a table of values, nothing is read or written."""

from dataclasses import replace

import pytest

from poolkeeper.errors import RefusalReason
from poolkeeper.model.execution.refusals import HopelessMove
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Throttle, ThrottleMode, Window
from poolkeeper.model.topology import StrayLog
from poolkeeper.planning.run_state.progress.staying_moves import StayingMoves
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.decide.begin import decide_begin, staying_at_begin, waits_of_held
from poolkeeper.reconcile.decide.decisions import BeginRun, ComputeStage, DoNothing
from poolkeeper.reconcile.decide.run import decide
from unit.reconcile.situations import (
    BEFORE,
    NOW_MS,
    PLAN,
    RUN,
    T0,
    T1,
    between,
    cluster,
    desired,
    requested,
)

R = WaitReason
ASKED = {"ending_read": True}
ALL = Authority(steps=True, plans=None)
NIGHT = Window("0 22 * * *", 3600)
CLOSED = Wait(R.OUTSIDE_WINDOW, until="1970-01-01 22:00 UTC")


@pytest.mark.parametrize(
    ("authority", "wanted", "more", "decision"),
    [
        pytest.param(ALL, {}, {}, BeginRun(), id="it-may-begin"),
        pytest.param(
            Authority(plans=frozenset({PLAN.hash})), {}, {}, BeginRun(), id="this-plan-is-approved"
        ),
        pytest.param(
            Authority(steps=True),
            {},
            {},
            DoNothing((Wait(R.APPROVAL_REQUIRED, hash=PLAN.hash),)),
            id="nobody-approved",
        ),
        pytest.param(
            ALL, {}, {"stopped": True}, DoNothing((Wait(R.STOPPED_BY_PERSON),)), id="stopped"
        ),
        pytest.param(
            replace(ALL, settling=True), {}, {}, DoNothing((Wait(R.SETTLING),)), id="still-arriving"
        ),
        pytest.param(
            Authority(plans=frozenset({PLAN.hash}), settling=True),
            {},
            {},
            BeginRun(),
            id="who-approved-knows-what",
        ),
        pytest.param(
            ALL, {"windows": (NIGHT,)}, {}, DoNothing((CLOSED,)), id="outside-of-its-windows"
        ),
        pytest.param(
            ALL,
            {"restart_lock": "/lock"},
            {"seen": cluster(restart_locked=True)},
            DoNothing((Wait(R.RESTART_LOCKED, path="/lock"),)),
            id="brokers-are-being-restarted",
        ),
    ],
)
def test_whether_a_run_begins(authority, wanted, more, decision):
    seen, stopped = more.get("seen", cluster()), more.get("stopped", False)
    found = decide_begin(PLAN, desired(**wanted), authority, seen, NOW_MS, stopped=stopped)
    assert found == decision


DEAD = Wait(R.TARGET_NOT_LIVE, partitions=(T0, T1), brokers=(3,))


@pytest.mark.parametrize(("live", "waits"), [((1, 2), (DEAD,)), ((1, 2, 3), ())])
def test_moves_that_all_wait_for_a_dead_target_are_told_of_before_a_run_begins(live, waits):
    """It would have throttles for as long, which also slow who has to catch up."""
    assert waits_of_held(PLAN, desired(), cluster(live=live), frozenset()) == waits


def test_a_run_begins_for_the_moves_that_may_go():
    first, second = PLAN.moves
    mixed = replace(PLAN, moves=(first._replace(path=(first.path[0], (9, 2))), second))
    assert waits_of_held(mixed, desired(), cluster(), frozenset()) == ()


@pytest.mark.parametrize("gone", [frozenset(), frozenset({1})])
def test_who_is_gone_for_good_and_kept_is_waited_for_without_a_run(gone):
    keeping = replace(PLAN, moves=(PLAN.moves[0]._replace(path=((1, 2), (1, 3))),))
    seen = cluster(live=(2, 3), leaders={0: 2, 1: 2}, isr={0: (2,), 1: (2,)})
    dead = Wait(R.TARGET_NOT_LIVE, partitions=(T0,), brokers=(1,))
    assert waits_of_held(keeping, desired(), seen, gone) == ((dead,) if gone else ())


@pytest.mark.parametrize("larger", [False, True])
def test_logs_that_a_person_has_to_look_at_are_waited_for_without_a_run(larger):
    """What brokers are about to tell is known soon."""
    seen, log = cluster(), StrayLog(9, 1)
    stays = {T0: log, T1: log} if larger else {}
    third = replace(seen.brokers[3], stray_logs=stays, silent=not larger)
    seen = replace(seen, brokers={**seen.brokers, 3: third})
    found = waits_of_held(PLAN, desired(), seen, frozenset())
    assert {wait.reason for wait in found} == ({R.TARGET_LOG_LARGER} if larger else set())


def test_moves_that_could_never_catch_up_stay_and_say_their_numbers():
    seen = cluster()
    busy = seen.topics["t"].partitions[0]._replace(in_bytes_per_s=200.0)
    topic = replace(seen.topics["t"], partitions=(busy, *seen.topics["t"].partitions[1:]))
    seen = replace(seen, topics={"t": topic})
    slow = desired(throttle=Throttle(ThrottleMode.FIXED, 100))
    assert decide_begin(PLAN, slow, ALL, seen, NOW_MS, stopped=False) == BeginRun()
    left = range(len(PLAN.moves))
    ((m, wait),) = staying_at_begin(PLAN, left, (), slow, seen, {}).moves.items()
    assert PLAN.moves[m].name == T0
    assert wait.refusal.reason is RefusalReason.THROTTLE_TOO_LOW
    assert wait.refusal.facts == (HopelessMove(T0, 200.0, 100),)
    assert staying_at_begin(PLAN, left, (), desired(), seen, {}) == StayingMoves()


def test_a_request_of_others_closes_the_gate_also_for_what_the_run_would_request_next():
    same = cluster(BEFORE, reassignment=requested((3, 2), (2, 3)))
    waits = decide(between(same, **ASKED)).waits
    assert [(wait.reason, wait.partitions) for wait in waits] == [(R.REQUEST_NOT_BEGUN, (T0, T1))]
    ours = between(same, replace(RUN, step=((0, 1), (1, 1))), **ASKED)
    assert isinstance(decide(ours), ComputeStage)
