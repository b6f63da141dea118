import json
from dataclasses import replace
from pathlib import Path

import pytest

from poolkeeper.errors import InvalidInput, Problem
from poolkeeper.model import snapshots
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    LogDir,
    Partition,
    ReassignmentEntry,
    Topic,
)

EXAMPLE = {
    "version": 1,
    "readMs": 1772366400000,
    "cluster": {
        "name": "main",
        "id": "abc",
        "kafkaVersion": "3.9",
        "tracedVersion": "3.4 to 3.9",
        "controller": 1,
    },
    "brokers": [
        {
            "id": 1,
            "rack": "a",
            "endpoints": ["PLAINTEXT://h:9092"],
            "config": {},
            "logDirs": {"/d1": {"totalBytes": 1, "usableBytes": 0}},
            "release": "3.9",
            "minInsyncReplicas": 2,
        }
    ],
    "topics": [
        {
            "name": "t",
            "id": "def",
            "config": {"retention.ms": "1000"},
            "partitions": [
                {
                    "partition": 0,
                    "replicas": [1, 2, 3],
                    "adding": [],
                    "removing": [3],
                    "leader": 1,
                    "isr": [1, 2],
                    "bytes": 1048576,
                    "bytesInPerSecond": 10.5,
                    "logDirs": {"1": "/d1"},
                }
            ],
        }
    ],
    "reassignment": [{"topic": "t", "partition": 0, "replicas": [1, 2, 4]}],
    "deleting": ["u"],
}
CLUSTER = Cluster(
    name="main",
    id="abc",
    kafka_version="3.9",
    traced_version="3.4 to 3.9",
    controller=Controller(broker=1),
    brokers={
        1: Broker(
            1, "a", ("PLAINTEXT://h:9092",), {}, {"/d1": LogDir(1, 0)}, release="3.9", min_insync=2
        )
    },
    topics={
        "t": Topic(
            "t",
            (Partition(0, (1, 2, 3), (), (3,), 1, (1, 2), None, 1048576, 10.5, {1: "/d1"}),),
            "def",
            {"retention.ms": "1000"},
        )
    },
    reassignment=(ReassignmentEntry("t", 0, (1, 2, 4)),),
    deleting=frozenset({"u"}),
    read_ms=1_772_366_400_000,
)
SMALLEST = {
    "version": 1,
    "cluster": {"name": "c"},
    "brokers": [{"id": 7}],
    "topics": [{"name": "t", "partitions": [{"partition": 0, "replicas": [7]}]}],
}


def test_everything_that_the_format_names_is_read() -> None:
    assert snapshots.from_json(EXAMPLE) == CLUSTER


def test_what_is_absent_is_unknown_and_never_zero() -> None:
    unknown = Partition(0, (7,), (), (), None, None, None, None, None, None)
    assert snapshots.from_json(SMALLEST) == Cluster(
        name="c",
        brokers={7: Broker(7, None, (), None, None)},
        topics={"t": Topic("t", (unknown,), None, None)},
        reassignment=None,
    )


def test_a_topic_whose_partitions_are_not_told_is_left_alone() -> None:
    found = snapshots.from_json(
        {**SMALLEST, "topics": [{"name": "t"}, {"name": "u", "partitions": []}]}
    )
    assert found.damaged == {"t": "the snapshot does not tell its partitions"}
    assert {name: len(topic.partitions) for name, topic in found.topics.items()} == {"u": 0}


def test_a_null_is_as_good_as_absent_and_unknown_keys_are_ignored() -> None:
    body = json.loads(json.dumps(SMALLEST))
    body["topics"][0]["partitions"][0] |= {"leader": None, "isr": None, "bytes": None, "new": 1}
    body["brokers"][0] |= {"rack": None, "logDirs": None}
    body |= {"reassignment": None, "deleting": None, "future": {}}
    assert snapshots.from_json(body) == snapshots.from_json(SMALLEST)


def test_an_empty_request_is_not_no_request() -> None:
    assert snapshots.from_json({**SMALLEST, "reassignment": []}).reassignment == ()


