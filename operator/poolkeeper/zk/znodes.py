"""Every znode that we read or write: its path, its encoding and its decoding, together.

No path is written down anywhere else. Decoders are strict about types, because Kafka is not always:
replica ids as strings pass through a reassignment request into the topic node and stop the next
controller from starting. They are tolerant about unknown keys, which survive a rewrite: dropping a
`topic_id` would make the next controller mint another one. What cannot be decoded raises `Refused`
with a sentence that does not name the node (the caller does).
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from poolkeeper.errors import Refused
from poolkeeper.model.topology import Broker, Controller, Replicas, Requested

# Kafka's, without a body of their own

BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CLUSTER_ID = "/cluster/id"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
FEATURES = "/feature"
MIGRATION = "/migration"
REASSIGNMENT = "/admin/reassign_partitions"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
DELETED_TOPICS = "/admin/delete_topics"
TOPIC_CONFIGS = "/config/topics"
BROKER_CONFIGS = "/config/brokers"
CONFIG_CHANGE = "/config/changes/config_change_"
"""Created with a sequence number; there is nothing to read back."""
DELEGATION_TOKENS = "/delegation_token"
PRODUCER_IDS = "/latest_producer_id_block"

# Ours; their bodies belong to the journal

ROOT = "/poolkeeper"
HOLDER = "/poolkeeper/holder"
EPOCH = "/poolkeeper/epoch"
RUN = "/poolkeeper/run"
RUN_STOP = "/poolkeeper/run/stop"
STOPPED = "/poolkeeper/stopped"
APPROVALS = "/poolkeeper/approvals"
RECORDS = "/poolkeeper/records"
RECORD_OF_CLUSTER = "/poolkeeper/records/cluster"
RECORD_OF_BROKERS = "/poolkeeper/records/brokers"
RECORDS_OF_TOPICS = "/poolkeeper/records/topics"


def plan_chunk(number: int) -> str:
    """Return the path of a chunk of the run's plan; names sort like numbers."""
    return f"{RUN}/plan-{number:04d}"


def record_of_topic(topic: str) -> str:
    """Return the path of what is remembered about a topic."""
    return f"{RECORDS_OF_TOPICS}/{topic}"


def broker(id_: int | str) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKER_IDS}/{id_}"


def topic(name: str) -> str:
    """Return the path of a topic's assignment."""
    return f"{TOPICS}/{name}"


def state(name: str, partition: int) -> str:
    """Return the path of a partition's leader and ISR."""
    return f"{TOPICS}/{name}/partitions/{partition}/state"


def deletion(name: str) -> str:
    """Return the path of a topic's deletion marker; its name is the request, it has no body."""
    return f"{DELETED_TOPICS}/{name}"


def topic_config(name: str) -> str:
    """Return the path of a topic's config."""
    return f"{TOPIC_CONFIGS}/{name}"


def broker_config(id_: int | str) -> str:
    """Return the path of a broker's dynamic config; `<default>` is the one of all brokers."""
    return f"{BROKER_CONFIGS}/{id_}"


@dataclass(frozen=True, slots=True)
class BrokerNode:
    """A registration: its format `version` (1 to 5) tells how old the broker may be."""

    version: int
    rack: str | None
    endpoints: tuple[str, ...]

    @classmethod
    def decode(cls, data: bytes) -> "BrokerNode":
        """Read versions 1 to 5; version 1 names host and port instead of endpoints."""
        body = _object(data)
        version = _int(body, "version")
        if version < 1:
            raise Refused(f"version is {version} (expected 1 or more)")
        rack = body.get("rack")
        if not isinstance(rack, str | None):
            raise Refused(f"rack is {_shown(rack)} (expected a string)")
        if version == 1:
            endpoints: Any = [f"PLAINTEXT://{body.get('host')}:{_int(body, 'port')}"]
        else:
            endpoints = body.get("endpoints")
        if not isinstance(endpoints, list) or not all(isinstance(e, str) for e in endpoints):
            raise Refused(f"endpoints is {_shown(endpoints)} (expected a list of strings)")
        return cls(version, rack, tuple(endpoints))

    def broker(self, id_: int) -> Broker:
        """Return the live broker that this registers, its config unknown."""
        return Broker(id_, self.rack, self.endpoints)


