"""A small tree of znodes, what is observed of it, and a session that changes it between calls."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from poolkeeper.errors import Forbidden
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    Partition,
    Topic,
)
from poolkeeper.zk.client.nodes import Node
from poolkeeper.zk.reading import observe


class Tree:
    """A session on a dict: what observation asks of it, and what happens before each call."""

    def __init__(
        self, nodes: dict[str, object], before: dict[int, Callable[["Tree"], None]]
    ) -> None:
        self.zxid = 0
        self.nodes: dict[str, Node] = {}
        self.hidden: set[str] = set()
        self.before = before
        self.calls: list[str] = []
        for path, body in nodes.items():
            self.put(path, body)

    def put(self, path: str, body: object) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.zxid += 1
        old = self.nodes.get(path)
        if old is None:
            self.nodes[path] = Node(data, 0, self.zxid, self.zxid, 0, 0)
        else:
            self.nodes[path] = old._replace(data=data, version=old.version + 1, mzxid=self.zxid)

    def delete(self, path: str) -> None:
        for known in [p for p in self.nodes if p == path or p.startswith(f"{path}/")]:
            del self.nodes[known]

    def sync(self) -> None:
        self._called("sync")

    def exists(self, path: str) -> bool:
        self._called(f"exists {path}")
        return path in self.nodes

    def children(self, path: str) -> tuple[str, ...] | None:
        self._called(f"children {path}")
        below = {
            p.removeprefix(f"{path}/").partition("/")[0]
            for p in self.nodes
            if p.startswith(f"{path}/")
        }
        return tuple(sorted(below)) if below or path in self.nodes else None

    def read_bodies(
        self, groups: Sequence[tuple[str, ...]], *, unreadable: bytes | None = None
    ) -> list[tuple[bytes | None, ...]]:
        """Read as a session does: all in one go."""
        hidden = None if unreadable is None else Node(unreadable, -1, 0, 0, 0, 0)
        found = iter(
            self.read_many([path for group in groups for path in group], unreadable=hidden)
        )
        nodes = [[next(found) for _ in group] for group in groups]
        return [tuple(None if each is None else each.data for each in group) for group in nodes]

    def read_many(
        self, paths: Sequence[str], *, unreadable: Node | None = None
    ) -> list[Node | None]:
        self._called(f"read {' '.join(paths)}")
        if unreadable is None and (hidden := self.hidden.intersection(paths)):
            raise Forbidden(f"reading {min(hidden)}: ZooKeeper refuses our rights")
        return [unreadable if p in self.hidden else self.nodes.get(p) for p in paths]

    def _called(self, what: str) -> None:
        self.calls.append(what)
        action = self.before.pop(len(self.calls), None)
        if action:
            action(self)


def topic_node(*lists: list[int], **more: object) -> dict[str, object]:
    return {"version": 1, "partitions": {str(p): ids for p, ids in enumerate(lists)}, **more}


def state(leader: int, *isr: int, epoch: int = 0) -> dict[str, object]:
    return {"leader": leader, "leader_epoch": epoch, "isr": list(isr)}


def registration(rack: str | None = None, version: int = 4) -> dict[str, object]:
    return {"version": version, "endpoints": ["PLAINTEXT://h:1"], "rack": rack}


NODES: dict[str, object] = {
    "/cluster/id": {"version": "1", "id": "NbXc"},
    "/controller": {"version": 1, "brokerid": 1, "timestamp": "1"},
    "/controller_epoch": b"7",
    "/brokers/ids": b"",
    "/brokers/topics": b"",
    "/brokers/ids/1": registration("a"),
    "/brokers/ids/2": registration("b"),
    "/config/brokers/1": {"version": 1, "config": {"x": "1"}},
    "/brokers/topics/t": topic_node([1, 2], [2, 1]),
    "/brokers/topics/t/partitions/0/state": state(1, 1, 2),
    "/brokers/topics/t/partitions/1/state": state(2, 2, epoch=3),
    "/config/topics/t": {"version": 1, "config": {"retention.ms": "1"}},
    "/brokers/topics/u": topic_node([2]),
    "/brokers/topics/u/partitions/0/state": state(2, 2),
}
T = Topic(
    "t",
    (
        Partition(0, (1, 2), (), (), 1, (1, 2), 0),
        Partition(1, (2, 1), (), (), 2, (2,), 3),
    ),
    None,
    {"retention.ms": "1"},
    0,
)
U = Topic("u", (Partition(0, (2,), (), (), 2, (2,), 0),), None, {}, 0)
CLUSTER = Cluster(
    name="main",
    id="NbXc",
    kafka_version="0.10.1 to 3.3",
    traced_version="0.10.1 to 3.3",
    controller=Controller(1, 7, 0),
    brokers={
        1: Broker(1, "a", ("PLAINTEXT://h:1",), {"x": "1"}),
        2: Broker(2, "b", ("PLAINTEXT://h:1",), {}),
    },
    topics={"t": T, "u": U},
)


def seen(
    nodes: dict[str, object] | None = None,
    before: dict[int, Callable[[Tree], None]] | None = None,
    hidden: Sequence[str] = (),
    **options: object,
) -> ClusterReading:
    """Observe the example with nodes replaced (`...` removes one)."""
    wanted = {path: body for path, body in (NODES | (nodes or {})).items() if body is not ...}
    tree = Tree(wanted, before or {})
    tree.hidden.update(hidden)
    found = observe.cluster(tree, "main", **options)  # type: ignore[arg-type]
    return replace(found, cluster=replace(found.cluster, topics=without_zxids(found.cluster)))


def without_zxids(cluster: Cluster) -> dict[str, Topic]:
    """The topics as if nobody had noted in which transactions they were created."""
    return {name: replace(each, created_zxid=None) for name, each in cluster.topics.items()}


AT_TOPICS, AT_STATES, AT_CLOSING, AT_LAST_ADMIN = 6, 11, 12, 13


def request(*topics: str) -> dict[str, object]:
    return {"partitions": [{"topic": name, "partition": 0, "replicas": [9]} for name in topics]}
