"""The nodes of Kafka, as its brokers read and write them: paths, bodies, and how much they forgive.

Written from what brokers do, not from what Poolkeeper's own codecs do: neither may hide the other's
mistakes. Like Kafka, a reading of a reassignment request lets replica ids through that are no
numbers; a controller that starts does not forgive them in a topic node (`require_numbers`).

What makes no sense raises ValueError, TypeError or KeyError, as broken input does in any program.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.sandbox.simulation.profiles import Era, Profile

IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
CONTROLLER = "/controller"
EPOCH = "/controller_epoch"
REQUEST = "/admin/reassign_partitions"
ELECTION = "/admin/preferred_replica_election"
DELETIONS = "/admin/delete_topics"
CHANGES = "/config/changes"
ISR_CHANGES = "/isr_change_notification"
CLUSTER_ID = "/cluster/id"
NO_LEADER = -1

PERSISTENT = (
    "/consumers",
    IDS,
    TOPICS,
    CHANGES,
    DELETIONS,
    "/brokers/seqid",
    ISR_CHANGES,
    "/config/topics",
    "/config/clients",
)
"""What a broker makes sure of when it starts; later releases add to it (`persistent`)."""


class Tp(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


Ids = tuple[int, ...]
"""Broker ids in the order of a node; after a poisoned request some may be no numbers at all."""


@frozen
class PartitionAssignment:
    """Replicas of a partition, with those that a move adds and removes (2.4 and later)."""

    replicas: Ids
    adding: Ids = ()
    removing: Ids = ()

    @property
    def origin(self) -> Ids:
        """Where a move comes from."""
        return tuple(id_ for id_ in self.replicas if id_ not in self.adding)

    @property
    def target(self) -> Ids:
        """Where a move goes to."""
        return tuple(id_ for id_ in self.replicas if id_ not in self.removing)

    @property
    def moving(self) -> bool:
        """Whether a move is under way."""
        return bool(self.adding or self.removing)

    def towards(self, target: Sequence[int]) -> "PartitionAssignment":
        """Return the assignment while this one becomes `target`."""
        origin = self.origin
        whole = tuple(dict.fromkeys((*target, *origin)))
        adding = tuple(id_ for id_ in whole if id_ not in origin)
        return PartitionAssignment(whole, adding, tuple(id_ for id_ in whole if id_ not in target))


@frozen
class TopicBody:
    """A topic node's content."""

    partitions: Mapping[int, PartitionAssignment]
    topic_id: str | None = None


@frozen
class PartitionState:
    """A partition's state node; `version` is the node's data version."""

    leader: int
    isr: Ids
    leader_epoch: int = 0
    controller_epoch: int = 0
    version: int = 0

    def led_by(self, leader: int) -> "PartitionState":
        """Return the next epoch's state under that leader."""
        return replace(self, leader=leader, leader_epoch=self.leader_epoch + 1)

    def without(self, replica: int) -> "PartitionState":
        """Return the next epoch's state with that replica out; the last one stays listed."""
        isr = self.isr if len(self.isr) == 1 else tuple(id_ for id_ in self.isr if id_ != replica)
        return replace(self, isr=isr).led_by(NO_LEADER if self.leader == replica else self.leader)


@frozen
class Registration:
    """What a broker registers itself with."""

    id: int
    port: int
    rack: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def persistent(profile: Profile) -> tuple[str, ...]:
    """Return the nodes that a broker of that release creates when it starts.

    Up to 1.0 the parents of brokers' and users' configs come with the first of them.
    """
    later = (
        ((0, 11), ("/latest_producer_id_block",)),
        ((1, 0), ("/log_dir_event_notification",)),
        ((1, 1), ("/config/brokers", "/config/users")),
    )
    return (*PERSISTENT, *(p for since, paths in later if profile.version >= since for p in paths))


def topic_path(topic: str) -> str:
    """Return the path of a topic node."""
    return f"{TOPICS}/{topic}"


def state_path(tp: Tp) -> str:
    """Return the path of a state node."""
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}/state"


