"""In which order waits are told: what blocks first, and each thing once."""

import pytest

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, blocks, hold_up, in_order
from poolkeeper.model.topology import TopicPartition

R = WaitReason
T = tuple(TopicPartition("t", number) for number in range(3))
STAGE = Wait(R.STAGE_IN_FLIGHT, stage=1, count=0, of=3)


def dead(broker: int, *names: TopicPartition) -> Wait:
    return Wait(R.TARGET_NOT_LIVE, partitions=names, brokers=(broker,))


def test_what_blocks_is_told_first_and_what_passes_last() -> None:
    foreign = Wait(R.FOREIGN_REQUEST, partitions=T[:1])
    stale = Wait(R.REQUEST_STALE)
    assert in_order((STAGE, foreign, stale)) == (stale, foreign, STAGE)


def test_waits_that_differ_in_their_partitions_alone_become_one() -> None:
    waits = (dead(3, T[0]), dead(4, T[1]), dead(3, T[2]), dead(3, T[0]))
    assert in_order(waits) == (dead(3, T[0], T[2]), dead(4, T[1]))


def test_topics_are_kept_apart_where_the_sentence_names_one() -> None:
    waits = tuple(
        Wait(R.TOPIC_NODE_TOO_LARGE, topic=topic, partitions=(TopicPartition(topic, 0),))
        for topic in "ab"
    )
    assert in_order(waits) == waits


def test_every_reason_has_its_place() -> None:
    assert [reason for reason in WaitReason if blocks(Wait(reason))]
    assert not blocks(STAGE)
    assert blocks(Wait(R.NO_ROOM_ON_DISKS))
    assert blocks(Wait(R.BROKER_NOT_LIVE))


@pytest.mark.parametrize(
    ("reason", "between_stages", "in_flight"),
    [
        pytest.param(WaitReason.PAUSED, True, False, id="a-pause-stops-no-copy"),
        pytest.param(WaitReason.OUTSIDE_WINDOW, True, False, id="nor-does-a-window"),
        pytest.param(WaitReason.BROKER_NOT_LIVE, True, True, id="a-dead-broker-does"),
        pytest.param(WaitReason.STAGE_IN_FLIGHT, False, False, id="in-the-course-of-things"),
    ],
)
def test_what_holds_a_run_up(reason: WaitReason, between_stages: bool, in_flight: bool) -> None:
    waits = (Wait(WaitReason.STAGE_IN_FLIGHT), Wait(reason))
    assert hold_up(waits, copying=False) is between_stages
    assert hold_up(waits, copying=True) is in_flight
