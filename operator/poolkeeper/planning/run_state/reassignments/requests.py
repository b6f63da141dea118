"""What becomes of every entry of `/admin/reassign_partitions`: who works on it, what it would do.

Kafka's controller looks at the node once, when it is created. What it cannot carry out it drops or,
by release, leaves there; what others add to the node later it does not notice. So the node alone
does not say that anybody works on it. An entry is judged by the partition that it names:

| the entry | and the partition | is |
|---|---|---|
| can be carried out | has the union of old and new, or on 2.3 and earlier might have | at work |
| the same, for a broker that is not live | the same | hanging |
| can be carried out | is as it was, or holds the target in sync, beside others | not begun |
| wants what is there | is in sync | done |
| names no replicas, a broker twice, ids that are no integers | | never carried out |
| names what does not exist, or a broker of which nothing is known | | never carried out |

A request of which nothing is at work blocks every later one, and some of them wait there for the
next controller: it loses data or cannot start (`Consequence`). The table of live brokers that this
follows is in `tests/simulation/test_irregular.py` and `tests/simulation/test_irregular_ends.py`.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_queries import brokers_of
from poolkeeper.model.execution.wait_reasons import Consequence, WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import (
    Cluster,
    Partition,
    ReassignmentEntry,
    Replicas,
    RequestFlaw,
    TopicPartition,
)
from poolkeeper.model.versions import records_moves

_R, _C = WaitReason, Consequence

_NEVER = (
    _R.REQUEST_WITHOUT_REPLICAS,
    _R.REQUEST_IDS_INVALID,
    _R.UNREADABLE_REQUEST,
    _R.REQUEST_KEY_UNKNOWN,
    _R.REQUEST_ENTRY_UNREADABLE,
    _R.REQUEST_EMPTY,
    _R.REQUEST_IDS_TWICE,
    _R.REQUEST_PARTITION_UNKNOWN,
    _R.REQUEST_BROKER_UNKNOWN,
    _R.REQUEST_DONE,
)
"""What can never be carried out, the worst first: the order in which it is told."""
_ORDER = (*_NEVER, _R.REQUEST_BROKER_NOT_LIVE, _R.REQUEST_NOT_BEGUN, _R.FOREIGN_REQUEST)
_OF_FLAW = {
    RequestFlaw.NOT_JSON: _R.UNREADABLE_REQUEST,
    RequestFlaw.NO_ENTRIES: _R.REQUEST_EMPTY,
    RequestFlaw.UNKNOWN_KEY: _R.REQUEST_KEY_UNKNOWN,
    RequestFlaw.BAD_ENTRY: _R.REQUEST_ENTRY_UNREADABLE,
    RequestFlaw.BAD_REPLICAS: _R.REQUEST_IDS_INVALID,
}
_DANGEROUS = frozenset((_C.CRASH_LOOP, _C.DATA_LOSS, _C.DATA_LOSS_OR_CRASH_LOOP, _C.IDS_KEPT))


class Stall(StrEnum):
    """How a request is stuck that only a recovery will end (`stalls`)."""

    STALE = "stale"
    """Nothing of it is left to do, or can ever be done."""
    IGNORED = "ignored"
    """Something of it could be done, and nothing has been begun."""
    UNREACHABLE = "unreachable"
    """It waits for brokers of which nothing is known."""


@frozen
class SeenStall:
    """A stall, the transaction that wrote the request last, and when a process first saw both."""

    stall: Stall
    zxid: int
    since_ms: int


@frozen
class Judgement:
    """What becomes of one entry, or of the request as a whole (then `partition` is None).

    `reason` is FOREIGN_REQUEST for an entry that is at work. `brokers`: those that it waits for.
    `begun`: the partition has the union of old and new.
    """

    reason: WaitReason
    partition: TopicPartition | None = None
    brokers: tuple[int, ...] = ()
    detail: str = ""
    begun: bool = False


@frozen
class Owned:
    """What a request holds of a run: `partitions`, and the lists it may request of its stage's.

    An entry of the run's partition with another list is somebody else's edit.
    """

    partitions: Collection[TopicPartition] = ()
    targets: Mapping[TopicPartition, Collection[Replicas]] | None = None

    def holds(self, entry: ReassignmentEntry) -> bool:
        """Whether the entry is the run's own."""
        name = entry.name
        wanted = (self.targets or {}).get(name, (entry.replicas,))
        return name in self.partitions and entry.replicas in wanted


