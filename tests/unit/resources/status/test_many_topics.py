"""Statuses of thousands of Topics: what all of them wait for is worded once."""

import pytest

from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import TopicPartition
from poolkeeper.resources.kinds.custom_resource import ObjectKey
from unit.resources.bodies import kafka, topic
from unit.resources.situations import AUTO, POOLS
from unit.resources.stages import seen, told


@pytest.mark.slow
def test_thousands_of_topics_are_told_of_thousands_of_waits() -> None:
    topics = [topic(f"t{number}", "fast", partitions=1) for number in range(1_000)]
    waits = tuple(
        Wait(WaitReason.FOREIGN_MOVE, brokers=(number,), partitions=(TopicPartition("x", number),))
        for number in range(1_000)
    )
    objects = (AUTO, *POOLS, *topics)
    found = told(objects, seen(kafka()), Outcome(State.WAITING, waits=waits))
    (ready, _) = found[ObjectKey("Topic", "shop", "t7")]["conditions"]
    assert ready["message"].endswith(
        "a foreign reassignment moves x-0; broker 0 is not live, a foreign reassignment moves x-1;"
        " broker 1 is not live and 998 more"
    )
