"""Leader elections, one table for each of the controller's four occasions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.algorithms import elections


@pytest.mark.parametrize(
    ("assignment", "isr", "live", "unclean", "leader"),
    [
        pytest.param((2, 4), (2, 4), {4}, False, 4, id="first-dead-second-in-sync"),
        pytest.param((2, 4), (4, 2), {2, 4}, False, 2, id="assignment-order-not-isr-order"),
        pytest.param((2, 4), (2,), {4}, False, None, id="only-out-of-sync-ones-live"),
        pytest.param((2, 4), (2,), {4}, True, 4, id="unclean-takes-the-first-live"),
        pytest.param((2, 4, 5), (2,), {5, 4}, True, 4, id="unclean-in-assignment-order"),
        pytest.param((2, 4, 5), (5,), {4, 5}, True, 5, id="unclean-prefers-the-isr"),
        pytest.param((2, 4), (2, 4), set(), True, None, id="nobody-lives"),
        pytest.param((2, 4), (), {2, 4}, False, None, id="an-empty-isr"),
        pytest.param((2, 4), (9,), {9}, True, None, id="a-replica-outside-the-assignment"),
    ],
)
def test_offline(assignment, isr, live, unclean, leader):
    assert elections.offline(assignment, isr, live, unclean=unclean) == leader


@pytest.mark.parametrize(
    ("target", "isr", "live", "leader"),
    [
        pytest.param((2, 4), (2, 4), {4}, 4, id="first-of-the-target-dead"),
        pytest.param((4, 2), (2, 4), {2, 4}, 4, id="target-order"),
        pytest.param((2, 4), (4,), {2, 4}, 4, id="first-of-the-target-out-of-sync"),
        pytest.param((2, 4), (2,), {4}, None, id="none-live-and-in-sync"),
        pytest.param((2, 4), (2, 4), set(), None, id="nobody-lives"),
    ],
)
def test_reassign(target, isr, live, leader):
    assert elections.reassign(target, isr, live) == leader


@pytest.mark.parametrize(
    ("assignment", "isr", "live", "leader"),
    [
        pytest.param((2, 4), (2, 4), {2, 4}, 2, id="the-first-can-lead"),
        pytest.param((2, 4), (2, 4), {4}, None, id="the-first-is-dead"),
        pytest.param((2, 4), (4,), {2, 4}, None, id="the-first-is-out-of-sync"),
        pytest.param((), (), set(), None, id="no-replicas"),
    ],
)
def test_preferred(assignment, isr, live, leader):
    assert elections.preferred(assignment, isr, live) == leader


@pytest.mark.parametrize(
    ("assignment", "isr", "live", "stopping", "leader"),
    [
        pytest.param((2, 4), (2, 4), {2, 4}, {2}, 4, id="the-other-takes-over"),
        pytest.param((2, 4), (2,), {2, 4}, {2}, None, id="the-other-is-out-of-sync"),
        pytest.param((2, 4, 6), (2, 4, 6), {2, 4, 6}, {2, 4}, 6, id="two-stop-at-once"),
        pytest.param((2, 4), (2, 4), {2, 4}, {2, 4}, None, id="all-stop"),
        pytest.param((2, 4, 6), (6, 4, 2), {2, 4, 6}, {2}, 4, id="assignment-order-again"),
    ],
)
def test_controlled_shutdown(assignment, isr, live, stopping, leader):
    assert elections.controlled_shutdown(assignment, isr, live, stopping) == leader


@pytest.mark.parametrize(
    ("isr", "live", "leader", "expected"),
    [
        pytest.param((1, 2, 3), {2, 3}, 2, (2, 3), id="dead-ones-leave"),
        pytest.param((1,), {2, 3}, 2, (2,), id="unclean-leaves-the-leader-alone"),
        pytest.param((1,), {2}, None, (1,), id="the-last-member-stays"),
    ],
)
def test_isr_after_offline(isr, live, leader, expected):
    assert elections.isr_after_offline(isr, live, leader) == expected


ids = st.integers(0, 6)
sets = st.sets(ids)


@given(st.lists(ids, unique=True, min_size=1), sets, sets, sets, st.booleans())
def test_a_leader_is_live_and_in_sync_unless_unclean(assignment, isr, live, stopping, unclean):
    """Clean leaders are in ISR and live; unclean ones appear only if nobody clean is left."""
    eligible = set(assignment) & isr & live
    clean = {
        elections.reassign(assignment, isr, live),
        elections.preferred(assignment, isr, live),
        elections.controlled_shutdown(assignment, isr, live, stopping),
    }
    assert clean - {None} <= eligible
    leader = elections.offline(assignment, isr, live, unclean=unclean)
    assert leader in eligible or (not eligible and (leader is None or (unclean and leader in live)))
    if isr:
        assert elections.isr_after_offline(sorted(isr), live, leader)
