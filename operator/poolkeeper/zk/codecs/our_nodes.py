"""The bodies of our own nodes, as declared types; what is read is exactly that, or `DamagedNode`.

Every body is a JSON object with its format in `version`, but for two plain texts: the epoch, a
number, and `stopped`, a fingerprint.

How a body may change: a release may add a field that older releases can do without. It has a
default, and older releases ignore it. What an older release must not ignore goes with a higher
`version`: older releases then say that a later one wrote the node, and read nothing of it. So
unknown fields are ignored in version 1, and a higher version is never half-read.

Numbers and texts have bounds, so that whatever a node holds can be computed with and printed.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from poolkeeper import typed_json
from poolkeeper.errors import DamagedNode, InvalidInput, NodeDamage
from poolkeeper.model.execution.records import BrokerRecord, Looks, RequestRecord, TopicRecord
from poolkeeper.model.execution.runs import CHUNKS_MAX
from poolkeeper.model.execution.throttles import ThrottleRecord
from poolkeeper.model.plans import Move
from poolkeeper.model.specs import DeletionPolicy
from poolkeeper.typed_json import BrokerId, Milliseconds
from poolkeeper.zk import znodes
from poolkeeper.zk.client.nodes import Node

T = TypeVar("T")
VERSION = 1
PROBLEMS_SHOWN = 2
PROBLEM_CHARACTERS_MAX = 200
EPOCH_DIGITS_MAX = 18
LOST = "requested by a run whose record was lost"
"""Why the moves of a recorded request are made, where nothing else tells it any more."""

Version = Literal[1]
Chunks = Annotated[int, Meta(ge=0, le=CHUNKS_MAX, description=f"a count of at most {CHUNKS_MAX}")]
Count = Annotated[int, Meta(ge=0, le=2**62, description="an integer of 0 or more")]
Name = Annotated[
    str,
    Meta(max_length=300, pattern=r"\A[^\x00-\x1f\x7f]*\Z", description="a short text"),
]
Fingerprint = Annotated[
    str, Meta(pattern="^sha256:[0-9a-f]{64}$", description="a fingerprint, sha256:…")
]
_BrokerNumber = Annotated[int, Meta(ge=0, le=2**31 - 1, description="the id of a broker")]
_Pid = Annotated[int, Meta(ge=0, le=2**31 - 1, description="the id of a process")]
_Seconds = Annotated[int, Meta(ge=0, le=253_402_300_799, description="seconds since 1970")]
_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")


class HolderBody(Struct):
    """`holder`."""

    version: Version
    host: Name
    pid: _Pid
    what: Name
    since_ms: Milliseconds


class PendingPlanBody(Struct):
    """`asked`."""

    version: Version
    plan: Name
    digest: Name
    chunks: Chunks


class ApprovalsBody(Struct):
    """`approvals`."""

    version: Version
    plans: tuple[Name, ...]


class TopicRecordBody(Struct):
    """`records/topics/TOPIC`."""

    version: Version
    owner: Name
    declared: tuple[str, ...]
    deletion_policy: DeletionPolicy
    topic_id: Name | None = None
    created_zxid: Count | None = None
    adoption: Name | None = None
    released: bool = False

    @property
    def record(self) -> TopicRecord:
        """The record of this body."""
        return TopicRecord(
            self.owner,
            self.declared,
            self.deletion_policy,
            self.topic_id,
            self.created_zxid,
            self.adoption,
            self.released,
        )


class _LooksBody(Struct):
    last_s: _Seconds
    watched_s: _Seconds
    gaps: Count
    in_outage: bool
    lost: bool


class _BrokerBody(Struct):
    rack: str | None
    missing_since_s: _Seconds | None
    log_dirs_failed_s: dict[str, _Seconds] = {}
    looks: _LooksBody | None = None
    seen: bool = False

    @property
    def record(self) -> BrokerRecord:
        looks = None if self.looks is None else Looks(**msgspec.structs.asdict(self.looks))
        return BrokerRecord(
            self.rack, self.missing_since_s, self.log_dirs_failed_s, looks, self.seen
        )


class BrokersBody(Struct):
    """`records/brokers`."""

    version: Version
    brokers: dict[BrokerId, _BrokerBody]

    @property
    def records(self) -> dict[int, BrokerRecord]:
        """The records of this body."""
        return {id_: body.record for id_, body in self.brokers.items()}


def brokers_body(brokers: Mapping[int, BrokerRecord]) -> dict[str, Any]:
    """Return what `BrokersBody` reads these records of."""
    return {"version": VERSION, "brokers": {str(i): _broker(brokers[i]) for i in sorted(brokers)}}


def _broker(record: BrokerRecord) -> dict[str, Any]:
    body: dict[str, Any] = {"rack": record.rack, "missing_since_s": record.missing_since_s}
    if record.log_dirs_failed_s:
        body["log_dirs_failed_s"] = dict(record.log_dirs_failed_s)
    if record.seen:
        body["seen"] = True
    if (looks := record.looks) is not None:
        body["looks"] = {
            "last_s": looks.last_s,
            "watched_s": looks.watched_s,
            "gaps": looks.gaps,
            "in_outage": looks.in_outage,
            "lost": looks.lost,
        }
    return body


class ClusterBody(Struct):
    """`records/cluster`."""

    version: Version
    id: Name | None


class BalanceBody(Struct):
    """`records/balance`."""

    version: Version
    started_ms: Milliseconds


_Replicas = Annotated[
    tuple[_BrokerNumber, ...], Meta(min_length=1, description="a list of one broker or more")
]


class _MovesBody(Struct):
    """The moves of one topic: partition, list found, list asked for, and bytes."""

    moves: tuple[tuple[Count, _Replicas, _Replicas, Count], ...]
    id: Name | None = None


class RequestBody(Struct):
    """`records/request`."""

    version: Version
    plan: Name
    fingerprint: Fingerprint
    topics: dict[Name, _MovesBody]
    approved_by: str

    @property
    def record(self) -> RequestRecord:
        """The record of this body."""
        moves = tuple(
            Move(topic, body.id, partition, (before, after), size, LOST)
            for topic, body in self.topics.items()
            for partition, before, after, size in body.moves
        )
        return RequestRecord(self.plan, self.fingerprint, moves, self.approved_by)


class ThrottlesBody(Struct):
    """`records/throttles/topic:TOPIC` and `records/throttles/broker:ID`."""

    version: Version
    plan: Name
    ours: dict[str, str | None]
    original: dict[str, str | None]

    @property
    def record(self) -> ThrottleRecord:
        """The record of this body."""
        return ThrottleRecord(self.plan, self.ours, self.original)


def decode(path: str, data: bytes, kind: type[T]) -> T:
    """Read the body of the node at `path`; raises `DamagedNode`."""
    try:
        return msgspec.json.decode(data, type=typed_json.look_up(kind))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        convert(path, parse(path, data), kind)
    raise damaged_node(path, "it holds texts or numbers that JSON does not have")


def decode_if_there(
    path: str, node: Node | None, kind: type[T]
) -> tuple[T | None, NodeDamage | None]:
    """Return a node's body, or what is wrong with it; neither where there is no node."""
    if node is None:
        return None, None
    return try_reading(lambda: decode(path, node.data, kind))


