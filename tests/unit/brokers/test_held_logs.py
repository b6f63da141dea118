"""Logs by column are beside the replicas that a look at each log by itself finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from laws import examples
from poolkeeper.brokers.enrich import with_sizes
from poolkeeper.brokers.sizes import BrokerLogs, ReplicaLog, Sizes
from poolkeeper.model.columns.partition_columns import columns_of, with_partitions
from poolkeeper.model.topology import Cluster, Partition, Topic, TopicPartition

BROKERS = (1, 2, 3, 2**31 - 1)
DIRS = st.sampled_from(("/a", "/b"))
PARTITIONS = st.tuples(
    st.lists(st.sampled_from(BROKERS), max_size=3, unique=True).map(tuple),
    st.none() | st.integers(0, 9),
    st.none() | st.dictionaries(st.sampled_from(BROKERS), DIRS, min_size=1),
)
TOPICS = st.lists(st.lists(PARTITIONS, max_size=4), max_size=3)
NAMES = st.builds(TopicPartition, st.sampled_from(("t0", "t1", "t2", "gone")), st.integers(0, 4))
LOGS = st.dictionaries(NAMES, st.builds(ReplicaLog, st.integers(-1, 99), DIRS))
ANSWERS = st.dictionaries(
    st.sampled_from((*BROKERS, 7)), st.builds(BrokerLogs, st.just({}), LOGS), min_size=1
)


def cluster_of(topics: list[list[tuple]], numbers: list[int]) -> Cluster:
    found = [
        Topic(
            f"t{at}",
            tuple(
                Partition(number, replicas, size_bytes=size, log_dirs=dirs)
                for number, (replicas, size, dirs) in zip(numbers, parts, strict=False)
            ),
        )
        for at, parts in enumerate(topics)
    ]
    return builders.cluster(BROKERS, *found)


def one_by_one(topic: str, partition: Partition, sizes: Sizes) -> Partition:
    name = TopicPartition(topic, partition.partition)
    held = {b: log for b in partition.replicas if (log := sizes.log(name, b)) is not None}
    if not held:
        return partition
    return partition._replace(
        size_bytes=max(log.size_bytes for log in held.values()),
        log_dirs={broker: log.log_dir for broker, log in held.items()},
    )


@pytest.mark.slow
@examples(200)
@given(TOPICS, ANSWERS, st.booleans(), st.booleans())
def test_logs_are_beside_their_replicas(topics, answers, in_columns, gap):
    cluster = cluster_of(topics, [0, 1, 3, 4] if gap else [0, 1, 2, 3])
    if in_columns:
        parts = [topic.partitions for topic in cluster.topics.values()]
        cluster = with_partitions(cluster, columns_of(parts))
    found = with_sizes(cluster, Sizes(answers))
    assert {name: list(topic.partitions) for name, topic in found.topics.items()} == {
        name: [one_by_one(name, each, Sizes(answers)) for each in topic.partitions]
        for name, topic in cluster.topics.items()
    }
    hosted = {
        (broker, name, each.partition)
        for name, topic in cluster.topics.items()
        for each in topic.partitions
        for broker in each.replicas
    }
    for id_, broker in found.brokers.items():
        logs = answers.get(id_)
        expected = {
            name: log.size_bytes
            for name, log in (logs.current if logs else {}).items()
            if log.size_bytes and (id_, *name) not in hosted
        }
        assert {n: log.size_bytes for n, log in (broker.stray_logs or {}).items()} == expected


@examples(60)
@given(TOPICS, ANSWERS, st.randoms())
def test_directories_are_taken_with_their_rows(topics, answers, dice):
    cluster = with_sizes(cluster_of(topics, [0, 1, 2, 3]), Sizes(answers))
    columns = columns_of([topic.partitions for topic in cluster.topics.values()])
    whole = columns.partitions(0, len(columns))
    rows = dice.sample(range(len(columns)), len(columns))
    taken = columns.take(np.array(rows, dtype=np.int64))
    assert taken.partitions(0, len(rows)) == tuple(whole[row] for row in rows)
