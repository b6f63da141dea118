"""What of a request in flight is cancelled, and what is done about it: tables of values."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from builders import partition, pool_spec, topic, topic_spec
from poolkeeper.model.execution.runs import Ending, StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Mode, Remedies
from poolkeeper.model.topology import Controller
from poolkeeper.planning.run_state.gates.disks import TargetDisks
from poolkeeper.planning.run_state.reassignments.stalls import (
    FAILED_OVER,
    IGNORED_PAUSE_MS,
    STALL_MS,
)
from poolkeeper.reconcile.decide.cancel import FAILOVER_PAUSE_MS, FREEZE_MS, decide, waits
from poolkeeper.reconcile.decide.decisions import (
    BeginReturn,
    CancelMoves,
    ChangeThrottle,
    ElectController,
    MissingInput,
    RecordThrottled,
    RequestOrder,
    Watch,
)
from unit.reconcile.situations import NOW_MS, T0, T1, cluster, desired, flying, requested

R = WaitReason
ALLOWED = {"remedies": Remedies(allow_controller_failover=True)}
IN_SYNC = {0: (1, 2), 1: (2, 1)}
UNIONS = ((3, 1, 2), (2, 3, 1))
"""As Kafka up to 2.3 writes them; later releases say what is added and removed."""
ENTRIES = requested((3, 2), (2, 3))
AT_WORK = cluster(UNIONS, isr=IN_SYNC, reassignment=ENTRIES)


def newer(lists, isr, entries):
    """The same lists as Kafka from 2.4 on writes them: with what is added and removed."""
    found = (
        partition(n, *ids, adding=(3,), removing=(1,), isr=isr[n])
        if len(ids) > 2
        else partition(n, *ids)
        for n, ids in enumerate(lists)
    )
    return replace(cluster(lists, reassignment=entries), topics={"t": topic("t", *found)})


NEWER = newer(UNIONS, IN_SYNC, ENTRIES)
NEWER_HALF = newer(((3, 2), (2, 3, 1)), IN_SYNC, ENTRIES[1:])
DEAD = replace(AT_WORK, brokers=cluster(live=(1, 2)).brokers)
NOW = StopRequest(at_once=True)
BACK = requested((1, 2), (2, 1))


def at(seen, *, stop=None, execution=ALLOWED, brokers=False, gone=None, age_ms=0, **run):
    made = flying(seen, age_ms, **run)
    view = replace(made.view, stop=stop, gone_read=gone is not None, gone=frozenset(gone or ()))
    return replace(made, view=view, desired=desired(**execution), asks_brokers=brokers)


def held(situation, copied, failed=MappingProxyType({})):
    """What brokers say that they hold, and which of their directories failed."""
    view = replace(situation.view, disks=TargetDisks(copied=copied, failed=failed))
    return replace(situation, view=view)


def declared(situation, *pools, topics=(), **said):
    wanted = replace(situation.desired, pools=pools, topics=topics)
    return replace(situation, desired=replace(wanted, cluster=replace(wanted.cluster, **said)))


HOME = pool_spec("p", 1, 2, 3, cluster="c")
DRAINED = pool_spec("p", 1, 2, 3, cluster="c", drain=frozenset({3}))
AWAY = pool_spec("p", 1, 2, cluster="c")
OTHER = pool_spec("q", 3, cluster="c")
LATE = {"stage_deadline_s": 60, "roll_back_on_deadline": True, **ALLOWED}


@pytest.mark.parametrize(
    ("situation", "decision"),
    [
        pytest.param(at(AT_WORK), None, id="nobody-asks"),
        pytest.param(at(AT_WORK, stop=StopRequest()), None, id="a-stop-waits-for-the-stage"),
        pytest.param(
            at(AT_WORK, stop=NOW), BeginReturn((0, 1), Ending.ROLLED_BACK), id="a-rollback"
        ),
        pytest.param(
            at(NEWER_HALF, stop=NOW), BeginReturn((1,), Ending.ROLLED_BACK), id="what-arrived-stays"
        ),
        pytest.param(
            declared(at(AT_WORK), HOME, mode=Mode.ROLL_BACK), BeginReturn((0, 1)), id="the-mode"
        ),
        pytest.param(
            at(AT_WORK, execution=LATE, age_ms=60_001),
            BeginReturn((0, 1), Ending.ROLLED_BACK),
            id="over-its-deadline",
        ),
        pytest.param(at(AT_WORK, execution=LATE, age_ms=60_000), None, id="in-time"),
        pytest.param(at(DEAD), MissingInput.GONE, id="a-target-is-dead"),
        pytest.param(at(DEAD, gone=()), None, id="a-dead-target-that-is-wanted"),
        pytest.param(at(DEAD, gone=(3,)), BeginReturn((0, 1)), id="heal-counts-it-as-gone"),
        pytest.param(declared(at(DEAD, gone=()), DRAINED), BeginReturn((0, 1)), id="it-is-drained"),
        pytest.param(declared(at(DEAD, gone=()), AWAY), BeginReturn((0, 1)), id="it-is-removed"),
        pytest.param(
            declared(at(DEAD, gone=()), AWAY, OTHER), None, id="it-may-be-this-topic-s-home"
        ),
        pytest.param(
            declared(at(DEAD, gone=()), AWAY, OTHER, topics=(topic_spec("t"),)),
            BeginReturn((0, 1)),
            id="it-is-in-another-pool-now",
        ),
        pytest.param(
            declared(at(AT_WORK, gone=()), DRAINED), None, id="drained-and-alive-is-finished-first"
        ),
        pytest.param(at(AT_WORK, stop=NOW, execution={}), None, id="no-way-is-allowed"),
        pytest.param(
            at(AT_WORK, stop=StopRequest(True, True), execution={}),
            BeginReturn((0, 1), Ending.ROLLED_BACK),
            id="the-person-allows-it",
        ),
        pytest.param(
            at(NEWER, stop=NOW, execution={}, brokers=True),
            BeginReturn((0, 1), Ending.ROLLED_BACK),
            id="the-brokers-can",
        ),
        pytest.param(
            at(AT_WORK, stop=NOW, execution={}, brokers=True), None, id="old-brokers-cannot"
        ),
    ],
)
def test_what_is_cancelled(situation, decision):
    assert decide(situation) == decision


def cancel(*moves, step=((0, 1), (1, 1)), returning=(0, 1), brokers=False):
    return CancelMoves(moves, step, returning, by_brokers=brokers, may_fail_over=True)


SOURCELESS = cluster(
    UNIONS, live=(3,), leaders={0: -1, 1: -1}, isr={0: (1, 2), 1: (2, 1)}, reassignment=ENTRIES
)
SOURCES = pool_spec("q", 1, 2, cluster="c")
TARGET = pool_spec("p", 3, cluster="c")
SOURCES_DRAINED = pool_spec("q", 1, 2, cluster="c", drain=frozenset({1, 2}))


@pytest.mark.parametrize(
    ("situation", "decision"),
    [
        pytest.param(at(SOURCELESS), MissingInput.GONE, id="who-is-gone-must-be-known"),
        pytest.param(declared(at(SOURCELESS, gone=()), TARGET, SOURCES), None, id="may-return"),
        pytest.param(
            declared(at(SOURCELESS, gone=()), TARGET, SOURCES_DRAINED),
            None,
            id="drained-before-they-died",
        ),
        pytest.param(
            declared(at(SOURCELESS, gone=(1,)), TARGET, SOURCES), None, id="one-may-return"
        ),
        pytest.param(
            declared(at(SOURCELESS, gone=(1, 2)), TARGET, SOURCES),
            BeginReturn((0, 1)),
            id="heal-counts-them-as-gone",
        ),
        pytest.param(
            declared(at(SOURCELESS, gone=()), TARGET), BeginReturn((0, 1)), id="in-no-pool"
        ),
        pytest.param(
            declared(at(replace(NEWER, brokers=SOURCELESS.brokers), gone=(1, 2)), TARGET),
            None,
            id="from-2.4-on-its-copies-would-be-deleted",
        ),
        pytest.param(
            at(SOURCELESS, gone=(), returning=(0, 1)),
            cancel(0, 1, step=(), returning=()),
            id="the-request-is-withdrawn",
        ),
    ],
)
def test_what_has_no_source_is_let_go_up_to_2_3(situation, decision):
    assert decide(situation) == decision


LOST = {0: (3,), 1: (2, 1)}


@pytest.mark.parametrize(
    ("situation", "decision"),
    [
        pytest.param(at(NEWER, returning=(0, 1)), cancel(0, 1), id="both"),
        pytest.param(
            at(NEWER, returning=(0, 1), brokers=True), cancel(0, 1, brokers=True), id="by-brokers"
        ),
        pytest.param(at(NEWER, returning=(1,)), cancel(1, returning=(1,)), id="the-other-goes-on"),
        pytest.param(
            at(NEWER_HALF, returning=(1,)),
            cancel(1, step=((1, 1),), returning=(1,)),
            id="what-arrived-is-not-requested-again",
        ),
        pytest.param(
            at(
                cluster(((1, 2), (2, 3, 1)), isr=IN_SYNC, live=(1, 2), reassignment=ENTRIES),
                returning=(1,),
                gone=(),
            ),
            cancel(1, step=((1, 1),), returning=(1,)),
            id="what-cannot-begin-is-not-requested-again",
        ),
        pytest.param(
            at(replace(AT_WORK, reassignment=BACK), returning=(0, 1)), None, id="requested"
        ),
        pytest.param(
            at(replace(AT_WORK, reassignment=BACK), returning=(0, 1), age_ms=STALL_MS + 1),
            cancel(0, 1),
            id="requested-and-ignored",
        ),
        pytest.param(
            at(
                cluster(UNIONS, isr={0: (1,), 1: (2,)}, reassignment=BACK),
                returning=(0, 1),
                age_ms=STALL_MS + 1,
            ),
            None,
            id="requested-and-waiting-for-its-replicas",
        ),
        pytest.param(
            at(cluster(((2, 1), (2, 1))), returning=(0, 1)),
            RequestOrder(((0, 1),)),
            id="in-another-order",
        ),
        pytest.param(
            at(cluster(((2, 1), (2, 3, 1)), isr=IN_SYNC, reassignment=ENTRIES[1:]), returning=(0,)),
            None,
            id="another-order-waits-for-the-others",
        ),
        pytest.param(at(cluster(), returning=(0, 1)), None, id="back"),
        pytest.param(
            at(replace(AT_WORK, controller=Controller(None, 5, 5)), returning=(0, 1)),
            None,
            id="no-controller",
        ),
        pytest.param(
            at(newer(UNIONS, LOST, ENTRIES), returning=(0, 1)),
            cancel(1),
            id="an-origin-without-replicas-in-sync",
        ),
    ],
)
def test_how_it_returns(situation, decision):
    assert decide(situation) == decision


BOTH = {"returning": (0, 1), "age_ms": 20_000}
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


BEHIND = cluster(UNIONS, isr={0: (1,), 1: (2, 1)}, reassignment=BACK)
"""Broker 2 is behind in partition 0."""
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


def overdue(seen, *moves, since_ms=STALL_MS + 1, **run):
    """All of these moves have been in sync for so long, and nobody ended them."""
    made = at(seen, **{**BOTH, **run})
    times = dict.fromkeys(moves, NOW_MS - since_ms)
    return replace(made, view=replace(made.view, overdue=times))


FORGOTTEN = cluster(UNIONS)
BOTH_BACK = ((0, 1), (1, 1))


@pytest.mark.parametrize(
    ("situation", "decision"),
    [
        pytest.param(
            overdue(FORGOTTEN, 0, 1, since_ms=STALL_MS), None, id="one-controller-may-be-slow"
        ),
        pytest.param(
            overdue(FORGOTTEN, 0, 1),
            RequestOrder(BOTH_BACK, 1),
            id="it-may-hear-of-a-request",
        ),
        pytest.param(overdue(FORGOTTEN, 0), None, id="the-other-arrives-first"),
        pytest.param(
            overdue(FORGOTTEN, 0, 1, attempts=1, age_ms=FAILOVER_PAUSE_MS - 1),
            None,
            id="it-has-time",
        ),
        pytest.param(
            overdue(FORGOTTEN, 0, 1, attempts=1, age_ms=FAILOVER_PAUSE_MS),
            ElectController(),
            id="it-dropped-the-request",
        ),
        pytest.param(
            overdue(FORGOTTEN, 0, 1, attempts=1, age_ms=FAILOVER_PAUSE_MS, execution={}),
            None,
            id="nobody-allows-another",
        ),
        pytest.param(
            overdue(FORGOTTEN, 0, 1, attempts=FAILED_OVER, age_ms=FAILOVER_PAUSE_MS),
            RequestOrder(BOTH_BACK, FAILED_OVER + 1),
            id="the-next-one-gets-it",
        ),
        pytest.param(
            overdue(FORGOTTEN, 0, 1, attempts=FAILED_OVER + 1, age_ms=IGNORED_PAUSE_MS - 1),
            None,
            id="and-then-nobody-for-long",
        ),
        pytest.param(
            overdue(FORGOTTEN, 0, 1, attempts=FAILED_OVER + 1, age_ms=IGNORED_PAUSE_MS),
            ElectController(),
            id="but-not-for-ever",
        ),
        pytest.param(
            overdue(replace(FORGOTTEN, reassignment=ENTRIES), 0, 1),
            cancel(0, 1),
            id="it-is-deaf-to-the-one-that-is-there",
        ),
    ],
)
def test_what_nobody_works_on_any_more_is_not_waited_for(situation, decision):
    assert decide(situation) == decision


def alone(seen, **run):
    """Only the first move is requested; the second goes on without that."""
    made = at(replace(seen, reassignment=ENTRIES[:1]), returning=(0,), **run)
    view = replace(made.view, returns={0: made.view.returns[0]})
    return replace(made, run=replace(made.run, step=((0, 1),)), view=view)


COPIED_OUT = cluster(UNIONS, isr={0: (1, 2), 1: (2, 3, 1)})
THAWED = {"rates": (100,), "declared_rate": 100}
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
