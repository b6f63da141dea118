"""What a person asks of a run from outside: on Kubernetes, by an annotation of the KafkaCluster.

    poolkeeper.dev/request: stop                    the run under way, whichever it is
    poolkeeper.dev/request: stop sha256:5f2a…       this run, and no other
    poolkeeper.dev/request: rollback sha256:5f2a… allow-controller-failover
    poolkeeper.dev/request: resume                  what was stopped may begin again

A request is carried out once and its annotation taken away. One that names a run never concerns
another one, however late it is heard.
"""

import re
from enum import StrEnum

from poolkeeper.frozen import frozen

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
ALLOW_FAILOVER = "allow-controller-failover"
TEXT_MAX = 200


class RequestKind(StrEnum):
    """What is asked for."""

    STOP = "stop"
    ROLLBACK = "rollback"
    RESUME = "resume"


class AnswerKind(StrEnum):
    """What came of a request; a word of status."""

    DONE = "Done"
    NO_RUN = "NoRun"
    OTHER_RUN = "OtherRun"
    NOT_STOPPED = "NotStopped"
    NO_EXECUTOR = "PlanOnly"
    UNREADABLE = "Unreadable"


@frozen
class PersonRequest:
    """A request; `plan` is the hash of the run that it concerns, empty for any."""

    kind: RequestKind
    plan: str = ""
    allow_failover: bool = False

    def __str__(self) -> str:
        words = (self.kind.value, self.plan, ALLOW_FAILOVER if self.allow_failover else "")
        return " ".join(filter(None, words))


@frozen
class RequestAnswer:
    """What came of the request with that text, and when.

    `plan` is the run that it concerned, or that is still to end before anything can be resumed.
    """

    text: str
    kind: AnswerKind
    at_ms: int
    request: PersonRequest | None = None
    plan: str = ""


def read_request(text: str) -> PersonRequest | None:
    """Return the request with this text, or None if it is none."""
    first, *words = text.split() or [""]
    if first not in list(RequestKind) or len(text) > TEXT_MAX:
        return None
    hashes = [word for word in words if _HASH.fullmatch(word)]
    others = [word for word in words if word not in hashes]
    if len(hashes) > 1 or any(word != ALLOW_FAILOVER for word in others):
        return None
    return PersonRequest(RequestKind(first), "".join(hashes), bool(others))
