from dataclasses import replace

import pytest

import builders
from poolkeeper.brokers import enrich
from poolkeeper.brokers.enrich import Enrichment, enrich_if_reachable, with_sizes
from poolkeeper.brokers.requests import Versions
from poolkeeper.brokers.sizes import BrokerLogs, Failure, ReplicaLog, Sizes
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    LogDir,
    Partition,
    StrayLog,
    Topic,
    TopicPartition,
)

T0 = TopicPartition("t", 0)
LOGS = BrokerLogs({"/d1": LogDir(100, 50)}, {T0: ReplicaLog(10, "/d1")})
LARGER = BrokerLogs({"/d2": LogDir()}, {T0: ReplicaLog(30, "/d2")})


def cluster(brokers=(1, 2), version=None, **partition):
    found = Topic("t", (Partition(0, (1, 2), **partition),))
    return builders.cluster(brokers, found, id=None, kafka_version=version)


NO_VERSIONS = Versions({}, {})


class Answers:
    """Stands where brokers would: gives what it was made with."""

    def __init__(self, sizes, versions=NO_VERSIONS):
        self._sizes = sizes
        self._versions = versions

    def sizes(self, brokers, deadline_s):
        return self._sizes

    def min_insync(self, brokers, deadline_s):
        return dict.fromkeys(brokers, 2)

    def versions(self, brokers, deadline_s):
        return self._versions


def test_sizes_and_directories_are_filled_in_where_brokers_answered():
    found = with_sizes(cluster(size_bytes=5), Sizes({1: LOGS, 2: LARGER}))
    assert found == Cluster(
        name="main",
        brokers={
            1: Broker(1, log_dirs={"/d1": LogDir(100, 50)}),
            2: Broker(2, log_dirs={"/d2": LogDir()}),
        },
        topics={
            "t": Topic("t", (Partition(0, (1, 2), size_bytes=30, log_dirs={1: "/d1", 2: "/d2"}),))
        },
    )


def sizes(**by_broker):
    return Sizes(
        {
            int(broker[1:]): BrokerLogs({}, {} if size is None else {T0: ReplicaLog(size, "/d1")})
            for broker, size in by_broker.items()
        }
    )


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(sizes(b1=10, b2=30), 30, id="the-largest-counts"),
        pytest.param(sizes(b1=10, b3=30), 10, id="only-of-its-own-replicas"),
        pytest.param(sizes(b1=10, b2=None), 10, id="a-broker-without-the-replica"),
        pytest.param(sizes(b1=0), 0, id="empty-is-known"),
        pytest.param(sizes(b1=None), None, id="no-replica-is-known"),
        pytest.param(sizes(), None, id="a-silent-broker-is-unknown"),
    ],
)
def test_the_size_is_that_of_the_largest_replica(known, expected):
    (partition,) = with_sizes(cluster(), known).topics["t"].partitions
    assert partition.size_bytes == expected


def test_what_is_not_answered_stays_as_it_was():
    before = cluster(size_bytes=5, log_dirs={1: "/old"})
    assert with_sizes(before, Sizes({}, {1: Failure("no answer in time")})) == before
    assert with_sizes(before, Sizes({1: BrokerLogs({}, {})})).topics == before.topics


def test_silent_brokers_and_offline_directories_are_warnings():
    sick = BrokerLogs({}, {}, offline={"/d1": "storage error"})
    sizes = Sizes({1: sick}, {2: Failure("no answer in time")})
    found = enrich.enrich_cluster(cluster(version="2.8"), Answers(sizes), deadline_s=1)
    assert found.warnings == (
        "broker 2 does not report sizes: no answer in time",
        "broker 1: log directory /d1 is offline (storage error)",
    )


def test_what_brokers_say_of_their_version_counts_more_than_what_znodes_look_like():
    answers = Answers(Sizes({1: LOGS, 2: LARGER}), Versions({1: "2.8", 2: "2.8"}, {}))
    found = enrich.enrich_cluster(cluster(version="2.8 to 3.3"), answers, deadline_s=1)
    assert (found.cluster.kafka_version, found.warnings) == ("2.8", ())
    assert {broker.release for broker in found.cluster.brokers.values()} == {"2.8"}


def test_a_version_that_brokers_do_not_tell_stays_as_it_was():
    found = enrich.enrich_cluster(cluster(version="0.10.1 to 0.11.0"), Answers(Sizes({1: LOGS})), 1)
    assert found.cluster.kafka_version == "0.10.1 to 0.11.0"
    assert {broker.release for broker in found.cluster.brokers.values()} == {None}


def test_brokers_tell_how_many_replicas_must_be_in_sync():
    sizes = Sizes({1: LOGS}, {2: Failure("no answer in time")})
    found = enrich.enrich_cluster(cluster(), Answers(sizes), deadline_s=1)
    assert {n: b.min_insync for n, b in found.cluster.brokers.items()} == {1: 2, 2: None}


def test_the_lowest_version_counts_and_the_mixture_is_said():
    answers = Answers(Sizes({1: LOGS, 2: LARGER}), Versions({1: "2.8", 2: "0.10.2"}, {}))
    found = enrich.enrich_cluster(cluster(), answers, deadline_s=1)
    assert found.cluster.kafka_version == "0.10.2"
    assert {n: b.release for n, b in found.cluster.brokers.items()} == {1: "2.8", 2: "0.10.2"}
    assert found.warnings == ("brokers run different versions; the lowest, 0.10.2, counts",)


def test_brokers_that_nobody_can_reach_are_one_warning():
    before = cluster()
    # Port 1 is reserved: nothing listens there.
    assert enrich_if_reachable(before, ("127.0.0.1:1",), None, None, deadline_s=2) == Enrichment(
        before,
        Sizes({}),
        ("no sizes are known: no broker answers (127.0.0.1:1: Connection refused)",),
    )


STRAY = ReplicaLog(7, "/d1")


@pytest.mark.parametrize(
    ("on_3", "leader", "known", "strays"),
    [
        pytest.param({T0: STRAY}, 1, {1: LOGS}, {T0: StrayLog(7, 10)}, id="beside-its-leader's"),
        pytest.param({T0: STRAY}, 2, {1: LOGS}, {T0: StrayLog(7)}, id="the-leader-is-silent"),
        pytest.param({T0: STRAY}, -1, {1: LOGS}, {T0: StrayLog(7)}, id="nobody-leads"),
        pytest.param({T0: STRAY}, None, {1: LOGS}, {T0: StrayLog(7)}, id="no-state-is-known"),
        pytest.param({T0: ReplicaLog(0, "/d1")}, 1, {1: LOGS}, {}, id="an-empty-one-is-none"),
        pytest.param(
            {TopicPartition("t", 9): STRAY},
            1,
            {},
            {TopicPartition("t", 9): StrayLog(7)},
            id="no-such-partition",
        ),
        pytest.param(
            {TopicPartition("u", 0): STRAY},
            1,
            {},
            {TopicPartition("u", 0): StrayLog(7)},
            id="no-such-topic",
        ),
        pytest.param({TopicPartition("torn", 0): STRAY}, 1, {}, {}, id="of-a-torn-topic"),
    ],
)
def test_logs_of_others_are_told_apart(on_3, leader, known, strays):
    before = replace(cluster((1, 2, 3), leader=leader), torn=frozenset({"torn"}))
    found = with_sizes(before, Sizes({**known, 3: BrokerLogs({}, on_3)}))
    assert found.brokers[3].stray_logs == strays
    assert found.brokers[1].stray_logs == {}
