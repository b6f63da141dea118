"""The record of a run in ZooKeeper.

It has two parts. The *document* is written once, before anything else of the run: the whole plan,
the throttle values and the damage found before the run. It can be large, so it is compressed and
cut into chunks of at most 200 KiB, a transaction each. The *run node* is small and rewritten with
every phase and request. It holds the document's digest, so that an incomplete document is
recognised. While the run is being stored nothing else of it was done, and such a run is discarded.
Later it is damage: `DamagedNode`.
"""

import gzip
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from poolkeeper import typed_json
from poolkeeper.errors import InvalidInput, Refused
from poolkeeper.jsontext import canonical, canonical_of
from poolkeeper.model.execution.punctuality import NOTHING_LOST
from poolkeeper.model.execution.records import RequestRecord
from poolkeeper.model.execution.runs import (
    Ending,
    Health,
    Phase,
    RateReason,
    Run,
    RunDocument,
    Saved,
    StopRequest,
)
from poolkeeper.model.plans import Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.proposals.plan_json import PlanJson
from poolkeeper.zk import znodes
from poolkeeper.zk.client.operations import BATCH_BYTES
from poolkeeper.zk.codecs import json_bodies, our_nodes
from poolkeeper.zk.codecs.our_nodes import VERSION

CHUNK_BYTES = (12 * 1024, BATCH_BYTES, 200 * 1024)
"""Servers may take no more than the first; the others are for what would be too many chunks."""
CHUNKS_AIM = 100
TEXT_BYTES_MAX = 2 * 1024**3
_PHASES = {phase.name: phase.value for phase in Phase}
_GZIP = 31
"""What zlib calls the gzip format."""


class _DocumentBody(Struct):
    """The document as it is written: the plan as `plan.json`, the rest under its own names."""

    version: our_nodes.Version
    plan: PlanJson
    saved: Saved
    baseline: Health


def encode_run(run: Run) -> bytes:
    """Encode the run node's body."""
    body = {
        "version": VERSION,
        "plan": run.plan,
        "fingerprint": run.fingerprint,
        "concern": run.concern,
        "phase": run.phase.name,
        "digest": run.digest,
        "chunks": run.chunks,
        "started_ms": run.started_ms,
        "stage": run.stage,
        "step": run.step,
        "requested_ms": run.requested_ms,
        "attempts": run.attempts,
        "throttled_ms": run.throttled_ms,
        "rates": run.rates,
        "ending": run.ending or "",
    }
    if run.returning:
        body["returning"] = run.returning
    if run.approved_by:
        body["approved_by"] = run.approved_by
    if run.rate_reason is not None:
        body["rate_reason"] = run.rate_reason.value
    if run.declared_rate:
        body["declared_rate"] = run.declared_rate
    if run.resumes:
        body["resumes"] = run.resumes
    if run.lost != NOTHING_LOST:
        body["lost"] = {
            "idle_ms": run.lost.idle_ms,
            "lowered_ms": run.lost.lowered_ms,
            "slower_ms": run.lost.slower_ms,
        }
    return canonical(body).encode()


def decode_run(data: bytes, version: int) -> Run:
    """Decode the run node's body; raises `DamagedNode`.

    Keys of a later release are ignored, and so is a reason of the rate that only a later one has.
    """
    body = our_nodes.parse(znodes.RUN, data)
    phase, ending = body.get("phase"), body.get("ending")
    if not isinstance(phase, str) or phase not in _PHASES:
        expected = f"one of {', '.join(_PHASES)}"
        shown = typed_json.description(phase, expected)
        raise our_nodes.damaged_node(znodes.RUN, f"phase: {shown}")
    if not isinstance(ending, str) or ending not in ("", *Ending):
        shown = typed_json.description(ending, f"one of {', '.join(Ending)} or nothing")
        raise our_nodes.damaged_node(znodes.RUN, f"ending: {shown}")
    read = {"phase": _PHASES[phase], "ending": ending or None}
    if isinstance(reason := body.get("rate_reason"), str) and reason not in set(RateReason):
        read["rate_reason"] = None
    return our_nodes.convert(znodes.RUN, {**body, **read, "version": version}, Run)