@dataclass(frozen=True, slots=True)
class TopicNode:
    """A topic's assignment. `partitions` is by ascending id; `raw` is the body as it was read."""

    partitions: Mapping[int, Replicas]
    adding: Mapping[int, Replicas] = field(default_factory=dict)
    removing: Mapping[int, Replicas] = field(default_factory=dict)
    topic_id: str | None = None
    version: int = 1
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def decode(cls, data: bytes) -> "TopicNode":
        """Read versions 1 to 3, whatever they say their version is, as Kafka does."""
        body = _object(data)
        partitions = body.get("partitions")
        topic_id = body.get("topic_id")
        if not isinstance(topic_id, str | None):
            raise Refused(f"topic_id is {_shown(topic_id)} (expected a string)")
        version = body.get("version")
        return cls(
            _lists("partitions", partitions),
            _lists("adding_replicas", body.get("adding_replicas") or {}),
            _lists("removing_replicas", body.get("removing_replicas") or {}),
            topic_id,
            version if type(version) is int else 1,
            body,
        )

    @staticmethod
    def encode_new(replicas: Sequence[Replicas]) -> bytes:
        """Encode a topic that is to be created; Kafka gives it an id where it has ids.

        Raises `Refused` for anything that could hurt a controller.
        """
        _require_assignment(dict(enumerate(replicas)))
        return _encode({"version": 1, "partitions": _by_text(enumerate(replicas))})

    def encode_with_added(self, first: int, replicas: Sequence[Replicas]) -> bytes:
        """Encode this body with partitions `first`, `first + 1`, … added, all else kept."""
        if first != len(self.partitions) or sorted(self.partitions) != list(range(first)):
            raise Refused(
                f"partitions cannot be added from {first} on: there are "
                f"{len(self.partitions)}, numbered {_shown(sorted(self.partitions))}"
            )
        added = dict(enumerate(replicas, start=first))
        _require_assignment(added)
        return _encode(
            {**self.raw, "partitions": {**self.raw["partitions"], **_by_text(added.items())}}
        )


@dataclass(frozen=True, slots=True)
class StateNode:
    """A partition's leader (-1: none, -2: being deleted), ISR and leader epoch."""

    leader: int
    isr: Replicas
    leader_epoch: int

    @classmethod
    def decode(cls, data: bytes) -> "StateNode":
        """Read a state of any version."""
        body = _object(data)
        isr = _replicas("isr", body.get("isr"))
        return cls(_int(body, "leader"), isr, _int(body, "leader_epoch"))


class ControllerNode:
    """Who the controller is; the epoch is a node of its own."""

    @staticmethod
    def decode(
        controller: bytes | None, epoch: bytes | None, migration: bytes | None
    ) -> Controller:
        """Read `/controller`, `/controller_epoch` and `/migration`, each absent or not.

        A migration to KRaft that cannot be understood counts as one that is under way.
        """
        body = {} if controller is None else _object(controller)
        broker_id = None if controller is None else _int(body, "brokerid")
        kraft = _int({"kraftControllerEpoch": -1, **body}, "kraftControllerEpoch") > 0
        return Controller(
            broker=broker_id,
            epoch=None if epoch is None else _plain_int(epoch),
            kraft=kraft or (migration is not None and _kraft_leads(migration)),
        )


class ReassignmentNode:
    """The request of a reassignment."""

    @staticmethod
    def encode(entries: Iterable[Requested]) -> bytes:
        """Encode a request, in the order given. Any other key would break Kafka 2.0 and later.

        Raises `Refused` for what a controller takes and is hurt by: an empty list (which deletes
        data up to 2.3), duplicates, ids that are no ids, a partition named twice.
        """
        wanted = tuple(entries)
        _require_request([(entry.topic, entry.partition) for entry in wanted])
        for entry in wanted:
            _require_assignment({entry.partition: entry.replicas}, entry.topic)
        partitions = [
            {"topic": e.topic, "partition": e.partition, "replicas": list(e.replicas)}
            for e in wanted
        ]
        return _encode({"version": 1, "partitions": partitions})

    @staticmethod
    def decode(data: bytes) -> tuple[Requested, ...]:
        """Read a request; of entries for the same partition the last one wins, as in Kafka."""
        entries = _object(data).get("partitions")
        if not isinstance(entries, list):
            raise Refused(f"partitions is {_shown(entries)} (expected a list)")
        found: dict[tuple[str, int], Requested] = {}
        for entry in entries:
            name, partition = _named(entry)
            replicas = _replicas(f"replicas of {name}-{partition}", entry.get("replicas"))
            found[name, partition] = Requested(name, partition, replicas)
        return tuple(found.values())


class PreferredElectionNode:
    """The request of preferred leader elections; the controller deletes it when it has tried."""

    @staticmethod
    def encode(partitions: Collection[tuple[str, int]]) -> bytes:
        """Encode a request for (topic, partition) pairs; `Refused` if empty or with duplicates."""
        _require_request(list(partitions))
        entries = [{"topic": name, "partition": number} for name, number in partitions]
        return _encode({"version": 1, "partitions": entries})