def _dump(body: Any) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def registration(profile: Profile, broker: Registration, now_ms: int) -> bytes:
    """Encode a broker's registration."""
    body: dict[str, Any] = {} if profile.registration_format < 5 else {"features": {}}
    body |= {
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
        "endpoints": [f"PLAINTEXT://127.0.0.1:{broker.port}"],
    }
    body |= {} if broker.rack is None else {"rack": broker.rack}
    body |= {"jmx_port": -1, "host": "127.0.0.1", "timestamp": str(now_ms), "port": broker.port}
    return _dump(body | {"version": profile.registration_format, **broker.extra})


def controller(profile: Profile, broker: int, now_ms: int) -> bytes:
    """Encode the controller's node."""
    body = {"version": 1, "brokerid": broker, "timestamp": str(now_ms)}
    return _dump(body | {"version": 2, "kraftControllerEpoch": -1} if profile.knows_kraft else body)


def cluster_id(id_: str) -> bytes:
    """Encode the cluster's id."""
    return _dump({"version": "1", "id": id_})


def encode_topic(profile: Profile, body: TopicBody) -> bytes:
    """Encode a topic node as that release does, in an order of its own."""
    texts = [list_text(p, body.partitions[p].replicas) for p in written_order(body.partitions)]
    moving = {p: a for p, a in body.partitions.items() if a.moving}
    return topic_of_lists(profile, ",".join(texts), moving, body.topic_id)


def written_order(partitions: Iterable[int]) -> list[int]:
    """Return the partitions in the order in which their lists are written; ties as given."""
    return sorted(partitions, key=lambda p: (p * 7 + 3) % 11)


def list_text(partition: int, replicas: Ids) -> str:
    """Return a partition and its replicas as a member of a JSON object."""
    return f'"{partition}":{json.dumps(replicas, separators=(",", ":"))}'


def topic_of_lists(
    profile: Profile, lists: str, moving: Mapping[int, PartitionAssignment], topic_id: str | None
) -> bytes:
    """Encode a topic node whose lists are JSON already; `moving`: the partitions that move."""
    partitions = f'"partitions":{{{lists}}}'
    if profile.era is not Era.RECORDED:
        return f'{{"version":1,{partitions}}}'.encode()
    adding = ",".join(list_text(p, a.adding) for p, a in moving.items() if a.adding)
    removing = ",".join(list_text(p, a.removing) for p, a in moving.items() if a.removing)
    moves = f'"adding_replicas":{{{adding}}},"removing_replicas":{{{removing}}}'
    if not profile.has_topic_ids:
        return f'{{"version":2,{partitions},{moves}}}'.encode()
    id_ = "" if topic_id is None else f'"topic_id":{json.dumps(topic_id)},'
    return f'{{{partitions},{id_}{moves},"version":3}}'.encode()


def decode_topic(profile: Profile, data: bytes) -> TopicBody:
    """Read a topic node of any version."""
    if not data and not profile.refuses_empty_topics:
        return TopicBody({})
    body = json.loads(data)
    recorded = profile.era is Era.RECORDED
    adding = (body.get("adding_replicas") or {}) if recorded else {}
    removing = (body.get("removing_replicas") or {}) if recorded else {}
    partitions = {
        int(p): PartitionAssignment(
            tuple(ids), tuple(adding.get(p, ())), tuple(removing.get(p, ()))
        )
        for p, ids in body["partitions"].items()
    }
    return TopicBody(partitions, body.get("topic_id") if profile.has_topic_ids else None)


def require_numbers(ids: Iterable[Any]) -> None:
    """Raise TypeError for an id that is no number."""
    for id_ in ids:
        if type(id_) is not int:
            raise TypeError(f"{id_!r} cannot be cast to a number")


def encode_state(state: PartitionState) -> bytes:
    """Encode a state node."""
    return _dump(
        {
            "controller_epoch": state.controller_epoch,
            "leader": state.leader,
            "version": 1,
            "leader_epoch": state.leader_epoch,
            "isr": list(state.isr),
        }
    )


def decode_state(data: bytes, version: int) -> PartitionState:
    """Read a state node."""
    return PartitionState(*_state_of(data), version)


