"""How far what was observed is from what is declared, topic by topic and pool by pool.

No plan is needed for it: it answers "is it done, and what is missing?" after every pass, also while
a plan waits. So it must cost little: replica lists are looked up, not examined, after the first
time that they are met.

A topic is *in place* if it exists as declared and wholly on brokers of its pool that shall hold
something. What is better or worse about a layout beyond that (balance, racks, leaders) is the
plan's business, and so is a broker that is merely down: it comes back.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from poolkeeper.algorithms.internal_topics import keeps
from poolkeeper.model import configkeys
from poolkeeper.model.records import Records
from poolkeeper.model.specs import Desired, Strategy, TopicSpec
from poolkeeper.model.topology import Cluster, Replicas, Topic
from poolkeeper.planning.owners import settled
from poolkeeper.planning.scopes import scope

NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class TopicStanding:
    """One declared topic. Numbers of partitions, except `replication_factor`, the usual one.

    `pool` is where it wholly lives, "" if nowhere. `missing`: declared and not there; less than
    zero, there and not declared. `unled`: without a leader yet. `resized`: with another number of
    replicas than declared. `outside` the pool; on `drained` or `lost` brokers; `unpinned`: not
    where a manual assignment wants them. `differing` are config keys to be set or unset, `foreign`
    those that nobody declared.
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
        """Whether it is as declared."""
        return self.exists and not (self.missing or self.unled or self.differing or self.misplaced)

    @property
    def misplaced(self) -> bool:
        """Whether replicas must move, come or go."""
        return bool(self.resized or self.outside or self.drained or self.lost or self.unpinned)


@dataclass(frozen=True, slots=True)
class PoolStanding:
    """One pool: `live` brokers; topics that live or shall live there; replicas on its brokers.

    `draining`: replicas on each drained broker that still holds some; `left`: some of the topics
    they are of; `drained`: brokers that are empty.
    """

    live: tuple[int, ...] = ()
    topics: int = 0
    partitions: int = 0
    replicas: int = 0
    drained: tuple[int, ...] = ()
    draining: Mapping[int, int] = field(default_factory=dict)
    left: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standings:
    """Topics by Kafka name, those that are declared; pools by name; every topic's pool or ""."""

    topics: Mapping[str, TopicStanding] = field(default_factory=dict)
    pools: Mapping[str, PoolStanding] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)


class _Lists:
    """What a replica list means, worked out once for each."""

    def __init__(self, desired: Desired, gone: frozenset[int]) -> None:
        holders: dict[int, list[str]] = {}
        for pool in desired.pools:
            for broker in pool.brokers:
                holders.setdefault(broker, []).append(pool.name)
        self.pool_of = {b: names[0] for b, names in holders.items() if len(names) == 1}
        self.drain = frozenset[int]().union(*(pool.drain for pool in desired.pools))
        self.gone = gone
        self._known: dict[Replicas, tuple[str, bool, bool]] = {}

    def of(self, replicas: Replicas) -> tuple[str, bool, bool]:
        """The pool of all of them or "", whether one is drained, whether one is lost."""
        found = self._known.get(replicas)
        if found is None:
            pools = {self.pool_of.get(broker, "") for broker in replicas}
            found = self._known[replicas] = (
                pools.pop() if len(pools) == 1 else "",
                not self.drain.isdisjoint(replicas),
                not self.gone.isdisjoint(replicas),
            )
        return found


def standings(
    desired: Desired, cluster: Cluster, records: Records, gone: frozenset[int] = frozenset()
) -> Standings:
    """Every declared topic and every pool, against one full observation."""
    wanted = settled(desired, records)
    lists = _Lists(wanted, gone - cluster.brokers.keys())
    topics = {
        spec.topic: _topic(spec, cluster.topics.get(spec.topic), records, lists)
        for spec in wanted.topics
    }
    reach = scope(wanted, cluster, records, prune=False)
    homes = {name: home.pool for name, home in reach.homes.items()}
    return Standings(topics, _pools(wanted, cluster, homes, lists.drain), homes)


def _topic(spec: TopicSpec, found: Topic | None, records: Records, lists: _Lists) -> TopicStanding:
    if found is None:
        return TopicStanding()
    manual = spec.assignment if spec.strategy is Strategy.MANUAL else None
    wanted = len(manual) if manual is not None else spec.partitions
    replicas = [p.replicas for p in found.partitions]
    met = Counter(map(lists.of, replicas))
    factors = Counter(map(len, replicas))
    pools = {pool for pool, _, _ in met}
    pinned = zip(replicas, manual or (), strict=False)
    differing, foreign = _config(spec, found, records)
    factor = spec.replication_factor if manual is None else None
    return TopicStanding(
        exists=True,
        topic_id=found.topic_id,
        pool=pools.pop() if len(pools) == 1 else "",
        partitions=len(replicas),
        replication_factor=factors.most_common(1)[0][0] if factors else 0,
        missing=0 if wanted is None else wanted - len(replicas),
        unled=sum(p.leader is None for p in found.partitions),
        resized=0 if factor is None else len(replicas) - factors[factor],
        outside=sum(n for (pool, _, _), n in met.items() if pool != spec.pool),
        drained=sum(n for (_, drained, _), n in met.items() if drained),
        lost=sum(n for (_, _, lost), n in met.items() if lost),
        unpinned=sum(a != b for a, b in pinned),
        differing=differing,
        foreign=foreign,
    )


def _config(
    spec: TopicSpec, found: Topic, records: Records
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Keys to be set or unset, and keys that are left to whoever set them."""
    live = found.config
    if live is None:
        return (), ()
    record = records.topics.get(spec.topic)
    before = record.declared_keys if record and record.owner == spec.owner else ()
    others = {k for k in live.keys() - spec.config if not configkeys.is_owned_by_executor(k)}
    dropped = {key for key in others.intersection(before) if not keeps(spec.topic, key)}
    changed = {key for key, value in spec.config.items() if live.get(key) != value}
    return tuple(sorted(changed | dropped)), tuple(sorted(others - dropped))


def _pools(
    desired: Desired, cluster: Cluster, homes: Mapping[str, str], drain: frozenset[int]
) -> dict[str, PoolStanding]:
    held: Counter[int] = Counter()
    lists: Counter[Replicas] = Counter()
    left: dict[int, list[str]] = {broker: [] for broker in drain}
    topics: Counter[str] = Counter()
    partitions: Counter[str] = Counter()
    for name, topic in sorted(cluster.topics.items()):
        own = Counter(p.replicas for p in topic.partitions)
        lists.update(own)
        topics[homes[name]] += 1
        partitions[homes[name]] += len(topic.partitions)
        for broker in _met(drain, own):
            if len(left[broker]) < NAMED_MAX:
                left[broker].append(name)
    for replicas, count in lists.items():
        for broker in replicas:
            held[broker] += count
    return {
        pool.name: PoolStanding(
            live=tuple(broker for broker in pool.brokers if broker in cluster.brokers),
            topics=topics[pool.name],
            partitions=partitions[pool.name],
            replicas=sum(held[broker] for broker in pool.brokers),
            drained=tuple(broker for broker in sorted(pool.drain) if not held[broker]),
            draining={broker: held[broker] for broker in sorted(pool.drain) if held[broker]},
            left={broker: tuple(left[broker]) for broker in sorted(pool.drain) if held[broker]},
        )
        for pool in desired.pools
    }


def _met(brokers: frozenset[int], lists: Iterable[Replicas]) -> frozenset[int]:
    """Which of the brokers are in any of the lists."""
    if not brokers:
        return brokers
    return brokers.intersection(itertools.chain.from_iterable(lists))
