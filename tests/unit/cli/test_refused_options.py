"""What is wrong with an option or a file has its place in a field of its own in JSON."""

import json
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "operator" / "poolkeeper"


def errors(run, *words):
    code, out, err = run(*words, "--output", "json")
    assert code == 1
    found = json.loads(out)["errors"]
    assert len(err.splitlines()) == len(found)
    return [(each["file"], each["field"]) for each in found]


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["--without", "9"], "--without 9"),
        (["--with-broker", "1:a"], "--with-broker 1"),
        (["--with-broker", "5:a", "--without", "5"], "--with-broker 5"),
    ],
)
def test_supposed_brokers(run, manifests, snapshot, words, field):
    found = errors(run, "plan", "-f", manifests, "--snapshot", snapshot, *words)
    assert found == [(None, field)]


def test_an_output_file_that_is_read(run, manifests, snapshot):
    words = ("-f", manifests, "--snapshot", snapshot, "--out", snapshot)
    assert errors(run, "plan", *words) == [(None, f"--out {snapshot}")]


def test_a_snapshot_that_is_not_there_and_one_of_another_cluster(run, manifests, snapshot):
    words = ("plan", "-f", manifests, "--snapshot")
    assert errors(run, *words, manifests / "none.txt") == [(str(manifests / "none.txt"), None)]
    cluster = manifests / "cluster.yaml"
    cluster.write_text(cluster.read_text() + "  clusterId: other\n")
    assert errors(run, *words, snapshot) == [(str(snapshot), "cluster.id")]


@pytest.mark.parametrize("name", ["s.txt", "nowhere/s.json", "nowhere/s.parquet"])
def test_a_snapshot_that_could_not_be_written_is_refused_before_the_cluster_is_read(
    run, tmp_path, name
):
    out = tmp_path / name
    found = errors(run, "snapshot", "--zookeeper", "127.0.0.1:1", "--out", out)
    assert found == [(str(out), None)]


def test_no_text_begins_with_the_place_that_a_field_could_tell():
    raised = re.compile(r'Refused\(\s*f?"(--|\{(file|path|out|where|uri|place|name)\}: )')
    for module in sorted((PACKAGE / "cli").rglob("*.py")):
        assert raised.findall(module.read_text()) == [], module
