"""What is decided while a request is in flight: tables of values."""

from dataclasses import replace

import pytest

from poolkeeper.model.execution.runs import RateReason, Saved, ThrottleConflicts, UnreadableConfig
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Throttle, ThrottleMode
from poolkeeper.model.topology import Controller
from poolkeeper.planning.run_state.reassignments.requests import Stall
from poolkeeper.planning.run_state.reassignments.stalls import (
    ATTEMPTS_MAX,
    IGNORED_PAUSE_MS,
    STALL_MS,
)
from poolkeeper.planning.run_state.throttling.adaptive_rate import RateSignals
from poolkeeper.planning.run_state.throttling.throttles import (
    FROZEN_BYTES_PER_S,
    PUT_BACK_MAX,
    ThrottleWatch,
)
from poolkeeper.reconcile.decide.decisions import ChangeThrottle, MissingInput
from poolkeeper.reconcile.decide.in_flight import CHECK_EVERY_MS, decide
from poolkeeper.reconcile.decide.throttle_rate import ADAPT_EVERY_MS
from unit.reconcile.situations import AFTER, NOW_MS, T0, cluster, desired, flying, requested

R = WaitReason
ENTRIES = requested((3, 2), (2, 3))
AT_WORK = cluster(((3, 1, 2), (2, 1)), isr={0: (1, 2)}, reassignment=ENTRIES)


def arrived(count):
    return Wait(R.STAGE_IN_FLIGHT, stage=1, count=count, of=2)


@pytest.mark.parametrize(
    ("seen", "waits"),
    [
        pytest.param(AT_WORK, (arrived(0),), id="at-work"),
        pytest.param(
            cluster(((3, 2), (2, 1, 3)), reassignment=requested(None, (2, 3))),
            (arrived(1),),
            id="one-has-arrived",
        ),
        pytest.param(
            replace(AT_WORK, brokers=cluster(live=(1, 2)).brokers),
            (
                arrived(0),
                Wait(R.BROKER_NOT_LIVE, brokers=(3,), partitions=(T0, ("t", 1))),
            ),
            id="who-is-waited-for-is-dead",
        ),
        pytest.param(
            replace(AT_WORK, controller=Controller(None, 5, 5)),
            (arrived(0), Wait(R.NO_CONTROLLER)),
            id="no-controller",
        ),
    ],
)
def test_what_is_told(seen, waits):
    assert decide(flying(seen)).waits == waits


UNTOUCHED = cluster(reassignment=ENTRIES)
DONE = cluster(AFTER, reassignment=ENTRIES)


@pytest.mark.parametrize(
    ("seen", "age_ms", "stall"),
    [
        pytest.param(UNTOUCHED, STALL_MS, None, id="it-needs-time"),
        pytest.param(UNTOUCHED, STALL_MS + 1, Stall.IGNORED, id="it-is-ignored"),
        pytest.param(DONE, STALL_MS + 1, Stall.STALE, id="it-is-done-and-stays"),
        pytest.param(AT_WORK, STALL_MS + 1, None, id="it-is-at-work"),
    ],
)
def test_a_stall_is_cured_after_a_while(seen, age_ms, stall):
    assert decide(flying(seen, age_ms)).stall is stall


@pytest.mark.parametrize(
    ("seen", "age_ms", "run", "stall", "told"),
    [
        pytest.param(UNTOUCHED, 16_000, {}, Stall.IGNORED, (), id="withdrawn-and-made-again"),
        pytest.param(
            UNTOUCHED,
            16_000,
            {"attempts": ATTEMPTS_MAX},
            None,
            (Wait(R.REQUEST_IGNORED, count=ATTEMPTS_MAX),),
            id="after-some-attempts-it-stays-for-another-controller",
        ),
        pytest.param(
            UNTOUCHED,
            IGNORED_PAUSE_MS,
            {"attempts": ATTEMPTS_MAX},
            Stall.IGNORED,
            (),
            id="now-and-then-it-is-made-again-at-once-after-it-was-withdrawn",
        ),
        pytest.param(
            DONE, 16_000, {"attempts": ATTEMPTS_MAX}, Stall.STALE, (), id="what-is-done-never-stays"
        ),
    ],
)
def test_a_request_that_is_ignored_again_and_again(seen, age_ms, run, stall, told):
    found = decide(flying(seen, age_ms, **run))
    assert (found.stall, found.waits[1:]) == (stall, told)


