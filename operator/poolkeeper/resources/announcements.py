"""Events: what became otherwise between two statuses of a resource, and only that.

A status is a state, an event a transition: nothing is told twice, and a restart of the operator
tells nothing, as it finds the live status as it was.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from poolkeeper.resources.conditions import condition_of
from poolkeeper.resources.objects import ObjectKey

NOTE_MAX = 1024


@dataclass(frozen=True, slots=True)
class Announcement:
    """An event of Kubernetes: its type, a CamelCase reason and a note."""

    type: Literal["Normal", "Warning"]
    reason: str
    note: str


def announcements(
    key: ObjectKey, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> tuple[Announcement, ...]:
    """The events of the transition from the live status (None: there was none) to the new one."""
    found = [
        *_condition(before, after),
        *(_cluster(before or {}, after) if key.kind == "KafkaCluster" else ()),
        *(_pool(before or {}, after) if key.kind == "ResourcePool" else ()),
    ]
    return tuple(Announcement(each.type, each.reason, each.note[:NOTE_MAX]) for each in found)


_PAST = {"Creating": "Created", "Configuring": "Configured", "Moving": "Moved"}
_STARTS = frozenset({"Moving", "WaitingForApproval", "Deleting", "Paused"})


def _condition(
    before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Iterator[Announcement]:
    was, now = condition_of(before, "Ready"), condition_of(after, "Ready")
    stalled, still = condition_of(before, "Stalled"), condition_of(after, "Stalled")
    reason, note = now["reason"], now["message"]
    if still:
        if stalled.get("reason") != reason:
            yield Announcement("Warning", reason, note)
        return
    if now["status"] == "True":
        if was and was["status"] != "True":
            done = "Recovered" if stalled else _PAST.get(was["reason"], "InPlace")
            yield Announcement("Normal", done, note)
        return
    if now["status"] == "Unknown":
        if was.get("reason") != reason and reason == "Unreachable":
            yield Announcement("Warning", reason, note)
        return
    if reason in _STARTS and was.get("reason") != reason:
        yield Announcement("Normal", reason, note)
    elif stalled:
        yield Announcement("Normal", "Recovered", note)


def _cluster(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Announcement]:
    was, now = before.get("plan") or {}, after.get("plan") or {}
    if now.get("approval") == "Waiting" and was.get("hash") != now.get("hash"):
        ready = condition_of(after, "Ready")
        asked = condition_of(before, "Ready").get("reason") == "WaitingForApproval"
        if ready["reason"] != "WaitingForApproval" or asked:
            yield Announcement("Normal", "WaitingForApproval", ready["message"])
    if (
        "stage" in was
        and "stage" not in now
        and condition_of(after, "Ready")["status"] != "Unknown"
    ):
        note = f"the run of plan {was['hash']} has ended after stage {was['stage']}"
        yield Announcement("Normal", "RunEnded", note)


def _pool(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Announcement]:
    emptying = {each["broker"] for each in before.get("draining", ())}
    for broker in after.get("drained", ()):
        if broker in emptying:
            yield Announcement("Normal", "Drained", f"broker {broker} is empty")
