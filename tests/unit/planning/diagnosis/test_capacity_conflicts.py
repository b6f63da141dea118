"""Shortages: what they name conflicts, and without any one of it everything fits."""

import itertools
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.specs import FailureDomain, Headroom
from poolkeeper.planning.constraints.racks import even_spread
from poolkeeper.planning.diagnosis.bin_packing import packs
from poolkeeper.planning.diagnosis.capacity_conflicts import (
    HEADROOM,
    RACK_LAW,
    BrokerCapacity,
    CapacityDemand,
    Overflow,
    Shortage,
    missing_capacity,
    overflow,
    shortage,
)
from poolkeeper.planning.facts.conflicts import Member, Obstacle


@st.composite
def demands(draw: st.DrawFn) -> CapacityDemand:
    brokers = tuple(
        BrokerCapacity(
            Member(
                n,
                draw(st.sampled_from("aabc")),
                draw(st.sampled_from([None, None, Obstacle.DRAINED, Obstacle.DOWN])),
            ),
            draw(st.sampled_from([None, 0, 1, 2, 3, 4])),
        )
        for n in range(1, draw(st.integers(1, 5)) + 1)
    )
    amounts = draw(st.dictionaries(st.integers(1, 3), st.integers(1, 2), min_size=1, max_size=2))
    headroom = st.builds(Headroom, st.sampled_from(FailureDomain), st.integers(1, 2))
    return CapacityDemand(amounts, brokers, draw(st.none() | headroom), draw(st.booleans()))


@st.composite
def sized_demands(draw: st.DrawFn) -> CapacityDemand:
    """The same in MiB: partitions of different sizes, and brokers that hold something already."""
    demand = draw(demands())
    partitions = st.tuples(st.integers(1, 6), st.integers(1, 3))
    sizes = tuple(draw(st.lists(partitions, min_size=1, max_size=4)))
    amounts = Counter[int]()
    for size, factor in sizes:
        amounts[factor] += size
    held = tuple(
        replace(
            broker,
            bound=draw(st.sampled_from([None, 3, 5, 7, 9, 12, 16])),
            immovable=draw(st.sampled_from([0, 0, 0, 2, 4])),
        )
        for broker in demand.brokers
    )
    return replace(demand, amounts=dict(amounts), brokers=held, sizes=sizes)


def fits(demand: CapacityDemand) -> bool:
    """Whether some layout obeys: all lists of all partitions are tried, one after the other."""
    usable = [broker for broker in demand.brokers if not broker.member.obstacle]
    if not usable:
        return True
    partitions = demand.sizes or [
        (1, f) for f, count in demand.amounts.items() for _ in range(count)
    ]
    parts = [(size, min(factor, len(usable))) for size, factor in partitions]
    if demand.headroom is not None and all(broker.bound is not None for broker in usable):
        by_rack = demand.headroom.domain is FailureDomain.RACK
        domains: Counter[str] = Counter()
        for broker in usable:
            domains[broker.member.rack if by_rack else str(broker.member.id)] += broker.bound or 0
        wanted = sum(size * factor for size, factor in parts) + sum(
            s.immovable for s in demand.brokers
        )
        if sum(sorted(domains.values(), reverse=True)[demand.headroom.failures :]) < wanted:
            return False
    racks = [broker.member.rack if demand.by_racks else "" for broker in usable]
    names = sorted(set(racks))
    room = tuple(racks.count(name) for name in names)

    def even(chosen: tuple[int, ...]) -> bool:
        held = Counter([names.index(racks[i]) for i in chosen])
        return even_spread(len(chosen), room, (0,) * len(room)).excess(held) == 0

    @cache
    def placeable(place: int, left: tuple[int | None, ...]) -> bool:
        if place == len(parts):
            return True
        size, factor = parts[place]
        for chosen in itertools.combinations(range(len(usable)), factor):
            after = [n if n is None or i not in chosen else n - size for i, n in enumerate(left)]
            held = all(n is None or n >= 0 for n in after) and even(chosen)
            if held and placeable(place + 1, tuple(after)):
                return True
        return False

    left = tuple(None if s.bound is None else s.bound - s.immovable for s in usable)
    return all(n is None or n >= 0 for n in left) and placeable(0, left)


def judge(demand: CapacityDemand) -> None:
    """What is named conflicts; without any one of it all fits; each remedy is enough."""
    counted, found = overflow(demand) is None, shortage(demand, packs)
    if demand.sizes:
        assert counted or not fits(demand)
        assert not (counted and packs(demand)) or fits(demand)
    else:
        assert counted == fits(demand) == (found is None)
    if found is None:
        return
    named = demand
    for constraint in demand.constraints:
        if constraint not in found.constraints:
            named = named.sparing(constraint)
    assert set(named.constraints) == set(found.constraints)
    assert not fits(named)
    for constraint in found.constraints:
        assert fits(named.sparing(constraint)), constraint
    for constraint in found.remedies:
        assert fits(demand.without(constraint)), constraint
    if named.headroom is None:
        assert overflow(named) == found.overflow
        judge_lack(named, found.overflow)


