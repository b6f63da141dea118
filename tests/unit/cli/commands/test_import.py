"""Whole outputs of `import` from a snapshot."""

import json
from pathlib import Path

import pytest

from poolkeeper.cli.commands import import_
from poolkeeper.errors import Refused
from poolkeeper.model.snapshots import snapshot_json
from unit.cli.small_cluster import SNAPSHOT


def test_import_of_a_snapshot_writes_manifests_that_change_nothing(run, snapshot, tmp_path):
    out = tmp_path / "imported"
    files = [str(out / name) for name in ("cluster.yaml", "pools.yaml", "topics.yaml")]
    code, shown, err = run("import", "--snapshot", snapshot, "--out", out, "--output", "json")
    said = {"files": files, "rackPolicy": "Spread", "moves": 0, "movesIfSpread": 0}
    said["elections"] = 0
    assert (code, json.loads(shown), err) == (0, said, "")
    assert run("validate", "-f", out)[0] == 0
    assert run("plan", "-f", out, "--snapshot", snapshot)[0] == 0


def test_import_says_what_is_left_to_elect(run, tmp_path):
    led_by_another = json.loads(json.dumps(SNAPSHOT))
    led_by_another["topics"][0]["partitions"][0]["leader"] = 2
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(json.dumps(led_by_another))
    out = tmp_path / "imported"
    told = "1 preferred replica to elect as leader, with `apply`: in sync, and not leading\n"
    expected = (0, f"wrote 3 files to {out}\n{told}", "")
    assert run("import", "--snapshot", snapshot, "--out", out) == expected
    assert run("plan", "-f", out, "--snapshot", snapshot)[0] == 2


def test_import_promises_no_election_of_topics_that_it_leaves_out(run, tmp_path):
    led_by_another = json.loads(json.dumps(SNAPSHOT))
    kafkas_own = json.loads(json.dumps(SNAPSHOT["topics"][0]))
    kafkas_own["name"] = "__consumer_offsets"
    kafkas_own["partitions"][0]["leader"] = 2
    led_by_another["topics"].append(kafkas_own)
    snapshot, out = tmp_path / "snapshot.json", tmp_path / "imported"
    snapshot.write_text(json.dumps(led_by_another))
    expected = (0, f"wrote 3 files to {out}\n", "")
    assert run("import", "--snapshot", snapshot, "--out", out) == expected
    assert run("plan", "-f", out, "--snapshot", snapshot)[0] == 0


def test_import_keeps_still_what_racks_would_move(run, tmp_path):
    brokers = [{"id": n, "rack": rack} for n, rack in enumerate("aaabbbccc", 1)]
    partitions = [
        {"partition": n, "replicas": ids, "leader": ids[0], "isr": ids, "bytes": 1024**2}
        for n, ids in enumerate([[1, 2, 3], [4, 5, 6], [1, 4, 7]])
    ]
    snapshot, out = tmp_path / "snapshot.json", tmp_path / "imported"
    topics = [{"name": "t", "partitions": partitions}]
    document = {"version": 1, "cluster": {"name": "c"}, "brokers": brokers, "topics": topics}
    snapshot.write_text(
        json.dumps({**document, "topics": [{"name": "t", "partitions": partitions}]})
    )
    assert run("import", "--snapshot", snapshot, "--out", out) == (
        0,
        f"wrote 3 files to {out}\n"
        "pools.yaml has rackPolicy: AsFound, which keeps replicas where they are: Spread would move"
        " 4 replicas of 2 partitions (4 MiB): 3 replicas are not spread evenly over racks\n",
        "",
    )
    assert "  rackPolicy: AsFound\n" in (out / "pools.yaml").read_text()
    code, shown, _ = run("plan", "-f", out, "--snapshot", snapshot)
    assert code == 0
    assert "2 partitions are not spread evenly over racks, and stay so" in shown


def test_import_of_a_cluster_whose_id_is_empty_declares_none(run, tmp_path):
    snapshot, out = tmp_path / "snapshot.json", tmp_path / "imported"
    about = {**SNAPSHOT["cluster"], "id": ""}
    snapshot.write_text(json.dumps({**SNAPSHOT, "cluster": about}))
    assert run("import", "--snapshot", snapshot, "--out", out)[::2] == (0, "")
    assert "clusterId" not in (out / "cluster.yaml").read_text()


def test_import_declares_addresses_as_manifests_have_them():
    given = (" zk1 ,zk2:2182,zk1/kafka/", ("b1", "b1:9092", "b2:9093"))
    declared = import_.declared_addresses(*given)
    assert declared == ("zk1:2181,zk2:2182/kafka", ("b1:9092", "b2:9093"))
    cluster = snapshot_json.from_json(SNAPSHOT)
    files = import_.imported(cluster, *declared).files
    assert "zk1:2181,zk2:2182/kafka" in files["cluster.yaml"]


def test_import_overwrites_nothing(run, snapshot, tmp_path):
    (tmp_path / "pools.yaml").write_text("mine")
    code, out, err = run("import", "--snapshot", snapshot, "--out", tmp_path)
    assert (code, out, err) == (1, "", f"{tmp_path / 'pools.yaml'}: exists already\n")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["pools.yaml", "snapshot.json"]


def test_import_takes_a_snapshot_or_a_cluster(run, snapshot, tmp_path):
    code, _, err = run("import", "main", "--snapshot", snapshot, "--out", tmp_path / "x")
    assert code == 1
    assert "--snapshot replaces the live cluster" in err


@pytest.mark.parametrize("failed", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_import_that_fails_half_way_leaves_no_manifests(tmp_path, monkeypatch, failed):
    """Half of them pass for all, and the next import would find files in its way."""
    replace = Path.replace

    def replace_one(file: Path, target: Path) -> Path:
        if target.name == "topics.yaml":
            raise failed
        return replace(file, target)

    monkeypatch.setattr(Path, "replace", replace_one)
    files = {"cluster.yaml": "a", "pools.yaml": "b", "topics.yaml": "c"}
    (tmp_path / "mine").mkdir()
    for out in (tmp_path / "new" / "out", tmp_path / "mine"):
        with pytest.raises((Refused, KeyboardInterrupt)):
            import_.write(out, files)
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]