def try_reading(read: Callable[[], T]) -> tuple[T | None, NodeDamage | None]:
    """Return what is read, or what is wrong with the node."""
    try:
        return read(), None
    except DamagedNode as damaged:
        return None, damaged.damage


def decode_document(path: str, data: bytes, kind: type[T]) -> T:
    """Read a document, which is `plan.json` in part; raises `DamagedNode`.

    Older documents hold halves of surrogate pairs, and are read.
    """
    try:
        return typed_json.decode(data, kind)
    except InvalidInput as wrong:
        if (later := _later_version(data)) is not None:
            raise DamagedNode(NodeDamage(path, "", later)) from None
        raise of_problems(path, wrong) from None


def _later_version(data: bytes) -> int | None:
    """The version of a document, or of the plan in it, if a later release wrote it."""
    try:
        body = typed_json.parse(data)
    except InvalidInput:
        return None
    inner = body.get("plan") if isinstance(body, dict) else None
    versions = [each.get("version") for each in (body, inner) if isinstance(each, dict)]
    later = [v for v in versions if type(v) is int and VERSION < v < 2**31]
    return max(later, default=None)


def parse(path: str, data: bytes) -> dict[str, Any]:
    """Read a body of our version as plain values; raises `DamagedNode`."""
    if not data:
        raise damaged_node(path, "it is empty (expected a JSON object)")
    try:
        body = typed_json.parse(data)
    except InvalidInput as wrong:
        raise of_problems(path, wrong) from None
    if not isinstance(body, dict):
        raise damaged_node(path, f"it is {typed_json.word(body)} (expected an object)")
    version = body.get("version")
    if type(version) is int and VERSION < version < 2**31:
        raise DamagedNode(NodeDamage(path, "", version))
    if type(version) is not int or version != VERSION:
        shown = typed_json.description(version, str(VERSION))
        raise damaged_node(path, f"version: {shown}")
    return body


def convert(path: str, body: Mapping[str, Any], kind: type[T]) -> T:
    """Return plain values as declared; raises `DamagedNode` naming what is not."""
    try:
        return typed_json.convert(body, kind)
    except InvalidInput as wrong:
        raise of_problems(path, wrong) from None


def decode_epoch(data: bytes) -> int:
    """Read the number of the epoch; raises `DamagedNode`."""
    text = data.decode(errors="replace")
    if not (text.isascii() and text.isdecimal() and len(text) <= EPOCH_DIGITS_MAX):
        raise damaged_node(znodes.EPOCH, f"it {typed_json.description(text, 'a number')}")
    return int(text)


def decode_stopped(data: bytes) -> str:
    """Read the fingerprint of the stopped plan; raises `DamagedNode`."""
    text = data.decode(errors="replace")
    if not _FINGERPRINT.fullmatch(text):
        raise damaged_node(znodes.STOPPED, f"it {typed_json.description(text, 'a fingerprint')}")
    return text


def damaged_node(path: str, found: str) -> DamagedNode:
    """Return the error for a node; what was found is cut to a bounded length."""
    short = found if len(found) <= PROBLEM_CHARACTERS_MAX else f"{found[:PROBLEM_CHARACTERS_MAX]}…"
    return DamagedNode(NodeDamage(path, " ".join(short.split())))


def of_problems(path: str, wrong: InvalidInput) -> DamagedNode:
    """Return the error for a node whose body has these problems; the first few are told."""
    told = [
        f"{problem.field}: {problem.message}" if problem.field else f"it {problem.message}"
        for problem in wrong.problems[:PROBLEMS_SHOWN]
    ]
    return damaged_node(path, "; ".join(told))
