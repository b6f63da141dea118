"""`apply` is killed again and again while it migrates topics, and clients are at work."""

import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from kazoo.client import KazooClient

import traffic
from conditions import until
from frozen import freeze
from poolkeeper.model.plans import Move
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.journal import journal
from real.support import (
    HOLDER,
    MIB,
    REQUEST,
    RUN,
    Change,
    access,
    assert_nothing_left,
    assignment,
    body,
    command,
    create,
    declare,
    history,
    kazoo,
    last_zxid,
    of_kind,
    of_path,
    requested_steps,
    run,
    steps_of,
)

pytestmark = pytest.mark.long

POOLS = {"old": {"brokers": {"ids": [1, 2]}}, "new": {"brokers": {"ids": [3, 4, 5]}}}


@dataclass(frozen=True)
class Now:
    """What ZooKeeper says at one moment: who works on what; absent nodes are empty."""

    holder: dict
    run: dict
    request: list

    @classmethod
    def of(cls, zookeeper: KazooClient) -> "Now":
        holder, run, request = (body(zookeeper, path) for path in (HOLDER, RUN, REQUEST))
        return cls(holder, run, request.get("partitions", []))


Moment = Callable[[Now], bool]
KILLED_AT: dict[str, Moment] = {
    "throttles are written": lambda now: now.run.get("phase") == "THROTTLING",
    "the first request is there": lambda now: now.run.get("stage") == 1 and bool(now.request),
    "a part of a stage has arrived": lambda now: 0 < len(now.request) < len(now.run["step"]),
    "a stage is over and the next not begun": lambda now: bool(now.request),
    "a later request is there": lambda now: now.run.get("stage", 0) > 3 and bool(now.request),
}
PAUSED_FIRST = "a stage is over and the next not begun"


@pytest.mark.soak
def test_a_migration_whose_apply_is_killed_five_times_ends_right(fresh_kafka, tmp_path):
    sandbox = fresh_kafka(brokers=5, session_timeout_max_ms=8_000)
    create(sandbox, "wanders", *[(1, 2), (2, 1), (1, 2)] * 3)
    create(sandbox, "grows", (3,), (4,), (5,))
    traffic.fill(sandbox.bootstrap, {"wanders": 9, "grows": 3}, MIB)
    zxid = last_zxid(sandbox)
    topics = {
        "wanders": {"pool": "new", "partitions": 9, "replicationFactor": 2},
        "grows": {"pool": "new", "partitions": 3, "replicationFactor": 3},
    }
    slow = {"maxMoves": 6, "throttle": {"mode": "Fixed", "rate": "1Mi"}}
    declare(tmp_path, sandbox, POOLS, topics, execution=slow)
    clients = traffic.Traffic(sandbox.bootstrap, {"wanders": 9, "grows": 3}, records_per_s=24)
    with clients, kazoo(sandbox.connect) as zookeeper:
        for moment, come in KILLED_AT.items():
            kill_apply(tmp_path, zookeeper, moment, come)
        moves = stored_moves(sandbox)
        last = run("apply", "-f", tmp_path, "--yes")
        assert last.code == 0, last.out + last.err
        tally = clients.finish()
    assert (tally.problems, tally.received) == ([], tally.acknowledged)
    assert tally.acknowledged > 0
    changes = history(sandbox, zxid)
    assert len(of_kind("CREATE", of_path(changes, HOLDER))) == len(KILLED_AT) + 1
    assert_done_once(changes, moves)
    for topic, size in (("wanders", 2), ("grows", 3)):
        for replicas in assignment(sandbox, topic):
            assert len(replicas) == size
            assert set(replicas) <= {3, 4, 5}
    assert_nothing_left(sandbox, "wanders", "grows")


def kill_apply(folder: Path, zookeeper: KazooClient, moment: str, come: Moment) -> None:
    """Start `apply`, and kill it at the moment given, once it is what drives the run."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command("apply", "-f", folder, "--yes"), stdout=output, stderr=subprocess.STDOUT
        )

        def look() -> bool:
            if process.poll() is not None:
                output.seek(0)
                pytest.fail(f"ended before {moment}: {output.read()}")
            now = Now.of(zookeeper)
            return now.holder.get("pid") == process.pid and come(now)

        try:
            until(look, moment, timeout_s=60)
            if moment == PAUSED_FIRST:
                freeze(process.pid)
                until(lambda: not zookeeper.exists(REQUEST), moment, timeout_s=60)
        finally:
            process.kill()
        assert process.wait(60) == -signal.SIGKILL


def stored_moves(sandbox: Sandbox) -> Sequence[Move]:
    """The moves of the plan under way."""
    with access(sandbox).session() as session:
        run = journal.read_run(session)
        return journal.read_document(session, run).plan.moves


def assert_done_once(changes: Sequence[Change], moves: Sequence[Move]) -> None:
    """Each step of each move was requested once, and the topic nodes went that way, once."""
    assert requested_steps(changes) == steps_of(moves)
    for move_ in moves:
        lists = [
            live(c, move_.partition) for c in of_path(changes, f"/brokers/topics/{move_.topic}")
        ]
        way = [list_ for i, list_ in enumerate(lists) if i == 0 or list_ != lists[i - 1]]
        expected = [step for pair in pairwise(move_.path) for step in both(*pair)]
        assert way[way[0] == (move_.source, set(), set()) :] == expected, move_


def both(before: tuple[int, ...], after: tuple[int, ...]) -> Iterator[tuple]:
    """What the topic node says while a step is under way, and when it is done (2.4 and later)."""
    adding, removing = set(after) - set(before), set(before) - set(after)
    yield (*after, *(b for b in before if b in removing)), adding, removing
    yield after, set(), set()


def live(change: Change, partition: int) -> tuple[tuple[int, ...], set[int], set[int]]:
    node, key = change.body, str(partition)
    replicas = tuple(node["partitions"][key])
    return replicas, *(set(node[f"{w}_replicas"].get(key, ())) for w in ("adding", "removing"))
