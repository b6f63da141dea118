"""Where the replicas of partitions that do not exist yet go.

Balanced  partition by partition, each replica to the broker that holds least of the topic, then
          least of all, in proportion to weight, within the even spread over racks; of the chosen
          brokers the one that leads least of the topic, then least of all, comes first
Kafka     Kafka's own algorithm over the pool's usable brokers, with racks if any of them has
          one: brokers without a rack are one rack, as for every law. (Kafka forgets all racks
          then, and the next plan would move what that puts into one.) A demoted broker that would
          lead a partition changes places with the first one that may. Kafka draws start and shift
          at random; here they come from the topic's name (the first and the second eight bytes of
          its SHA-256, modulo the number of brokers), so that the same manifest always gives the
          same layout, and different topics different ones
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from poolkeeper.algorithms import assignments
from poolkeeper.model.topology import Replicas
from poolkeeper.planning.constraints.capacity import EligibleBrokers
from poolkeeper.planning.constraints.racks import Spread, even_spread


@dataclass(slots=True)
class ReplicaCounts:
    """Replicas and preferred leaders by broker id, updated as new partitions are placed."""

    replicas: Counter[int] = field(default_factory=Counter)
    leaders: Counter[int] = field(default_factory=Counter)

    def add(self, lists: Iterable[Replicas]) -> None:
        """Count these lists as well."""
        for replicas in lists:
            self.replicas.update(replicas)
            self.leaders.update(replicas[:1])

    def copy(self) -> "ReplicaCounts":
        """An independent copy."""
        return ReplicaCounts(self.replicas.copy(), self.leaders.copy())


def balanced_lists(
    usable: EligibleBrokers,
    partitions: int,
    replication_factor: int,
    everything: ReplicaCounts,
    topic: ReplicaCounts,
) -> tuple[Replicas, ...] | None:
    """Lists for new partitions, or `None` if caps leave no room; the counts are updated.

    Needs at least `replication_factor` usable brokers. Brokers 1 2 3, all empty, RF 2:
    p0 → 1 2, p1 → 3 1, p2 → 2 3.
    """
    names = sorted({rack or "" for rack in usable.racks.values()})
    rack_of = {broker: names.index(rack or "") for broker, rack in usable.racks.items()}
    sizes = Counter(rack_of.values())
    capacity = tuple(sizes[rack] for rack in range(len(names)))
    even = even_spread(replication_factor, capacity, (0,) * len(names))
    lists = []
    for _ in range(partitions):
        chosen: list[int] = []
        while len(chosen) < replication_factor:
            broker = _next(usable, rack_of, even, chosen, everything, topic)
            if broker is None:
                return None
            chosen.append(broker)
        replicas = _leader_first(usable, chosen, everything, topic)
        everything.add([replicas])
        topic.add([replicas])
        lists.append(replicas)
    return tuple(lists)


def kafka_lists(
    usable: EligibleBrokers, topic: str, partitions: int, replication_factor: int
) -> tuple[Replicas, ...]:
    """Lists that Kafka could have drawn for a new topic of that name."""
    digest = hashlib.sha256(topic.encode()).digest()
    count = len(usable.racks)
    made = assignments.assign_replicas(
        _for_kafka(usable),
        partitions,
        replication_factor,
        start=int.from_bytes(digest[:8]) % count,
        shift=int.from_bytes(digest[8:16]) % count,
    )
    return tuple(_led_by_others(usable, made[partition]) for partition in range(partitions))


def added_kafka_lists(
    usable: EligibleBrokers, existing: Sequence[Replicas], new_total: int
) -> tuple[Replicas, ...]:
    """Lists that Kafka would choose if partitions were added without an assignment."""
    made = assignments.add_partitions(_for_kafka(usable), dict(enumerate(existing)), new_total)
    return tuple(_led_by_others(usable, made[each]) for each in range(len(existing), new_total))


def _for_kafka(usable: EligibleBrokers) -> list[tuple[int, str | None]]:
    modes = assignments.RackMode
    mode = modes.ENFORCED if any(usable.racks.values()) else modes.DISABLED
    brokers = [(broker, rack or "") for broker, rack in sorted(usable.racks.items())]
    return assignments.with_rack_mode(brokers, mode)


def _led_by_others(usable: EligibleBrokers, replicas: Replicas) -> Replicas:
    """The list with a broker first that may lead. Brokers 1 2 3, 1 demoted: 1 2 3 → 2 1 3."""
    first = next((at for at, broker in enumerate(replicas) if broker not in usable.demoted), 0)
    led = list(replicas)
    led[0], led[first] = led[first], led[0]
    return tuple(led)


def _next(
    usable: EligibleBrokers,
    rack_of: Mapping[int, int],
    even: Spread,
    chosen: Sequence[int],
    everything: ReplicaCounts,
    topic: ReplicaCounts,
) -> int | None:
    """The best broker for the next replica; racks are filled level by level, so evenly."""
    counts = Counter(rack_of[broker] for broker in chosen)
    free = [
        broker
        for broker, rack in rack_of.items()
        if broker not in chosen
        and counts[rack] < even.high[rack]
        and everything.replicas[broker] < usable.caps.get(broker, everything.replicas[broker] + 1)
    ]
    return min(
        free,
        key=lambda b: (
            counts[rack_of[b]],
            topic.replicas[b] / usable.weights[b],
            everything.replicas[b] / usable.weights[b],
            b,
        ),
        default=None,
    )


def _leader_first(
    usable: EligibleBrokers, chosen: Sequence[int], everything: ReplicaCounts, topic: ReplicaCounts
) -> Replicas:
    first = min(
        chosen,
        key=lambda b: (
            b in usable.demoted,
            topic.leaders[b] / usable.weights[b],
            everything.leaders[b] / usable.weights[b],
            b,
        ),
    )
    return (first, *(broker for broker in chosen if broker != first))
