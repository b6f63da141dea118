"""Transition times of conditions, and whether a status differs from the live one: pure.

A condition's `lastTransitionTime` is the time at which its `status` last flipped; reason and
message may change without it. The maker of a status does not know that time. It is copied from the
live status, or is now.
"""

from datetime import UTC, datetime
from typing import Any

from poolkeeper import jsontext

Status = dict[str, Any]


def with_transitions(new: Status, live: Status | None, now: datetime) -> Status:
    """Return `new` with the time of the last flip in each condition; whole seconds, UTC.

    Live `Ready=True since 9:00`, new `Ready=True` → since 9:00; new `Ready=False` → since now.
    """
    before = {old.get("type"): old for old in (live or {}).get("conditions") or ()}
    if "conditions" not in new:
        return dict(new)
    dated = [
        _with_transition_time(condition, before.get(condition["type"]), now)
        for condition in new["conditions"]
    ]
    return {**new, "conditions": dated}


def _with_transition_time(condition: Status, old: Status | None, now: datetime) -> Status:
    state, since = condition["status"], ""
    if old is not None and old.get("status") == state:
        since = old.get("lastTransitionTime") or ""
    return {**condition, "lastTransitionTime": since or timestamp(now)}


def status_bytes(status: Status) -> bytes:
    """Return the status as bytes; equal statuses give equal bytes."""
    return jsontext.canonical(_without_empty(status)).encode()


def _without_empty(value: Any) -> Any:
    """Return the value without nulls, with conditions sorted by type."""
    if isinstance(value, dict):
        kept = {key: _without_empty(part) for key, part in value.items() if part is not None}
        if isinstance(kept.get("conditions"), list):
            kept["conditions"] = sorted(kept["conditions"], key=_type)
        return kept
    return [_without_empty(part) for part in value] if isinstance(value, list | tuple) else value


def _type(condition: Any) -> str:
    return str(condition.get("type")) if isinstance(condition, dict) else ""


def timestamp(now: datetime) -> str:
    """Return a time in the format of conditions: `2026-01-31T12:00:00Z`."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
