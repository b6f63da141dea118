"""The estimate of a topic's znode is never below what is written, and not far above."""

import json

from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.planning.constraints import topic_size
from poolkeeper.planning.constraints.topic_size import NODE_BYTES_MAX
from poolkeeper.zk.client.operations import TRANSACTION_BYTES_MAX
from poolkeeper.zk.codecs.kafka_nodes import TopicNode

BROKERS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=9, unique=True)


@given(BROKERS, st.integers(2, 50), st.data())
def test_a_znode_is_never_larger_than_estimated(
    brokers: list[int], partitions: int, data: st.DataObject
) -> None:
    lists = data.draw(
        st.lists(
            st.lists(st.sampled_from(brokers), min_size=1, max_size=4, unique=True).map(tuple),
            min_size=partitions,
            max_size=partitions,
        )
    )
    estimated = topic_size.topic_node_bytes(partitions, max(map(len, lists)), brokers)
    assert len(TopicNode.encode_new(lists)) <= estimated
    body = {"version": 3, "topic_id": "x" * 22, "partitions": {"0": list(lists[0])}}
    empty = {"adding_replicas": {}, "removing_replicas": {}}
    live = TopicNode.decode(json.dumps({**body, **empty}).encode())
    assert len(live.encode_with_added(1, lists[1:])) <= estimated


@given(BROKERS, st.integers(1, 9))
def test_as_many_partitions_as_are_said_to_fit_do_and_one_more_does_not(
    brokers: list[int], factor: int
) -> None:
    most = topic_size.partitions_max(factor, brokers)
    assert topic_size.topic_node_bytes(most, factor, brokers) <= NODE_BYTES_MAX
    assert topic_size.topic_node_bytes(most + 1, factor, brokers) > NODE_BYTES_MAX


def test_lists_of_the_usual_kind_fill_most_of_a_transaction() -> None:
    most = topic_size.partitions_max(3, range(100, 160))
    lists = [(100 + p % 60, 100 + (p + 1) % 60, 100 + (p + 2) % 60) for p in range(most)]
    assert most > 8_000
    assert 0.6 * TRANSACTION_BYTES_MAX < len(TopicNode.encode_new(lists)) <= NODE_BYTES_MAX
