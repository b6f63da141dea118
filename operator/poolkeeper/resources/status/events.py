"""The events of a resource: what changed between two of its statuses.

A status is a state, an event is a transition, so no event is repeated. A restarted operator starts
from the live status and sends no event for what had already happened.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from poolkeeper.frozen import frozen
from poolkeeper.resources.kinds.custom_resource import ObjectKey
from poolkeeper.resources.status.conditions import condition_of
from poolkeeper.resources.status.left_run import LEFT_RUN, left_run_text
from poolkeeper.resources.status.plan_fields import PlanApproval

NOTE_MAX = 1024


@frozen
class StatusEvent:
    """An event of Kubernetes: its type, a CamelCase reason and a note."""

    type: Literal["Normal", "Warning"]
    reason: str
    note: str


def status_events(
    key: ObjectKey, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> tuple[StatusEvent, ...]:
    """The events of the transition from the live status to the new one.

    A live status of None means that the resource had none.
    """
    found = [
        *_condition(key.kind, before, after),
        *(_cluster(key.name, before or {}, after) if key.kind == "KafkaCluster" else ()),
        *(_pool(before or {}, after) if key.kind == "ResourcePool" else ()),
        *(_topic(before or {}, after) if key.kind == "Topic" else ()),
    ]
    return tuple(StatusEvent(each.type, each.reason, each.note[:NOTE_MAX]) for each in found)


_PAST = {"Creating": "Created", "Configuring": "Configured", "Moving": "Moved"}
_WARNED = frozenset({"Unreachable", "NoController", "BrokersMissing", "TooFewLiveBrokers"})
_TOLD_ELSEWHERE = frozenset({"Creating", "AdoptionRequired"})
"""What a Topic in place was before: `Created` tells it, or `TopicsAdopted` of the cluster."""
_SHORT = "ElectionPending"
"""What a broker's death causes in each Topic for a moment: neither begin nor end is an event."""
_NO_RECOVERY = frozenset(
    {
        *("AdoptionRequired", "TopicConflict", "WaitingForApproval", "PlanOnly", "Paused"),
        *("Unreachable", _SHORT),
    }
)
"""What may come after a state in which a person had to act, and is no recovery from it."""
_BEGUN: Mapping[str, frozenset[str]] = {
    # What concerns all Topics at once is an event of their KafkaCluster alone.
    "KafkaCluster": frozenset(
        {"Moving", "WaitingForApproval", "PlanOnly", "Paused", "Deleting", *_WARNED}
    ),
    "ResourcePool": frozenset({"Deleting", "BrokersMissing", "TooFewLiveBrokers"}),
    "Topic": frozenset({"Deleting"}),
}


def _condition(
    kind: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Iterator[StatusEvent]:
    was, now = condition_of(before, "Ready"), condition_of(after, "Ready")
    stalled = condition_of(before, "Stalled")
    reason, note = now["reason"], now["message"]
    if condition_of(after, "Stalled"):
        if stalled.get("reason") != reason:
            yield StatusEvent("Warning", reason, note)
    elif now["status"] == "True":
        yield from _ready(kind, was, note, stalled=bool(stalled))
    elif (reason in _BEGUN[kind] and was.get("reason") != reason) or (
        stalled and reason in _NO_RECOVERY
    ):
        yield StatusEvent("Warning" if reason in _WARNED else "Normal", reason, note)
    elif stalled:
        yield StatusEvent("Normal", "Recovered", f"no longer {stalled['reason']}; {note}")


def _ready(kind: str, was: Mapping[str, Any], note: str, *, stalled: bool) -> Iterator[StatusEvent]:
    if stalled or was.get("reason") in _WARNED & _BEGUN[kind]:
        yield StatusEvent("Normal", "Recovered", note)
    elif was.get("reason") == _SHORT:
        return
    elif was.get("status") == "False" and (kind != "Topic" or was["reason"] not in _TOLD_ELSEWHERE):
        yield StatusEvent("Normal", _PAST.get(was["reason"], "InPlace"), note)


def _cluster(
    name: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[StatusEvent]:
    was, now = before.get("plan") or {}, after.get("plan") or {}
    ready, earlier = condition_of(after, "Ready"), condition_of(before, "Ready")
    if now.get("approval") == PlanApproval.WAITING and was.get("hash") != now.get("hash"):
        told = ready["reason"] != earlier.get("reason") and ready["status"] != "True"
        if not told:
            yield StatusEvent("Normal", "PlanChanged", ready["message"])
    asking = {each["namespace"] for each in before.get("adoptions", ())}
    for each in after.get("adoptions", ()):
        if each["namespace"] not in asking:  # another topic of a namespace is no news
            # More Topics may follow: a hash or a number would be of the first of them.
            namespace = each["namespace"]
            asked = f"namespace {namespace} asks to take over topics that exist"
            approve = f"`kubectl poolkeeper approve adoption/{namespace} -c {name}`"
            yield StatusEvent("Normal", "AdoptionRequired", f"{asked}: to let it, {approve}")
    left = after.get(LEFT_RUN)
    if left is not None and left != before.get(LEFT_RUN):
        yield StatusEvent("Warning", "RunLeftBehind", left_run_text(left))
    elif "stage" in was and "stage" not in now and ready["status"] != "Unknown":
        plan = f" of plan {was['hash']}" if "hash" in was else ""
        note = f"the run{plan} has ended after stage {was['stage']}"
        yield StatusEvent("Normal", "RunEnded", note)


def _pool(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[StatusEvent]:
    emptying = {each["broker"] for each in before.get("draining", ())}
    for broker in after.get("drained", ()):
        if broker in emptying:
            yield StatusEvent("Normal", "Drained", f"broker {broker} is empty")


def _topic(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[StatusEvent]:
    was, now = before.get("partitions", 0), after.get("partitions", 0)
    if now > was and condition_of(before, "Ready").get("reason") == "Creating":
        note = condition_of(after, "Ready")["message"]
        yield StatusEvent("Normal", "PartitionsAdded" if was else "Created", note)