@pytest.mark.parametrize(
    ("age_ms", "execution", "late"),
    [
        pytest.param(60_000, {"stage_deadline_s": 60}, (), id="in-time"),
        pytest.param(
            60_001,
            {"stage_deadline_s": 60},
            (Wait(R.STAGE_DEADLINE, stage=1),),
            id="over-its-deadline",
        ),
        pytest.param(
            60_001,
            {"stage_deadline_s": 60, "roll_back_on_deadline": True},
            (Wait(R.STAGE_DEADLINE, stage=1),),
            id="which-shall-roll-it-back",
        ),
    ],
)
def test_a_stage_over_its_deadline(age_ms, execution, late):
    at = replace(flying(AT_WORK, age_ms), desired=desired(**execution))
    assert decide(at).late == late


MIB = 1 << 20
ADAPTIVE = {"throttle": Throttle(ThrottleMode.ADAPTIVE, 100 * MIB)}
FIXED = {"throttle": Throttle(ThrottleMode.FIXED, 100 * MIB)}
RATE = {"rates": (100 * MIB,)}
R_DECLARED = RateReason.DECLARED


def measured(signals, **run):
    at = flying(AT_WORK, ADAPT_EVERY_MS, **run)
    return replace(at, view=replace(at.view, signals=signals))


def test_before_the_rate_is_changed_it_is_measured_how_the_cluster_bears_it():
    at = replace(flying(AT_WORK, ADAPT_EVERY_MS, **RATE), desired=desired(**ADAPTIVE))
    assert decide(at) is MissingInput.RATE_SIGNALS


@pytest.mark.parametrize(
    ("at", "execution", "change"),
    [
        pytest.param(flying(AT_WORK, ADAPT_EVERY_MS), {}, None, id="no-throttle"),
        pytest.param(flying(AT_WORK, ADAPT_EVERY_MS, **RATE), FIXED, None, id="a-fixed-one"),
        pytest.param(
            flying(AT_WORK, ADAPT_EVERY_MS - 1, **RATE), ADAPTIVE, None, id="not-time-yet"
        ),
        pytest.param(
            replace(flying(AT_WORK, ADAPT_EVERY_MS, **RATE), adapted_ms=NOW_MS - 1),
            ADAPTIVE,
            None,
            id="looked-at-a-moment-ago",
        ),
        pytest.param(
            measured(RateSignals(out_of_sync=frozenset({T0})), **RATE),
            ADAPTIVE,
            ChangeThrottle((50 * MIB, 100 * MIB), reason=RateReason.OUT_OF_SYNC),
            id="half-where-it-hurts",
        ),
        pytest.param(
            measured(RateSignals(), **RATE),
            ADAPTIVE,
            ChangeThrottle((125 * MIB, 100 * MIB), reason=RateReason.KEEPING_UP),
            id="more-where-it-does-not",
        ),
        pytest.param(
            flying(AT_WORK, rates=(50 * MIB, 100 * MIB)),
            ADAPTIVE,
            ChangeThrottle((50 * MIB,), written=True),
            id="a-change-is-finished",
        ),
        pytest.param(
            flying(AT_WORK, declared_rate=50 * MIB, rates=(50 * MIB,)),
            FIXED,
            ChangeThrottle((100 * MIB, 50 * MIB), reason=R_DECLARED, declared=100 * MIB),
            id="another-one-is-declared",
        ),
        pytest.param(
            flying(AT_WORK, rates=(200 * MIB,)),
            FIXED,
            ChangeThrottle((100 * MIB, 200 * MIB), reason=R_DECLARED, declared=100 * MIB),
            id="another-one-is-declared-in-a-run-of-an-earlier-release",
        ),
        pytest.param(
            flying(AT_WORK, declared_rate=20 * MIB, rates=(30 * MIB,)),
            ADAPTIVE,
            ChangeThrottle((100 * MIB, 30 * MIB), reason=R_DECLARED, declared=100 * MIB),
            id="another-start-is-declared",
        ),
        pytest.param(
            flying(AT_WORK, declared_rate=100 * MIB, rates=(30 * MIB,)),
            ADAPTIVE,
            None,
            id="an-adapted-one-stays",
        ),
        pytest.param(
            flying(AT_WORK, declared_rate=100 * MIB, rates=(300 * MIB,)),
            FIXED,
            ChangeThrottle((100 * MIB, 300 * MIB), reason=R_DECLARED, declared=100 * MIB),
            id="an-adapted-one-that-is-fixed-now-does-not",
        ),
        pytest.param(
            flying(AT_WORK, declared_rate=50 * MIB, rates=(50 * MIB,)),
            {"throttle": Throttle(ThrottleMode.NONE, 100 * MIB)},
            None,
            id="turned-off-counts-for-the-next-run",
        ),
        pytest.param(
            flying(AT_WORK, declared_rate=50 * MIB, rates=(FROZEN_BYTES_PER_S,)),
            FIXED,
            None,
            id="held-down-for-a-cancel",
        ),
    ],
)
def test_the_throttle_is_changed_when_it_is_time(at, execution, change):
    assert decide(replace(at, desired=desired(**execution))).throttle == change


