"""What is decided about a run, phase by phase: tables of values, nothing is read or written."""

from dataclasses import replace

import pytest

from builders import pool_spec
from poolkeeper.errors import RefusalReason, Refused
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.records import BalanceRecord
from poolkeeper.model.execution.runs import (
    Ending,
    Phase,
    Saved,
    ThrottleConflicts,
    UnreadableConfig,
)
from poolkeeper.model.execution.wait_reasons import Consequence, WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Urgency
from poolkeeper.model.specs import Capacity, Remedies, TopicSpec
from poolkeeper.planning.run_state.reassignments.stalls import (
    ATTEMPTS_MAX,
    IGNORED_PAUSE_MS,
    STALL_MS,
)
from poolkeeper.planning.staging.next_stage import NothingFits
from poolkeeper.reconcile.decide.decisions import (
    ComputeStage,
    DoNothing,
    Elect,
    ElectController,
    EndRun,
    EnterPhase,
    MissingInput,
    RecordThrottled,
    RequestStage,
)
from poolkeeper.reconcile.decide.run import decide
from unit.reconcile.situations import (
    AFTER,
    ASKED,
    HIDDEN_T,
    NOW_MS,
    PLAN,
    RUN,
    SOUGHT,
    STAGE,
    T0,
    THROTTLED,
    between,
    cluster,
    desired,
)

R = WaitReason


def in_phase(phase, **known):
    return between(cluster(), replace(RUN, phase=phase), **known)


def throttling(saved=THROTTLED, throttled_ms=0, **known):
    run = replace(RUN, phase=Phase.THROTTLING, rates=(100,), throttled_ms=throttled_ms)
    at = between(cluster(), run, **known)
    return replace(at, document=replace(at.document, saved=saved))


def begun(at, **run):
    return replace(at, run=replace(at.run, stage=1, **run))


HIDDEN_2 = UnreadableConfig(2, "/config/brokers/2", "hidden")
BOTH_HIDDEN = ThrottleConflicts(unreadable=(HIDDEN_T, HIDDEN_2))
CLEAR = {"ending_read": True, "conflicts": ThrottleConflicts()}


@pytest.mark.parametrize(
    ("at", "decision"),
    [
        pytest.param(in_phase(Phase.STORING), EnterPhase(Phase.THROTTLING), id="it-is-stored"),
        pytest.param(throttling(), MissingInput.ENDING, id="is-it-still-wanted"),
        pytest.param(
            throttling(ending_read=True, ending=Ending.STOPPED),
            EnterPhase(Phase.RESTORING, Ending.STOPPED),
            id="stopped-before-it-moves",
        ),
        pytest.param(
            begun(throttling(ending_read=True, ending=Ending.STOPPED)),
            MissingInput.CONFLICTS,
            id="stopped-after-that-the-throttles-are-written-once-more",
        ),
        pytest.param(
            begun(throttling(**{**CLEAR, "conflicts": BOTH_HIDDEN}, ending=Ending.STOPPED)),
            EnterPhase(Phase.MOVING),
            id="and-nothing-is-waited-for-before-it-ends",
        ),
        pytest.param(
            begun(throttling(**{**CLEAR, "conflicts": BOTH_HIDDEN}), ending=Ending.STOPPED),
            EnterPhase(Phase.MOVING),
            id="nor-where-others-stopped-it",
        ),
        pytest.param(
            throttling(Saved(), ending_read=True), EnterPhase(Phase.MOVING), id="without-throttle"
        ),
        pytest.param(
            throttling(ending_read=True), MissingInput.CONFLICTS, id="whose-throttles-are-there"
        ),
        pytest.param(
            throttling(ending_read=True, conflicts=ThrottleConflicts(("t",), (2,))),
            DoNothing((Wait(R.THROTTLE_CONFLICT, topics=("t",), brokers=(2,)),)),
            id="somebody-else-s",
        ),
        pytest.param(
            throttling(ending_read=True, conflicts=BOTH_HIDDEN),
            RecordThrottled(),
            id="some-cannot-be-read",
        ),
        pytest.param(
            throttling(ending_read=True, conflicts=replace(BOTH_HIDDEN, topics=("u",))),
            DoNothing((Wait(R.THROTTLE_CONFLICT, topics=("u",)),)),
            id="somebody-else-s-and-some-that-cannot-be-read",
        ),
        pytest.param(throttling(**CLEAR), RecordThrottled(), id="they-are-written"),
        pytest.param(
            throttling(throttled_ms=5, **CLEAR), MissingInput.SETTLED, id="are-they-in-force"
        ),
        pytest.param(
            throttling(throttled_ms=5, throttle_settled=False, **CLEAR),
            DoNothing((Wait(R.THROTTLE_SETTLING),)),
            id="not-yet",
        ),
        pytest.param(
            throttling(throttled_ms=5, throttle_settled=False, unsettled=(2,), **CLEAR),
            DoNothing((Wait(R.THROTTLE_SETTLING, brokers=(2,)),)),
            id="a-broker-says-so",
        ),
        pytest.param(
            throttling(throttled_ms=5, throttle_settled=True, **CLEAR),
            EnterPhase(Phase.MOVING),
            id="they-are-in-force",
        ),
        pytest.param(in_phase(Phase.RESTORING), EndRun(), id="the-end"),
    ],
)
def test_before_and_after_the_moves(at, decision):
    assert decide(at) == decision


