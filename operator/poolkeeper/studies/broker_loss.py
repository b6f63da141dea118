"""What becomes of every partition when brokers are lost at once, by Kafka's own elections.

The controller takes the lost brokers' partitions one by one:

    its leader is lost        elected: the first replica of the assignment that is live and in sync
                              (`algorithms.elections`); else, where unclean elections are on, the
                              first live one, and what it lacks is gone; else the partition is
                              offline, until a replica that was in sync is back
    only followers are lost   they leave the in-sync replicas; only producers with acks=all notice,
                              where fewer than `min.insync.replicas` are left

Brokers are lost one after the other in truth, within seconds, and one of them may be elected before
it is missed itself. Where a live replica is in sync, the end is the same. Where none is, the last
member of the in-sync replicas stays listed. Which one that will be cannot be known before, so all
that were in sync are in `isr`: any of them may be the one that must come back.

A replica in a log directory that failed is not live, though its broker is: nobody elects it.

Not studied: topics that are being deleted, as they have no elections. A partition of which leader
or in-sync replicas are unknown counts as led by its first live replica and wholly in sync.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from poolkeeper.algorithms import elections
from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Broker, Cluster, Partition, Replicas, Topic, TopicPartition
from poolkeeper.planning.problem.offline_replicas import brokers_with_failures, offline_on
from poolkeeper.studies.controller_times import ControllerTimes, controller_times
from poolkeeper.studies.loss_settings import LossSettings, SettingSource

NO_LEADER = -1


class PartitionFate(StrEnum):
    """What becomes of a partition."""

    KEPT = "keeps its leader"
    ELECTED = "gets another leader"
    UNCLEAN = "gets a leader that is not in sync"
    OFFLINE = "has no leader"


class LostPartition(NamedTuple):
    """A partition with a replica on a lost broker, before and after.

    `leader`: -1 for none. `isr`: after; of a partition without a leader those of which the last one
    gone must return, of one with an unclean leader that leader, whom others join. `below_min_isr`:
    producers that wait for all are refused. `was_offline`, `was_below`: the same before. `rescuer`:
    the replica that an unclean election would take where nothing else helps; None: nothing helps,
    or nothing is to be helped.
    """

    name: TopicPartition
    replicas: Replicas
    fate: PartitionFate
    leader_before: int
    leader: int
    isr: Replicas
    min_isr: int
    below_min_isr: bool
    was_offline: bool
    was_below: bool
    rescuer: int | None
    size_bytes: int | None


@frozen
class LeaderLoad:
    """What a broker leads before and after a loss.

    Bytes per second are what producers write to the partitions that it leads; of `unknown` of them
    after the loss, and of `unknown_before` before, the rate is not known and not in the sum.
    """

    broker: int
    rack: str | None
    leaders_before: int
    leaders: int
    in_bytes_per_s_before: float
    in_bytes_per_s: float
    unknown_before: int
    unknown: int


@frozen
class LossAssumptions:
    """What was not known and is taken for granted, in numbers of partitions and of topics."""

    partitions_of_unknown_state: int = 0
    topics_of_default_min_isr: int = 0
    topics_of_default_unclean: int = 0
    topics_of_unknown_config: int = 0


@frozen
class BrokerLoss:
    """The study: `partitions` have a replica on a lost broker, `total` is all of the cluster's.

    `controller_lost` is None where nobody knows who is controller.
    """

    lost: tuple[int, ...]
    controller_lost: bool | None
    total: int
    partitions: tuple[LostPartition, ...]
    loads: tuple[LeaderLoad, ...]
    times: tuple[ControllerTimes, ...]
    assumptions: LossAssumptions

    def of_fate(self, *fates: PartitionFate) -> tuple[LostPartition, ...]:
        """The partitions that have one of these fates, and were not offline before."""
        return tuple(p for p in self.partitions if p.fate in fates and not p.was_offline)

    @property
    def newly_below(self) -> tuple[LostPartition, ...]:
        """The partitions with a leader that fall below `min.insync.replicas` by this loss."""
        return tuple(
            p
            for p in self.partitions
            if p.below_min_isr and not p.was_below and p.fate is not PartitionFate.OFFLINE
        )


def lose(cluster: Cluster, lost: Collection[int], settings: LossSettings) -> BrokerLoss:
    """Study the loss of live brokers; `lost` holds ids of the cluster's brokers."""
    live = cluster.brokers.keys() - set(lost)
    counted = _Counted()
    found: list[LostPartition] = []
    gone = frozenset(lost)
    failing = brokers_with_failures(cluster)
    for topic in _studied(cluster):
        counted.add_topic(topic, settings)
        rules = _LossRules(topic.name, settings.min_isr(topic)[0], settings.unclean(topic)[0])
        for partition in topic.partitions:
            offline = offline_on(partition, failing) if failing else ()
            after = _after(rules, partition, cluster.brokers.keys(), live.difference(offline))
            counted.add(partition, after)
            if not gone.isdisjoint(partition.replicas):
                found.append(after)
    controller = cluster.controller.broker
    controller_lost = None if controller is None else controller in gone
    hosted = sum(len(gone.intersection(p.replicas)) for p in found)
    times = controller_times(
        settings.version,
        counted.total,
        hosted,
        settings.session_timeout_s,
        controller_lost=bool(controller_lost),
    )
    times = tuple(replace(each, pause_s=_pause_s(each.pause_s, found)) for each in times)
    return BrokerLoss(
        tuple(sorted(gone)),
        controller_lost,
        counted.total,
        tuple(found),
        counted.loads(cluster.brokers[id_] for id_ in sorted(live)),
        times,
        counted.assumptions(),
    )