def test_topics_that_could_not_be_read_are_kept_as_such() -> None:
    cluster = replace(CLUSTER, torn=frozenset({"x", "w"}), damaged={"y": "is empty"}, electing=True)
    data = snapshots.to_json(cluster)
    assert (data["torn"], data["damaged"], data["electing"]) == (
        ["w", "x"],
        {"y": "is empty"},
        True,
    )
    assert snapshots.from_json(data) == cluster


def changed(path: str, value: object) -> dict[str, object]:
    """Return the example with the field at a dotted path replaced; `...` removes it."""
    body = json.loads(json.dumps(EXAMPLE))
    *way, last = path.split(".")
    target = body
    for step in way:
        target = target[int(step)] if step.isdecimal() else target[step]
    key = int(last) if last.isdecimal() else last
    if value is ...:
        del target[key]
    else:
        target[key] = value
    return body


P = "topics.0.partitions.0"
NO_NODE = "(expected a name that a node of ZooKeeper can have)"
WRONG = [
    ("version", 2, "version", "is 2: a later Poolkeeper wrote it (this one knows 1): use that"),
    ("version", ..., "version", "is missing (expected 1)"),
    ("cluster", ..., "cluster", "is missing (expected an object)"),
    ("cluster.name", ..., "cluster.name", "is missing (expected a string)"),
    ("cluster.name", 5, "cluster.name", "is 5 (expected a string)"),
    ("cluster.controller", "1", "cluster.controller", "is '1' (expected a broker id)"),
    ("brokers", {}, "brokers", "is {} (expected a list)"),
    ("brokers.0", 1, "brokers[0]", "is 1 (expected an object)"),
    ("brokers.0.id", ..., "brokers[0].id", "is missing (expected a broker id)"),
    ("brokers.0.id", "1", "brokers[0].id", "is '1' (expected a broker id)"),
    ("brokers.0.id", True, "brokers[0].id", "is true (expected a broker id)"),
    ("brokers.0.rack", 1, "brokers[0].rack", "is 1 (expected a string)"),
    ("brokers.0.endpoints", [1], "brokers[0].endpoints[0]", "is 1 (expected a string)"),
    ("brokers.0.config", {"a": 1}, "brokers[0].config.a", "is 1 (expected a string)"),
    (
        "brokers.0.logDirs",
        {"/d": {"totalBytes": -1}},
        "brokers[0].logDirs./d.totalBytes",
        "is -1 (expected an integer from 0 to 2^53)",
    ),
    ("brokers", [{"id": 1}, {"id": 1}], "brokers", "has 1 twice"),
    (
        f"{P}.bytes",
        1.0,
        "topics[0].partitions[0].bytes",
        "is 1.0 (expected an integer from 0 to 2^53)",
    ),
    ("topics.0.config", {"a": None}, "topics[0].config.a", "is null (expected a string)"),
    (
        "topics.0.partitions",
        [{"partition": 0, "replicas": [1]}] * 2,
        "topics[0].partitions",
        "has 0 twice",
    ),
    ("topics.0.name", ..., "topics[0].name", f"is missing {NO_NODE}"),
    ("topics.0.config", [], "topics[0].config", "is [] (expected an object)"),
    ("topics.0.partitions", 3, "topics[0].partitions", "is 3 (expected a list)"),
    (
        f"{P}.partition",
        ...,
        "topics[0].partitions[0].partition",
        "is missing (expected the number of a partition)",
    ),
    (
        f"{P}.replicas",
        ...,
        "topics[0].partitions[0].replicas",
        "is missing (expected a list of at least one broker id)",
    ),
    (
        f"{P}.replicas",
        [],
        "topics[0].partitions[0].replicas",
        "is [] (expected a list of at least one broker id)",
    ),
    (
        f"{P}.replicas",
        ["1"],
        "topics[0].partitions[0].replicas[0]",
        "is '1' (expected a broker id)",
    ),
    (
        f"{P}.leader",
        "1",
        "topics[0].partitions[0].leader",
        "is '1' (expected a broker id, or -1 for none)",
    ),
    (f"{P}.isr", 1, "topics[0].partitions[0].isr", "is 1 (expected a list of broker ids)"),
    (
        f"{P}.bytesInPerSecond",
        -0.5,
        "topics[0].partitions[0].bytesInPerSecond",
        "is -0.5 (expected a number from 0 to 2^53)",
    ),
    (
        f"{P}.bytesInPerSecond",
        float("nan"),
        "topics[0].partitions[0].bytesInPerSecond",
        "is NaN (expected a number from 0 to 2^53)",
    ),
    (
        f"{P}.logDirs",
        {"x": "/d"},
        "topics[0].partitions[0].logDirs.x",
        "is no key here (expected a broker id)",
    ),
    *(
        (path, 2**31, field, f"is 2147483648 (expected {expected})")
        for path, field, expected in (
            ("brokers.0.id", "brokers[0].id", "a broker id"),
            (f"{P}.partition", "topics[0].partitions[0].partition", "the number of a partition"),
            (f"{P}.leader", "topics[0].partitions[0].leader", "a broker id, or -1 for none"),
        )
    ),
    (f"{P}.isr", [2**64], "topics[0].partitions[0].isr[0]", f"is {2**64} (expected a broker id)"),
    (
        f"{P}.bytes",
        2**63,
        "topics[0].partitions[0].bytes",
        f"is {2**63} (expected an integer from 0 to 2^53)",
    ),
    (
        f"{P}.bytesInPerSecond",
        1e300,
        "topics[0].partitions[0].bytesInPerSecond",
        "is 1e+300 (expected a number from 0 to 2^53)",
    ),
    ("reassignment.0.topic", ..., "reassignment[0].topic", "is missing (expected a string)"),
    ("deleting", "u", "deleting", "is 'u' (expected a list)"),
    *(
        ("topics.0.name", name, "topics[0].name", f"is {name!r} {NO_NODE}")
        for name in ("", ".", "..", "a/b", "a\x00")
    ),
    ("deleting", ["a/b"], "deleting[0]", f"is 'a/b' {NO_NODE}"),
    ("damaged", {"a/b": "why"}, "damaged.a/b", f"is no key here {NO_NODE}"),
]


