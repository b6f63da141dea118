"""Of layouts that are as good, the one that moves few bytes."""

import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, desired, partition, pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.model.topology import Partition
from poolkeeper.planning.goals import optimizer
from poolkeeper.planning.placement import flow
from poolkeeper.planning.placement.giving import giving_of
from poolkeeper.planning.placement.network import CostsTooLarge
from poolkeeper.planning.placement.replica_classes import MovableReplicas
from poolkeeper.planning.planner import make_plan

MIB = 1 << 20
EVEN = (Goal(GoalKind.REPLICAS, count=1),)


def planned(brokers: dict[int, str], *partitions: Partition) -> Plan:
    wanted = desired(pool_spec("p", *brokers, goals=EVEN), topic_spec("t"))
    return make_plan(wanted, cluster(brokers, topic("t", *partitions)))


def moved_mib(plan: Plan) -> int:
    return sum(move.bytes for move in plan.moves) // MIB


@pytest.mark.parametrize("names", list(permutations((1, 2, 3, 4))))
def test_the_small_replica_moves_whatever_brokers_are_called(names: tuple[int, ...]) -> None:
    a, b, c, _ = names
    partitions = (
        partition(0, a, b, size_bytes=64 * MIB),
        partition(1, b, c, size_bytes=1_000_000 * MIB),
        partition(2, a, b, size_bytes=MIB),
    )
    assert moved_mib(planned(dict.fromkeys(sorted(names), ""), *partitions)) == 1


@pytest.mark.parametrize("seed", range(6))
def test_brokers_that_join_get_the_smallest_replicas(seed: int) -> None:
    """Each rack's new broker takes the smallest of it: the bytes come near the proven bound."""
    dice = random.Random(seed)
    brokers = {broker: "abc"[broker % 3] for broker in range(12)}
    partitions = [
        partition(
            number,
            *(
                dice.choice([b for b in range(9) if b % 3 == rack])
                for rack in dice.sample(range(3), 3)
            ),
            size_bytes=int(dice.lognormvariate(0, 2) * 1024) * MIB,
        )
        for number in range(90)
    ]
    plan = planned(brokers, *partitions)
    proof = plan.certificates[0]
    assert proof.replica_moves == proof.replica_moves_lower_bound
    assert proof.bytes <= 1.05 * proof.bytes_lower_bound


def test_sizes_do_not_count_where_their_costs_are_too_large(monkeypatch) -> None:
    solve = flow._solve

    def limited(given: flow.FlowInput) -> flow.ClassFlow:
        if given.copied is not None:
            raise CostsTooLarge
        return solve(given)

    monkeypatch.setattr(flow, "_solve", limited)
    partitions = [partition(number, 1, 2, size_bytes=number * MIB) for number in range(6)]
    plan = planned({1: "", 2: "", 3: ""}, *partitions)
    proof = plan.certificates[0]
    assert proof.replica_moves == proof.replica_moves_lower_bound > 0


def test_one_partition_out_of_all_proportion_leaves_others_their_prices() -> None:
    """Sizes of 10 to 100 MiB, and one of 3 TiB: each half as large again as another costs more."""
    size = np.array([10, 20, 40, 60, 100, 60, 40, 20, 3_000_000])
    count, classes = len(size), np.arange(len(size))
    found = giving_of(
        MovableReplicas(
            row=classes,
            slot=np.zeros(count, dtype=np.int64),
            number=classes,
            size=np.ones(count, dtype=np.int64),
            broker=classes,
            fresh=np.zeros(count, dtype=bool),
            sites=np.zeros((count, 1), dtype=np.int64),
            barred=None,
        ),
        classes,
        size,
        brokers=count,
        nodes=3 * count,
    )
    for one, price in zip(size, found.price, strict=True):
        for other, more in zip(size, found.price, strict=True):
            assert price < more or other < one * 1.5
    assert int(found.price.max()) * (count + 2) <= found.unit


def test_brokers_that_join_get_small_replicas_also_beside_a_huge_one(monkeypatch) -> None:
    """Nothing that the flow moves is looked at once more, as in pools of many partitions."""
    monkeypatch.setattr(optimizer, "_SPARED_MAX", 0)
    dice = random.Random(1)
    brokers = {broker: "abc"[broker % 3] for broker in range(12)}
    partitions = [
        partition(
            number,
            *(dice.choice([b for b in range(9) if b % 3 == rack]) for rack in range(3)),
            size_bytes=(dice.randint(1, 100) if number else 3_000_000) * MIB,
        )
        for number in range(300)
    ]
    proof = planned(brokers, *partitions).certificates[0]
    assert proof.replica_moves == proof.replica_moves_lower_bound
    assert proof.bytes <= 1.05 * proof.bytes_lower_bound


sizes_by_class = st.lists(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=40), min_size=1, max_size=6
)


@examples(60)
@given(sizes_by_class)
def test_a_class_costs_more_the_more_it_gives(sizes: list[list[int]]) -> None:
    """Parts hold every replica once, their prices rise, and units outweigh all of them."""
    counts = [len(each) for each in sizes]
    number = np.repeat(np.arange(len(sizes)), counts)
    rows = np.arange(len(number))
    flat = np.array([size for each in sizes for size in each])
    found = giving_of(
        MovableReplicas(
            row=rows,
            slot=np.zeros(len(rows), dtype=np.int64),
            number=number,
            size=np.array(counts),
            broker=np.arange(len(sizes)),
            fresh=np.zeros(len(sizes), dtype=bool),
            sites=np.zeros((len(sizes), 1), dtype=np.int64),
            barred=None,
        ),
        np.lexsort((flat, number)),
        flat,
        brokers=len(sizes),
        nodes=3 * len(sizes),
    )
    assert np.bincount(found.of, weights=found.count).tolist() == counts
    for number in range(len(sizes)):
        prices = found.price[found.of == number]
        assert (np.diff(prices) >= 0).all()
    assert int(found.price.max()) * (len(sizes) + 2) <= max(found.unit, 1)
    alike = len({size for each in sizes for size in each if size}) < 2
    assert found.tells_apart is not alike
