"""What of a request in flight is cancelled, and what is done about it: tables of values."""

from dataclasses import replace

import pytest

from builders import pool_spec, topic_spec
from poolkeeper.model.execution.runs import Ending, StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.specs import Mode
from poolkeeper.model.topology import Controller
from poolkeeper.planning.run_state.gates.disks import NOT_BEGUN_MS, TargetDisks
from poolkeeper.planning.run_state.reassignments.stalls import (
    FAILED_OVER,
    IGNORED_PAUSE_MS,
    STALL_MS,
)
from poolkeeper.reconcile.decide import in_flight
from poolkeeper.reconcile.decide.cancelling.cancel import FAILOVER_PAUSE_MS, decide
from poolkeeper.reconcile.decide.decisions import (
    BeginReturn,
    ElectController,
    MissingInput,
    RequestOrder,
)
from unit.reconcile.cancelled import (
    ALLOWED,
    AT_WORK,
    BACK,
    BOTH,
    DEAD,
    ENTRIES,
    IN_SYNC,
    LOST,
    NEWER,
    NOW,
    TAKEN_OVER,
    UNIONS,
    at,
    cancel,
    newer,
)
from unit.reconcile.situations import NOW_MS, T0, cluster

NEWER_HALF = newer(((3, 2), (2, 3, 1)), IN_SYNC, ENTRIES[1:])


def declared(situation, *pools, topics=(), **said):
    wanted = replace(situation.desired, pools=pools, topics=topics)
    return replace(situation, desired=replace(wanted, cluster=replace(wanted.cluster, **said)))


HOME = pool_spec("p", 1, 2, 3, cluster="c")
DRAINED = pool_spec("p", 1, 2, 3, cluster="c", drain=frozenset({3}))
AWAY = pool_spec("p", 1, 2, cluster="c")
OTHER = pool_spec("q", 3, cluster="c")
LATE = {"stage_deadline_s": 60, "roll_back_on_deadline": True, **ALLOWED}


def unloadable(seen, copied=(), *, asked_ms=NOT_BEGUN_MS, config=None, **said):
    """Topic t has a config that no broker can load; broker 3 has logs of these partitions."""
    found = replace(seen.topics["t"], config=config or {"retention.ms": "a week"})
    made = at(replace(seen, topics={"t": found}), gone=(), brokers=True, **said)
    told = TargetDisks({3: {}}, copied=dict.fromkeys(((n, 3) for n in copied), 1), age_ms=asked_ms)
    return replace(made, view=replace(made.view, disks=told))


@pytest.mark.parametrize(
    ("situation", "decision"),
    [
        pytest.param(unloadable(NEWER), BeginReturn((0, 1)), id="no-broker-loads-the-config"),
        pytest.param(unloadable(NEWER, (T0,)), BeginReturn((1,)), id="a-copy-had-begun"),
        pytest.param(unloadable(NEWER, asked_ms=NOT_BEGUN_MS - 1), None, id="it-may-begin-yet"),
        pytest.param(unloadable(NEWER, config={"retention.ms": "1"}), None, id="it-is-loaded"),
        pytest.param(unloadable(AT_WORK, execution={}), None, id="nobody-may-cancel-it"),
    ],
)
def test_what_no_broker_can_begin_is_taken_back(situation, decision):
    assert decide(situation) == decision
    reasons = {wait.reason for wait in in_flight.decide(situation).waits}
    hangs = situation.view.disks.had_ms(3) >= NOT_BEGUN_MS
    loads = situation.view.cluster.topics["t"].config == {"retention.ms": "1"}
    assert (WaitReason.CONFIG_UNLOADABLE in reasons) == (hangs and not loads)


@pytest.mark.parametrize(
    ("age_ms", "config", "named"),
    [
        (NOT_BEGUN_MS, {"retention.ms": "a week"}, True),
        (NOT_BEGUN_MS - 1, {"retention.ms": "a week"}, False),
        (NOT_BEGUN_MS, {"retention.ms": "1"}, False),
    ],
)
def test_brokers_that_tell_of_no_logs_leave_it_to_people(age_ms, config, named):
    found = replace(NEWER.topics["t"], config=config)
    situation = at(replace(NEWER, topics={"t": found}), gone=(), brokers=True, age_ms=age_ms)
    assert decide(situation) is None
    reasons = {wait.reason for wait in in_flight.decide(situation).waits}
    assert (WaitReason.CONFIG_UNLOADABLE in reasons) == named


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
        pytest.param(
            at(TAKEN_OVER, stop=NOW, execution={}, brokers=True), None, id="they-would-leave-unions"
        ),
        pytest.param(
            at(TAKEN_OVER, stop=NOW, brokers=True),
            BeginReturn((0, 1), Ending.ROLLED_BACK),
            id="taken-over-by-a-later-release",
        ),
    ],
)
def test_what_is_cancelled(situation, decision):
    assert decide(situation) == decision


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


@pytest.mark.parametrize(
    ("situation", "decision"),
    [
        pytest.param(at(NEWER, returning=(0, 1)), cancel(0, 1), id="both"),
        pytest.param(
            at(NEWER, returning=(0, 1), brokers=True), cancel(0, 1, brokers=True), id="by-brokers"
        ),
        pytest.param(at(TAKEN_OVER, returning=(0, 1), brokers=True), cancel(0, 1), id="taken-over"),
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
