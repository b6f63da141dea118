"""A cluster that is hand-written into a ZooKeeper without brokers.

Nobody else writes, so whatever its transaction log holds since `settle` is ours.
"""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kazoo.client import KazooClient

from conditions import until
from poolkeeper.sandbox import Sandbox
from real.support import HOLDER, Change, command, declare, history, kazoo, last_zxid

LISTS = [[1, 2], [2, 3], [3, 1]]
POOL = {"brokers": {"ids": [1, 2, 3]}}
AS_IT_IS = {"pool": "p", "partitions": 3, "replicationFactor": 2}
GROWING = AS_IT_IS | {"replicationFactor": 3}
JOURNAL = {
    "/poolkeeper",
    "/poolkeeper/epoch",
    "/poolkeeper/records",
    "/poolkeeper/records/topics",
    HOLDER,
}
"""What taking and leaving the journal writes; see `Bare.written_paths`."""


@dataclass
class Bare:
    """A cluster without brokers, and where its manifests are."""

    sandbox: Sandbox
    connect: str
    folder: Path
    zookeeper: KazooClient
    zxid: int = 0

    def put(self, path: str, body: object = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.zookeeper.ensure_path(path)
        self.zookeeper.set(path, data)

    def declare(self, topic: dict = AS_IT_IS, pool: dict = POOL, **cluster: object) -> None:
        declare(self.folder, self.connect, {"p": pool}, {"t": topic}, **cluster)

    def settle(self) -> None:
        """What is written from now on counts."""
        self.zxid = last_zxid(self.sandbox)

    def written(self) -> tuple[Change, ...]:
        chroot = self.connect.partition("/")[2]
        return history(self.sandbox, self.zxid, f"/{chroot}")

    def written_paths(self) -> set[str]:
        """Those of `written`; the holder's node of its session counts as the holder's."""
        paths = {change.path for change in self.written()}
        return {HOLDER if path.startswith(f"{HOLDER}-") else path for path in paths}


@contextmanager
def bare_cluster(zookeeper: Sandbox, chroot: str, folder: Path) -> Iterator[Bare]:
    """Three brokers and topic `t`, of three balanced partitions with two replicas each."""
    with kazoo(chroot) as client:
        found = Bare(zookeeper, chroot, folder, client)
        for broker in (1, 2, 3):
            registration = {"version": 4, "endpoints": [f"PLAINTEXT://h{broker}:9092"]}
            found.put(f"/brokers/ids/{broker}", registration)
        put_topic(found, "t", LISTS)
        found.put("/controller", {"version": 1, "brokerid": 1, "timestamp": "1"})
        found.put("/controller_epoch", 1)
        found.put("/cluster/id", {"version": "1", "id": "the-bare-one"})
        for path in ("/admin/delete_topics", "/config/changes", "/config/brokers"):
            found.put(path)
        yield found
        for child in client.get_children("/"):  # it may be this client's alone
            client.delete(f"/{child}", recursive=True)


def put_topic(bare: Bare, name: str, lists: list[list[int]], **more: object) -> None:
    partitions = {str(p): ids for p, ids in enumerate(lists)}
    bare.put(f"/config/topics/{name}", {"version": 1, "config": {}})
    bare.put(f"/brokers/topics/{name}", {"version": 1, "partitions": partitions, **more})
    for p, ids in enumerate(lists):
        state = {"version": 1, "leader": ids[0], "leader_epoch": 0, "controller_epoch": 1}
        bare.put(f"/brokers/topics/{name}/partitions/{p}/state", state | {"isr": ids})


def interrupted(bare: Bare, said: str, word: str, *options: str) -> int:
    """Run a command until it says something, then ask it to end; return its exit code."""
    output = bare.folder.parent / "output"
    words = command(word, "-f", bare.folder, *options)
    with output.open("w") as file:
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT)
    try:
        until(lambda: process.poll() is not None or said in output.read_text(), said, 60)
        process.send_signal(signal.SIGTERM)
        code = process.wait(120)
    finally:
        process.kill()
        process.wait(120)
    assert said in output.read_text()
    return code
