"""Every command of the README's tour is run, in its order, in an empty folder.

A command of ours that needs no shell runs in this process: most of what it costs elsewhere is the
start of Python. Those that bring a sandbox up and down, and those whose output the shell takes, are
processes.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from poolkeeper.sandbox import take_down
from real.support import Ran, run

REPOSITORY = Path(__file__).parents[2]
NAME = f"tour-{os.getpid()}"
SHELL = re.compile(r"[|&;<>$`*?]")
"""What a shell does not hand over as it stands."""
DOCUMENTED_CONNECT = "127.0.0.1:2181/kafka"
DOCUMENTED_BOOTSTRAP = "127.0.0.1:9092"


def commands() -> list[str]:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    tour = readme.partition("\n## On Kubernetes\n")[0]
    blocks = re.findall(r"```console\n(.*?)```", tour, re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def codes(command: str) -> tuple[int, ...]:
    """Return how a command may end: 2 says that there are changes, 4 that some cannot be made."""
    if not command.startswith("poolkeeper plan"):
        return (0,)
    return (4,) if "--without" in command else (0, 2)


@pytest.fixture
def shell(tmp_path, monkeypatch):
    bin_ = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    monkeypatch.chdir(tmp_path)

    def typed(command: str) -> Ran:
        program, *words = shlex.split(command)
        if program == "poolkeeper" and words[0] != "sandbox" and not SHELL.search(command):
            return run(*words)
        done = subprocess.run(
            ["bash", "-ec", command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    yield typed
    take_down(NAME)


def test_the_tour_works_as_written(shell):
    addresses = {}
    said: list[tuple[str, str]] = []
    for command in commands():
        command = command.replace("--name tour", f"--name {NAME}")
        for documented, real in addresses.items():
            command = command.replace(documented, real)
        done = shell(command)
        said.append((command, done.out))
        assert done.code in codes(command), f"$ {command}\n{done.out}\n{done.err}"
        if command.startswith("poolkeeper sandbox up"):
            addresses = {
                DOCUMENTED_CONNECT: re.search(r"ZooKeeper: (\S+)", done.out)[1],
                DOCUMENTED_BOOTSTRAP: re.search(r"Brokers: +(\S+)", done.out)[1],
            }
    plans = [output for command, output in said if command == "poolkeeper plan -f manifests"]
    assert "No changes." in plans[0]
    assert "+ topic orders: 6 partitions" in plans[1]
    applied = [output for command, output in said if command.startswith("poolkeeper apply")]
    assert len(applied) == 3
    assert "moves into pool fast" in applied[-1]
