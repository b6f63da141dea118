"""Kafka's znodes: what they hold, as values, and how it is written.

Decoders are strict about types, because Kafka is not always: replica ids as strings pass through a
reassignment request into the topic node and stop the next controller from starting. They are
tolerant about unknown keys, which survive a rewrite: dropping a `topic_id` would make the next
controller mint another one. What cannot be decoded raises `Refused` with a sentence that does not
name the node (the caller does).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.topology import (
    Broker,
    Controller,
    ReassignmentEntry,
    Replicas,
    RequestDamage,
    RequestFlaw,
    TopicPartition,
)
from poolkeeper.text import few
from poolkeeper.zk.codecs import json_bodies

CLUSTER_ID_CHARACTERS_MAX = 100
"""Kafka makes ids of 22."""

FLAWS_NAMED_MAX = 10
KEY_CHARACTERS_MAX = 80
_KRAFT_EPOCH = "kraftControllerEpoch"


@frozen
class BrokerNode:
    """A registration: its format `version` (1 to 5) tells how old the broker may be."""

    version: int
    rack: str | None
    endpoints: tuple[str, ...]

    @classmethod
    def decode(cls, data: bytes) -> "BrokerNode":
        """Read versions 1 to 5; version 1 names host and port instead of endpoints."""
        body = json_bodies.parse(data)
        version = json_bodies.integer(body, "version")
        if version < 1:
            raise Refused(f"version is {version} (expected 1 or more)")
        rack = body.get("rack")
        if not isinstance(rack, str | None):
            raise Refused(f"rack is {json_bodies.excerpt(rack)} (expected a string)")
        if version == 1:
            endpoints: Any = [f"PLAINTEXT://{body.get('host')}:{json_bodies.integer(body, 'port')}"]
        else:
            endpoints = body.get("endpoints")
        if not isinstance(endpoints, list) or not all(isinstance(e, str) for e in endpoints):
            raise Refused(
                f"endpoints is {json_bodies.excerpt(endpoints)} (expected a list of strings)"
            )
        return cls(version, rack, tuple(endpoints))

    def broker(self, id_: int) -> Broker:
        """Return the live broker that this registers, its config unknown."""
        return Broker(id_, self.rack, self.endpoints)


@frozen
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
        body = json_bodies.parse(data)
        topic_id = body.get("topic_id")
        if not isinstance(topic_id, str | None):
            raise Refused(f"topic_id is {json_bodies.excerpt(topic_id)} (expected a string)")
        version = body.get("version")
        lists = json_bodies.lists("partitions", body.get("partitions"))
        if empty := [partition for partition, replicas in lists.items() if not replicas]:
            raise Refused(f"partitions {json_bodies.excerpt(empty)} have no replicas")
        twice = [partition for partition, ids in lists.items() if len(set(ids)) < len(ids)]
        if twice:
            raise Refused(f"partitions {json_bodies.excerpt(twice)} name a broker twice")
        return cls(
            lists,
            _moving_lists(body, "adding_replicas"),
            _moving_lists(body, "removing_replicas"),
            topic_id,
            version if type(version) is int else 1,
            body,
        )

    @property
    def knows_adding(self) -> bool:
        """Whether it was written by a Kafka that records moves in it (2.4 and later)."""
        return "adding_replicas" in self.raw

    @staticmethod
    def encode_new(replicas: Sequence[Replicas]) -> bytes:
        """Encode a topic that is to be created; Kafka gives it an id where it has ids.

        Raises `Refused` for anything that could hurt a controller.
        """
        _require_lists(0, replicas)
        return json_bodies.encode(
            {"version": 1, "partitions": json_bodies.by_text(enumerate(replicas))}
        )

    def encode_with_added(self, first: int, replicas: Sequence[Replicas]) -> bytes:
        """Encode this body with partitions `first`, `first + 1`, … added, all else kept."""
        if first != len(self.partitions) or sorted(self.partitions) != list(range(first)):
            raise Refused(
                f"partitions cannot be added from {first} on: there are "
                f"{len(self.partitions)}, numbered {json_bodies.excerpt(sorted(self.partitions))}"
            )
        _require_lists(first, replicas)
        added = dict(enumerate(replicas, start=first))
        return json_bodies.encode(
            {
                **self.raw,
                "partitions": {**self.raw["partitions"], **json_bodies.by_text(added.items())},
            }
        )


class ControllerNode:
    """The id of the active controller; the epoch has a znode of its own."""

    @staticmethod
    def decode(
        controller: bytes | None, epoch: bytes | None, migration: bytes | None
    ) -> Controller:
        """Read `/controller`, `/controller_epoch` and `/migration`, each absent or not.

        A migration to KRaft that cannot be understood counts as one that is under way.
        """
        body = {} if controller is None else json_bodies.parse(controller)
        broker_id = None if controller is None else json_bodies.integer(body, "brokerid")
        return Controller(
            broker=broker_id,
            epoch=None if epoch is None else json_bodies.plain_integer(epoch),
            kraft=_claims_kraft(body) or (migration is not None and _kraft_leads(migration)),
        )

    @staticmethod
    def is_kraft(controller: bytes | None, migration: bytes | None) -> bool:
        """Say whether one of the two nodes names a KRaft controller, as `decode` does.

        A `/controller` that cannot be understood names none.
        """
        if migration is not None and _kraft_leads(migration):
            return True
        with suppress(Refused):
            return controller is not None and _claims_kraft(json_bodies.parse(controller))
        return False

    @staticmethod
    def knows_kraft(controller: bytes) -> bool:
        """Say whether `/controller` was written by a Kafka that can migrate (3.4 and later)."""
        return _KRAFT_EPOCH.encode() in controller


class ReassignmentNode:
    """The request of a reassignment."""

    @staticmethod
    def encode(entries: Iterable[ReassignmentEntry]) -> bytes:
        """Encode a request, in the order given. Any other key would break Kafka 2.0 and later.

        Raises `Refused` for what a controller takes and is hurt by: an empty list (which deletes
        data up to 2.3), duplicates, ids that are no ids, a partition named twice.
        """
        wanted = tuple(entries)
        json_bodies.require_request([(entry.topic, entry.partition) for entry in wanted])
        for entry in wanted:
            json_bodies.require_replicas(f"{entry.topic}-{entry.partition}", entry.replicas)
        partitions = [
            {"topic": e.topic, "partition": e.partition, "replicas": list(e.replicas)}
            for e in wanted
        ]
        return json_bodies.encode({"version": 1, "partitions": partitions})

    @staticmethod
    def decode(data: bytes) -> tuple[tuple[ReassignmentEntry, ...], tuple[RequestDamage, ...]]:
        """Read the entries that make sense, and say what is wrong with the others.

        Of entries for the same partition the last one wins, as in Kafka.
        """
        try:
            body = json_bodies.parse(data)
            entries = body.get("partitions")
            if not isinstance(entries, list):
                raise Refused(f"partitions is {json_bodies.excerpt(entries)} (expected a list)")
        except Refused as damage:
            return (), (RequestDamage(RequestFlaw.NOT_JSON, str(damage)),)
        found: dict[TopicPartition, ReassignmentEntry] = {}
        damages = [*_unknown_keys(body, _REQUEST_KEYS)]
        if not entries:
            damages.append(RequestDamage(RequestFlaw.NO_ENTRIES, "partitions is empty"))
        for entry in entries:
            wanted = _reassignment_entry(entry)
            if isinstance(wanted, ReassignmentEntry):
                found[wanted.name] = wanted
                damages += _unknown_keys(entry, _ENTRY_KEYS, wanted)
            else:
                damages.append(wanted)
        return tuple(found.values()), _first_bad_entries(damages)


class PreferredElectionNode:
    """The request of preferred leader elections; the controller deletes it when it has tried."""

    @staticmethod
    def encode(partitions: Collection[tuple[str, int]]) -> bytes:
        """Encode a request for (topic, partition) pairs; `Refused` if empty or with duplicates."""
        json_bodies.require_request(list(partitions))
        entries = [{"topic": name, "partition": number} for name, number in partitions]
        return json_bodies.encode({"version": 1, "partitions": entries})


@frozen
class ConfigNode:
    """Dynamic config of a topic or broker; `raw` is the body as it was read."""

    config: Mapping[str, str]
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def decode(cls, data: bytes) -> "ConfigNode":
        """Read a config; no body at all is an empty one."""
        body = json_bodies.parse(data) if data else {}
        config = body.get("config", {})
        if not isinstance(config, dict):
            raise Refused(f"config is {json_bodies.excerpt(config)} (expected an object)")
        for key, value in config.items():
            if not isinstance(value, str):
                raise Refused(f"config {key} is {json_bodies.excerpt(value)} (expected a string)")
        return cls(config, body)

    @classmethod
    def read(cls, path: str, data: bytes) -> "ConfigNode":
        """Read the config at `path`, for who is to write it; the error names the path."""
        try:
            return cls.decode(data)
        except Refused as damage:
            raise Refused(f"{path} is damaged: {damage}; see `poolkeeper repair`") from damage

    def encode_with(
        self, changed: Mapping[str, str], unset: Collection[str] = frozenset()
    ) -> bytes:
        """Encode this config with keys set and unset, all else kept."""
        kept = {key: value for key, value in self.config.items() if key not in unset}
        return json_bodies.encode({"version": 1, **self.raw, "config": {**kept, **changed}})


class ConfigChangeNode:
    """Tells brokers to read a config again; they do not watch the config node itself."""

    @staticmethod
    def encode(config_path: str) -> bytes:
        """Encode version 2 (0.10.1 and later) for the path of a config node."""
        entity = config_path.removeprefix("/config/")
        if entity == config_path or entity.count("/") != 1:
            raise Refused(f"{config_path} is not the config of a topic or broker")
        return json_bodies.encode({"version": 2, "entity_path": entity})


class ClusterIdNode:
    """The cluster's id (0.10.1 and later)."""

    @staticmethod
    def decode(data: bytes) -> str:
        """Read the id; the version beside it is a string here, and of no interest."""
        id_ = json_bodies.parse(data).get("id")
        if not isinstance(id_, str):
            raise Refused(f"id is {json_bodies.excerpt(id_)} (expected a string)")
        if len(id_) > CLUSTER_ID_CHARACTERS_MAX or not id_.isprintable():
            raise Refused(f"id is {json_bodies.excerpt(id_)} (expected 22 letters and digits)")
        return id_


