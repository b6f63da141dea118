"""Makes the archives of servers' classes, after brokers have done what tests will ask of them.

A broker loads a quarter of its classes, most of them lambdas, when it first leads, follows, moves
and deletes replicas: an archive of a broker that has only started lacks them.
"""

import json

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


def archive_classes(version: str) -> None:
    """Make the archive of a version's classes, unless it is there or the version is rarely used."""
    if version not in ARCHIVED:
        return
    tools = artifacts.find_tools()
    jars = artifacts.class_path(version, artifacts.cache_folder(), tools)
    archive = class_archives.file(tools.java, jars, class_archives.BROKER)
    if not archive.exists():
        # One at a time: whatever the version, ZooKeeper's archive is made as well.
        with artifacts.locked(jars.with_name("archives.lock")):
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
