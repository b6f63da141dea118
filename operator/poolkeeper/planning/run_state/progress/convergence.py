"""How far the cluster observed is from what is declared, by topic and by pool.

It answers "is it done, and what is missing?" after every pass, also while a plan waits, and needs
no plan. So it must be fast: each distinct replica list is examined once and then looked up.

A topic is *in place* if it exists as declared, and wholly on brokers of its pool that should hold
replicas. Further differences between layouts (balance, racks, leaders) do not count, and neither
does a broker that is only down, because it comes back.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from operator import ne
from typing import NamedTuple

from poolkeeper.algorithms.internal_topics import keeps
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import ResourcePoolSpec, TopicSpec
from poolkeeper.model.topic_config import validation
from poolkeeper.model.topic_patterns import matches
from poolkeeper.model.topology import Cluster, Replicas, Topic
from poolkeeper.planning.problem.pool_membership import plan_scope
from poolkeeper.planning.problem.topic_ownership import topic_owners

NAMED_MAX = 5


@frozen
class TopicStanding:
    """One declared topic. All numbers count partitions, except `replication_factor`, the usual one.

    `pool`: the pool that it lives wholly in, "" if none.
    `missing`: partitions declared that do not exist; negative if more exist than declared.
    `unled`: without a leader yet.
    `resized`: with another number of replicas than declared.
    `outside`: with replicas outside the pool.
    `drained`, `lost`: with replicas on such brokers.
    `unpinned`: not where the manual assignment places them.
    `differing`: config keys to set or unset.
    `foreign`: config keys that nobody declared.
    """

    exists: bool = False
    topic_id: str | None = None
    pool: str = ""
    partitions: int = 0
    replication_factor: int = 0
    missing: int = 0
    unled: int = 0
    resized: int = 0
    outside: int = 0
    drained: int = 0
    lost: int = 0
    unpinned: int = 0
    differing: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()

    @property
    def in_place(self) -> bool:
        """Whether the topic is as declared."""
        return self.exists and not (self.missing or self.unled or self.differing or self.misplaced)

    @property
    def misplaced(self) -> bool:
        """Whether replicas must move, or be added or removed."""
        return self.partitions_misplaced > 0

    @property
    def partitions_misplaced(self) -> int:
        """At least as many partitions have replicas to move, to add or to remove."""
        return max(self.resized, self.outside, self.drained, self.lost, self.unpinned)


@frozen
class PoolStanding:
    """One pool: its `live` brokers, its topics, and the replicas on its brokers.

    `misplaced`: partitions of Topics of the pool that are not where they are declared.
    `changing`: a topic that may have replicas here changed while it was read, and is not counted.
    `draining`: replicas on each drained broker that still holds some.
    `left`: some of the topics of these replicas.
    `drained`: drained brokers that are empty.
    """

    live: tuple[int, ...] = ()
    topics: int = 0
    partitions: int = 0
    replicas: int = 0
    misplaced: int = 0
    changing: bool = False
    drained: tuple[int, ...] = ()
    draining: Mapping[int, int] = field(default_factory=dict)
    left: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@frozen
class Standings:
    """Declared topics by Kafka name; pools by name; the pool of every topic, or ""."""

    topics: Mapping[str, TopicStanding] = field(default_factory=dict)
    pools: Mapping[str, PoolStanding] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)


class _ListPlace(NamedTuple):
    """The pool of all brokers of a list, or ""; and whether any of them should be empty."""

    pool: str
    drained: bool
    lost: bool


class _Lists:
    """The place of each distinct replica list, computed once."""

    def __init__(self, desired: Desired, gone: frozenset[int]) -> None:
        holders: dict[int, list[str]] = {}
        for pool in desired.pools:
            for broker in pool.brokers:
                holders.setdefault(broker, []).append(pool.name)
        self.pool_of = {b: names[0] for b, names in holders.items() if len(names) == 1}
        self.drain = frozenset[int]().union(*(pool.drain for pool in desired.pools))
        self.gone = gone
        self._known: dict[Replicas, _ListPlace] = {}

    def of(self, replicas: Replicas) -> _ListPlace:
        """The place of that list."""
        found = self._known.get(replicas)
        if found is None:
            pools = {self.pool_of.get(broker, "") for broker in replicas}
            found = self._known[replicas] = _ListPlace(
                pools.pop() if len(pools) == 1 else "",
                not self.drain.isdisjoint(replicas),
                not self.gone.isdisjoint(replicas),
            )
        return found


def standings(
    desired: Desired, cluster: Cluster, records: Records, gone: frozenset[int] = frozenset()
) -> Standings:
    """Compare every declared topic and every pool with one full observation."""
    owners = topic_owners(desired, records, cluster)
    lists = _Lists(desired, gone - cluster.brokers.keys())
    topics = {
        spec.topic: _topic(spec, cluster.topics.get(spec.topic), records, lists)
        for spec in desired.topics
        if owners.specs.get(spec.topic) is spec
    }
    scope = plan_scope(desired, cluster, records, prune=False, owners=owners)
    homes = {name: home.pool for name, home in scope.homes.items()}
    pools = _pools(desired, cluster, homes, lists.drain)
    misplaced = Counter[str]()
    for spec in desired.topics:
        if owners.specs.get(spec.topic) is spec and not spec.paused:
            misplaced[spec.pool] += topics[spec.topic].partitions_misplaced
    changing = _changing_pools(desired, cluster, owners.specs)
    return Standings(
        topics,
        {
            name: replace(pool, misplaced=misplaced[name], changing=name in changing)
            for name, pool in pools.items()
        },
        homes,
    )


def _changing_pools(
    desired: Desired, cluster: Cluster, specs: Mapping[str, TopicSpec]
) -> frozenset[str]:
    """The pools that topics which changed while they were read may have replicas in.

    Where such a topic has replicas is not known: it may be on any broker that is to be empty.
    """
    if not cluster.torn:
        return frozenset()
    declared = {specs[name].pool for name in cluster.torn if name in specs}
    return frozenset(
        pool.name
        for pool in desired.pools
        if pool.name in declared
        or pool.drain
        or any(matches(pool.claims, name) for name in cluster.torn)
    )


def _topic(spec: TopicSpec, found: Topic | None, records: Records, lists: _Lists) -> TopicStanding:
    if found is None:
        return TopicStanding()
    replicas = [p.replicas for p in found.partitions]
    places = Counter(map(lists.of, replicas))
    factors = Counter(map(len, replicas))
    wanted = spec.declared_partitions
    differing, foreign = _config(spec, found, records)
    return TopicStanding(
        exists=True,
        topic_id=found.topic_id,
        pool=_pool_of_all(places),
        partitions=len(replicas),
        replication_factor=factors.most_common(1)[0][0] if factors else 0,
        missing=0 if wanted is None else wanted - len(replicas),
        unled=sum(p.leader is None for p in found.partitions),
        resized=_count_resized(spec, factors),
        outside=sum(count for place, count in places.items() if place.pool != spec.pool),
        drained=sum(place.drained * count for place, count in places.items()),
        lost=sum(place.lost * count for place, count in places.items()),
        unpinned=sum(map(ne, replicas, spec.manual or ())),
        differing=differing,
        foreign=foreign,
    )


def _pool_of_all(places: Iterable[_ListPlace]) -> str:
    pools = {place.pool for place in places}
    return pools.pop() if len(pools) == 1 else ""


def _count_resized(spec: TopicSpec, factors: Counter[int]) -> int:
    """Partitions with another number of replicas than declared; `factors` counts partitions.

    A manual assignment declares the number for each partition.
    """
    if spec.manual is not None or spec.replication_factor is None:
        return 0
    return factors.total() - factors[spec.replication_factor]


def _config(
    spec: TopicSpec, found: Topic, records: Records
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Keys to set or unset, and keys that others have set."""
    live = found.config
    if live is None:
        return (), ()
    record = records.topics.get(spec.topic)
    before = record.declared_keys if record and record.owner == spec.owner else ()
    others = {k for k in live.keys() - spec.config if not validation.is_owned_by_executor(k)}
    dropped = {key for key in others.intersection(before) if not keeps(spec.topic, key)}
    changed = {key for key, value in spec.config.items() if live.get(key) != value}
    return tuple(sorted(changed | dropped)), tuple(sorted(others - dropped))


