"""How Kafka assigns replicas to brokers when it creates a topic or adds partitions to one.

Let L be the list of N brokers, and (start, shift) two numbers that Kafka draws at random in [0, N),
or takes from one fixed start index. Partition p (counted from the first one to assign) gets

    first   = (p + start) mod N                     replica 0 is L[first]
    replica j + 1 = L[(first + 1 + (shift + j) mod (N - 1)) mod N]

and shift grows by one before every p > 0 that is a multiple of N, so that followers of one leader
spread over all others.

**With racks** (0.10.0 and later; every broker has one) L is the rack-alternated list: racks by
name, the brokers of each ascending, one taken from each rack in turn. A walk k = 0, 1, 2, … goes
over L[(first + 1 + (shift * K + k) mod (N - 1)) mod N], K being the number of racks, and never
starts again within a partition. A candidate is taken if its rack holds no replica of the partition
yet or all racks do, and if it does not hold one itself. One replica per rack as long as RF <= K.

**Adding partitions** continues with p = the present count. start = shift = the index, in id order,
of the first broker whose id is at least that of the first replica of partition 0, or 0. With racks
the same number indexes the rack-alternated list: a quirk of Kafka's that is kept here. Kafka 0.8
took the broker's id itself for the index.

Kafka hands the brokers over in id order. `assign_replicas` takes them in the order given, as Kafka
does; `add_partitions` sorts them.

Same in Kafka 0.8 to 3.9, checked against the vectors of Kafka's own tests.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import count as count_from

from poolkeeper.errors import InvalidInput, Problem, Refused, wrong_field
from poolkeeper.text import count, few

Brokers = Sequence[tuple[int, str | None]]
"""Broker ids with their racks, in id order."""

ReplicasByPartition = dict[int, tuple[int, ...]]
"""Replicas by partition, the preferred leader first."""


class RackMode(StrEnum):
    """What to do where only some brokers have a rack."""

    ENFORCED = "Enforced"
    SAFE = "Safe"
    DISABLED = "Disabled"


def with_rack_mode(brokers: Brokers, mode: RackMode) -> list[tuple[int, str | None]]:
    """The brokers as the mode sees them: `Safe` forgets all racks if one is missing.

    `Disabled` always forgets them. `Enforced` keeps what is there; assigning then refuses a mix.
    """
    mixed = any(rack is None for _, rack in brokers)
    if mode is RackMode.DISABLED or (mode is RackMode.SAFE and mixed):
        return [(broker, None) for broker, _ in brokers]
    return list(brokers)


def rack_alternated(broker_racks: Mapping[int, str]) -> list[int]:
    """Take one broker of each rack in turn: {0: a, 1: b, 2: b, 3: a, 4: a} → 0 1 3 2 4."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(broker_racks):
        by_rack.setdefault(broker_racks[broker], []).append(broker)
    # Java orders text by UTF-16 code units, Python by code points.
    racks = sorted(by_rack, key=lambda rack: rack.encode("utf-16-be", "surrogatepass"))
    longest = max((len(members) for members in by_rack.values()), default=0)
    return [
        by_rack[rack][turn]
        for turn in range(longest)
        for rack in racks
        if turn < len(by_rack[rack])
    ]


