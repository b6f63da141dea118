"""The adaptive throttle: its next rate, and why, from what was measured during a request.

The rate rises by a constant step while the cluster keeps up, and halves when it does not (additive
increase, multiplicative decrease: small steps up, and a quick way down). In order of importance:

* A replica on a live broker that was in sync before the run left the ISR: half. One that leaves
  because others have arrived does not count.
* In-sync replicas fell further and further behind their leaders, look after look: half. They leave
  the ISR only after `replica.lag.time.max.ms`; the sizes of the logs tell sooner.
* The partitions that move receive more than the rate lets through: up to what they receive, with a
  margin, because otherwise they never arrive. Halving does not go below it either.
* The copies use less than half of the rate: something else limits them, and it stays.
* Otherwise: a step up.

Only what the brokers of the run lead or hold is looked at. A rate is written to every broker of the
run, so a run raises it at most `CHANGES_MAX` times; halving ends at the least rate.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_queries import missing_replicas, not_fully_in_sync
from poolkeeper.model.execution.runs import RateReason
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster, Partition, Replicas, TopicPartition
from poolkeeper.planning.run_state.throttling import throttles

CHANGES_MAX = 100
LOOKS = 3
LAG_BYTES_MIN = 64 * 1024 * 1024
"""A replica that is less behind than that is not: logs are not measured at one moment."""
INGEST_MARGIN = 1.25


@frozen
class SizeLook:
    """The sizes of logs at one time: by partition and broker, with the leaders of that time."""

    at_ms: int
    sizes: Mapping[TopicPartition, Mapping[int, int]]
    leaders: Mapping[TopicPartition, int]


@frozen
class RateSignals:
    """What was measured; `None` is not known.

    `out_of_sync`: partitions that lost a live in-sync replica since the run began. `behind`:
    partitions with a replica that falls further behind its leader. `ingest_bytes_per_s`: the most
    that one broker's copies must keep up with. `copied_bytes_per_s`: the most that one broker
    receives of them.
    """

    out_of_sync: frozenset[TopicPartition] = frozenset()
    behind: frozenset[TopicPartition] = frozenset()
    ingest_bytes_per_s: float | None = None
    copied_bytes_per_s: float | None = None


@frozen
class NextRate:
    """The rate to set, and why it is that."""

    bytes_per_s: int
    reason: RateReason


def next_rate(rate: int, start: int, signals: RateSignals, changes: int = 0) -> NextRate:
    """Return the next rate; `start` is the declared one, `changes` how often it was changed."""
    least = _least(start, signals.ingest_bytes_per_s)
    if signals.out_of_sync or signals.behind:
        reason = RateReason.OUT_OF_SYNC if signals.out_of_sync else RateReason.FALLING_BEHIND
        return NextRate(
            max(throttles.next_adaptive_rate(rate, start, healthy=False), least), reason
        )
    if rate < least:
        return NextRate(least, RateReason.INGEST)
    risen = throttles.next_adaptive_rate(rate, start, healthy=True)
    if risen <= rate or changes >= CHANGES_MAX:
        return NextRate(rate, RateReason.HIGHEST)
    copied = signals.copied_bytes_per_s
    if copied is not None and copied < rate / 2:
        return NextRate(rate, RateReason.NOT_LIMITING)
    return NextRate(risen, RateReason.KEEPING_UP)


def _least(start: int, ingest_bytes_per_s: float | None) -> int:
    """Return what the rate must be for the moves to arrive, as far as it may rise."""
    needed = int((ingest_bytes_per_s or 0) * INGEST_MARGIN)
    return min(needed, throttles.ADAPTIVE_RISE_MAX * start)


Reassigned = tuple[Replicas, Replicas]
"""The lists from which, and to which, a request takes a partition."""


def out_of_sync(
    cluster: Cluster,
    reassigned: Mapping[TopicPartition, Reassigned],
    before: Collection[TopicPartition],
    brokers: Collection[int],
) -> frozenset[TopicPartition]:
    """Return the partitions that lost a live replica from the ISR.

    `reassigned`: the partitions of the request. `before`: those that were under-replicated when the
    run began. Only replicas that one of the `brokers` holds, or whose leader is one, count.
    """
    found = set()
    moving = {name.topic for name in reassigned}
    for topic in cluster.topics.values():
        parts = topic.partitions if topic.name in moving else not_fully_in_sync(topic.partitions)
        for partition in parts:
            name = TopicPartition(topic.name, partition.partition)
            if partition.isr is None or name in before:
                continue
            lists = reassigned.get(name)
            missing = missing_replicas(partition) if lists is None else _missing(partition, *lists)
            live = missing & cluster.brokers.keys()
            if live and (partition.leader in brokers or not live.isdisjoint(brokers)):
                found.add(name)
    return frozenset(found)


def _missing(partition: Partition, origin: Replicas, target: Replicas) -> frozenset[int]:
    """The replicas that ought to be in sync and are not: of the origin until the target is there.

    As `missing_replicas`, also up to Kafka 2.3, where a topic does not tell what is added.
    """
    isr, old, new = map(frozenset, (partition.isr or (), origin, target))
    leaving = old - new
    arrived = new - old <= isr or (leaving and leaving.isdisjoint(partition.replicas))
    return (new if arrived else old) - isr


def fallen_behind(looks: Sequence[SizeLook], cluster: Cluster) -> frozenset[TopicPartition]:
    """Return the partitions one of whose in-sync replicas fell further behind in every look.

    A segment that one replica deletes before another changes their sizes once, not again and again.
    """
    if len(looks) < LOOKS:
        return frozenset()
    recent = looks[-LOOKS:]
    return frozenset(
        name for name, leader in recent[-1].leaders.items() if _falls(recent, name, leader, cluster)
    )


def _falls(looks: Sequence[SizeLook], name: TopicPartition, leader: int, cluster: Cluster) -> bool:
    topic = cluster.topics.get(name.topic)
    partition = None if topic is None else topic.partition(name.partition)
    if partition is None or any(look.leaders.get(name) != leader for look in looks):
        return False
    for follower in set(partition.isr or ()) - {leader}:
        lags = [_lag(look.sizes.get(name, {}), leader, follower) for look in looks]
        known = [lag for lag in lags if lag is not None]
        rising = all(a < b for a, b in pairwise(known))
        if len(known) == len(lags) and rising and known[-1] - known[0] >= LAG_BYTES_MIN:
            return True
    return False


def _lag(sizes: Mapping[int, int], leader: int, follower: int) -> int | None:
    if leader not in sizes or follower not in sizes:
        return None
    return sizes[leader] - sizes[follower]


def copied_rate(
    looks: Sequence[SizeLook], arriving: Mapping[TopicPartition, Collection[int]]
) -> float | None:
    """Return the bytes per second that the busiest broker of the `arriving` replicas received."""
    if len(looks) < 2 or looks[-1].at_ms <= looks[-2].at_ms:
        return None
    before, after = looks[-2:]
    grown: dict[int, int] = {}
    for name, brokers in arriving.items():
        for broker in brokers:
            now = after.sizes.get(name, {}).get(broker)
            if now is not None:
                then = before.sizes.get(name, {}).get(broker, 0)
                grown[broker] = grown.get(broker, 0) + max(0, now - then)
    if not grown:
        return None
    return max(grown.values()) * 1000 / (after.at_ms - before.at_ms)


def ingest(moves: Sequence[tuple[Move, int]], cluster: Cluster) -> float | None:
    """Return the most that one broker must copy per second only to keep up; None if unknown.

    `moves`: the moves of the request, each with the index of the list that it goes to. A leader
    sends to every new replica, and a new replica receives what the partition receives. One that is
    in sync counts as well: a throttle does not hold it back, but what it fetches is counted, and
    leaves less to the others (`KafkaApis.handleFetchRequest`, `ReplicaFetcherThread`).
    """
    needed: dict[tuple[str, int], float] = {}
    for move, index in moves:
        topic = cluster.topics.get(move.topic)
        partition = None if topic is None else topic.partition(move.partition)
        if partition is None or partition.in_bytes_per_s is None:
            continue
        before, leader = move.path[index - 1], partition.leader
        added = set(move.path[index]) - {*before, leader}
        if leader in before:  # a new one is no throttled leader
            sent = needed.get(("sends", leader), 0) + len(added) * partition.in_bytes_per_s
            needed["sends", leader] = sent
        for broker in added:
            received = needed.get(("receives", broker), 0) + partition.in_bytes_per_s
            needed["receives", broker] = received
    return max(needed.values(), default=None)
