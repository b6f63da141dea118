"""What may be declared of `__consumer_offsets` and `__transaction_state`."""

import pytest

from poolkeeper.algorithms.internal_topics import (
    commits_need,
    config_problem,
    declaration_problem,
    is_declarable,
    keeps,
)

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param(OFFSETS, None, id="the offsets"),
        pytest.param(TRANSACTIONS, None, id="the transactions"),
        pytest.param("orders", None, id="anybody's"),
        pytest.param("_schemas", None, id="a service's"),
        pytest.param(
            "__share_group_state",
            "is an internal topic of Kafka (expected a name of your own)",
            id="one that clusters with ZooKeeper never have",
        ),
        pytest.param(
            "__cluster_metadata",
            "is reserved by Kafka (expected a name of your own)",
            id="one that is no topic",
        ),
    ],
)
def test_which_names_a_topic_may_have(name, problem):
    assert declaration_problem(name) == problem


def test_only_two_internal_topics_are_declared():
    names = [OFFSETS, TRANSACTIONS, "__share_group_state", "__cluster_metadata", "orders"]
    assert [name for name in names if is_declarable(name)] == [OFFSETS, TRANSACTIONS]


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [
        pytest.param(OFFSETS, "cleanup.policy", "compact", id="compacted"),
        pytest.param(OFFSETS, "cleanup.policy", " compact ", id="compacted, with blanks"),
        pytest.param(OFFSETS, "compression.type", "producer", id="offsets as they come"),
        pytest.param(TRANSACTIONS, "compression.type", "uncompressed", id="transactions plain"),
        pytest.param(TRANSACTIONS, "unclean.leader.election.enable", "False", id="clean elections"),
        pytest.param(OFFSETS, "segment.bytes", "104857600", id="segments as Kafka makes them"),
        pytest.param(OFFSETS, "max.message.bytes", "10485760", id="room for large groups"),
        pytest.param(OFFSETS, "min.insync.replicas", "2", id="more acknowledgements"),
        pytest.param(OFFSETS, "retention.ms", "1", id="what compaction does not look at"),
        pytest.param(OFFSETS, "segment.bytes", "large", id="no number: said of every topic"),
        pytest.param("orders", "cleanup.policy", "delete", id="anybody's topic"),
    ],
)
def test_what_does_no_harm(topic, key, value):
    assert config_problem(topic, key, value) is None


@pytest.mark.parametrize(
    ("topic", "key", "value", "problem"),
    [
        pytest.param(
            OFFSETS,
            "cleanup.policy",
            "delete",
            "'delete' breaks __consumer_offsets (expected 'compact')",
            id="old offsets deleted",
        ),
        pytest.param(
            TRANSACTIONS,
            "cleanup.policy",
            "compact,delete",
            "'compact,delete' breaks __transaction_state (expected 'compact')",
            id="old ones deleted as well",
        ),
        pytest.param(
            OFFSETS,
            "compression.type",
            "gzip",
            "'gzip' breaks __consumer_offsets (expected 'producer')",
            id="offsets compressed again",
        ),
        pytest.param(
            TRANSACTIONS,
            "compression.type",
            "producer",
            "'producer' breaks __transaction_state (expected 'uncompressed')",
            id="transactions compressed",
        ),
        pytest.param(
            OFFSETS,
            "unclean.leader.election.enable",
            "TRUE",
            "'TRUE' breaks __consumer_offsets (expected 'false')",
            id="commits lost in an election",
        ),
        pytest.param(
            OFFSETS,
            "remote.storage.enable",
            "true",
            "'true' breaks __consumer_offsets (expected 'false')",
            id="remote storage",
        ),
        pytest.param(
            TRANSACTIONS,
            "message.format.version",
            "0.10.2",
            "'0.10.2' breaks __transaction_state (expected: not declared)",
            id="an old format",
        ),
        pytest.param(
            OFFSETS,
            "max.message.bytes",
            "1000011",
            "'1000011' is too small for what Kafka writes to __consumer_offsets"
            " (expected 1000012 or more)",
            id="large groups refused",
        ),
        pytest.param(
            OFFSETS,
            "segment.bytes",
            "1024",
            "'1024' is too small for what Kafka writes to __consumer_offsets"
            " (expected 1000012 or more)",
            id="segments smaller than a record",
        ),
    ],
)
def test_what_breaks_them(topic, key, value, problem):
    assert config_problem(topic, key, value) == problem


@pytest.mark.parametrize(
    ("topic", "key", "kept"),
    [
        pytest.param(OFFSETS, "cleanup.policy", True, id="it would return to delete"),
        pytest.param(OFFSETS, "segment.bytes", True, id="to 1 GiB"),
        pytest.param(TRANSACTIONS, "min.insync.replicas", True, id="to 1"),
        pytest.param(OFFSETS, "max.message.bytes", False, id="to what Kafka had"),
        pytest.param("orders", "cleanup.policy", False, id="anybody's topic"),
    ],
)
def test_what_kafka_set_is_never_unset(topic, key, kept):
    assert keeps(topic, key) is kept


def test_how_many_replicas_a_commit_needs():
    assert commits_need({}) == 1
    assert commits_need({"min.insync.replicas": " 2"}) == 2
    assert commits_need({"min.insync.replicas": "many"}) == 1
