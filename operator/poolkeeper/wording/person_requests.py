"""What came of a person's request, as sentences."""

from collections.abc import Callable, Mapping

from poolkeeper.model.execution.person_requests import AnswerKind, RequestAnswer, RequestKind

_DONE: Mapping[RequestKind, str] = {
    RequestKind.STOP: "the run {plan} ends after the stage in flight",
    RequestKind.ROLLBACK: "what is in flight of the run {plan} is cancelled, and the run ends",
    RequestKind.RESUME: "what was stopped may begin again",
}


def _done(answer: RequestAnswer) -> str:
    assert answer.request is not None, "it was understood"
    return _DONE[answer.request.kind].format(plan=answer.plan)


_A = AnswerKind
_ANSWERS: Mapping[AnswerKind, Callable[[RequestAnswer], str]] = {
    _A.DONE: _done,
    _A.NO_RUN: lambda answer: "no run is under way: there is nothing to end",
    _A.OTHER_RUN: lambda answer: (
        f"the run {answer.plan} is under way, and the request names another one: ask again"
    ),
    _A.NOT_STOPPED: lambda answer: (
        f"the run {answer.plan} is still to end, as was asked for: resume after that"
        if answer.plan
        else "nothing is stopped"
    ),
    _A.NO_EXECUTOR: lambda answer: (
        "the mode is PlanOnly, in which nobody works on a run: set spec.mode to Apply or Paused"
    ),
    _A.UNREADABLE: lambda answer: (
        f"{answer.text[:80]!r} is no request: expected stop, rollback or resume, and the hash of"
        " the run"
    ),
}


def answer_text(answer: RequestAnswer) -> str:
    """Return what came of a request, in a sentence."""
    return _ANSWERS[answer.kind](answer)
