"""Throttle lists and rates of a run, and their restoration."""

import pytest

from builders import move, plan
from poolkeeper.algorithms.throttles import FOLLOWER_RATE, LEADER_RATE, LOG_DIRS_RATE
from poolkeeper.model.execution.refusals import HopelessMove
from poolkeeper.model.plans import MoveLogDir
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.throttling import throttles

LEADERS = "leader.replication.throttled.replicas"
FOLLOWERS = "follower.replication.throttled.replicas"


def test_lists_name_possible_leaders_and_added_replicas_only():
    moves = [
        move("t", 0, (1, 2), (3, 4)),
        move("t", 10, (1, 2), (1, 2, 3), (1, 2, 3, 4)),
        move("u", 1, (1, 2), (2, 1)),
    ]
    assert throttles.throttled_lists(moves) == {
        "t": {
            LEADERS: "0:1,0:2,10:1,10:2,10:3",
            FOLLOWERS: "0:3,0:4,10:3,10:4",
        }
    }
    assert throttles.brokers_of(moves) == (1, 2, 3, 4)


def test_a_list_too_long_for_kafka_is_written_as_every_replica():
    moves = [move("t", p, (100, 200), (300, 400)) for p in range(6000)]
    assert throttles.throttled_lists(moves) == {"t": {LEADERS: "*", FOLLOWERS: "*"}}


@pytest.mark.parametrize(
    ("live", "saved", "expected"),
    [
        pytest.param({"k": "9"}, {"k": None}, {"k": None}, id="ours-goes"),
        pytest.param({"k": "9"}, {"k": "5"}, {"k": "5"}, id="the-one-before-comes-back"),
        pytest.param({"k": "8"}, {"k": "5"}, {"k": "5"}, id="an-earlier-rate-of-ours-too"),
        pytest.param({"k": "7"}, {"k": "5"}, {}, id="somebody-elses-stays"),
        pytest.param({"k": None}, {"k": "5"}, {}, id="somebody-removed-it"),
        pytest.param({"k": "9"}, {"k": "9"}, {}, id="it-was-the-same-before"),
    ],
)
def test_only_what_is_still_ours_is_restored(live, saved, expected):
    assert throttles.values_to_restore(live, saved, [{"k": "9"}, {"k": "8"}]) == expected


@pytest.mark.parametrize(
    ("live", "saved", "expected"),
    [
        pytest.param("0:1,0:2", None, None, id="ours-goes"),
        pytest.param("0:2,0:1", None, None, id="ours-in-another-order-goes"),
        pytest.param("0:2,7:3,0:1", None, "7:3", id="what-others-added-stays"),
        pytest.param("0:2,7:3,0:1", "5:1,0:1", "5:1,0:1,7:3", id="with-what-was-before"),
        pytest.param("0:2,7:3", None, False, id="one-that-lacks-some-of-ours-is-theirs"),
        pytest.param("*", None, False, id="every-replica-is-theirs"),
        pytest.param("0:2,7:3,0:1", "*", False, id="every-replica-before-is-in-no-list"),
        pytest.param("", None, False, id="an-empty-list-is-theirs"),
    ],
)
def test_of_a_list_only_what_is_ours_is_taken_off(live, saved, expected):
    ours = [{LEADERS: "0:1,0:2"}]
    restored = {} if expected is False else {LEADERS: expected}
    assert throttles.values_to_restore({LEADERS: live}, {LEADERS: saved}, ours) == restored


def test_of_a_list_all_that_runs_of_ours_set_is_taken_off():
    """A run that left it, and the next, which found what it wanted in there."""
    ours = [{LEADERS: "0:1"}, {LEADERS: "0:1,0:2"}]
    restored = throttles.values_to_restore({LEADERS: "0:1,0:2,7:3"}, {LEADERS: None}, ours)
    assert restored == {LEADERS: "7:3"}


@pytest.mark.parametrize(
    ("live", "set_", "foreign"),
    [
        pytest.param("0:2,7:3,0:1", False, False, id="ours-are-among-others"),
        pytest.param("0:2,7:3", False, True, id="some-of-ours-are-missing"),
        pytest.param(None, True, False, id="removed"),
    ],
)
def test_a_list_that_has_ours_beside_others_is_left(live, set_, foreign):
    wanted = {LEADERS: "0:1,0:2"}
    found = throttles.to_set({LEADERS: live}, wanted, [{LEADERS: None}])
    assert found == (wanted if set_ else {}, frozenset([LEADERS] if foreign else ()))


@pytest.mark.parametrize(
    ("rate", "start", "healthy", "expected"),
    [
        pytest.param(100 << 20, 100 << 20, True, 125 << 20, id="a-quarter-of-the-start-more"),
        pytest.param(1590 << 20, 100 << 20, True, 1600 << 20, id="up-to-sixteen-times"),
        pytest.param(100 << 20, 100 << 20, False, 50 << 20, id="half-when-replicas-fall-behind"),
        pytest.param(1 << 20, 100 << 20, False, 1 << 20, id="not-below-a-mebibyte"),
        pytest.param(4096, 4096, False, 4096, id="nor-below-a-start-that-is-lower"),
    ],
)
def test_the_adaptive_rate_grows_by_steps_and_halves(rate, start, healthy, expected):
    assert throttles.next_adaptive_rate(rate, start, healthy=healthy) == expected


def test_a_rate_below_the_ingest_is_hopeless_and_says_the_numbers():
    moves = [move("t", 0, (1,), (2,)), move("t", 1, (1,), (2,)), move("t", 2, (1,), (2,))]
    assert throttles.hopeless_moves(moves, [3.0 * 2**20, None, 1.0], 2 * 2**20) == [
        HopelessMove(TopicPartition("t", 0), 3.0 * 2**20, 2 * 2**20)
    ]


def test_moves_between_log_directories_have_a_rate_of_their_own():
    copies = [MoveLogDir("t", 1, broker, "/a", "/b", 9) for broker in (5, 2)]
    both = (LEADER_RATE, FOLLOWER_RATE)
    assert throttles.keys_by_broker(plan(move("t", 0, (1,), (2,)), steps=copies)) == {
        1: both,
        2: (*both, LOG_DIRS_RATE),
        5: (LOG_DIRS_RATE,),
    }
    assert throttles.rates(7, (LOG_DIRS_RATE,)) == {LOG_DIRS_RATE: "7"}
    [hopeless, _] = throttles.hopeless_moves(copies, [3.0, 2.0], 2)
    assert hopeless == HopelessMove(TopicPartition("t", 1), 3.0, 2)
