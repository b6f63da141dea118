"""The record of a topic: what is written is read again, and earlier bodies stay readable."""

import pytest

from poolkeeper.jsontext import canonical
from poolkeeper.model.execution.records import TopicRecord
from poolkeeper.model.specs import DeletionPolicy
from poolkeeper.zk import znodes
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.codecs.our_nodes import TopicRecordBody
from poolkeeper.zk.journal import records

PATH = znodes.record_of_topic("orders")
BODY = {"version": 1, "owner": "shop/orders", "declared": ["a"], "deletion_policy": "Delete"}
OWNED = TopicRecord("shop/orders", ("a",), DeletionPolicy.DELETE)


@pytest.mark.parametrize(
    ("record", "body"),
    [
        pytest.param(OWNED, BODY, id="owned"),
        pytest.param(
            TopicRecord("shop/orders", ("a",), DeletionPolicy.DELETE, "x", 7, "sha256:1", True),
            {**BODY, "topic_id": "x", "created_zxid": 7, "adoption": "sha256:1", "released": True},
            id="with-everything",
        ),
    ],
)
def test_a_record_is_written_and_read(record: TopicRecord, body: dict[str, object]) -> None:
    data = records.encode_topic(record)
    assert data.decode() == canonical(body)
    assert our_nodes.decode(PATH, data, TopicRecordBody).record == record
