"""The settings of a sandbox as values, and the files and command lines made from them.

Pure: no file is written and no process started here. The settings make a cluster that starts in
seconds and needs about 110 MB a broker. Its leaders stay where they are if the machine stands still
for some seconds. Every Kafka from 0.10.2 to 3.9 accepts the same broker settings.
"""

import json
import sys
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path

from poolkeeper.frozen import frozen
from poolkeeper.sandbox.servers import artifacts, class_archives

ADDRESS = "127.0.0.1"


@frozen
class BrokerSpec:
    """One broker: its id, its rack (None: it registers none) and settings on top of the default."""

    id: int
    rack: str | None = None
    settings: tuple[tuple[str, str], ...] = ()


@frozen
class SandboxSpec:
    """One ZooKeeper and these brokers, which may be none.

    `server` is the Kafka release whose ZooKeeper server runs: 3.9.2 brings 3.8.4, which serves all
    releases, 2.8.2 brings 3.5.9 and 2.0.1 brings 3.4.10.

    Heaps are in MiB. ZooKeeper needs 1 to 2 GiB for the 600,000 nodes of 200,000 partitions.
    `settings` go to every broker. A broker that was killed stays registered for
    `session_timeout_ms`; one that only stands still for less, as on a machine with other work,
    keeps what it leads. No session outlives its client by more than `session_timeout_max_ms`.
    `root` is where sandboxes keep their data (default: the cache's `sandboxes/`); sandboxes clean
    up after killed ones under the same root only.

    `simulated` brokers write to the real ZooKeeper what real ones would, `speed` times as fast, and
    listen nowhere; `kafka` may be any release then. `tree` is a folder of ZooKeeper's data (a
    `version-2`) on a copy of which the server starts. `archive_classes`: the servers end gracefully
    and leave archives of their classes, with which later ones start faster (`class_archives`).
    `classes` is a folder of classes that brokers have beside their own: policies, for example.
    """

    brokers: tuple[BrokerSpec, ...] = ()
    kafka: str = artifacts.LATEST
    server: str = artifacts.LATEST
    chroot: str = "/kafka"
    settings: tuple[tuple[str, str], ...] = ()
    zookeeper_heap_mib: int = 128
    session_timeout_ms: int = 18_000
    session_timeout_max_ms: int = 60_000
    broker_heap_mib: int = 96
    name: str | None = None
    root: Path | None = None
    simulated: bool = False
    speed: float = 1.0
    tree: Path | None = None
    archive_classes: bool = False
    classes: Path | None = None


def spread(count: int, racks: Iterable[str] = "abc", first: int = 1) -> tuple[BrokerSpec, ...]:
    """Return brokers with racks in turn: 4 of them on a b c a. Without racks they have none."""
    names = tuple(racks)
    ids = range(first, first + count)
    if not names:
        return tuple(BrokerSpec(broker) for broker in ids)
    return tuple(BrokerSpec(broker, rack) for broker, rack in zip(ids, cycle(names), strict=False))


def zookeeper_config(folder: Path, port: int, session_timeout_max_ms: int = 60_000) -> str:
    """Return zoo.cfg of a single server that keeps everything in `folder`."""
    return _lines(
        tickTime=500,
        dataDir=folder,
        clientPort=port,
        clientPortAddress=ADDRESS,
        maxClientCnxns=0,
        maxSessionTimeout=session_timeout_max_ms,
        **{"admin.enableServer": "false", "4lw.commands.whitelist": "*"},
    )


def broker_config(
    spec: SandboxSpec, broker: BrokerSpec, zookeeper: str, port: int, log_dirs: Iterable[Path]
) -> str:
    """Return server.properties of one broker; later keys are the more specific ones.

    Only `listeners` are beside the plain one, which the sandbox itself needs.
    """
    own = {**dict(spec.settings), **dict(broker.settings)}
    more = own.pop("listeners", "")
    settings = {
        "broker.id": broker.id,
        "listeners": f"PLAINTEXT://{ADDRESS}:{port}" + (more and f",{more}"),
        "log.dirs": ",".join(map(str, log_dirs)),
        "zookeeper.connect": f"{zookeeper}{spec.chroot}",
        "zookeeper.session.timeout.ms": spec.session_timeout_ms,
        "zookeeper.connection.timeout.ms": 30_000,
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 1,
        "num.io.threads": 2,
        "num.network.threads": 1,
        "background.threads": 2,
        "num.replica.fetchers": 1,
        "num.recovery.threads.per.data.dir": 1,
        # Its default buffer of 128 MB is more than the whole heap.
        "log.cleaner.enable": "false",
        "log.index.size.max.bytes": 65_536,
        "auto.create.topics.enable": "false",
        "auto.leader.rebalance.enable": "false",
        "group.initial.rebalance.delay.ms": 0,
        "delete.topic.enable": "true",
        "replica.fetch.wait.max.ms": 500,
        "replica.lag.time.max.ms": 30_000,
    }
    if not spec.kafka.startswith("0."):
        settings["log.segment.delete.delay.ms"] = 1_000
    if broker.rack is not None:
        settings["broker.rack"] = broker.rack
    return _lines(**{**settings, **own})


def zookeeper_command(
    java: str, jars: Path, heap_mib: int, config: Path, *, archive: bool
) -> tuple[str, ...]:
    """Return the command line of the ZooKeeper server; `archive`: it records its classes."""
    return (
        *_java(java, heap_mib),
        *class_archives.options(java, jars, class_archives.ZOOKEEPER, record=archive),
        "-Dzookeeper.forceSync=no",
        "-Dzookeeper.preAllocSize=1024",  # KiB; the log is read whole, over and over
        "-Dzookeeper.jmx.log4j.disable=true",  # 3.4 lacks a class for it
        *("-cp", f"{jars}/*", "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(config)),
    )


def broker_command(java: str, jars: Path, spec: SandboxSpec, config: Path) -> tuple[str, ...]:
    """Return the command line of a broker."""
    archive = spec.archive_classes
    # An archive of classes holds for a class path that begins with its own.
    path = f"{jars}/*" if spec.classes is None else f"{jars}/*:{spec.classes}"
    return (
        *_java(java, spec.broker_heap_mib),
        *class_archives.options(java, jars, class_archives.BROKER, record=archive),
        "-Xss256k",
        *("-cp", path, "kafka.Kafka", str(config)),
    )


def simulated_config(spec: SandboxSpec, zookeeper: str) -> str:
    """Return what the process of simulated brokers reads: JSON."""
    body = {
        "zookeeper": zookeeper,
        "chroot": spec.chroot,
        "kafka": spec.kafka,
        "speed": spec.speed,
        "brokers": [{"id": broker.id, "rack": broker.rack} for broker in spec.brokers],
    }
    return json.dumps(body)


def simulated_command(config: Path) -> tuple[str, ...]:
    """Return the command line of the process of simulated brokers."""
    # -P: what lies in the folder that somebody happens to be in is not imported.
    return (sys.executable, "-P", "-m", "poolkeeper.sandbox.simulation.process", str(config))


def _java(java: str, heap_mib: int) -> tuple[str, ...]:
    return (
        *(java, "-Xms16m", f"-Xmx{heap_mib}m", "-XX:+UseSerialGC"),
        *("-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
    )


def _lines(**settings: object) -> str:
    return "".join(f"{key}={value}\n" for key, value in settings.items())
