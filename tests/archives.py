"""Makes the archives of servers' classes, after servers have done what tests will ask of them.

A broker loads a quarter of its classes, most of them lambdas, when it first leads, follows, moves
and deletes replicas: an archive of a broker that has only started lacks them. A driver of Spark has
done the tests of `fleet`.
"""

import json
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from kazoo.client import KazooClient

import traffic
from conditions import until
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from poolkeeper.sandbox.servers import artifacts, class_archives

ARCHIVED = ("3.9.2", "2.8.2", "2.0.1")
"""The versions that are started often enough to be worth an archive of their classes."""
TOPIC = "archived"
REQUEST = "/admin/reassign_partitions"
DEADLINE_S = 60
SPARK_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


def archive_classes(version: str) -> None:
    """Make the archive of a version's classes, unless it is there or the version is rarely used."""
    if version not in ARCHIVED:
        return
    tools = artifacts.find_tools()
    jars = artifacts.class_path(version, artifacts.cache_folder(), tools)
    archive = class_archives.file(tools.java, jars, class_archives.BROKER)
    if not archive.exists():
        # One at a time: whatever the version, ZooKeeper's archive is made as well.
        with artifacts.hold_lock(jars.with_name("archives.lock")):
            if not archive.exists():
                spec = SandboxSpec(brokers=spread(2), kafka=version, archive_classes=True)
                with Sandbox.start(spec) as sandbox:
                    use(sandbox)


def use(sandbox: Sandbox) -> None:
    """Create, fill, throttle, move, measure and delete a topic of brokers 1 and 2."""
    client = KazooClient(sandbox.connect)
    client.start(timeout=DEADLINE_S)
    try:
        _create(client)
        traffic.fill(sandbox.bootstrap, {TOPIC: 2}, 256 * 1024, compression="gzip")
        with traffic.Traffic(sandbox.bootstrap, {TOPIC: 2}, records_per_s=20) as clients:
            _throttle(client)
            for replicas in ([2], [1, 2], [2, 1]):
                _move(client, replicas)
            with BrokerClient.open(tuple(sandbox.bootstrap.split(","))) as brokers:
                brokers.sizes([1, 2])
            clients.finish()
        client.create(f"/admin/delete_topics/{TOPIC}")
        until(lambda: not client.exists(f"/brokers/topics/{TOPIC}"), "deletion", DEADLINE_S)
    finally:
        client.stop()
        client.close()


def _create(client: KazooClient) -> None:
    client.create(f"/config/topics/{TOPIC}", b'{"version":1,"config":{}}')
    body = {"version": 1, "partitions": {"0": [1, 2], "1": [2, 1]}}
    client.create(f"/brokers/topics/{TOPIC}", json.dumps(body).encode())
    states = [f"/brokers/topics/{TOPIC}/partitions/{p}/state" for p in range(2)]
    until(lambda: all(map(client.exists, states)), "leaders", DEADLINE_S)


def _throttle(client: KazooClient) -> None:
    side = ("leader", "follower")
    entities = {
        f"topics/{TOPIC}": {f"{s}.replication.throttled.replicas": "*" for s in side},
        "brokers/1": {f"{s}.replication.throttled.rate": "10000000" for s in side},
        "brokers/2": {f"{s}.replication.throttled.rate": "10000000" for s in side},
    }
    for entity, config in entities.items():
        path, value = f"/config/{entity}", json.dumps({"version": 1, "config": config}).encode()
        if client.exists(path):
            client.set(path, value)
        else:
            client.create(path, value, makepath=True)
        told = json.dumps({"version": 2, "entity_path": entity}).encode()
        client.create("/config/changes/config_change_", told, sequence=True)


def _move(client: KazooClient, replicas: list[int]) -> None:
    entry = {"topic": TOPIC, "partition": 0, "replicas": replicas}
    client.create(REQUEST, json.dumps({"version": 1, "partitions": [entry]}).encode())
    until(lambda: not client.exists(REQUEST), f"move to {replicas}", DEADLINE_S)


def spark_archive() -> Path | None:
    """Return where the archive of a Spark driver's classes is, if there is one; None without Spark.

    With it a session and its first job take half the work: 7 CPU seconds instead of 14. To make it
    takes 20.
    """
    java, spark = shutil.which("java"), find_spec("pyspark")
    if java is None or spark is None or spark.origin is None:
        return None
    named = class_archives.file(java, Path(spark.origin).with_name("jars"), "driver").name
    return artifacts.cache_folder().resolve() / "spark" / named


def spark_java(*, record: bool = False) -> str:
    """Return the options of a Spark driver's JVM; `record`: it leaves an archive if there is none.

    Who records ends the JVM by `publish_spark`.
    """
    archive = spark_archive()
    if archive is not None and archive.exists():
        return f"{SPARK_JAVA} -XX:SharedArchiveFile={archive}"
    if archive is not None and record:
        archive.parent.mkdir(parents=True, exist_ok=True)
        return f"{SPARK_JAVA} -XX:ArchiveClassesAtExit={_recorded(archive)}"
    return SPARK_JAVA


def publish_spark() -> None:
    """End the driver of this process, if it records, and let its archive be used from now on."""
    from pyspark import SparkContext

    archive, gateway = spark_archive(), SparkContext._gateway
    if archive is None or archive.exists() or gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(DEADLINE_S * 3)
    SparkContext._gateway = SparkContext._jvm = None
    _recorded(archive).replace(archive)


def _recorded(archive: Path) -> Path:
    return archive.with_name(f"{archive.name}.{os.getpid()}")