def _pause_s(election_s: float | None, partitions: Iterable[LostPartition]) -> float | None:
    """How long partitions that lose their leader have none: 0 without any, None if none gets one.

    `election_s`: until the last one is elected. Partitions that had no leader and get none lose
    nothing.
    """
    fates = {each.fate for each in partitions if not each.was_offline or each.leader != NO_LEADER}
    fates.discard(PartitionFate.KEPT)
    if not fates:
        return 0.0
    return None if fates == {PartitionFate.OFFLINE} else election_s


def _studied(cluster: Cluster) -> Iterable[Topic]:
    return (topic for name, topic in sorted(cluster.topics.items()) if name not in cluster.deleting)


class _LossRules(NamedTuple):
    """What holds for all partitions of a topic."""

    topic: str
    min_isr: int
    unclean: bool


def _after(
    rules: _LossRules,
    partition: Partition,
    live_before: Collection[int],
    live: Collection[int],
) -> LostPartition:
    """A partition after the loss of all but the `live` brokers."""
    replicas = partition.replicas
    isr = _known_isr(partition, live_before)
    before = _known_leader(partition, isr, live_before)
    rescuer: int | None = None
    if before in live:
        fate, leader = PartitionFate.KEPT, before
        isr_after = tuple(replica for replica in isr if replica in live)
    else:
        clean = elections.offline(replicas, isr, live)
        unclean = elections.offline(replicas, isr, live, unclean=True)
        chosen = unclean if rules.unclean else clean
        isr_after = elections.isr_after_offline(isr, live, chosen)
        leader = NO_LEADER if chosen is None else chosen
        fate = PartitionFate.ELECTED if clean is not None else PartitionFate.UNCLEAN
        if chosen is None:
            fate, rescuer = PartitionFate.OFFLINE, unclean
    in_sync_before = sum(replica in live_before for replica in isr)
    return LostPartition(
        TopicPartition(rules.topic, partition.partition),
        replicas,
        fate,
        before,
        leader,
        isr_after,
        rules.min_isr,
        fate is PartitionFate.OFFLINE or len(isr_after) < rules.min_isr,
        before == NO_LEADER,
        before == NO_LEADER or in_sync_before < rules.min_isr,
        rescuer,
        partition.size_bytes,
    )


def _known_isr(partition: Partition, live: Collection[int]) -> Replicas:
    if partition.isr is not None:
        return partition.isr
    return tuple(replica for replica in partition.replicas if replica in live)


def _known_leader(partition: Partition, isr: Replicas, live: Collection[int]) -> int:
    """The leader before, -1 for none; a leader that is not live is none, whatever is written."""
    if partition.leader is None:
        first = elections.offline(partition.replicas, isr, live)
        return NO_LEADER if first is None else first
    return partition.leader if partition.leader in live else NO_LEADER


class _LeaderSums:
    """What brokers lead at one moment."""

    def __init__(self) -> None:
        self.leaders: Counter[int] = Counter()
        self.unknown: Counter[int] = Counter()
        self.rates: defaultdict[int, float] = defaultdict(float)

    def add(self, leader: int, in_bytes_per_s: float | None) -> None:
        """Count a partition with its leader, if it has one."""
        if leader == NO_LEADER:
            return
        self.leaders[leader] += 1
        if in_bytes_per_s is None:
            self.unknown[leader] += 1
        else:
            self.rates[leader] += in_bytes_per_s


class _Counted:
    """Sums over all partitions."""

    def __init__(self) -> None:
        self.total = 0
        self._before, self._after = _LeaderSums(), _LeaderSums()
        self._state = self._min_isr = self._unclean = self._config = 0

    def add_topic(self, topic: Topic, settings: LossSettings) -> None:
        """Count what is assumed of a topic."""
        self._config += topic.config is None
        self._min_isr += settings.min_isr(topic)[1] is SettingSource.DEFAULT
        self._unclean += settings.unclean(topic)[1] is SettingSource.DEFAULT

    def add(self, partition: Partition, after: LostPartition) -> None:
        """Count a partition."""
        self.total += 1
        self._state += partition.leader is None or partition.isr is None
        self._before.add(after.leader_before, partition.in_bytes_per_s)
        self._after.add(after.leader, partition.in_bytes_per_s)

    def loads(self, brokers: Iterable[Broker]) -> tuple[LeaderLoad, ...]:
        """What each of these brokers leads."""
        before, after = self._before, self._after
        return tuple(
            LeaderLoad(
                each.id,
                each.rack,
                before.leaders[each.id],
                after.leaders[each.id],
                before.rates[each.id],
                after.rates[each.id],
                before.unknown[each.id],
                after.unknown[each.id],
            )
            for each in brokers
        )

    def assumptions(self) -> LossAssumptions:
        """What was not known."""
        return LossAssumptions(self._state, self._min_isr, self._unclean, self._config)
