"""Partitions that cannot move now, as sentences: what they lack, and what helps."""

from collections.abc import Callable, Mapping

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import RoomNeed, RoomShortage, Wait
from poolkeeper.text import few, join, listed, named, size, sizes_of_mib
from poolkeeper.wording.pieces import (
    MIB,
    amount_on_broker,
    brokers_are,
    counted,
    deletion_taken_back,
    few_of,
    lack,
    node_too_large,
    whole_mib,
)

_WAITING_NAMED_MAX = 3


def _hanging(wait: Wait) -> str:
    waiting = few(wait.partitions, _WAITING_NAMED_MAX, grouped=False)
    waiting += " wait" if len(wait.partitions) > 1 else " waits"
    if wait.reason is WaitReason.LEAVING_BROKER_NOT_LIVE:  # as one does that is drained
        given_up = "roll back if it is gone for good: the next plan takes its replicas away first"
    else:
        given_up = "drain it if it is gone for good, which cancels what waits for it"
    return f"{brokers_are(wait.brokers)} not live; {waiting} for it: start it again, or {given_up}"


def _target_not_live(wait: Wait) -> str:
    them = "it" if len(wait.brokers) == 1 else "them"
    return (
        f"{few_of(wait.partitions)}: {brokers_are(wait.brokers)} not live, and replicas are to be"
        f" there: start {them} again, or drain {them}"
    )


def _sourceless(wait: Wait) -> str:
    alone = "it" if len(wait.brokers) == 1 else "one of them"
    return (
        f"{brokers_are(wait.brokers)} not live, and no other broker holds"
        f" {few(wait.partitions, _WAITING_NAMED_MAX, grouped=False)} in sync: start {alone} again."
        " If that cannot be, what was never copied is lost: to go on from what was copied, set"
        " unclean.leader.election.enable=true on the topic with kafka-configs (up to Kafka 2.0 the"
        " next controller sees it); before Kafka 2.4, to let the move go instead, remove"
        f" {named('broker', wait.brokers)} from every pool"
    )


def _unreadable(wait: Wait) -> str:
    return (
        f"topic {wait.topic} cannot be read ({wait.detail}), so the run does not see"
        f" {few_of(wait.partitions)}, which may be in flight: let it be read again, as by its ACL"
        " (`poolkeeper repair` says what is wrong); the run then goes on by itself, and keeps its"
        " throttles until it ends"
    )


def _held_last(wait: Wait) -> str:
    """Say who must be started again; nothing where that is not known."""
    if not wait.brokers:
        return ""
    return f": {named('broker', wait.brokers)} held it in sync last, and must be started again"


def _held_up_deletion(wait: Wait) -> str:
    kept = "" if not wait.partitions else f"{few_of(wait.partitions)}: "
    return (
        f"{kept}topic {wait.topic} is being deleted, and {brokers_are(wait.brokers)} not live:"
        f" Kafka ends the deletion once {'it has' if len(wait.brokers) == 1 else 'they have'}"
        f" started; where {'it is' if len(wait.brokers) == 1 else 'they are'} gone for good, an"
        " empty broker of the same id does as well"
    )


def _few_in_sync(wait: Wait) -> str:
    return (
        f"moving {few_of(wait.partitions)} to {list(wait.replicas)} would leave {wait.count} of"
        f" {len(wait.replicas)} replicas in sync, {wait.of} are needed"
    )


def _worsened(wait: Wait) -> str:
    return (
        f"moving {few_of(wait.partitions)} from {list(wait.before)} to {list(wait.replicas)} would"
        f" violate the law {wait.law} further"
    )


def _room(wait: Wait) -> str:
    shortage = wait.room or RoomShortage()
    partitions = counted(shortage.more, "more partition")
    more = f"; {partitions} {lack(shortage.more)} space too" if shortage.more > 0 else ""
    ways = ", or ".join(f"free {listed(map(amount_on_broker, way))}" for way in shortage.ways)
    told = "; ".join(_need(need) for need in shortage.needs)
    return f"{told}{more}" + (f". {ways[0].upper()}{ways[1:]}" if ways else "")


