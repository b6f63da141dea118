"""Big clusters for the benchmarks: simulated brokers make them on a real ZooKeeper, once.

    tree = trees.cached(Size(partitions=200_000))
    Sandbox.start(SandboxSpec(zookeeper_heap_mib=2048, tree=tree))

The topics are put into ZooKeeper, the simulated controller gives each partition its state. A tree
is a snapshot of ZooKeeper after all of that, when all sessions have ended: registrations and the
controller's node are not in it. It lies in the cache, under a name made of the parameters and of
all sources that it depends on, so a change of them makes another one.
"""

import hashlib
import json
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from poolkeeper import sandbox as sandboxes
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from poolkeeper.sandbox.servers import artifacts
from poolkeeper.zk.client.session import Session

HEAP_MIB = 2048
SPEED = 10
READY_S = 120.0
COMPLETE_S = 300.0
POLL_S = 0.1
TOPICS_AT_ONCE = 20
IN_FLIGHT = 8
SOURCES = (Path(sandboxes.__file__).parent, Path(__file__))


@dataclass(frozen=True)
class Size:
    """How big a cluster is."""

    partitions: int
    brokers: int = 20
    partitions_per_topic: int = 100
    replicas: int = 3


def cached(size: Size) -> Path:
    """Return the folder of a tree of that size, made at the first call."""
    folder = artifacts.cache_folder() / "trees"
    tree = folder / f"{size.partitions}-{_digest(size)}"
    folder.mkdir(parents=True, exist_ok=True)
    with artifacts.hold_lock(folder / ".lock"):
        if not tree.is_dir():
            for outdated in folder.glob(f"{size.partitions}-*"):
                shutil.rmtree(outdated)
            _make(size, tree)
    return tree


def simulated(size: Size) -> SandboxSpec:
    """Return the sandbox of simulated brokers in which a tree grows."""
    return SandboxSpec(
        brokers=spread(size.brokers), zookeeper_heap_mib=HEAP_MIB, simulated=True, speed=SPEED
    )


def grow(connect: str, size: Size, prefix: str = "team") -> None:
    """Put the topics into ZooKeeper, and wait until each partition has its state."""
    bodies = list(topics(size, prefix))
    client = KazooClient(connect, timeout=30)
    client.start(timeout=30)
    try:
        _load(client, bodies)
        # The controller takes topics in the order of their names, as they were loaded.
        last = f"{bodies[-1][0]}/partitions/{size.partitions_per_topic - 1}/state"
        deadline = time.monotonic() + COMPLETE_S
        while not client.exists(last):
            if time.monotonic() > deadline:
                sys.exit(f"after {COMPLETE_S:g} s there is no {last}")
            time.sleep(POLL_S)
    finally:
        client.stop()
        client.close()


def require_complete(connect: str, size: Size) -> None:
    """Exit if a partition has no state, or one without all of its replicas."""
    with Session.open(connect, timeout_s=30, deadline_s=60) as session:
        names = session.children("/brokers/topics") or ()
        paths = [
            f"/brokers/topics/{name}/partitions/{p}/state"
            for name in names
            for p in range(size.partitions_per_topic)
        ]
        found = session.read_many(paths)
    whole = [node for node in found if node and len(json.loads(node.data)["isr"]) == size.replicas]
    if len(whole) != size.partitions:
        sys.exit(f"{len(whole)} of {size.partitions} partitions have all of their replicas")


def topics(size: Size, prefix: str = "team") -> Iterator[tuple[str, bytes]]:
    """Yield path and body of every topic's node, by name."""
    for topic in range(size.partitions // size.partitions_per_topic):
        lists = {
            str(p): [
                1 + (topic + 7 * p + 3 * r + p // size.brokers) % size.brokers
                for r in range(size.replicas)
            ]
            for p in range(size.partitions_per_topic)
        }
        body = json.dumps({"version": 1, "partitions": lists}).encode()
        yield f"/brokers/topics/{prefix}-{topic // 100:02d}.orders.{topic:06d}", body


def _load(client: KazooClient, bodies: list[tuple[str, bytes]]) -> None:
    waiting: deque[Any] = deque()
    for start in range(0, len(bodies), TOPICS_AT_ONCE):
        transaction = client.transaction()
        for path, body in bodies[start : start + TOPICS_AT_ONCE]:
            transaction.create(path, body)
        waiting.append(transaction.commit_async())
        if len(waiting) == IN_FLIGHT:
            _require_done(waiting.popleft())
    for answer in waiting:
        _require_done(answer)


def _require_done(answer: Any) -> None:
    failed = [one for one in answer.get(timeout=60) if isinstance(one, Exception)]
    if failed:
        sys.exit(f"could not load the topics: {failed[0]!r}")


def _make(size: Size, tree: Path) -> None:
    with Sandbox.start(simulated(size), ready_s=READY_S) as sandbox:
        grow(sandbox.connect, size)
        require_complete(sandbox.connect, size)
        sandbox.end_simulated()
        sandbox.await_gone(*range(1, size.brokers + 1))
        # A server that starts writes a snapshot of all it finds before it serves.
        sandbox.kill_zookeeper()
        sandbox.start_zookeeper(ready_s=READY_S)
        sandbox.kill_zookeeper()
        snapshots = sandbox.transaction_log().glob("snapshot.*")
        newest = max(snapshots, key=lambda file: int(file.suffix[1:], 16))
        work = tree.with_suffix(".part")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        shutil.copy2(newest, work)
        work.rename(tree)


def _digest(size: Size) -> str:
    hashed = hashlib.sha256(repr(size).encode())
    for source in SOURCES:
        files = sorted(source.rglob("*.py")) if source.is_dir() else [source]
        for file in files:
            hashed.update(file.read_bytes())
    return hashed.hexdigest()[:12]