@lru_cache(maxsize=4096)
def _state_of(data: bytes) -> tuple[int, Ids, int, int]:
    """Read leader, ISR and epochs; whoever wrote a state reads it again and again."""
    body = json.loads(data)
    return body["leader"], tuple(body["isr"]), body["leader_epoch"], body["controller_epoch"]


class RequestEntries(dict[Tp, Ids]):
    """The entries of a request that was written or read, and the text of each of them.

    A controller writes a request again for each partition that completes: the rest is as before.
    """

    def __init__(self, entries: Mapping[Tp, Ids], texts: dict[Tp, bytes]) -> None:
        super().__init__(entries)
        self.texts = texts

    def without(self, gone: Iterable[Tp] = ()) -> "RequestEntries":
        """Return the other entries."""
        rest = RequestEntries(self, self.texts.copy())
        for tp in gone:
            del rest[tp], rest.texts[tp]
        return rest


def encode_request(entries: Mapping[Tp, Ids]) -> bytes:
    """Encode a reassignment request."""
    if not isinstance(entries, RequestEntries):
        entries = RequestEntries(entries, {tp: _entry(tp, ids) for tp, ids in entries.items()})
    data = b'{"version":1,"partitions":[%s]}' % b",".join(entries.texts.values())
    _written.append((data, entries))
    return data


def _entry(tp: Tp, replicas: Ids) -> bytes:
    plain = all(type(id_) is int for id_ in replicas)
    return _known_entry(tp, replicas) if plain else _new_entry(tp, replicas)


def _new_entry(tp: Tp, replicas: Ids) -> bytes:
    entry = {"topic": tp.topic, "partition": tp.partition, "replicas": list(replicas)}
    return _dump(entry)


_known_entry = lru_cache(maxsize=20_000)(_new_entry)
_written: deque[tuple[bytes, RequestEntries]] = deque(maxlen=2)
"""The requests written last: whoever wrote one reads it next."""


def decode_request(profile: Profile, data: bytes) -> dict[Tp, Ids]:
    """Read a reassignment request; the last of two entries wins. Ids may be no numbers."""
    for ours, entries in _written:
        if ours == data:
            return entries.without()
    known = {"topic", "partition", "replicas"}
    found: dict[Tp, Ids] = {}
    for entry in json.loads(data)["partitions"]:
        if profile.strict_requests and entry.keys() - known:
            raise ValueError(f"unrecognised field {sorted(entry.keys() - known)[0]}")
        found[Tp(entry["topic"], entry["partition"])] = tuple(entry["replicas"])
    return found


def decode_partitions(data: bytes) -> tuple[Tp, ...]:
    """Read a list of partitions: of an election, or of an ISR notification."""
    return tuple(Tp(e["topic"], e["partition"]) for e in json.loads(data)["partitions"])


def encode_partitions(partitions: Iterable[Tp]) -> bytes:
    """Encode a list of partitions."""
    entries = [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]
    return _dump({"version": 1, "partitions": entries})


@lru_cache(maxsize=512)
def decode_config(data: bytes) -> Mapping[str, str]:
    """Read a config node, which many brokers do; TypeError if a value is no string."""
    config = json.loads(data)["config"] if data else {}
    for key, value in config.items():
        if not isinstance(value, str):
            raise TypeError(f"config {key} cannot be cast to a string")
    return MappingProxyType(config)


def decode_change(data: bytes) -> str:
    """Read whose config changed, such as `topics/t`, from a notification of either version."""
    body = json.loads(data)
    if body["version"] == 1:
        return f"{body['entity_type']}/{body['entity_name']}"
    return str(body["entity_path"])


def with_in_sync(state: PartitionState, replica: int, controller_epoch: int) -> PartitionState:
    """Return the state with one more replica in sync: at the end, in the same leader epoch."""
    return replace(state, isr=(*state.isr, replica), controller_epoch=controller_epoch)


def without_in_sync(state: PartitionState, replica: int, controller_epoch: int) -> PartitionState:
    """Return the state with one replica fewer in sync, in the same leader epoch."""
    isr = tuple(id_ for id_ in state.isr if id_ != replica)
    return replace(state, isr=isr, controller_epoch=controller_epoch)
