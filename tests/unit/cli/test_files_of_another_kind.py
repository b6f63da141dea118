"""A file that is given for one of another kind: what it is, and what takes it."""

import gzip
import json
import shutil

import pytest

from unit.cli.small_cluster import SNAPSHOT

REASSIGNMENT = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 4]}]}
TAKERS = {
    "snapshot": "a snapshot",
    "plan": "a plan",
    "manifest": "a manifest",
    "client-config": "a client config",
}
KINDS = {
    "snapshot": ("a snapshot", "--snapshot takes it"),
    "plan": ("a plan", "--plan of apply takes it"),
    "manifest": ("a manifest", "-f takes it"),
    "yaml-manifest": ("a manifest", "-f takes it"),
    "client-config": ("a client config", "--client-config takes it"),
    "reassignment": ("Kafka's own reassignment", "kafka-reassign-partitions takes it"),
}


@pytest.fixture
def files(run, manifests, snapshot, tmp_path):
    """A file of each kind, all with the suffix that snapshots must have."""
    topic = {"apiVersion": "poolkeeper.dev/v1alpha1", "kind": "Topic"}
    found = {kind: tmp_path / f"{kind}.json" for kind in KINDS}
    assert run("plan", "-f", manifests, "--snapshot", snapshot, "--out", found["plan"])[0] == 2
    for kind, body in (
        ("manifest", topic),
        ("client-config", {"brokers": {"securityProtocol": "PLAINTEXT"}}),
        ("reassignment", REASSIGNMENT),
    ):
        found[kind].write_text(json.dumps(body))
    shutil.copy(manifests / "cluster.yaml", found["yaml-manifest"])
    return found


def taking(manifests, taker, file):
    """The command that takes the file for one of that kind."""
    return {
        "snapshot": ("plan", "-f", manifests, "--snapshot", file),
        "plan": ("apply", "-f", manifests, "--plan", file, "--yes"),
        "manifest": ("validate", "-f", file),
        "client-config": ("plan", "-f", manifests, "--client-config", file),
    }[taker]


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_told_by_what_it_is_and_what_takes_it(run, manifests, files, taker, kind):
    name, takes = KINDS[kind]
    if name == TAKERS[taker]:
        return
    code, shown, err = run(*taking(manifests, taker, files[kind]))
    assert (code, shown) == (1, "")
    line = ":1" if taker == "manifest" else ""
    assert err == f"{files[kind]}{line}: is {name} (expected {TAKERS[taker]}): {takes}\n"


def test_a_compressed_file_is_told_as_that(run, manifests, tmp_path):
    file = tmp_path / "snapshot.json"
    file.write_bytes(gzip.compress(json.dumps(SNAPSHOT).encode()))
    for taker in ("snapshot", "plan"):
        code, shown, err = run(*taking(manifests, taker, file))
        assert (code, shown) == (1, "")
        assert err.startswith(f"{file}: is compressed by gzip (expected JSON")


@pytest.mark.parametrize("taker", ["snapshot", "plan"])
def test_kafkas_reassignment_is_told_whatever_its_stages(run, manifests, tmp_path, taker):
    file = tmp_path / "stages.json"
    file.write_text(f"{json.dumps(REASSIGNMENT)}\n" * 2)
    code, _, err = run(*taking(manifests, taker, file))
    assert code == 1
    assert err.startswith(f"{file}: is Kafka's own reassignment (expected a {taker})")
