"""Reading 200,000 partition states from a real ZooKeeper: ours against kazoo's two ways.

    python tests/bench/bench_snapshot.py [--partitions 200000] [--singly 10000]

Everything is measured in one run against one server, started on a copy of a cached tree (`trees`):

* `read_many`: bytes and stat of every state, through our session (multiRead).
* `observe`: the whole picture of the cluster as model values, which reads topics and configs too.
* `get_async` of kazoo, 1,000 requests in flight, every state.
* `get` of kazoo, one by one: a slice of the states, scaled up (it would take over a minute).
* floor: the same replies, read from a bare socket with nothing done to them.

Growth is that of `read_many` with the number of states: seconds, and processor seconds of ours, the
best of several. Twice the states may cost at most 2.2 times the processor time, which other work on
the machine does not stretch.
"""

import argparse
import json
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import trees
from kazoo.client import KazooClient
from rich.console import Console
from rich.table import Table

from poolkeeper.sandbox import Sandbox, SandboxSpec
from poolkeeper.zk.client import multiread
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.reading import observe

GROWTH_MAX = 2.2
PROCESSOR = time.process_time


def main(arguments: Sequence[str] | None = None) -> None:
    """Load, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--partitions", type=int, default=200_000)
    parser.add_argument("--singly", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    size = trees.Size(options.partitions)
    began = time.perf_counter()
    tree = trees.cached(size)
    made = time.perf_counter()
    spec = SandboxSpec(zookeeper_heap_mib=trees.HEAP_MIB, tree=tree)
    with Sandbox.start(spec, ready_s=trees.READY_S) as sandbox:
        register(sandbox.connect, size.brokers)
        loaded = time.perf_counter()
        with Session.open(sandbox.connect, timeout_s=30, deadline_s=60) as session:
            _report(session, sandbox.connect, options, (made - began, loaded - made))


def register(connect: str, brokers: int) -> None:
    """Register brokers and a controller that are nowhere: in a tree nobody is left."""
    client = KazooClient(connect, timeout=30)
    client.start()
    for broker in range(1, brokers + 1):
        body = {
            "version": 4,
            "rack": f"r{broker % 3}",
            "endpoints": [f"PLAINTEXT://b{broker}:9092"],
        }
        client.create(f"/brokers/ids/{broker}", json.dumps(body).encode())
    client.create("/controller", b'{"version":1,"brokerid":1,"timestamp":"1"}')
    client.stop()
    client.close()


def state_paths(session: Session) -> list[str]:
    """Return the paths of all states."""
    topics = session.children("/brokers/topics") or ()
    bodies = session.read_many([f"/brokers/topics/{topic}" for topic in topics])
    return [
        f"/brokers/topics/{topic}/partitions/{p}/state"
        for topic, node in zip(topics, bodies, strict=True)
        for p in json.loads(node.data if node else b"{}")["partitions"]
    ]


def _report(
    session: Session, connect: str, options: argparse.Namespace, began: tuple[float, float]
) -> None:
    paths = state_paths(session)
    client = KazooClient(connect, timeout=30)
    client.start()
    for _ in range(options.repeat):  # the server compiles what it does often
        session.read_many(paths)
    floor, size = min(_floor(connect, paths) for _ in range(options.repeat))
    ours, cpu = {}, {}
    for count in (len(paths) // 4, len(paths) // 2, len(paths)):
        some = paths[:count]
        ours[count] = _best(options.repeat, lambda some=some: session.read_many(some))
        cpu[count] = _best(options.repeat, lambda some=some: session.read_many(some), PROCESSOR)
    whole = _best(options.repeat, lambda: observe.cluster(session, "bench"))
    windows = _seconds(lambda: _in_windows(client, paths))
    some = paths[: options.singly]
    singly = _seconds(lambda: [client.get(path) for path in some]) * len(paths) / len(some)
    client.stop()
    client.close()

    table = Table(title=f"{len(paths):,} partition states, {size / 1e6:.0f} MB of replies")
    for column in ("way", "seconds", "× read_many", "states/s"):
        table.add_column(column, justify="left" if column == "way" else "right")
    best = ours[len(paths)]
    rows = [
        ("floor: bare socket, replies dropped", floor),
        ("read_many", best),
        ("observe", whole),
        ("kazoo get_async, 1,000 in flight", windows),
        (f"kazoo get, {len(some):,} measured and scaled", singly),
    ]
    for way, seconds in rows:
        speed = f"{len(paths) / seconds:,.0f}"
        table.add_row(way, f"{seconds:.2f}", f"{seconds / best:.1f}", speed)
    console = Console(width=100)
    console.print(f"tree made or found in {began[0]:.1f} s, loaded in {began[1]:.1f} s")
    console.print(table)
    growth = ", ".join(f"{count:,}: {ours[count]:.2f} s ({cpu[count]:.2f} s)" for count in ours)
    console.print(f"growth of read_many (processor time): {growth}")
    _, half, full = cpu.values()
    if full > GROWTH_MAX * half:
        sys.exit(f"twice the states cost {full / half:.1f} times the time (at most {GROWTH_MAX})")


def _in_windows(client: KazooClient, paths: Sequence[str]) -> None:
    waiting: deque[Any] = deque()
    for path in paths:
        if len(waiting) == 1000:
            waiting.popleft().get(timeout=60)
        waiting.append(client.get_async(path))
    for result in waiting:
        result.get(timeout=60)


def _floor(connect: str, paths: Sequence[str]) -> tuple[float, int]:
    """Return seconds and bytes of the same requests on a bare socket, four in flight."""
    address, _, chroot = connect.partition("/")
    host, _, port = address.partition(":")
    requests: list[bytes] = []
    start = 0
    while start < len(paths):
        request, count = multiread.encode(paths[start : start + 1000], f"/{chroot}")
        body = struct.pack("!ii", len(requests) + 1, multiread.OPCODE) + request.body
        requests.append(struct.pack("!i", len(body)) + body)
        start += count
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        hello = struct.pack("!iqiqi", 0, 0, 30_000, 0, 16) + bytes(17)
        raw.sendall(struct.pack("!i", len(hello)) + hello)
        stream = raw.makefile("rb", buffering=1 << 20)
        stream.read(struct.unpack("!i", stream.read(4))[0])
        began, size = time.perf_counter(), 0
        for number, request_bytes in enumerate(requests):
            raw.sendall(request_bytes)
            if number >= multiread.IN_FLIGHT:
                size += len(stream.read(struct.unpack("!i", stream.read(4))[0]))
        for _ in range(min(multiread.IN_FLIGHT, len(requests))):
            size += len(stream.read(struct.unpack("!i", stream.read(4))[0]))
        return time.perf_counter() - began, size


def _seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    action()
    return clock() - began


def _best(
    times: int, action: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    return min(_seconds(action, clock) for _ in range(times))


if __name__ == "__main__":
    main()