def judge_lack(demand: CapacityDemand, over: Overflow) -> None:
    """As much more room on these brokers is enough by count, and less is not."""

    def enough(more: int) -> bool:
        for chosen in itertools.combinations_with_replacement(over.brokers, more):
            added = Counter(chosen)
            raised = (
                replace(broker, bound=(broker.bound or 0) + added[broker.member.id])
                if broker.member.id in added
                else broker
                for broker in demand.brokers
            )
            if overflow(replace(demand, brokers=tuple(raised))) is None:
                return True
        return False

    if over.lacking <= 4:
        assert enough(over.lacking)
        assert not enough(over.lacking - 1)


@examples(40)
@given(demands())
def test_a_shortage_conflicts_and_none_of_it_can_be_spared(demand) -> None:
    judge(demand)


@examples(30)
@given(sized_demands())
def test_what_conflicts_over_bytes_is_smallest_for_partitions_as_they_are(demand) -> None:
    judge(demand)


def brokers(text: str, bound: int = 10, immovable: int = 0) -> tuple[BrokerCapacity, ...]:
    """`a1 b2 c3-`: racks and ids, drained ones marked."""
    words = (word for word in text.split())
    return tuple(
        BrokerCapacity(
            Member(int(w[1]), w[0], Obstacle.DRAINED if w.endswith("-") else None), bound, immovable
        )
        for w in words
    )


@pytest.mark.parametrize(
    ("demand", "found"),
    [
        pytest.param(CapacityDemand({3: 10}, brokers("a1 b2 c3")), None, id="it-fits-to-the-last"),
        pytest.param(
            CapacityDemand({3: 11}, brokers("a1 b2 c3")),
            Shortage(Overflow((1, 2, 3), 33, 30), (), ()),
            id="more-than-all-brokers-may-hold",
        ),
        pytest.param(
            CapacityDemand({2: 16}, brokers("a1 b2 c3 c4-")),
            Shortage(Overflow((1, 2, 3), 32, 30), (4,), (4,)),
            id="a-drained-broker-would-be-enough",
        ),
        pytest.param(
            CapacityDemand({3: 15}, brokers("a1 b2 b3 c4 c5 a6-")),
            Shortage(Overflow((1,), 15, 10), (RACK_LAW, 6), (RACK_LAW, 6)),
            id="one-rack-is-too-small",
        ),
        pytest.param(
            CapacityDemand({2: 11}, brokers("a1 b2 c3"), Headroom(FailureDomain.BROKER, 1)),
            Shortage(Overflow((1, 2, 3), 22, 20), (HEADROOM,), (HEADROOM,)),
            id="with-a-broker-lost-it-would-not-fit",
        ),
        pytest.param(
            CapacityDemand({1: 5}, brokers("a1 b2", 10, 8)),
            Shortage(Overflow((1, 2), 21, 20), (), ()),
            id="what-cannot-leave-takes-room",
        ),
    ],
)
def test_shortages(demand, found) -> None:
    assert shortage(demand) == found


@pytest.mark.parametrize(
    ("demand", "found", "missing"),
    [
        pytest.param(
            CapacityDemand({3: 10}, brokers("a1 a2 a3") + brokers("a4-", 5)),
            None,
            None,
            id="it-fits",
        ),
        pytest.param(
            CapacityDemand({3: 12}, brokers("a1 a2 a3") + brokers("a4-", 5)),
            Shortage(Overflow((1, 2, 3, 4), 36, 35), (), ()),
            Overflow((1, 2, 3), 36, 30),
            id="a-drained-broker-would-not-be-enough",
        ),
        pytest.param(
            CapacityDemand(
                {1: 12}, brokers("a1 a2") + brokers("a3-", 4, 6), Headroom(FailureDomain.BROKER, 1)
            ),
            Shortage(Overflow((1, 2, 3), 18, 16), (HEADROOM,), (HEADROOM,)),
            Overflow((1, 2), 18, 10),
            id="a-drained-broker-that-holds-too-much-is-no-conflict-of-its-own",
        ),
    ],
)
def test_capacity_is_missing_where_obstacles_are_as_they_are(demand, found, missing) -> None:
    assert shortage(demand) == found
    if found is not None:
        assert missing_capacity(demand, found) == missing


def test_numbers_are_pythons_own_whatever_was_asked_before() -> None:
    even_spread.cache_clear()
    even_spread(3, tuple(np.array([1, 1, 2])), (0, 0, 0))
    found = overflow(CapacityDemand({3: 11}, brokers("a1 b2 c3 c4")))
    assert found is not None
    assert type(found.wanted) is int


def test_of_a_large_pool_the_one_small_broker_is_found() -> None:
    many = tuple(
        BrokerCapacity(Member(n, "abcdef"[n % 6]), 9 if n % 6 else 5) for n in range(1, 61)
    )
    found = shortage(CapacityDemand({6: 60}, many))
    assert found is not None
    assert found.overflow == Overflow(tuple(range(6, 61, 6)), 60, 50)
    tight = tuple(replace(broker, immovable=10 if broker.member.id == 17 else 0) for broker in many)
    found = shortage(CapacityDemand({2: 60}, tight))
    assert found is not None
    assert found.overflow == Overflow((17,), 10, 9)


def test_a_conflict_that_only_undivided_partitions_make_is_not_blamed_on_who_could_not_help() -> (
    None
):
    # By count a2 would be enough; but no broker takes 12 MiB.
    demand = CapacityDemand({1: 12}, brokers("a1 a2-"), sizes=((12, 1),))
    assert shortage(demand) == Shortage(Overflow((1,), 12, 10), (2,), (2,))
    assert shortage(demand, packs) is None
