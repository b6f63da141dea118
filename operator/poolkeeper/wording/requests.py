"""A request that nobody works on, as sentences: what it is, and what comes of it."""

from collections.abc import Callable, Mapping

from poolkeeper.model.execution.wait_reasons import Consequence, WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.text import named
from poolkeeper.wording.pieces import are, few_of

_REQUEST = "the request in /admin/reassign_partitions"
_C = Consequence
_CONSEQUENCES: Mapping[Consequence, str] = {
    _C.BLOCKS: "it stays and blocks every later request",
    _C.DROPPED: "it blocks every later request until the next controller drops it",
    _C.HANGS: "it blocks every later request until that broker starts",
    _C.CARRIED_OUT: "it blocks every later request, and the next controller carries it out",
    _C.CRASH_LOOP: "it poisons the topic, and then no controller can start any more: remove it"
    " before the controller changes",
    _C.DATA_LOSS: "the next controller deletes all data of the partition: remove it before the"
    " controller changes",
    _C.DATA_LOSS_OR_CRASH_LOOP: "the next controller deletes all data of the partition (Kafka 2.3"
    " and earlier), or none can start after it (2.4 and later): remove it before the controller"
    " changes",
    _C.IDS_KEPT: "the next controller writes the list to the topic as it is: remove it before the"
    " controller changes",
}


def _requested(what: Callable[[Wait], str]) -> Callable[[Wait], str]:
    """The wording of a request that nobody works on: what it is, and what comes of it."""

    def told(wait: Wait) -> str:
        if wait.consequence is None:
            return what(wait)
        return f"{what(wait)}: {_CONSEQUENCES[wait.consequence]}"

    return told


_R = WaitReason

REQUESTS: Mapping[WaitReason, Callable[[Wait], str]] = {
    _R.UNREADABLE_REQUEST: _requested(
        lambda wait: f"{_REQUEST} cannot be read ({wait.detail or 'it has no entry'})"
    ),
    _R.REQUEST_EMPTY: _requested(lambda wait: f"{_REQUEST} names no partition"),
    _R.REQUEST_KEY_UNKNOWN: _requested(
        lambda wait: f"{_REQUEST} holds {wait.detail}, for which the controller refuses all of it"
    ),
    _R.REQUEST_ENTRY_UNREADABLE: _requested(
        lambda wait: f"{_REQUEST} holds what is no entry ({wait.detail})"
    ),
    _R.REQUEST_IDS_INVALID: _requested(
        lambda wait: (
            f"{_REQUEST} gives {few_of(wait.partitions)} what is no broker id ({wait.detail})"
        )
    ),
    _R.REQUEST_WITHOUT_REPLICAS: _requested(
        lambda wait: f"{_REQUEST} gives {few_of(wait.partitions)} no replicas at all"
    ),
    _R.REQUEST_IDS_TWICE: _requested(
        lambda wait: f"{_REQUEST} names a broker twice for {few_of(wait.partitions)}"
    ),
    _R.REQUEST_PARTITION_UNKNOWN: _requested(
        lambda wait: (
            f"{_REQUEST} names {few_of(wait.partitions)}, which"
            f" {'does' if len(wait.partitions) == 1 else 'do'} not exist"
        )
    ),
    _R.REQUEST_BROKER_UNKNOWN: _requested(
        lambda wait: (
            f"{_REQUEST} wants {few_of(wait.partitions)} on {named('broker', wait.brokers)}, of"
            " which nothing is known"
        )
    ),
    _R.REQUEST_BROKER_NOT_LIVE: _requested(
        lambda wait: (
            f"{_REQUEST} wants {few_of(wait.partitions)} on {named('broker', wait.brokers)}, which"
            f" {are(wait.brokers)} not live"
        )
    ),
    _R.REQUEST_DONE: _requested(
        lambda wait: f"{_REQUEST} still names {few_of(wait.partitions)}, for which it is done"
    ),
    _R.REQUEST_NOT_BEGUN: _requested(
        lambda wait: f"{_REQUEST} names {few_of(wait.partitions)}, and the controller has not begun"
    ),
}
