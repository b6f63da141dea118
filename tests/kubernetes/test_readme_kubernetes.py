"""Every command of the README's Kubernetes section is run, in its order, from the chart to the end.

A real control plane, the operator in pods as the chart makes them, nine real brokers with data and
clients at work.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient

import traffic
from chart.releases import IMAGE, ON_OWN_ADDRESS, OPERATOR, until_no_pods, without_definitions
from control_plane import building
from control_plane.kubelet import Kubelet
from control_plane.planes import ControlPlane
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from poolkeeper.zk import observe
from poolkeeper.zk.client.session import Session

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).parents[2]
TOPICS = {f"t{number}": 9 for number in range(1, 10)}
POOLS = {"pool1": {1, 2, 3}, "pool2": {4, 5, 6}, "pool3": {7, 8, 9}}
LISTED = "kubectl get topics --all-namespaces"
BYTES_EACH = 256 * 1024


def commands() -> list[str]:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## On Kubernetes\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def brokers() -> Iterator[Sandbox]:
    # Half of what nine idle brokers do is to ask each other for news.
    settings = (("replica.fetch.wait.max.ms", "2000"),)
    spec = SandboxSpec(brokers=spread(9, "abc"), kafka="3.9.2", settings=settings)
    with Sandbox.start(spec) as sandbox:
        admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap.split(","))
        wanted = {
            name: {"num_partitions": count, "replication_factor": 2}
            for name, count in TOPICS.items()
        }
        admin.create_topics(wanted, wait_for_metadata=True)
        admin.close()
        traffic.fill(sandbox.bootstrap, TOPICS, BYTES_EACH, compression="gzip")
        yield sandbox


@pytest.fixture
def shell(
    control_plane: ControlPlane, kubelet: Kubelet, brokers: Sandbox, tmp_path: Path
) -> Iterator["Shell"]:
    kubelet.add_image(IMAGE, OPERATOR)
    for name in ("charts", "examples"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    file = tmp_path / "examples/manifests/cluster.yaml"
    text = file.read_text().replace("127.0.0.1:2181", brokers.connect)
    file.write_text(text.replace("127.0.0.1:9092", brokers.bootstrap))
    topics = tmp_path / "examples/manifests/topics.yaml"
    topics.write_text(topics.read_text().replace("replicationFactor: 1", "replicationFactor: 2"))
    control_plane.kubectl("delete", "namespace", "demo", "--ignore-not-found", "--wait")
    with without_definitions(control_plane):
        yield Shell(control_plane, tmp_path)


class Shell:
    """A shell that keeps its variables from one command to the next, as a person's does."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        helm = building.helm().parent
        self._environment = {**plane.environment(), "HOME": str(folder)}
        self._environment["PATH"] = f"{helm}:{self._environment['PATH']}"
        self._folder = folder
        self._variables: list[str] = []

    def run(self, command: str) -> str:
        if command.startswith("helm install"):
            command = f"{command} {' '.join(map(repr, ON_OWN_ADDRESS))}"
        done = subprocess.run(
            ["bash", "-ec", "\n".join([*self._variables, command])],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
        if re.match(r"[A-Z]+=", command):
            self._variables = [command]
        return done.stdout


def places(brokers: Sandbox) -> dict[str, list[tuple[int, ...]]]:
    with Session.open(brokers.connect) as session:
        topics = observe.cluster(session, "demo").cluster.topics
    return {name: [p.replicas for p in topics[name].partitions] for name in TOPICS}


def homes(found: dict[str, list[tuple[int, ...]]]) -> dict[str, set[int]]:
    return {name: {id_ for replicas in lists for id_ in replicas} for name, lists in found.items()}


def test_the_section_works_as_written(
    control_plane: ControlPlane, shell: Shell, brokers: Sandbox
) -> None:
    before = places(brokers)
    assert any(len(ids) > 3 for ids in homes(before).values())
    said = []
    with traffic.Traffic(brokers.bootstrap, TOPICS, records_per_s=60) as clients:
        for command in commands():
            said.append((command, shell.run(command)))
            if command.startswith("kubectl get kafkaclusters"):
                assert places(brokers) == before
            if command.startswith("helm uninstall"):
                until_no_pods(control_plane, "poolkeeper")
                left = places(brokers)
        tally = clients.finish()
    assert not tally.problems
    assert places(brokers) == left
    for number, (pool, members) in enumerate(POOLS.items()):
        allowed = members - {3} if pool == "pool1" else members
        for name in list(TOPICS)[3 * number : 3 * number + 3]:
            assert homes(left)[name] <= allowed, name
    described = next(out for command, out in said if command.startswith("kubectl describe"))
    assert "kubectl patch kafkacluster demo --type=merge" in described
    listed = next(out for command, out in said if command == LISTED)
    assert listed.count(" InPlace ") == len(TOPICS)
    with Session.open(brokers.connect) as session:
        assert session.read("/poolkeeper/run") is None
        assert session.read("/admin/reassign_partitions") is None