def _pools(
    desired: Desired, cluster: Cluster, homes: Mapping[str, str], drain: frozenset[int]
) -> dict[str, PoolStanding]:
    topics: Counter[str] = Counter()
    partitions: Counter[str] = Counter()
    for name, topic in cluster.topics.items():
        topics[homes[name]] += 1
        partitions[homes[name]] += len(topic.partitions)
    held, left = _holdings(cluster, drain)
    return {
        pool.name: _pool(
            pool, cluster, held, left, topics=topics[pool.name], partitions=partitions[pool.name]
        )
        for pool in desired.pools
    }


def _holdings(
    cluster: Cluster, drain: frozenset[int]
) -> tuple[Counter[int], Mapping[int, Sequence[str]]]:
    """Replicas by broker; and by drained broker the first topics that have replicas there."""
    lists: Counter[Replicas] = Counter()
    left: dict[int, list[str]] = {broker: [] for broker in drain}
    for name, topic in sorted(cluster.topics.items()):
        own = Counter(p.replicas for p in topic.partitions)
        lists.update(own)
        for broker in _brokers_in(drain, own):
            if len(left[broker]) < NAMED_MAX:
                left[broker].append(name)
    held: Counter[int] = Counter()
    for replicas, count in lists.items():
        for broker in replicas:
            held[broker] += count
    return held, left


def _pool(
    pool: ResourcePoolSpec,
    cluster: Cluster,
    held: Counter[int],
    left: Mapping[int, Sequence[str]],
    *,
    topics: int,
    partitions: int,
) -> PoolStanding:
    draining = [broker for broker in sorted(pool.drain) if held[broker]]
    return PoolStanding(
        live=tuple(broker for broker in pool.brokers if broker in cluster.brokers),
        topics=topics,
        partitions=partitions,
        replicas=sum(held[broker] for broker in pool.brokers),
        drained=tuple(broker for broker in sorted(pool.drain) if not held[broker]),
        draining={broker: held[broker] for broker in draining},
        left={broker: tuple(left[broker]) for broker in draining},
    )


def _brokers_in(brokers: frozenset[int], lists: Iterable[Replicas]) -> frozenset[int]:
    """Which of the brokers are in any of the lists."""
    if not brokers:
        return brokers
    return brokers.intersection(itertools.chain.from_iterable(lists))
