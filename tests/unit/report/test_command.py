"""`poolkeeper plan --output html|markdown`: the whole way from files to a page."""

import json

import pytest

from poolkeeper.cli import main

MANIFESTS = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: main}
spec:
  zookeeper: {connect: "127.0.0.1:1/kafka"}
  kafkaVersion: "2.8"
  unmanagedTopics: Manage
  defaultPool: fast
---
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: fast}
spec:
  clusterRef: {name: main}
  brokers: {ids: [1, 2, 3]}
  drain: [1]
"""
SNAPSHOT = {
    "version": 1,
    "cluster": {"name": "main"},
    "brokers": [{"id": number} for number in (1, 2, 3)],
    "topics": [{"name": "t", "partitions": [{"partition": 0, "replicas": [1, 2], "bytes": 1024}]}],
}


@pytest.fixture
def plan(tmp_path, capsys):
    manifests, snapshot = tmp_path / "main.yaml", tmp_path / "snapshot.json"
    manifests.write_text(MANIFESTS)
    snapshot.write_text(json.dumps(SNAPSHOT))

    def call(output: str) -> tuple[int, str]:
        words = ["plan", "-f", manifests, "--snapshot", snapshot, "--output", output]
        code = main.main([str(word) for word in words])
        return code, capsys.readouterr().out

    return call


def test_a_page_is_written_to_standard_output(plan, read_page):
    code, written = plan("html")
    assert code == 2
    assert "1 replica of 1 partition to move (1 KiB), nothing to delete." in read_page(written).text


def test_markdown_is_written_to_standard_output(plan, read_markdown):
    code, written = plan("markdown")
    assert code == 2
    assert "| `t` | 0 | 1 2 → 3 2 | 1 KiB | broker 1 is drained |" in written
    read_markdown(written)
