"""Nothing is imported that is not used: not there, or too slow to import for nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ABSENT = ("pyarrow", "pyspark", "pandas")
NEEDED = (
    "poolkeeper.controller.operator",
    "poolkeeper.cli.commands.run.run",
    "poolkeeper.cli.commands.plans.apply",
)


def test_it_starts_without_the_fleet_extra():
    hide = "".join(f"sys.modules[{name!r}] = None; " for name in ABSENT)
    code = f"import gc, sys; gc.disable(); {hide}import {', '.join(NEEDED)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


CLIENTS = ("kafka", "kazoo", "prometheus_client", "kubernetes", "kopf", *ABSENT)
"""Of live clusters and of the operator: half of a small plan's time would be their import."""
MANIFESTS = """
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: main}
spec: {zookeeper: {connect: "localhost:2181"}}
---
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: all}
spec:
  clusterRef: {name: main}
  brokers: {ids: [1, 2]}
  claims: [".*"]
  balance: {replicas: {count: 1}}
"""
PARTITIONS = [{"partition": number, "replicas": [1]} for number in range(4)]
SNAPSHOT = {
    "version": 1,
    "cluster": {"name": "main"},
    "brokers": [{"id": 1}, {"id": 2}],
    "topics": [{"name": "t", "partitions": PARTITIONS}],
}


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_snapshot_is_planned_without_the_clients_of_live_clusters(
    tmp_path: Path, output: str
) -> None:
    (tmp_path / "all.yaml").write_text(MANIFESTS)
    (tmp_path / "cluster.json").write_text(json.dumps(SNAPSHOT))
    hide = "".join(f"sys.modules[{name!r}] = None; " for name in CLIENTS)
    words = ("plan", "-f", str(tmp_path / "all.yaml"), "--output", output)
    words += ("--snapshot", str(tmp_path / "cluster.json"))
    code = f"import sys; {hide}from poolkeeper.cli.main import main; sys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"")
