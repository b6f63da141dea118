"""The record of a run in ZooKeeper.

It has two parts. The *document* is written once, before anything else of the run: the whole plan,
the throttle values and the damage found before the run. It can be large, so it is compressed and
cut into chunks of at most 200 KiB, a transaction each. The *run node* is small and rewritten with
every phase and request. It holds the document's digest, so that an incomplete document is
recognised. Nothing of such a run was done, and it is discarded.
"""

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from poolkeeper import typed_json
from poolkeeper.errors import Refused
from poolkeeper.jsontext import canonical
from poolkeeper.model.plans import Plan
from poolkeeper.model.runs import Health, Phase, Run, RunDocument, Saved, StopRequest
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.proposals.plan_json import PlanJson
from poolkeeper.zk import json_bodies

VERSION = 1
CHUNK_BYTES = 200 * 1024
CHUNKS_MAX = 400  # 80 MiB compressed: 1,000,000 moves take about a tenth


class _Body(Struct):
    """The document as it is written: the plan as `plan.json`, the rest under its own names."""

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
    return canonical(body).encode()


def decode_run(data: bytes, version: int) -> Run:
    """Decode the run node's body; keys of a later release are ignored."""
    body = json.loads(data)
    read = {"phase": Phase[body["phase"]].value, "ending": body["ending"] or None}
    return typed_json.convert({**body, **read, "version": version}, Run)


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


def encode_document(document: RunDocument, chunk_bytes: int = CHUNK_BYTES) -> tuple[bytes, ...]:
    """Encode to chunks of at most `chunk_bytes`; the same document gives the same bytes."""
    body = {
        "version": VERSION,
        "plan": plan_json.to_json(document.plan),
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


def encode_plan(plan: Plan, chunk_bytes: int = CHUNK_BYTES) -> tuple[bytes, ...]:
    """Encode a plan alone, in the same way."""
    return _chunks(plan_json.to_json(plan), chunk_bytes)


def _chunks(body: Mapping[str, Any], chunk_bytes: int) -> tuple[bytes, ...]:
    text = canonical(body).encode()
    packed = gzip.compress(text, compresslevel=6, mtime=0)
    return tuple(packed[i : i + chunk_bytes] for i in range(0, len(packed), chunk_bytes))


def digest_of(chunks: Sequence[bytes]) -> str:
    """Return the digest that a node keeps of the chunks below it."""
    return hashlib.sha256(b"".join(chunks)).hexdigest()


def decode_document(chunks: Sequence[bytes], digest: str) -> RunDocument | None:
    """Decode a document; `None` if chunks are missing or are another run's."""
    text = _text(chunks, digest)
    if text is None:
        return None
    body = typed_json.decode(text, _Body)
    return RunDocument(plan_json.plan_of(body.plan), body.saved, body.baseline)


def decode_plan(chunks: Sequence[bytes], digest: str) -> Plan | None:
    """Decode a plan alone; `None` if chunks are missing or are another plan's."""
    text = _text(chunks, digest)
    return None if text is None else plan_json.decode(text)


def _text(chunks: Sequence[bytes], digest: str) -> bytes | None:
    return gzip.decompress(b"".join(chunks)) if digest_of(chunks) == digest else None
