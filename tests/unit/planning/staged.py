"""Stages by hand: pool `p` of brokers 1 to 6 on three racks, moves in GiB, and what goes first."""

import builders
from builders import GIB, partition, pool_spec, topic
from poolkeeper.model import specs, topology
from poolkeeper.model.desired import Desired
from poolkeeper.planning.staging import next_stage

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}


def cluster(**topics: list[topology.Partition]) -> topology.Cluster:
    return builders.cluster(RACKS, *(topic(name, *lists) for name, lists in topics.items()))


def desired(pool: dict[str, object] | None = None, **execution: object) -> Desired:
    whole = pool_spec("p", *RACKS, **{"claims": (".*",), **(pool or {})})
    return builders.desired(whole, execution=specs.Execution(**execution))


def move(name: str, number: int, *path: tuple[int, ...], gib: int = 1, urgency: int = 4):
    return builders.move(name, number, *path, bytes=gib * GIB, urgency=urgency)


def spread(count: int, gib: int = 1, name: str = "t"):
    """So many partitions on 1, 2, 3, and moves of their first replica to 4."""
    lists = [partition(n, 1, 2, 3, size_bytes=gib * GIB) for n in range(count)]
    return {name: lists}, [move(name, n, (1, 2, 3), (4, 2, 3), gib=gib) for n in range(count)]


def entries(stage: object) -> list[tuple[int, int]]:
    assert isinstance(stage, next_stage.Stage), stage
    return list(stage.entries)


def first(moves, observed, wanted, at=None, **details):
    return next_stage.next_stage(moves, at or [0] * len(moves), observed, wanted, **details)
