"""The status of a Rebalance: its progress, and the next step for a person.

A status is read by people, and by the next leader, which resumes from it: `state_of` reads what
`rebalance_status` writes.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from poolkeeper import wording
from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.waits import Wait, blocks
from poolkeeper.model.rebalances import (
    ClusterRebalance,
    PartState,
    RebalanceSpec,
    RebalanceState,
    RebalanceStep,
)
from poolkeeper.model.specs import ApprovalPolicy
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import (
    ReadyCondition,
    ReadyStatus,
    condition_of,
    conditions,
)
from poolkeeper.resources.status.events import NOTE_MAX, StatusEvent
from poolkeeper.resources.status.wording import about, coarse_seconds, count, few, size
from poolkeeper.text import moment_ms, shorten

PART_MESSAGE_MAX = 1024
PART_MESSAGES_BYTES_MAX = 256 * 1024
"""Of all clusters together: the store takes no object over 1.5 MiB, and names may be long.

A status that is not taken is lost with the leader, and with it how far the Rebalance is.
"""
SHOWN_MAX = 3


@frozen
class RebalanceStatusInputs:
    """The state of a Rebalance and its Ready condition."""

    state: RebalanceState
    condition: ReadyCondition


def rebalance_status(
    resource: CustomResource, inputs: RebalanceStatusInputs, spec: RebalanceSpec | None, now_ms: int
) -> dict[str, Any]:
    """The whole status of a Rebalance."""
    rebalance_state = inputs.state
    facts: dict[str, Any] = {
        "step": rebalance_state.step.value,
        "engine": rebalance_state.engine,
        "asked": _time(rebalance_state.requested_ms),
        "scope": rebalance_state.scope,
        "record": rebalance_state.record,
        "ended": _time(rebalance_state.ended_ms),
    }
    if rebalance_state.parts:
        facts["plan"] = _plan(rebalance_state, spec)
        room = PART_MESSAGES_BYTES_MAX // len(rebalance_state.parts)
        facts["clusters"] = [_cluster(part, room) for part in rebalance_state.parts]
    return {
        "observedGeneration": resource.generation,
        **{name: value for name, value in facts.items() if value},
        "conditions": conditions(inputs.condition, resource.generation, resource.status, now_ms),
    }


def state_of(status: Mapping[str, Any] | None) -> RebalanceState:
    """The state recorded in a status; a new state if the status has none.

    Raises `Refused` for a state that this release does not know.
    """
    try:
        return _state_of(status or {})
    except (AttributeError, KeyError, TypeError, ValueError) as wrong:
        raise Refused(
            f"the state in its status cannot be read ({wrong}): use the release that wrote it, or"
            " delete the Rebalance and create it again"
        ) from wrong


def _state_of(found: Mapping[str, Any]) -> RebalanceState:
    plan = found.get("plan") or {}
    return RebalanceState(
        step=RebalanceStep(found.get("step", RebalanceStep.PLANNING)),
        requested_ms=requested_ms_of(found),
        scope=found.get("scope", ""),
        engine=found.get("engine", ""),
        hash=plan.get("hash", ""),
        record=found.get("record", ""),
        waves=plan.get("waves", 0),
        seconds=plan.get("seconds", 0),
        ended_ms=_ms(found.get("ended", "")),
        parts=tuple(_part(each) for each in found.get("clusters") or ()),
    )


def unreadable_event(unreadable: Refused) -> StatusEvent:
    """The event of a Rebalance whose state is left to the release that wrote it."""
    return StatusEvent("Warning", "UnreadableStatus", str(unreadable)[:NOTE_MAX])


def requested_ms_of(status: Mapping[str, Any]) -> int:
    """The time at which planning began, in milliseconds; 0 before that."""
    return _ms(status.get("asked", ""))


def invalid_condition(resource: CustomResource) -> ReadyCondition:
    """The condition of a Rebalance whose spec is invalid."""
    message = few(map(str, resource.problems)) or "it cannot be read"
    return ReadyCondition(ReadyStatus.STALLED, "Invalid", message)


def ready_condition_of(rebalance_state: RebalanceState, spec: RebalanceSpec) -> ReadyCondition:
    """The condition of a Rebalance that nothing blocks."""
    match rebalance_state.step:
        case RebalanceStep.PLANNING:
            return ReadyCondition(
                ReadyStatus.RECONCILING, "Planning", "the clusters are read and planned"
            )
        case RebalanceStep.WAITING_FOR_APPROVAL:
            return _approval_condition(rebalance_state, spec)
        case RebalanceStep.EXECUTING:
            return _execution_condition(rebalance_state, spec)
        case RebalanceStep.SUCCEEDED:
            return ReadyCondition(ReadyStatus.READY, "Succeeded", _success_message(rebalance_state))
        case RebalanceStep.FAILED:
            return ReadyCondition(ReadyStatus.STALLED, "Failed", _failure_message(rebalance_state))


def rebalance_events(
    before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Iterator[StatusEvent]:
    """The event of a change of reason, and one for each cluster that failed."""
    was, now = condition_of(before, "Ready"), condition_of(after, "Ready")
    bad = bool(condition_of(after, "Stalled")) or now["status"] == "Unknown"
    if was.get("reason") != now["reason"]:
        note = now["message"][:NOTE_MAX]
        yield StatusEvent("Warning" if bad else "Normal", now["reason"], note)
    if (before or {}).get("step") != RebalanceStep.EXECUTING:
        return
    clusters = (before or {}).get("clusters") or ()  # as they are: a later release may have written
    failed = {each.get("name") for each in clusters if each.get("state") == PartState.FAILED}
    for part in state_of(after).failed:
        if part.cluster not in failed:
            note = f"{part.cluster}: {part.message}"[:NOTE_MAX]
            yield StatusEvent("Warning", "ClusterFailed", note)


def approval_line(name: str, plan: str) -> str:
    """The command that approves the plans of a Rebalance."""
    patch = f'{{"spec":{{"approval":{{"plans":["{plan}"]}}}}}}'
    return f"kubectl patch rebalance {name} --type=merge -p '{patch}'"


def _approval_condition(rebalance_state: RebalanceState, spec: RebalanceSpec) -> ReadyCondition:
    moving = [part for part in rebalance_state.parts if part.hash]
    copied = f" ({size(rebalance_state.bytes)})" if rebalance_state.bytes else ""
    where = f"in {count(len(moving), 'cluster')}, in {count(rebalance_state.waves, 'wave')}"
    took = f", {about(coarse_seconds(rebalance_state.seconds))}" if rebalance_state.seconds else ""
    what = f"waits to move {count(rebalance_state.moves, 'partition')}{copied} {where}{took}"
    others = (
        f"; {_clusters_in(rebalance_state, PartState.FAILED)}" if rebalance_state.failed else ""
    )
    automatic = spec.approval.policy is ApprovalPolicy.AUTO
    approved = automatic or rebalance_state.hash in spec.approval.plans
    if approved and spec.paused:
        message = f"nothing begins while spec.paused is true; {what}{others}"
        return ReadyCondition(ReadyStatus.RECONCILING, "Paused", message)
    if approved:
        # Only until the next look: GitOps tools take what waits for a person for settled.
        return ReadyCondition(ReadyStatus.RECONCILING, "Planning", f"{what}{others}")
    line = approval_line(spec.name, rebalance_state.hash)
    message = f"{what}{others}; approve {rebalance_state.hash}: {line}"
    return ReadyCondition(ReadyStatus.RECONCILING, "WaitingForApproval", message)


def _execution_condition(rebalance_state: RebalanceState, spec: RebalanceSpec) -> ReadyCondition:
    done = sum(part.state in (PartState.DONE, PartState.IN_PLACE) for part in rebalance_state.parts)
    parts = [f"{done} of {count(len(rebalance_state.parts), 'cluster')} done"]
    moved = sum(part.moves_done for part in rebalance_state.parts)
    parts.append(f"{moved} of {count(rebalance_state.moves, 'move')}")
    left = rebalance_state.bytes - sum(part.bytes_done for part in rebalance_state.parts)
    parts += [f"{size(left)} left"] if left > 0 else []
    message = ", ".join(parts)
    moving = any(part.state is PartState.MOVING for part in rebalance_state.parts)
    for state in (PartState.FAILED, PartState.WAITING):
        if told := _clusters_in(rebalance_state, state):
            message += f"; {'failed' if state is PartState.FAILED else 'waits'}: {told}"
    if told := _told(part for part in rebalance_state.parts if _is_blocked(part)):
        message += f"; blocked: {told}"
    if spec.paused:
        return ReadyCondition(
            ReadyStatus.RECONCILING,
            "Paused",
            f"stages in flight run to their end, no further stage starts; {message}",
        )
    reason = (
        "Moving" if moving or not _clusters_in(rebalance_state, PartState.WAITING) else "Waiting"
    )
    return ReadyCondition(ReadyStatus.RECONCILING, reason, message)


def _success_message(rebalance_state: RebalanceState) -> str:
    if not rebalance_state.moves:
        return f"in place: nothing had to move in {count(len(rebalance_state.parts), 'cluster')}"
    moving = sum(bool(part.hash) for part in rebalance_state.parts)
    copied = f" ({size(rebalance_state.bytes)})" if rebalance_state.bytes else ""
    where = count(moving, "cluster")
    remarks = [
        f"{part.cluster}: {part_message(part)}"
        for part in rebalance_state.parts
        if part_message(part)
    ]
    said = f"moved {count(rebalance_state.moves, 'partition')}{copied} in {where}"
    return "; ".join([said, *remarks[:SHOWN_MAX]])


def _failure_message(rebalance_state: RebalanceState) -> str:
    done = sum(part.state in (PartState.DONE, PartState.IN_PLACE) for part in rebalance_state.parts)
    said = f"{done} of {count(len(rebalance_state.parts), 'cluster')} done"
    failed = _clusters_in(rebalance_state, PartState.FAILED)
    return f"{said}; {failed}; make another Rebalance for the rest"


def _clusters_in(rebalance_state: RebalanceState, state: PartState) -> str:
    return _told(part for part in rebalance_state.parts if part.state is state)


def _told(parts: Iterable[ClusterRebalance]) -> str:
    return few([f"{part.cluster}: {part_message(part)}" for part in parts], SHOWN_MAX)


def _is_blocked(part: ClusterRebalance) -> bool:
    """Whether a cluster that is moving waits for somebody or something to change."""
    waits = (each for each in part.why if isinstance(each, Wait))
    return part.state is PartState.MOVING and any(map(blocks, waits))


def _plan(rebalance_state: RebalanceState, spec: RebalanceSpec | None) -> dict[str, Any]:
    done = sum(part.state in (PartState.DONE, PartState.IN_PLACE) for part in rebalance_state.parts)
    found: dict[str, Any] = {"hash": rebalance_state.hash} if rebalance_state.hash else {}
    return {
        **found,
        "clusters": len(rebalance_state.parts),
        "clustersDone": done,
        "moves": rebalance_state.moves,
        "bytes": rebalance_state.bytes,
        "movesDone": sum(part.moves_done for part in rebalance_state.parts),
        "bytesDone": sum(part.bytes_done for part in rebalance_state.parts),
        "waves": rebalance_state.waves,
        "seconds": rebalance_state.seconds,
        "approval": _approval(rebalance_state, spec),
    }


def _approval(rebalance_state: RebalanceState, spec: RebalanceSpec | None) -> str:
    if not rebalance_state.hash or (spec and spec.approval.policy is ApprovalPolicy.AUTO):
        return "NotNeeded"
    return "Waiting" if rebalance_state.step is RebalanceStep.WAITING_FOR_APPROVAL else "Approved"


def _cluster(part: ClusterRebalance, message_bytes_max: int) -> dict[str, Any]:
    found: dict[str, Any] = {"name": part.cluster, "state": part.state.value}
    if part.hash:
        found |= {
            "wave": part.wave,
            "hash": part.hash,
            "moves": part.moves,
            "bytes": part.bytes,
            "movesDone": part.moves_done,
            "bytesDone": part.bytes_done,
        }
    if part.begun:
        found["begun"] = True
    message = part_message(part)
    if len(message) > PART_MESSAGE_MAX:
        message = message[: PART_MESSAGE_MAX - 1] + "…"
    message = shorten(message, message_bytes_max)
    return found | ({"message": message} if message else {})


def part_message(part: ClusterRebalance) -> str:
    """The message about one cluster of a Rebalance."""
    return part.message or few(wording.sentences(part.why), SHOWN_MAX)


def _part(found: Mapping[str, Any]) -> ClusterRebalance:
    return ClusterRebalance(
        cluster=found["name"],
        state=PartState(found["state"]),
        wave=found.get("wave", 1),
        hash=found.get("hash", ""),
        moves=found.get("moves", 0),
        bytes=found.get("bytes", 0),
        moves_done=found.get("movesDone", 0),
        bytes_done=found.get("bytesDone", 0),
        begun=found.get("begun", False),
        message=found.get("message", ""),
    )


def _time(ms: int) -> str:
    if not ms:
        return ""
    text = datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _ms(text: str) -> int:
    return moment_ms(text) or 0
