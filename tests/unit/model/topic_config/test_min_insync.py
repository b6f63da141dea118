"""How many replicas must be in sync: what a topic says, else what brokers say."""

import pytest

import builders
from builders import partition, topic
from poolkeeper.model.topic_config.min_insync import default_min_insync, min_insync
from poolkeeper.model.topology import Broker


@pytest.mark.parametrize(
    ("told", "needed"),
    [
        pytest.param("2", 2, id="a-number"),
        pytest.param(" 3 ", 3, id="with-blanks"),
        pytest.param("0", 0, id="zero"),
        *(
            pytest.param(told, 1, id=name)
            for name, told in {
                "nothing": "",
                "below-zero": "-1",
                "a-fraction": "2.0",
                "a-superscript": "\u00b2",
                "5000-digits": "9" * 5000,
            }.items()
        ),
    ],
)
def test_the_replicas_in_sync_that_a_topic_needs(told: str, needed: int) -> None:
    assert min_insync(topic("t", (1, 2), config={"min.insync.replicas": told}), 5) == needed


@pytest.mark.parametrize(
    ("brokers", "needed"),
    [
        pytest.param([Broker(1), Broker(2)], 1, id="nobody-tells"),
        pytest.param([Broker(1, min_insync=2), Broker(2)], 2, id="one-tells"),
        pytest.param([Broker(1, min_insync=2), Broker(2, min_insync=3)], 3, id="the-largest"),
        pytest.param(
            [Broker(1, config={"min.insync.replicas": "2"})], 2, id="dynamic-in-zookeeper"
        ),
        pytest.param([Broker(1, config={"min.insync.replicas": "no"})], 1, id="no-number"),
    ],
)
def test_what_brokers_say_counts_for_topics_that_say_nothing(
    brokers: list[Broker], needed: int
) -> None:
    found = builders.cluster(brokers, topic("t", partition(0, 1, 2, leader=1, isr=(1,))))
    assert default_min_insync(found) == needed
    assert min_insync(found.topics["t"], default_min_insync(found)) == needed
