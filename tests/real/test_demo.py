"""The demo as people start it: its verdict, an interruption in the middle, a machine without Java;
and that its checks can fail.

The demo gets a cache of its own, which borrows the jars: its sandbox is the only one there, and the
records of its processes can be read while it runs.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from conditions import until
from poolkeeper.sandbox.servers import artifacts, processes
from poolkeeper.sandbox.servers.processes import Identity

pytestmark = pytest.mark.long

DEMO = Path(__file__).parents[2] / "examples" / "demo" / "demo.py"
DEADLINE_S = 300
SERVERS = 10
LAST_LINES = 40


@dataclass(slots=True)
class Running:
    """A demo under way: what it printed, and the servers it has started."""

    process: subprocess.Popen[str]
    sandboxes: Path
    lines: list[str] = field(default_factory=list)

    def read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def last_words(self) -> str:
        return "\n".join(self.lines[-LAST_LINES:])

    def await_line(self, words: str) -> None:
        def printed() -> bool:
            return any(words in line for line in self.lines)

        def settled() -> bool:
            return printed() or self.process.poll() is not None

        until(settled, f"{words!r} in the demo's output", DEADLINE_S)
        until(printed, self.last_words(), 5)

    def servers(self) -> set[Identity]:
        records = [json.loads(line) for line in self._records().splitlines()]
        return {Identity(record["pid"], record["started_ticks"]) for record in records}

    def _records(self) -> str:
        return "".join(f.read_text() for f in self.sandboxes.glob("*/processes.jsonl"))


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    (tmp_path / "kafka").symlink_to(artifacts.cache_folder() / "kafka")
    started: list[tuple[Running, threading.Thread]] = []

    def start(*arguments: str, **environment: str) -> Running:
        process = subprocess.Popen(
            [sys.executable, str(DEMO), *arguments],
            env={**os.environ, "POOLKEEPER_CACHE": str(tmp_path), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        running = Running(process, tmp_path / "sandboxes")
        reader = threading.Thread(target=running.read)
        reader.start()
        started.append((running, reader))
        return running

    yield start
    for running, reader in started:
        running.process.kill()
        running.process.wait()
        reader.join()
        running.process.stdout.close()


def left_behind(demo: Running, servers: set[Identity]) -> list[object]:
    alive = [server for server in servers if processes.is_alive(server)]
    return [*alive, *demo.sandboxes.glob("[!.]*")]


def test_the_demo_shows_what_it_promises_and_leaves_no_process(start: Start) -> None:
    demo = start("--kib", "64", "--records", "20")
    demo.await_line("1. Before")
    servers = demo.servers()
    assert len(servers) == SERVERS
    assert demo.process.wait(DEADLINE_S) == 0, demo.last_words()
    checks = [line.split(maxsplit=1)[1] for line in demo.lines if line.startswith("  ok  ")]
    applied = [
        "every topic lives only in its pool, every replica in sync",
        "replicas and leaders are balanced, preferred leaders lead",
        "no request, no throttle and no run is left in ZooKeeper",
        "replicas moved, and were throttled",
    ]
    assert checks == [
        *applied,
        *applied,
        "broker 3 holds nothing",
        *applied,
        "a cluster that is as declared needs no plan",
        "no record lost, none out of order",
    ]
    assert not [line for line in demo.lines if "FAIL" in line or "warning" in line.lower()]
    assert left_behind(demo, servers) == []


@pytest.mark.soak
def test_an_interruption_in_the_middle_of_a_move_leaves_no_process(start: Start) -> None:
    demo = start("--kib", "512", "--records", "20")
    demo.await_line("stage 1 requested")
    servers = demo.servers()
    assert len(servers) == SERVERS
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(60) == 130, demo.last_words()
    assert left_behind(demo, servers) == []


def test_a_machine_without_java_is_told_which_package_brings_it(start: Start) -> None:
    demo = start(PATH="/nonexistent")
    assert demo.process.wait(60) == 3
    demo.await_line("apt-get install default-jre-headless")
    assert left_behind(demo, set()) == []


POOLS = {"p": (1, 2, 3)}
HOMES = {"t": "p"}
EVEN = ((1, 2), (2, 3), (3, 1))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    monkeypatch.syspath_prepend(str(DEMO.parent))
    return importlib.import_module


@pytest.mark.parametrize(
    ("replicas", "leaders", "in_sync", "lives", "is_balanced", "is_empty"),
    [
        pytest.param(EVEN, (1, 2, 3), EVEN, True, True, False, id="even"),
        pytest.param(
            ((1, 4), *EVEN[1:]), (1, 2, 3), ((1, 4), *EVEN[1:]), False, True, False, id="a-stray"
        ),
        pytest.param(EVEN, (1, 2, 3), ((1,), *EVEN[1:]), False, True, False, id="out-of-sync"),
        pytest.param(EVEN, (1, 2, 1), EVEN, True, False, False, id="another-than-the-preferred"),
        pytest.param(EVEN, (1, 2, -1), EVEN, True, False, False, id="no-leader"),
        pytest.param(((1, 2),) * 3, (1, 1, 1), ((1, 2),) * 3, True, False, True, id="3-is-empty"),
    ],
)
def test_checks_of_a_layout_can_fail(
    module, replicas, leaders, in_sync, lives, is_balanced, is_empty
) -> None:
    layouts = module("layouts")
    partitions = tuple(
        layouts.Partition("t", held, leader, frozenset(isr))
        for held, leader, isr in zip(replicas, leaders, in_sync, strict=True)
    )
    assert layouts.places(partitions, HOMES, POOLS).holds is lives
    assert layouts.balance(partitions, POOLS).holds is is_balanced
    assert layouts.emptiness(partitions, 3).holds is is_empty


def test_one_check_that_fails_fails_the_demo(module, capsys) -> None:
    checks = [module("layouts").Check("good"), module("layouts").Check("bad", ("it is not",))]
    demo = module("demo")
    assert demo.end(demo.Tour(None, None, 0, checks=checks[:1])) == 0
    assert demo.end(demo.Tour(None, None, 0, checks=checks)) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "  not so: bad: it is not"