def test_a_rate_that_is_right_stays_and_is_looked_at_again_later():
    most = {"rates": (1600 * MIB,)}
    at = replace(measured(RateSignals(), **most), desired=desired(**ADAPTIVE))
    assert decide(at).throttle == ChangeThrottle(reason=RateReason.HIGHEST)


SAVED = Saved({"t": {}}, {1: {}, 2: {}, 3: {}})
TOPICS = frozenset({"t"})


def throttled(age_ms, saved=SAVED, rates=(100,), **watch):
    at = flying(AT_WORK, age_ms, rates=rates)
    document = replace(at.document, saved=saved)
    return replace(at, document=document, throttles=ThrottleWatch(**watch))


@pytest.mark.parametrize(
    ("at", "topics", "keep"),
    [
        pytest.param(throttled(CHECK_EVERY_MS, Saved()), frozenset(), True, id="no-throttle"),
        pytest.param(throttled(CHECK_EVERY_MS - 1), frozenset(), True, id="not-time-yet"),
        pytest.param(throttled(CHECK_EVERY_MS), TOPICS, True, id="it-is-time"),
        pytest.param(
            throttled(CHECK_EVERY_MS, checked_ms=NOW_MS - 1),
            frozenset(),
            True,
            id="looked-at-a-moment-ago",
        ),
        pytest.param(
            throttled(CHECK_EVERY_MS, rates=(50, 100)),
            frozenset(),
            True,
            id="the-rate-is-being-changed",
        ),
        pytest.param(
            throttled(CHECK_EVERY_MS, put_back=PUT_BACK_MAX), TOPICS, False, id="too-often-removed"
        ),
    ],
)
def test_the_throttles_are_compared_now_and_then(at, topics, keep):
    decision = decide(at)
    assert (decision.check, decision.keep) == (topics, keep)


@pytest.mark.parametrize(
    ("watch", "waits"),
    [
        pytest.param({}, (), id="nothing"),
        pytest.param({"found": ThrottleConflicts(unset=2)}, (), id="put-back"),
        pytest.param(
            {"found": ThrottleConflicts(("t",), (2,))},
            (Wait(R.THROTTLES_YIELDED, topics=("t",), brokers=(2,)),),
            id="changed",
        ),
        pytest.param(
            {"found": ThrottleConflicts(unreadable=(UnreadableConfig(2, "/c", "hidden"),))},
            (Wait(R.THROTTLES_UNREADABLE, brokers=(2,), path="/c", detail="hidden"),),
            id="unreadable",
        ),
        pytest.param(
            {"unsettled": (3,)},
            (Wait(R.THROTTLE_SETTLING, brokers=(3,)),),
            id="a-broker-denies-it",
        ),
        pytest.param(
            {"found": ThrottleConflicts(unset=2), "put_back": PUT_BACK_MAX},
            (Wait(R.THROTTLES_NOT_KEPT, count=PUT_BACK_MAX),),
            id="too-often-removed",
        ),
    ],
)
def test_throttles_of_others_are_named(watch, waits):
    assert decide(throttled(0, **watch)).waits == (arrived(0), *waits)


class Walked(tuple):
    """Moves that count how often somebody walks through all of them."""

    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_watching_a_request_takes_no_walk_through_the_other_moves():
    """A plan has hundreds of thousands, and a request is looked at every few seconds."""
    situation = flying(AT_WORK)
    plan = replace(situation.plan, moves=Walked(situation.plan.moves))
    situation = replace(situation, document=replace(situation.document, plan=plan))
    assert decide(situation).waits == (arrived(0),)
    assert plan.moves.walks == 0
