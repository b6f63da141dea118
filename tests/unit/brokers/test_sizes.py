import pytest

from poolkeeper.brokers.sizes import BrokerLogs, ReplicaLog, from_response
from poolkeeper.errors import Unavailable
from poolkeeper.model.topology import LogDir, TopicPartition

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def directory(path, *topics, error_code=0, **volume):
    return {"error_code": error_code, "log_dir": path, "topics": list(topics), **volume}


def topic(name, *partitions):
    keys = ("partition_index", "partition_size", "offset_lag", "is_future_key")
    return {"name": name, "partitions": [dict(zip(keys, p, strict=True)) for p in partitions]}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param([], BrokerLogs({}, {}), id="nothing"),
        pytest.param(
            [directory("/d1", topic("t", (0, 100, 0, False), (1, 7, 3, False)))],
            BrokerLogs({"/d1": LogDir()}, {T0: ReplicaLog(100, "/d1"), T1: ReplicaLog(7, "/d1")}),
            id="volumes-are-unknown-before-3.3",
        ),
        pytest.param(
            [directory("/d1", total_bytes=-1, usable_bytes=-1)],
            BrokerLogs({"/d1": LogDir()}, {}),
            id="a-negative-volume-is-unknown-too",
        ),
        pytest.param(
            [directory("/d1", total_bytes=50, usable_bytes=0)],
            BrokerLogs({"/d1": LogDir(50, 0)}, {}),
            id="a-full-volume-is-known",
        ),
        pytest.param(
            [
                directory("/d1", topic("t", (0, 100, 0, False))),
                directory("/d2", topic("t", (0, 40, 400, True))),
            ],
            BrokerLogs(
                {"/d1": LogDir(), "/d2": LogDir()},
                {T0: ReplicaLog(100, "/d1")},
                {T0: ReplicaLog(40, "/d2")},
            ),
            id="a-future-log-is-not-the-replica",
        ),
        pytest.param(
            [directory("/d1", error_code=56), directory("/d2")],
            BrokerLogs({"/d2": LogDir()}, {}, offline={"/d1": "storage error"}),
            id="an-offline-directory-is-named",
        ),
        pytest.param(
            [directory("/d1", topic("other"))],
            BrokerLogs({"/d1": LogDir()}, {}),
            id="a-topic-without-partitions-leaves-no-trace",
        ),
    ],
)
def test_reading_one_brokers_answer(answer, expected):
    assert from_response(answer) == expected


@pytest.mark.parametrize("code", [-1, 29, 57])
def test_a_broker_that_cannot_look_at_a_directory_has_not_answered(code):
    answer = [directory("/d1", error_code=code), directory("/d2", error_code=56)]
    with pytest.raises(Unavailable, match=rf"log directory /d1 \(error {code}\)"):
        from_response(answer)
