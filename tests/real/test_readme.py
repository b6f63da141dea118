"""Every command of the README's tour is run, in its order, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from poolkeeper.sandbox import take_down

REPOSITORY = Path(__file__).parents[2]
NAME = f"tour-{os.getpid()}"
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
def shell(tmp_path):
    bin_ = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}

    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-ec", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    yield run
    take_down(NAME)


def test_the_tour_works_as_written(shell):
    addresses = {}
    said: list[tuple[str, str]] = []
    for command in commands():
        command = command.replace("--name tour", f"--name {NAME}")
        for documented, real in addresses.items():
            command = command.replace(documented, real)
        done = shell(command)
        said.append((command, done.stdout))
        assert done.returncode in codes(command), f"$ {command}\n{done.stdout}\n{done.stderr}"
        if command.startswith("poolkeeper sandbox up"):
            addresses = {
                DOCUMENTED_CONNECT: re.search(r"ZooKeeper: (\S+)", done.stdout)[1],
                DOCUMENTED_BOOTSTRAP: re.search(r"Brokers: +(\S+)", done.stdout)[1],
            }
    plans = [output for command, output in said if command == "poolkeeper plan -f manifests"]
    assert "No changes." in plans[0]
    assert "+ topic orders: 6 partitions" in plans[1]
    applied = [output for command, output in said if command.startswith("poolkeeper apply")]
    assert len(applied) == 3
    assert "moves into pool fast" in applied[-1]
