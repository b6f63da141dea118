"""Clusters of odd shapes, drawn from a seed: what nobody would build, and somebody has.

A few brokers or hundreds, in no racks, a few, uneven ones, or each in its own; one topic or as many
as partitions; replication factors that are not the declared ones; sizes that are all alike, of a
tail so long that one partition outweighs a broker, unknown, or zero; replicas in the wrong pool;
disks and counts of replicas full to the last, half of the brokers drained; goals so tight that
nothing meets them; limits of one move a broker. Planning has to come to an end for all of them in a
time that grows with the partitions.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence

from builders import MIB, cluster, desired, pool_spec, topic, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import (
    Capacity,
    Execution,
    Goal,
    GoalKind,
    Headroom,
    RackPolicy,
    ReplicasAtATime,
    ResourcePoolSpec,
    Strategy,
    TopicSpec,
)
from poolkeeper.model.topology import Broker, Cluster, Partition, Topic

COUNTS = (Goal(GoalKind.REPLICAS, count=1), Goal(GoalKind.LEADERS, count=1))
GOALS = (
    COUNTS,
    (*COUNTS, Goal(GoalKind.BYTES, percent=10.0)),
    (COUNTS[0], Goal(GoalKind.TOPIC_REPLICAS, count=1), COUNTS[1]),
    (Goal(GoalKind.BYTES_IN, percent=10.0), Goal(GoalKind.LEADERS, percent=5.0)),
    (
        Goal(GoalKind.REPLICAS, percent=5.0),
        Goal(GoalKind.TOPIC_REPLICAS, count=2),
        Goal(GoalKind.BYTES, percent=15.0),
        Goal(GoalKind.BYTES_IN, percent=20.0),
        Goal(GoalKind.LEADERS, percent=5.0),
    ),
    (Goal(GoalKind.BYTES, percent=1.0), Goal(GoalKind.REPLICAS, percent=1.0)),
    (),
)
SIZES: dict[str, Callable[[random.Random], int | None]] = {
    "alike": lambda dice: 100 * MIB,
    "zero": lambda dice: 0,
    "unknown": lambda dice: None,
    "pareto": lambda dice: int(min(20 * 1024, dice.paretovariate(1.2) * 40) * MIB),
    "some unknown": lambda dice: None if dice.random() < 0.1 else int(dice.expovariate(1) * MIB),
    "long tail": lambda dice: int(dice.paretovariate(0.7) * 10 * MIB),
}


def odd_cluster(
    seed: int, partitions: int, brokers: Sequence[int] = (3, 6, 10, 20, 60, 200, 600)
) -> tuple[Desired, Cluster]:
    """What is declared for a cluster, and the cluster; `brokers`: of how many there may be."""
    dice = random.Random(seed)
    count = dice.choice(brokers)
    live = _brokers(dice, count)
    pools = _split(dice, count)
    topics, specs = _topics(dice, partitions, pools)
    execution = Execution(
        max_moves=dice.choice([20, 200, 200, 1000]),
        max_moves_per_broker=dice.choice([1, 10, 10, 50]),
        replicas_at_a_time=dice.choice(list(ReplicasAtATime)),
    )
    declared = _pools(dice, pools, topics)
    return desired(declared, *specs, execution=execution), cluster(live, *topics)


def _brokers(dice: random.Random, count: int) -> list[Broker]:
    racks, uneven = dice.choice([0, 1, 2, 3, 6, count]), dice.random() < 0.3
    found = []
    for id_ in range(1, count + 1):
        number = min(int(dice.expovariate(1) * racks / 4), racks - 1) if uneven else id_
        found.append(Broker(id_, rack=f"r{number % racks}" if racks else None))
    return found


def _split(dice: random.Random, brokers: int) -> list[list[int]]:
    """The brokers of each pool."""
    ids = list(range(1, brokers + 1))
    if dice.random() < 0.5:
        dice.shuffle(ids)
    count = dice.choice([1, 1, 1, 2, min(10, max(1, brokers // 6)), min(60, max(1, brokers // 5))])
    return [ids[first::count] for first in range(count)]


def _topics(
    dice: random.Random, partitions: int, pools: list[list[int]]
) -> tuple[list[Topic], list[TopicSpec]]:
    count = dice.choice([1, 5, 50, 1000, max(1, partitions // 2)])
    count = min(count, partitions)
    parts = [1 / (n + 1) for n in range(count)] if dice.random() < 0.5 else [1.0] * count
    usual, mixed = dice.choice([1, 2, 3, 3, 3, 5, 7]), dice.random() < 0.3
    size, stray = dice.choice(list(SIZES.values())), dice.choice([0, 0, 0.01, 0.3, 1])
    choose = _placing(dice, dice.choice(["even", "random", "skew", "half"]))
    pinned, change = dice.choice([0, 0, 0, 0.1]), dice.choice([0, 0, 0, 1, -1])
    found, specs = [], []
    for number in range(count):
        home = number % len(pools)
        factor = min(dice.choice([1, 2, 3]) if mixed and dice.random() < 0.1 else usual, 7)
        factor = min(factor, len(pools[home]))
        lists: list[Partition] = []
        for at in range(1 + int((partitions - count) * parts[number] / sum(parts))):
            held = choose(pools[home], number * 7 + at, factor)
            other = dice.choice(dice.choice(pools))
            if dice.random() < stray and other not in held:
                held[dice.randrange(factor)] = other
            lists.append(_partition(at, held, size(dice)))
        name = f"t{number:05d}"
        found.append(topic(name, *lists))
        own: dict[str, object] = {}
        if dice.random() < pinned:
            pins = (tuple(dice.sample(pools[home], factor)) for _ in lists)
            own = {"strategy": Strategy.MANUAL, "assignment": tuple(pins)}
        elif change:
            own = {"replication_factor": max(1, min(len(pools[home]), factor + change))}
        specs.append(topic_spec(name, f"p{home}", **own))
    return found, specs


def _partition(number: int, held: list[int], size: int | None) -> Partition:
    rate = None if size is None else size / 10_000
    return Partition(
        number,
        tuple(held),
        leader=held[0],
        isr=tuple(held),
        size_bytes=size,
        in_bytes_per_s=rate,
    )


def _placing(dice: random.Random, kind: str) -> Callable[[list[int], int, int], list[int]]:
    """How the brokers of a list are chosen: of a pool, for a partition, so many."""

    def choose(pool: list[int], place: int, factor: int) -> list[int]:
        if kind == "random":
            return dice.sample(pool, factor)
        if kind == "skew":
            weighed = sorted(pool, key=lambda _: dice.random() ** 3)
            return weighed[:factor]
        some = pool[: max(factor, len(pool) // 2)] if kind == "half" else pool
        return [some[(place + n) % len(some)] for n in range(factor)]

    return choose


def _pools(
    dice: random.Random, pools: list[list[int]], topics: list[Topic]
) -> list[ResourcePoolSpec]:
    replicas: Counter[int] = Counter()
    size: Counter[int] = Counter()
    for each in topics:
        for partition in each.partitions:
            replicas.update(partition.replicas)
            size.update(dict.fromkeys(partition.replicas, partition.size_bytes or 0))
    goals, policy = dice.choice(GOALS), dice.choice(list(RackPolicy))
    weighing = dice.choice([(1.0,), (1.0,), (1.0, 2.0), (0.2, 1.0, 3.0, 8.0)])
    disks, caps = dice.choice([0, 0, 0, 1.0, 1.02, 1.3]), dice.choice([0, 0, 0, 1.0, 1.05])
    drained, demoted = dice.choice([0, 0, 0.02, 0.1, 0.5]), dice.choice([0, 0, 0.1, 0.5])
    headroom = Headroom(failures=1) if dice.random() < 0.25 else None
    found = []
    for number, ids in enumerate(pools):
        weight = {id_: dice.choice(weighing) for id_ in ids}
        part = {id_: each / sum(weight.values()) for id_, each in weight.items()}
        held = sum(replicas[id_] for id_ in ids), sum(size[id_] for id_ in ids)
        found.append(
            pool_spec(
                f"p{number}",
                *sorted(ids),
                goals=goals,
                rack_policy=policy,
                headroom=headroom,
                drain=frozenset(dice.sample(ids, min(len(ids) - 1, int(len(ids) * drained)))),
                demote=frozenset(dice.sample(ids, int(len(ids) * demoted))),
                capacity_of={
                    id_: Capacity(
                        weight[id_],
                        int(held[1] * part[id_] * disks) + 1 if disks else None,
                        int(held[0] * part[id_] * caps) + 1 if caps else None,
                    )
                    for id_ in ids
                },
            )
        )
    return found
