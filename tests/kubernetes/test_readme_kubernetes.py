"""What `make cluster` gives, and the README's Kubernetes section typed there, as it stands.

A real control plane, the operator in pods as the chart makes them, nine brokers: simulated ones in
`make test`, in `make soak` real ones with data and clients at work. Every command comes from the
README character by character, through the standard input of what `make cluster` runs.
"""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from queue import Empty, Queue

import pytest
import yaml

import traffic
from archives import archive_classes
from conditions import until
from control_plane import workplace
from matrices import soak
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.reading import observe

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).parents[2]
TOPICS = {name: count for name, (count, _) in workplace.declared_topics().items()}
POOLS = {"pool1": {1, 2, 3}, "pool2": {4, 5, 6}, "pool3": {7, 8, 9}}
LISTED = "kubectl get topics --all-namespaces"
PODS = "kubectl get pods -n poolkeeper -oname"
LEASES = "kubectl get leases -n poolkeeper -oname"
COMMAND_S = 400
EXIT_CODE = 7


def commands() -> list[str]:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## On Kubernetes\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


class Shell:
    """The shell of `make cluster`, fed one command after the other."""

    def __init__(self, *options: str) -> None:
        paths = os.pathsep.join(str(REPOSITORY / one) for one in ("tests", "operator"))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "control_plane.clusters", *options],
            env={**os.environ, "PYTHONPATH": paths},
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: Queue[str] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def run(self, command: str) -> str:
        """Type one line; return what it says. It must succeed."""
        code, said = self._type(command)
        assert code == 0, f"$ {command}\n{said}"
        return said

    def end(self) -> int:
        """Type `exit 7`; return the exit code of it all."""
        if self._process.poll() is None:
            with self._process.stdin as typed:
                typed.write(f"exit {EXIT_CODE}\n")
        code = self._process.wait(COMMAND_S)
        self._reader.join(COMMAND_S)
        self._process.stdout.close()
        return code

    def _type(self, command: str) -> tuple[int, str]:
        self._process.stdin.write(f'{command}\necho "--- $?"\n')
        self._process.stdin.flush()
        said: list[str] = []
        deadline_s = time.monotonic() + COMMAND_S
        while True:
            try:
                line = self._lines.get(timeout=max(0.1, deadline_s - time.monotonic()))
            except Empty:
                raise AssertionError(f"no end of: {command}\n{''.join(said)}") from None
            if line.startswith("--- "):
                return int(line[4:]), "".join(said)
            said.append(line)
            assert line, f"make cluster has ended: {''.join(said)}"

    def _read(self) -> None:
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")


@pytest.fixture(params=["simulated", *soak("real")])
def shell(request: pytest.FixtureRequest) -> Iterator[Shell]:
    simulated = request.param == "simulated"
    if not simulated:
        archive_classes(workplace.KAFKA)
    typed = Shell(*["--simulated"] * simulated)
    yield typed
    typed.end()


@pytest.fixture
def addresses(shell: Shell) -> tuple[str, str]:
    """Where ZooKeeper and the brokers are, as the manifests say there; simulated ones nowhere."""
    spec = yaml.safe_load(shell.run(f"cat {workplace.MANIFESTS}/cluster.yaml"))["spec"]
    return spec["zookeeper"]["connect"], spec.get("brokers", {}).get("bootstrapServers", "")


def places(connect: str) -> dict[str, list[tuple[int, ...]]]:
    with Session.open(connect) as session:
        topics = observe.cluster(session, "demo").cluster.topics
    return {name: [p.replicas for p in topics[name].partitions] for name in TOPICS}


def homes(found: dict[str, list[tuple[int, ...]]]) -> dict[str, set[int]]:
    return {name: {id_ for replicas in lists for id_ in replicas} for name, lists in found.items()}


def test_the_section_works_as_written(shell: Shell, addresses: tuple[str, str]) -> None:
    connect, bootstrap = addresses
    kubeconfig = Path(shell.run("echo $KUBECONFIG").strip())
    assert shell.run("kubectl get nodes -oname") == "node/local\n"
    before = places(connect)
    assert any(len(ids) > 3 for ids in homes(before).values())
    said = []
    clients = traffic.Traffic(bootstrap, TOPICS, records_per_s=20) if bootstrap else None
    with clients or nullcontext():
        for command in commands():
            said.append((command, shell.run(command)))
            if command.startswith("kubectl get kafkaclusters"):
                assert places(connect) == before
            if command.startswith("helm uninstall"):
                until(lambda: not shell.run(PODS), "all pods are gone", 60)
                until(lambda: not shell.run(LEASES), "the Lease is gone", 60)
                left = places(connect)
        problems = clients.finish().problems if clients else []
    assert problems == []
    assert places(connect) == left
    for number, (pool, members) in enumerate(POOLS.items()):
        allowed = members - {3} if pool == "pool1" else members
        for name in list(TOPICS)[3 * number : 3 * number + 3]:
            assert homes(left)[name] <= allowed, name
    described = next(out for command, out in said if command.startswith("kubectl describe"))
    assert "kubectl patch kafkacluster demo --type=json" in described
    listed = next(out for command, out in said if command == LISTED)
    assert listed.count(" InPlace ") == len(TOPICS)
    with Session.open(connect) as session:
        assert session.read("/poolkeeper/run") is None
        assert session.read("/admin/reassign_partitions") is None
    assert shell.end() == EXIT_CODE
    assert not kubeconfig.parent.exists()
