"""What the studies refuse, all at once, and what they tell where little is known."""

import json
import re
from pathlib import Path

import pytest

from builders import cluster, partition, topic
from poolkeeper.cli import main
from poolkeeper.model import snapshots
from poolkeeper.model.topology import Broker, Controller

PAIR = ("--member", "C0@a:t0", "--member", "C1@b:t0")


@pytest.fixture
def run(capsys):
    def call(*words):
        code = main.main(["whatif", *map(str, words)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def snapshot(tmp_path) -> Path:
    """Three brokers on racks a and b; orders has a partition of unknown state; rates are known."""
    seen = cluster(
        {1: "a", 2: "b", 3: "a"},
        topic("orders", (1, 2), (2, 3), (3, 1), in_bytes_per_s=1024.0),
        topic("odd", partition(0, 1, 2, leader=None, isr=None), config=None),
        controller=Controller(2),
        kafka_version="2.3",
    )
    file = tmp_path / "cluster.json"
    snapshots.write(file, seen)
    return file


@pytest.fixture
def manifests(tmp_path) -> Path:
    text = """
{apiVersion: poolkeeper.dev/v1alpha1, kind: KafkaCluster, metadata: {name: main},
 spec: {zookeeper: {connect: "z:2181"}}}
---
{apiVersion: poolkeeper.dev/v1alpha1, kind: ResourcePool, metadata: {name: mixed},
 spec: {clusterRef: {name: main}, brokers: {ids: [1, 2]}}}
---
{apiVersion: poolkeeper.dev/v1alpha1, kind: ResourcePool, metadata: {name: one},
 spec: {clusterRef: {name: main}, brokers: {ids: [3]}}}
---
{apiVersion: poolkeeper.dev/v1alpha1, kind: Topic, metadata: {name: orders},
 spec: {poolRef: {name: mixed}, partitions: 6, replicationFactor: 1, keyed: true}}
"""
    (tmp_path / "manifests.yaml").write_text(text)
    return tmp_path / "manifests.yaml"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ("lose", "--broker", 7, "--broker", 9, "--rack", "x", "--group", "g"),
            [
                "--broker: 7 is not live (expected one of 1, 2, 3)",
                "--broker: 9 is not live (expected one of 1, 2, 3)",
                "--group: topic __consumer_offsets is not there, so that no group has a"
                " coordinator",
                "--rack: 'x' has no live broker (expected one of a, b)",
            ],
            id="brokers, racks and groups that are not there",
        ),
        pytest.param(
            ("consumers", "--topic", "t0:x", "--topic", "t1:99999999999", "--member", "a:t0,t1"),
            [
                "--topic: 't0:x' (expected NAME:PARTITIONS or NAME:PARTITIONS@RACKS)",
                "--topic: t1: 99999999999 partitions (expected 1 to 100,000)",
            ],
            id="topics whose numbers are none",
        ),
        pytest.param(
            ("keys", "--topic", "nope", "--partitions", "9:3"),
            [
                "--partitions: 9 → 3 adds none (expected more: partitions never shrink)",
                "--topic: there is no topic nope (expected one of odd, orders)",
            ],
            id="a topic that is not there, and partitions that shrink",
        ),
        pytest.param(
            ("keys", "--topic", "nope", "--partitions", "0:3"),
            [
                "--partitions: 0 → 3 (expected 1 or more now)",
                "--topic: there is no topic nope (expected one of odd, orders)",
            ],
            id="a topic without partitions",
        ),
        pytest.param(
            ("keys", "--topic", "orders", "--partitions", "4:6"),
            ["--partitions: topic orders has 3 partitions (not 4)"],
            id="another number of partitions",
        ),
        pytest.param(
            ("consumers", "--member", "C0:orders,nope", "--member", "C0:orders", "--member", "x"),
            [
                "--member: 'x' (expected ID:TOPIC,TOPIC or ID@RACK:TOPIC)",
                "--member: C0 is given twice",
                "--member: a member reads nope: the cluster has no such topic",
            ],
            id="a member twice, and a topic that is not there",
        ),
        pytest.param(
            (
                *("consumers", "--member", "C0:orders", "--leave", "C1", "--return", "C0"),
                *("--add-partitions", "orders:3", "--move-topic", "orders"),
                *("--move-to-pool", "orders:fast"),
            ),
            [
                "--add-partitions: topic orders would have 3 partitions after 3"
                " (expected more: partitions never shrink)",
                "--leave: member C1 cannot leave: it is not there (expected one of C0)",
                "--move-to-pool: pools are declared by manifests (expected -f)",
                "--move-topic: 'orders' (expected TOPIC:RACKS)",
                "--return: member C0 cannot return: it has not left (there is none)",
            ],
            id="events that cannot happen",
        ),
        pytest.param(
            ("consumers",),
            ["--member: the group has no members (expected ID:TOPIC, or --group)"],
            id="nobody",
        ),
    ],
)
def test_what_is_wrong_is_told_at_once(run, snapshot, words, said):
    code, out, err = run(*words, "--snapshot", snapshot)
    assert (code, out, err.splitlines()) == (1, "", said)
    code, out, _ = run(*words, "--snapshot", snapshot, "--output", "json")
    assert code == 1
    assert len(json.loads(out)["errors"]) == len(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("lose", "--snapshot", "s.json"),
            "nothing is lost: give --broker, --rack or --controller",
        ),
        (("lose", "--broker", 1), "no cluster is given"),
        (
            ("lose", "-f", "d", "--snapshot", "s.json", "--broker", 1),
            "--snapshot replaces the live",
        ),
        (("keys",), "nothing grows: give --partitions N:M, or manifests with -f"),
        (("keys", "--partitions", "4:6", "--hex"), "--hex says how --keys is written: give both"),
        (("keys", "--partitions", "six"), "'six' (expected N:M, such as 4:6, or M)"),
        (("keys", "--partitions", "1:2000000"), "expected at most 1,000,000 partitions"),
        (("keys", "--partitions", "1:99999999999"), "expected at most 1,000,000 partitions"),
        (("keys", "--partitions", 6), "--partitions: how many it has is not known (expected N:6)"),
        (("consumers", "--topic", "t:9", "--group", "g"), "--group is a live group"),
        (("consumers", "--topic", "t:0"), "--topic: t: 0 partitions (expected 1 to 100,000)"),
        (("consumers", "--topic", "t"), "how many partitions is not known (expected t:PARTITIONS)"),
        (
            ("consumers", "--out", "page.pdf"),
            "page.pdf (expected a name that ends in .html or .svg)",
        ),
    ],
)
def test_options_that_do_not_make_sense(run, words, said):
    code, out, err = run(*words)
    assert (code, out) == (1, "")
    assert said in err