@pytest.mark.parametrize(
    ("path", "value", "field", "message"), WRONG, ids=[f"{w[0]}={w[1]!r:.20}" for w in WRONG]
)
def test_one_mistake_gives_one_problem_with_its_place(
    path: str, value: object, field: str, message: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        snapshots.from_json(changed(path, value), "s.json")
    assert raised.value.problems == (Problem("s.json", 0, field, message),)


def test_all_problems_are_told_at_once() -> None:
    topics = [{"name": 1}, 2, {"name": "t"}, {"name": "t"}]
    body = changed("brokers.0.id", "1") | {"version": 3, "topics": topics}
    with pytest.raises(InvalidInput) as raised:
        snapshots.from_json(body)
    assert [problem.field for problem in raised.value.problems] == [
        "brokers[0].id",
        "topics",
        "topics[0].name",
        "topics[1]",
        "version",
    ]


def test_what_is_no_object_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is \[\] \(expected an object\)"):
        snapshots.from_json([])


@pytest.mark.parametrize(("key", "what"), [("replicas", "replica list"), ("isr", "ISR")])
def test_a_list_as_no_cluster_has_is_damage_of_its_topic_alone(key: str, what: str) -> None:
    sound = {"partition": 0, "replicas": [1, 2], "isr": [1]}
    long = {"partition": 1, "replicas": [1], key: list(range(10_001))}
    topics = [
        {"name": "a", "partitions": [sound]},
        {"name": "b", "partitions": [sound, long]},
        {"name": "c", "partitions": [sound]},
    ]
    read = snapshots.from_json({**EXAMPLE, "topics": topics})
    assert [*read.topics] == ["a", "c"]
    assert [p.replicas for name in "ac" for p in read.topics[name].partitions] == [(1, 2)] * 2
    why = f"the {what} of partition 1 names 10,001 brokers (expected at most 10,000)"
    assert read.damaged["b"] == why
    assert snapshots.from_json(snapshots.to_json(read)) == read
