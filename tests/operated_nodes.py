"""The Kafka cluster of a scene of `operated_resources`, by its nodes in ZooKeeper."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.security import ACL, make_acl

from conditions import until

Body = dict[str, Any]


class KafkaNodes:
    """What there is in the chroot of `_client`; and what somebody else writes there."""

    _client: KazooClient

    def create_topic(self, topic: str, *replicas: Sequence[int], **config: str) -> None:
        """Create a Kafka topic as somebody else would, and wait until it has leaders."""
        said = {"version": 1, "config": {k.replace("_", "."): v for k, v in config.items()}}
        self._client.create(f"/config/topics/{topic}", json.dumps(said).encode(), makepath=True)
        partitions = {str(p): list(ids) for p, ids in enumerate(replicas)}
        body = {"version": 1, "partitions": partitions}
        self._client.create(f"/brokers/topics/{topic}", json.dumps(body).encode())
        states = [f"/brokers/topics/{topic}/partitions/{p}/state" for p in partitions]
        until(lambda: all(map(self._client.exists, states)), f"{topic} has leaders")

    def topics(self) -> list[str]:
        """Names of the Kafka topics that exist."""
        return sorted(self._client.get_children("/brokers/topics"))

    def assignment(self, topic: str) -> Mapping[int, tuple[int, ...]]:
        """Replica lists by partition."""
        partitions = self.node(f"/brokers/topics/{topic}")["partitions"]
        return {int(p): tuple(ids) for p, ids in sorted(partitions.items())}

    def holders(self, topic: str) -> set[int]:
        """All brokers that hold something of a topic."""
        return {broker for ids in self.assignment(topic).values() for broker in ids}

    def in_sync(self, topic: str, partition: int) -> set[int]:
        """The ISR of a partition."""
        return set(self.node(f"/brokers/topics/{topic}/partitions/{partition}/state")["isr"])

    def config(self, topic: str) -> Mapping[str, str]:
        """What is configured of a topic."""
        return dict(self.node(f"/config/topics/{topic}")["config"])

    def node(self, path: str) -> Body:
        """A node's JSON."""
        return dict(json.loads(self._client.get(path)[0]))

    def holder(self) -> Body:
        """Who holds the cluster; empty between two sessions."""
        return self._node_if_there("/poolkeeper/holder")

    def write(self, path: str, data: bytes) -> None:
        """Create a node, as somebody else."""
        self._client.create(path, data)

    def protect(self, path: str, owner: ACL) -> None:
        """Let nobody but the owner write a node; all may read it."""
        readers = make_acl("world", "anyone", read=True)
        self._client.set_acls(path, [readers, owner])

    def rename_cluster(self, id_: str) -> None:
        """Give the Kafka cluster another id; all simulated ones have the same."""
        self._client.set("/cluster/id", json.dumps({"version": "1", "id": id_}).encode())

    def exists(self, path: str) -> bool:
        """Whether there is such a node."""
        return self._client.exists(path) is not None

    def throttled(self) -> list[str]:
        """The nodes with throttles in force."""
        kinds = ("topics", "brokers")
        paths = [
            f"/config/{k}/{n}" for k in kinds for n in self._client.get_children(f"/config/{k}")
        ]
        return [path for path in paths if "throttled" in str(self.node(path).get("config"))]

    @property
    def request(self) -> Body:
        """The reassignment in flight; empty if there is none."""
        return self._node_if_there("/admin/reassign_partitions")

    def _node_if_there(self, path: str) -> Body:
        with suppress(NoNodeError):
            return self.node(path)
        return {}
