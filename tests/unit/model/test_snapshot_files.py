"""Snapshots as files: what is written is read again, and always has the same bytes."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.errors import InvalidInput, Refused
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
from unit.model.test_snapshots import CLUSTER, EXAMPLE, SMALLEST

CUT_OFF = gzip.compress(b"{}", mtime=0)[:-9]


ids = st.integers(0, 9)
names = st.text("abcé.-_", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))
"""Nodes of ZooKeeper can have them."""
lists = st.lists(ids, max_size=4).map(tuple)
sizes = st.integers(0, 2**50)
configs = st.none() | st.dictionaries(names, st.text(max_size=5), max_size=2)
partitions = st.builds(
    Partition,
    partition=st.integers(0, 20),
    replicas=lists.filter(bool),
    adding=lists,
    removing=lists,
    leader=st.none() | st.integers(-2, 9),
    isr=st.none() | lists,
    leader_epoch=st.none(),
    size_bytes=st.none() | sizes,
    in_bytes_per_s=st.none() | st.floats(0, 1e9),
    log_dirs=st.none() | st.dictionaries(ids, names, max_size=2),
)
topics = st.builds(
    lambda found, **fields: Topic(
        name="", partitions=tuple(sorted({p.partition: p for p in found}.values())), **fields
    ),
    st.lists(partitions.map(lambda p: p), max_size=3, unique_by=lambda p: p.partition),
    topic_id=st.none() | names,
    config=configs,
)
brokers = st.builds(
    Broker,
    id=st.just(0),
    rack=st.none() | names,
    endpoints=st.lists(names, max_size=2).map(tuple),
    config=configs,
    log_dirs=st.none()
    | st.dictionaries(names, st.builds(LogDir, st.none() | sizes, st.none() | sizes), max_size=2),
    release=st.none() | names,
)
clusters = st.builds(
    Cluster,
    name=names,
    brokers=st.dictionaries(ids, brokers, max_size=3).map(
        lambda found: {id_: replace(broker, id=id_) for id_, broker in found.items()}
    ),
    topics=st.dictionaries(names, topics, max_size=3).map(
        lambda found: {name: replace(topic, name=name) for name, topic in found.items()}
    ),
    id=st.none() | names,
    kafka_version=st.none() | names,
    traced_version=st.none() | names,
    controller=st.builds(Controller, broker=st.none() | ids),
    reassignment=st.none()
    | st.lists(
        st.builds(ReassignmentEntry, names, st.integers(0, 20), lists),
        max_size=3,
        unique_by=lambda entry: (entry.topic, entry.partition),
    ).map(lambda found: tuple(sorted(found, key=lambda e: (e.topic, e.partition)))),
    electing=st.booleans(),
    deleting=st.frozensets(names, max_size=2),
    torn=st.frozensets(names, max_size=2),
    damaged=st.dictionaries(names, st.text(max_size=5), max_size=2),
    restart_locked=st.just(False),
)


@given(clusters)
def test_reading_gives_back_what_was_written(cluster: Cluster) -> None:
    assert snapshots.from_json(json.loads(json.dumps(snapshots.to_json(cluster)))) == cluster


@given(clusters)
def test_the_order_of_maps_does_not_show(cluster: Cluster) -> None:
    shuffled = replace(
        cluster,
        brokers=dict(reversed(cluster.brokers.items())),
        topics=dict(reversed(cluster.topics.items())),
        damaged=dict(reversed(cluster.damaged.items())),
    )
    assert json.dumps(snapshots.to_json(shuffled)) == json.dumps(snapshots.to_json(cluster))


@pytest.mark.parametrize("name", ["s.json", "s.json.gz"])
def test_a_file_holds_the_cluster_and_always_the_same_bytes(tmp_path: Path, name: str) -> None:
    snapshots.write(tmp_path / name, CLUSTER)
    first = (tmp_path / name).read_bytes()
    snapshots.write(tmp_path / name, CLUSTER)
    assert (tmp_path / name).read_bytes() == first
    assert snapshots.read(tmp_path / name) == CLUSTER
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_topic_takes_a_line_of_the_file(tmp_path: Path) -> None:
    snapshots.write(tmp_path / "s.json", snapshots.from_json(SMALLEST))
    assert (tmp_path / "s.json").read_text() == (
        '{"version": 1,\n'
        '"cluster": {"name":"c"},\n'
        '"brokers": [\n{"id":7}],\n'
        '"topics": [\n{"name":"t","partitions":[{"partition":0,"replicas":[7]}]}],\n'
        '"deleting": []}\n'
    )


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("s.json", b'{"version": 1,\n "x" }', "s.json:2: is not JSON: Expecting ':' delimiter"),
        ("s.json", b"\r\n", "is empty (expected JSON)"),
        ("s.json", b"\xff", "s.json: is not UTF-8"),
        ("s.json.gz", b"{}", "s.json.gz: is not a gzip file, or cut off"),
        ("s.json.gz", CUT_OFF, "s.json.gz: is not a gzip file, or cut off"),
        ("s.parquet", b"", "s.parquet: Parquet snapshots need the fleet extra"),
        ("s.yaml", b"", "s.yaml: unknown kind of snapshot (expected .json, .json.gz or .parquet)"),
        ("absent/s.json", None, "s.json: cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused(
    tmp_path: Path, name: str, body: bytes | None, message: str
) -> None:
    if body is not None:
        (tmp_path / name).write_bytes(body)
    with pytest.raises(Refused) as raised:
        snapshots.read(tmp_path / name)
    assert message in str(raised.value)


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"cannot be written \(No such file or directory\)"):
        snapshots.write(tmp_path / "absent" / "s.json", CLUSTER)


@pytest.mark.parametrize("more", ["", ' "unknown": null,'])
def test_a_key_that_is_there_twice_is_refused_with_its_place(tmp_path: Path, more: str) -> None:
    text = json.dumps(EXAMPLE, indent=1)
    lines = text.splitlines()
    keys = [n for n, line in enumerate(lines) if '": ' in line]
    tried = 0
    for number in keys:
        line = lines[number].rstrip(",")
        if line.endswith(("{", "[")):
            continue  # not on one line
        twice = [*lines[:number], f"{more}{line},", *lines[number:]]
        (tmp_path / "s.json").write_text("\n".join(twice))
        with pytest.raises(InvalidInput) as raised:
            snapshots.read(tmp_path / "s.json")
        # In a config `null` is wrong as well.
        (problem,) = (each for each in raised.value.problems if each.line)
        assert (problem.line, problem.message) == (
            number + 2,
            f"is given twice (first on line {number + 1})",
        )
        assert problem.field.rpartition(".")[2] in line or "retention.ms" in line
        tried += 1
    assert tried > 20