IGNORED = DoNothing((Wait(R.REQUEST_IGNORED, count=ATTEMPTS_MAX),))
FINISHED = replace(RUN, stage=3, step=((0, 1), (1, 1)))


def ignored(attempts, age_ms=0):
    """The stage was requested so often, and a failover is allowed."""
    run = replace(RUN, step=STAGE.entries, attempts=attempts, requested_ms=NOW_MS - age_ms)
    made = replace(between(cluster(), run, **SOUGHT), reported_stage=(0, 0))
    return replace(made, desired=desired(remedies=Remedies(allow_controller_failover=True)))


STEPPED = Action(ActionKind.STAGE_FINISHED, stage=3, count=1, of=2)
HALF = cluster(((3, 2), (2, 1)))
TORN = cluster(torn=frozenset({"t"}))
FULL = Wait(R.TOPIC_NODE_TOO_LARGE, topic="t", partitions=(T0,))
WORSE = Wait(R.LAW_WORSENED, partitions=(T0,), before=(1, 2), replicas=(3, 2), law="racks")
JUST_BEGUN = replace(RUN, started_ms=NOW_MS - 59_000)


def test_after_the_first_stage_throttles_of_others_are_no_reason_to_wait():
    found = ThrottleConflicts(("t",), (2,))
    at = throttling(ending_read=True, conflicts=found)
    assert decide(replace(at, run=replace(at.run, stage=1))) == RecordThrottled()


