"""The records of throttles: written to the byte as ever, read strictly."""

import pytest

from poolkeeper.errors import DamagedNode, NodeDamage
from poolkeeper.model.execution.throttles import ThrottleRecord
from poolkeeper.zk import znodes
from poolkeeper.zk.journal.throttle_records import decode, encode

LEADERS = "leader.replication.throttled.replicas"
RATE = "leader.replication.throttled.rate"
OF_TOPIC = ThrottleRecord("sha256:p", {LEADERS: "0:1"}, {LEADERS: None})
OF_BROKER = ThrottleRecord("sha256:p", {RATE: "7"}, {RATE: "9"})
WRITTEN = {
    "t": (
        OF_TOPIC,
        b'{"original":{"leader.replication.throttled.replicas":null},'
        b'"ours":{"leader.replication.throttled.replicas":"0:1"},"plan":"sha256:p","version":1}',
    ),
    1: (
        OF_BROKER,
        b'{"original":{"leader.replication.throttled.rate":"9"},'
        b'"ours":{"leader.replication.throttled.rate":"7"},"plan":"sha256:p","version":1}',
    ),
}
"""Records that lie in a ZooKeeper: what a release wrote, later ones read."""


@pytest.mark.parametrize("entity", WRITTEN)
def test_a_record_comes_back_whole(entity):
    record, data = WRITTEN[entity]
    assert (encode(record), decode(data, entity)) == (data, record)


PATH = "/poolkeeper/records/throttles/broker:1"


@pytest.mark.parametrize(
    ("data", "damage"),
    [
        pytest.param(b"", NodeDamage(PATH, "it is empty (expected a JSON object)"), id="empty"),
        pytest.param(b"[]", NodeDamage(PATH, "it is a list (expected an object)"), id="a-list"),
        pytest.param(
            WRITTEN[1][1].replace(b'"version":1', b'"version":2'),
            NodeDamage(PATH, "", 2),
            id="of-a-later-release",
        ),
        pytest.param(
            WRITTEN[1][1].replace(b'"7"', b"7"),
            NodeDamage(PATH, "ours.leader.replication.throttled.rate: is 7 (expected a string)"),
            id="a-number",
        ),
        pytest.param(
            WRITTEN[1][1].replace(b'"plan":"sha256:p",', b""),
            NodeDamage(PATH, "plan: is missing (expected a short text)"),
            id="no-plan",
        ),
        pytest.param(
            WRITTEN["t"][1],
            NodeDamage(PATH, "leader.replication.throttled.replicas is no throttle key"),
            id="a-key-of-topics",
        ),
    ],
)
def test_anything_else_is_damage(data, damage):
    with pytest.raises(DamagedNode) as raised:
        decode(data, 1)
    assert raised.value.damage == damage


@pytest.mark.parametrize(
    ("child", "entity"),
    [
        ("topic:t", "t"),
        ("topic:broker:1", "broker:1"),
        ("broker:1", 1),
        ("broker:01", None),
        ("broker:" + "1" * 5000, None),
        ("broker:", None),
        ("topic:", None),
        ("t", None),
    ],
)
def test_a_record_is_named_after_one_topic_or_broker(child, entity):
    assert znodes.throttled_entity(child) == entity
