from dataclasses import replace
from datetime import UTC, datetime

import pytest

from poolkeeper.kube.leadership import leader_election
from poolkeeper.kube.leadership.leader_election import (
    Acquire,
    Lease,
    LeaseWait,
    Lost,
    ObservedLease,
    Pace,
    Renew,
    decide,
)

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
LATER = datetime(2026, 1, 31, 12, 0, 5, tzinfo=UTC)


def lease(holder, version="7", duration_s=9):
    return Lease(holder, duration_s, "2020-01-01", "2020-01-01", 3, version)


OTHERS = ObservedLease(lease("b"), since_s=100)
OURS = ObservedLease(lease("a"), since_s=100, is_ours=True)


@pytest.mark.parametrize(
    ("found", "now_s", "observed", "decision"),
    [
        pytest.param(None, 0, ObservedLease(), Acquire(), id="there-was-never-one"),
        pytest.param(lease("b"), 105, OTHERS, LeaseWait(109), id="held-by-another-until-its-time"),
        pytest.param(lease("b"), 108.9, OTHERS, LeaseWait(109), id="held-to-the-last-moment"),
        pytest.param(lease("b"), 109, OTHERS, Acquire(), id="unchanged-for-its-duration"),
        pytest.param(lease(""), 100, OTHERS, Acquire(), id="given-up"),
        pytest.param(lease("a"), 100, OURS, Renew(), id="ours"),
        pytest.param(lease("a"), 500, OURS, Renew(), id="still-ours-though-run-out"),
        pytest.param(lease("a"), 100, OTHERS, Renew(), id="ours-from-before-a-restart"),
        pytest.param(lease("b"), 100, OURS, Lost("b"), id="taken-from-us"),
        pytest.param(lease(""), 100, OURS, Acquire(), id="ours-and-somebody-emptied-it"),
        pytest.param(None, 100, OURS, Acquire(), id="ours-and-somebody-deleted-it"),
        pytest.param(None, 105, OTHERS, LeaseWait(109), id="deleted-under-another-is-waited-out"),
        pytest.param(None, 109, OTHERS, Acquire(), id="deleted-and-waited-out"),
        pytest.param(
            lease("b", duration_s=10**9),
            159,
            ObservedLease(lease("b", duration_s=10**9), since_s=100),
            LeaseWait(160),
            id="nobody-is-believed-for-longer-than-a-minute",
        ),
        pytest.param(
            lease("b", duration_s=-5),
            100.5,
            ObservedLease(lease("b", duration_s=-5), since_s=100),
            LeaseWait(101),
            id="a-duration-that-is-none-is-a-second",
        ),
    ],
)
def test_decisions(found, now_s, observed, decision):
    assert decide(found, "a", now_s, observed) == decision


@pytest.mark.parametrize(
    ("seen", "since_s"),
    [
        pytest.param(lease("b"), 100, id="unchanged"),
        pytest.param(lease("b", version="8"), 105, id="renewed"),
        pytest.param(lease("c"), 105, id="another-holder"),
        pytest.param(None, 100, id="absent"),
    ],
)
def test_time_runs_from_the_last_change_that_was_seen(seen, since_s):
    assert OTHERS.after_reading(seen, 105) == ObservedLease(seen or lease("b"), since_s)


def test_times_in_the_record_do_not_matter():
    far = Lease("b", 9, "2999-01-01", "2999-01-01", 0, "7")
    assert decide(far, "a", 109, ObservedLease(far, since_s=100)) == Acquire()


def test_taking_counts_a_transition_and_renewing_does_not():
    first = leader_election.claim(None, "a", 9, NOW)
    moment = "2026-01-31T12:00:00.000000Z"
    assert first == Lease("a", 9, moment, moment, 0, "")
    renewed = leader_election.claim(first, "a", 9, LATER)
    assert renewed == Lease("a", 9, moment, "2026-01-31T12:00:05.000000Z", 0, "")
    assert leader_election.claim(renewed, "b", 9, LATER) == Lease(
        "b", 9, "2026-01-31T12:00:05.000000Z", "2026-01-31T12:00:05.000000Z", 1, ""
    )


def test_a_lease_that_was_taken_as_often_as_can_be_counted_can_be_taken():
    """The API server refuses a larger number, and with it who takes the Lease."""
    worn = replace(lease("b"), transitions=2**31 - 1)
    taken = leader_election.claim(worn, "a", 9, NOW)
    assert (taken.holder, taken.transitions) == ("a", 2**31 - 1)


def test_what_is_written_is_read_back():
    record = leader_election.claim(lease("b"), "a", 9, NOW)
    assert leader_election.read(leader_election.body(record, "ops", "poolkeeper")) == record


def test_an_empty_record_is_free():
    assert leader_election.read({"metadata": {"resourceVersion": "5"}}) == Lease(
        "", 9, "", "", 0, "5"
    )


def test_giving_up_leaves_nobody_to_wait_for():
    given_up = leader_election.release(lease("a"), NOW)
    assert (given_up.holder, given_up.duration_s, given_up.version) == ("", 1, "7")
    assert decide(given_up, "b", 0, ObservedLease(given_up, 0)) == Acquire()


@pytest.mark.parametrize("duration_s", [3, 4, 9, 60])
def test_a_holder_is_sure_through_one_renewal_that_fails(duration_s: int) -> None:
    pace = leader_election.pace_of(duration_s)
    assert pace.renew_s + pace.request_s + pace.retry_s < pace.hold_s < duration_s
    assert leader_election.pace_of(9) == Pace(2, 1, 3, 8)