@pytest.mark.parametrize(
    ("at", "decision"),
    [
        pytest.param(
            between(TORN), DoNothing((Wait(R.TOPICS_CHANGING),)), id="it-changed-while-it-was-read"
        ),
        pytest.param(between(cluster()), MissingInput.ENDING, id="is-it-still-wanted"),
        pytest.param(
            between(cluster(), ending_read=True, ending=Ending.REPLACED),
            EnterPhase(Phase.RESTORING, Ending.REPLACED),
            id="it-is-not",
        ),
        pytest.param(
            between(cluster(AFTER), ending_read=True, ending=Ending.STOPPED),
            EnterPhase(Phase.RESTORING, Ending.STOPPED),
            id="a-person-s-stop-comes-before-the-end",
        ),
        pytest.param(
            between(cluster(AFTER), **ASKED),
            EnterPhase(Phase.ELECTING, Ending.FINISHED),
            id="everything-has-arrived",
        ),
        pytest.param(
            replace(between(cluster(), **ASKED), paused=True),
            DoNothing((Wait(R.PAUSED),)),
            id="paused",
        ),
        pytest.param(
            replace(between(cluster(AFTER), **ASKED), paused=True),
            EnterPhase(Phase.ELECTING, Ending.FINISHED),
            id="a-pause-does-not-hold-up-the-end",
        ),
        pytest.param(
            between(cluster(reassignment=()), **ASKED),
            DoNothing((Wait(R.UNREADABLE_REQUEST, consequence=Consequence.BLOCKS),)),
            id="a-gate-is-closed",
        ),
        pytest.param(between(cluster(), **ASKED), ComputeStage((0, 0)), id="a-stage-is-looked-for"),
        pytest.param(between(HALF, **ASKED), ComputeStage((None, 0)), id="for-what-is-left"),
        pytest.param(
            between(cluster(isr={0: None}), **ASKED),
            ComputeStage((None, 0)),
            id="without-a-move-that-is-blocked",
        ),
        pytest.param(between(cluster(), **SOUGHT), RequestStage(STAGE, 1), id="it-is-requested"),
        pytest.param(
            between(cluster(), replace(RUN, step=STAGE.entries, attempts=2), **SOUGHT),
            RequestStage(STAGE, 3, (Action(ActionKind.STAGE_FINISHED, of=2),)),
            id="the-same-once-more",
        ),
        pytest.param(
            replace(
                between(
                    cluster(),
                    replace(RUN, step=STAGE.entries, attempts=5, requested_ms=NOW_MS - 60_000),
                    **SOUGHT,
                ),
                reported_stage=(0, 0),
            ),
            DoNothing((Wait(R.REQUEST_IGNORED, count=ATTEMPTS_MAX),)),
            id="but-not-for-ever",
        ),
        pytest.param(
            replace(
                between(
                    cluster(),
                    replace(RUN, step=STAGE.entries, attempts=5, requested_ms=NOW_MS - 600_000),
                    **SOUGHT,
                ),
                reported_stage=(0, 0),
            ),
            RequestStage(STAGE, ATTEMPTS_MAX),
            id="except-now-and-then-as-the-controller-may-be-another",
        ),
        pytest.param(ignored(5, STALL_MS), ElectController(), id="or-is-made-another"),
        pytest.param(ignored(5, STALL_MS - 1), IGNORED, id="which-is-not-done-at-once"),
        pytest.param(ignored(6), RequestStage(STAGE, 7), id="that-gets-it-at-once"),
        pytest.param(ignored(10), RequestStage(STAGE, 11), id="and-as-often"),
        pytest.param(ignored(11, IGNORED_PAUSE_MS - 1), IGNORED, id="and-no-more-than-that"),
        pytest.param(ignored(11, IGNORED_PAUSE_MS), ElectController(), id="but-after-a-while"),
        pytest.param(
            between(
                cluster(leaders={0: -1}), stage_computed=True, stage=NothingFits(FULL), **ASKED
            ),
            DoNothing((Wait(R.PARTITION_LEADERLESS, partitions=(T0,)), FULL)),
            id="nothing-fits-and-what-is-blocked-is-told-first",
        ),
        pytest.param(
            between(cluster(), JUST_BEGUN, stage_computed=True, stage=NothingFits(WORSE), **ASKED),
            DoNothing((WORSE,)),
            id="a-stage-would-worsen-a-rule-perhaps-a-broker-restarts",
        ),
        pytest.param(
            between(cluster(), stage_computed=True, stage=NothingFits(WORSE), **ASKED),
            EnterPhase(Phase.RESTORING, Ending.REPLACED),
            id="it-still-would-the-brokers-are-not-those-it-was-planned-for",
        ),
        pytest.param(
            between(
                cluster(leaders={0: -1}), stage_computed=True, stage=NothingFits(WORSE), **ASKED
            ),
            DoNothing((Wait(R.PARTITION_LEADERLESS, partitions=(T0,)), WORSE)),
            id="it-still-would-and-a-broker-is-away",
        ),
        pytest.param(
            between(HALF, FINISHED, **ASKED),
            ComputeStage((None, 0)),
            id="what-finished-is-told-with-the-decision",
        ),
        pytest.param(
            replace(between(HALF, FINISHED, **ASKED), paused=True),
            DoNothing((Wait(R.PAUSED),), (STEPPED,)),
            id="a-stage-has-finished",
        ),
        pytest.param(
            replace(between(HALF, replace(FINISHED, returning=(0, 1)), **ASKED), paused=True),
            DoNothing((Wait(R.PAUSED),), (replace(STEPPED, of=0),)),
            id="a-stage-whose-moves-were-all-cancelled-has-finished",
        ),
        pytest.param(
            replace(between(HALF, FINISHED, **ASKED), paused=True, reported_stage=(3, 1)),
            DoNothing((Wait(R.PAUSED),)),
            id="which-is-told-once",
        ),
        pytest.param(
            replace(between(cluster(AFTER), FINISHED, **ASKED), reported_stage=(3, 1)),
            EnterPhase(
                Phase.ELECTING,
                Ending.FINISHED,
                (Action(ActionKind.STAGE_FINISHED, stage=3, count=2, of=2),),
            ),
            id="unless-more-has-arrived-since",
        ),
    ],
)
def test_between_stages(at, decision):
    assert decide(at) == decision