def encode_request(record: RequestRecord) -> bytes:
    """Encode the body of the record of a run's request, topic by topic."""
    topics: dict[str, dict[str, Any]] = {}
    for move in record.moves:
        of_topic = topics.setdefault(move.topic, {"moves": []})
        of_topic["moves"].append([move.partition, move.source, move.target, move.bytes])
        if move.topic_id is not None:
            of_topic["id"] = move.topic_id
    body = {
        "version": VERSION,
        "plan": record.plan,
        "fingerprint": record.fingerprint,
        "approved_by": record.approved_by,
        "topics": topics,
    }
    return canonical(body).encode()


def encode_stop(stop: StopRequest) -> bytes:
    """Encode the body of a request to end the run; it is empty where the stage is finished."""
    if not stop.at_once:
        return b""
    body = {"version": VERSION, "at_once": True, "allow_failover": stop.allow_failover}
    return canonical(body).encode()


def decode_stop(data: bytes) -> StopRequest:
    """Decode the body of a request to end the run; its existence alone ends it after its stage."""
    try:
        body = json_bodies.parse(data)
    except Refused:
        return StopRequest()
    return StopRequest(body.get("at_once") is True, body.get("allow_failover") is True)


def encode_document(document: RunDocument, chunk_bytes: int = 0) -> tuple[bytes, ...]:
    """Encode to chunks of at most `chunk_bytes`, 0: few and small ones.

    The same document gives the same bytes.
    """
    body = {
        "version": VERSION,
        "plan": plan_json.document(document.plan),
        "saved": {
            "topics": {name: dict(values) for name, values in document.saved.topics.items()},
            "brokers": {str(id_): dict(values) for id_, values in document.saved.brokers.items()},
        },
        "baseline": {
            "under_replicated": sorted(document.baseline.under_replicated),
            "under_min_isr": sorted(document.baseline.under_min_isr),
        },
    }
    return _chunks(body, chunk_bytes)


def encode_plan(plan: Plan) -> tuple[bytes, ...]:
    """Encode a plan alone, in the same way."""
    return _chunks(plan_json.document(plan))


def _chunks(body: Mapping[str, Any] | PlanJson, chunk_bytes: int = 0) -> tuple[bytes, ...]:
    packed = gzip.compress(canonical_of(body), compresslevel=6, mtime=0)
    if not chunk_bytes:
        most = len(packed) / CHUNKS_AIM
        chunk_bytes = next((each for each in CHUNK_BYTES if each >= most), CHUNK_BYTES[-1])
    return tuple(packed[i : i + chunk_bytes] for i in range(0, len(packed), chunk_bytes))


def digest_of(chunks: Sequence[bytes]) -> str:
    """Return the digest that a node keeps of the chunks below it."""
    return hashlib.sha256(b"".join(chunks)).hexdigest()


def decode_document(chunks: Sequence[bytes], digest: str) -> RunDocument | None:
    """Decode a document; `None` if chunks are missing or are another run's.

    Raises `DamagedNode` for a document that has the digest, and makes no sense.
    """
    path = znodes.plan_chunk(0)
    if digest_of(chunks) != digest:
        return None
    text = _text(path, chunks)
    body = our_nodes.decode_document(path, text, _DocumentBody)
    return RunDocument(_plan(path, body.plan), body.saved, body.baseline)


def decode_plan(chunks: Sequence[bytes], digest: str) -> Plan | None:
    """Decode a plan alone; `None` if chunks are missing or are another plan's.

    Raises `DamagedNode` for a plan that has the digest, and makes no sense.
    """
    path = znodes.plan_chunk(0, znodes.ASKED)
    if digest_of(chunks) != digest:
        return None
    return _plan(path, our_nodes.decode_document(path, _text(path, chunks), PlanJson))


def _plan(path: str, read: PlanJson) -> Plan:
    try:
        return plan_json.plan_of(read)
    except InvalidInput as wrong:
        raise our_nodes.of_problems(path, wrong) from None


def _text(path: str, chunks: Sequence[bytes]) -> bytes:
    """Unpack the chunks; raises `DamagedNode` for what is no gzip, cut off, or too large."""
    unpacking = zlib.decompressobj(_GZIP)
    try:
        text = unpacking.decompress(b"".join(chunks), TEXT_BYTES_MAX)
    except zlib.error as wrong:
        raise our_nodes.damaged_node(path, f"it is not gzip: {wrong}") from None
    if not unpacking.eof or unpacking.unused_data:
        raise our_nodes.damaged_node(path, "it is cut off, or longer than it should be")
    return text