def _moving_lists(body: Mapping[str, Any], key: str) -> dict[int, Replicas]:
    """Return what is being added or removed; topics of before 2.4 do not say."""
    return {} if body.get(key) is None else json_bodies.lists(key, body[key])


_REQUEST_KEYS = frozenset(("version", "partitions"))
_ENTRY_KEYS = frozenset(("topic", "partition", "replicas"))


def _unknown_keys(
    body: Mapping[str, Any], known: frozenset[str], entry: ReassignmentEntry | None = None
) -> tuple[RequestDamage, ...]:
    """Return the keys of a request, or of its `entry`, that controllers from 2.4 on refuse."""
    unknown = sorted(body.keys() - known)
    if not unknown:
        return ()
    name = None if entry is None else entry.name
    shown = few([key[:KEY_CHARACTERS_MAX] for key in unknown], FLAWS_NAMED_MAX, grouped=False)
    return (RequestDamage(RequestFlaw.UNKNOWN_KEY, shown, name),)


def _first_bad_entries(damages: Sequence[RequestDamage]) -> tuple[RequestDamage, ...]:
    """Return the damages with so many entries that cannot be read; how many more there are."""
    bad = [damage for damage in damages if damage.flaw is RequestFlaw.BAD_ENTRY]
    if len(bad) <= FLAWS_NAMED_MAX:
        return tuple(damages)
    others = [damage for damage in damages if damage.flaw is not RequestFlaw.BAD_ENTRY]
    rest = f"{len(bad) - FLAWS_NAMED_MAX} more entries cannot be read"
    return (*others, *bad[:FLAWS_NAMED_MAX], RequestDamage(RequestFlaw.BAD_ENTRY, rest))