NOTHING_OWNED = Owned()


def judgements(
    cluster: Cluster, ours: Owned, known: Collection[int] | None = None
) -> tuple[Judgement, ...]:
    """Judge everything in the request that is not ours; empty without a request.

    `known`: the brokers of which anything is known; None where that is not told, then every broker
    that is not live counts as one that may come back.
    """
    if cluster.reassignment is None:
        return ()
    found = [
        Judgement(_OF_FLAW[damage.flaw], damage.partition, detail=damage.detail)
        for damage in cluster.request_damage
    ]
    entries = [entry for entry in cluster.reassignment if not ours.holds(entry)]
    found += [_judge(entry, cluster, known) for entry in entries]
    if not found and not cluster.reassignment:
        found.append(Judgement(_R.UNREADABLE_REQUEST))
    return tuple(found)


def waits(cluster: Cluster, ours: Owned, known: Collection[int] | None = None) -> tuple[Wait, ...]:
    """Name what is in the request beside ours: what can never be carried out first."""
    return tuple(_waits(judgements(cluster, ours, known), records_moves(cluster.kafka_version)))


def hazards(cluster: Cluster) -> tuple[Wait, ...]:
    """Return the entries by which the next controller would lose data or could not start."""
    return tuple(w for w in waits(cluster, NOTHING_OWNED) if w.consequence in _DANGEROUS)


def is_at_work(judged: Iterable[Judgement]) -> bool:
    """Whether anything of a request may still be carried out by the present controller."""
    return any(map(_works_on, judged))


def partitions_at_work(cluster: Cluster) -> frozenset[TopicPartition]:
    """Return the partitions whose entry the present controller may carry out, whoever wrote it."""
    judged = judgements(cluster, NOTHING_OWNED)
    return frozenset(each.partition for each in judged if each.partition and _works_on(each))


def _works_on(judged: Judgement) -> bool:
    return judged.begun and judged.reason in (_R.FOREIGN_REQUEST, _R.REQUEST_BROKER_NOT_LIVE)


def can_never_end(judged: Collection[Judgement]) -> bool:
    """Whether nothing of a request can ever be carried out, by any controller."""
    return all(each.reason in _NEVER for each in judged)


def known_brokers(cluster: Cluster, recorded: Collection[int]) -> frozenset[int]:
    """Return the brokers of which anything is known: live, recorded or declared, with replicas.

    `recorded`: those of the records, in which the declared ones are too.

    A partition that is named by the request does not count: its list may be of that request.
    """
    requested: dict[str, set[int]] = {}
    for entry in cluster.reassignment or ():
        requested.setdefault(entry.topic, set()).add(entry.partition)
    untouched = [t.partitions for name, t in cluster.topics.items() if name not in requested]
    holding = brokers_of(untouched)
    for name in requested.keys() & cluster.topics.keys():
        for partition in cluster.topics[name].partitions:
            if partition.partition not in requested[name]:
                holding.update(partition.replicas)
    return frozenset(cluster.brokers) | set(recorded) | holding