@dataclass(frozen=True, slots=True)
class ConfigNode:
    """Dynamic config of a topic or broker; `raw` is the body as it was read."""

    config: Mapping[str, str]
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def decode(cls, data: bytes) -> "ConfigNode":
        """Read a config; no body at all is an empty one."""
        body = _object(data) if data else {}
        config = body.get("config", {})
        if not isinstance(config, dict):
            raise Refused(f"config is {_shown(config)} (expected an object)")
        for key, value in config.items():
            if not isinstance(value, str):
                raise Refused(f"config {key} is {_shown(value)} (expected a string)")
        return cls(config, body)

    def encode_with(
        self, changed: Mapping[str, str], unset: Collection[str] = frozenset()
    ) -> bytes:
        """Encode this config with keys set and unset, all else kept."""
        kept = {key: value for key, value in self.config.items() if key not in unset}
        return _encode({"version": 1, **self.raw, "config": {**kept, **changed}})


class ConfigChangeNode:
    """Tells brokers to read a config again; they do not watch the config node itself."""

    @staticmethod
    def encode(config_path: str) -> bytes:
        """Encode version 2 (0.10.1 and later) for the path of a config node."""
        entity = config_path.removeprefix("/config/")
        if entity == config_path or entity.count("/") != 1:
            raise Refused(f"{config_path} is not the config of a topic or broker")
        return _encode({"version": 2, "entity_path": entity})


class ClusterIdNode:
    """The cluster's id (0.10.1 and later)."""

    @staticmethod
    def decode(data: bytes) -> str:
        """Read the id; the version beside it is a string here, and of no interest."""
        id_ = _object(data).get("id")
        if not isinstance(id_, str):
            raise Refused(f"id is {_shown(id_)} (expected a string)")
        return id_


def _kraft_leads(data: bytes) -> bool:
    try:
        body = _object(data)
        return _int(body, "kraft_controller_id") >= 0 or _int(body, "kraft_controller_epoch") > 0
    except Refused:
        return True


def _encode(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def _object(data: bytes) -> dict[str, Any]:
    if not data:
        raise Refused("the node is empty (expected a JSON object)")
    try:
        body = json.loads(data)
    except ValueError as wrong:
        raise Refused(f"the node is not JSON: {wrong}") from wrong
    if not isinstance(body, dict):
        raise Refused(f"the node is {_shown(body)} (expected a JSON object)")
    return body


def _plain_int(data: bytes) -> int:
    text = data.decode(errors="replace").strip()
    if not text.removeprefix("-").isdecimal():
        raise Refused(f"the node is {text!r} (expected a number)")
    return int(text)


def _int(body: Mapping[str, Any], key: str) -> int:
    value = body.get(key)
    if type(value) is not int:
        raise Refused(f"{key} is {_shown(value)} (expected an integer)")
    return value


def _replicas(name: str, value: Any) -> Replicas:
    if not isinstance(value, list):
        raise Refused(f"{name} is {_shown(value)} (expected a list)")
    for item in value:
        if type(item) is not int:  # a bool is an int, a string may look like one
            raise Refused(f"{name} holds {_shown(item)} (expected integers)")
    return tuple(value)


def _lists(name: str, value: Any) -> dict[int, Replicas]:
    if not isinstance(value, dict):
        raise Refused(f"{name} is {_shown(value)} (expected an object)")
    found: dict[int, Replicas] = {}
    for key, replicas in value.items():
        if not key.isdecimal():
            raise Refused(f"{name} has the partition {key!r} (expected a number)")
        found[int(key)] = _replicas(f"{name} {key}", replicas)
    return dict(sorted(found.items()))


def _named(entry: Any) -> tuple[str, int]:
    if not isinstance(entry, dict) or not isinstance(entry.get("topic"), str):
        raise Refused(f"an entry is {_shown(entry)} (expected topic, partition and replicas)")
    return entry["topic"], _int(entry, "partition")


def _by_text(items: Iterable[tuple[int, Replicas]]) -> dict[str, list[int]]:
    return {str(partition): list(replicas) for partition, replicas in items}


def _require_request(named: Sequence[tuple[str, int]]) -> None:
    if not named:
        raise Refused("a request without partitions would stay for ever")
    if len(set(named)) < len(named):
        twice = sorted({pair for pair in named if named.count(pair) > 1})
        raise Refused(f"a request names {twice[0][0]}-{twice[0][1]} twice")


def _require_assignment(lists: Mapping[int, Replicas], name: str = "partition") -> None:
    if not lists:
        raise Refused("a topic needs at least one partition")
    for partition, replicas in lists.items():
        shown = f"replicas {_shown(list(replicas))} of {name}-{partition}"
        if type(partition) is not int or partition < 0:
            raise Refused(f"{shown}: the partition is no partition")
        if not replicas:
            raise Refused(f"{shown}: the list is empty")
        if any(type(id_) is not int or id_ < 0 for id_ in replicas):
            raise Refused(f"{shown}: not all are broker ids")
        if len(set(replicas)) < len(replicas):
            raise Refused(f"{shown}: a broker is named twice")


def _shown(value: Any) -> str:
    text = "absent" if value is None else json.dumps(value, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."
