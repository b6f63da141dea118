"""What waits for throttles, as sentences: other people's, left ones, and those of a run."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.text import few, named
from poolkeeper.wording.pieces import NAMED_MAX

_R = WaitReason


def _conflict(wait: Wait) -> str:
    owners = [f"topic {name}" for name in wait.topics] + [f"broker {b}" for b in wait.brokers]
    some = ", ".join(owners[:NAMED_MAX])
    return f"somebody else set throttles on {some} since the run began: remove them"


def _left_throttles(wait: Wait) -> str:
    if wait.detail:
        return (
            f"a run that is gone left throttles on {_throttled(wait)}, and the config cannot be"
            f" read or written ({wait.detail}): they slow replication until it can be, and"
            " `poolkeeper apply` or `run` takes them off"
        )
    return (
        f"a run that is gone left throttles on {_throttled(wait)}: they slow replication until"
        " `poolkeeper apply` or `run` takes them off, which waits until nothing is being reassigned"
    )


def _unaccounted_throttles(wait: Wait) -> str:
    return (
        f"no run accounts for the throttles on {_throttled(wait)}: if nobody needs them, remove"
        " them with kafka-configs or `poolkeeper repair --remove-unaccounted-throttles`"
    )


def _unreadable(wait: Wait) -> str:
    owners = _throttled(replace(wait, path=""))
    return (
        f"the throttles of the run on {owners} can be neither read nor set ({wait.path}:"
        f" {wait.detail}): what is in flight goes on, and nothing else is moved of them. Let the"
        " config be read again, as by its ACL (`poolkeeper repair` says what helps a damaged one)"
    )


def _unwritable(wait: Wait) -> str:
    held = f"topic {wait.topic} is not moved, as it"
    if wait.brokers:
        held = f"nothing is moved to, from or within {named('broker', wait.brokers)}, as that"
    return (
        f"{held} could not be throttled: {wait.detail}. Let the config be read and written, by its"
        " ACL, or mend it (`poolkeeper repair`): the moves are made then"
    )


def _throttled(wait: Wait) -> str:
    kinds = (("topic", wait.topics), ("broker", wait.brokers))
    found = [
        f"{noun if len(names) == 1 else f'{noun}s'} {few(names, NAMED_MAX, grouped=False)}"
        for noun, names in kinds
        if names
    ]
    default = [f"the default of all brokers ({wait.path})"] if wait.path else []
    return " and ".join((*found, *default))


def _settling(wait: Wait) -> str:
    if wait.brokers:
        return f"the throttle rate is not in force yet on {named('broker', wait.brokers)}"
    return (
        "the brokers are applying the throttle: they are asked for their rates; lists of topics"
        " cannot be asked for, and are given a few seconds"
    )


THROTTLES: Mapping[WaitReason, Callable[[Wait], str]] = {
    _R.THROTTLES_LEFT: _left_throttles,
    _R.THROTTLES_LEFT_TO_KRAFT: lambda wait: (
        f"a run that is gone left throttles on {_throttled(wait)}: they slow replication until they"
        " are taken off with `kafka-configs --alter --delete-config`, as the cluster migrates to"
        " KRaft"
    ),
    _R.THROTTLES_UNACCOUNTED: _unaccounted_throttles,
    _R.THROTTLED_CONFIG_DAMAGED: lambda wait: (
        f"{wait.path} may hold throttles and is damaged ({wait.detail}): run `poolkeeper repair`"
    ),
    _R.THROTTLE_CONFLICT: _conflict,
    _R.THROTTLES_UNREADABLE: _unreadable,
    _R.THROTTLES_UNWRITABLE: _unwritable,
    _R.THROTTLES_YIELDED: lambda wait: (
        f"somebody else set throttles on {_throttled(wait)} during the run: they stay as they are"
    ),
    _R.THROTTLES_NOT_KEPT: lambda wait: (
        f"somebody removed the throttles of the run {wait.count} times: they are not set again, and"
        " what moves is not limited"
    ),
    _R.THROTTLE_SETTLING: _settling,
}
