"""When a session is opened again for other credentials: only after something was not allowed."""

from poolkeeper.controller.loops.session_identity import LOOK_EVERY_S, SessionIdentity
from poolkeeper.errors import Forbidden, Refused, Stale, Unavailable
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, after_error

NOT_ALLOWED = Outcome(State.WAITING, waits=(after_error(Forbidden("no write")),))
DONE = Outcome(State.WAITING)
LOST = Outcome(State.WAITING, waits=(after_error(Stale("changed")),))


class Secret:
    """What the Secret holds, or why it cannot be read; and a clock."""

    def __init__(self) -> None:
        self.holds: object = "old"
        self.now_s = 0.0
        self.reads = 0

    def read(self) -> object:
        self.reads += 1
        if isinstance(self.holds, Exception):
            raise self.holds
        return self.holds


def test_a_session_is_outdated_once_it_may_not_write_and_the_secret_has_others() -> None:
    secret = Secret()
    identity = SessionIdentity(secret.read, lambda: secret.now_s)

    def is_outdated(holds: object, outcome: Outcome = NOT_ALLOWED) -> bool:
        secret.holds = holds
        secret.now_s += LOOK_EVERY_S
        return identity.is_outdated(outcome)

    assert not is_outdated("new", LOST)
    assert secret.reads == 1, "nothing is looked at while all is allowed"
    assert not is_outdated("old")
    assert not is_outdated(Unavailable("there is no Secret"))
    assert not is_outdated(Refused("password is missing"))
    assert is_outdated("new")
    assert identity.waits() == ()
    secret.now_s += LOOK_EVERY_S / 2
    assert not identity.is_outdated(NOT_ALLOWED), "it is looked at from time to time"


def test_a_secret_that_cannot_be_used_is_told_beside_what_is_not_allowed() -> None:
    secret = Secret()
    identity = SessionIdentity(secret.read, lambda: secret.now_s)
    refused, wrong = Forbidden("no write"), Refused("bad request")
    assert not identity.is_outdated(NOT_ALLOWED)
    assert (identity.waits(), identity.explained(refused)) == ((), refused)
    secret.holds = Refused("Secret s: username is no text (expected UTF-8)")
    secret.now_s += LOOK_EVERY_S
    assert not identity.is_outdated(NOT_ALLOWED)
    problem = (
        "no other ZooKeeper identity can be had: Secret s: username is no text (expected UTF-8)"
    )
    assert identity.waits() == (Wait(WaitReason.UNAVAILABLE, detail=problem),)
    assert str(identity.explained(refused)) == f"no write; {problem}"
    assert identity.explained(wrong) is wrong
    assert not identity.is_outdated(DONE)
    assert identity.waits() == ()
