"""The conditions of a resource as kstatus reads them, made from its Ready condition.

`Ready` is always present. `Reconciling` is present while work is in progress, `Stalled` while a
person must act. The two are never present together.

| `ReadyStatus` | Ready | also |
|---|---|---|
| READY | True | |
| RECONCILING | False | Reconciling True |
| UNKNOWN | Unknown | Reconciling True |
| STALLED | False | Stalled True |
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from poolkeeper.frozen import frozen
from poolkeeper.text import moment

MESSAGE_MAX = 2000


class ReadyStatus(Enum):
    """The status of Ready, and the other condition that is true, if one is."""

    READY = ("True", "")
    RECONCILING = ("False", "Reconciling")
    UNKNOWN = ("Unknown", "Reconciling")
    STALLED = ("False", "Stalled")


@frozen
class ReadyCondition:
    """The reason (a CamelCase word) and the message of the Ready condition."""

    status: ReadyStatus
    reason: str
    message: str


def conditions(
    condition: ReadyCondition, generation: int, before: Mapping[str, Any] | None, now_ms: int
) -> list[dict[str, Any]]:
    """The conditions, sorted by type.

    A `lastTransitionTime` is kept as long as the condition's status is.
    """
    ready, other = condition.status.value
    stood = {each.get("type"): each for each in conditions_of(before)}
    statuses = {"Ready": ready, **({other: "True"} if other else {})}
    message = condition.message
    if len(message) > MESSAGE_MAX:
        message = message[: MESSAGE_MAX - 1] + "…"
    return [
        {
            "type": kind,
            "status": status,
            "reason": condition.reason,
            "message": message,
            "observedGeneration": generation,
            "lastTransitionTime": _since(stood.get(kind, {}), status) or moment(now_ms),
        }
        for kind, status in statuses.items()
    ]


def conditions_of(status: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    """The conditions of a live status."""
    found: Sequence[Mapping[str, Any]] = (status or {}).get("conditions") or ()
    return found


def condition_of(status: Mapping[str, Any] | None, kind: str) -> Mapping[str, Any]:
    """One condition of a live status; empty if there is none."""
    return next((each for each in conditions_of(status) if each.get("type") == kind), {})


def is_stalled(status: Mapping[str, Any]) -> bool:
    """Whether a person must act, as far as a status says."""
    return condition_of(status, "Stalled").get("status") == "True"


def ready_before(status: Mapping[str, Any] | None, generation: int) -> ReadyCondition | None:
    """The Ready condition of a live status, to be kept; None if it is of another generation."""
    ready = condition_of(status, "Ready")
    if status is None or ready.get("observedGeneration") != generation:
        return None
    known = {each.value[0]: each for each in (ReadyStatus.READY, ReadyStatus.UNKNOWN)}
    found = known.get(str(ready.get("status")), ReadyStatus.RECONCILING)
    found = ReadyStatus.STALLED if is_stalled(status) else found
    return ReadyCondition(found, str(ready.get("reason")), str(ready.get("message")))


def _since(before: Mapping[str, Any], status: str) -> str:
    found: str = before.get("lastTransitionTime", "") if before.get("status") == status else ""
    return found