def _judge(entry: ReassignmentEntry, cluster: Cluster, known: Collection[int] | None) -> Judgement:
    name = entry.name
    if entry.topic in cluster.torn or entry.topic in cluster.damaged:
        return Judgement(_R.FOREIGN_REQUEST, name, begun=True)
    topic = cluster.topics.get(entry.topic)
    partition = None if topic is None else topic.partition(entry.partition)
    if partition is None:
        return Judgement(_R.REQUEST_PARTITION_UNKNOWN, name)
    if not entry.replicas:
        return Judgement(_R.REQUEST_WITHOUT_REPLICAS, name)
    if len(set(entry.replicas)) < len(entry.replicas):
        return Judgement(_R.REQUEST_IDS_TWICE, name)
    in_sync = set(partition.replicas) <= set(partition.isr or ())
    if partition.replicas == entry.replicas and not partition.moving and in_sync:
        return Judgement(_R.REQUEST_DONE, name)
    begun = is_begun(entry.replicas, partition, cluster)
    if _is_done_at_once(entry, partition, cluster):
        return Judgement(_R.REQUEST_NOT_BEGUN, name)
    dead = sorted(set(entry.replicas) - set(cluster.brokers) - set(partition.isr or ()))
    if known is not None and (unknown := tuple(b for b in dead if b not in known)):
        return Judgement(_R.REQUEST_BROKER_UNKNOWN, name, unknown, begun=begun)
    if dead:
        return Judgement(_R.REQUEST_BROKER_NOT_LIVE, name, tuple(dead), begun=begun)
    return Judgement(_R.FOREIGN_REQUEST if begun else _R.REQUEST_NOT_BEGUN, name, begun=begun)


def _is_done_at_once(entry: ReassignmentEntry, partition: Partition, cluster: Cluster) -> bool:
    """Whether a controller that hears of it waits for no broker: 2.4 and later, the same set."""
    same = set(entry.replicas) == set(partition.replicas) and not partition.moving
    return same and records_moves(cluster.kafka_version) is True


def is_begun(target: Replicas, partition: Partition, cluster: Cluster) -> bool:
    """Whether the controller works on this target, as far as the topic node tells.

    One whose replicas are all in sync would be reached by then.
    """
    if partition.moving:
        removing = set(partition.removing)
        return tuple(r for r in partition.replicas if r not in removing) == target
    if not set(target) <= set(partition.replicas):
        return False
    if set(target) <= set(partition.isr or ()) & set(cluster.brokers):
        return False
    # Up to 2.3 the union of a smaller or reordered target is the list as it was.
    return records_moves(cluster.kafka_version) is not True


def _waits(judged: Collection[Judgement], recorded: bool | None) -> Iterable[Wait]:
    for reason in _ORDER:
        alike = [each for each in judged if each.reason is reason]
        if not alike:
            continue
        names = tuple(sorted({each.partition for each in alike if each.partition is not None}))
        yield Wait(
            reason,
            partitions=names,
            brokers=tuple(sorted({broker for each in alike for broker in each.brokers})),
            detail=alike[0].detail,
            consequence=_consequence(reason, recorded),
        )


def _consequence(reason: WaitReason, recorded: bool | None) -> Consequence | None:
    """Return what comes of such an entry; `recorded`: on 2.4 and later, None if not known."""
    match reason:
        case _R.FOREIGN_REQUEST:
            return None
        case _R.REQUEST_WITHOUT_REPLICAS if recorded is None:
            return _C.DATA_LOSS_OR_CRASH_LOOP
        case _R.REQUEST_WITHOUT_REPLICAS:
            return _C.CRASH_LOOP if recorded else _C.DATA_LOSS
        case _R.REQUEST_IDS_INVALID:
            return _C.CRASH_LOOP
        case _R.REQUEST_IDS_TWICE:
            return _C.BLOCKS if recorded else _C.IDS_KEPT
        case _R.REQUEST_PARTITION_UNKNOWN:
            return _C.DROPPED
        case _R.REQUEST_BROKER_UNKNOWN | _R.REQUEST_BROKER_NOT_LIVE:
            return _C.HANGS
        case _R.REQUEST_NOT_BEGUN:
            return _C.CARRIED_OUT
        case _:
            return _C.BLOCKS
