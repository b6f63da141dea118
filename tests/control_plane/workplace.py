"""Where the commands of the README's Kubernetes section are typed: a folder, programs and brokers.

The folder is like the checkout where that matters: it has `charts`, `examples`, `crds`, `policies`
and `docs`. Nine real brokers hold the topics that `examples/manifests` declares, filled, and
anywhere: in the folder's copy of the manifests their addresses stand instead of those of nobody.
Simulated brokers hold them empty, and nobody can ask them anything: the manifests do not say where
they are.

Pods share this machine's network, so that the image's entry point listens on the pod's own address
where the chart says all addresses.
"""

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from kafka import KafkaAdminClient, KafkaProducer
from kazoo.client import KazooClient

from conditions import until
from control_plane import building
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread

COPIED = ("charts", "examples", "crds", "policies", "docs", "README.md")
MANIFESTS = Path("examples/manifests")
ZOOKEEPER, BOOTSTRAP = "127.0.0.1:2181", "127.0.0.1:9092"
ASKED = f'  brokers:\n    bootstrapServers: "{BOOTSTRAP}"\n'
"""The addresses in `examples/manifests/cluster.yaml`."""
KAFKA = "3.9.2"
BROKERS = 9
# Half of what idle brokers do is to ask each other for news. Data comes compressed.
SETTINGS = (("replica.fetch.wait.max.ms", "2000"), ("compression.type", "uncompressed"))
CHUNK = b"x" * 32 * 1024
BYTES_EACH = 256 * 1024
SENT_S = 120

PROGRAM = """#!/bin/sh
export PYTHONPATH={operator}${{PYTHONPATH:+:$PYTHONPATH}}
exec {python} -c 'import sys; from {module} import main; sys.exit(main())' "$@"
"""
ENTRY_POINT = """#!/bin/sh
for word in "$@"; do
  shift
  case $word in
    --listen=0.0.0.0:*) word=--listen=$POD_IP:${{word##*:}} ;;
  esac
  set -- "$@" "$word"
done
exec {poolkeeper} "$@"
"""


@dataclass(frozen=True, slots=True)
class Workplace:
    """The folder to work in, the folder of its programs, and the image's entry point."""

    folder: Path
    programs: Path
    entry_point: Path

    @classmethod
    def make(cls, root: Path) -> "Workplace":
        """Make a workplace below a folder that goes with the control plane."""
        folder, programs = root / "work", root / "programs"
        folder.mkdir()
        programs.mkdir()
        for name in COPIED:
            source = building.CHECKOUT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        poolkeeper = _program(programs / "poolkeeper", "poolkeeper.__main__")
        _program(programs / "kubectl-poolkeeper", "poolkeeper.cli.kubectl.main")
        (programs / "helm").symlink_to(building.helm())
        entry_point = root / "operator"
        entry_point.write_text(ENTRY_POINT.format(poolkeeper=poolkeeper), encoding="utf-8")
        entry_point.chmod(0o755)
        return cls(folder, programs, entry_point)

    def address(self, brokers: Sandbox) -> None:
        """Put the addresses of real servers into the manifests."""
        file = self.folder / MANIFESTS / "cluster.yaml"
        text = file.read_text(encoding="utf-8")
        assert ASKED in text
        if brokers.spec.simulated:
            text = text.replace(ASKED, "")
        text = text.replace(ZOOKEEPER, brokers.connect).replace(BOOTSTRAP, brokers.bootstrap)
        file.write_text(text, encoding="utf-8")


def start_brokers(*, simulated: bool = False) -> Sandbox:
    """Start the brokers, with the topics of the manifests in them."""
    settings = () if simulated else SETTINGS
    spec = SandboxSpec(spread(BROKERS), kafka=KAFKA, settings=settings, simulated=simulated)
    brokers = Sandbox.start(spec)
    try:
        topics = declared_topics()
        if simulated:
            _create_simulated(brokers.connect, topics)
        else:
            _create(brokers.bootstrap, topics)
            _fill(brokers.bootstrap, {name: count for name, (count, _) in topics.items()})
    except BaseException:
        brokers.close()
        raise
    return brokers


def declared_topics() -> Mapping[str, tuple[int, int]]:
    """Return partitions and replication factor of the topics that the manifests declare."""
    text = (building.CHECKOUT / MANIFESTS / "topics.yaml").read_text(encoding="utf-8")
    return {
        body["metadata"]["name"]: (body["spec"]["partitions"], body["spec"]["replicationFactor"])
        for body in yaml.safe_load_all(text)
    }


def _program(path: Path, module: str) -> Path:
    text = PROGRAM.format(
        operator=building.CHECKOUT / "operator", python=sys.executable, module=module
    )
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def _create(bootstrap: str, topics: Mapping[str, tuple[int, int]]) -> None:
    """Create the topics as any tool would: Kafka itself chooses the brokers."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap.split(","))
    try:
        wanted = {
            name: {"num_partitions": partitions, "replication_factor": factor}
            for name, (partitions, factor) in topics.items()
        }
        admin.create_topics(wanted, wait_for_metadata=True)
    finally:
        admin.close()


def _create_simulated(connect: str, topics: Mapping[str, tuple[int, int]]) -> None:
    """Create the topics with replicas on one broker after the other."""
    client = KazooClient(connect)
    client.start(timeout=SENT_S)
    try:
        for name, (partitions, factor) in topics.items():
            lists = {
                str(p): [1 + (p + replica) % BROKERS for replica in range(factor)]
                for p in range(partitions)
            }
            body = json.dumps({"version": 1, "partitions": lists})
            client.create(f"/config/topics/{name}", b'{"version":1,"config":{}}', makepath=True)
            client.create(f"/brokers/topics/{name}", body.encode())
            last = f"/brokers/topics/{name}/partitions/{partitions - 1}/state"
            until(lambda last=last: client.exists(last), f"topic {name} has leaders")
    finally:
        client.stop()
        client.close()


def _fill(bootstrap: str, topics: Mapping[str, int]) -> None:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap.split(","),
        acks="all",
        batch_size=BYTES_EACH,
        linger_ms=20,
        compression_type="gzip",
    )
    sent = [
        producer.send(name, value=CHUNK, partition=partition)
        for name, partitions in topics.items()
        for partition in range(partitions)
        for _ in range(BYTES_EACH // len(CHUNK))
    ]
    producer.flush(timeout=SENT_S)
    for record in sent:
        record.get(timeout=SENT_S)
    producer.close(timeout=10)
