"""The events of a KafkaCluster that tell of decisions: a run and how it ends, throttles, remedies.

Other events tell what changed between two statuses (`events`). These tell what a pass decided and
did, as the audit trail does, but for people: one for a decision, none for a pass or a write. A run
may have thousands of stages. So its first stage has an event, and then at most one in
`STAGES_EVERY_S` with the number of those in between.

A loop says of every pass what it waits for. A throttle that was yielded is told once, as long as
that lasts. A restarted operator tells it once more, and so it does of the present stage.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from poolkeeper import wording
from poolkeeper.errors import RefusalReason
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.person_requests import AnswerKind, RequestAnswer
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.resources.status.events import StatusEvent
from poolkeeper.resources.status.wording import count, size

STAGES_EVERY_S = 600.0
RUN_ENDED = "RunEnded"

_A, _R = ActionKind, WaitReason
_WARNINGS = frozenset(
    (
        *(_A.RUN_DISCARDED, _A.RUN_TAKEN_UP, _A.MOVES_CANCELLED, _A.LEADERS_KEPT),
        *(_A.CANCELLED_BY_OTHERS, _A.THROTTLES_TAKEN_OFF, _A.THROTTLES_PUT_BACK),
        *(_A.STALE_REQUEST_WITHDRAWN, _A.UNNOTICED_REQUEST_WITHDRAWN, _A.FOREIGN_MOVE_CANCELLED),
        *(_A.CONTROLLER_WOKEN, _A.CONTROLLER_FAILOVER, _A.ORPHANED_MOVES_FINISHED),
        *(_A.UNCLEAN_ELECTION, _A.LOG_DIR_MOVES_GIVEN_UP, _A.MOVES_UNLIMITED, _A.THROTTLES_STAY),
        *(_A.MOVES_LEFT_TO_KRAFT, _A.THROTTLES_LEFT_TO_KRAFT, _A.COPIES_UNTHROTTLED),
        *(_A.CONFIG_UNLOADABLE, _A.TOPIC_NODE_TOO_LARGE, _A.LOG_DIR_MOVES_STALLED),
    )
)
"""What was done about something that went wrong, or that somebody else did."""
TOLD_ACTIONS = _WARNINGS | {
    *(_A.PLAN_APPROVED, _A.TOPICS_ADOPTED, _A.RUN_BEGUN, _A.STAGE_REQUESTED, _A.RUN_ENDED)
}
TOLD_WAITS: Mapping[WaitReason | RefusalReason, str] = {
    _R.THROTTLES_YIELDED: "ThrottlesYielded",
    _R.THROTTLES_NOT_KEPT: "ThrottlesNotKept",
    _R.THROTTLE_CONFLICT: "ThrottlesYielded",
    _R.THROTTLES_UNREADABLE: "ThrottlesUnreadable",
    _R.THROTTLES_UNWRITABLE: "ThrottlesUnwritable",
    _R.CONFIG_UNLOADABLE: _A.CONFIG_UNLOADABLE.value,
    _R.TOPIC_NODE_TOO_LARGE: _A.TOPIC_NODE_TOO_LARGE.value,
    RefusalReason.THROTTLE_TOO_LOW: _A.MOVES_UNLIMITED.value,
}
"""Decisions to leave something as it is, by the wait that names it; with their reasons."""


def answer_event(answer: RequestAnswer) -> StatusEvent:
    """Return the event that tells what came of a person's request."""
    is_done = answer.kind is AnswerKind.DONE
    reason = "RequestDone" if is_done else "RequestRefused"
    return StatusEvent("Normal" if is_done else "Warning", reason, wording.answer_text(answer))


@frozen
class ToldDecisions:
    """What was told of one cluster.

    `plan`: whose stages were told, the last one at `stage_told_s`; `stages`: how many came since.
    `waits`: the kinds of waits that were told and last. `has_ended`: the end of the last run was
    told, and no other run was seen since.
    """

    plan: str = ""
    stage_told_s: float = 0.0
    stages: int = 0
    waits: frozenset[WaitReason | RefusalReason] = frozenset()
    has_ended: bool = False


def decision_events(
    outcome: Outcome, told: ToldDecisions, now_s: float
) -> tuple[tuple[StatusEvent, ...], ToldDecisions]:
    """Return the events of one pass, and what is told after it."""
    events: list[StatusEvent] = []
    ended = any(action.kind is _A.RUN_ENDED for action in outcome.did)
    told = replace(told, has_ended=ended or (told.has_ended and outcome.progress is None))
    for action in outcome.did:
        if action.kind is _A.STAGE_REQUESTED:
            event, told = _stage(action, outcome, told, now_s)
            events += [event] if event else []
        elif action.kind in TOLD_ACTIONS:
            events.append(_event(action, outcome))
    named = ((wait.refusal.reason if wait.refusal else wait.reason, wait) for wait in outcome.waits)
    present = {reason: wait for reason, wait in named if reason in TOLD_WAITS}
    events += _yielded(present, told.waits)
    if outcome.plan is not None or outcome.waits:  # what an outage hides has not ended
        told = replace(told, waits=frozenset(present))
    return tuple(events), told


def _event(action: Action, outcome: Outcome) -> StatusEvent:
    match action.kind:
        case _A.PLAN_APPROVED:
            return StatusEvent("Normal", _A.PLAN_APPROVED.value, wording.sentence(action))
        case _A.RUN_BEGUN:
            return StatusEvent("Normal", _A.RUN_BEGUN.value, _begun(action, outcome))
        case _A.TOPICS_ADOPTED:
            return StatusEvent("Normal", action.kind.value, wording.sentence(action))
        case _A.RUN_ENDED:
            as_asked = action.ending in (None, Ending.FINISHED, Ending.REPLACED, Ending.STOPPED)
            return StatusEvent(
                "Normal" if as_asked else "Warning", RUN_ENDED, _ended(action, outcome)
            )
        case _:
            return StatusEvent("Warning", action.kind.value, wording.sentence(action))


def _begun(action: Action, outcome: Outcome) -> str:
    what = []
    if outcome.plan is not None:
        moved = sum(move.bytes for move in outcome.plan.moves)
        what.append(f"{count(len(outcome.plan.moves), 'move')}, {size(moved)}")
    what += [action.by] if action.by else []
    return "; ".join((wording.sentence(action), *what))


def _ended(action: Action, outcome: Outcome) -> str:
    said = wording.sentence(action)
    progress = outcome.progress
    if progress is None:
        return said
    done = f"{progress.moves_done} of {count(progress.moves_total, 'move')} done"
    return f"{said}; {done} in {count(progress.stage, 'stage')}; plan {progress.plan}"


def _stage(
    action: Action, outcome: Outcome, told: ToldDecisions, now_s: float
) -> tuple[StatusEvent | None, ToldDecisions]:
    plan = "" if outcome.progress is None else outcome.progress.plan
    if told.plan == plan and now_s - told.stage_told_s < STAGES_EVERY_S:
        return None, replace(told, stages=told.stages + 1)
    since = told.stages if told.plan == plan else 0
    more = f"; {count(since, 'stage')} since the last event" if since else ""
    event = StatusEvent("Normal", action.kind.value, f"{wording.sentence(action)}{more}")
    return event, replace(told, plan=plan, stage_told_s=now_s, stages=0)


def _yielded(
    present: Mapping[WaitReason | RefusalReason, Wait],
    told: frozenset[WaitReason | RefusalReason],
) -> Iterator[StatusEvent]:
    for reason, wait in present.items():
        if reason not in told:
            yield StatusEvent("Warning", TOLD_WAITS[reason], wording.sentence(wait))