def test_the_loss_of_the_controller_as_data(run, snapshot):
    code, out, err = run("lose", "--snapshot", snapshot, "--controller", "--output", "json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["lost"], told["controllerLost"], told["partitions"]) == ([2], True, 4)
    shown = {(p["topic"], p["partition"]): (p["fate"], p["leader"]) for p in told["affected"]}
    assert shown == {
        ("orders", 0): ("kept", 1),
        ("orders", 1): ("elected", 3),
        ("odd", 0): ("kept", 1),
    }
    assert told["brokers"][1] == {
        "broker": 3,
        "rack": "a",
        "leadersBefore": 1,
        "leaders": 2,
        "bytesInPerSecondBefore": 1024.0,
        "bytesInPerSecond": 2048.0,
        "partitionsOfUnknownRate": 0,
    }
    (estimate,) = told["estimates"]
    assert estimate["leaderMissingSeconds"] == pytest.approx(6.0, abs=0.1)
    assert estimate["requests"] == "pipelined"
    assert told["assumptions"]["partitionsOfUnknownState"] == 1
    assert told["assumptions"]["topicsOfUnknownConfig"] == 1
    assert told["assumed"][:2] == [
        "all live replicas are in sync, for 1 partition of unknown state",
        "no config of its own, for 1 topic of unknown config",
    ]


def test_a_controller_that_nobody_knows(run, tmp_path):
    file = tmp_path / "s.json"
    snapshots.write(file, cluster((1, 2), topic("t", (1, 2))))
    assert run("lose", "--snapshot", file, "--controller") == (
        1,
        "",
        "--controller: nobody knows who it is (expected --broker)\n",
    )
    code, out, _ = run("lose", "--snapshot", file, "--broker", 2)
    assert code == 0
    assert (
        "Assumed: another broker is controller, as who it is was not observed: if it is lost, add"
        " the time in which a new one begins."
    ) in " ".join(out.split())


@pytest.mark.parametrize(
    ("offline", "said"),
    [
        (1, "1 partition had no leader before, and is"),
        (2, "2 partitions had no leader before, and are"),
    ],
)
def test_what_had_no_leader_before_is_not_counted(run, tmp_path, offline, said):
    states = [{"leader": -1, "isr": (2,)} if number < offline else {} for number in range(3)]
    parts = [partition(number, 1, 2, **state) for number, state in enumerate(states)]
    snapshots.write(tmp_path / "s.json", cluster((1, 2), topic("t", *parts)))
    code, out, _ = run("lose", "--snapshot", tmp_path / "s.json", "--broker", 2)
    assert code == 0
    assert f"{said} not counted.\n" in out


def test_what_is_declared_grows(run, snapshot, manifests):
    code, out, _ = run("keys", "-f", manifests, "--snapshot", snapshot, "--output", "json")
    assert (code, json.loads(out)) == (
        0,
        {
            "topics": [
                {
                    "topic": "orders",
                    "partitions": 3,
                    "partitionsThen": 6,
                    "movedShare": 0.5,
                    "betterPartitions": None,
                    "keyed": True,
                    "compacted": False,
                    "measured": None,
                }
            ]
        },
    )
    assert run("keys", "-f", manifests, "--snapshot", snapshot, "--topic", "odd")[2] == (
        "--topic: no Topic declares odd\n"
    )


def test_a_topic_that_moves_to_another_pool(run, tmp_path, manifests):
    """Its replicas are on racks a and b; in pool `one` all are on a."""
    file = tmp_path / "s.json"
    seen = cluster({1: "a", 2: "b", 3: "a"}, topic("orders", (1,), (2,), (1,), (2,), (1,), (2,)))
    snapshots.write(file, seen)
    members = ("--member", "C0@a:orders", "--member", "C1@b:orders", "--assignor", "range")
    words = ("-f", manifests, "--snapshot", file, *members)
    code, out, err = run("consumers", *words, "--move-to-pool", "orders:one", "--output", "json")
    assert (code, err) == (0, "")
    (course,) = json.loads(out)["assignors"]
    assert [(e["event"], e["inTheRack"]) for e in course["events"]] == [
        ("start", 6),
        ("orders to pool one", 3),
    ]
    said = "--move-to-pool: there is no pool two (expected one of mixed, one)\n"
    assert run("consumers", *words, "--move-to-pool", "orders:two")[2] == said


def test_events_happen_in_the_order_in_which_they_are_written(run):
    words = ("consumers", "--topic", "t0:4@a,b", *PAIR, "--assignor", "sticky")
    events = ("--leave", "C1", "--add-partitions=t0:8", "--return", "C1", "--leave=C0")
    code, out, _ = run(*words, *events, "--output", "json")
    assert code == 0
    (course,) = json.loads(out)["assignors"]
    assert [each["event"] for each in course["events"]] == [
        *("start", "C1 leaves", "t0 has 8", "C1 returns", "C0 leaves")
    ]
    assert [each["loads"] for each in course["events"]] == [
        *({"C0": 2.0, "C1": 2.0}, {"C0": 4.0}, {"C0": 8.0}, {"C0": 4.0, "C1": 4.0}, {"C1": 8.0})
    ]


def test_a_page_loads_nothing_and_holds_hostile_names(run, tmp_path):
    page = tmp_path / "page.html"
    hostile = "<script>alert(1)</script>"
    words = ("--topic", f"{hostile}:2", "--member", f"C0{hostile}:{hostile}", "--leave", "C0")
    assert run("consumers", *words, "--out", page)[0] == 0
    code, out, _ = run("consumers", *words, "--output", "html")
    assert code == 0
    without_times = [re.sub(r"\d+\.\d\d ms", "", text) for text in (out, page.read_text())]
    assert "<script" not in without_times[0]
    assert "default-src 'none'" in without_times[0]
    assert without_times[0].count("<svg") == 5


@pytest.mark.parametrize("brokers", [{1: "a", 2: "b"}, {1: "a", 2: "b", 3: None}])
def test_racks_count_beside_a_replica_without_one(run, tmp_path, brokers):
    """Broker 3 is gone, or has no rack: Kafka's clients leave it out, and match the others."""
    file = tmp_path / "s.json"
    live = [Broker(id_, rack) for id_, rack in brokers.items()]
    snapshots.write(file, cluster(live, topic("t", (3, 2), (3, 1), (1, 2), (2, 3))))
    members = ("--member", "C0@a:t", "--member", "C1@b:t", "--assignor", "range")
    code, out, _ = run("consumers", "--snapshot", file, *members, "--output", "json")
    assert code == 0
    (start,) = json.loads(out)["assignors"][0]["events"]
    assert start["assignment"] == {"C0": [["t", 1], ["t", 2]], "C1": [["t", 0], ["t", 3]]}
    assert start["inTheRack"] == 4


def test_where_no_broker_has_a_rack_racks_are_unknown(run, tmp_path):
    file = tmp_path / "s.json"
    snapshots.write(file, cluster([Broker(1), Broker(2)], topic("t", (1, 2), (2, 1))))
    words = ("consumers", "--snapshot", file, "--member", "C0@a:t", "--assignor", "range")
    code, out, _ = run(*words, "--output", "json")
    assert code == 0
    assert json.loads(out)["assignors"][0]["events"][0]["inTheRack"] is None


def test_an_event_calls_a_member_as_the_command_line_does(run):
    id_ = "c1-359e5b74-873f-47c9-abcd-cc762ee3256e"
    words = ("consumers", "--topic", "t:2", "--member", f"{id_}:t", "--member", "c2:t")
    code, out, _ = run(*words, "--leave", "c1", "--return", "c1", "--assignor", "range")
    assert code == 0
    assert "c1 leaves" in out
    assert "c1 returns" in out
    assert id_ not in out


def test_no_share_of_keys_is_rounded_to_all_of_them(run) -> None:
    assert run("keys", "--partitions", "1:100001")[1].splitlines()[1].startswith("  99.999 % of")
    assert run("keys", "--partitions", "1:1000000")[1].splitlines()[1].startswith("  99.9999 % of")


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("0.9", "Kafka 0.9.0 is too old (expected 0.10.1 to 3.9)"),
        ("4.0", "Kafka 4.0 has no ZooKeeper mode (expected 0.10.1 to 3.9)"),
    ],
)
def test_a_snapshot_of_a_release_that_is_not_known_is_told_by_all_commands(
    run, manifests, tmp_path, capsys, version, problem
) -> None:
    seen = cluster({1: "a", 2: "b"}, topic("orders", (1, 2)), kafka_version=version)
    file = tmp_path / "other.json"
    snapshots.write(file, seen)
    told = f"warning: {file}: {problem}; what it says may not hold\n"
    assert run("lose", "--snapshot", file, "--broker", 1)[2] == told
    assert run("keys", "-f", manifests, "--snapshot", file)[2] == told
    made = tmp_path / "made"
    for words in (["import", "--out", made], ["plan", "-f", made]):
        main.main([*map(str, words), "--snapshot", str(file)])
        assert told in capsys.readouterr().err