def test_a_stage_that_worsens_a_law_is_refused():
    pool = pool_spec("p", 1, 2, 3, cluster="c", capacity=Capacity(replicas=0))
    topic = TopicSpec("t", "default", "t", "p")
    at = between(cluster(((1,), (2, 1))), **SOUGHT)
    moves = (PLAN.moves[0]._replace(path=((1,), (1, 3))), PLAN.moves[1])
    document = replace(at.document, plan=replace(PLAN, moves=moves))
    wanted = replace(desired(), pools=(pool,), topics=(topic,))
    with pytest.raises(Refused) as refused:
        decide(replace(at, document=document, desired=wanted))
    assert refused.value.reason is RefusalReason.UNLAWFUL_STAGE


ELECTING = replace(RUN, phase=Phase.ELECTING)
LED_BY_OTHERS = cluster(AFTER, leaders={0: 2, 1: 3})


@pytest.mark.parametrize(
    ("at", "decision"),
    [
        pytest.param(
            between(replace(cluster(AFTER), electing=True), ELECTING),
            DoNothing((Wait(R.ELECTION_IN_PROGRESS),)),
            id="somebody-s-election",
        ),
        pytest.param(
            between(LED_BY_OTHERS, ELECTING), Elect((T0, ("t", 1)), 2), id="all-that-are-due"
        ),
        pytest.param(
            between(cluster(AFTER), ELECTING), EnterPhase(Phase.RESTORING), id="as-preferred"
        ),
        pytest.param(
            between(LED_BY_OTHERS, replace(ELECTING, attempts=2)),
            EnterPhase(Phase.RESTORING, found=(Action(ActionKind.LEADERS_KEPT, count=2),)),
            id="but-not-for-ever",
        ),
    ],
)
def test_elections(at, decision):
    assert decide(at) == decision


def test_a_run_that_evens_something_out_is_remembered_once_in_a_cool_down():
    def stored(last, urgency=Urgency.BALANCE):
        at = in_phase(Phase.STORING, balanced=last)
        moves = tuple(move._replace(urgency=urgency) for move in PLAN.moves)
        document = replace(at.document, plan=replace(PLAN, moves=moves))
        run = replace(at.run, started_ms=NOW_MS)
        return decide(replace(at, run=run, document=document, now_ms=NOW_MS + 5)).balance

    assert stored(None) == BalanceRecord(NOW_MS)
    assert stored(BalanceRecord(NOW_MS - 3_600_000)) == BalanceRecord(NOW_MS)
    assert stored(BalanceRecord(NOW_MS - 1000)) is None
    assert stored(None, Urgency.DRAIN) is None
