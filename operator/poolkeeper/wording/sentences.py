"""A sentence for any value that a pass returns."""

from collections.abc import Iterable, Mapping

from poolkeeper.errors import PoolkeeperError, Refused
from poolkeeper.model.execution.actions import Action
from poolkeeper.model.execution.outcomes import Why
from poolkeeper.model.execution.punctuality import LateReason, Punctuality
from poolkeeper.model.execution.refusals import Refusal, refusal_of
from poolkeeper.model.execution.runs import RateReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.text import duration
from poolkeeper.wording.actions import action_text
from poolkeeper.wording.refusals import refusal_text
from poolkeeper.wording.waits import wait_text


def sentence(value: Why) -> str:
    """Return a wait, an action or a refusal as a sentence."""
    match value:
        case Wait():
            return wait_text(value)
        case Action():
            return action_text(value)
        case Refusal():
            return refusal_text(value)


def sentences(values: Iterable[Why]) -> tuple[str, ...]:
    """Return values as sentences, in their order."""
    return tuple(map(sentence, values))


def error_text(error: PoolkeeperError) -> str:
    """Return the message of an error, with the values that it carries."""
    return refusal_text(refusal_of(error)) if isinstance(error, Refused) else str(error)


def rate_text(reason: RateReason | None) -> str:
    """Return why an adaptive throttle has its rate, nothing if it does not tell."""
    return "" if reason is None else _RATES[reason]


def punctuality_text(found: Punctuality) -> str:
    """Return how a run goes beside its prediction, and why it is late if it is."""
    gone = f"{duration(found.elapsed_s)} of {duration(found.predicted_s)} predicted"
    if found.reason is not None:
        return f"{gone}; {duration(found.late_s)} late: {lateness_text(found.reason)}"
    return gone


def lateness_text(reason: LateReason) -> str:
    """Return why a run is late."""
    return _LATE[reason]


_LATE: Mapping[LateReason, str] = {
    LateReason.HELD_UP: "something blocks it",
    LateReason.STOOD_STILL: "nothing was copied for a while",
    LateReason.RATE_LOWERED: "the throttle is or was lower than the plan assumed",
    LateReason.SLOWER: "replicas are or were copied more slowly than the plan assumed",
}

_RATES: Mapping[RateReason, str] = {
    RateReason.OUT_OF_SYNC: "halved: partitions lost in-sync replicas",
    RateReason.FALLING_BEHIND: "halved: replicas fall further behind their leaders",
    RateReason.INGEST: "raised to what the moving partitions receive",
    RateReason.KEEPING_UP: "raised: all replicas keep up",
    RateReason.NOT_LIMITING: "left: the copies use less than half of it",
    RateReason.HIGHEST: "left: it is as high as it may get",
    RateReason.DECLARED: "set: the declared rate was changed",
}
