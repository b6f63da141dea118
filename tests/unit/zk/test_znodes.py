"""Where nodes are."""

import pytest

from poolkeeper.zk import znodes


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (znodes.broker(3), "/brokers/ids/3"),
        (znodes.topic("t"), "/brokers/topics/t"),
        (znodes.state("t", 0), "/brokers/topics/t/partitions/0/state"),
        (znodes.deletion("t"), "/admin/delete_topics/t"),
        (znodes.topic_config("t"), "/config/topics/t"),
        (znodes.broker_config("<default>"), "/config/brokers/<default>"),
        (znodes.plan_chunk(7), "/poolkeeper/run/plan-0007"),
        (znodes.record_of_topic("t"), "/poolkeeper/records/topics/t"),
    ],
)
def test_paths(found: str, expected: str) -> None:
    assert found == expected