def _reassignment_entry(entry: Any) -> ReassignmentEntry | RequestDamage:
    if not isinstance(entry, dict) or not isinstance(entry.get("topic"), str):
        shown = json_bodies.excerpt(entry)
        wrong = f"an entry is {shown} (expected topic, partition, replicas)"
        return RequestDamage(RequestFlaw.BAD_ENTRY, wrong)
    try:
        name = TopicPartition(entry["topic"], json_bodies.integer(entry, "partition"))
    except Refused as damage:
        return RequestDamage(RequestFlaw.BAD_ENTRY, str(damage))
    try:
        ids = json_bodies.replicas(f"the list of {name}", entry.get("replicas"))
    except Refused as damage:
        return RequestDamage(RequestFlaw.BAD_REPLICAS, str(damage), name)
    return ReassignmentEntry(*name, ids)


def _require_lists(first: int, replicas: Sequence[Replicas]) -> None:
    if not replicas:
        raise Refused("there is no partition to write")
    for partition, ids in enumerate(replicas, start=first):
        json_bodies.require_replicas(f"partition {partition}", ids)


def _claims_kraft(body: Mapping[str, Any]) -> bool:
    return json_bodies.integer({_KRAFT_EPOCH: -1, **body}, _KRAFT_EPOCH) > 0


def _kraft_leads(data: bytes) -> bool:
    try:
        body = json_bodies.parse(data)
        return (
            json_bodies.integer(body, "kraft_controller_id") >= 0
            or json_bodies.integer(body, "kraft_controller_epoch") > 0
        )
    except Refused:
        return True