def _need(need: RoomNeed) -> str:
    needed, left = sizes_of_mib(whole_mib(need.needed_bytes), need.left_bytes // MIB)
    return (
        f"{need.partition} needs {needed} on broker {need.broker}, which has {left} left below its"
        " high-water mark"
    )


def _stands_still(wait: Wait) -> str:
    still = f"broker {join(wait.brokers)} is live and copies nothing of {few_of(wait.partitions)}"
    anew = "stop that broker, delete the partition's folder there, and start it again"
    if wait.count > wait.of:
        return (
            f"{still}, of which it holds {size(wait.count)} and the leader {size(wait.of)}. Was"
            " ZooKeeper restored from an old backup? Then save that log before the broker restarts,"
            f" as it would be cut to what the leader has. If nobody needs it, {anew}"
        )
    return (
        f"{still}: its log tells why. If that is another topic id, what it has there is of an"
        f" earlier topic of this name: {anew}. Else mend what the log names, as a segment.bytes"
        " smaller than a batch, and restart that broker then: it does not try again by itself"
    )


_R = WaitReason
PARTITIONS: Mapping[WaitReason, Callable[[Wait], str]] = {
    _R.BROKER_NOT_LIVE: _hanging,
    _R.LEAVING_BROKER_NOT_LIVE: _hanging,
    _R.SOURCES_NOT_LIVE: _sourceless,
    _R.TOPIC_UNREADABLE: _unreadable,
    _R.TARGET_NOT_LIVE: _target_not_live,
    _R.TOPIC_QUEUED_FOR_DELETION: lambda wait: (
        f"{few_of(wait.partitions)}: topic {wait.topic} is being deleted"
    ),
    _R.DELETION_TAKEN_BACK: lambda wait: (
        f"{deletion_taken_back(wait.topic)}; it is asked for again every 10 minutes"
    ),
    _R.DELETION_AWAITS_BROKERS: _held_up_deletion,
    _R.PARTITION_STATE_UNKNOWN: lambda wait: (
        f"{few_of(wait.partitions)}: the partition's state is not known"
    ),
    _R.PARTITION_LEADERLESS: lambda wait: (
        f"{few_of(wait.partitions)}: the partition has no leader{_held_last(wait)}"
    ),
    _R.REPLICA_NOT_IN_SYNC: lambda wait: (
        f"{few_of(wait.partitions)}: replica {join(wait.brokers)} is not in sync yet"
    ),
    _R.NO_LIVE_REPLICA_IN_SYNC: lambda wait: (
        f"{few_of(wait.partitions)}: no in-sync replica is live{_held_last(wait)}"
    ),
    _R.TOO_FEW_IN_SYNC: _few_in_sync,
    _R.TOPIC_NODE_TOO_LARGE: lambda wait: node_too_large(wait.topic),
    _R.LAW_WORSENED: _worsened,
    _R.NO_ROOM_ON_DISKS: _room,
    _R.COPY_NOT_BEGUN: lambda wait: (
        f"broker {join(wait.brokers)} is live and has not begun to copy"
        f" {few_of(wait.partitions)}: if its log tells of an invalid config of the topic, set that"
        " right first, as it would not start with it; else restart it, as it ignores what the"
        " controller tells it"
    ),
    _R.CONFIG_UNLOADABLE: lambda wait: (
        f"no broker can load the config of topic {wait.topic}, and so none makes a replica of it"
        f" ({wait.detail}): set it right with kafka-configs, before a broker restarts"
    ),
    _R.COPY_STANDS_STILL: _stands_still,
    _R.LEADER_UNAWARE: lambda wait: (
        f"broker {join(wait.brokers)} is live and leads {few_of(wait.partitions)}, and does not"
        " know of the new replicas: restart it if this lasts, as it ignores what the controller"
        " tells it"
    ),
}