def assign_replicas(
    brokers: Brokers,
    partitions: int,
    replication_factor: int,
    *,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> ReplicasByPartition:
    """Assign partitions `first_partition` … on as Kafka does, given its two random numbers.

    Five brokers, RF 3, start and shift 0: p0 → 0 1 2, p1 → 1 2 3, p5 → 0 2 3. Kafka's fixed start
    index i stands for start = shift = i. `Refused` where Kafka refuses: no partitions, no replicas,
    more replicas than brokers, racks of some brokers only; also a broker named twice.
    """
    _check_request(brokers, partitions, replication_factor)
    if min(start, shift, first_partition) < 0:
        raise Refused(
            f"start {start}, shift {shift} and partition {first_partition} must not be < 0"
        )
    racks = {broker: rack for broker, rack in brokers if rack is not None}
    ring = rack_alternated(racks) if racks else [broker for broker, _ in brokers]
    assignment: ReplicasByPartition = {}
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % len(ring) == 0:
            shift += 1
        first = (partition + start) % len(ring)
        if racks:
            assignment[partition] = _across_racks(ring, racks, first, shift, replication_factor)
        else:
            followers = range(replication_factor - 1)
            leader_first = [first, *(_after(first, shift + j, len(ring)) for j in followers)]
            assignment[partition] = tuple(ring[index] for index in leader_first)
    return assignment


def add_partitions(
    brokers: Brokers,
    existing: Mapping[int, Sequence[int]],
    new_total: int,
    manual: Mapping[int, Sequence[int]] | None = None,
    *,
    start_at_broker_id: bool = False,
) -> ReplicasByPartition:
    """The lists of the added partitions alone, Kafka's own or the checked manual ones.

    Brokers 0 to 3, p0 on 1 2, growing to three: p1 → 2 0, p2 → 3 1. `start_at_broker_id`: as Kafka
    0.8 did. `Refused`: partition 0 missing or ids with gaps, no growth, and manual lists that are
    for other partitions, empty, of another RF than partition 0, or name a broker twice or an
    absent one.
    """
    ordered = sorted(brokers, key=lambda broker: broker[0])
    if set(existing) != set(range(len(existing))) or not existing:
        has = f"partitions {few(sorted(existing), grouped=False)}" if existing else "no partition"
        raise wrong_field("existing", f"has {has} (expected 0 and all that follow, without gaps)")
    if new_total <= len(existing):
        expected = f"more than {len(existing)}, as partitions can only grow"
        raise wrong_field("new_total", f"is {new_total} (expected {expected})")
    if not existing[0]:
        raise wrong_field("existing.0", "is empty (expected the replicas of partition 0)")
    if manual is not None:
        added = range(len(existing), new_total)
        return _checked_manual(manual, added, len(existing[0]), {broker for broker, _ in ordered})
    leader = existing[0][0]
    index = next((index for index, (broker, _) in enumerate(ordered) if broker >= leader), 0)
    start = leader if start_at_broker_id else index
    return assign_replicas(
        ordered,
        new_total - len(existing),
        len(existing[0]),
        start=start,
        shift=start,
        first_partition=len(existing),
    )


def _after(first: int, step: int, brokers: int) -> int:
    return (first + 1 + step % (brokers - 1)) % brokers


def _across_racks(
    ring: list[int], racks: Mapping[int, str], first: int, shift: int, replication_factor: int
) -> tuple[int, ...]:
    rack_count = len(set(racks.values()))
    replicas = {ring[first]: None}  # in their order, and found at once
    used = {racks[ring[first]]}
    walk = count_from(shift * rack_count)
    while len(replicas) < replication_factor:
        broker = ring[_after(first, next(walk), len(ring))]
        if broker not in replicas and (racks[broker] not in used or len(used) == rack_count):
            replicas[broker] = None
            used.add(racks[broker])
    return tuple(replicas)


def _check_request(brokers: Brokers, partitions: int, replication_factor: int) -> None:
    ids = [broker for broker, _ in brokers]
    if partitions <= 0:
        raise wrong_field("partitions", f"is {partitions} (expected at least 1)")
    if replication_factor <= 0:
        raise wrong_field("replication_factor", f"is {replication_factor} (expected at least 1)")
    if replication_factor > len(ids):
        expected = f"at least {replication_factor}, the replication factor"
        raise wrong_field("brokers", f"has {len(ids)} (expected {expected})")
    if len(set(ids)) < len(ids):
        twice = sorted(broker for broker, times in Counter(ids).items() if times > 1)
        raise wrong_field("brokers", f"has {few(twice, grouped=False)} twice (expected each once)")
    without = sorted(broker for broker, rack in brokers if rack is None)
    if without and len(without) < len(ids):
        expected = "one for all brokers or for none"
        said = f"has no rack for {few(without, grouped=False)} (expected {expected})"
        raise wrong_field("brokers", said)


def _checked_manual(
    manual: Mapping[int, Sequence[int]], added: range, replication_factor: int, known: set[int]
) -> ReplicasByPartition:
    if set(manual) != set(added):
        has = f"partitions {few(sorted(manual), grouped=False)}" if manual else "no partition"
        expected = f"{added[0]} to {added[-1]}" if len(added) > 1 else f"{added[0]} alone"
        raise wrong_field("manual", f"has {has} (expected {expected})")
    wrong = [
        Problem("", 0, f"manual.{partition}", message)
        for partition, replicas in manual.items()
        if (message := _wrong_list(replicas, replication_factor, known))
    ]
    if wrong:
        raise InvalidInput(wrong)
    return {partition: tuple(manual[partition]) for partition in added}


def _wrong_list(replicas: Sequence[int], replication_factor: int, known: set[int]) -> str:
    """What is wrong with a list that somebody gave; nothing is an empty text."""
    expected = f"(expected {replication_factor}, as partition 0)"
    if len(set(replicas)) < len(replicas):
        return f"names a broker twice: {few(replicas, grouped=False)} (expected each once)"
    if absent := sorted(set(replicas) - known):
        named = few(absent, grouped=False)
        return f"names brokers that are absent: {named} (expected ids of brokers)"
    if len(replicas) != replication_factor:
        return f"has {count(len(replicas), 'replica')} {expected}"
    return ""
