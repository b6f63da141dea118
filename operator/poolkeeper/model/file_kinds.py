"""What a file is that was given for one of another kind, by the keys that it has.

People have snapshots, plans and manifests in one folder. One that is given for the other lacks
every key that the other must have, which tells nobody what went wrong.
"""

import contextlib
import json
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from poolkeeper.errors import InvalidInput, wrong_file

_MANIFEST_TEXT = re.compile(rb"^(apiVersion|kind)\s*:", re.MULTILINE)


class FileKind(Enum):
    """What it is called, and what takes it."""

    SNAPSHOT = ("a snapshot", "--snapshot takes it")
    PLAN = ("a plan", "--plan of apply takes it")
    MANIFEST = ("a manifest", "-f takes it")
    CLIENT_CONFIG = ("a client config", "--client-config takes it")
    REASSIGNMENT = ("Kafka's own reassignment", "kafka-reassign-partitions takes it")


def _kind_of(body: object) -> FileKind | None:
    """The kind of a document; None if it is none of these, or damaged beyond recognition."""
    if not isinstance(body, Mapping):
        return None
    keys = body.keys()
    if {"apiVersion", "kind"} <= keys:
        return FileKind.MANIFEST
    if {"hash", "fingerprint"} <= keys:
        return FileKind.PLAN
    if isinstance(body.get("cluster"), Mapping) and keys & {"brokers", "topics"}:
        return FileKind.SNAPSHOT
    if isinstance(body.get("partitions"), list):
        return FileKind.REASSIGNMENT
    if keys and keys <= {"zookeeper", "brokers"}:
        return FileKind.CLIENT_CONFIG
    return None


def mistaken_kind(body: object, meant: FileKind) -> str:
    """Say that the document is of another kind than what is meant; "" if that is not known."""
    found = _kind_of(body)
    if found in (None, meant):
        return ""
    assert found is not None
    (name, taken), (expected, _) = found.value, meant.value
    return f"is {name} (expected {expected}): {taken}"


def told_by_kind(
    wrong: InvalidInput, data: bytes | object, file: str, meant: FileKind
) -> InvalidInput:
    """What is wrong with a document: that it is of another kind, if it is; else `wrong`.

    `data`: a text, or plain values.
    """
    said = mistaken_kind(_body(data) if isinstance(data, bytes) else data, meant)
    return wrong_file(file, said) if said else wrong


def _body(text: bytes) -> Any:
    """The JSON, or the first line of it: `plan --output reassign-json` writes one a stage."""
    for part in (text, text.partition(b"\n")[0]):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(part)
    found = _MANIFEST_TEXT.findall(text[:65536])
    return {word.decode(): "" for word in found}
