"""What a config costs that has leaders elected at once."""

import pytest

import builders
from builders import partition, topic
from poolkeeper.model.plans import SetConfig
from poolkeeper.model.problems import is_left_undone
from poolkeeper.planning.diagnosis.unclean_elections import problems
from poolkeeper.planning.run_state.unclean_elections import KEY

LEADERLESS = partition(0, 1, 2, leader=-1, isr=(1,))
HOPELESS = partition(1, 1, 4, leader=-1, isr=(1,))
LED = partition(2, 2, 3)
DEAD_LEADER = partition(3, 1, 2, leader=1, isr=(1,))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "true",
            "unclean.leader.election.enable elects leaders that are not in sync, at once (up to"
            " Kafka 2.0 with the next controller): t-0, t-3: what only broker 1 had is lost, even"
            " if they return",
        ),
        ("false", None),
    ],
)
def test_what_is_lost_by_a_config_is_told(value: str, message: str | None) -> None:
    seen = builders.cluster((2, 3), topic("t", LEADERLESS, HOPELESS, LED, DEAD_LEADER))
    found = list(problems([SetConfig("t", {KEY: value})], seen))
    assert [each.message for each in found] == ([] if message is None else [message])
    assert not any(is_left_undone(each.reason) for each in found)
