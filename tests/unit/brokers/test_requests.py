import pytest

from poolkeeper.brokers.requests import Setting, Versions, is_throttle_applied

LEADER = "leader.replication.throttled.rate"
FOLLOWER = "follower.replication.throttled.rate"
DYNAMIC = "DYNAMIC_BROKER_CONFIG"


@pytest.mark.parametrize(
    ("config", "expected", "answer"),
    [
        pytest.param({}, {LEADER: None}, True, id="absent-as-it-shall-be"),
        pytest.param({}, {LEADER: "5"}, False, id="not-yet-there"),
        pytest.param({LEADER: Setting("5", DYNAMIC)}, {LEADER: "5"}, True, id="in-force"),
        pytest.param({LEADER: Setting("4", DYNAMIC)}, {LEADER: "5"}, False, id="an-older-value"),
        pytest.param({LEADER: Setting("4", DYNAMIC)}, {LEADER: None}, False, id="not-yet-gone"),
        pytest.param(
            {LEADER: Setting(None, "DEFAULT_CONFIG")}, {LEADER: None}, True, id="2.0-after-removal"
        ),
        pytest.param(
            {LEADER: Setting(None, DYNAMIC)}, {LEADER: "5"}, None, id="2.0-hides-the-value"
        ),
        pytest.param({LEADER: Setting(None, DYNAMIC)}, {LEADER: None}, False, id="2.0-still-there"),
        pytest.param(
            {LEADER: Setting(None, DYNAMIC)},
            {LEADER: "5", FOLLOWER: "5"},
            False,
            id="2.0-one-of-two-is-there",
        ),
    ],
)
def test_whether_a_broker_has_taken_a_throttle_over(config, expected, answer):
    assert is_throttle_applied(config, expected) is answer


@pytest.mark.parametrize(
    ("releases", "lowest"),
    [
        pytest.param({}, None, id="nobody-answered"),
        pytest.param({1: "3.9", 2: "3.9"}, "3.9", id="all-alike"),
        pytest.param({1: "2.8", 2: "0.10.2"}, "0.10.2", id="in-an-upgrade"),
    ],
)
def test_lowest_release(releases, lowest):
    assert Versions(releases, {}).lowest == lowest
