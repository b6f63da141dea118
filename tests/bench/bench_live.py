"""Commands and passes of the operator on a live cluster of a real ZooKeeper.

    python tests/bench/bench_live.py [--partitions 200000]

The server starts on a copy of a cached tree (`trees`) of 20 brokers. Beside them stand four new
ones, which are in the pool: about a sixth of all replicas shall move, and the racks of a fifth of
all partitions are mended. No brokers run, so nobody is asked for sizes.

First each command as a process of its own. Then what a loop does in its own process: the first
pass, that makes the plan; the same pass after one topic's config was written, so that everything is
read again; and an idle pass, before which nothing was written. `reads` are nodes that were asked
for, `writes` transactions. The floor of a command is to start Python and to import what each needs.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import trees
from kazoo.client import KazooClient
from measuring import spent

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops.open_pass import PATIENCE_S, now_ms, open_pass
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.specs import (
    KafkaClusterSpec,
    Mode,
    ResourcePoolSpec,
    UnmanagedTopics,
    ZooKeeperSpec,
)
from poolkeeper.reconcile.authority import authority_of
from poolkeeper.reconcile.cluster import reconcile_cluster
from poolkeeper.reconcile.context import PassContext
from poolkeeper.resources.write import manifests
from poolkeeper.sandbox import Sandbox, SandboxSpec
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal

BROKERS, JOINED = 20, 4
IDLE_PASSES = 5
FLOOR = (
    "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; "
    "import click, msgspec, numpy, ruamel.yaml, kazoo.client"
)
ROW = "{:<34}{:>9}{:>9}{:>8}{:>9}{:>9}{:>24}"
GOALS = {
    "plan": "4 s",
    "snapshot": "2 s (was 4.1)",
    "status": "2 s (was 3.4)",
    "import": "2 s (was 3.0)",
}
"""Processor seconds that it should need at most with 200,000 partitions, and what it needed."""
CHANGED = "/config/topics/team-00.orders.000000"


def main(arguments: Sequence[str] | None = None) -> None:
    """Load, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--partitions", type=int, default=200_000)
    options = parser.parse_args(arguments)
    tree = trees.cached(trees.Size(options.partitions, brokers=BROKERS))
    spec = SandboxSpec(zookeeper_heap_mib=trees.HEAP_MIB, tree=tree)
    with (
        Sandbox.start(spec, ready_s=trees.READY_S) as sandbox,
        _registered(sandbox.connect) as client,
    ):
        print(ROW.format("", "seconds", "cpu s", "MiB", "reads", "writes", "goal"))
        _commands(sandbox.connect)
        _passes(sandbox.connect, client)


@contextmanager
def _registered(connect: str) -> Iterator[KazooClient]:
    """Register brokers and a controller that are nowhere, for as long as the session lives."""
    client = KazooClient(connect, timeout=60)
    client.start()
    try:
        for broker in range(1, BROKERS + JOINED + 1):
            body = {
                "version": 4,
                "rack": "abc"[(broker - 1) // 3 % 3],
                "endpoints": [f"PLAINTEXT://b{broker}:9092"],
            }
            client.create(f"/brokers/ids/{broker}", json.dumps(body).encode(), ephemeral=True)
        body = {"version": 1, "brokerid": 1, "timestamp": "1"}
        client.create("/controller", json.dumps(body).encode(), ephemeral=True)
        yield client
    finally:
        client.stop()
        client.close()


def _desired(connect: str) -> Desired:
    spec = KafkaClusterSpec(
        "live",
        ZooKeeperSpec(connect),
        mode=Mode.APPLY,
        unmanaged_topics=UnmanagedTopics.MANAGE,
        default_pool="all",
    )
    return Desired(spec, (ResourcePoolSpec("all", "live", tuple(range(1, BROKERS + JOINED + 1))),))


def _commands(connect: str) -> None:
    desired = _desired(connect)
    bodies = [manifests.cluster_body(desired.cluster), *map(manifests.pool_body, desired.pools)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "all.yaml"
        file.write_text(manifests.text_of(bodies), encoding="utf-8")
        declared = ("-f", str(file))
        commands = {
            "plan": ("plan", *declared),
            "snapshot": ("snapshot", *declared, "--out", f"{folder}/cluster.json"),
            "status": ("status", *declared),
            "import": ("import", *declared, "--out", f"{folder}/imported"),
        }
        _row("floor of a command", *_timed([sys.executable, "-c", FLOOR])[1:])
        for name, words in commands.items():
            code, *figures = _timed([sys.executable, "-m", "poolkeeper", *words])
            if code not in (0, 2):
                sys.exit(f"{name} ended with {code}")
            _row(name, *figures, goal=GOALS[name])


def _timed(words: list[str]) -> tuple[int, float, float, int]:
    begin = time.perf_counter()
    code, cpu_s, peak_mib = spent(words)
    return code, time.perf_counter() - begin, cpu_s, peak_mib


def _row(
    name: str, wall_s: float, cpu_s: float, mib: int | str, *counts: int, goal: str = ""
) -> None:
    reads, writes = counts or ("", "")
    print(ROW.format(name, f"{wall_s:.2f}", f"{cpu_s:.3f}", mib, reads, writes, goal), flush=True)


def _passes(connect: str, client: KazooClient) -> None:
    """The passes of a loop that may do nothing until a person approves."""
    desired = _desired(connect)
    connections = ClusterConnections(lambda: Session.open(connect, timeout_s=60, deadline_s=60))

    def holding(session: Session):
        return journal.hold(session, "bench", now_ms(), patience_s=PATIENCE_S)

    with open_pass(connections, desired, holding) as (session, context, _):

        def one() -> Outcome:
            return _pass(context, desired)

        _measure("first pass of a loop", session, one, "4 s, 700 MiB")
        for _ in range(2):  # what it records of the cluster is written, once
            one()
        client.create(CHANGED, b'{"version":1,"config":{"retention.ms":"1000"}}', makepath=True)
        _measure("a pass after a write of others", session, one, "4 s")
        one()
        for _ in range(IDLE_PASSES):
            _measure("an idle pass", session, one, "0.05 s, no write")


def _pass(context: PassContext, desired: Desired) -> Outcome:
    return reconcile_cluster(context, desired, authority_of(desired))


def _measure(name: str, session: Session, one: Callable[[], Outcome], goal: str) -> None:
    reads, writes = session.reads, session.writes
    begin, before = time.perf_counter(), time.process_time()
    one()
    cpu_s, wall_s = time.process_time() - before, time.perf_counter() - begin
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    _row(name, wall_s, cpu_s, mib, session.reads - reads, session.writes - writes, goal=goal)


if __name__ == "__main__":
    main()
