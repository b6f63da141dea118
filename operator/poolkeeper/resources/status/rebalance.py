"""The status of a Rebalance: its progress, and the next step for a person.

A status is read by people, and by the next leader, which resumes from it: `course_of` reads what
`rebalance_status` writes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from poolkeeper import wording
from poolkeeper.model.rebalances import (
    ClusterRebalance,
    Course,
    PartState,
    RebalanceSpec,
    RebalanceStep,
)
from poolkeeper.model.specs import ApprovalPolicy
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import Mood, Remark, condition_of, conditions
from poolkeeper.resources.status.events import NOTE_MAX, Announcement
from poolkeeper.resources.status.wording import about, coarse_seconds, count, few, size

PART_MESSAGE_MAX = 1024
SHOWN_MAX = 3


@dataclass(frozen=True, slots=True)
class Saying:
    """The course of a Rebalance and the remark for its Ready condition."""

    course: Course
    remark: Remark


def rebalance_status(
    each: CustomResource, said: Saying, spec: RebalanceSpec | None, now_ms: int
) -> dict[str, Any]:
    """The whole status of a Rebalance."""
    course = said.course
    facts: dict[str, Any] = {
        "step": course.step.value,
        "engine": course.engine,
        "asked": _time(course.asked_ms),
        "scope": course.scope,
        "record": course.record,
        "ended": _time(course.ended_ms),
    }
    if course.parts:
        facts["plan"] = _plan(course, spec)
        facts["clusters"] = [_cluster(part) for part in course.parts]
    return {
        "observedGeneration": each.generation,
        **{name: value for name, value in facts.items() if value},
        "conditions": conditions(said.remark, each.generation, each.status, now_ms),
    }


def course_of(status: Mapping[str, Any] | None) -> Course:
    """The course recorded in a status; a new course if the status has none."""
    found = status or {}
    plan = found.get("plan") or {}
    return Course(
        step=RebalanceStep(found.get("step", RebalanceStep.PLANNING)),
        asked_ms=asked_ms(found),
        scope=found.get("scope", ""),
        engine=found.get("engine", ""),
        hash=plan.get("hash", ""),
        record=found.get("record", ""),
        waves=plan.get("waves", 0),
        seconds=plan.get("seconds", 0),
        ended_ms=_ms(found.get("ended", "")),
        parts=tuple(_part(each) for each in found.get("clusters") or ()),
    )


def asked_ms(status: Mapping[str, Any]) -> int:
    """The time at which planning began, in milliseconds; 0 before that."""
    return _ms(status.get("asked", ""))


def invalid(each: CustomResource) -> Remark:
    """The remark of a Rebalance whose spec is invalid."""
    message = few(map(str, each.problems)) or "it cannot be read"
    return Remark(Mood.STALLED, "Invalid", message)


def remark_of(course: Course, spec: RebalanceSpec) -> Remark:
    """The remark of a Rebalance that nothing blocks."""
    match course.step:
        case RebalanceStep.PLANNING:
            return Remark(Mood.BUSY, "Planning", "the clusters are read and planned")
        case RebalanceStep.WAITING_FOR_APPROVAL:
            return _waiting(course, spec)
        case RebalanceStep.EXECUTING:
            return _executing(course, spec)
        case RebalanceStep.SUCCEEDED:
            return Remark(Mood.DONE, "Succeeded", _succeeded(course))
        case RebalanceStep.FAILED:
            return Remark(Mood.STALLED, "Failed", _failed(course))


def rebalance_events(
    before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Iterator[Announcement]:
    """The event of a change of reason, and one for each cluster that failed."""
    was, now = condition_of(before, "Ready"), condition_of(after, "Ready")
    bad = bool(condition_of(after, "Stalled")) or now["status"] == "Unknown"
    if was.get("reason") != now["reason"]:
        note = now["message"][:NOTE_MAX]
        yield Announcement("Warning" if bad else "Normal", now["reason"], note)
    if (before or {}).get("step") != RebalanceStep.EXECUTING:
        return
    failed = {part.cluster for part in course_of(before).failed}
    for part in course_of(after).failed:
        if part.cluster not in failed:
            note = f"{part.cluster}: {part.message}"[:NOTE_MAX]
            yield Announcement("Warning", "ClusterFailed", note)


def approval_line(name: str, plan: str) -> str:
    """The command that approves the plans of a Rebalance."""
    patch = f'{{"spec":{{"approval":{{"plans":["{plan}"]}}}}}}'
    return f"kubectl patch rebalance {name} --type=merge -p '{patch}'"


def _waiting(course: Course, spec: RebalanceSpec) -> Remark:
    moving = [part for part in course.parts if part.hash]
    copied = f" ({size(course.bytes)})" if course.bytes else ""
    where = f"in {count(len(moving), 'cluster')}, in {count(course.waves, 'wave')}"
    took = f", {about(coarse_seconds(course.seconds))}" if course.seconds else ""
    what = f"waits to move {count(course.moves, 'partition')}{copied} {where}{took}"
    others = f"; {_named(course, PartState.FAILED)}" if course.failed else ""
    line = approval_line(spec.name, course.hash)
    message = f"{what}{others}; approve {course.hash}: {line}"
    return Remark(Mood.BUSY, "WaitingForApproval", message)


def _executing(course: Course, spec: RebalanceSpec) -> Remark:
    done = sum(part.state in (PartState.DONE, PartState.IN_PLACE) for part in course.parts)
    parts = [f"{done} of {count(len(course.parts), 'cluster')} done"]
    moved = sum(part.moves_done for part in course.parts)
    parts.append(f"{moved} of {count(course.moves, 'move')}")
    left = course.bytes - sum(part.bytes_done for part in course.parts)
    parts += [f"{size(left)} left"] if left > 0 else []
    message = ", ".join(parts)
    moving = any(part.state is PartState.MOVING for part in course.parts)
    for state in (PartState.FAILED, PartState.WAITING):
        if told := _named(course, state):
            message += f"; {'failed' if state is PartState.FAILED else 'waits'}: {told}"
    if spec.paused:
        return Remark(
            Mood.BUSY,
            "Paused",
            (f"stages in flight run to their end, no further stage starts; {message}"),
        )
    reason = "Moving" if moving or not _named(course, PartState.WAITING) else "Waiting"
    return Remark(Mood.BUSY, reason, message)


def _succeeded(course: Course) -> str:
    if not course.moves:
        return f"in place: nothing had to move in {count(len(course.parts), 'cluster')}"
    moving = sum(bool(part.hash) for part in course.parts)
    copied = f" ({size(course.bytes)})" if course.bytes else ""
    where = count(moving, "cluster")
    remarks = [f"{part.cluster}: {told(part)}" for part in course.parts if told(part)]
    said = f"moved {count(course.moves, 'partition')}{copied} in {where}"
    return "; ".join([said, *remarks[:SHOWN_MAX]])


def _failed(course: Course) -> str:
    done = sum(part.state in (PartState.DONE, PartState.IN_PLACE) for part in course.parts)
    said = f"{done} of {count(len(course.parts), 'cluster')} done"
    return f"{said}; {_named(course, PartState.FAILED)}; make another Rebalance for the rest"


def _named(course: Course, state: PartState) -> str:
    found = [f"{part.cluster}: {told(part)}" for part in course.parts if part.state is state]
    return few(found, SHOWN_MAX)


def _plan(course: Course, spec: RebalanceSpec | None) -> dict[str, Any]:
    done = sum(part.state in (PartState.DONE, PartState.IN_PLACE) for part in course.parts)
    found: dict[str, Any] = {"hash": course.hash} if course.hash else {}
    return {
        **found,
        "clusters": len(course.parts),
        "clustersDone": done,
        "moves": course.moves,
        "bytes": course.bytes,
        "movesDone": sum(part.moves_done for part in course.parts),
        "bytesDone": sum(part.bytes_done for part in course.parts),
        "waves": course.waves,
        "seconds": course.seconds,
        "approval": _approval(course, spec),
    }


def _approval(course: Course, spec: RebalanceSpec | None) -> str:
    if not course.hash or (spec and spec.approval.policy is ApprovalPolicy.AUTO):
        return "NotNeeded"
    return "Waiting" if course.step is RebalanceStep.WAITING_FOR_APPROVAL else "Approved"


def _cluster(part: ClusterRebalance) -> dict[str, Any]:
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
    message = told(part)
    if len(message) > PART_MESSAGE_MAX:
        message = message[: PART_MESSAGE_MAX - 1] + "…"
    return found | ({"message": message} if message else {})


def told(part: ClusterRebalance) -> str:
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
        message=found.get("message", ""),
    )


def _time(ms: int) -> str:
    if not ms:
        return ""
    text = datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000) if text else 0
