"""Simulated brokers on a real ZooKeeper, from the command line: up, used, down."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conditions import until
from poolkeeper import errors
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread, take_down_all
from poolkeeper.sandbox.clock import VirtualClock
from poolkeeper.sandbox.servers import processes, records
from poolkeeper.sandbox.simulation import SimulationSpec
from poolkeeper.sandbox.simulation.controller.topics import MANY
from poolkeeper.sandbox.simulation.zookeeper.kazoo_session import TOGETHER, KazooSession
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode
from real.support import body, command, declare, kazoo, run

SPEED = 20
TOPIC = "orders"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "sandboxes"
    yield folder
    take_down_all(folder)


def up(root: Path, *words: object) -> dict:
    """Start them by a process that ends: what it started is not ours."""
    options = ("--simulated", "--speed", SPEED, "--output", "json", "--root", root)
    ran = subprocess.run(
        command("sandbox", "up", *options, *words), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("version", ["3.9.2", "1.0.2"])
def test_a_migration_over_simulated_brokers_ends_converged(
    root: Path, tmp_path: Path, version: str
) -> None:
    found = up(root, "--brokers", 4, "--kafka", version)
    assert found["bootstrap"] == ""
    assert found["brokers"][0] == {"id": 1, "rack": "a"}
    assert "brokers" not in found["manifest"]
    family = records.children(root, "sandbox")
    assert len(family) == 2
    assert all(map(processes.is_alive, family))
    manifests = tmp_path / "manifests"
    pools = {"old": {"brokers": {"ids": [1, 2]}}, "new": {"brokers": {"ids": [3, 4]}}}
    for pool, ids in (("old", {1, 2}), ("new", {3, 4})):
        topic = {"pool": pool, "partitions": 4, "replicationFactor": 2}
        declare(manifests, found["connect"], pools, {TOPIC: topic})
        applied = run("apply", "-f", manifests, "--yes")
        assert (applied.code, applied.err) == (0, "")
        with kazoo(found["connect"]) as zookeeper:
            assignment = body(zookeeper, f"/brokers/topics/{TOPIC}")["partitions"]
            isrs = [
                body(zookeeper, f"/brokers/topics/{TOPIC}/partitions/{p}/state")["isr"]
                for p in range(4)
            ]
        assert {frozenset(replicas) for replicas in assignment.values()} == {frozenset(ids)}
        assert {frozenset(isr) for isr in isrs} == {frozenset(ids)}
    ran = run("sandbox", "down", "--root", root)
    assert (ran.code, ran.out) == (0, "ended: sandbox\n")
    assert not any(map(processes.is_alive, family))
    assert records.all_states(root) == ()


def test_simulated_brokers_come_back_with_their_zookeeper(root: Path) -> None:
    spec = SandboxSpec(brokers=spread(3), simulated=True, speed=SPEED, root=root)
    with Sandbox.start(spec) as sandbox:
        sandbox.kill_zookeeper()
        sandbox.start_zookeeper()
        sandbox.await_ready()
        with kazoo(sandbox.connect) as zookeeper:
            lists = {"partitions": {"0": [1, 2, 3]}, "version": 1}
            zookeeper.create("/brokers/topics/t", json.dumps(lists).encode())
            path = "/brokers/topics/t/partitions/0/state"
            until(lambda: zookeeper.exists(path), "the state of a new partition", 30)


def test_many_nodes_read_together_are_those_read_one_by_one(chroot: str) -> None:
    session = KazooSession(chroot, VirtualClock())
    paths = [f"/{number}" for number in range(TOGETHER + 5)]
    session.commit_many([[CreateNode(path, path.encode())] for path in paths[::2]])
    together = session.read_many(paths)
    assert together == [session.get(path) for path in paths]
    assert [node and node[0] for node in together[:3]] == [b"/0", None, b"/2"]
    session.close()


def test_a_big_creation_passes_over_what_is_there_already() -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(3)))
    cluster.start()
    there = "/brokers/topics/big/partitions"
    lists = {str(p): [1, 2, 3] for p in range(MANY + 5)}
    nodes = ("/brokers/topics/big", there, f"{there}/7", f"{there}/7/state")
    bodies = (json.dumps({"version": 1, "partitions": lists}).encode(), b"", b"", b"somebody's")
    cluster.client.commit([CreateNode(*node) for node in zip(nodes, bodies, strict=True)])
    cluster.settle()
    found = cluster.client.read_many([f"{there}/{p}/state" for p in range(MANY + 5)])
    assert found[7] is not None
    assert found[7][0] == b"somebody's"
    isrs = [json.loads(node[0])["isr"] for p, node in enumerate(found) if p != 7 and node]
    assert isrs == [[1, 2, 3]] * (MANY + 4)


def test_what_simulated_brokers_cannot_do_is_refused(root: Path) -> None:
    with pytest.raises(errors.Refused, match="no release"):
        Sandbox.start(SandboxSpec(brokers=spread(1), kafka="newest", simulated=True, root=root))
    slow = run("sandbox", "up", "--speed", 2, "--root", root)
    assert (slow.code, "--simulated" in slow.err) == (1, True)
    assert records.all_states(root) == ()
