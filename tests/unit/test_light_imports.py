"""Nothing is imported that is not used: not there, or too slow to import for nothing."""

import json
import os
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


CLIENTS = ("kafka", "kazoo", "prometheus_client", "kubernetes", "kopf")
"""Of live clusters and of the operator: half of a small plan's time would be their import."""
EXPLAINERS = ("jsonschema", "rich", "numpy.ma", "statistics")
"""Of errors and of terminals, and what they bring: a fifth of a small plan's time."""
OF_RUNS = ("poolkeeper.reconcile.context", "poolkeeper.reconcile.pass_memory")
"""What a run needs, and brings 20 modules: a plan needs it where a broker is dead."""
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


PLANS = """
import gc, os, sys
gc.disable()
sys.modules |= dict.fromkeys({absent})
from poolkeeper.__main__ import main
for output in ("text", "json"):
    sys.argv = ["poolkeeper", *{words}, "--output", output]
    try:
        main()
    except SystemExit as ended:
        assert ended.code == 2
    assert len(os.listdir("/proc/self/task")) == 1
"""
OPERATES = """
for name in {clients}:
    del sys.modules[name]
import {needed}
"""


@pytest.mark.slow
def test_it_starts_and_plans_snapshots_without_what_these_do_not_need(tmp_path: Path) -> None:
    """One process, of one thread: it plans with nothing but the core, then it imports the rest."""
    (tmp_path / "all.yaml").write_text(MANIFESTS)
    (tmp_path / "cluster.json").write_text(json.dumps(SNAPSHOT))
    words = ("plan", "-f", str(tmp_path / "all.yaml"))
    words += ("--snapshot", str(tmp_path / "cluster.json"))
    code = PLANS.format(absent=(*CLIENTS, *EXPLAINERS, *OF_RUNS, *ABSENT), words=words)
    code += OPERATES.format(clients=(*CLIENTS, *EXPLAINERS, *OF_RUNS), needed=", ".join(NEEDED))
    usual = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], env=usual, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
