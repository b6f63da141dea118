"""Carries out what a person asks of a run by the annotation `poolkeeper.dev/request`.

It is written to the cluster's journal first, as `poolkeeper stop` does, and the annotation is taken
away after that (`reporter`). What happens to both in between is harmless: the same request of the
same run changes nothing more, and one that names another run is not carried out.
"""

from poolkeeper.model.execution.person_requests import (
    AnswerKind,
    PersonRequest,
    RequestAnswer,
    RequestKind,
    read_request,
)
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.reconcile.access import ClusterAccess
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.fenced_session import OnCommit, note_nothing
from poolkeeper.zk.journal import journal


def refuse(text: str, now_ms: int) -> RequestAnswer:
    """Return the answer of a loop that writes nothing, as the mode is PlanOnly."""
    request = read_request(text)
    kind = AnswerKind.UNREADABLE if request is None else AnswerKind.NO_EXECUTOR
    return RequestAnswer(text, kind, now_ms, request)


def carry_out(
    session: Session,
    access: ClusterAccess,
    text: str,
    now_ms: int,
    on_commit: OnCommit = note_nothing,
) -> RequestAnswer:
    """Write to the journal what is asked for; raises what a write raises, and may be repeated."""
    request = read_request(text)
    if request is None:
        return RequestAnswer(text, AnswerKind.UNREADABLE, now_ms)
    if request.kind is RequestKind.RESUME:
        return _resume(session, access, request, text, now_ms)
    return _stop(session, request, text, now_ms, on_commit)


def _resume(
    session: Session, access: ClusterAccess, request: PersonRequest, text: str, now_ms: int
) -> RequestAnswer:
    if access.read_stopped() is not None:
        access.remember_stopped(None)
        return RequestAnswer(text, AnswerKind.DONE, now_ms, request)
    run = journal.read_run(session)
    ending = run is not None and access.read_stop() is not None
    plan = run.plan if run is not None and ending else ""
    return RequestAnswer(text, AnswerKind.NOT_STOPPED, now_ms, request, plan)


def _stop(
    session: Session, request: PersonRequest, text: str, now_ms: int, on_commit: OnCommit
) -> RequestAnswer:
    run = journal.read_run(session)
    if run is None:
        return RequestAnswer(text, AnswerKind.NO_RUN, now_ms, request)
    if request.plan not in ("", run.plan):
        return RequestAnswer(text, AnswerKind.OTHER_RUN, now_ms, request, run.plan)
    at_once = request.kind is RequestKind.ROLLBACK
    journal.request_stop(session, StopRequest(at_once, request.allow_failover), on_commit)
    return RequestAnswer(text, AnswerKind.DONE, now_ms, request, run.plan)
